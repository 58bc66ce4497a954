// SPDX-License-Identifier: Apache-2.0
// The part of the Docker API that Testcontainers uses, over a Unix socket: a "container" is a process with the image's
// programs in its PATH, started with the container's entry point, command and environment. There is no image and no
// isolation: the tests cover only the program's names, flags, variables, start lines and ports.
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const STREAMS = { stdout: 1, stderr: 2 };

/** A frame of Docker's log stream: which of the two, the length, the bytes. */
function frame(stream, bytes) {
    const head = Buffer.alloc(8);
    head[0] = STREAMS[stream];
    head.writeUInt32BE(bytes.length, 4);
    return Buffer.concat([head, bytes]);
}

class Container {
    constructor(options, image) {
        this.id = randomBytes(32).toString('hex');
        this.options = options;
        this.image = image;
        this.root = mkdtempSync(join(tmpdir(), 'lazuli-starter-'));
        this.frames = [];
        this.followers = new Set();
        this.status = 'created';
    }

    /** A path in the container is one below its own folder, where something was copied to. */
    resolve(word) {
        const place = join(this.root, word);
        return word.startsWith('/') && existsSync(place) ? place : word;
    }

    start() {
        const [program, ...rest] = [...(this.options.Entrypoint ?? []), ...(this.options.Cmd ?? this.image.command)];
        const own = Object.fromEntries((this.options.Env ?? []).map((pair) => pair.split(/=(.*)/s).slice(0, 2)));
        mkdirSync(join(this.root, 'data'), { recursive: true });
        this.process = spawn(program, rest.map((word) => this.resolve(word)),
            { cwd: this.root, env: { PATH: this.image.path, ...this.image.env, ...own }, stdio: ['ignore', 'pipe', 'pipe'] });
        this.status = 'running';
        this.startedAt = new Date().toISOString();
        for (const stream of Object.keys(STREAMS)) {
            this.process[stream].on('data', (bytes) => {
                this.frames.push(frame(stream, bytes));
                for (const follower of this.followers)
                    follower.write(frame(stream, bytes));
            });
        }
        this.ended = new Promise((resolve) => {
            this.process.on('error', (error) => this.frames.push(frame('stderr', Buffer.from(`${error}\n`))));
            this.process.on('close', (code) => {
                this.status = 'exited';
                this.code = code;
                for (const follower of this.followers)
                    follower.end();
                resolve();
            });
        });
    }

    async stop() {
        if (this.status === 'running') {
            this.process.kill('SIGTERM');
            await this.ended;
        }
    }

    async remove() {
        await this.stop();
        rmSync(this.root, { recursive: true, force: true });
    }

    inspect() {
        const ports = Object.keys(this.options.ExposedPorts ?? {});
        const bound = Object.fromEntries(ports.map((port) => [port, [{ HostIp: '127.0.0.1', HostPort: port.split('/')[0] }]]));
        return {
            Id: this.id,
            Name: `/${this.id.slice(0, 12)}`,
            State: { Status: this.status, Running: this.status === 'running', StartedAt: this.startedAt, FinishedAt: '', ExitCode: this.code ?? 0 },
            Config: { Hostname: this.id.slice(0, 12), Labels: this.options.Labels ?? {}, Tty: false, Image: this.options.Image },
            HostConfig: { PortBindings: this.options.HostConfig?.PortBindings ?? {} },
            NetworkSettings: { Ports: bound, Networks: { bridge: { NetworkID: 'bridge', IPAddress: '127.0.0.1' } } },
        };
    }

    logs(answer, follow) {
        answer.writeHead(200, { 'Content-Type': 'application/vnd.docker.multiplexed-stream' });
        for (const bytes of this.frames)
            answer.write(bytes);
        if (!follow || this.status === 'exited') {
            answer.end();
            return;
        }
        this.followers.add(answer);
        answer.on('close', () => this.followers.delete(answer));
    }
}

async function bodyOf(request) {
    const parts = [];
    for await (const part of request)
        parts.push(part);
    return Buffer.concat(parts);
}

/** image: {path, env, command}. The answer: {socket, containers, close()}. */
export async function startEngine(image) {
    const folder = mkdtempSync(join(tmpdir(), 'lazuli-docker-'));
    const socket = join(folder, 'docker.sock');
    const containers = new Map();
    const unknown = [];

    async function handle(request, answer) {
        const url = new URL(request.url, 'http://docker');
        const path = url.pathname.replace(/^\/v[\d.]+/, '');
        const json = (status, value) => {
            answer.writeHead(status, { 'Content-Type': 'application/json' });
            answer.end(value === undefined ? '' : JSON.stringify(value));
        };
        const [, id, action = ''] = path.match(/^\/containers\/([0-9a-f]{64})(?:\/(\w+))?$/) ?? [];
        const container = containers.get(id);
        const at = `${request.method} ${container === undefined ? path : `/containers/ID/${action}`}`;
        const body = await bodyOf(request);
        switch (at) {
        case 'GET /_ping':
        case 'HEAD /_ping':
            answer.end('OK');
            return;
        case 'GET /info':
            json(200, { ServerVersion: '27.0.0', OperatingSystem: 'played', OSType: 'linux', Architecture: 'x86_64', NCPU: 2, MemTotal: 1 << 30, Labels: [] });
            return;
        case 'GET /version':
            json(200, { Version: '27.0.0', ApiVersion: '1.47' });
            return;
        case 'GET /containers/json':
        case 'GET /images/json':
            json(200, []);
            return;
        case 'POST /containers/create': {
            const made = new Container(JSON.parse(body), image);
            containers.set(made.id, made);
            json(201, { Id: made.id, Warnings: [] });
            return;
        }
        case 'PUT /containers/ID/archive':
            answer.writeHead(spawnSync('tar', ['-x', '-C', container.root, '-f', '-'], { input: body }).status === 0 ? 200 : 500);
            answer.end();
            return;
        case 'POST /containers/ID/start':
            container.start();
            json(204);
            return;
        case 'GET /containers/ID/json':
            json(200, container.inspect());
            return;
        case 'GET /containers/ID/logs':
            container.logs(answer, ['1', 'true'].includes(url.searchParams.get('follow')));
            return;
        case 'POST /containers/ID/stop':
        case 'POST /containers/ID/kill':
            await container.stop();
            json(204);
            return;
        case 'DELETE /containers/ID/':
            await container.remove();
            json(204);
            return;
        default:
            if (/^GET \/images\/.*\/json$/.test(at)) {
                json(200, { Id: 'sha256:0', Config: {} });
                return;
            }
            unknown.push(at);
            json(404, { message: `not played: ${at}` });
        }
    }

    const server = http.createServer((request, answer) => {
        handle(request, answer).catch((error) => {
            answer.writeHead(500);
            answer.end(JSON.stringify({ message: error.message }));
        });
    });
    await new Promise((resolve) => { server.listen(socket, resolve); });
    const close = async () => {
        await Promise.all([...containers.values()].map((container) => container.remove()));
        server.closeAllConnections();
        await new Promise((resolve) => { server.close(resolve); });
        rmSync(folder, { recursive: true, force: true });
    };
    return { socket, containers, unknown, close };
}
