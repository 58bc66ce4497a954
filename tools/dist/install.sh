#!/bin/sh
# Installs the program below a prefix: install.sh PROGRAM DESTDIR PREFIX. DESCRIBE: a program for this machine, if
# PROGRAM is for another.
set -eu
program=$1
root=$2$3
prefix=$3
here=$(cd "$(dirname "$0")/../.." && pwd)

# put MODE FILE TO
put() {
    mkdir -p "$(dirname "$3")"
    rm -f "$3"
    cp -L "$2" "$3"
    chmod "$1" "$3"
}

put 755 "$program" "$root/bin/lazuli"
for name in azurite azurite-blob azurite-queue azurite-table; do
    ln -sfn lazuli "$root/bin/$name"
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${DESCRIBE:-$program}" config --describe | python3 "$here/tools/dist/pages.py" "$(cat "$here/VERSION")" "$work"
put 644 "$work/lazuli.1" "$root/share/man/man1/lazuli.1"
for name in azurite azurite-blob azurite-queue azurite-table; do
    echo '.so man1/lazuli.1' >"$root/share/man/man1/$name.1"
    chmod 644 "$root/share/man/man1/$name.1"
done
put 644 "$work/lazuli.bash" "$root/share/bash-completion/completions/lazuli"
put 644 "$work/_lazuli" "$root/share/zsh/vendor-completions/_lazuli"
put 644 "$work/lazuli.fish" "$root/share/fish/vendor_completions.d/lazuli.fish"
sed "s|@bindir@|$prefix/bin|" "$here/dist/systemd/lazuli.service" >"$work/lazuli.service"
put 644 "$work/lazuli.service" "$root/lib/systemd/system/lazuli.service"
put 644 "$here/dist/systemd/lazuli.sysusers" "$root/lib/sysusers.d/lazuli.conf"
put 644 "$here/dist/systemd/lazuli.tmpfiles" "$root/lib/tmpfiles.d/lazuli.conf"
put 644 "$here/dist/lazuli.conf" "$root/share/doc/lazuli/lazuli.conf"
for file in LICENSE README.md CHANGELOG.md; do
    put 644 "$here/$file" "$root/share/doc/lazuli/$file"
done
