#!/bin/sh
# Two Debian packages from the files that install.sh installed: deb.sh ROOT VERSION TO ARCHITECTURE
#   lazuli          the program, its service, user and configuration
#   lazuli-azurite  the names of Azurite's programs, which a machine may have from elsewhere
set -eu
root=$1
version=$2
to=$3
architecture=$4
here=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# build NAME ARCHITECTURE: a package of the folder $work/NAME, which already has DEBIAN/control.
build() {
    # In KiB, as the policy wants it; a size that depends on the file system would not be reproducible.
    size=$(find "$work/$1" -type f ! -path '*/DEBIAN/*' -printf '%s\n' | awk '{ sum += int(($1 + 1023) / 1024) } END { print sum + 0 }')
    sed -i "s/^Installed-Size: .*/Installed-Size: $size/" "$work/$1/DEBIAN/control"
    (cd "$work/$1" && find usr etc -type f 2>/dev/null | LC_ALL=C sort | xargs -r md5sum >DEBIAN/md5sums)
    find "$work/$1" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
    dpkg-deb --root-owner-group -Zxz --build "$work/$1" "$to/${1}_${version}_$2.deb" >/dev/null
}

control() {
    mkdir -p "$work/$1/DEBIAN"
    sed -e "s/@version@/$version/g; s/@architecture@/$architecture/g" "$here/dist/debian/$1.control" >"$work/$1/DEBIAN/control"
}

control lazuli
cp -a "$root/usr" "$work/lazuli/usr"
rm -f "$work/lazuli/usr/bin/azurite"* "$work/lazuli/usr/share/man/man1/azurite"*
mkdir -p "$work/lazuli/etc/lazuli" "$work/lazuli/lib"
mv "$work/lazuli/usr/share/doc/lazuli/lazuli.conf" "$work/lazuli/etc/lazuli/lazuli.conf"
# Debian 12 looks for units below /lib too, which its packages still use.
mv "$work/lazuli/usr/lib/systemd" "$work/lazuli/lib/systemd"
gzip -9n "$work/lazuli/usr/share/man/man1/lazuli.1"
gzip -9n "$work/lazuli/usr/share/doc/lazuli/CHANGELOG.md"
mv "$work/lazuli/usr/share/doc/lazuli/CHANGELOG.md.gz" "$work/lazuli/usr/share/doc/lazuli/changelog.gz"
rm "$work/lazuli/usr/share/doc/lazuli/LICENSE"
cp "$here/dist/debian/copyright" "$work/lazuli/usr/share/doc/lazuli/copyright"
echo /etc/lazuli/lazuli.conf >"$work/lazuli/DEBIAN/conffiles"
for script in postinst prerm postrm; do
    cp "$here/dist/debian/lazuli.$script" "$work/lazuli/DEBIAN/$script"
    chmod 755 "$work/lazuli/DEBIAN/$script"
done
build lazuli "$architecture"
# The names are the same for every machine.
[ "$architecture" = amd64 ] || exit 0

control lazuli-azurite
mkdir -p "$work/lazuli-azurite/usr/bin" "$work/lazuli-azurite/usr/share/man/man1" "$work/lazuli-azurite/usr/share/doc"
for name in azurite azurite-blob azurite-queue azurite-table; do
    ln -s lazuli "$work/lazuli-azurite/usr/bin/$name"
    ln -s lazuli.1.gz "$work/lazuli-azurite/usr/share/man/man1/$name.1.gz"
done
ln -s lazuli "$work/lazuli-azurite/usr/share/doc/lazuli-azurite"
build lazuli-azurite all
