// SPDX-License-Identifier: Apache-2.0
// A server with the console, and Debian's Chromium to look at it. Screenshots go to build/console.
import { mkdirSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { freePorts, startServer } from '../rest/lib.mjs';

const SHOTS = new URL('../../build/console/', import.meta.url).pathname;
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'];

export async function startConsole({ args = [], ...options } = {}) {
    const [adminPort] = await freePorts(1);
    const server = await startServer({ ...options, args: ['--admin-port', String(adminPort), ...args] });
    server.console = `http://127.0.0.1:${adminPort}/`;
    return server;
}

export function startBrowser() {
    mkdirSync(SHOTS, { recursive: true });
    return chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });
}

/** A fresh page, as of a browser that has never been here. What it complains of is in page.faults. */
export async function openPage(browser, options = {}) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(20000);
    page.faults = [];
    page.on('pageerror', (error) => page.faults.push(`error: ${error.message}`));
    page.on('console', (message) => {
        if (message.type() === 'error' && !/status of 4\d\d/.test(message.text()))
            page.faults.push(message.text());
    });
    page.shot = (name) => page.screenshot({ path: `${SHOTS}${name}.png` });
    return page;
}

export async function signIn(page, server) {
    await page.goto(server.console);
    await page.getByRole('button', { name: 'Sign in as devstoreaccount1' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
}

export const openView = (page, name) => page.getByRole('navigation', { name: 'Services' }).getByRole('link', { name, exact: true }).click();

/** Row of a list by its visible text. */
export const row = (page, text) => page.getByRole('row').filter({ hasText: text }).first();
