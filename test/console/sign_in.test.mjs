// SPDX-License-Identifier: Apache-2.0
// Ways to sign in to the console, and the rights of each: account key, connection string, SAS, token. Secrets stay in
// memory.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { BIN } from '../rest/lib.mjs';
import { ACCOUNT, goTo, hmac, KEY, openPage, openView, row, said, seed, signIn, signInBy, startBrowser, startConsole, tick } from './lib.mjs';

let server;
let browser;

before(async () => {
    server = await startConsole();
    await seed(server);
    browser = await startBrowser();
});
after(async () => {
    await browser?.close();
    await server?.stop();
});

/** A SAS of one container with these letters. */
function containerSas(name, letters) {
    const expiry = new Date(Date.now() + 3600e3).toISOString().replace(/\.\d+Z$/, 'Z');
    const version = '2025-11-05';
    const sig = hmac([letters, '', expiry, `/blob/${ACCOUNT}/${name}`, '', '', '', version, 'c', '', '', '', '', '', '', ''].join('\n'));
    return new URLSearchParams({ sv: version, se: expiry, sp: letters, sr: 'c', sig }).toString();
}

/** All that the browser keeps of the site, and the address of the page. */
const kept = (page) => page.evaluate(async () => JSON.stringify([
    location.href, { ...localStorage }, { ...sessionStorage }, document.cookie, await caches.keys(), await indexedDB.databases(), history.state, document.title,
]));

test('by a connection string; a wrong key is refused with the reason; nothing secret is kept', async () => {
    const page = await openPage(browser);
    await signInBy(page, server, 'Account key', KEY.replace(/^E/, 'F'), ACCOUNT);
    await page.getByRole('alert').filter({ hasText: 'AuthenticationFailed' }).waitFor();
    await signInBy(page, server, 'Account key', 'not base64!', ACCOUNT);
    await page.getByText('The key is not base64.').waitFor();
    await signInBy(page, server, 'Account key', server.connectionString());
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.getByText('AccountKey=••••••••').waitFor();
    assert.ok(!(await kept(page)).includes(KEY.slice(0, 20)));
    assert.ok(page.asked.every((url) => !decodeURIComponent(url).includes(KEY.slice(0, 20))), 'the key was never sent');
    await page.reload();
    await page.getByRole('button', { name: 'Sign in as devstoreaccount1' }).waitFor();
    await signIn(page, server);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in as devstoreaccount1' }).waitFor();
    assert.deepEqual(page.faults, []);
    await page.context().close();
});

test('by a SAS that may only list one container: the rest says what is not allowed', async () => {
    const page = await openPage(browser);
    await signInBy(page, server, 'SAS', `${server.url('blob')}/pictures?${containerSas('pictures', 'l')}`);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await openView(page, 'Blobs');
    await page.getByText('What you signed in with does not allow this.').waitFor();
    await page.getByLabel('Open a container by name').fill('pictures');
    await page.getByRole('button', { name: 'Open', exact: true }).click();
    await row(page, 'notes.txt').waitFor();
    await page.getByLabel('Files to upload').setInputFiles([{ name: 'new.txt', mimeType: 'text/plain', buffer: Buffer.from('x') }]);
    await said(page, '1 failed');
    await tick(page, 'people.csv');
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.locator('.toast.bad', { hasText: /Authorization|refused/ }).waitFor();
    await row(page, 'people.csv').click();
    await page.locator('.detail .error').waitFor();
    await openView(page, 'Concurrency');
    await page.getByText('needs the account key').waitFor();
    await goTo(page, 'queue', 'work');
    await page.locator('.error').first().waitFor();
    await openView(page, 'Access');
    await page.getByText('Only the account key can sign a SAS').waitFor();
    assert.equal((await server.request('blob', 'HEAD', '/pictures/people.csv')).status, 200);
    assert.equal((await server.request('blob', 'HEAD', '/pictures/new.txt')).status, 404);
    assert.ok(!(await kept(page)).includes('sig='));
    assert.deepEqual(page.faults, []);
    await page.context().close();
});

test('by a SAS of one container with all letters: bulk actions run as batches', async () => {
    for (let i = 0; i < 300; i++)
        await server.request('blob', 'PUT', `/pictures/bulk/${String(i).padStart(3, '0')}`, { body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob' } });
    const page = await openPage(browser);
    await signInBy(page, server, 'SAS', containerSas('pictures', 'racwdlt'), ACCOUNT);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await goTo(page, 'blob', 'pictures', 'bulk', '');
    await row(page, '000').waitFor();
    await page.getByRole('grid', { name: 'Blobs' }).focus();
    await page.keyboard.press('Control+a');
    await page.getByText('300 entries, 300 selected').waitFor();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('300 blobs with their snapshots').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await said(page, 'Deleted: 300 blobs');
    assert.equal(page.asked.filter((url) => url.includes('comp=batch')).length, 2);
    assert.equal((await server.request('blob', 'HEAD', '/pictures/bulk/299')).status, 404);
    await page.context().close();
});

test('a SAS made with two clicks opens what it is for', async () => {
    const page = await openPage(browser);
    await signIn(page, server);
    await goTo(page, 'blob', 'pictures', '');
    await row(page, 'data.json').click();
    await page.getByRole('button', { name: 'Access (SAS)' }).click();
    await page.getByRole('button', { name: 'Make it' }).click();
    const url = await page.getByLabel('URL', { exact: true }).inputValue();
    const answer = await fetch(url);
    assert.equal(answer.status, 200);
    assert.equal((await answer.json()).name, 'lazuli');
    await page.keyboard.press('Escape');
    await openView(page, 'Access');
    await page.getByRole('button', { name: 'Make it' }).click();
    const connection = await page.getByLabel('Connection string', { exact: true }).inputValue();
    const { BlobServiceClient } = await import('../rest/node_modules/@azure/storage-blob/dist/esm/index.js').catch(() => ({}));
    if (BlobServiceClient)
        assert.equal((await BlobServiceClient.fromConnectionString(connection).getContainerClient('pictures').exists()), true);
    assert.match(connection, /BlobEndpoint=.*SharedAccessSignature=.*sig=/);
    await page.getByLabel('SAS or URL').fill(url);
    await page.getByText('Nothing is plainly wrong with it.').waitFor();
    await page.getByLabel('SAS or URL').fill(url.replace(/se=[^&]+/, 'se=2020-01-01T00:00:00Z'));
    await page.getByText('It expired at 2020-01-01T00:00:00Z.').waitFor();
    await page.context().close();
});

test('by a bearer token, over HTTPS', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'lazuli-console-tls-'));
    execFileSync(BIN, ['cert', join(folder, 'cert.pem'), join(folder, 'key.pem')]);
    const secure = await startConsole({ services: ['blob', 'queue'], args: ['--cert', join(folder, 'cert.pem'), '--key', join(folder, 'key.pem'), '--oauth', 'basic'] });
    try {
        const now = Math.floor(Date.now() / 1000);
        const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
        const token = `${part({ typ: 'JWT', alg: 'none' })}.${part({ iss: 'https://sts.windows.net/t/', aud: 'https://storage.azure.com', oid: 'o', tid: 't', iat: now, nbf: now - 5, exp: now + 600 })}.`;
        const page = await openPage(browser, { ignoreHTTPSErrors: true });
        await signInBy(page, secure, 'Token', token, ACCOUNT);
        await page.getByRole('heading', { name: 'Overview' }).waitFor();
        await openView(page, 'Blobs');
        await page.getByRole('button', { name: 'New container' }).click();
        await page.getByRole('dialog').getByLabel('Name').fill('by-token');
        await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
        await row(page, 'by-token').click();
        await page.getByLabel('Files to upload').setInputFiles([{ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('hello') }]);
        await row(page, 'a.txt').waitFor();
        assert.ok(!(await kept(page)).includes(token.slice(0, 30)));
        assert.deepEqual(page.faults, []);
        await page.context().close();
    } finally {
        await secure.stop();
        rmSync(folder, { recursive: true });
    }
});
