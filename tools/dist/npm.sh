#!/bin/sh
# Two npm packages: npm.sh PROGRAM VERSION WORK TO
#   lazuli            the launcher, with the names of Azurite's programs too
#   lazuli-linux-x64  the program, an optional dependency of the first: npm installs it where it can run
set -eu
program=$1
version=$2
work=$3
to=$4
here=$(cd "$(dirname "$0")/../.." && pwd)
for name in lazuli lazuli-linux-x64; do
    mkdir -p "$work/$name"
    cp -R "$here/dist/npm/$name/." "$work/$name"
    cp "$here/LICENSE" "$work/$name/LICENSE"
    sed -i "s/@version@/$version/g" "$work/$name/package.json"
done
mkdir -p "$work/lazuli-linux-x64/bin"
cp -L "$program" "$work/lazuli-linux-x64/bin/lazuli"
chmod 755 "$work/lazuli-linux-x64/bin/lazuli" "$work/lazuli/lazuli.js"
for name in lazuli lazuli-linux-x64; do
    (cd "$to" && npm pack --silent --ignore-scripts "$work/$name" >/dev/null)
done
