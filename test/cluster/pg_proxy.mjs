// SPDX-License-Identifier: Apache-2.0
// A TCP proxy in front of PostgreSQL that understands just enough of its protocol to cut a connection inside COMMIT.
//
//     const proxy = await PgProxy.start([portA, portB]);      // one listening port for each of PostgreSQL's
//     proxy.cut('before', 5);   // the next five commits: the connection ends when COMMIT was sent and did not arrive
//     proxy.cut('after', 5);    // it arrived and was carried out, and the answer is lost
//
// A COMMIT is a simple query, a parsed statement, or the execution of a prepared statement whose text has that word.
import { once } from 'node:events';
import net from 'node:net';

const SSL_REQUEST = 80877103;
const GSS_REQUEST = 80877104;
const CANCEL_REQUEST = 80877102;

/** Cuts a stream of bytes into PostgreSQL's messages: a type, a length that counts itself, the rest. */
class Messages {
    constructor(started) {
        this.rest = Buffer.alloc(0);
        this.started = started; // the first messages of a client have no type
    }

    * push(bytes) {
        this.rest = this.rest.length === 0 ? bytes : Buffer.concat([this.rest, bytes]);
        for (;;) {
            const head = this.started ? 1 : 0;
            if (this.rest.length < head + 4)
                return;
            const length = head + this.rest.readUInt32BE(head);
            if (this.rest.length < length)
                return;
            const message = this.rest.subarray(0, length);
            this.rest = this.rest.subarray(length);
            if (!this.started) {
                const code = message.readUInt32BE(4);
                if (![SSL_REQUEST, GSS_REQUEST, CANCEL_REQUEST].includes(code))
                    this.started = true;
                yield { type: 'startup', message };
            } else {
                yield { type: String.fromCharCode(message[0]), message };
            }
        }
    }
}

const text = (message, from) => message.toString('latin1', from, message.indexOf(0, from));
const isCommit = (sql) => /\bcommit\b/i.test(sql);

/** Follows what one client says, to know when a COMMIT passes. */
class Watcher {
    constructor() {
        this.prepared = new Map();
        this.portals = new Map();
    }

    commits({ type, message }) {
        if (type === 'Q')
            return isCommit(text(message, 5));
        if (type === 'P') {
            const name = text(message, 5);
            this.prepared.set(name, text(message, 5 + name.length + 1));
        } else if (type === 'B') {
            const portal = text(message, 5);
            this.portals.set(portal, text(message, 5 + portal.length + 1));
        } else if (type === 'E') {
            return isCommit(this.prepared.get(this.portals.get(text(message, 5)) ?? '') ?? '');
        }
        return false;
    }
}

export class PgProxy {
    static async start(ports) {
        const proxy = new PgProxy();
        proxy.plan = { when: 'never', left: 0 };
        proxy.cuts = 0;
        proxy.sockets = new Set();
        proxy.servers = [];
        for (const port of ports) {
            const server = net.createServer({ noDelay: true }, (client) => proxy.serve(client, port));
            server.listen(0, '127.0.0.1');
            await once(server, 'listening');
            proxy.servers.push(server);
        }
        proxy.ports = proxy.servers.map((server) => server.address().port);
        return proxy;
    }

    /** The next `count` commits are cut 'before' they arrive or 'after' they were carried out. */
    cut(when, count) {
        this.plan = { when, left: count };
    }

    take(when) {
        if (this.plan.when !== when || this.plan.left === 0)
            return false;
        this.plan.left--;
        this.cuts++;
        return true;
    }

    serve(client, port) {
        const server = net.connect({ port, host: '127.0.0.1', noDelay: true });
        const watcher = new Watcher();
        const [asked, answered] = [new Messages(false), new Messages(true)];
        let negotiating = 0; // answers of one byte that are due
        let lose = false;
        const end = () => {
            for (const socket of [client, server])
                socket.destroy();
        };
        for (const socket of [client, server]) {
            this.sockets.add(socket);
            socket.on('error', end);
            socket.on('close', () => { this.sockets.delete(socket); end(); });
        }
        client.on('data', (bytes) => {
            for (const one of asked.push(bytes)) {
                if (one.type === 'startup' && !asked.started)
                    negotiating++;
                if (!lose && watcher.commits(one)) {
                    if (this.take('before'))
                        return end();
                    lose = this.take('after');
                }
                server.write(one.message);
            }
        });
        server.on('data', (bytes) => {
            for (; negotiating > 0 && bytes.length > 0; negotiating--) {
                client.write(bytes.subarray(0, 1));
                bytes = bytes.subarray(1);
            }
            if (!lose)
                client.write(bytes);
            for (const { type, message } of answered.push(bytes))
                if (lose && type === 'C' && text(message, 5) === 'COMMIT')
                    return end();
        });
    }

    /** Ends all connections, and takes no more until `resume`. */
    async stop() {
        for (const socket of this.sockets)
            socket.destroy();
        await Promise.all(this.servers.map((server) => new Promise((done) => { server.close(done); })));
    }
}
