// SPDX-License-Identifier: Apache-2.0
// Stores of every earlier format, each written by the program of that time (formats/make.mjs) and ended by SIGKILL: they are
// opened, checked, read, written to, and reopened.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { BIN, startServer } from './lib.mjs';
import { change, read } from './formats_lib.mjs';

const FOLDER = new URL('formats/', import.meta.url).pathname;
const stores = readdirSync(FOLDER).filter((name) => name.endsWith('.tar.xz')).sort();
const NEWEST = Number(/store-format=(\d+)/.exec(spawnSync(BIN, ['--version'], { encoding: 'utf8' }).stdout)[1]);

test('there is a store of this format', () => {
    assert.ok(stores.includes(`format-${NEWEST}.tar.xz`), 'make one: docs/RELEASING.md, step 4');
});

function check(data) {
    const done = spawnSync(BIN, ['check', data], { encoding: 'utf8' });
    assert.equal(done.status, 0, done.stdout + done.stderr);
    assert.match(done.stdout, / 0 problems/);
}

for (const name of stores)
    test(`${name} is opened, read and written to`, { timeout: 120000 }, async () => {
        const server = await startServer();
        try {
            await server.kill();
            spawnSync('rm', ['-rf', server.data]);
            assert.equal(spawnSync('tar', ['-C', server.folder, '-xJf', join(FOLDER, name)], { stdio: 'inherit' }).status, 0);
            const format = /format (\d+)/.exec(readFileSync(join(server.data, 'LAZULI'), 'utf8'))[1];
            assert.equal(`format-${format}.tar.xz`, name);
            await server.start();
            await read(server);
            await change(server);
            await server.endWell();
            assert.equal(readFileSync(join(server.data, 'LAZULI'), 'utf8'), `lazuli store, format ${NEWEST}\n`);
            check(server.data);
            await server.start();
            const later = (await server.blobs()).getContainerClient('kept').getBlobClient('later');
            assert.equal((await later.downloadToBuffer()).toString(), 'written by a later version');
        } finally {
            await server.stop();
        }
    });
