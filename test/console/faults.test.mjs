// SPDX-License-Identifier: Apache-2.0
// Test control in the console: available only with --test-control.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { goTo, openPage, openView, said, seed, signIn, startBrowser, startConsole, until } from './lib.mjs';

let server;
let browser;
let page;

before(async () => {
    server = await startConsole({ args: ['--test-control'] });
    await seed(server);
    browser = await startBrowser();
    page = await openPage(browser);
    await signIn(page, server);
});
after(async () => {
    await browser?.close();
    await server?.stop();
});

const dialog = () => page.getByRole('dialog');
const get = () => server.request('blob', 'GET', '/pictures/data.json');

test('a fault is added, strikes as often as it says, and is removed; a bad one is refused', async () => {
    await openView(page, 'Test control');
    await page.getByText('No faults').waitFor();
    await page.getByRole('button', { name: 'New fault' }).click();
    await dialog().getByLabel('Operation').fill('GetBlob');
    await dialog().getByLabel('Object').fill('data*');
    await dialog().getByRole('combobox', { name: 'Error', exact: true }).fill('NoSuchError');
    await dialog().getByRole('button', { name: 'Add', exact: true }).click();
    await dialog().getByRole('alert').waitFor();
    await dialog().getByRole('combobox', { name: 'Error', exact: true }).fill('ServerBusy');
    await page.shot('new-fault');
    await dialog().getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByText('operation GetBlob, object data*').waitFor();
    assert.equal((await get()).status, 503);
    assert.equal((await get()).status, 200);
    await page.getByRole('button', { name: /^Remove fault/ }).click();
    await page.getByText('No faults').waitFor();
});

test('a hold stops a request until it is released', async () => {
    await page.getByRole('tab', { name: 'Holds' }).click();
    await page.getByRole('button', { name: 'New hold' }).click();
    await dialog().getByLabel('Operation').fill('GetBlob');
    await dialog().getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByText('operation GetBlob').waitFor();
    let answered = false;
    const answer = get().then((got) => { answered = true; return got; });
    await until(async () => (await page.getByRole('region', { name: 'Holds' }).locator('tbody td').nth(3).innerText()) === '1');
    assert.equal(answered, false);
    await page.shot('holds');
    await page.getByRole('button', { name: /^Release hold/ }).click();
    assert.equal((await answer).status, 200);
});

test('a state is kept and put back, the clock moves a lease away, a reset empties', async () => {
    await page.getByRole('tab', { name: 'States' }).click();
    await page.getByRole('button', { name: 'Keep the state' }).click();
    await dialog().getByLabel('Name').fill('clean');
    await dialog().getByRole('button', { name: 'Keep' }).click();
    await page.getByRole('button', { name: 'Restore clean' }).waitFor();
    assert.equal((await server.request('blob', 'DELETE', '/pictures/data.json')).status, 202);
    await page.getByRole('button', { name: 'Restore clean' }).click();
    await dialog().getByRole('button', { name: 'Restore' }).click();
    await said(page, 'Restored');
    assert.equal((await get()).status, 200);
    await server.request('blob', 'PUT', '/pictures/data.json', { query: { comp: 'lease' }, headers: { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '60' } });
    await page.getByRole('tab', { name: 'Clock' }).click();
    await page.getByText('the real time').waitFor();
    await page.getByRole('button', { name: '+ 1 h' }).click();
    await page.getByText('3,600 s from the real time').waitFor();
    assert.equal((await server.request('blob', 'HEAD', '/pictures/data.json')).headers['x-ms-lease-state'], 'expired');
    await page.shot('clock');
    await page.getByRole('tab', { name: 'Accounts and reset' }).click();
    await page.getByRole('button', { name: 'Make an account' }).click();
    await page.getByRole('button', { name: 'Copy connection string' }).waitFor();
    await page.getByRole('button', { name: 'Reset everything' }).click();
    await dialog().getByLabel('Type').fill('reset');
    await dialog().getByRole('button', { name: 'Reset' }).click();
    await said(page, 'Reset');
    assert.equal((await get()).status, 404);
    assert.deepEqual(page.faults, []);
});

test('without --test-control there is no such page', async () => {
    const plain = await startConsole({ services: ['blob'] });
    try {
        const other = await openPage(browser);
        await signIn(other, plain);
        assert.equal(await other.getByRole('link', { name: 'Test control' }).count(), 0);
        await goTo(other, 'overview');
        await other.context().close();
    } finally {
        await plain.stop();
    }
});
