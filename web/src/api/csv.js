// SPDX-License-Identifier: Apache-2.0
/** Rows of comma-separated text, quotes and line ends inside them included. */
export function parseCsv(text, most) {
    const rows = [[]];
    let cell = '';
    let quoted = false;
    for (let i = 0; i < text.length; i++) {
        const letter = text[i];
        if (quoted) {
            if (letter === '"' && text[i + 1] === '"') { cell += '"'; i++; }
            else if (letter === '"') quoted = false;
            else cell += letter;
        } else if (letter === '"' && cell === '') quoted = true;
        else if (letter === ',') { rows.at(-1).push(cell); cell = ''; }
        else if (letter === '\n') {
            rows.at(-1).push(cell.replace(/\r$/, ''));
            cell = '';
            if (rows.length >= most)
                return rows;
            rows.push([]);
        } else cell += letter;
    }
    if (cell !== '' || rows.at(-1).length > 0)
        rows.at(-1).push(cell);
    return rows.filter((row) => row.length > 0);
}
