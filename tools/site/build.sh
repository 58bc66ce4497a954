#!/bin/sh
# Builds the documents as static pages with search in build/site, with Debian's mkdocs. The pages keep their paths in the tree, so
# that relative links work; other files they link to (examples, images) are copied.
set -eu
cd "$(dirname "$0")/../.."
command -v mkdocs >/dev/null || { echo "mkdocs is missing: sh tools/deps.sh test" >&2; exit 1; }
source=build/site-source
rm -rf $source build/site
mkdir -p $source
{
    find . \( -name node_modules -o -name build -o -name .git -o -name lazuli-data \) -prune -o -name '*.md' -print
    find docs/images docs/protocol examples -name node_modules -prune -o -type f -print
    find LICENSE dist -type f
} | sort -u | tar -cf - -T - | tar -xf - -C $source
# GitHub takes a second word behind ```sh, mkdocs does not.
find $source -name '*.md' -exec sed -i -E 's/^( *```[a-z]+) (test|check|not-run).*$/\1/' {} +
# Debian's package of the theme names three scripts that it does not have: jQuery is there under another name, the second is ours, and the
# third is for Internet Explorer.
mkdir -p $source/js $source/css
cp tools/site/theme_extra.js $source/js/
cp tools/site/tables.css $source/css/
mkdocs build --quiet --strict --config-file tools/site/mkdocs.yml
[ -f build/site/js/jquery-3.6.0.min.js ] || cp build/site/js/jquery-2.1.1.min.js build/site/js/jquery-3.6.0.min.js
find build/site -name '*.html' -exec sed -i '/html5shiv/d' {} +
echo "build/site/index.html"
