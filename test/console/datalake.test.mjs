// SPDX-License-Identifier: Apache-2.0
// An account with a hierarchical namespace in the console: directories, access control lists, rename.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { goTo, openPage, row, said, signIn, startBrowser, startConsole, tick } from './lib.mjs';

let server;
let browser;
let page;

before(async () => {
    server = await startConsole({ services: ['blob'], args: ['--hns', 'on'] });
    assert.equal((await server.request('blob', 'PUT', '/lake', { query: { restype: 'container' } })).status, 201);
    browser = await startBrowser();
    page = await openPage(browser);
    await signIn(page, server);
});
after(async () => {
    await browser?.close();
    await server?.stop();
});

const dialog = () => page.getByRole('dialog');
const more = async (item) => {
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: item }).click();
};

test('a directory is made, filled, its access changed, and it is renamed with all below it', async () => {
    await goTo(page, 'blob', 'lake', '');
    await page.getByText('No blobs here.').waitFor();
    await more('New directory…');
    await dialog().getByLabel('Name').fill('raw');
    await dialog().getByRole('button', { name: 'Create' }).click();
    await row(page, 'raw').waitFor();
    await server.request('blob', 'PUT', '/lake/raw/day.txt', { body: 'sunny', headers: { 'x-ms-blob-type': 'BlockBlob' } });
    await tick(page, 'raw');
    await more('Access control…');
    const list = dialog().getByLabel('Access control list');
    await list.waitFor();
    assert.match(await list.inputValue(), /user::rwx/);
    await list.fill('user::rwx,group::r-x,other::--x');
    await page.shot('access-control');
    await dialog().getByRole('button', { name: 'Save' }).click();
    await said(page, 'Access to raw changed');
    const access = await server.request('blob', 'HEAD', '/lake/raw', { query: { action: 'getAccessControl' } });
    assert.equal(access.headers['x-ms-permissions'], 'rwxr-x--x');
    await more('Rename…');
    await dialog().getByLabel('New path').fill('clean');
    await dialog().getByRole('button', { name: 'Rename' }).click();
    await row(page, 'clean').waitFor();
    assert.equal((await server.request('blob', 'GET', '/lake/clean/day.txt')).text, 'sunny');
    assert.equal((await server.request('blob', 'GET', '/lake/raw/day.txt')).status, 404);
    // A name that is taken is not written over.
    await server.request('blob', 'PUT', '/lake/taken.txt', { body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob' } });
    await tick(page, 'clean');
    await more('Rename…');
    await dialog().getByLabel('New path').fill('taken.txt');
    await dialog().getByRole('button', { name: 'Rename' }).click();
    await dialog().getByRole('alert').waitFor();
    await page.keyboard.press('Escape');
    assert.equal((await server.request('blob', 'GET', '/lake/taken.txt')).text, 'x');
    assert.deepEqual(page.faults, []);
});
