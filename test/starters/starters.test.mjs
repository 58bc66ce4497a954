// SPDX-License-Identifier: Apache-2.0
// Tools that start Azurite can start Lazuli instead: starters_cases.mjs simulates each of them, in a separate network.
import { test } from 'node:test';
import { runCases } from '../smb/cases.mjs';

// A new network has a loopback that is down.
const LOOPBACK_UP = `
import fcntl, socket, struct
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh22x", b"lo", 0x1 | 0x8 | 0x40))`;
const ROOT = process.getuid() === 0 ? [] : ['--map-root-user'];

test('starters of Azurite', (t) => runCases(t, 'unshare', [...ROOT, '--net', 'sh', '-c', 'python3 -c "$0" && exec "$@"',
    LOOPBACK_UP, process.execPath, new URL('starters_cases.mjs', import.meta.url).pathname], 0));
