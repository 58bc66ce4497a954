// SPDX-License-Identifier: Apache-2.0
// Every view: axe in both themes, a phone's width, keyboard-only use, the page's size and speed, no external resources.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { goTo, openPage, row, seed, signIn, startBrowser, startConsole } from './lib.mjs';

const AXE = readFileSync(new URL('./node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
const SIZE_MAX = 150 << 10;
const PAINT_MS_MAX = 200;

let server;
let browser;

before(async () => {
    server = await startConsole({ args: ['--test-control'] });
    await seed(server);
    await server.request('blob', 'PUT', '/pictures/notes.txt', { query: { comp: 'lease' }, headers: { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '-1' } });
    await server.request('blob', 'PUT', '/pictures/notes.txt', { body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob' } });
    await server.request('queue', 'GET', '/work/messages', { query: { visibilitytimeout: 600 } });
    browser = await startBrowser();
});
after(async () => {
    await browser?.close();
    await server?.stop();
});

const tab = (name) => (page) => page.getByRole('tab', { name }).click();
const shows = (text) => (page) => page.locator('main, dialog').getByText(text).first().waitFor();
/** [name, place, what to do there]. */
const VIEWS = [
    ['overview', ['overview'], shows('container')],
    ['containers', ['blob'], (page) => row(page, 'pictures').waitFor()],
    ['container-properties', ['blob'], async (page) => { await row(page, 'pictures').getByRole('checkbox').click(); await page.getByRole('button', { name: 'Properties' }).click(); await page.getByText('Who may read').waitFor(); }],
    ['blobs', ['blob', 'pictures', ''], (page) => row(page, 'notes.txt').waitFor()],
    ...['Properties', 'Preview', 'Metadata', 'Tags', 'History', 'Lease', 'Layout'].map((name) => [`blob-${name.toLowerCase()}`, ['blob', 'pictures', ''], async (page) => { await row(page, 'notes.txt').click(); await tab(name)(page); await page.getByRole('tabpanel').locator('*').first().waitFor(); }]),
    ['tags', ['blob', '?tags', '"project" = \'alpha\''], shows('Find by tags')],
    ['queues', ['queue'], (page) => row(page, 'work').waitFor()],
    ['queue', ['queue', 'work'], (page) => row(page, 'order').click()],
    ['tables', ['table'], (page) => row(page, 'people').waitFor()],
    ['table', ['table', 'people'], (page) => row(page, 'Name 1').waitFor()],
    ['entity', ['table', 'people'], async (page) => { await row(page, 'Name 1').click(); await page.getByLabel('Value of Name').waitFor(); }],
    ['shares', ['file'], (page) => row(page, 'docs').waitFor()],
    ['files', ['file', 'docs', 'plans'], async (page) => { await row(page, 'readme.txt').click(); await page.getByText('content-length').waitFor(); }],
    ['handles', ['file', 'docs'], tab('Open handles')],
    ['refusals', ['inspect', 'refusals'], async (page) => { await row(page, '412').click(); await page.getByText('Who asked').waitFor(); }],
    ['timeline', ['inspect', 'timeline', 'blob', 'pictures/notes.txt'], shows('LeaseIdMissing')],
    ['leases', ['inspect', 'leases'], shows('pictures/notes.txt')],
    ['opens', ['inspect', 'opens'], shows('Nothing is open')],
    ['in-flight', ['inspect', 'messages'], shows('1 message in flight')],
    ['contention', ['inspect', 'contention'], shows('pictures/notes.txt')],
    ['tour', ['tour'], shows('Lost update')],
    ['scenario', ['tour', 'lost-update'], async (page) => { await page.getByRole('button', { name: /^Next: Setup/ }).click(); await page.locator('.step').waitFor(); }],
    ['faults', ['faults'], shows('No faults')],
    ['new-fault', ['faults'], async (page) => { await page.getByRole('button', { name: 'New fault' }).click(); await page.getByText('How often').waitFor(); }],
    ['holds', ['faults', 'holds'], shows('Nothing is held')],
    ['states', ['faults', 'states'], shows('None yet')],
    ['clock', ['faults', 'clock'], shows('the real time')],
    ['accounts', ['faults', 'accounts'], shows('Reset everything')],
    ['requests', ['inspect', 'requests'], async (page) => { await page.getByText(/live, \d+ requests/).waitFor(); }],
    ['journal', ['faults', 'requests'], shows('requests')],
    ['metrics', ['metrics'], shows('Requests a second')],
    ['access', ['access'], async (page) => { await page.getByRole('button', { name: 'Make it' }).click(); await page.getByLabel('Connection string', { exact: true }).waitFor(); }],
];

async function leave(page) {
    for (let i = 0; i < 3 && await page.locator('dialog').count() > 0; i++)
        await page.keyboard.press('Escape');
    await goTo(page, 'overview');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
}

/** What axe finds serious, with the view's name. */
async function axe(page, where) {
    const found = await page.evaluate(async () => (await window.axe.run(document, { resultTypes: ['violations'] })).violations.filter((one) => ['serious', 'critical'].includes(one.impact))
        .map((one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 160)).slice(0, 3).join(' | ')}`));
    return found.map((one) => `${where}: ${one}`);
}

// Themes differ in colours alone: `make test` looks at some views in dark, FULL=1 at all.
const DARK = ['overview', 'blobs', 'blob-history', 'queue', 'table', 'refusals', 'scenario', 'metrics'];
const viewsOf = (colorScheme) => VIEWS.filter(([name]) => colorScheme === 'light' || process.env.FULL || DARK.includes(name));

for (const colorScheme of ['light', 'dark']) {
    test(`axe finds nothing serious, ${colorScheme}`, async () => {
        // axe is put in past the page's own policy, which lets no script in but its own.
        const page = await openPage(browser, { colorScheme, bypassCSP: true });
        await page.goto(server.console);
        await page.getByRole('button', { name: 'Sign in as devstoreaccount1' }).waitFor();
        await page.addScriptTag({ content: AXE });
        const found = await axe(page, 'sign-in');
        await page.shot(`sign-in-${colorScheme}`);
        await page.getByRole('button', { name: 'Sign in as devstoreaccount1' }).click();
        await page.getByRole('heading', { name: 'Overview' }).waitFor();
        for (const [name, place, act] of viewsOf(colorScheme)) {
            await goTo(page, ...place);
            await act(page);
            found.push(...await axe(page, name));
            await page.shot(`${name}-${colorScheme}`);
            await leave(page);
        }
        assert.deepEqual(found, []);
        assert.deepEqual(page.faults, []);
        await page.context().close();
    });
}

test('on a phone no view is wider than the screen; no view asks another server or breaks the policy', async () => {
    const page = await openPage(browser, { viewport: { width: 375, height: 740 }, hasTouch: true, isMobile: true });
    const violations = [];
    await page.exposeFunction('violated', (text) => violations.push(text));
    await page.addInitScript(() => document.addEventListener('securitypolicyviolation', (event) => window.violated(`${event.violatedDirective} ${event.blockedURI}`)));
    await signIn(page, server);
    const found = [];
    for (const [name, place, act] of VIEWS) {
        await goTo(page, ...place);
        await act(page);
        const { wide, out } = await page.evaluate(() => ({
            wide: document.documentElement.scrollWidth,
            // What sticks out to the right, unless its own box scrolls.
            out: [...document.querySelectorAll('main *, dialog[open] *, header *')].filter((one) => {
                const box = one.getBoundingClientRect();
                return box.width > 0 && box.right > innerWidth + 1 && !one.closest('.grid, .tabs, pre, .scroll, .hidden, nav, .u-wrap, [role=menu]');
            }).map((one) => one.outerHTML.slice(0, 120)).slice(0, 3),
        }));
        if (wide > 375)
            found.push(`${name} is ${wide} wide`);
        found.push(...out.map((one) => `${name}: ${one}`));
        await page.shot(`${name}-phone`);
        await leave(page);
    }
    assert.deepEqual(found, []);
    const { origin } = new URL(server.console);
    assert.deepEqual(page.asked.filter((url) => !url.startsWith(origin) && !url.startsWith(`blob:${origin}`)), []);
    assert.deepEqual(violations, []);
    assert.deepEqual(page.faults, []);
    await page.context().close();
});

test('the keyboard alone makes a container, uploads, looks and deletes', async () => {
    const page = await openPage(browser);
    await page.goto(server.console);
    const tabTo = async (name, { back = false } = {}) => {
        for (let i = 0; i < 60; i++) {
            await page.keyboard.press(back ? 'Shift+Tab' : 'Tab');
            const at = await page.evaluate(() => { const now = document.activeElement; return now?.getAttribute('aria-label') || now?.textContent?.trim() || now?.labels?.[0]?.textContent?.trim() || ''; });
            if (at.startsWith(name))
                return;
        }
        assert.fail(`Tab does not lead to ${name}`);
    };
    await page.getByRole('button', { name: 'Sign in as devstoreaccount1' }).waitFor();
    await tabTo('Sign in as');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await tabTo('Blobs');
    await page.keyboard.press('Enter');
    await row(page, 'pictures').waitFor();
    await tabTo('New container');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.type('by-keyboard');
    await page.keyboard.press('Enter');
    await row(page, 'by-keyboard').waitFor();
    await tabTo('Containers');
    await page.keyboard.press('Enter');
    await page.getByText('No blobs here.').waitFor();
    await goTo(page, 'blob', 'pictures', '');
    await row(page, 'notes.txt').waitFor();
    await tabTo('Blobs');
    await page.keyboard.press('End');
    await page.keyboard.press('Space');
    await page.getByText('1 selected').waitFor();
    await page.keyboard.press('Shift+ArrowUp');
    await page.getByText('2 selected').waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('complementary').waitFor();
    await tabTo('Properties');
    await page.keyboard.press('ArrowRight');
    await page.getByRole('tab', { name: 'Preview', selected: true }).waitFor();
    const outlined = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    assert.notEqual(outlined, 'none', 'what has the focus is to be seen');
    await page.context().close();
});

test('the page is small and quick', async () => {
    const index = await (await fetch(server.console)).text();
    const files = ['', ...[...index.matchAll(/(?:src|href)="\/([^"]+)"/g)].map((match) => match[1])];
    let size = 0;
    for (const file of files)
        size += gzipSync(Buffer.from(await (await fetch(server.console + file)).arrayBuffer()), { level: 9 }).length;
    assert.ok(size <= SIZE_MAX, `${size} bytes compressed`);
    let best = Infinity;
    for (let i = 0; i < 40 && best > PAINT_MS_MAX; i++) {
        const page = await openPage(browser);
        await page.goto(server.console);
        await page.getByRole('button', { name: 'Sign in as devstoreaccount1' }).waitFor();
        best = Math.min(best, await page.evaluate(async () => {
            for (let tries = 0; tries < 100; tries++) {
                const paint = performance.getEntriesByName('first-contentful-paint')[0];
                if (paint)
                    return paint.startTime;
                await new Promise((go) => setTimeout(go, 20));
            }
            return Infinity;
        }));
        await page.context().close();
    }
    assert.ok(best <= PAINT_MS_MAX, `first paint after ${best} ms`);
});
