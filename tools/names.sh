#!/bin/sh
# Finds names in text that no longer exist.
#   names  every `file.c` and every `function_name` in backticks in docs/ARCHITECTURE.md, CONTRIBUTING.md and the folder
#          READMEs
#   paths  every path of this repository and every name of a C file or header in comments, documents, scripts and
#          makefiles
cd "$(dirname "$0")/.." || exit 2
tree=$(mktemp -d) || exit 2
trap 'rm -rf "$tree"' EXIT

# Without git (an unpacked archive), everything except what is built or installed.
git ls-files >"$tree/files" 2>/dev/null ||
    find . \( -name .git -o -name node_modules -o -path ./build \) -prune -o -type f -print | sed 's|^\./||' >"$tree/files"
grep -E '^(src|test|fuzz|bench|tools|web)/.*\.(c|h|def|inc|sh|mjs|js|py)$|^Makefile$' "$tree/files" |
    xargs grep -ohE '[A-Za-z_][A-Za-z0-9_]*' | sort -u >"$tree/words"

documents() {
    echo docs/ARCHITECTURE.md
    echo CONTRIBUTING.md
    grep -E '^(src|test|bench)/(.*/)?README\.md$' "$tree/files"
}

# One line per backticked name: document, name.
backticked() {
    documents | xargs grep -oE '`[^`]+`' /dev/null | sed -E 's/:`(.*)`$/ \1/'
}

check_names() {
    backticked | while read -r document name rest; do
        [ -z "$rest" ] || continue
        case $name in
        *\** | *\<* | *\$* | *…* | /* | -* | build/*) ;; # patterns, flags, output
        *.c | *.h | *.sh | *.mjs | *.def | *.inc)
            pattern=$(printf '%s' "$name" | sed -E 's#^(\.\./)+##; s/[.]/\\./g')
            grep -qE "(^|/)$pattern\$" "$tree/files" ||
                echo "$document: no file $name" ;;
        *[!a-z0-9_]*) ;;
        *_*_* | [a-z]*_[a-z]*)
            # A name that ends or begins with "_" is a part of names (`_init`, `rule_`).
            case $name in _* | *_) continue ;; esac
            # The name itself, a longer one that begins with it (`test_put_block_list_…`), or a file's.
            grep -qE "^$name(_|\$)" "$tree/words" || grep -q "/$name\." "$tree/files" || echo "$document: nothing is called $name" ;;
        esac
    done
}

# A path may leave out what comes before (content/upload.c, rest/auth_sas) and the kind of file that comes after.
# Strings in C and JavaScript are data of tests, unless they begin with a folder of this repository that holds code.
check_paths() {
    grep -vE '\.(svg|png|xz|bin|json|xml|jsonl|go)$|\.seeds/|^LICENSE$' "$tree/files" | xargs awk -v list="$tree/files" '
        function learn(path) {
            known[path] = 1
            while (sub(/^[^\/]*\//, "", path)) known[path] = 1
        }
        function learn_all(path, stem) {
            learn(path)
            stem = path
            if (sub(/(\.test\.mjs|_test\.c|\.[a-z]+)$/, "", stem)) learn(stem)
            while (sub(/\/[^\/]*$/, "", path)) learn(path)
        }
        function exists(name) {
            sub(/^(\.+\/)+/, "", name)
            sub(/[\/.]+$/, "", name)
            return name in known || name in made || name ~ /\*|NAME|-N\.|node_modules/
        }
        # check TEXT BEGIN: each path in the text that begins like that.
        function check(text, begin, name, before) {
            before = ""
            while (match(text, begin "[A-Za-z0-9_.\/*-]*")) {
                name = substr(text, RSTART, RLENGTH)
                before = RSTART == 1 ? before : substr(text, RSTART - 1, 1)
                text = substr(text, RSTART + RLENGTH)
                if (before !~ /[A-Za-z0-9_.\/$@{}%*:=)>-]/ && text !~ /^[{<$(:]/ && !exists(name)) print FILENAME ":" FNR ": no " name
                before = substr(name, length(name))
            }
        }
        function check_files(text, name) {
            while (match(text, /[A-Za-z0-9_.\/*-]*[a-z0-9]\.[ch]($|[^A-Za-z0-9_.(-])/)) {
                name = substr(text, RSTART, RLENGTH)
                text = substr(text, RSTART + RLENGTH)
                sub(/[^ch]$/, "", name)
                if (name !~ /^([._*\/]|[a-z]\.)/ && !exists(name)) print FILENAME ":" FNR ": no file " name
            }
        }
        BEGIN {
            code = "(src|test|tools|bench|fuzz)\/"
            room = "(docs|core|net|http|rest|run|auth|service|engine|smb|admin|import|migrate|transfer|serve)\/"
            # Made by the build; protocols; headers of libraries.
            split("unit_main.c page_files.c http/1.1 http/1.0 libpq-fe.h expat.h isa-l.h", list_made, " ")
            for (i in list_made) made[list_made[i]] = 1
            while ((getline path < list) > 0) learn_all(path)
        }
        /#include/ { next } # the compiler checks these
        {
            check($0, code)
            if (FILENAME ~ /\.(c|h|mjs)$/) gsub(/"([^"\\]|\\.)*"|\047([^\047\\]|\\.)*\047|`[^`]*`/, "")
            # These cite other projects, and the guide has names of files of users.
            if (FILENAME !~ /^docs\/(protocol|concurrency|guide)\//) check($0, room)
            if (FILENAME ~ /\.(c|h|sh|md)$|Makefile$/) check_files($0)
        }'
}

{ check_names; check_paths; } | { ! grep . ; }
