// SPDX-License-Identifier: Apache-2.0
// What the examples share: where the server is, names that are new, checks, and a way to let time pass.
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';

const ACCOUNT = 'devstoreaccount1';
const KEY = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';
const local = (port) => `http://127.0.0.1:${port}/${ACCOUNT}`;

export const connection = process.env.AZURE_STORAGE_CONNECTION_STRING ??
    `DefaultEndpointsProtocol=http;AccountName=${ACCOUNT};AccountKey=${KEY};BlobEndpoint=${local(10000)};` +
    `QueueEndpoint=${local(10001)};TableEndpoint=${local(10002)};FileEndpoint=${local(10003)};`;

export const newName = (prefix) => prefix + randomBytes(6).toString('hex');

/** Prints what happened, and ends the program if it is not what was expected. */
export function expect(what, actual, expected) {
    console.log(`${what}: ${actual}`);
    if (actual !== expected) {
        console.error(`expected ${expected}`);
        process.exit(1);
    }
}

/** The code of the error that the request ends with; 'success' if there is none. */
export async function outcome(request) {
    try {
        await request;
        return 'success';
    } catch (error) {
        return `${error.statusCode} ${error.code ?? error.details?.errorCode}`;
    }
}

/** Waits; or moves the server's clock, and does not wait, when LAZULI_CLOCK names the server's --clock-file. */
export async function letPass(seconds) {
    const file = process.env.LAZULI_CLOCK;
    if (file === undefined)
        await new Promise((done) => { setTimeout(done, seconds * 1000); });
    else
        writeFileSync(file, `${seconds * 1000}\n`, { flag: 'r+' });
}
