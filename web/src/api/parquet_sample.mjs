// SPDX-License-Identifier: Apache-2.0
// For tests: a Parquet file made by hand.

/** A Parquet file with the two columns "id" and "name", its data left out. */
export function parquetFile() {
    const text = (words) => [words.length, ...Buffer.from(words)];
    const leaf = (type, name) => [0x15, type << 1, 0x25, 2, 0x18, ...text(name), 0];
    const footer = [0x15, 2, 0x19, 0x3c, 0x48, ...text('schema'), 0x15, 4, 0, ...leaf(2, 'id'), ...leaf(6, 'name'), 0x16, 84, 0x19, 0x0c, 0x28, ...text('by hand'), 0];
    const length = Buffer.alloc(4);
    length.writeUInt32LE(footer.length);
    return Buffer.concat([Buffer.from('PAR1'), Buffer.from(footer), length, Buffer.from('PAR1')]);
}
