// SPDX-License-Identifier: Apache-2.0
// Puts the last report (build/bench/peers.json) into README.md and bench/README.md, between their marks, and its plot into
// docs/images/peers.svg.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { conditions, LEGEND, plot, shortTable, table } from './report.mjs';

const ROOT = new URL('../..', import.meta.url).pathname;
const report = JSON.parse(readFileSync(join(ROOT, 'build/bench/peers.json'), 'utf8'));

function between(file, text) {
    const path = join(ROOT, file);
    const [begin, end] = ['<!-- bench-peers: written by bench/peers/publish.mjs -->', '<!-- bench-peers: end -->'];
    const old = readFileSync(path, 'utf8');
    const [from, to] = [old.indexOf(begin), old.indexOf(end)];
    if (from < 0 || to < from)
        throw new Error(`${file} has no marks`);
    writeFileSync(path, `${old.slice(0, from + begin.length)}\n${text}\n${old.slice(to)}`);
}

between('README.md', `${shortTable(report)}\n(Rate, and CPU time of the server an operation; of MiB/s: a MiB; of a change set: an entity. ${conditions(report)}.)`);
between('bench/README.md', `${conditions(report)}. ${LEGEND}\n\n${table(report)}`);
writeFileSync(join(ROOT, 'docs/images/peers.svg'), plot(report));
