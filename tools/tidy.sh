#!/bin/sh
# The rules that a script can hold: file length, tabs, trailing space, and marks of unfinished work.
cd "$(dirname "$0")/.." || exit 2
bad=$(
    find src test bench fuzz \( -name '*.[ch]' -o -name '*.sh' \) | while read -r f; do
        lines=$(wc -l <"$f")
        case $f in *ops_*.c) ;; *) [ "$lines" -le 800 ] || echo "$f: $lines lines, 800 at most" ;; esac
        grep -nP '\t| +$' "$f" | sed "s|^|$f:|;s|\$| (tab or trailing space)|"
        grep -nE 'TODO|FIXME|XXX|HACK' "$f" | grep -v 'XXXXXX' | sed "s|^|$f:|"
    done
)
[ -z "$bad" ] || { echo "$bad"; exit 1; }
