#!/bin/sh
# Whether the same commit makes the same bytes: builds two clones in different folders, from nothing, and compares.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CCACHE_DISABLE=1
for name in one another-folder; do
    git clone -q "$here" "$work/$name"
    make -C "$work/$name" dist >"$work/$name.log" 2>&1 || { tail -n 20 "$work/$name.log"; exit 1; }
done
cmp "$work/one/build/dist/SHA256SUMS" "$work/another-folder/build/dist/SHA256SUMS"
cat "$work/one/build/dist/SHA256SUMS"
