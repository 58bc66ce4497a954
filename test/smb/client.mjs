// SPDX-License-Identifier: Apache-2.0
// A small SMB 2.1 or 3.0 client for tests that must hold files open, cache and lock them, and choose when to answer breaks,
// which no command-line client can.
//
//     const client = await SmbClient.connect(port, 'share1');
//     const file = await client.open('dir\\file', { access: READ, share: 'rw' });   // or client.tryOpen: {status, …}
import { createCipheriv, createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import net from 'node:net';
import { ACCOUNT, KEY } from '../rest/lib.mjs';

export const READ = 0x00120089;
export const WRITE = 0x00120116;
export const DELETE = 0x00010000;
export const OK = 0;
export const SHARING_VIOLATION = 0xC0000043;
export const DELETE_PENDING = 0xC0000056;
export const LOCK_NOT_GRANTED = 0xC0000055;
export const NOT_FOUND = 0xC0000034;
export const FILE_CLOSED = 0xC0000128;
export const NOT_AVAILABLE = 0xC0000467;
export const NOT_ACCEPTED = 0xC00000D0;
export const SESSION_DELETED = 0xC0000203;
export const LOGON_FAILURE = 0xC000006D;
const PENDING = 0x103;
const MORE = 0xC0000016;
const SIGNED = 8, REPLAY = 0x20000000; // a header's flags
const BINDING = 1; // a SESSION_SETUP's
const NEGOTIATE = 0, SETUP = 1, TREE = 3, CREATE = 5, CLOSE = 6, READ_FILE = 8, WRITE_FILE = 9, LOCK = 10, NOTIFY = 15;
const SET_INFO = 17, BREAK = 18;
const LEASE_BITS = { r: 1, h: 2, w: 4 };
const SHARE_BITS = { r: 1, w: 2, d: 4 };

// ---- NTLMv2 ---------------------------------------------------------------------------------------------------------

/** RFC 1320: OpenSSL 3 keeps it among what is not loaded. */
function md4(message) {
    const rotate = (x, n) => (x << n) | (x >>> (32 - n));
    const padded = Buffer.alloc(((message.length + 8 >> 6) + 1) * 64);
    message.copy(padded);
    padded[message.length] = 0x80;
    padded.writeUInt32LE(message.length * 8, padded.length - 8);
    const rounds = [
        { f: (x, y, z) => (x & y) | (~x & z), add: 0, order: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], by: [3, 7, 11, 19] },
        { f: (x, y, z) => (x & y) | (x & z) | (y & z), add: 0x5A827999, order: [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15], by: [3, 5, 9, 13] },
        { f: (x, y, z) => x ^ y ^ z, add: 0x6ED9EBA1, order: [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15], by: [3, 9, 11, 15] },
    ];
    let state = [0x67452301, 0xEFCDAB89 | 0, 0x98BADCFE | 0, 0x10325476];
    for (let at = 0; at < padded.length; at += 64) {
        let [a, b, c, d] = state;
        for (const { f, add, order, by } of rounds)
            order.forEach((word, i) => {
                const mixed = rotate((a + f(b, c, d) + padded.readInt32LE(at + word * 4) + add) | 0, by[i % 4]);
                [a, b, c, d] = [d, mixed, b, c];
            });
        state = [a, b, c, d].map((x, i) => (x + state[i]) | 0);
    }
    const out = Buffer.alloc(16);
    state.forEach((x, i) => out.writeInt32LE(x, i * 4));
    return out;
}

const utf16 = (text) => Buffer.from(text, 'utf16le');
const hmacMd5 = (key, ...parts) => createHmac('md5', key).update(Buffer.concat(parts)).digest();
const FLAGS = 0x00088205; // Unicode, target, NTLM, always sign, extended security

function ntlmNegotiate() {
    const message = Buffer.alloc(32);
    message.write('NTLMSSP\0', 'latin1');
    message.writeUInt32LE(1, 8);
    message.writeUInt32LE(FLAGS, 12);
    return message;
}

function ntlmAuthenticate(challenge, { account, key: password }) {
    const target = challenge.subarray(challenge.readUInt32LE(44), challenge.readUInt32LE(44) + challenge.readUInt16LE(40));
    const key = hmacMd5(md4(utf16(password)), utf16(account.toUpperCase()), utf16('AZURE'));
    const time = Buffer.alloc(8);
    time.writeBigInt64LE((BigInt(Date.now()) + 11644473600000n) * 10000n);
    const blob = Buffer.concat([Buffer.from([1, 1, 0, 0, 0, 0, 0, 0]), time, randomBytes(8), Buffer.alloc(4), target, Buffer.alloc(4)]);
    const proof = hmacMd5(key, challenge.subarray(24, 32), blob);
    const answer = Buffer.concat([proof, blob]);
    const fields = [Buffer.alloc(24), answer, utf16('AZURE'), utf16(account), utf16('TESTER'), Buffer.alloc(0)];
    const head = Buffer.alloc(64);
    head.write('NTLMSSP\0', 'latin1');
    head.writeUInt32LE(3, 8);
    let at = head.length;
    fields.forEach((field, i) => {
        head.writeUInt16LE(field.length, 12 + i * 8);
        head.writeUInt16LE(field.length, 14 + i * 8);
        head.writeUInt32LE(at, 16 + i * 8);
        at += field.length;
    });
    head.writeUInt32LE(FLAGS, 60);
    return { token: Buffer.concat([head, ...fields]), sessionKey: hmacMd5(key, proof) };
}

// ---- signing in SMB 3.0 ---------------------------------------------------------------------------------------------

/** SP 800-108 in counter mode: one block of HMAC-SHA256 is enough. */
function signingKey(sessionKey) {
    const input = Buffer.concat([Buffer.from([0, 0, 0, 1]), Buffer.from('SMB2AESCMAC\0\0SmbSign\0'), Buffer.from([0, 0, 0, 128])]);
    return createHmac('sha256', sessionKey).update(input).digest().subarray(0, 16);
}

/** RFC 4493. */
function aesCmac(key, message) {
    const encrypt = (block) => createCipheriv('aes-128-ecb', key, null).setAutoPadding(false).update(block);
    const mix = (a, b) => Buffer.from(a.map((byte, i) => byte ^ b[i]));
    const double = (block) => {
        const out = Buffer.from(block.map((byte, i) => byte << 1 | (block[i + 1] ?? 0) >> 7));
        out[15] ^= block[0] & 0x80 ? 0x87 : 0;
        return out;
    };
    const count = Math.max(1, Math.ceil(message.length / 16));
    const last = Buffer.alloc(16);
    const whole = message.copy(last, 0, (count - 1) * 16) === 16;
    if (!whole)
        last[message.length % 16] = 0x80;
    let mac = Buffer.alloc(16);
    for (let i = 0; i < count - 1; i++)
        mac = encrypt(mix(mac, message.subarray(i * 16, i * 16 + 16)));
    const subkey = double(encrypt(Buffer.alloc(16)));
    return encrypt(mix(mix(mac, last), whole ? subkey : double(subkey)));
}

// ---- the client -----------------------------------------------------------------------------------------------------

/** A body from a list of [bytes, value]; a Buffer stands for itself. */
function body(...fields) {
    return Buffer.concat(fields.map((field) => {
        if (Buffer.isBuffer(field))
            return field;
        const [bytes, value] = field;
        const out = Buffer.alloc(bytes);
        if (bytes === 8)
            out.writeBigUInt64LE(BigInt(value));
        else
            out.writeUIntLE(value, 0, bytes);
        return out;
    }));
}

const bits = (letters, table) => [...letters].reduce((sum, letter) => sum | table[letter], 0);
export const leaseState = (letters) => bits(letters, LEASE_BITS);

export class SmbClient {
    #socket;
    #received = Buffer.alloc(0);
    #waiting = new Map(); // message id → what to do with the answer
    #breaks = [];
    #breakWaiters = [];
    #nextId = 0;
    #session = 0n;
    #tree = 0;
    #dialect;
    #who = { account: ACCOUNT, key: KEY };
    #sessionKey;
    #signing; // the key that requests are signed with; undefined: they are not
    guid;

    /** A connection that has negotiated, and no more. */
    static async #greet(port, guid, dialect) {
        const client = new SmbClient();
        client.guid = guid;
        client.#dialect = dialect;
        client.#socket = net.connect(port, '127.0.0.1');
        client.#socket.on('data', (bytes) => client.#take(bytes));
        client.#socket.on('error', () => {});
        await once(client.#socket, 'connect');
        await client.#must(NEGOTIATE, body([2, 36], [2, 1], [2, 1], [2, 0], [4, 0x7F], guid, [8, 0], [2, dialect]));
        return client;
    }

    /** Proves the account's key; the status that it ends with. */
    async #logOn(flags) {
        const challenge = await this.request(SETUP, this.#setup(flags, ntlmNegotiate()));
        if (challenge.status !== MORE)
            return challenge.status;
        this.#session = challenge.session;
        const { token, sessionKey } = ntlmAuthenticate(challenge.body.subarray(8), this.#who);
        this.#sessionKey = sessionKey;
        return (await this.request(SETUP, this.#setup(flags, token))).status;
    }

    #setup(flags, token) {
        return body([2, 25], [1, flags], [1, 1], [4, 0], [4, 0], [2, 88], [2, token.length], [8, 0], token);
    }

    static async connect(port, share, guid = randomBytes(16), dialect = 0x0210, who = { account: ACCOUNT, key: KEY }) {
        const client = await SmbClient.#greet(port, guid, dialect);
        client.#who = who;
        const status = await client.#logOn(0);
        if (status !== OK)
            throw new Error(`log on: ${status.toString(16)}`);
        const path = utf16(`\\\\127.0.0.1\\${share}`);
        client.#tree = (await client.#must(TREE, body([2, 9], [2, 0], [2, 72], [2, path.length], path))).tree;
        return client;
    }

    /** One that has proved nothing: 'connected', 'negotiated' or 'half logged in'. */
    static async stranger(port, how) {
        if (how === 'connected') {
            const client = new SmbClient();
            client.#socket = net.connect(port, '127.0.0.1').on('error', () => {});
            await once(client.#socket, 'connect');
            return client;
        }
        const client = await SmbClient.#greet(port, randomBytes(16), 0x0210);
        if (how === 'half logged in')
            await client.request(SETUP, client.#setup(0, ntlmNegotiate()));
        return client;
    }

    /** One more connection to this one's session and tree (needs 3.0): {status, client}. */
    async bind(port) {
        const client = await SmbClient.#greet(port, this.guid, this.#dialect);
        client.#session = this.#session;
        client.#signing = signingKey(this.#sessionKey);
        const status = await client.#logOn(BINDING);
        client.#signing = undefined;
        client.#tree = this.#tree;
        return { status, client };
    }

    /** Cuts the connection, without a word. */
    cut() {
        this.#socket.destroy();
    }

    get session() {
        return this.#session;
    }

    get socket() {
        return this.#socket;
    }

    /** Sends a command; the final answer {status, body, session, tree}. `pending` hears of an interim one. */
    request(command, bytes, pending = () => {}, flags = 0) {
        const id = this.#nextId++;
        const header = Buffer.alloc(64);
        header.write('\xFESMB', 'latin1');
        header.writeUInt16LE(64, 4);
        header.writeUInt16LE(1, 6);
        header.writeUInt16LE(command, 12);
        header.writeUInt16LE(64, 14);
        header.writeUInt32LE(this.#signing === undefined ? flags : flags | SIGNED, 16);
        header.writeBigUInt64LE(BigInt(id), 24);
        header.writeUInt32LE(this.#tree, 36);
        header.writeBigUInt64LE(BigInt(this.#session), 40);
        if (this.#signing !== undefined)
            aesCmac(this.#signing, Buffer.concat([header, bytes])).copy(header, 48);
        const length = Buffer.alloc(4);
        length.writeUInt32BE(header.length + bytes.length);
        this.#socket.write(Buffer.concat([length, header, bytes]));
        return new Promise((resolve) => this.#waiting.set(id, { resolve, pending }));
    }

    #take(bytes) {
        this.#received = Buffer.concat([this.#received, bytes]);
        while (this.#received.length >= 4 && this.#received.length >= 4 + this.#received.readUInt32BE(0)) {
            const end = 4 + this.#received.readUInt32BE(0);
            this.#answer(this.#received.subarray(4, end));
            this.#received = this.#received.subarray(end);
        }
    }

    #answer(message) {
        const id = message.readBigUInt64LE(24);
        const answer = { status: message.readUInt32LE(8), tree: message.readUInt32LE(36), session: message.readBigUInt64LE(40), body: message.subarray(64) };
        if (id === 0xFFFFFFFFFFFFFFFFn) {
            const waiter = this.#breakWaiters.shift();
            const told = answer.body.readUInt16LE(0) === 44
                ? { key: answer.body.subarray(8, 24), ack: (answer.body.readUInt32LE(4) & 1) !== 0, from: answer.body.readUInt32LE(24), to: answer.body.readUInt32LE(28) }
                : { level: answer.body[2], id: answer.body.subarray(8, 24) };
            if (waiter === undefined)
                this.#breaks.push(told);
            else
                waiter(told);
            return;
        }
        const { resolve, pending } = this.#waiting.get(Number(id));
        if (answer.status === PENDING) {
            pending();
            return;
        }
        this.#waiting.delete(Number(id));
        resolve(answer);
    }

    async #must(command, bytes) {
        const answer = await this.request(command, bytes);
        if (answer.status !== OK)
            throw new Error(`command ${command}: ${answer.status.toString(16)}`);
        return answer;
    }

    /** The next break of an oplock or a lease. */
    async nextBreak() {
        return this.#breaks.shift() ?? new Promise((resolve) => this.#breakWaiters.push(resolve));
    }

    get breaks() {
        return this.#breaks.length;
    }

    /** {status, id, oplock, contexts}. share: letters of r, w, d. lease: {key, state: letters of r, h, w}. */
    async tryOpen(path, { access = READ, share = 'rwd', disposition = 1, options = 0, lease, contexts = [], replay = false } = {}) {
        const name = utf16(path);
        const all = [...contexts];
        if (lease !== undefined)
            all.push(['RqLs', body(lease.key, [4, leaseState(lease.state)], [4, 0], [8, 0])]);
        const list = Buffer.concat(all.map(([tag, data], i) => {
            const padding = (8 - data.length % 8) % 8;
            return body([4, i + 1 < all.length ? 24 + data.length + padding : 0], [2, 16], [2, 4], [2, 0], [2, 24], [4, data.length],
                Buffer.from(tag), [4, 0], data, Buffer.alloc(i + 1 < all.length ? padding : 0));
        }));
        const padded = Buffer.concat([name, Buffer.alloc((8 - name.length % 8) % 8)]);
        const answer = await this.request(CREATE, body([2, 57], [1, 0], [1, lease === undefined ? 0 : 0xFF], [4, 2], [8, 0], [8, 0],
            [4, access], [4, 0x80], [4, bits(share, SHARE_BITS)], [4, disposition], [4, options], [2, 120], [2, name.length],
            [4, list.length === 0 ? 0 : 120 + padded.length], [4, list.length], padded, list, Buffer.alloc(1)), undefined, replay ? REPLAY : 0);
        return answer.status !== OK ? answer : { status: OK, oplock: answer.body[2], id: Buffer.from(answer.body.subarray(64, 80)), body: answer.body };
    }

    async open(path, how) {
        const opened = await this.tryOpen(path, how);
        if (opened.status !== OK)
            throw new Error(`open ${path}: ${opened.status.toString(16)}`);
        return opened.id;
    }

    /** The contexts of a persistent handle (needs 3.0): asking for it, and coming back for it. */
    static persistent(guid, timeout = 0) {
        return ['DH2Q', body([4, timeout], [4, 2], [8, 0], guid)];
    }
    static comingBack(guid, id) {
        return ['DH2C', body(id, guid, [4, 2])];
    }

    /** The same of a durable handle, which lives as long as its server. */
    static durable(guid, timeout = 0) {
        return ['DH2Q', body([4, timeout], [4, 0], [8, 0], guid)];
    }
    static comingBackDurable(guid, id) {
        return ['DH2C', body(id, guid, [4, 0])];
    }

    async close(id) {
        return (await this.request(CLOSE, body([2, 24], [2, 0], [4, 0], id))).status;
    }

    async setDelete(id, pending) {
        return (await this.request(SET_INFO, body([2, 33], [1, 1], [1, 13], [4, 1], [2, 96], [2, 0], [4, 0], id, [1, pending ? 1 : 0]))).status;
    }

    async write(id, offset, bytes) {
        return (await this.request(WRITE_FILE, body([2, 49], [2, 112], [4, bytes.length], [8, offset], id, [4, 0], [4, 0], [4, 0], [4, 0], bytes))).status;
    }

    async read(id, offset, length) {
        const answer = await this.#must(READ_FILE, body([2, 49], [1, 80], [1, 0], [4, length], [8, offset], id, [4, 0], [4, 0], [4, 0], [4, 0], [1, 0]));
        return answer.body.subarray(16, 16 + answer.body.readUInt32LE(4));
    }

    /** kind: 'shared', 'exclusive' or 'unlock'; at once unless `pending` is given. */
    async lock(id, offset, length, kind, pending) {
        const flags = { shared: 1, exclusive: 2, unlock: 4 }[kind] | (pending === undefined && kind !== 'unlock' ? 16 : 0);
        return (await this.request(LOCK, body([2, 48], [2, 1], [4, 0], id, [8, offset], [8, length], [4, flags], [4, 0]), pending)).status;
    }

    async ackLease(key, state) {
        return (await this.request(BREAK, body([2, 36], [2, 0], [4, 0], key, [4, leaseState(state)], [8, 0]))).status;
    }

    /** Waits for changes in a directory: [action, name] of each. */
    async changes(id, recursive, pending) {
        const answer = await this.request(NOTIFY, body([2, 32], [2, recursive ? 1 : 0], [4, 65536], id, [4, 0x17F], [4, 0]), pending);
        const list = [];
        for (let at = 8, next = 1; answer.status === OK && next !== 0; at += next) {
            next = answer.body.readUInt32LE(at);
            list.push([answer.body.readUInt32LE(at + 4), answer.body.toString('utf16le', at + 12, at + 12 + answer.body.readUInt32LE(at + 8))]);
        }
        return list;
    }
}
