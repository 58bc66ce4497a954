#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Starts the program of this platform's package, under the name that this script was called by.
'use strict';
const { spawn } = require('node:child_process');
const { constants } = require('node:os');
const { basename } = require('node:path');

const PACKAGES = { 'linux x64': 'lazuli-linux-x64', 'linux arm64': 'lazuli-linux-arm64' };
const NAMES = ['azurite', 'azurite-blob', 'azurite-queue', 'azurite-table'];

function fail(text) {
    console.error(`lazuli: ${text}`);
    process.exit(1);
}

function findProgram() {
    if (process.env.LAZULI_BINARY)
        return process.env.LAZULI_BINARY;
    const platform = `${process.platform} ${process.arch}`;
    const name = PACKAGES[platform];
    if (name === undefined)
        fail(`there is no program for ${platform}; use the container image, or WSL on Windows`);
    try {
        return require.resolve(`${name}/bin/lazuli`);
    } catch {
        return fail(`the package ${name} is not installed; was npm run with --omit=optional or --no-optional?`);
    }
}

const called = basename(process.argv[1]).replace(/\.js$/, '');
const child = spawn(findProgram(), process.argv.slice(2), {
    stdio: 'inherit',
    argv0: NAMES.includes(called) ? called : 'lazuli',
});
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'])
    process.on(signal, () => child.kill(signal));
child.on('error', (error) => fail(`cannot start the program: ${error.message}`));
child.on('exit', (status, signal) => process.exit(signal === null ? status : 128 + constants.signals[signal]));
