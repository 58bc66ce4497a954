#!/bin/sh
# Builds the console page of web/ into a folder: web.sh FOLDER. Without npm or the packages the folder stays empty; this
# is reported and is not an error: the program then has no page.
set -u
cd "$(dirname "$0")/.." || exit 2
out=$PWD/$1
leave_out() {
    echo "  no console page in this build: $1"
    rm -rf "$out"
    mkdir -p "$out"
    exit 0
}
[ -f web/package.json ] || leave_out "there is no web/package.json"
command -v npm >/dev/null || leave_out "npm is not installed"
cd web || exit 2
if [ ! -d node_modules ] || [ package-lock.json -nt node_modules ]; then
    npm ci --ignore-scripts --no-audit --no-fund >/dev/null 2>&1 || leave_out "npm ci failed in web/"
fi
rm -rf "$out"
mkdir -p "$out"
npm run --silent build -- "$out" || leave_out "npm run build failed in web/"
