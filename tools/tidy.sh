#!/bin/sh
# The rules that a script can check. `tidy.sh` checks the text of each file; `tidy.sh whole` also checks rules that
# apply only to complete work: every operation has a test of its name, and every header is used.
cd "$(dirname "$0")/.." || exit 2

sources() {
    find src test bench fuzz tools -name node_modules -prune -o \
        \( -name '*.[ch]' -o -name '*.sh' -o -name '*.mjs' \) -print 2>/dev/null
}

# A function is the text between a "{" and the next "}" in the first column.
check_text() {
    sources | grep -v 'tools/tidy.sh$' | xargs awk '
        FNR == 1 { if (long_file()) report(); file = FILENAME; body = 0 }
        { lines = FNR }
        /\t/ || / $/ { print FILENAME ":" FNR ": tab or trailing space" }
        /TODO|FIXME|XXX|HACK/ && !/XXXXXX/ { print FILENAME ":" FNR ": unfinished: " $0 }
        FILENAME ~ /\.c$/ && /^{$/ { body = FNR }
        FILENAME ~ /\.c$/ && /^}$/ && body {
            if (FNR - body - 1 > 70) print FILENAME ":" body ": function of " FNR - body - 1 " lines, 70 at most"
            body = 0
        }
        END { if (long_file()) report() }
        function long_file() { return lines > 800 && file !~ /ops_[a-z]*\.c$/ }
        function report() { print file ": " lines " lines, 800 at most" }'
}

# PutBlockList -> put_block_list, SetContainerACL -> set_container_acl
snake() {
    printf '%s\n' "$1" | sed -E 's/([a-z0-9])([A-Z])/\1_\2/g; s/([A-Z]+)([A-Z][a-z])/\1_\2/g' | tr 'A-Z' 'a-z'
}

check_operations() {
    rows=$(cat src/rest/*/ops_*.c 2>/dev/null | sed -nE 's/^ *\{ *(\.name *= *)?"([A-Z][A-Za-z0-9]*)".*/\2/p' | sort -u)
    units=$(find src test -name '*_test.c' -exec grep -hoE '\btest_[a-z0-9_]+\(void\)' {} + 2>/dev/null)
    boxes=$(find test -name '*.test.mjs' -not -path '*/node_modules/*' -exec cat {} + 2>/dev/null)
    for name in $rows; do
        case $units in *"$(snake "$name")"*) continue ;; esac
        case $boxes in *"$name"*) continue ;; esac
        echo "src/rest: operation $name has no test_$(snake "$name")"
    done
}

# A header that names another resource is read through rest/head/second.c alone, which asks whether the request may use it.
check_second() {
    grep -rnE '"x-ms-([a-z-]+-)?(source|target-file)"' src/rest --include='*.c' |
        grep -vE '^src/rest/(head/second|head/second_test|[a-z]+/ops_[a-z]+)\.c:|call_put' |
        sed 's/$/ -- read it through second.h/'
}

# A folder is one list that a reader looks through: at most 60 files, tests and headers included.
check_rooms() {
    find src -type f | sed 's|/[^/]*$||' | sort | uniq -c | awk '$1 > 60 { print $2 ": " $1 " files, 60 at most" }'
}

# The seam has at most 45 calls, so that another engine can be written. A call begins in the first column of engine.h.
check_seam() {
    calls=$(grep -E '^[a-z].*[ *][a-z_]+\(' src/engine/engine.h | grep -vc '^typedef')
    [ "$calls" -le 45 ] || echo "src/engine/engine.h: $calls calls, 45 at most"
}

check_headers() {
    find src -name '*.h' | while read -r header; do
        grep -rqE "(#include \"|-include src/)${header#src/}" src test fuzz bench Makefile 2>/dev/null ||
            echo "$header: nobody includes it"
    done
}

bad=$(
    check_text
    check_second
    check_rooms
    check_seam
    if [ "${1:-}" = whole ]; then
        check_operations
        check_headers
    fi
)
[ -z "$bad" ] || { echo "$bad"; exit 1; }
