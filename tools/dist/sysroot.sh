#!/bin/sh
# Makes a folder with Debian's libraries for another architecture, to link against: sysroot.sh ARCHITECTURE FOLDER
set -eu
rm -rf "$2" "$2.part"
mmdebstrap --quiet --variant=extract --architectures="$1" --include=libc6,libc6-dev,libgcc-s1,librocksdb-dev,libssl-dev,libexpat1-dev,libisal-dev,libsnappy-dev,libbz2-dev,liblz4-dev,libzstd-dev,zlib1g-dev,libgflags-dev,busybox-static \
    bookworm "$2.part"
mv "$2.part" "$2"
