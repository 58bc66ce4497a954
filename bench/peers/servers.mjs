// SPDX-License-Identifier: Apache-2.0
// The servers that bench/peers.mjs measures, each with data of its own in one folder. A peer: pid, readyMs, stop(), base
// (by service), path(name) of a blob, sign (whether requests are signed), smb (how its share is reached), again() (the
// same server started again on the same data).
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { ACCOUNT, freePorts, KEY, startLazuli, startProgram } from '../kit.mjs';

const HERE = new URL('.', import.meta.url).pathname;
const ofAccount = (name) => `/${ACCOUNT}/bench/${name}`;

export function certificate(folder) {
    const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert], { stdio: 'ignore' });
    return { cert, key };
}

async function lazuli(home, tls) {
    const rest = tls === undefined ? [] : ['--cert', tls.cert, '--key', tls.key];
    const server = await startLazuli({ data: join(home, 'store'), rest, scheme: tls === undefined ? 'http' : 'https' });
    const smb = { url: 'smb://127.0.0.1/bench', user: ACCOUNT, password: KEY, port: server.ports.smb };
    return { ...server, path: ofAccount, sign: true, smb };
}

async function azurite(home, tls) {
    const [blob, queue, tables] = await freePorts(3);
    const program = join(HERE, 'node_modules/azurite/dist/src/azurite.js');
    const flags = ['--blobPort', blob, '--queuePort', queue, '--tablePort', tables, ...(tls === undefined ? [] : ['--cert', tls.cert, '--key', tls.key])].map(String);
    const server = await startProgram(['node', program, '--silent', '--skipApiVersionCheck', '--disableTelemetry', '--disableProductStyleUrl', '--location', home, ...flags], tables, { env: { NODE_NO_WARNINGS: '1' } });
    const at = (port) => `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`;
    return { ...server, base: { blob: at(blob), queue: at(queue), table: at(tables) }, path: ofAccount, sign: true };
}

async function nginx(home, tls) {
    const [port] = await freePorts(1);
    mkdirSync(join(home, 'www/bench'), { recursive: true });
    const ssl = tls === undefined ? '' : `ssl_certificate ${tls.cert}; ssl_certificate_key ${tls.key}; ssl_protocols TLSv1.3;`;
    writeFileSync(join(home, 'conf'), `user root; daemon off; worker_processes ${cpus().length}; pid ${home}/pid; error_log ${home}/log;
events { worker_connections 2048; }
http { access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000; client_max_body_size 0; client_body_buffer_size 128k;
client_body_temp_path ${home}/b; proxy_temp_path ${home}/p; fastcgi_temp_path ${home}/f; uwsgi_temp_path ${home}/u; scgi_temp_path ${home}/s; ${ssl}
server { listen 127.0.0.1:${port} ${tls === undefined ? '' : 'ssl'} reuseport; root ${home}/www; location / { dav_methods PUT DELETE; create_full_put_path on; } } }
`);
    const server = await startProgram(['nginx', '-e', `${home}/log`, '-c', `${home}/conf`, '-p', home], port);
    return { ...server, base: { blob: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}` }, path: (name) => `/bench/${name}`, sign: false, www: join(home, 'www/bench') };
}

async function samba(home) {
    const [port] = await freePorts(1);
    const run = join(home, 'run');
    for (const folder of [run, join(home, 'share')])
        mkdirSync(folder, { recursive: true });
    const conf = join(home, 'smb.conf');
    writeFileSync(conf, `[global]
workgroup = AZURE
smb ports = ${port}
bind interfaces only = yes
interfaces = lo
private dir = ${run}
lock directory = ${run}
state directory = ${run}
cache directory = ${run}
pid directory = ${run}
ncalrpc dir = ${run}/rpc
log file = ${home}/log
load printers = no
disable spoolss = yes
server min protocol = SMB2_10
[bench]
path = ${home}/share
read only = no
`);
    spawnSync('smbpasswd', ['-c', conf, '-s', '-a', 'root'], { input: 'bench\nbench\n' });
    const server = await startProgram(['setsid', 'smbd', '-s', conf, '--foreground', '--no-process-group'], port);
    return { ...server, base: {}, sign: false, smb: { url: 'smb://127.0.0.1/bench', user: 'root', password: 'bench', port } };
}

const KINDS = { lazuli, azurite, nginx, samba };

/** `kind`: lazuli, azurite, nginx, samba; or disk, which is no server. */
export async function startPeer(kind, folder, tls) {
    if (kind === 'disk')
        return { kind, disk: folder };
    const home = join(folder, tls === undefined ? kind : `${kind}-tls`);
    mkdirSync(home, { recursive: true });
    const peer = await KINDS[kind](home, tls);
    return { ...peer, kind, again: () => startPeer(kind, folder, tls) };
}
