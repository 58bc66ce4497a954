// SPDX-License-Identifier: Apache-2.0
// Builds the console into a folder: node build.mjs FOLDER. Names carry a hash of their content, so the server lets
// browsers keep them; index.html names them.
import { build } from 'esbuild';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const out = process.argv[2] ?? join(here, 'dist');
mkdirSync(out, { recursive: true });

const result = await build({
    absWorkingDir: here,
    entryPoints: { app: 'src/main.js', style: 'src/style.css' },
    bundle: true,
    minify: true,
    format: 'esm',
    splitting: false,
    target: ['es2022'],
    outdir: out,
    entryNames: '[name]-[hash]',
    metafile: true,
    legalComments: 'none',
});

const files = Object.keys(result.metafile.outputs).map((path) => basename(path));
const named = (start, end) => files.find((file) => file.startsWith(start) && file.endsWith(end));
const page = readFileSync(join(here, 'src/index.html'), 'utf8')
    .replace('app.js', named('app-', '.js'))
    .replace('style.css', named('style-', '.css'));
writeFileSync(join(out, 'index.html'), page);
writeFileSync(join(out, 'icon.svg'), readFileSync(join(here, 'src/icon.svg')));
