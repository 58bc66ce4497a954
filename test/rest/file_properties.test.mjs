// SPDX-License-Identifier: Apache-2.0
// The file service header by header: which values are accepted, stored and returned.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { assertError, startServer, uniqueName } from './lib.mjs';

const NEWEST = '2026-10-06';
const SDDL = 'O:S-1-5-21-2127521184-1604012920-1887927527-21560751G:SYD:AI(A;;FA;;;SY)(A;;FA;;;BA)';

let server;
before(async () => {
    server = await startServer({ inMemory: true, services: ['file'] });
});
after(() => server.stop());

const put = (path, query, headers = {}, body = undefined) =>
    server.request('file', 'PUT', path, { query, headers: { 'x-ms-version': NEWEST, ...headers }, body });
const get = (path, query = '', headers = {}) =>
    server.request('file', 'GET', path, { query, headers: { 'x-ms-version': NEWEST, ...headers } });
const head = (path, query = '', headers = {}) =>
    server.request('file', 'HEAD', path, { query, headers: { 'x-ms-version': NEWEST, ...headers } });
const create = (path, size, headers = {}, body = undefined) =>
    put(path, '', { 'x-ms-type': 'file', 'x-ms-content-length': size, ...headers }, body);

async function newShare(headers = {}) {
    const path = `/${uniqueName()}`;
    const made = await put(path, 'restype=share', headers);
    assert.equal(made.status, 201, made.text);
    return path;
}

describe('CreateFile with data', () => {
    it('holds its bytes from the beginning', async () => {
        const share = await newShare();
        const bytes = randomBytes(100000);
        const md5 = createHash('md5').update(bytes).digest('base64');
        const made = await create(`${share}/f`, 200000, { 'Content-MD5': md5 }, bytes);
        assert.equal(made.status, 201, made.text);
        assert.equal(made.headers['content-md5'], md5);
        const got = await get(`${share}/f`);
        assert.equal(got.bytes.length, 200000);
        assert.ok(got.bytes.subarray(0, 100000).equals(bytes) && got.bytes.subarray(100000).every((b) => b === 0));
        const ranges = await get(`${share}/f`, 'comp=rangelist');
        assert.match(ranges.text, /<Range><Start>0<\/Start><End>100351<\/End><\/Range>/);
        const over = await create(`${share}/f`, 5, {}, 'hello');
        assert.equal(over.status, 201, over.text);
        assert.equal(over.headers['content-md5'], 'XUFAKrxLKna5cZ2REBfFkg==');
        const range = await put(`${share}/f`, 'comp=range', { 'x-ms-range': 'bytes=0-4', 'x-ms-write': 'update' }, 'hello');
        assert.equal(range.headers['content-md5'], 'XUFAKrxLKna5cZ2REBfFkg==');
        const none = await create(`${share}/empty`, 0);
        assert.equal(none.headers['content-md5'], undefined);
        assert.equal((await get(`${share}/f`)).text, 'hello');
    });

    it('takes 4 MiB and no more, no more than the file, and checks the MD5', async () => {
        const share = await newShare();
        const bytes = randomBytes(4 << 20);
        assert.equal((await create(`${share}/f`, bytes.length, {}, bytes)).status, 201);
        assert.ok((await get(`${share}/f`)).bytes.equals(bytes));
        assertError(await create(`${share}/g`, 5 << 20, {}, Buffer.alloc((4 << 20) + 1)), 413, 'RequestBodyTooLarge');
        assertError(await create(`${share}/g`, 4, {}, 'hello'), 400, 'InvalidHeaderValue');
        assertError(await create(`${share}/g`, 5, { 'Content-MD5': 'AAAAAAAAAAAAAAAAAAAAAA==' }, 'hello'), 400, 'Md5Mismatch');
        assertError(await create(`${share}/g`, 5, { 'x-ms-version': '2025-11-05' }, 'hello'), 400, 'InvalidHeaderValue');
        assertError(await head(`${share}/g`), 404, 'ResourceNotFound');
        const stats = await get(share, 'restype=share&comp=stats');
        assert.match(stats.text, /<ShareUsageBytes>4194304</);
    });

    it('needs its type, a size, and knows one kind of file', async () => {
        const share = await newShare();
        assertError(await put(`${share}/f`, '', { 'x-ms-content-length': 1 }), 400, 'MissingRequiredHeader');
        assertError(await put(`${share}/f`, '', { 'x-ms-type': 'file' }), 400, 'MissingRequiredHeader');
        assertError(await create(`${share}/f`, 1, { 'x-ms-type': 'BlockBlob' }), 400, 'InvalidHeaderValue');
        assertError(await create(`${share}/f`, '4398046511105'), 400, 'InvalidHeaderValue');
        assertError(await create(`${share}/f`, 1, { 'x-ms-file-file-type': 'SymLink' }), 400, 'InvalidHeaderValue');
        assertError(await create(`${share}/f`, 1, { 'x-ms-file-property-semantics': 'Old' }), 400, 'InvalidHeaderValue');
    });
});

describe('x-ms-file-property-semantics', () => {
    it('New adds the archive attribute, Restore does not, but needs a permission', async () => {
        const share = await newShare();
        const made = async (name, headers) => (await create(`${share}/${name}`, 0, headers)).headers['x-ms-file-attributes'];
        assert.equal(await made('a'), 'Archive');
        assert.equal(await made('b', { 'x-ms-file-property-semantics': 'New', 'x-ms-file-attributes': 'Hidden' }), 'Hidden | Archive');
        const restore = { 'x-ms-file-property-semantics': 'Restore', 'x-ms-file-permission': SDDL };
        assert.equal(await made('c', restore), 'None');
        assert.equal(await made('d', { ...restore, 'x-ms-file-attributes': 'System|Archive' }), 'System | Archive');
        assert.equal(await made('e', { 'x-ms-file-property-semantics': 'Restore' }), 'Archive');
        const directory = await put(`${share}/dir`, 'restype=directory', restore);
        assert.equal(directory.headers['x-ms-file-attributes'], 'Directory');
        const bad = await put(`${share}/dir2`, 'restype=directory', { 'x-ms-file-property-semantics': 'x' });
        assertError(bad, 400, 'InvalidHeaderValue');
    });
});

describe('shares', () => {
    it('are provisioned as they ask, and say so', async () => {
        const share = `/${uniqueName()}`;
        const made = await put(share, 'restype=share', {
            'x-ms-share-quota': 1000, 'x-ms-share-provisioned-iops': 4000, 'x-ms-share-provisioned-bandwidth-mibps': 200,
        });
        assert.equal(made.status, 201, made.text);
        const wanted = {
            'x-ms-share-quota': '1000', 'x-ms-share-provisioned-iops': '4000',
            'x-ms-share-provisioned-bandwidth-mibps': '200', 'x-ms-share-included-burst-iops': '12000',
            'x-ms-share-max-burst-credits-for-iops': '28800000',
        };
        for (const answer of [made, await get(share, 'restype=share')])
            for (const [name, value] of Object.entries(wanted))
                assert.equal(answer.headers[name], value, name);
        const raised = await put(share, 'restype=share&comp=properties', { 'x-ms-share-quota': 2000 });
        assert.equal(raised.status, 200, raised.text);
        assert.equal(raised.headers['x-ms-share-quota'], '2000');
        const wait = Date.parse(raised.headers['x-ms-share-next-allowed-quota-downgrade-time']) - Date.now();
        assert.ok(wait > 23 * 3600e3 && wait <= 24 * 3600e3, String(wait));
        for (const name of ['iops', 'bandwidth'])
            assert.ok(raised.headers[`x-ms-share-next-allowed-provisioned-${name}-downgrade-time`]);
        const lowered = await put(share, 'restype=share&comp=properties', { 'x-ms-share-quota': 1999 });
        assertError(lowered, 409, 'ContainerQuotaDowngradeNotAllowed');
        const listed = await get('/', { comp: 'list', prefix: share.slice(1) });
        for (const [name, value] of [['Quota', 2000], ['ProvisionedIops', 4000], ['ProvisionedBandwidthMiBps', 200],
            ['IncludedBurstIops', 12000], ['MaxBurstCreditsForIops', 28800000]])
            assert.match(listed.text, new RegExp(`<${name}>${value}</${name}>`));
        assert.match(listed.text, /<NextAllowedQuotaDowngradeTime>/);
    });

    it('of the premium tier have what their size gives them', async () => {
        const share = await newShare({ 'x-ms-share-quota': 1000, 'x-ms-access-tier': 'Premium' });
        const { headers } = await get(share, 'restype=share');
        assert.equal(headers['x-ms-share-provisioned-iops'], '4000');
        assert.equal(headers['x-ms-share-provisioned-ingress-mbps'], '80');
        assert.equal(headers['x-ms-share-provisioned-egress-mbps'], '120');
        assert.equal(headers['x-ms-share-provisioned-bandwidth-mibps'], '200');
        const lowered = await put(share, 'restype=share&comp=properties', { 'x-ms-share-quota': 999 });
        assert.equal(lowered.status, 200, lowered.text);
    });

    it('burst as they ask', async () => {
        const share = await newShare({ 'x-ms-share-paid-bursting-enabled': 'true', 'x-ms-share-paid-bursting-max-iops': 5000 });
        const { headers } = await get(share, 'restype=share');
        assert.equal(headers['x-ms-share-paid-bursting-enabled'], 'true');
        assert.equal(headers['x-ms-share-paid-bursting-max-iops'], '5000');
        assert.equal(headers['x-ms-share-paid-bursting-max-bandwidth-mibps'], '10340');
        const listed = await get('/', { comp: 'list', prefix: share.slice(1) });
        assert.match(listed.text, /<PaidBurstingEnabled>true<.*<PaidBurstingMaxIops>5000</);
    });

    it('are refused what cannot be had', async () => {
        const refuses = async (headers, code) => {
            const share = `/${uniqueName()}`;
            assertError(await put(share, 'restype=share', headers), 400, code);
            assertError(await get(share, 'restype=share'), 404, 'ShareNotFound');
        };
        await refuses({ 'x-ms-share-provisioned-iops': 499 }, 'FileShareProvisionedIopsInvalid');
        await refuses({ 'x-ms-share-provisioned-iops': 102401 }, 'FileShareProvisionedIopsInvalid');
        await refuses({ 'x-ms-share-provisioned-bandwidth-mibps': 10341 }, 'FileShareProvisionedBandwidthInvalid');
        await refuses({ 'x-ms-share-paid-bursting-max-iops': 102401 }, 'InvalidHeaderValue');
        await refuses({ 'x-ms-share-paid-bursting-max-bandwidth-mibps': -1 }, 'InvalidHeaderValue');
        await refuses({ 'x-ms-share-quota': 0 }, 'InvalidHeaderValue');
        await refuses({ 'x-ms-share-quota': 102401 }, 'InvalidHeaderValue');
        await refuses({ 'x-ms-access-tier': 'Tepid' }, 'InvalidHeaderValue');
        await refuses({ 'x-ms-enabled-protocols': 'FTP' }, 'InvalidHeaderValue');
        await refuses({ 'x-ms-root-squash': 'AllSquash' }, 'InvalidInput');
    });

    it('of NFS say how they squash; deleting a share or a snapshot tells its usage', async () => {
        const share = await newShare({ 'x-ms-enabled-protocols': 'NFS', 'x-ms-root-squash': 'RootSquash' });
        const { headers } = await get(share, 'restype=share');
        assert.equal(headers['x-ms-root-squash'], 'RootSquash');
        assert.equal(headers['x-ms-enable-snapshot-virtual-directory-access'], 'true');
        const listed = await get('/', { comp: 'list', prefix: share.slice(1) });
        assert.match(listed.text, /<RootSquash>RootSquash<.*<EnableSnapshotVirtualDirectoryAccess>true</);
        await create(`${share}/f`, 1000);
        const taken = await put(share, 'restype=share&comp=snapshot');
        await create(`${share}/g`, 1);
        const of = { restype: 'share', sharesnapshot: taken.headers['x-ms-snapshot'] };
        const snapshot = await server.request('file', 'DELETE', share, { query: of });
        assert.equal(snapshot.headers['x-ms-file-share-snapshot-usage-bytes'], '1000');
        const gone = await server.request('file', 'DELETE', share, { query: 'restype=share' });
        assert.equal(gone.headers['x-ms-file-share-usage-bytes'], '1001');
    });
});

describe('files of an NFS share', () => {
    it('have a mode, an owner, a group, a kind and a count of names, and no attributes', async () => {
        const share = await newShare({ 'x-ms-enabled-protocols': 'NFS' });
        const settings = { 'x-ms-mode': '0640', 'x-ms-owner': 1000, 'x-ms-group': '1001' };
        const made = await create(`${share}/f`, 4, { ...settings, 'x-ms-file-file-type': 'Regular' }, 'abcd');
        assert.equal(made.status, 201, made.text);
        const directory = await put(`${share}/d`, 'restype=directory', { ...settings, 'x-ms-mode': 'rwxr-x---' });
        const got = await get(`${share}/f`);
        const wants = (answer, mode, kind) => {
            assert.equal(answer.headers['x-ms-mode'], mode);
            assert.equal(answer.headers['x-ms-owner'], '1000');
            assert.equal(answer.headers['x-ms-group'], '1001');
            assert.equal(answer.headers['x-ms-file-file-type'], kind);
            assert.equal(answer.headers['x-ms-file-attributes'], undefined);
            assert.equal(answer.headers['x-ms-file-permission-key'], undefined);
        };
        for (const answer of [made, got, await head(`${share}/f`)])
            wants(answer, '0640', 'Regular');
        assert.equal(got.headers['x-ms-link-count'], '1');
        wants(directory, '0750', 'Directory');
        wants(await get(`${share}/d`, 'restype=directory'), '0750', 'Directory');
        const set = await put(`${share}/f`, 'comp=properties', { 'x-ms-mode': '0600' });
        assert.equal(set.headers['x-ms-mode'], '0600');
        assert.equal(set.headers['x-ms-link-count'], '1');
        assertError(await create(`${share}/g`, 0, { 'x-ms-file-attributes': 'Hidden' }), 400, 'InvalidInput');
        for (const bad of [{ 'x-ms-mode': '0999' }, { 'x-ms-mode': 'rwx' }, { 'x-ms-owner': 'root' }, { 'x-ms-group': '4294967296' }])
            assertError(await create(`${share}/g`, 0, bad), 400, 'InvalidHeaderValue');
        assertError(await head(`${share}/g`), 404, 'ResourceNotFound');
    });

    it('are copied with the mode and owner of the source or of the request', async () => {
        const share = await newShare({ 'x-ms-enabled-protocols': 'NFS' });
        await create(`${share}/f`, 0, { 'x-ms-mode': '0640', 'x-ms-owner': 7, 'x-ms-group': 8 });
        const copy = (name, headers) => put(`${share}/${name}`, '', {
            'x-ms-copy-source': `${server.url('file')}${share}/f`, ...headers });
        const same = await copy('g', { 'x-ms-file-mode-copy-mode': 'source', 'x-ms-file-owner-copy-mode': 'source' });
        assert.equal(same.status, 202, same.text);
        const of = async (name) => {
            const { headers } = await head(`${share}/${name}`);
            return [headers['x-ms-mode'], headers['x-ms-owner'], headers['x-ms-group']];
        };
        assert.deepEqual(await of('g'), ['0640', '7', '8']);
        await copy('h', { 'x-ms-file-mode-copy-mode': 'override', 'x-ms-mode': '0600', 'x-ms-owner': 9, 'x-ms-group': 10 });
        assert.deepEqual(await of('h'), ['0600', '9', '10']);
        assertError(await copy('i', { 'x-ms-file-mode-copy-mode': 'x' }), 400, 'InvalidHeaderValue');
    });

    it('keep their other names when a copy replaces their bytes', async () => {
        const share = await newShare({ 'x-ms-enabled-protocols': 'NFS' });
        await create(`${share}/new`, 3, {}, 'new');
        await create(`${share}/f`, 3, {}, 'old');
        const linked = await put(`${share}/g`, 'restype=hardlink', { 'x-ms-type': 'file', 'x-ms-file-target-file': '/f' });
        assert.equal(linked.status, 201, linked.text);
        assert.equal(linked.headers['x-ms-link-count'], '2');
        await put(`${share}/f`, '', { 'x-ms-copy-source': `${server.url('file')}${share}/new` });
        assert.equal((await head(`${share}/g`)).headers['x-ms-link-count'], '2');
        const gone = await server.request('file', 'DELETE', `${share}/f`);
        assert.equal(gone.headers['x-ms-link-count'], '1');
        assert.equal((await get(`${share}/g`)).text, 'new');
    });
});

describe('service properties', () => {
    it('keep encryption in transit for SMB and NFS', async () => {
        const settings = '<ProtocolSettings><SMB><Multichannel><Enabled>false</Enabled></Multichannel>'
            + '<EncryptionInTransit><Required>true</Required></EncryptionInTransit></SMB>'
            + '<NFS><EncryptionInTransit><Required>false</Required></EncryptionInTransit></NFS></ProtocolSettings>';
        const set = (inside) => put('/', 'restype=service&comp=properties', {},
            `<StorageServiceProperties>${inside}</StorageServiceProperties>`);
        assert.equal((await set(settings)).status, 202);
        const got = await get('/', 'restype=service&comp=properties');
        assert.ok(got.text.includes(settings), got.text);
        const bad = settings.replace('<Required>true</Required>', '<Required>perhaps</Required>');
        assertError(await set(bad), 400, 'InvalidXmlNodeValue');
        assertError(await set('<Logging></Logging>'), 400, 'UnsupportedXmlNode');
        assert.ok((await get('/', 'restype=service&comp=properties')).text.includes(settings));
    });
});
