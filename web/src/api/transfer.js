// SPDX-License-Identifier: Apache-2.0
// Uploads and downloads in pieces, several at a time, with pause, resume and cancel. One list for the whole page.
import { downloadFile, createFile, putRange, createDirectory } from './file.js';
import { appendBlock, createAppendBlob, createPageBlob, download, putBlob, putBlock, putBlockList, putPages } from './blob.js';
import { StorageError } from './client.js';

const PARALLEL = 4;
const SMALL = 4 << 20;
const RETRIES = 4;

const PAGE = 512;
const wholePages = (blob) => (blob.size % PAGE === 0 ? blob : new Blob([blob, new Uint8Array(PAGE - (blob.size % PAGE))]));

let nextId = 1;

/** Pieces of a whole: [{index, from, size}]. Up to 50,000 blocks; larger bodies take larger pieces. */
export function piecesOf(size, piece) {
    const most = Math.max(piece, Math.ceil(size / 50000));
    const pieces = [];
    for (let from = 0, index = 0; from < size; from += most, index++)
        pieces.push({ index, from, size: Math.min(most, size - from) });
    return pieces;
}

export const blockId = (index) => btoa(String(index).padStart(8, '0'));

export class Transfers {
    constructor() {
        this.items = [];
        this.listeners = new Set();
    }

    onChange(listener) {
        this.listeners.add(listener);
        return () => this.listeners.delete(listener);
    }

    changed() {
        for (const listener of this.listeners)
            listener();
    }

    add(item) {
        const whole = { id: nextId++, state: 'running', done: 0, failed: null, started: Date.now(), abort: new AbortController(), waiting: [], ...item };
        this.items = [whole, ...this.items].slice(0, 500);
        this.changed();
        return whole;
    }

    pause(item) {
        if (item.state === 'running') {
            item.state = 'paused';
            this.changed();
        }
    }

    resume(item) {
        if (item.state !== 'paused')
            return;
        item.state = 'running';
        for (const go of item.waiting.splice(0))
            go();
        this.changed();
    }

    cancel(item) {
        if (!['running', 'paused'].includes(item.state))
            return;
        item.state = 'cancelled';
        item.abort.abort();
        for (const go of item.waiting.splice(0))
            go();
        this.changed();
    }

    clear() {
        this.items = this.items.filter((item) => ['running', 'paused'].includes(item.state));
        this.changed();
    }

    async turn(item) {
        while (item.state === 'paused')
            await new Promise((go) => item.waiting.push(go));
        if (item.state === 'cancelled')
            throw new DOMException('cancelled', 'AbortError');
    }

    /** Runs `work(piece)` for all pieces, a few at a time, each tried again after a passing fault. */
    async run(item, pieces, work, lanes = PARALLEL) {
        const queue = [...pieces];
        const lane = async () => {
            for (let piece; (piece = queue.shift()) !== undefined;) {
                await this.turn(item);
                await this.again(item, () => work(piece));
                item.done += piece.size;
                this.changed();
            }
        };
        await Promise.all(Array.from({ length: Math.min(lanes, pieces.length) }, lane));
    }

    async again(item, work) {
        for (let tries = 1; ; tries++) {
            try {
                return await work();
            } catch (error) {
                const passing = !(error instanceof StorageError) || error.status >= 500;
                if (item.abort.signal.aborted || !passing || tries >= RETRIES)
                    throw error;
                await new Promise((go) => setTimeout(go, 250 * 2 ** tries));
            }
        }
    }

    async finish(item, work) {
        try {
            await work();
            item.state = 'done';
            item.done = item.size;
        } catch (error) {
            if (item.state !== 'cancelled') {
                item.state = 'failed';
                item.failed = error;
            }
        }
        item.ended = Date.now();
        this.changed();
        return item.state === 'done';
    }

    /** A File or Blob of the browser to a blob of that kind. */
    uploadBlob(s, container, name, file, { etag, none, kind = 'BlockBlob' } = {}) {
        const item = this.add({ what: `${container}/${name}`, direction: 'up', size: file.size });
        const signal = item.abort.signal;
        return this.finish(item, async () => {
            if (kind === 'PageBlob') {
                await createPageBlob(s, container, name, Math.ceil(file.size / PAGE) * PAGE, { type: file.type, signal, none });
                await this.run(item, piecesOf(file.size, SMALL), (piece) => putPages(s, container, name, piece.from, wholePages(file.slice(piece.from, piece.from + piece.size, '')), signal));
                return;
            }
            if (kind === 'AppendBlob') {
                await createAppendBlob(s, container, name, { type: file.type, signal, none });
                await this.run(item, piecesOf(file.size, SMALL), (piece) => appendBlock(s, container, name, piece.from, file.slice(piece.from, piece.from + piece.size, ''), signal), 1);
                return;
            }
            if (file.size <= SMALL) {
                await this.turn(item);
                await this.again(item, () => putBlob(s, container, name, file.slice(0, file.size, ''), { type: file.type, signal, etag, none }));
                return;
            }
            const pieces = piecesOf(file.size, SMALL);
            await this.run(item, pieces, (piece) => putBlock(s, container, name, blockId(piece.index), file.slice(piece.from, piece.from + piece.size, ''), signal));
            await putBlockList(s, container, name, pieces.map((piece) => blockId(piece.index)), { type: file.type, signal, etag, none });
        });
    }

    /** Work that moves several objects as one entry of the list. `work(item)` adds to item.done as it goes on. */
    whole(what, direction, size, work) {
        const item = this.add({ what, direction, size });
        return this.finish(item, () => work(item));
    }

    /**
     * Many objects into one place: `files` are {name, size, get({from, to, signal})}; `write(file, blob)` takes each, one after
     * the other, in the order of the list.
     */
    collect(what, files, write) {
        return this.whole(what, 'down', files.reduce((sum, file) => sum + file.size, 0), async (item) => {
            for (const file of files) {
                const parts = [];
                await this.run(item, piecesOf(file.size, SMALL), async (piece) => {
                    parts[piece.index] = await (await file.get({ from: piece.from, to: piece.from + piece.size - 1, signal: item.abort.signal })).blob();
                });
                await this.turn(item);
                await write(file, new Blob(parts));
            }
        });
    }

    uploadFile(s, share, path, file) {
        const item = this.add({ what: `${share}/${path}`, direction: 'up', size: file.size });
        const signal = item.abort.signal;
        return this.finish(item, async () => {
            await createFile(s, share, path, file.size, { type: file.type, signal });
            await this.run(item, piecesOf(file.size, SMALL), (piece) => putRange(s, share, path, piece.from, file.slice(piece.from, piece.from + piece.size, ''), signal));
        });
    }

    /** Makes the directories on the way to a file; those that are there already are fine. */
    async makeDirectories(s, share, path) {
        const parts = path.split('/').slice(0, -1);
        for (let i = 1; i <= parts.length; i++)
            await createDirectory(s, share, parts.slice(0, i).join('/')).catch((error) => {
                if (error.code !== 'ResourceAlreadyExists')
                    throw error;
            });
    }

    /** `get({from, to, signal, etag})` fetches a part. With a handle (showSaveFilePicker) parts go to disk as they come. */
    download(what, size, etag, get, { handle, saveAs } = {}) {
        const item = this.add({ what, direction: 'down', size });
        const signal = item.abort.signal;
        return this.finish(item, async () => {
            const pieces = piecesOf(size, SMALL);
            const writer = handle ? await handle.createWritable() : null;
            const parts = [];
            try {
                await this.run(item, pieces, async (piece) => {
                    const answer = await get({ from: piece.from, to: piece.from + piece.size - 1, signal, etag });
                    const bytes = await answer.blob();
                    if (writer)
                        await writer.write({ type: 'write', position: piece.from, data: bytes });
                    else
                        parts[piece.index] = bytes;
                });
                await writer?.close();
            } catch (error) {
                await writer?.abort?.();
                throw error;
            }
            if (!writer)
                saveAs(new Blob(parts));
        });
    }

    downloadBlob(s, container, blob, size, etag, options) {
        return this.download(`${container}/${blob.name}`, size, etag, (part) => download(s, container, blob, part), options);
    }

    downloadFile(s, share, path, size, etag, options) {
        return this.download(`${share}/${path}`, size, etag, (part) => downloadFile(s, share, path, { ...part, snapshot: options?.snapshot }), options);
    }
}

/** Hands bytes to the user under a name. */
export function saveAs(name) {
    return (blob) => {
        const link = document.createElement('a');
        link.href = URL.createObjectURL(blob);
        link.download = name.split('/').at(-1);
        document.body.append(link);
        link.click();
        link.remove();
        setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    };
}
