// SPDX-License-Identifier: Apache-2.0
// The counts of a part of `make test`: nothing passes that has not run.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const COUNTS = fileURLToPath(new URL('counts.sh', import.meta.url));
const count = (part, status, log) =>
    execFileSync('sh', [COUNTS, part, String(status)], { input: log, encoding: 'utf8' }).trim();

test('what was skipped, cancelled or left to do counts as failed', () => {
    assert.equal(count('unit', 0, '5 passed, 0 failed\n7 passed, 0 failed\n'), '12 0');
    assert.equal(count('unit', 0, 'SKIP test_x\n5 passed, 0 failed, 2 skipped\n'), '5 2');
    assert.equal(count('unit', 1, '5 passed, 1 failed, 2 skipped\n'), '5 3');
    assert.equal(count('node', 0, '# pass 9\n# fail 0\n# cancelled 0\n# skipped 0\n# todo 0\n'), '9 0');
    assert.equal(count('node', 1, '# pass 9\n# fail 1\n# cancelled 1\n# skipped 1\n# todo 1\n'), '9 4');
});

test('a part that ran nothing, or that ended badly, has failed', () => {
    assert.equal(count('unit', 0, ''), '0 1');
    assert.equal(count('node', 0, '# pass 0\n# fail 0\n'), '0 1');
    assert.equal(count('unit', 139, '5 passed, 0 failed\n'), '5 1');
    assert.deepEqual(['build', 'style', 'lint'].map((part) => count(part, 0, '')), ['1 0', '1 0', '1 0']);
    assert.equal(count('build', 2, ''), '0 1');
});

test('what Node says of a skipped test is read', () => {
    const folder = mkdtempSync(join(tmpdir(), 'counts-'));
    const file = join(folder, 'one.test.mjs');
    writeFileSync(file, "import { test } from 'node:test';\ntest('runs', () => {});\ntest('does not', { skip: 'no' }, () => {});\n");
    // Without the variable by which Node knows that it is run by another of its kind.
    const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
    const log = execFileSync(process.execPath, ['--test', '--test-reporter=tap', file], { env, encoding: 'utf8' });
    assert.equal(count('node', 0, log), '1 1');
    rmSync(folder, { recursive: true });
});
