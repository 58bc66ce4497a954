// SPDX-License-Identifier: Apache-2.0
// Makes a store with an older program, for later ones to open: LAZULI_BIN=PROGRAM node make.mjs format-N.tar.xz The
// server is killed while it serves, so the journal has commits to replay.
import { spawnSync } from 'node:child_process';
import { startServer } from '../lib.mjs';
import { write } from '../formats_lib.mjs';

const server = await startServer({ bare: true });
await write(server);
await server.kill();
const done = spawnSync('tar', ['-C', server.folder, '--sort=name', '--owner=0', '--group=0', '--sparse', '-cJf', process.argv[2], '--exclude=control.sock', 'data'], { stdio: 'inherit' });
server.remove();
process.exit(done.status);
