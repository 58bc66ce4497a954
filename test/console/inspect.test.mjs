// SPDX-License-Identifier: Apache-2.0
// The concurrency inspector's page and the guided tour.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { freePorts } from '../rest/lib.mjs';
import { READ, SmbClient, WRITE } from '../smb/client.mjs';
import { goTo, openPage, openView, row, said, seed, signIn, startBrowser, startConsole } from './lib.mjs';

let server;
let browser;
let page;
let smbPort;

before(async () => {
    [smbPort] = await freePorts(1);
    server = await startConsole({ args: ['--smb-port', String(smbPort)] });
    await seed(server);
    browser = await startBrowser();
    page = await openPage(browser);
    await signIn(page, server);
});
after(async () => {
    await browser?.close();
    await server?.stop();
});

test('two tabs race on one blob, and the inspector tells live who won', async () => {
    await openView(page, 'Concurrency');
    await page.getByText('live, 0 refusals').waitFor();
    const tabs = await Promise.all([openPage(browser), openPage(browser)]);
    for (const tab of tabs) {
        await signIn(tab, server);
        await goTo(tab, 'blob', 'pictures', '');
        await row(tab, 'data.json').click();
        await tab.getByRole('tab', { name: 'Metadata' }).click();
        await tab.getByRole('tabpanel').getByRole('button', { name: 'Add' }).click();
        await tab.getByLabel('Name 1').fill('winner');
    }
    await tabs[0].getByLabel('Value 1').fill('first');
    await tabs[1].getByLabel('Value 1').fill('second');
    const marker = (tab) => tab.waitForRequest((request) => request.method() === 'PUT' && request.url().includes('comp=metadata'));
    await Promise.all(tabs.flatMap((tab) => [marker(tab), tab.getByRole('tabpanel').getByRole('button', { name: 'Save' }).click()]));
    // Exactly one of them is told that it lost.
    await Promise.any(tabs.map((tab) => tab.getByText('ConditionNotMet').first().waitFor()));
    const lost = (await Promise.all(tabs.map((tab) => tab.getByText('ConditionNotMet').count()))).map((count) => count > 0);
    assert.equal(lost.filter(Boolean).length, 1);
    const stored = (await server.request('blob', 'HEAD', '/pictures/data.json')).headers;
    assert.equal(stored['x-ms-meta-winner'], lost[0] ? 'second' : 'first');
    await row(page, 'pictures/data.json').click();
    const detail = page.getByRole('complementary');
    await detail.getByText('SetBlobMetadata on').waitFor();
    await detail.getByText(/Rule B2/).waitFor();
    await detail.getByText(/Made so by: SetBlobMetadata/).waitFor();
    assert.ok(await detail.getByText(stored.etag).first().isVisible(), 'the ETag that the winner made');
    await page.shot('race');
    await detail.getByRole('button', { name: 'Timeline of this resource' }).click();
    await page.locator('.timeline li.bad').waitFor();
    await page.locator('.timeline li', { hasText: 'SetBlobMetadata wrote' }).waitFor();
    for (const tab of tabs)
        await tab.context().close();
});

test('leases are listed with their time left, and broken from there', async () => {
    await server.request('blob', 'PUT', '/pictures/people.csv', { query: { comp: 'lease' }, headers: { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '60' } });
    await server.request('file', 'PUT', '/docs/plans/readme.txt', { query: { comp: 'lease' }, headers: { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '-1', 'x-ms-proposed-lease-id': '1f812371-a41d-49e6-b123-f4b542e851c5' } });
    await page.getByRole('tab', { name: 'Leases' }).click();
    const line = page.getByRole('row').filter({ hasText: 'pictures/people.csv' });
    await line.getByText(/^\s*\d+ s$/).or(line.locator('td.left')).first().waitFor();
    await page.getByRole('button', { name: 'Break the lease of pictures/people.csv' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Break' }).click();
    await said(page, 'Lease of pictures/people.csv broken');
    assert.equal((await server.request('blob', 'HEAD', '/pictures/people.csv')).headers['x-ms-lease-state'], 'broken');
    await page.getByRole('button', { name: 'Break the lease of docs/plans/readme.txt' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Break' }).click();
    await said(page, 'Lease of docs/plans/readme.txt broken');
    assert.equal((await server.request('file', 'HEAD', '/docs/plans/readme.txt')).headers['x-ms-lease-state'], 'broken');
});

test('messages in flight and the hottest resources', async () => {
    await server.request('queue', 'GET', '/work/messages', { query: { visibilitytimeout: 600 } });
    await page.getByRole('tab', { name: 'Messages in flight' }).click();
    await page.getByText('1 message in flight of 3').waitFor();
    await row(page, 's old').waitFor();
    await page.getByRole('tab', { name: 'Contention' }).click();
    await page.getByRole('button', { name: 'blob pictures/data.json' }).waitFor();
    await page.getByText('B2 × 1').waitFor();
    await page.getByRole('tab', { name: 'SMB opens and locks' }).click();
    await page.getByText('Nothing is open over SMB.').waitFor();
});

test('a file that an SMB client has open: its locks, the REST request that met it, and a close from the page', async () => {
    const client = await SmbClient.connect(smbPort, 'docs');
    try {
        const handle = await client.open('plans\\readme.txt', { access: READ | WRITE, share: '' });
        await client.lock(handle, 0, 100, 'exclusive');
        await row(page, 'exclusive 0–99').waitFor();
        assert.equal((await server.request('file', 'GET', '/docs/plans/readme.txt')).status, 409);
        await page.shot('smb-opens');
        await goTo(page, 'inspect', 'refusals');
        await row(page, 'SharingViolation').click();
        await page.getByText('An SMB client has the file open').waitFor();
        await goTo(page, 'inspect', 'opens');
        await row(page, 'exclusive 0–99').click();
        await page.getByRole('dialog').getByRole('button', { name: 'Close it' }).click();
        await said(page, 'Closed');
        await page.getByText('Nothing is open over SMB.').waitFor();
        assert.equal((await server.request('file', 'GET', '/docs/plans/readme.txt')).status, 200);
    } finally {
        client.cut();
    }
});

for (const title of ['Lost update', 'Optimistic: ETag and retry', 'Pessimistic: lease', 'Tables: ETag of an entity', 'Queue: visibility', 'Files: leases, and SMB against REST']) {
    test(`the tour plays “${title}” as the model promises`, async () => {
        await openView(page, 'Guided tour');
        await page.getByRole('button', { name: `Play ${title}` }).click();
        const total = Number(/of (\d+)/.exec(await page.getByText(/^step 1 of \d+$/).innerText())[1]);
        for (let i = 1; i <= total; i++) {
            await page.locator('main button.primary').click();
            await page.locator('.step').nth(i - 1).waitFor();
        }
        await page.getByText('Every answer was as the model promises.').waitFor();
        if (/Optimistic|lease$/.test(title))
            await page.getByText('The inspector says:').first().waitFor();
        await page.shot(`tour-${title.split(/\W/)[0].toLowerCase()}`);
    });
}

test('requests are seen as they come: writes, reads and refusals, and lead to the timeline', async () => {
    await goTo(page, 'inspect', 'requests');
    await page.getByText(/live, \d+ requests/).waitFor();
    await server.request('blob', 'PUT', '/pictures/seen.txt', { body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob' } });
    await row(page, 'pictures/seen.txt').waitFor();
    await server.request('blob', 'GET', '/pictures/seen.txt');
    await server.request('blob', 'PUT', '/pictures/seen.txt', { body: 'y', headers: { 'x-ms-blob-type': 'BlockBlob', 'If-None-Match': '*' } });
    await page.getByLabel('Requests that contain').fill('seen.txt');
    await row(page, 'GetBlob').waitFor();
    await row(page, '409 BlobAlreadyExists').waitFor();
    await page.shot('requests');
    await row(page, '409 BlobAlreadyExists').click();
    await page.locator('.timeline li.bad').waitFor();
});

test('scratch resources are gone after the tour', async () => {
    await openView(page, 'Overview');
    const left = async () => (await (await server.blobs()).listContainers().byPage().next()).value.containerItems.filter((one) => one.name.startsWith('tour')).length;
    for (let i = 0; i < 100 && await left() > 0; i++)
        await page.waitForTimeout(50);
    assert.equal(await left(), 0);
    assert.deepEqual(page.faults, []);
});
