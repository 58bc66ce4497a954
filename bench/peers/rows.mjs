// SPDX-License-Identifier: Apache-2.0
// The rows of bench/peers.mjs. name; part of the table; peers; connections; and by kind
//   op(peer)      what the load generator sends (kind 'load', the default); service, keys, requests, seconds, each;
//                 azuriteRequests: it stops after so many, as it would answer few in the time
//   beside(peer)  what eight other connections do meanwhile; smb: 'write' or 'read' when they are SMB clients
//   rounds        fewer of them, where a round takes long or others say the same
//   kind          'blocks' 'ranges' 'delete' 'cycle' 'smb' 'state': see measure.mjs
//   unit          of the rate, '/s' by default; CPU time is that of one of them
//   plot          it is drawn in the README; readme: it is in its table
import { ACCOUNT as NAME } from '../kit.mjs';

const ACCOUNT = `/${NAME}`;
export const BLOB = ['x-ms-blob-type: BlockBlob'];
export const JSON_HEADERS = ['Content-Type: application/json', 'Accept: application/json;odata=nometadata', 'Prefer: return-no-content'];
const ALL = ['lazuli', 'azurite', 'nginx'];
const STORES = ['lazuli', 'azurite'];
const OWN = ['lazuli'];
const COUNTS = [1, 16, 64, 256];
const MIB = 1 << 20;

export const put = (name, bytes) => (peer) => ({ op: `PUT ${peer.path(name)}`, headers: peer.sign ? BLOB : [], bytes });
export const get = (name) => (peer) => ({ op: `GET ${peer.path(name)}` });
export const putRange = (bytes) => () => ({ op: `PUT ${ACCOUNT}/bench/f?comp=range`, headers: ['x-ms-write: update', `x-ms-range: {range:${bytes}}`], bytes });
const getRange = (bytes) => (peer) => (peer.sign ? { op: `GET ${ACCOUNT}/bench/f`, headers: [`x-ms-range: {range:${bytes}}`] } : { op: `GET ${peer.path('giant')}`, headers: [`Range: {range:${bytes}}`] });

/** A change set of 100 inserts into the partition; the entities' keys are {seq}x0 to {seq}x99. */
export const changeSet = (partition) => (peer) => {
    const entity = (i) => `--changeset_c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nPOST ${peer.base.table}${ACCOUNT}/bench HTTP/1.1\r\nContent-Type: application/json\r\nPrefer: return-no-content\r\n\r\n` +
        `{"PartitionKey":"${partition}","RowKey":"{seq}x${i}","Name":"value","Count":7,"Flag":true,"Price":1.5}\r\n`;
    const body = `--batch_b\r\nContent-Type: multipart/mixed; boundary=changeset_c\r\n\r\n${Array.from({ length: 100 }, (_, i) => entity(i)).join('')}--changeset_c--\r\n--batch_b--\r\n`;
    return { op: `POST ${ACCOUNT}/$batch`, headers: ['Content-Type: multipart/mixed; boundary=batch_b'], body };
};

const message = () => ({ op: `POST ${ACCOUNT}/bench/messages`, body: '<QueueMessage><MessageText>text</MessageText></QueueMessage>' });
const insert = () => ({ op: `POST ${ACCOUNT}/bench`, headers: JSON_HEADERS, body: '{"PartitionKey":"p","RowKey":"{seq}","Name":"value","Count":7,"Flag":true,"Price":1.5}' });
const point = () => ({ op: `GET ${ACCOUNT}/bench(PartitionKey='k',RowKey='k{key}')`, headers: JSON_HEADERS.slice(1, 2) });
const query = (filter) => () => ({ op: `GET ${ACCOUNT}/bench()?$filter=${encodeURIComponent(filter)}`, headers: JSON_HEADERS.slice(1, 2) });

const connections = (n) => (n === 1 ? '1 connection' : `${n} connections`);
/** The same with each number of connections; `more` may say what is different with some of them. */
const each = (part, name, common, counts = COUNTS, more = {}) => counts.map((n) => ({ part, name: `${name}, ${connections(n)}`, connections: n, ...common, ...more[n] }));

function blobs() {
    const small = { plot: true, readme: true };
    return [
        ...each('Small blobs', 'Put Blob 4 KiB', { peers: ALL, op: put('s{key}', 4096) }, COUNTS, { 1: { peers: [...ALL, 'disk'], diskBytes: 4096, ...small }, 16: { plot: true }, 64: small }),
        ...each('Small blobs', 'Get Blob 4 KiB', { peers: ALL, op: get('s{key}') }, COUNTS, { 1: { plot: true }, 16: { plot: true }, 64: small }),
        ...each('Large blobs', 'Put Blob 1 MiB', { peers: ALL, keys: 64, op: put('m{key}', MIB) }, COUNTS, { 1: { peers: [...ALL, 'disk'], diskBytes: MIB }, 16: small }),
        ...each('Large blobs', 'Get Blob 1 MiB', { peers: ALL, keys: 64, op: get('m{key}') }, COUNTS, { 16: small }),
        ...each('Large blobs', 'Put Blob 8 MiB', { peers: ALL, keys: 16, op: put('e{key}', 8 * MIB) }, [1, 8, 16, 64, 256], { 1: { peers: [...ALL, 'disk'], diskBytes: 8 * MIB }, 8: small, 64: { requests: 128, rounds: 2 }, 256: { requests: 256, rounds: 1 } }),
        ...each('Large blobs', 'Get Blob 8 MiB', { peers: ALL, keys: 16, op: get('e{key}') }, [1, 8, 16, 64, 256], { 8: small, 64: { requests: 256 }, 256: { requests: 512, rounds: 1 } }),
        ...each('Large blobs', '1 GiB up in blocks of 8 MiB', { peers: [...ALL, 'disk'], diskBytes: 8 * MIB, kind: 'blocks', unit: 'MiB/s' }, [1, 16], { 16: small }),
        ...each('Large blobs', '1 GiB down in ranges of 8 MiB', { peers: ALL, kind: 'ranges', unit: 'MiB/s' }, [1, 16], { 16: { plot: true } }),
        ...each('Listing and deleting', 'List Blobs of 1,000', { peers: STORES, op: () => ({ op: `GET ${ACCOUNT}/list?restype=container&comp=list&maxresults=1000` }) }, COUNTS, { 16: small, 64: { azuriteRequests: 128, rounds: 2 }, 256: { azuriteRequests: 256, rounds: 1 } }),
        ...each('Listing and deleting', 'List Blobs of 5,000', { peers: STORES, seconds: 3, op: () => ({ op: `GET ${ACCOUNT}/list?restype=container&comp=list` }) }, [1]),
        ...each('Listing and deleting', 'Delete Blob', { peers: ALL, kind: 'delete' }, COUNTS, { 16: small }),
    ];
}

function queuesAndTables() {
    const shown = { 16: { plot: true, readme: true }, 64: { plot: true } };
    const queue = { peers: STORES, service: 'queue' };
    const table = { peers: STORES, service: 'table' };
    return [
        ...each('Queues', 'Put Message', { ...queue, op: message }, COUNTS, { 16: { plot: true } }),
        ...each('Queues', 'Get Messages', { ...queue, op: () => ({ op: `GET ${ACCOUNT}/bench/messages?visibilitytimeout=1` }) }, COUNTS, { 16: { plot: true } }),
        ...each('Queues', 'put, get and delete of a message', { ...queue, kind: 'cycle' }, COUNTS, shown),
        ...each('Tables', 'Insert Entity', { ...table, op: insert }, COUNTS, shown),
        ...each('Tables', 'Get Entity', { ...table, op: point }, COUNTS, shown),
        ...each('Tables', 'change set of 100 inserts', { ...table, each: 100, op: changeSet('b') }, COUNTS, { 1: { plot: true }, 16: { plot: true, readme: true }, 64: { plot: true, azuriteRequests: 64, rounds: 2 }, 256: { azuriteRequests: 256, rounds: 1 } }),
        ...each('Tables', 'query of 100 entities by a range of keys', { ...table, op: query("PartitionKey eq 'k' and RowKey lt 'k00000100'") }, COUNTS, { 16: { plot: true } }),
        ...each('Tables', 'scan of 1,000 entities', { ...table, op: query("PartitionKey eq 'k' and Count eq 8") }, COUNTS, { 16: { plot: true } }),
    ];
}

function filesAndSmb() {
    const smb = (name, op, mode, counts, count) => each('SMB', `${name}, ${mode}`, { peers: ['lazuli', 'samba'], kind: 'smb', smbOp: op, mode, count, unit: name.includes('MiB') ? 'MiB/s' : '/s' }, counts, { 1: { plot: true } });
    return [
        ...each('Files', 'Put Range 4 KiB of a file', { peers: OWN, service: 'file', op: putRange(4096) }, COUNTS, { 1: { peers: ['lazuli', 'disk'], diskBytes: 4096 } }),
        ...each('Files', 'Get File 4 KiB of a file', { peers: ['lazuli', 'nginx'], service: 'file', giant: true, op: getRange(4096) }, COUNTS, { 16: { plot: true } }),
        ...['plain', 'signed'].flatMap((mode) => [
            ...smb('SMB write, 1 MiB a call', 'write', mode, mode === 'plain' ? [1, 16] : [1], 1024),
            ...smb('SMB read, 1 MiB a call', 'read', mode, mode === 'plain' ? [1, 16] : [1], 1024),
            ...smb('SMB read of 4 KiB at random', 'randread', mode, mode === 'plain' ? COUNTS : [1], 10240),
            ...smb('SMB write of 4 KiB at random', 'randwrite', mode, mode === 'plain' ? COUNTS : [1], 10240),
            ...smb('SMB files made and removed', 'files', mode, mode === 'plain' ? [1, 16] : [1], 512),
        ]),
    ];
}

/** Small requests over four connections, alone and beside eight clients that move large bodies. */
function mixed() {
    const small = [
        ['Get Blob 4 KiB', { peers: ALL, op: get('s{key}') }],
        ['Put Message', { peers: STORES, service: 'queue', op: message }],
        ['Get Entity', { peers: STORES, service: 'table', op: point }],
        ['Insert Entity', { peers: STORES, service: 'table', op: insert }],
    ];
    const large = [
        ['uploads of 8 MiB', { beside: put('e{key}', 8 * MIB) }],
        ['downloads of 8 MiB', { beside: get('e{key}') }],
        ['uploads of 4 MiB to a file', { beside: putRange(4 * MIB), at: 'file', peers: OWN, rounds: 2 }],
        ['downloads of 4 MiB of a file', { beside: getRange(4 * MIB), at: 'file', peers: OWN, rounds: 2 }],
        ['SMB clients that write', { besideSmb: 'write', peers: OWN, rounds: 2 }],
        ['SMB clients that read', { besideSmb: 'read', peers: OWN, rounds: 2 }],
    ];
    const row = (name, common, more = {}) => ({ part: 'Small beside large', name, connections: 4, ...common, ...more });
    return small.flatMap(([name, common]) => [
        row(`${name}, 4 connections, alone`, common),
        ...large.map(([what, more]) => row(`${name}, 4 connections, beside 8 ${what}`, common, { ...more, readme: name.startsWith('Get Blob') && what.endsWith('of 8 MiB') })),
    ]);
}

function tls() {
    const of = (name, common, counts, shown) => each('TLS', name, { peers: ALL, tls: true, ...common }, counts, shown).map((row) => ({ ...row, name: `${row.name}, TLS` }));
    return [
        ...of('Put Blob 4 KiB', { op: put('s{key}', 4096) }, COUNTS, { 1: { rounds: 2 }, 64: { plot: true }, 256: { rounds: 2 } }),
        ...of('Get Blob 4 KiB', { op: get('s{key}') }, COUNTS, { 1: { rounds: 2 }, 64: { plot: true }, 256: { rounds: 2 } }),
        ...of('Put Blob 1 MiB', { keys: 64, op: put('m{key}', MIB) }, [16]),
        ...of('Get Blob 1 MiB', { keys: 64, op: get('m{key}') }, [16], { 16: { plot: true } }),
        ...of('Put Blob 8 MiB', { keys: 16, op: put('e{key}', 8 * MIB) }, [8], { 8: { plot: true } }),
        ...of('Get Blob 8 MiB', { keys: 16, op: get('e{key}') }, [8]),
    ];
}

/** Azurite takes half an hour for a million blobs, nginx a file each; so they are asked for fewer. */
function among(count) {
    const title = count.toLocaleString('en-US');
    const blobPeers = count <= 1000 ? ALL : count <= 1000000 ? ['lazuli', 'nginx'] : OWN;
    const entityPeers = count <= 1000 ? STORES : OWN;
    const row = (name, peers, more) => ({ part: 'Many objects', name: `${name} among ${title}, 64 connections`, connections: 64, peers, many: count, ...more });
    const entities = [0, 25, 50, 75].map((i) => ({ op: `GET ${ACCOUNT}/bench(PartitionKey='many${count}',RowKey='{key}x${i}')`, headers: JSON_HEADERS.slice(1, 2) }));
    return [
        row('Get Entity', entityPeers, { service: 'table', keys: Math.ceil(count / 100), op: () => entities }),
        row('Get Blob 1 KiB', blobPeers, { keys: count, op: get(`many${count}/o{key}`), plot: count === 1000000 }),
        row('List Blobs by a prefix', blobPeers.filter((peer) => peer !== 'nginx'), { keys: count, op: () => ({ op: `GET ${ACCOUNT}/bench?restype=container&comp=list&prefix=many${count}%2Fo{key}` }) }),
        row('Put Blob 1 KiB', blobPeers, { keys: count, op: put(`many${count}/o{key}`, 1024) }),
    ];
}

/** Measured at the end, for each peer that was used: see state() of measure.mjs. */
function state(objects) {
    const title = objects.toLocaleString('en-US');
    const row = (name, unit, value) => ({ part: 'Start and memory', name, kind: 'state', unit, value, peers: [] });
    return [
        row('start to first connection, empty', 'ms', ({ start }) => start.readyMs),
        row('memory, idle, empty', 'MiB', ({ start }) => start.idleMiB),
        row('memory, the most after any row', 'MiB', ({ mostMiB }) => mostMiB),
        row(`memory, after all rows, ${title} objects`, 'MiB', ({ fullMiB }) => fullMiB),
        row(`start to first connection, ${title} objects`, 'ms', ({ again }) => again.readyMs),
        row(`memory, idle after that start, ${title} objects`, 'MiB', ({ again }) => again.idleMiB),
    ];
}

export const allRows = (objects) => [...blobs(), ...queuesAndTables(), ...filesAndSmb(), ...mixed(), ...tls(), ...objects.flatMap(among), ...state(Math.max(...objects))];
