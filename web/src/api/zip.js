// SPDX-License-Identifier: Apache-2.0
// A ZIP archive without compression, made of the browser's blobs: bytes stay where the browser keeps them.

const MAX = 0xffffffff;
const COUNT_MAX = 0xffff;
const UTF8 = 0x0800;

const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
    let value = n;
    for (let bit = 0; bit < 8; bit++)
        value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
    return value >>> 0;
});

export function crc32(bytes, before = 0) {
    let value = ~before >>> 0;
    for (const byte of bytes)
        value = TABLE[(value ^ byte) & 255] ^ (value >>> 8);
    return ~value >>> 0;
}

async function crcOf(blob) {
    let crc = 0;
    const reader = blob.stream().getReader();
    for (let part; !(part = await reader.read()).done;)
        crc = crc32(part.value, crc);
    return crc;
}

/** Numbers in little endian: [[bytes, value], …]. */
function fields(...pairs) {
    const view = new DataView(new ArrayBuffer(pairs.reduce((sum, [size]) => sum + size, 0)));
    let at = 0;
    for (const [size, value] of pairs) {
        if (size === 2)
            view.setUint16(at, value, true);
        else
            view.setUint32(at, value, true);
        at += size;
    }
    return view;
}

function dosTime(date) {
    const year = Math.min(2107, Math.max(1980, date.getUTCFullYear()));
    return {
        time: (date.getUTCHours() << 11) | (date.getUTCMinutes() << 5) | (date.getUTCSeconds() >> 1),
        date: ((year - 1980) << 9) | ((date.getUTCMonth() + 1) << 5) | date.getUTCDate(),
    };
}

/** A name that cannot leave the folder it is unpacked into. */
export function safeName(name) {
    const parts = name.split(/[/\\]/).filter((part) => part !== '' && part !== '.').map((part) => (part === '..' ? '__' : part.replace(/[\u0000-\u001f:*?"<>|]/g, '_')));
    return parts.join('/') || '_';
}

/** Whether so many files of so many bytes fit the format as it is written here. */
export const fitsZip = (files) => files.length < COUNT_MAX && files.reduce((sum, file) => sum + file.size + 256, 0) < MAX;

export class Zip {
    constructor() {
        this.parts = [];
        this.entries = [];
        this.size = 0;
    }

    push(...parts) {
        for (const part of parts) {
            this.parts.push(part);
            this.size += part.size ?? part.byteLength;
        }
    }

    async add(name, blob, modified = new Date()) {
        const text = new TextEncoder().encode(safeName(name));
        const { time, date } = dosTime(Number.isNaN(modified.getTime()) ? new Date() : modified);
        const crc = await crcOf(blob);
        const common = [[2, 20], [2, UTF8], [2, 0], [2, time], [2, date], [4, crc], [4, blob.size], [4, blob.size], [2, text.length], [2, 0]];
        this.entries.push({ common, text, at: this.size });
        this.push(fields([4, 0x04034b50], ...common), text, blob);
    }

    finish() {
        const start = this.size;
        for (const { common, text, at } of this.entries)
            this.push(fields([4, 0x02014b50], [2, 20], ...common, [2, 0], [2, 0], [2, 0], [4, 0], [4, at]), text);
        this.push(fields([4, 0x06054b50], [2, 0], [2, 0], [2, this.entries.length], [2, this.entries.length], [4, this.size - start], [4, start], [2, 0]));
        return new Blob(this.parts, { type: 'application/zip' });
    }
}
