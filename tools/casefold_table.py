#!/usr/bin/env python3
"""Prints src/core/text/casefold_table.inc: Unicode simple case folding as runs.

    python3 tools/casefold_table.py > src/core/text/casefold_table.inc

Python knows full case folding (str.casefold), which may give several characters. Where it gives one, that is the
simple folding too; where it gives several, the simple folding is the lower-case character if that is a single one,
and otherwise the character itself (U+00DF, U+0130 and the ligatures stay as they are).
"""
import sys
import unicodedata


def simple_fold(code):
    char = chr(code)
    folded = char.casefold()
    if len(folded) > 1:
        folded = char.lower()
    return ord(folded) if len(folded) == 1 else code


def runs():
    """(first, last, step, delta): code points first, first + step, …, last all move by delta."""
    pairs = [(c, simple_fold(c)) for c in range(0x80, sys.maxunicode + 1) if not 0xD800 <= c <= 0xDFFF]
    current = None
    for code, folded in pairs:
        if folded == code:
            continue
        delta = folded - code
        if current and delta == current[3] and code - current[1] in (1, 2):
            step = code - current[1]
            if current[0] == current[1] or step == current[2]:
                current = (current[0], code, step, delta)
                continue
        if current:
            yield current
        current = (code, code, 1, delta)
    yield current


print("/* SPDX-License-Identifier: Apache-2.0 */")
print("/* Made by tools/casefold_table.py from Unicode %s. */" % unicodedata.unidata_version)
for first, last, step, delta in runs():
    print("{0x%04X, 0x%04X, %d, %d}," % (first, last, step, delta))
