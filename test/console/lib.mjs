// SPDX-License-Identifier: Apache-2.0
// A server with the console, and Debian's Chromium to view it. Screenshots go to build/console.
import { mkdirSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { freePorts, startServer } from '../rest/lib.mjs';

export { ACCOUNT, KEY, hmac, until, uniqueName } from '../rest/lib.mjs';

const SHOTS = new URL('../../build/console/', import.meta.url).pathname;
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'];

export async function startConsole({ args = [], ...options } = {}) {
    const [adminPort] = await freePorts(1);
    const server = await startServer({ ...options, args: ['--admin-port', String(adminPort), ...args] });
    server.console = `http${args.includes('--cert') ? 's' : ''}://127.0.0.1:${adminPort}/`;
    return server;
}

export function startBrowser() {
    mkdirSync(SHOTS, { recursive: true });
    return chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });
}

/** A fresh page, as of a browser that has never been here. What it complains of is in page.faults, what it asked for in page.asked. */
export async function openPage(browser, options = {}) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(20000);
    page.faults = [];
    page.asked = [];
    page.on('request', (request) => page.asked.push(request.url()));
    page.on('pageerror', (error) => page.faults.push(`error: ${error.message}`));
    page.on('console', (message) => {
        if (message.type() === 'error' && !/status of 4\d\d/.test(message.text()))
            page.faults.push(message.text());
    });
    page.shot = (name) => page.screenshot({ path: `${SHOTS}${name}.png` });
    return page;
}

export async function signIn(page, server) {
    await page.goto(server.console);
    await page.getByRole('button', { name: 'Sign in as devstoreaccount1' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
}

/** Signs in by the form: `way` is the name of its tab. */
export async function signInBy(page, server, way, text, account = '') {
    await page.goto(server.console);
    await page.getByRole('tab', { name: way }).click();
    await page.getByLabel('Account', { exact: true }).fill(account);
    await page.locator('input[type=password]').fill(text);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

export const openView = (page, name) => page.getByRole('navigation', { name: 'Services' }).getByRole('link', { name, exact: true }).click();

/** Goes to a place of the page by its address, as a link does. */
export const goTo = (page, ...parts) => page.evaluate((hash) => { location.hash = hash; }, `#/${parts.map(encodeURIComponent).join('/')}`);

/** Row of a list by its visible text. */
export const row = (page, text) => page.getByRole('row').filter({ hasText: text }).first();

/** Ticks the row's box. */
export const tick = (page, text) => row(page, text).getByRole('checkbox').click();

/** Waits for a short message of the page. */
export const said = (page, text) => page.locator('.toast', { hasText: text }).first().waitFor();

/** A little of everything: blobs of all kinds with history, messages, entities, files. */
export async function seed(server) {
    const put = (service, path, options) => server.request(service, 'PUT', path, options).then((answer) => {
        if (answer.status >= 300)
            throw new Error(`${service} ${path}: ${answer.status} ${answer.text}`);
        return answer;
    });
    const blob = (path, body, headers = {}) => put('blob', path, { body, headers: { 'x-ms-blob-type': 'BlockBlob', ...headers } });
    await put('blob', '/pictures', { query: { restype: 'container' }, headers: { 'x-ms-meta-owner': 'ann' } });
    await blob('/pictures/notes.txt', 'one\ntwo\nthree\n', { 'x-ms-blob-content-type': 'text/plain', 'x-ms-meta-project': 'lazuli', 'x-ms-tags': 'project=alpha&state=new' });
    await put('blob', '/pictures/notes.txt', { query: { comp: 'snapshot' } });
    await blob('/pictures/notes.txt', 'one\n2\nthree\nfour\n', { 'x-ms-blob-content-type': 'text/plain' });
    await blob('/pictures/data.json', '{"name":"lazuli","list":[1,2,3]}', { 'x-ms-blob-content-type': 'application/json' });
    await blob('/pictures/people.csv', 'name,age\n"Ann, A.",31\nBob,27\n');
    await blob('/pictures/2026/summer/beach.svg', '<svg xmlns="http://www.w3.org/2000/svg" width="120" height="80"><rect width="120" height="80" fill="#3b6fff"/></svg>', { 'x-ms-blob-content-type': 'image/svg+xml' });
    await put('blob', '/pictures/disk.vhd', { headers: { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': '4096' } });
    await put('blob', '/pictures/disk.vhd', { query: { comp: 'page' }, body: 'p'.repeat(512), headers: { 'x-ms-page-write': 'update', 'x-ms-range': 'bytes=512-1023' } });
    await put('blob', '/pictures/app.log', { headers: { 'x-ms-blob-type': 'AppendBlob' } });
    await put('blob', '/pictures/app.log', { query: { comp: 'appendblock' }, body: 'started\n' });
    await put('queue', '/work', { headers: { 'x-ms-meta-team': 'one' } });
    for (const text of ['plain words', Buffer.from('{"order":7}').toString('base64'), '{"order":8}'])
        await server.request('queue', 'POST', '/work/messages', { body: `<QueueMessage><MessageText>${text}</MessageText></QueueMessage>` });
    const table = await server.table('people');
    await table.createTable();
    for (let i = 0; i < 5; i++)
        await table.createEntity({ partitionKey: i < 3 ? 'a' : 'b', rowKey: `r${i}`, Name: `Name ${i}`, Age: 20 + i, Active: i % 2 === 0, Big: { type: 'Int64', value: String(2n ** 60n) } });
    await put('file', '/docs', { query: { restype: 'share' } });
    await put('file', '/docs/plans', { query: { restype: 'directory' } });
    await put('file', '/docs/plans/readme.txt', { headers: { 'x-ms-type': 'file', 'x-ms-content-length': '5' } });
    await put('file', '/docs/plans/readme.txt', { query: { comp: 'range' }, body: 'hello', headers: { 'x-ms-write': 'update', 'x-ms-range': 'bytes=0-4' } });
}
