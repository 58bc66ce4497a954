#!/bin/sh
# Makes every package of a program: dist.sh PROGRAM FOLDER [PROGRAM_ARM64 SYSROOT]. See README.md beside it.
set -eu
program=$1
to=$2
arm64=${3:-}
sysroot=${4:-}
here=$(cd "$(dirname "$0")/../.." && pwd)
tools=$here/tools/dist
version=$(cat "$here/VERSION")
: "${SOURCE_DATE_EPOCH:=$(git -C "$here" log -1 --format=%ct 2>/dev/null || echo 0)}"
export SOURCE_DATE_EPOCH
export TZ=UTC LC_ALL=C
umask 022

# The C library and its parts: anything else would have to be on the machine that it comes to.
for one in "$program" $arm64; do
    foreign=$(readelf -d "$one" | grep NEEDED | grep -vE '\[(ld-linux.*|lib(c|m|pthread|dl))\.so' || true)
    [ -z "$foreign" ] || { echo "dist: $one needs $foreign" >&2; exit 1; }
done

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

# machine PROGRAM NAME ARCHITECTURE: the tarball and Debian's package for one machine.
machine() {
    name=lazuli-$version-linux-$2
    DESCRIBE=$program sh "$tools/install.sh" "$1" "$stage/tar/$name" ''
    licences "$stage/tar/$name/share/doc/lazuli/licences"
    pack "$stage/tar/$name" "$to/$name.tar.gz"
    DESCRIBE=$program sh "$tools/install.sh" "$1" "$stage/$3" /usr
    licences "$stage/$3/usr/share/doc/lazuli/licences"
    sh "$tools/deb.sh" "$stage/$3" "$version" "$to" "$3"
}

machine "$program" x86_64 amd64
[ -z "$arm64" ] || machine "$arm64" aarch64 arm64
# shellcheck disable=SC2086
python3 "$tools/oci.py" "$version" "$to/lazuli-$version-oci.tar" "$program" $arm64 $sysroot
# shellcheck disable=SC2086
sh "$tools/npm.sh" "$version" "$stage/npm" "$to" "$program" $arm64
python3 "$tools/sbom.py" "$program" "$version" >"$to/lazuli-$version.spdx.json"

cd "$to"
find . -maxdepth 1 -type f ! -name SHA256SUMS | sed 's|^\./||' | sort | xargs sha256sum >SHA256SUMS
cat SHA256SUMS
