#!/bin/sh
# Finds names in documents that no longer exist: every `file.c` and every `function_name` in backticks in
# docs/ARCHITECTURE.md, CONTRIBUTING.md and the folder READMEs must still exist in the tree.
cd "$(dirname "$0")/.." || exit 2
tree=$(mktemp -d) || exit 2
trap 'rm -rf "$tree"' EXIT

code() {
    find src test fuzz bench tools web Makefile -name node_modules -prune -o -name dist -prune -o -type f -print 2>/dev/null
}

code >"$tree/files"
ls -d .[a-z]*/* ./*.md docs/* docs/*/* 2>/dev/null >>"$tree/files"
code | grep -E '\.(c|h|def|inc|sh|mjs|js|py)$|Makefile$' | xargs grep -ohE '[A-Za-z_][A-Za-z0-9_]*' | sort -u >"$tree/words"

documents() {
    echo docs/ARCHITECTURE.md
    echo CONTRIBUTING.md
    find src test bench -name README.md -not -path '*/node_modules/*'
}

# One line per backticked name: document, name.
names() {
    documents | xargs grep -oE '`[^`]+`' /dev/null | sed -E 's/:`(.*)`$/ \1/'
}

names | while read -r document name rest; do
    [ -z "$rest" ] || continue
    case $name in
    *\** | *\<* | *\$* | *…* | /* | -* | build/*) ;; # patterns, flags, output
    *.c | *.h | *.sh | *.mjs | *.def | *.inc)
        pattern=$(printf '%s' "$name" | sed -E 's#^(\.\./)+##; s/[.]/\\./g')
        grep -qE "(^|/)$pattern\$" "$tree/files" ||
            echo "$document: no file $name" ;;
    *[!a-z0-9_]*) ;;
    *_*_* | [a-z]*_[a-z]*)
        # A name that ends or begins with "_" is a part of names (`_init`, `rule_`).
        case $name in _* | *_) continue ;; esac
        # The name itself, a longer one that begins with it (`test_put_block_list_…`), or a file's.
        grep -qE "^$name(_|\$)" "$tree/words" || grep -q "/$name\." "$tree/files" || echo "$document: nothing is called $name" ;;
    esac
done | { ! grep . ; }
