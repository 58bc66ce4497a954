// SPDX-License-Identifier: Apache-2.0
// Work on blobs: history, leases, holds, kinds, folders, tags, bulk actions, previews, copy as code.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { parquetFile } from '../../web/src/api/parquet_sample.mjs';
import { goTo, openPage, openView, row, said, seed, signIn, startBrowser, startConsole, tick } from './lib.mjs';

let server;
let browser;
let page;
let folder;

before(async () => {
    server = await startConsole({ args: ['--container-retention-days', '7'] });
    await seed(server);
    const keep = '<StorageServiceProperties><DeleteRetentionPolicy><Enabled>true</Enabled><Days>7</Days></DeleteRetentionPolicy></StorageServiceProperties>';
    assert.equal((await server.request('blob', 'PUT', '/', { query: { restype: 'service', comp: 'properties' }, body: keep })).status, 202);
    browser = await startBrowser();
    page = await openPage(browser, { acceptDownloads: true });
    await signIn(page, server);
    folder = mkdtempSync(join(tmpdir(), 'lazuli-console-'));
});
after(async () => {
    if (folder)
        rmSync(folder, { recursive: true });
    await browser?.close();
    await server?.stop();
});

const blob = (name, options = {}) => server.request('blob', options.method ?? 'GET', `/pictures/${name}`, options);
async function openBlob(name, tab) {
    await goTo(page, 'blob', 'pictures', '');
    await row(page, name).click();
    await page.locator('.detail h3', { hasText: name }).waitFor();
    await page.getByRole('tab', { name: tab, exact: true }).click();
}

test('two states are compared, and an old one is restored', async () => {
    await openBlob('notes.txt', 'History');
    const boxes = page.getByRole('checkbox', { name: /^Compare / });
    await boxes.nth(1).waitFor();
    await boxes.nth(0).check();
    await boxes.nth(1).check();
    await page.getByRole('button', { name: 'Compare two' }).click();
    await page.locator('.diff > div').first().waitFor();
    const lines = await page.locator('.diff > div').allInnerTexts();
    assert.deepEqual(lines.map((line) => line.replace(/^(added|removed)/, '').trim()).filter((line) => /^[-+]/.test(line)), ['- two', '+ 2', '+ four']);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Restore', exact: true }).click();
    await said(page, 'Restored');
    assert.equal((await blob('notes.txt')).text, 'one\ntwo\nthree\n');
    await page.getByRole('button', { name: 'Make a snapshot' }).click();
    await said(page, 'Snapshot made');
    await page.locator('.timeline li').nth(2).waitFor();
});

test('a lease is taken, told, renewed and broken; a hold and a period are set and taken off', async () => {
    await openBlob('notes.txt', 'Lease');
    const panel = page.getByRole('tabpanel');
    await panel.getByRole('button', { name: 'Acquire' }).click();
    await panel.getByText('leased', { exact: true }).waitFor();
    assert.equal((await blob('notes.txt', { method: 'PUT', body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob' } })).status, 412);
    await panel.getByText(/\d+ s left/).waitFor();
    await panel.getByRole('button', { name: 'Renew' }).click();
    await said(page, 'Lease renewed');
    await panel.getByRole('button', { name: 'Break' }).click();
    await panel.getByText('broken', { exact: true }).waitFor();
    await openBlob('data.json', 'Properties');
    await page.getByRole('button', { name: 'Legal hold' }).click();
    await page.getByText('Under legal hold.').waitFor();
    assert.equal((await blob('data.json', { method: 'DELETE' })).status, 409);
    await page.getByRole('button', { name: 'Take legal hold off' }).click();
    await page.getByText('No legal hold.').waitFor();
    await page.getByRole('button', { name: 'Keep for so long' }).click();
    await page.getByRole('button', { name: 'Take period off' }).click();
    await page.getByText('No retention period.').waitFor();
    await page.getByLabel('Content type').fill('text/x-test');
    await page.getByRole('button', { name: 'Save' }).click();
    await said(page, 'Properties saved');
    assert.equal((await blob('data.json')).headers['content-type'], 'text/x-test');
    await page.getByLabel('Tier', { exact: true }).selectOption('Cool');
    await said(page, 'Tier changed');
    assert.equal((await blob('data.json', { method: 'HEAD' })).headers['x-ms-access-tier'], 'Cool');
});

test('page and append blobs go up as such and show how they lie', async () => {
    await goTo(page, 'blob', 'pictures', '');
    await row(page, 'notes.txt').waitFor();
    const put = async (kind, name, size) => {
        await page.getByLabel('Upload as').selectOption(kind);
        await page.getByLabel('Files to upload').setInputFiles([{ name, mimeType: 'application/octet-stream', buffer: Buffer.alloc(size, 'z') }]);
        await row(page, name).waitFor();
    };
    await put('AppendBlob', 'up.append', 9 << 20);
    await put('PageBlob', 'up.page', 700);
    await page.getByLabel('Upload as').selectOption('BlockBlob');
    const append = await blob('up.append', { method: 'HEAD' });
    assert.deepEqual([append.headers['x-ms-blob-type'], append.headers['content-length'], append.headers['x-ms-blob-committed-block-count']], ['AppendBlob', String(9 << 20), '3']);
    const pages = await blob('up.page');
    assert.deepEqual([pages.headers['x-ms-blob-type'], pages.text.length, pages.text.replace(/\0/g, '').length], ['PageBlob', 1024, 700]);
    await openBlob('disk.vhd', 'Layout');
    await page.getByText('512–1023').waitFor();
    await openBlob('up.append', 'Layout');
    await page.getByText('3 appended blocks').waitFor();
});

test('a folder goes up, is seen as folders, comes down as a ZIP, and is copied', async () => {
    mkdirSync(join(folder, 'trip', 'day1'), { recursive: true });
    writeFileSync(join(folder, 'trip', 'plan.txt'), 'the plan');
    writeFileSync(join(folder, 'trip', 'day1', 'a.txt'), 'first day');
    await goTo(page, 'blob', 'pictures', '');
    await page.getByLabel('Folder to upload').setInputFiles(join(folder, 'trip'));
    await row(page, 'trip/').click();
    await row(page, 'day1/').waitFor();
    assert.equal((await blob('trip/day1/a.txt')).text, 'first day');
    await goTo(page, 'blob', 'pictures', '');
    await tick(page, 'trip/');
    await page.getByRole('button', { name: 'Download ▾' }).click();
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('menuitem', { name: 'as ZIP' }).click()]);
    await download.saveAs(join(folder, 'x.zip'));
    const listed = execFileSync('python3', ['-c', 'import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); print([(n, z.read(n).decode()) for n in sorted(z.namelist())])', join(folder, 'x.zip')], { encoding: 'utf8' });
    assert.equal(listed.trim(), "[('trip/day1/a.txt', 'first day'), ('trip/plan.txt', 'the plan')]");
    await page.getByRole('button', { name: 'More ▾' }).click();
    await page.getByRole('menuitem', { name: 'Copy…' }).click();
    await page.getByLabel('Names begin with').last().fill('copy/');
    await page.getByRole('dialog').getByRole('button', { name: 'Copy' }).click();
    await said(page, 'Copied to pictures: 2 blobs');
    assert.equal((await blob('copy/trip/plan.txt')).text, 'the plan');
    await tick(page, 'trip/');
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('2 blobs with their snapshots').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await said(page, 'Deleted: 2 blobs');
});

test('one blob comes down as it is; a search by prefix and one by tags find it', async () => {
    await goTo(page, 'blob', 'pictures', '');
    await row(page, 'people.csv').click();
    const [download] = await Promise.all([page.waitForEvent('download'), page.locator('.detail').getByRole('button', { name: 'Download' }).click()]);
    assert.equal(download.suggestedFilename(), 'people.csv');
    assert.equal(readFileSync(await download.path(), 'utf8'), 'name,age\n"Ann, A.",31\nBob,27\n');
    await page.getByLabel('Names that begin with').fill('peo');
    await page.getByText('1 entry').waitFor();
    await blob('people.csv', { method: 'PUT', query: { comp: 'tags' }, body: '<Tags><TagSet><Tag><Key>team</Key><Value>blue</Value></Tag></TagSet></Tags>' });
    await goTo(page, 'blob', '?tags');
    await page.getByLabel('Tag expression').fill('"team" = \'blue\'');
    await page.getByRole('button', { name: 'Find' }).click();
    await row(page, 'team=blue').waitFor();
});

test('what was deleted is listed and comes back', async () => {
    await blob('gone.txt', { method: 'PUT', body: 'here', headers: { 'x-ms-blob-type': 'BlockBlob' } });
    await goTo(page, 'blob', 'pictures', '');
    await tick(page, 'gone.txt');
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await said(page, 'Deleted: 1 blob');
    await page.getByLabel('Deleted').click();
    await row(page, 'gone.txt').click();
    await page.getByRole('button', { name: 'Undelete' }).click();
    await said(page, 'Undeleted gone.txt');
    assert.equal((await blob('gone.txt')).text, 'here');
});

test('what changed since it was listed is not deleted', async () => {
    await blob('race.txt', { method: 'PUT', body: '1', headers: { 'x-ms-blob-type': 'BlockBlob' } });
    await goTo(page, 'blob', 'pictures', 'no', '');
    await goTo(page, 'blob', 'pictures', '');
    await tick(page, 'race.txt');
    await blob('race.txt', { method: 'PUT', body: '2', headers: { 'x-ms-blob-type': 'BlockBlob' } });
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await said(page, '1 refused (ConditionNotMet)');
    assert.equal((await blob('race.txt')).text, '2');
});

test('previews: text, JSON, CSV, an image, PDF, audio, video, Parquet, bytes', async () => {
    const wave = Buffer.concat([Buffer.from('RIFF$\0\0\0WAVEfmt '), Buffer.from([16, 0, 0, 0, 1, 0, 1, 0, 64, 31, 0, 0, 64, 31, 0, 0, 1, 0, 8, 0]), Buffer.from('data\0\0\0\0')]);
    const cases = [
        ['a.txt', 'plain words', 'text/plain', (box) => box.getByText('plain words')],
        ['a.json', '{"a":[1]}', 'application/json', (box) => box.getByText('"a": [')],
        ['a.csv', 'x,y\n1,2\n', 'text/csv', (box) => box.getByRole('columnheader', { name: 'y' })],
        ['a.svg', '<svg xmlns="http://www.w3.org/2000/svg" width="5" height="5"/>', 'image/svg+xml', (box) => box.locator('img')],
        ['a.pdf', '%PDF-1.4\n%%EOF', 'application/pdf', (box) => box.locator('iframe')],
        ['a.wav', wave, 'audio/wav', (box) => box.locator('audio')],
        ['a.webm', 'x', 'video/webm', (box) => box.locator('video')],
        ['a.parquet', parquetFile(), '', (box) => box.getByRole('cell', { name: 'Bob', exact: true })],
        ['a.bin', Buffer.from([0, 1, 2, 255]), 'application/octet-stream', (box) => box.getByText('00 01 02 ff')],
    ];
    for (const [name, body, type] of cases)
        await blob(`previews/${name}`, { method: 'PUT', body, headers: { 'x-ms-blob-type': 'BlockBlob', 'x-ms-blob-content-type': type || undefined } });
    await goTo(page, 'blob', 'pictures', 'previews', '');
    for (const [name, , , shown] of cases) {
        await row(page, name).click();
        await page.locator('.detail h3', { hasText: name }).waitFor();
        await page.getByRole('tab', { name: 'Preview' }).click();
        await shown(page.locator('.preview')).first().waitFor({ state: 'attached' });
    }
});

test('containers: properties, public access, lease, restore; the last request as code', async () => {
    await openView(page, 'Blobs');
    await tick(page, 'pictures');
    await page.getByRole('button', { name: 'Properties' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Who may read').selectOption('container');
    await said(page, 'Public access changed');
    assert.equal((await server.request('blob', 'GET', '/pictures', { auth: 'none', query: { restype: 'container', comp: 'list' } })).status, 200);
    await dialog.getByLabel('Who may read').selectOption('');
    await dialog.getByRole('button', { name: 'Acquire for 60 s' }).click();
    await dialog.getByText('leased', { exact: true }).first().waitFor();
    await dialog.getByRole('button', { name: 'Release' }).click();
    await said(page, 'Lease released');
    await page.keyboard.press('Escape');
    await tick(page, 'pictures');
    await server.request('blob', 'PUT', '/thrown-away', { query: { restype: 'container' } });
    await page.getByRole('button', { name: 'Refresh' }).click();
    await tick(page, 'thrown-away');
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await said(page, 'Deleted thrown-away');
    await page.getByLabel('Deleted ones too').click();
    await tick(page, 'thrown-away');
    await page.getByRole('button', { name: 'Restore' }).click();
    await said(page, 'Restored thrown-away');
    assert.equal((await server.request('blob', 'HEAD', '/thrown-away', { query: { restype: 'container' } })).status, 200);
    await goTo(page, 'blob', 'pictures', '');
    await row(page, 'notes.txt').waitFor();
    await page.getByRole('button', { name: 'Copy as…' }).click();
    await page.locator('dialog pre', { hasText: "curl -X GET" }).waitFor();
    await page.getByRole('tab', { name: 'Python' }).click();
    await page.locator('dialog pre', { hasText: 'list_blobs' }).waitFor();
    await page.getByRole('tab', { name: 'az', exact: true }).click();
    await page.locator('dialog pre', { hasText: "az storage blob list --container-name 'pictures'" }).waitFor();
    await page.keyboard.press('Escape');
    assert.deepEqual(page.faults.filter((fault) => !/media|MEDIA|PIPELINE/.test(fault)), []);
});
