// SPDX-License-Identifier: Apache-2.0
// The operator's view: messages about wrong flags, the clock file, the access log, errors that name their cause.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { ACCOUNT, assertError, BIN, hmac, KEY, startServer, until, VERSION } from './lib.mjs';

const run = promisify(execFile);

/** Waits for the program to exit with an error; a server that starts instead is stopped. */
async function fails(args, env = {}) {
    try {
        await run(BIN, args, { env: { ...process.env, ...env }, timeout: 60_000 });
    } catch (error) {
        assert.ok(!error.killed, `lazuli ${args.join(' ')} did not end`);
        return error;
    }
    return assert.fail(`lazuli ${args.join(' ')} succeeded`);
}

let server;
before(async () => { server = await startServer({ inMemory: true, args: ['--log-level', 'debug'] }); });
after(() => server.stop());

const list = { query: 'comp=list' };

test('--clock-file: a number in text moves the clock, at the start and while the server runs', async () => {
    const own = await startServer({ inMemory: true, services: ['blob'] });
    await own.kill();
    writeFileSync(own.clockFile, '3600000');
    await own.start();
    const hoursAhead = async () => {
        const answer = await own.request('blob', 'GET', '', { ...list, auth: 'none' });
        return Math.round((new Date(answer.headers.date) - Date.now()) / 3600e3);
    };
    assert.equal(await hoursAhead(), 1);
    writeFileSync(own.clockFile, '7200000\n');
    assert.equal(await hoursAhead(), 2);
    writeFileSync(own.clockFile, 'nonsense');
    assert.equal(await hoursAhead(), 2);
    writeFileSync(own.clockFile, '-3600000\n');
    assert.equal(await hoursAhead(), -1);
    // And the form that programs write.
    own.advance(0);
    assert.equal(Math.abs(await hoursAhead()), 0);
    await own.kill();
    writeFileSync(own.clockFile, 'tomorrow\n');
    const error = await fails(['--in-memory', '--clock-file', own.clockFile]);
    assert.match(error.stderr, /clock: is neither a number of milliseconds in text nor/);
    await own.stop();
});

test('AZURITE_ACCOUNTS and --accounts: which account is wrong, and why', async () => {
    const key = Buffer.alloc(32, 7).toString('base64');
    const start = (accounts) => fails(['--in-memory', '--host', '127.0.0.1'], { AZURITE_ACCOUNTS: accounts });
    assert.match((await start('foo:bar')).stderr, /AZURITE_ACCOUNTS: account 1 \(foo\): .*key is base64/);
    assert.match((await start(`good1:${key};Bad_Name:${key}`)).stderr, /account 2 \(no good name\): .*name is 3 to 24/);
    const three = await start(`good1:${key}:${key}:${key}`);
    assert.match(three.stderr, /account 1 \(good1\): .*two keys at most/);
    assert.ok(!three.stderr.includes(key), 'a key is not printed');
    const file = `${server.folder}/accounts`;
    writeFileSync(file, `# comment\n\ngood1:${key}\nfoo:bar\n`);
    assert.match((await fails(['--in-memory', '--accounts', file])).stderr, /accounts: line 4: account 1 \(foo\): /);
    // A line that is too long is not split in two.
    const hidden = `# ${' '.repeat(1021)}${' '.repeat(7168)}hidden:${key}\n`;
    for (const text of [hidden, Buffer.alloc(100000), `good1:${key};`.repeat(1000)]) {
        writeFileSync(file, text);
        assert.match((await fails(['--in-memory', '--accounts', file])).stderr, /accounts: a line is longer/);
    }
});

test('an account that is not served is told from one that the address does not name', async () => {
    const unknown = await server.request('blob', 'GET', '', { ...list, account: 'nobody' });
    assertError(unknown, 403, 'AuthenticationFailed');
    assert.match(unknown.text, /There is no account 'nobody' on this server/);
    const headers = { Authorization: `SharedKey other:${KEY}`, 'x-ms-version': VERSION, 'x-ms-date': new Date().toUTCString() };
    const other = await server.request('blob', 'GET', '', { ...list, headers, auth: 'none' });
    assertError(other, 403, 'AuthenticationFailed');
    assert.match(other.text, /is not the one that the request names/);
    const sas = { sv: VERSION, ss: 'b', srt: 's', sp: 'l', se: '2030-01-01', sig: hmac('x') };
    const bySas = await server.request('blob', 'GET', '', { query: { comp: 'list', ...sas }, account: 'nobody', auth: 'none' });
    assertError(bySas, 403, 'AuthenticationFailed');
    assert.match(bySas.text, /There is no account 'nobody' on this server/);
});

test('docs/operations.md lists nothing that answers that it is not served', async () => {
    const text = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');
    assert.doesNotMatch(text, /QueryBlobContents/);
    assert.match(text, /\| PutBlockList \|/);
});

test('the access log names service, client and credential, and at debug why a request was refused', async () => {
    const { request } = server;
    const lineOf = async (answer) => {
        const id = answer.headers['x-ms-request-id'];
        return until(() => server.output.split('\n').find((line) => line.includes(id) && / in=\d/.test(line)));
    };
    const reasonOf = async (answer) => {
        const id = answer.headers['x-ms-request-id'];
        return until(() => server.output.split('\n').find((line) => line.includes(id) && / DEBUG /.test(line)));
    };
    const byKey = await request.call(server, 'queue', 'GET', '', list);
    assert.match(await lineOf(byKey), / queue GET \/devstoreaccount1\?comp=list 200 - .* client=127\.0\.0\.1 by=key$/);
    const sas = { sv: VERSION, ss: 'b', srt: 's', sp: 'l', se: '2030-01-01' };
    const text = [ACCOUNT, sas.sp, sas.ss, sas.srt, '', sas.se, '', '', sas.sv, '', ''].join('\n');
    const bySas = await request.call(server, 'blob', 'GET', '', { query: { comp: 'list', ...sas, sig: hmac(text) }, auth: 'none' });
    assert.match(await lineOf(bySas), / blob GET .* 200 .* by=account-sas$/);
    const nobody = await request.call(server, 'blob', 'GET', '', { ...list, auth: 'none' });
    assert.match(await lineOf(nobody), / by=-$/);
    const wrong = await request.call(server, 'blob', 'GET', '', { ...list, key: Buffer.alloc(32).toString('base64') });
    assert.match(await reasonOf(wrong), /ListContainers refused: 403 AuthenticationFailed.*the signature is not right/);
    const header = { headers: { 'x-ms-copy-source': 'http://h/x?sig=very-secret', 'x-ms-lease-id': 'very-secret' } };
    const bad = await request.call(server, 'blob', 'PUT', '/c/b', header);
    assert.match(await reasonOf(bad), /refused: 4\d\d /);
    assert.doesNotMatch(server.output, /very-secret|String to sign|string to sign/);
    assert.ok(!server.output.includes(KEY));
});
