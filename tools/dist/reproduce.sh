#!/bin/sh
# Checks that the same commit gives the same bytes: builds two fresh clones in different folders and compares them.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CCACHE_DISABLE=1
git clone -q "$here" "$work/one"
# A clone of the first, so that both have the same commit even if another is made meanwhile.
git clone -q "$work/one" "$work/another-folder"
for name in one another-folder; do
    make -C "$work/$name" dist >"$work/$name.log" 2>&1 || { tail -n 20 "$work/$name.log"; exit 1; }
done
cmp "$work/one/build/dist/SHA256SUMS" "$work/another-folder/build/dist/SHA256SUMS"
cat "$work/one/build/dist/SHA256SUMS"
