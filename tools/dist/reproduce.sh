#!/bin/sh
# Whether the same commit makes the same bytes: builds two clones in different folders, from nothing, and compares.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CCACHE_DISABLE=1
git clone -q "$here" "$work/one"
# Of the first, so that a commit that is made meanwhile does not come between.
git clone -q "$work/one" "$work/another-folder"
for name in one another-folder; do
    make -C "$work/$name" dist >"$work/$name.log" 2>&1 || { tail -n 20 "$work/$name.log"; exit 1; }
done
cmp "$work/one/build/dist/SHA256SUMS" "$work/another-folder/build/dist/SHA256SUMS"
cat "$work/one/build/dist/SHA256SUMS"
