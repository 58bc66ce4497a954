// SPDX-License-Identifier: Apache-2.0
// Every package of `make dist`, tested in a folder without build files: it is started, a blob is put, the server is
// killed with SIGKILL and restarted, and the blob is read. Debian's package is installed, upgraded, removed and purged.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { artefact, DIST, folder, FULL, inside, portsIn, putBusybox, putLibraries, reads, root, run, Started, survives, VERSION } from './lib.mjs';

const IMAGE_BYTES_MAX = 25e6;
const EXPOSURE_MAX = 1.5;
const OLDEST_GLIBC = 31; // 2.31: Debian 11, Ubuntu 20.04

// ---- where each package is started ----------------------------------------------------------------------------------

function tarball() {
    const at = folder('tarball');
    putLibraries(at);
    run('tar', '-xzf', artefact(/x86_64\.tar\.gz$/), '-C', at);
    const program = `/lazuli-${VERSION}-linux-x86_64/bin/lazuli`;
    mkdirSync(join(at, 'tmp'));
    return new Started(inside(at, [program, '--data', '/tmp/data']), { ports: portsIn(at, '/tmp/ports.json') });
}

/** The layer, and what the image says of how it is started. */
function unpackImage() {
    const at = folder('image', 'root');
    const layout = folder('image', 'layout');
    const file = (digest) => join(layout, 'blobs', digest.replace(':', '/'));
    const json = (path) => JSON.parse(readFileSync(path, 'utf8'));
    run('tar', '-xf', artefact(/-oci\.tar$/), '-C', layout);
    for (const blob of readdirSync(join(layout, 'blobs/sha256')))
        assert.equal(createHash('sha256').update(readFileSync(join(layout, 'blobs/sha256', blob))).digest('hex'), blob);
    // An index of one manifest, or of an index with one for each machine.
    let manifest = json(file(json(join(layout, 'index.json')).manifests[0].digest));
    if (manifest.manifests !== undefined)
        manifest = json(file(manifest.manifests.find((one) => one.platform.architecture === 'amd64').digest));
    const { config } = json(file(manifest.config.digest));
    for (const layer of manifest.layers)
        run('tar', '-xpf', file(layer.digest), '--same-owner', '-C', at);
    return { at, config, bytes: manifest.layers.reduce((sum, layer) => sum + layer.size, 0) };
}

let image;
function container() {
    image = unpackImage();
    const env = Object.fromEntries(image.config.Env.map((line) => line.split(/=(.*)/s)));
    return new Started(inside(image.at, image.config.Cmd, `${image.config.User}:${image.config.User}`),
        { env: { ...env, PATH: `${env.PATH}:/usr/bin:/bin` }, ports: portsIn(image.at, '/data/ports.json') });
}

function npmPackage() {
    const at = folder('npm');
    writeFileSync(join(at, 'package.json'), '{"private":true}');
    run('npm', 'install', '--prefix', at, '--offline', '--ignore-scripts', '--no-audit', '--no-fund',
        artefact(/^lazuli-linux-x64-.*\.tgz$/), artefact(/^lazuli-\d.*\.tgz$/));
    return new Started([process.execPath, join(at, 'node_modules/.bin/azurite'), '-l', join(at, 'data')],
        { ports: { seenAt: join(at, 'ports.json'), readAt: join(at, 'ports.json') }, cwd: at });
}

const PACKAGES = { tarball, 'container image': container, 'npm package': npmPackage };
for (const [name, prepare] of Object.entries(PACKAGES))
    test(`${name}: a blob survives SIGKILL`, { timeout: 120000 }, () => survives(prepare()));

// ---- what they are --------------------------------------------------------------------------------------------------

test('tarball: the program asks for the C library alone, and is hardened', () => {
    const program = join(root, 'tarball', `lazuli-${VERSION}-linux-x86_64/bin/lazuli`);
    const needed = [...run('readelf', '-d', program).matchAll(/NEEDED.*\[(.*?)\]/g)].map((m) => m[1]).sort();
    for (const library of needed)
        assert.match(library, /^(libc\.so\.6|libm\.so\.6|libpthread\.so\.0|libdl\.so\.2|ld-linux-x86-64\.so\.2)$/);
    assert.match(run('readelf', '-h', program), /DYN/);
    assert.match(run('readelf', '-lW', program), /GNU_RELRO[\s\S]*|GNU_STACK.*RW /);
    assert.match(run('readelf', '-d', program), /BIND_NOW|FLAGS_1.*NOW/);
    const newest = [...run('objdump', '-T', program).matchAll(/GLIBC_2\.(\d+)/g)].reduce((n, m) => Math.max(n, +m[1]), 0);
    assert.ok(newest <= OLDEST_GLIBC, `needs glibc 2.${newest}`);
    const said = run(program, '--version');
    assert.match(said, new RegExp(`^lazuli ${VERSION.replaceAll('.', '\\.')}\ncommit \\S+\nlibraries rocksdb-\\S+ openssl-\\S+\nfeatures .*crc32c=own`));
    assert.ok(!run('strings', '-n', '6', program).includes(process.cwd()), 'a path of the build is in the program');
});

test('container image: its conventions are Azurite\'s, and it is small', () => {
    const { config, at, bytes } = image;
    assert.ok(bytes <= IMAGE_BYTES_MAX, `${bytes} bytes`);
    assert.equal(config.Entrypoint, undefined);
    assert.deepEqual(config.Cmd.slice(0, 3), ['azurite', '-l', '/data']);
    assert.deepEqual(Object.keys(config.ExposedPorts), ['10000', '10001', '10002', '10003', '10004', '10445'].map((p) => `${p}/tcp`));
    assert.deepEqual([config.Volumes, config.StopSignal], [{ '/data': {} }, 'SIGTERM']);
    assert.ok(config.Env.includes('LAZULI_INSECURE_WELL_KNOWN_KEY=1'));
    for (const name of ['azurite', 'azurite-blob', 'azurite-queue', 'azurite-table', 'lazuli', 'sh', 'nc', 'grep', 'wget'])
        run('chroot', at, 'sh', '-c', `PATH=/usr/local/bin:/bin; command -v ${name}`);
    assert.equal(statSync(join(at, 'data')).mode & 0o777, 0o777);
});

test('npm package: without the platform\'s package it says which one is missing', () => {
    const at = folder('npm-alone');
    writeFileSync(join(at, 'package.json'), '{"private":true}');
    run('npm', 'install', '--prefix', at, '--offline', '--ignore-scripts', '--omit=optional', '--no-audit', '--no-fund', artefact(/^lazuli-\d.*\.tgz$/));
    const done = spawnSync(process.execPath, [join(at, 'node_modules/.bin/lazuli'), '--version'], { encoding: 'utf8' });
    assert.equal(done.status, 1);
    assert.match(done.stderr, /lazuli-linux-x64 is not installed/);
    assert.match(run(process.execPath, join(root, 'npm/node_modules/.bin/lazuli'), '--version'), new RegExp(`^lazuli ${VERSION}`));
});

test('man page and completions name every flag', () => {
    const share = join(root, 'tarball', `lazuli-${VERSION}-linux-x86_64/share`);
    const program = join(share, '../bin/lazuli');
    const flags = run(program, 'config', '--describe').split('\n').map((line) => line.split('\t'))
        .filter((row) => row[0] === 'flag' && row[11] !== '-').flatMap((row) => [row[1], row[2]]).filter((name) => name !== '-');
    assert.ok(flags.length > 60);
    const read = (path) => readFileSync(join(share, path), 'utf8');
    const pages = { man: read('man/man1/lazuli.1').replaceAll('\\-', '-'), bash: read('bash-completion/completions/lazuli'),
        zsh: read('zsh/vendor-completions/_lazuli'), fish: read('fish/vendor_completions.d/lazuli.fish').replaceAll(' -l ', ' -l --') };
    for (const [name, text] of Object.entries(pages))
        assert.deepEqual(flags.filter((flag) => !text.includes(flag)), [], name);
    assert.equal(spawnSync('man', ['--warnings', '-l', join(share, 'man/man1/lazuli.1')], { encoding: 'utf8', env: { ...process.env, LC_ALL: 'C.UTF-8', MANPAGER: 'cat' } }).stderr, '');
    run('bash', '-n', join(share, 'bash-completion/completions/lazuli'));
    const completed = run('bash', '-c', `. ${share}/bash-completion/completions/lazuli; COMP_WORDS=(lazuli --durability ''); COMP_CWORD=2; _lazuli; echo "\${COMPREPLY[*]}"`);
    assert.equal(completed.trim(), 'full relaxed');
});

test('SHA256SUMS and the SBOM are of these files', () => {
    const sums = readFileSync(join(DIST, 'SHA256SUMS'), 'utf8').trim().split('\n');
    assert.equal(sums.length, readdirSync(DIST).length - 1);
    run('sh', '-c', `cd ${DIST} && sha256sum --quiet -c SHA256SUMS`);
    const sbom = JSON.parse(readFileSync(artefact(/\.spdx\.json$/), 'utf8'));
    const program = readFileSync(join(root, 'tarball', `lazuli-${VERSION}-linux-x86_64/bin/lazuli`));
    assert.equal(sbom.packages[0].checksums[0].checksumValue, createHash('sha256').update(program).digest('hex'));
    assert.ok(sbom.packages.some((p) => p.name === 'librocksdb-dev' && /^\d/.test(p.versionInfo)));
    const ids = new Set(sbom.packages.map((p) => p.SPDXID));
    assert.equal(ids.size, sbom.packages.length);
    for (const relation of sbom.relationships)
        assert.ok(ids.has(relation.relatedSpdxElement));
});

// ---- Debian ---------------------------------------------------------------------------------------------------------

/** The same package by another version number. */
function debOf(version) {
    const at = folder('deb', version);
    run('dpkg-deb', '-R', artefact(/^lazuli_.*amd64\.deb$/), at);
    const control = join(at, 'DEBIAN/control');
    writeFileSync(control, readFileSync(control, 'utf8').replace(/^Version: .*$/m, `Version: ${version}`));
    run('dpkg-deb', '-Znone', '-b', at, `${at}.deb`);
    return `${at}.deb`;
}

/** A system for dpkg: its database, a shell for the packages' scripts, the C library. */
function debian() {
    const at = folder('debian');
    for (const path of ['var/lib/dpkg/info', 'var/lib/dpkg/updates', 'tmp', 'var/log', 'etc', 'dev'])
        mkdirSync(join(at, path), { recursive: true });
    for (const file of ['var/lib/dpkg/status', 'var/lib/dpkg/available', 'dev/null'])
        writeFileSync(join(at, file), '');
    writeFileSync(join(at, 'etc/passwd'), 'root:x:0:0::/:/bin/sh\nlazuli:x:999:999::/var/lib/lazuli:/bin/sh\n');
    writeFileSync(join(at, 'etc/group'), 'root:x:0:\nlazuli:x:999:\n');
    chmodSync(join(at, 'tmp'), 0o1777);
    putLibraries(at);
    putBusybox(at);
    return { at, dpkg: (...words) => run('dpkg', `--root=${at}`, '--force-depends', '--log=/dev/null', ...words) };
}

const files = (at) => run('find', at, '-not', '-path', '*/var/lib/dpkg/*', '-not', '-path', '*/proc*').split('\n').sort();

test('Debian package: install, upgrade with its data kept, remove, purge', { timeout: 120000 }, async () => {
    const { at, dpkg } = debian();
    const before = files(at);
    dpkg('-i', debOf('0.0.1'));
    assert.equal(statSync(join(at, 'var/lib/lazuli')).mode & 0o777, 0o700);
    writeFileSync(join(at, 'etc/lazuli/lazuli.conf'), 'silent = true\nlog-level = warn\n');
    const command = inside(at, ['/usr/bin/lazuli', '--data', '/var/lib/lazuli', '--config', '/etc/lazuli/lazuli.conf'], '999:999');
    const started = new Started(command, { ports: portsIn(at, '/tmp/ports.json') });
    await survives(started);
    dpkg('--force-confold', '-i', artefact(/^lazuli_.*amd64\.deb$/), artefact(/^lazuli-azurite_.*\.deb$/));
    assert.match(readFileSync(join(at, 'etc/lazuli/lazuli.conf'), 'utf8'), /log-level/, 'a changed configuration stays');
    assert.match(run('chroot', at, '/usr/bin/azurite-blob', '--version'), new RegExp(`^lazuli ${VERSION}`));
    await reads(started);
    dpkg('-r', 'lazuli-azurite', 'lazuli');
    assert.ok(!existsSync(join(at, 'usr/bin/lazuli')));
    assert.ok(existsSync(join(at, 'var/lib/lazuli/LAZULI')), 'the data stays');
    dpkg('-P', 'lazuli', 'lazuli-azurite');
    assert.deepEqual(files(at).filter((path) => !before.includes(path) && !/\/tmp\/|\/(usr|lib)(\/|$)/.test(path.slice(at.length))), []);
    assert.deepEqual(files(at).filter((path) => /lazuli|azurite/.test(path.slice(at.length))), []);
});

test('the unit lets the server reach little', () => {
    const unit = join(folder('deb', 'unit'), 'lazuli.service');
    run('dpkg-deb', '-x', artefact(/^lazuli_.*amd64\.deb$/), join(root, 'deb/unit'));
    writeFileSync(unit, readFileSync(join(root, 'deb/unit/lib/systemd/system/lazuli.service')));
    const said = spawnSync('systemd-analyze', ['security', '--offline=true', '--no-pager', unit], { encoding: 'utf8' }).stdout;
    const exposure = Number(/Overall exposure level for .*: ([\d.]+)/.exec(said)?.[1]);
    assert.ok(exposure <= EXPOSURE_MAX, said.slice(-300));
});

test('make install lays the same files out below a prefix', () => {
    const at = folder('installed');
    const program = join(root, 'tarball', `lazuli-${VERSION}-linux-x86_64/bin/lazuli`);
    run('make', '-s', '-C', new URL('../..', import.meta.url).pathname, 'install', `DESTDIR=${at}`, 'prefix=/opt/lazuli', `PROGRAM=${program}`);
    const below = (path) => run('find', path, '-type', 'f', '-o', '-type', 'l').replaceAll(path, '').split('\n').sort();
    const tar = below(join(root, 'tarball', `lazuli-${VERSION}-linux-x86_64`)).filter((path) => !path.includes('/licences/'));
    assert.deepEqual(below(join(at, 'opt/lazuli')), tar);
    assert.match(run(join(at, 'opt/lazuli/bin/azurite'), '--version'), new RegExp(`^lazuli ${VERSION}`));
    assert.match(readFileSync(join(at, 'opt/lazuli/lib/systemd/system/lazuli.service'), 'utf8'), /^ExecStart=\/opt\/lazuli\/bin\/lazuli /m);
});

if (FULL) {
    // Debian itself, from its mirror: real maintainer scripts, systemd's users, and what is left after a purge.
    test('Debian package: in a minimal Debian 12', { timeout: 900000 }, async () => {
        const at = folder('bookworm');
        run('mmdebstrap', '--quiet', '--variant=minbase', '--include=systemd', 'bookworm', at);
        const before = files(at);
        for (const [name, path] of [['old', debOf('0.0.2')], ['new', artefact(/^lazuli_.*amd64\.deb$/)], ['names', artefact(/^lazuli-azurite_.*\.deb$/)]])
            writeFileSync(join(at, 'tmp', `${name}.deb`), readFileSync(path));
        run('chroot', at, 'dpkg', '-i', '/tmp/old.deb');
        const user = run('chroot', at, 'getent', 'passwd', 'lazuli').split(':');
        assert.equal(statSync(join(at, 'var/lib/lazuli')).uid, Number(user[2]));
        const words = ['/usr/bin/lazuli', '--data', '/var/lib/lazuli', '--config', '/etc/lazuli/lazuli.conf'];
        const started = new Started(inside(at, words, `${user[2]}:${user[3]}`), { ports: portsIn(at, '/tmp/ports.json') });
        await survives(started);
        run('chroot', at, 'dpkg', '-i', '/tmp/new.deb', '/tmp/names.deb');
        await reads(started);
        const said = spawnSync('chroot', [at, 'systemd-analyze', 'verify', '/lib/systemd/system/lazuli.service'], { encoding: 'utf8' }).stderr;
        assert.deepEqual(said.split('\n').filter((line) => line !== '' && !/'man lazuli\(1\)' failed/.test(line)), []);
        run('chroot', at, 'dpkg', '-P', 'lazuli-azurite', 'lazuli');
        const left = files(at).filter((path) => !before.includes(path)).map((path) => path.slice(at.length));
        assert.deepEqual(left.filter((path) => !/^\/(tmp|run|var\/log|var\/cache)\/|^\/etc\/(passwd|group|g?shadow|\.pwd\.lock)/.test(path)), []);
    });
    // The oldest C library that the program is to run with.
    test('tarball: a blob survives SIGKILL on Debian 11', { timeout: 600000 }, async () => {
        const at = folder('bullseye');
        run('mmdebstrap', '--quiet', '--variant=extract', '--include=libc6,busybox-static', 'bullseye', at);
        assert.match(run('find', at, '-name', 'libc-2.31.so'), /libc-2\.31/);
        run('tar', '-xzf', artefact(/x86_64\.tar\.gz$/), '-C', at);
        const program = `/lazuli-${VERSION}-linux-x86_64/bin/lazuli`;
        await survives(new Started(inside(at, [program, '--data', '/tmp/data']), { ports: portsIn(at, '/tmp/ports.json') }));
    });
    // A container engine: it loads the image, and runs it as its user with a volume.
    test('container image: a blob survives SIGKILL under podman', { timeout: 300000 }, async () => {
        const at = folder('podman', 'data');
        chmodSync(at, 0o777);
        const podman = ['podman', '--root', folder('podman', 'root'), '--runroot', folder('podman', 'run'), '--storage-driver', 'vfs',
            '--cgroup-manager', 'cgroupfs', '--events-backend', 'none', '--runtime', 'runc'];
        run(...podman, 'load', '-i', artefact(/-oci\.tar$/));
        // The machine may not raise limits, and needs no network of its own for it.
        const words = ['run', '--rm', '--replace', '--name', 'lazuli-test', '--network=host', '--ulimit', 'nofile=4096:4096', '--ulimit', 'nproc=2048:2048',
            '-v', `${at}:/data`, `localhost/lazuli:${VERSION}`, 'azurite', '-l', '/data'];
        class Contained extends Started {
            async end(signal) {
                run(...podman, 'kill', '--signal', signal, 'lazuli-test');
                const { status } = await this.gone;
                return status === 137 ? { status: null, signal: 'SIGKILL' } : { status, signal: null };
            }
        }
        await survives(new Contained([...podman, ...words], { ports: { seenAt: '/data/ports.json', readAt: join(at, 'ports.json') } }));
        run(...podman, 'rmi', '--all', '--force');
    });
    // Built by `make dist-all`; run by qemu's user mode with the libraries of Debian's arm64 packages.
    test('arm64 tarball: a blob survives SIGKILL under qemu', { timeout: 600000 }, async () => {
        const at = folder('arm64');
        run('tar', '-xzf', artefact(/aarch64\.tar\.gz$/), '-C', at);
        const program = join(at, `lazuli-${VERSION}-linux-aarch64/bin/lazuli`);
        assert.match(run('readelf', '-h', program), /AArch64/);
        const sysroot = new URL('../../build/sysroot-arm64', import.meta.url).pathname;
        const newest = [...run('aarch64-linux-gnu-objdump', '-T', program).matchAll(/GLIBC_2\.(\d+)/g)].reduce((n, m) => Math.max(n, +m[1]), 0);
        assert.ok(newest <= OLDEST_GLIBC, `needs glibc 2.${newest}`);
        const ports = { seenAt: join(at, 'ports.json'), readAt: join(at, 'ports.json') };
        await survives(new Started(['qemu-aarch64-static', '-L', sysroot, program, '--data', join(at, 'data')], { ports }));
        run('dpkg-deb', '--info', artefact(/_arm64\.deb$/));
        artefact(/^lazuli-linux-arm64-.*\.tgz$/);
    });
    test('packages made twice are the same bytes', { timeout: 600000 }, () => {
        const again = folder('again');
        const program = join(root, 'tarball', `lazuli-${VERSION}-linux-x86_64/bin/lazuli`);
        const other = ['release-arm64/portable/lazuli', 'sysroot-arm64'].map((path) => new URL(`../../build/${path}`, import.meta.url).pathname);
        run('sh', new URL('../../tools/dist/dist.sh', import.meta.url).pathname, program, again, ...other);
        assert.equal(readFileSync(join(again, 'SHA256SUMS'), 'utf8'), readFileSync(join(DIST, 'SHA256SUMS'), 'utf8'));
    });
}
