// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { crc32, fitsZip, safeName, Zip } from './zip.js';

test('crc32 of the usual check text', () => {
    assert.equal(crc32(new TextEncoder().encode('123456789')), 0xcbf43926);
    assert.equal(crc32(new TextEncoder().encode('6789'), crc32(new TextEncoder().encode('12345'))), 0xcbf43926);
});

test('python reads the archive back, byte for byte', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'lazuli-zip-'));
    const zip = new Zip();
    await zip.add('a.txt', new Blob(['hello']), new Date('2026-01-02T03:04:06Z'));
    await zip.add('folder/ü b.bin', new Blob([Uint8Array.from({ length: 100000 }, (_, i) => i & 255)]));
    await zip.add('empty', new Blob([]));
    writeFileSync(join(folder, 'x.zip'), Buffer.from(await zip.finish().arrayBuffer()));
    const script = 'import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; z.extractall(sys.argv[2]); print(z.getinfo("a.txt").date_time, z.namelist())';
    const said = execFileSync('python3', ['-c', script, join(folder, 'x.zip'), folder], { encoding: 'utf8', env: { ...process.env, PYTHONIOENCODING: 'utf-8' } });
    assert.match(said, /^\(2026, 1, 2, 3, 4, 6\) \['a\.txt', 'folder\/ü b\.bin', 'empty'\]/);
    assert.equal(readFileSync(join(folder, 'a.txt'), 'utf8'), 'hello');
    assert.equal(readFileSync(join(folder, 'folder', 'ü b.bin')).length, 100000);
    rmSync(folder, { recursive: true });
});

test('no name leads out of the folder', () => {
    assert.equal(safeName('../../etc/passwd'), '__/__/etc/passwd');
    assert.equal(safeName('/abs'), 'abs');
    assert.equal(safeName('a\\..\\b'), 'a/__/b');
    assert.equal(safeName('c:\\x'), 'c_/x');
    assert.equal(safeName('//'), '_');
});

test('what does not fit the format is known before', () => {
    assert.ok(fitsZip([{ size: 1 }]));
    assert.ok(!fitsZip([{ size: 0xffffffff }]));
    assert.ok(!fitsZip(Array.from({ length: 70000 }, () => ({ size: 1 }))));
});
