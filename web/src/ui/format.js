// SPDX-License-Identifier: Apache-2.0
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export function bytes(n) {
    if (n === undefined || n === null || Number.isNaN(n))
        return '';
    let unit = 0;
    for (; n >= 1024 && unit < UNITS.length - 1; unit++)
        n /= 1024;
    return `${unit === 0 ? Math.round(n) : n.toFixed(n < 10 ? 1 : 0)} ${UNITS[unit]}`;
}

export const count = (n) => (Number.isFinite(n) ? n.toLocaleString('en') : '');

export function time(text) {
    const date = new Date(text);
    return text && !Number.isNaN(date.getTime()) ? date.toISOString().replace('T', ' ').slice(0, 19) : '';
}

/** "in 12 s", "3 min ago". */
export function relative(text, now = Date.now()) {
    const seconds = Math.round((Date.parse(text) - now) / 1000);
    if (Number.isNaN(seconds))
        return '';
    const [n, unit] = Math.abs(seconds) < 90 ? [Math.abs(seconds), 's'] : Math.abs(seconds) < 5400 ? [Math.round(Math.abs(seconds) / 60), 'min']
        : Math.abs(seconds) < 129600 ? [Math.round(Math.abs(seconds) / 3600), 'h'] : [Math.round(Math.abs(seconds) / 86400), 'days'];
    return seconds >= 0 ? `in ${n} ${unit}` : `${n} ${unit} ago`;
}

export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;
