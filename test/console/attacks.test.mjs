// SPDX-License-Identifier: Apache-2.0
// Hostile contents and hostile sites: no stored text becomes code, and no other site reaches the console.
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, test } from 'node:test';
import { goTo, openPage, openView, row, signIn, startBrowser, startConsole, tick } from './lib.mjs';

// What would run if any of it were taken as markup: it tries the ways that work without a click.
const EVIL = '<img src=x onerror="window.pwned=1"><svg onload="window.pwned=2"></svg><script>window.pwned=3</script>"\'><b>';
const EVIL_NAME = '<img src=x onerror=window.pwned=4>';

let server;
let browser;
let page;
let evilSite;

const send = async (service, method, path, options) => {
    const answer = await server.request(service, method, path, options);
    assert.ok(answer.status < 300, `${service} ${method} ${path}: ${answer.status} ${answer.text}`);
    return answer;
};

before(async () => {
    server = await startConsole();
    const xml = EVIL.replace(/[<>&"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
    const name = encodeURIComponent(EVIL_NAME);
    const blob = (path, body, type, more = {}) => send('blob', 'PUT', path, { body, headers: { 'x-ms-blob-type': 'BlockBlob', 'x-ms-blob-content-type': type, ...more } });
    await send('blob', 'PUT', '/evil', { query: { restype: 'container' }, headers: { 'x-ms-meta-a': EVIL } });
    await blob(`/evil/${name}`, EVIL, 'text/html', { 'x-ms-meta-a': EVIL, 'x-ms-blob-content-disposition': EVIL, 'x-ms-blob-content-language': EVIL_NAME });
    await send('blob', 'PUT', `/evil/${name}`, { query: { comp: 'tags' }, body: '<Tags><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tags>' });
    await blob('/evil/page.html', `<!doctype html><script>top.pwned=5;window.pwned=5</script>${EVIL}`, 'text/html');
    await blob('/evil/picture.svg', '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" onload="top.pwned=6;window.pwned=6"><script>top.pwned=6</script></svg>', 'image/svg+xml');
    await blob('/evil/data.json', JSON.stringify({ [EVIL]: EVIL }), 'application/json');
    await blob('/evil/rows.csv', `${EVIL_NAME},b\n${EVIL_NAME},2\n`, 'text/csv');
    await blob('/evil/not.pdf', `<script>top.pwned=7</script>${EVIL}`, 'application/pdf');
    await blob(`/evil/${name}/in-folder`, 'x', 'text/plain');
    await send('queue', 'PUT', '/evil', { headers: { 'x-ms-meta-a': EVIL } });
    await send('queue', 'POST', '/evil/messages', { body: `<QueueMessage><MessageText>${xml}</MessageText></QueueMessage>` });
    await send('queue', 'POST', '/evil/messages', { body: `<QueueMessage><MessageText>${Buffer.from(EVIL).toString('base64')}</MessageText></QueueMessage>` });
    const table = await server.table('evil');
    await table.createTable();
    await table.createEntity({ partitionKey: EVIL_NAME, rowKey: 'r', Text: EVIL });
    await send('file', 'PUT', '/evil', { query: { restype: 'share' } });
    // Names of files may not have < or >; entities in them must stay text as well.
    await send('file', 'PUT', `/evil/${encodeURIComponent('&lt;img src=x onerror=window.pwned=8&gt;')}`, { headers: { 'x-ms-type': 'file', 'x-ms-content-length': '0', 'x-ms-meta-a': EVIL, 'x-ms-content-type': EVIL_NAME } });
    await server.request('blob', 'PUT', `/evil/${name}`, { body: 'y', headers: { 'x-ms-blob-type': 'BlockBlob', 'If-Match': '"0x1"', 'User-Agent': EVIL_NAME, 'x-ms-client-request-id': EVIL_NAME } });
    browser = await startBrowser();
    page = await openPage(browser);
    await signIn(page, server);
    evilSite = http.createServer((_, answer) => answer.setHeader('content-type', 'text/html').end('<!doctype html><title>evil</title>')).listen(0, '127.0.0.1');
    await new Promise((done) => evilSite.once('listening', done));
});
after(async () => {
    evilSite?.close();
    await browser?.close();
    await server?.stop();
});

/** Nothing ran, and no element came of the stored text. */
async function unharmed(where) {
    assert.equal(await page.evaluate(() => window.pwned), undefined, where);
    assert.equal(await page.evaluate(() => document.querySelectorAll('[onerror], [onload], img[src=x], main script, dialog script').length), 0, where);
}

test('names, metadata, tags, properties and previews of blobs are text', async () => {
    await openView(page, 'Blobs');
    await row(page, 'evil').waitFor();
    await tick(page, 'evil');
    await page.getByRole('button', { name: 'Properties' }).click();
    assert.equal(await page.getByLabel('Value 1').inputValue(), EVIL);
    await unharmed('container metadata');
    await page.keyboard.press('Escape');
    await row(page, 'evil').click();
    await row(page, 'page.html').waitFor();
    assert.ok(await page.getByText(EVIL_NAME, { exact: false }).first().isVisible());
    await unharmed('names');
    for (const name of ['page.html', 'picture.svg', 'data.json', 'rows.csv', 'not.pdf']) {
        await row(page, name).click();
        await page.locator('.detail h3', { hasText: name }).waitFor();
        await page.getByRole('tab', { name: 'Preview' }).click();
        await page.locator('.preview > *').first().waitFor();
        await unharmed(`preview of ${name}`);
    }
    await page.getByLabel('Flat').click();
    await page.getByRole('row').filter({ hasText: EVIL_NAME }).filter({ hasText: /B/ }).last().click();
    for (const tab of ['Properties', 'Preview', 'Metadata', 'Tags', 'History', 'Lease', 'Layout']) {
        await page.getByRole('tab', { name: tab }).click();
        await page.getByRole('tabpanel').locator('*').first().waitFor();
        await unharmed(tab);
    }
    await page.getByRole('button', { name: 'Copy as…' }).click();
    for (const language of ['curl', 'az', 'JavaScript', 'Python', 'C#']) {
        await page.getByRole('tab', { name: language }).click();
        await unharmed(`copy as ${language}`);
    }
    await page.keyboard.press('Escape');
});

test('messages, entities, files and refusals are text', async () => {
    await goTo(page, 'queue', 'evil');
    await row(page, '<script>window.pwned=3').click();
    await unharmed('messages');
    await goTo(page, 'table', 'evil');
    await row(page, EVIL_NAME).click();
    assert.equal(await page.getByLabel('Value of Text').inputValue(), EVIL);
    await unharmed('entities');
    await page.keyboard.press('Escape');
    await goTo(page, 'file', 'evil');
    await row(page, '&lt;img').click();
    await page.getByText('x-ms-meta-a').waitFor();
    await unharmed('files');
    await goTo(page, 'inspect');
    await row(page, '412').click();
    await page.getByText('Who asked').waitFor();
    assert.ok(await page.getByText(EVIL_NAME).first().isVisible());
    await unharmed('refusals');
    await goTo(page, 'blob', '?tags', EVIL);
    await page.locator('.error').waitFor();
    await goTo(page, EVIL, EVIL);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await unharmed('addresses');
    assert.deepEqual(page.faults.filter((fault) => !/ERR_|Failed to load resource/.test(fault)), []);
});

test('stored HTML opened on the console’s origin is in a sandbox', async () => {
    const container = (await server.request('blob', 'PUT', '/open', { query: { restype: 'container' }, headers: { 'x-ms-blob-public-access': 'blob' } }));
    assert.equal(container.status, 201);
    await server.request('blob', 'PUT', '/open/page.html', { body: '<script>window.pwned=9;fetch("/api/v1/server").then(()=>{window.pwned=10})</script>hello', headers: { 'x-ms-blob-type': 'BlockBlob', 'x-ms-blob-content-type': 'text/html' } });
    const other = await openPage(browser);
    await other.goto(`${server.console}blob/devstoreaccount1/open/page.html`);
    await other.getByText('hello').waitFor();
    assert.equal(await other.evaluate(() => window.pwned).catch(() => undefined), undefined);
    assert.equal(await other.evaluate(() => self.origin), 'null');
    await other.context().close();
});

test('another site can neither read, write nor frame', async () => {
    const other = await openPage(browser);
    await other.goto(`http://127.0.0.1:${evilSite.address().port}/`);
    const results = await other.evaluate(async (target) => {
        const tell = (work) => work.then((answer) => `${answer.type} ${answer.status}`, () => 'failed');
        return [
            await tell(fetch(`${target}api/v1/server`)), await tell(fetch(`${target}metrics`)), await tell(fetch(`${target}blob/devstoreaccount1/evil?restype=container`, { method: 'PUT' })),
            await tell(fetch(`${target}blob/devstoreaccount1/x`, { method: 'POST', mode: 'no-cors', body: 'x' })),
        ];
    }, server.console);
    assert.deepEqual(results.slice(0, 3), ['failed', 'failed', 'failed']);
    assert.ok(['failed', 'opaque 0'].includes(results[3]), results[3]);
    const framed = await other.evaluate((target) => new Promise((done) => {
        const frame = document.createElement('iframe');
        frame.src = target;
        frame.onload = () => { try { done(frame.contentDocument ? 'open' : 'closed'); } catch { done('closed'); } };
        document.body.append(frame);
        setTimeout(() => done('closed'), 5000);
    }), server.console);
    assert.equal(framed, 'closed');
    assert.equal(other.frames().filter((frame) => frame !== other.mainFrame() && frame.url().startsWith(server.console) && !frame.url().startsWith('chrome-error')).length, 0);
    await other.context().close();
});

test('a name that was rebound to this machine gets nothing', async () => {
    const port = Number(new URL(server.console).port);
    const ask = (path, headers) => new Promise((done, no) => http.get({ host: '127.0.0.1', port, path, headers }, (answer) => { answer.resume(); done(answer.statusCode); }).on('error', no));
    for (const path of ['/', '/api/v1/server', '/metrics', '/blob/devstoreaccount1/evil?restype=container&comp=list']) {
        assert.equal(await ask(path, { host: 'evil.example' }), 421, path);
        assert.equal(await ask(path, { host: `127.0.0.1:${port}`, origin: 'http://evil.example' }), 403, path);
    }
});
