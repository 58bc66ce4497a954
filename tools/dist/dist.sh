#!/bin/sh
# Makes every package of a program: dist.sh PROGRAM FOLDER. See README.md beside it.
set -eu
program=$1
to=$2
here=$(cd "$(dirname "$0")/../.." && pwd)
tools=$here/tools/dist
version=$(cat "$here/VERSION")
: "${SOURCE_DATE_EPOCH:=$(git -C "$here" log -1 --format=%ct 2>/dev/null || echo 0)}"
export SOURCE_DATE_EPOCH
export TZ=UTC LC_ALL=C
umask 022

# "ldd lists libc, libm": anything else would have to be on the machine that it comes to.
foreign=$(ldd "$program" | grep -vE 'linux-vdso|ld-linux|libc\.so|libm\.so' || true)
[ -z "$foreign" ] || { echo "dist: needs $foreign" >&2; exit 1; }

rm -rf "$to"
mkdir -p "$to"
to=$(cd "$to" && pwd)
stage=$to/stage
trap 'rm -rf "$stage"' EXIT

# The licences of what is linked in have to come with it.
licences() {
    mkdir -p "$1"
    cp "$here/LICENSE" "$1/lazuli"
    for package in librocksdb-dev libssl-dev libexpat1-dev libsnappy-dev libbz2-dev liblz4-dev libzstd-dev zlib1g-dev \
        libgflags-dev libstdc++-12-dev; do
        cp -L "/usr/share/doc/$package/copyright" "$1/$package"
    done
    chmod 644 "$1"/*
}

# pack FOLDER FILE: in a fixed order, with fixed times and owners.
pack() {
    tar -C "$(dirname "$1")" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=gnu \
        -cf - "$(basename "$1")" | gzip -9n >"$2"
}

name=lazuli-$version-linux-x86_64
sh "$tools/install.sh" "$program" "$stage/tar/$name" ''
licences "$stage/tar/$name/share/doc/lazuli/licences"
pack "$stage/tar/$name" "$to/$name.tar.gz"

sh "$tools/install.sh" "$program" "$stage/root" /usr
licences "$stage/root/usr/share/doc/lazuli/licences"
sh "$tools/deb.sh" "$stage/root" "$version" "$to"
python3 "$tools/oci.py" "$program" "$version" "$to/lazuli-$version-oci.tar"
sh "$tools/npm.sh" "$program" "$version" "$stage/npm" "$to"
python3 "$tools/sbom.py" "$program" "$version" >"$to/lazuli-$version.spdx.json"

cd "$to"
find . -maxdepth 1 -type f ! -name SHA256SUMS | sed 's|^\./||' | sort | xargs sha256sum >SHA256SUMS
cat SHA256SUMS
