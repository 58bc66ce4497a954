// SPDX-License-Identifier: Apache-2.0
// Static websites (GetWebsiteDocument): the documents of $web on the account's web endpoint.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ACCOUNT, assertError, send, startServer } from './lib.mjs';

let server;
let blobs;
let web;
before(async () => {
    server = await startServer({ services: ['blob'] });
    blobs = await server.blobs();
    web = blobs.getContainerClient('$web');
});
after(() => server.stop());

const put = (name, text, type = 'text/html') =>
    web.getBlockBlobClient(name).upload(text, text.length, { blobHTTPHeaders: { blobContentType: type, blobCacheControl: 'max-age=5' } });
const setSite = (staticWebsite) => blobs.setProperties({ staticWebsite });

function get(path, headers = {}, method = 'GET') {
    return send(server.ports.blob, 'blob', method, `/${ACCOUNT}-web${path}`, headers);
}

test('no website until there is one', async () => {
    assertError(await get('/'), 404, 'WebContentNotFound');
    await web.create();
    await put('index.html', '<h1>root</h1>');
    assertError(await get('/'), 404, 'WebContentNotFound');
    await setSite({ enabled: true, indexDocument: 'index.html' });
    assert.equal((await get('/')).text, '<h1>root</h1>');
    assertError(await get('/none'), 404, 'WebContentNotFound');
    await setSite({ enabled: true, indexDocument: 'index.html', errorDocument404Path: 'errors/404.html' });
    assertError(await get('/none'), 404, 'WebContentNotFound');
});

test('documents, indexes of folders, the error document', async () => {
    await put('style/a b.css', 'b{}', 'text/css');
    await put('docs/index.html', '<h1>docs</h1>');
    await put('errors/404.html', '<h1>missing</h1>');
    for (const [path, text] of [['', 'root'], ['/', 'root'], ['/index.html', 'root'], ['/docs/', 'docs'], ['/docs', 'docs']])
        assert.equal((await get(path)).text, `<h1>${text}</h1>`);
    const css = await get('/style/a%20b.css?v=1&comp=list');
    assert.equal(css.status, 200);
    assert.equal(css.text, 'b{}');
    assert.equal(css.headers['content-type'], 'text/css');
    assert.equal(css.headers['cache-control'], 'max-age=5');
    assert.ok(css.headers.etag);
    assert.equal(css.headers['x-ms-blob-type'], undefined);
    for (const path of ['/none', '/docs/none/', '/style/', '/%00']) {
        const missing = await get(path);
        if (path === '/%00') {
            assert.equal(missing.status, 400);
            continue;
        }
        assert.equal(missing.status, 404, path);
        assert.equal(missing.text, '<h1>missing</h1>');
        assert.equal(missing.headers['content-type'], 'text/html');
    }
    const head = await get('/docs/', {}, 'HEAD');
    assert.equal(head.status, 200);
    assert.equal(head.headers['content-length'], '13');
    assert.equal((await get('/none', {}, 'HEAD')).status, 404);
});

test('conditions and ranges', async () => {
    const { etag } = (await get('/')).headers;
    const same = await get('/', { 'If-None-Match': etag });
    assert.equal(same.status, 304);
    assert.equal(same.headers.etag, etag);
    assert.equal((await get('/', { 'If-None-Match': '"0x1"' })).status, 200);
    assert.equal((await get('/', { 'If-Match': '"0x1"' })).status, 412);
    const part = await get('/', { Range: 'bytes=4-7' });
    assert.equal(part.status, 206);
    assert.equal(part.text, 'root');
    assert.equal(part.headers['content-range'], 'bytes 4-7/13');
    const beyond = await get('/', { Range: 'bytes=100-' });
    assert.equal(beyond.status, 416);
    // The error document is whole whatever was asked for.
    const missing = await get('/none', { Range: 'bytes=4-7', 'If-None-Match': '"0x1"' });
    assert.equal(missing.status, 404);
    assert.equal(missing.text, '<h1>missing</h1>');
});

test('by host name; nothing but GET and HEAD; no other container', async () => {
    const host = (path, name) => send(server.ports.blob, 'blob', 'GET', path, { Host: name });
    assert.equal((await host('/docs/', `${ACCOUNT}.web.localhost:1`)).text, '<h1>docs</h1>');
    assert.equal((await host('/', `${ACCOUNT}.z22.web.core.windows.net`)).text, '<h1>root</h1>');
    assertError(await host('/', 'nobody.web.localhost'), 404, 'WebContentNotFound');
    for (const method of ['PUT', 'DELETE', 'POST'])
        assertError(await get('/index.html', { 'Content-Length': '0', 'x-ms-blob-type': 'BlockBlob' }, method), 405, 'UnsupportedHttpVerb');
    // $web itself stays private.
    const direct = await send(server.ports.blob, 'blob', 'GET', `/${ACCOUNT}/$web/index.html`, { 'x-ms-version': '2025-11-05' });
    assertError(direct, 401, 'NoAuthenticationInformation');
});

test('a default index path stands for every folder', async () => {
    await put('app/main.html', '<h1>app</h1>');
    await setSite({ enabled: true, defaultIndexDocumentPath: 'app/main.html', errorDocument404Path: 'errors/404.html' });
    assert.equal((await get('/')).text, '<h1>app</h1>');
    assert.equal((await get('/any/where/')).text, '<h1>app</h1>');
    await setSite({ enabled: false });
    assertError(await get('/'), 404, 'WebContentNotFound');
});
