// SPDX-License-Identifier: Apache-2.0
// Starts the server of echo.c and speaks to it over raw sockets, byte by byte where it matters.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import tls from 'node:tls';

const PROGRAM = process.env.HTTP_ECHO ?? new URL('../../build/release/http_echo', import.meta.url).pathname;

/** Writes a certificate of the server's own making. */
export function makeCertificate(certificate, key) {
    execFileSync(PROGRAM, ['certificate', certificate, key]);
}

/** Starts a server; `options` are its name=value arguments. It is stopped by `stop()`. */
export async function startServer(options = {}, env = {}) {
    const args = Object.entries(options).map(([name, value]) => `${name}=${value}`);
    const child = spawn(PROGRAM, args, { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, ...env } });
    let output = '';
    child.stdout.on('data', (bytes) => { output += bytes; });
    while (!output.includes('\n'))
        await Promise.race([once(child.stdout, 'data'), once(child, 'exit').then(() => { throw new Error('no server'); })]);
    const exited = once(child, 'close'); // when all of its output is read
    return {
        port: Number(output.match(/listening (\d+)/)[1]),
        pid: child.pid,
        output: () => output,
        terminate: () => child.kill('SIGTERM'),
        /** Has it read its certificate again; resolves to what it says. */
        async reload() {
            const before = output.length;
            child.kill('SIGHUP');
            while (!output.slice(before).includes('\n'))
                await once(child.stdout, 'data');
            return output.slice(before).trim();
        },
        exited,
        async stop() {
            child.kill('SIGTERM');
            const [code, signal] = await exited;
            if (code !== 0)
                throw new Error(`the server ended with ${code} ${signal}`);
        },
        /** A line of /proc/PID/status, in KiB. */
        memory(name) {
            return Number(readFileSync(`/proc/${child.pid}/status`, 'utf8').match(new RegExp(`${name}:\\s+(\\d+)`))[1]);
        },
    };
}

/** Runs a test against a server of its own. */
export async function withServer(options, run, env = {}) {
    const server = await startServer(options, env);
    try {
        await run(server);
    } finally {
        await server.stop();
    }
}

/** Builds with a sanitizer have a memory of their own. */
export const measuresMemory = !/asan|tsan/.test(PROGRAM);

/** A connection whose input is kept until it is asked for. */
export class Client {
    /** With `secure` (options for tls.connect) over TLS. */
    constructor(port, secure = null) {
        const to = { port, host: '127.0.0.1', allowHalfOpen: true };
        this.socket = secure ? tls.connect({ ...to, ...secure }) : net.connect(to);
        this.socket.setNoDelay(true);
        this.parts = [];
        this.length = 0;
        this.ended = false;
        this.error = null;
        this.waiters = [];
        const wake = () => this.waiters.splice(0).forEach((go) => go());
        this.socket.on('data', (bytes) => { this.parts.push(bytes); this.length += bytes.length; wake(); });
        this.socket.on('end', () => { this.ended = true; wake(); });
        this.socket.on('error', (error) => { this.error = error; this.ended = true; wake(); });
        this.socket.on('close', () => { this.ended = true; wake(); });
    }

    async send(bytes) {
        await new Promise((resolve) => this.socket.write(Buffer.from(bytes, typeof bytes === 'string' ? 'latin1' : undefined), () => resolve()));
        return this;
    }

    /** Shuts down the sending side. */
    finish() { this.socket.end(); return this; }
    close() { this.socket.destroy(); }
    reset() { this.socket.resetAndDestroy(); }
    pause() { this.socket.pause(); return this; }
    resume() { this.socket.resume(); return this; }

    async more() {
        if (!this.ended)
            await new Promise((resolve) => this.waiters.push(resolve));
    }

    /** All that has come and was not taken, in one piece. */
    get input() {
        if (this.parts.length !== 1)
            this.parts = [Buffer.concat(this.parts)];
        return this.parts[0];
    }

    take(n) {
        const input = this.input;
        this.parts = [input.subarray(n)];
        this.length = input.length - n;
        return input.subarray(0, n);
    }

    async bytes(n) {
        while (this.length < n) {
            if (this.ended)
                throw new Error(`the connection ended after ${this.length} of ${n} bytes: ${this.error}`);
            await this.more();
        }
        return this.take(n);
    }

    async line() {
        let at;
        while ((at = this.input.indexOf('\r\n')) < 0) {
            if (this.ended)
                throw new Error(`the connection ended within a line: ${this.error ?? JSON.stringify(this.input.toString('latin1'))}`);
            await this.more();
        }
        return this.take(at + 2).toString('latin1').slice(0, -2);
    }

    async chunks() {
        const parts = [];
        for (;;) {
            const size = parseInt(await this.line(), 16);
            parts.push(await this.bytes(size));
            if ((await this.line()) !== '')
                throw new Error('no empty line after a chunk');
            if (size === 0)
                return Buffer.concat(parts);
        }
    }

    /** One response, read to its end; `bodiless` for the answer to HEAD. */
    async response({ bodiless = false } = {}) {
        const [, status] = (await this.line()).match(/^HTTP\/1\.1 (\d\d\d) /);
        const headers = {};
        for (let line; (line = await this.line()) !== '';) {
            const [, name, value] = line.match(/^([^:]+): (.*)$/);
            headers[name.toLowerCase()] = value;
        }
        let body = Buffer.alloc(0);
        if (!bodiless && Number(status) >= 200 && status !== '204' && status !== '304') {
            if (headers['transfer-encoding'] === 'chunked')
                body = await this.chunks();
            else if (headers['content-length'] !== undefined)
                body = await this.bytes(Number(headers['content-length']));
            else
                body = await this.rest();
        }
        return { status: Number(status), headers, body, text: body.toString('latin1') };
    }

    /** Everything up to the end of the connection. */
    async rest() {
        while (!this.ended)
            await this.more();
        return this.take(this.length);
    }

    /** True when the server ends the connection (and sends nothing more) within `ms`. */
    async closes(ms = 3000) {
        const late = Date.now() + ms;
        while (!this.ended && Date.now() < late)
            await Promise.race([this.more(), sleep(late - Date.now())]);
        return this.ended && this.length === 0;
    }
}

export const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });
export const get = (path, more = '') => `GET ${path} HTTP/1.1\r\nHost: a\r\n${more}\r\n`;
export const put = (path, body, more = '') => `PUT ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n${more}\r\n${body}`;
