// SPDX-License-Identifier: Apache-2.0
// The documents as static pages: they build without a warning, no link is broken, and in a real browser a page is shown and
// the search works. The screenshot is in build/docs.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import http from 'node:http';
import { extname, join, normalize, relative, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { openPage, startBrowser } from '../console/lib.mjs';

const ROOT = new URL('../../', import.meta.url).pathname;
const SITE = join(ROOT, 'build/site');
const SHOTS = join(ROOT, 'build/docs');
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.json': 'application/json', '.png': 'image/png',
    '.svg': 'image/svg+xml' };
let web;

before(async () => {
    const built = spawnSync('sh', [join(ROOT, 'tools/site/build.sh')], { encoding: 'utf8' });
    assert.equal(built.status, 0, built.stdout + built.stderr);
    web = http.createServer((request, answer) => {
        const path = normalize(decodeURIComponent(new URL(request.url, 'http://x').pathname));
        const file = join(SITE, path.endsWith('/') ? `${path}index.html` : path);
        if (!existsSync(file) || !statSync(file).isFile())
            return answer.writeHead(404).end();
        return answer.writeHead(200, { 'Content-Type': TYPES[extname(file)] ?? 'text/plain' }).end(readFileSync(file));
    }).listen(0, '127.0.0.1');
    await once(web, 'listening');
});
after(() => web.close());

test('the site has no broken link', () => {
    const files = readdirSync(SITE, { recursive: true }).filter((name) => name.endsWith('.html') && name !== '404.html');
    const ids = new Map();
    const idsOf = (file) => {
        if (!ids.has(file))
            ids.set(file, new Set([...readFileSync(file, 'utf8').matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id)));
        return ids.get(file);
    };
    const broken = [];
    for (const name of files) {
        const page = join(SITE, name);
        for (const [, link] of readFileSync(page, 'utf8').matchAll(/\s(?:href|src)="([^"]+)"/g)) {
            if (/^[a-z]+:|^\/\//.test(link) || link === '#' || link === '.')
                continue;
            const [path, id] = link.split('#');
            let target = path === '' ? page : resolve(page, '..', decodeURIComponent(path.split('?')[0]));
            if (existsSync(target) && statSync(target).isDirectory())
                target = join(target, 'index.html');
            if (!existsSync(target))
                broken.push(`${name}: ${link}`);
            else if (id && target.endsWith('.html') && !idsOf(target).has(id))
                broken.push(`${name}: ${link}: no such place`);
        }
    }
    assert.ok(files.length > 80, `${files.length} pages`);
    assert.deepEqual([...new Set(broken)].map((one) => relative('.', one)), []);
});

test('every page of the guide is in the menu', () => {
    const menu = readFileSync(join(ROOT, 'tools/site/mkdocs.yml'), 'utf8');
    const missing = readdirSync(join(ROOT, 'docs/guide')).filter((name) => !menu.includes(`docs/guide/${name}\n`));
    assert.deepEqual(missing, []);
});

test('in a browser: the start page has its picture, and the search finds a page', async () => {
    const browser = await startBrowser();
    try {
        const page = await openPage(browser);
        const origin = `http://127.0.0.1:${web.address().port}`;
        await page.goto(`${origin}/index.html`);
        for (const picture of ['console.png', 'peers.svg'])
            assert.equal(await page.locator(`img[src$="${picture}"]`).evaluate((img) => img.decode().then(() => img.naturalWidth > 0)), true, picture);
        const cut = await page.locator('.wy-table-responsive').evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth + 1).length);
        assert.equal(cut, 0, 'tables whose last columns are out of sight');
        mkdirSync(SHOTS, { recursive: true });
        await page.screenshot({ path: join(SHOTS, 'start.png') });
        await page.locator('input[name=q]').first().fill('PopReceiptMismatch');
        await page.locator('input[name=q]').first().press('Enter');
        const hit = page.locator('#mkdocs-search-results a', { hasText: 'PopReceiptMismatch' }).first();
        await hit.waitFor();
        await page.screenshot({ path: join(SHOTS, 'search.png') });
        await hit.click();
        await page.getByRole('heading', { name: 'What it means' }).waitFor();
        await page.screenshot({ path: join(SHOTS, 'page.png') });
        assert.deepEqual(page.asked.filter((url) => !url.startsWith(origin) && !url.startsWith('data:')), [], 'nothing from elsewhere');
    } finally {
        await browser.close();
    }
});
