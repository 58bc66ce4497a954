#!/bin/sh
# The npm packages: npm.sh VERSION WORK TO PROGRAM_X64 [PROGRAM_ARM64]
#   lazuli              the launcher, with the names of Azurite's programs too
#   lazuli-linux-x64 …  the program, optional dependencies of the first: npm installs the one that can run
set -eu
version=$1
work=$2
to=$3
here=$(cd "$(dirname "$0")/../.." && pwd)

# prepare NAME
prepare() {
    mkdir -p "$work/$1"
    cp -R "$here/dist/npm/$1/." "$work/$1"
    cp "$here/LICENSE" "$work/$1/LICENSE"
    sed -i "s/@version@/$version/g" "$work/$1/package.json"
}

# platform NAME PROGRAM
platform() {
    prepare "$1"
    mkdir -p "$work/$1/bin"
    cp -L "$2" "$work/$1/bin/lazuli"
    chmod 755 "$work/$1/bin/lazuli"
}

prepare lazuli
chmod 755 "$work/lazuli/lazuli.js"
platform lazuli-linux-x64 "$4"
names='lazuli lazuli-linux-x64'
if [ $# -gt 4 ]; then
    platform lazuli-linux-arm64 "$5"
    names="$names lazuli-linux-arm64"
else
    # Do not request a package that does not exist.
    sed -i '/"lazuli-linux-arm64"/d; s/\("lazuli-linux-x64": "[^"]*"\),/\1/' "$work/lazuli/package.json"
fi
for name in $names; do
    (cd "$to" && npm pack --silent --ignore-scripts "$work/$name" >/dev/null)
done
