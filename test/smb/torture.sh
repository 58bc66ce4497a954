#!/bin/bash
# Runs smbtorture's suites against a server of its own and compares with expected.txt, the tests that passed before:
# one of those that fails now has failed; one that passes and is not in the list is named, to be added (the list only
# grows: `torture.sh --add`). Last line: "N passed, N failed".
#
#   torture.sh [--add] [SUITE...]       LAZULI_BIN: the program, default build/lazuli
#
# Suites that take long by themselves (they sleep) run side by side with the others.
cd "$(dirname "$0")/../.." || exit 2
. test/smb/server.sh
add=0
[ "$1" = --add ] && { add=1; shift; }
suites=${*:-$(awk '{ print $1 }' test/smb/expected.txt test/smb/suites.txt | sort -u)}
out=$(mktemp -d /tmp/lazuli-torture-XXXXXX)
trap 'smb_stop; rm -rf "$out"' EXIT
smb_start || exit 2
smb_share share1 && smb_share share2 || exit 2

# A suite that hangs must not hang the rest; what it had passed by then counts.
run_suite() {
    timeout 300 smbtorture //127.0.0.1/share1 -p "$SMB_PORT" -U "$SMB_USER" --option=torture:progress=no \
        --option=torture:share2=share2 "$1" >"$out/$1.log" 2>&1
    sed -n "s/^success: \(.*\)$/$1 \1/p" "$out/$1.log" | sed 's/ *$//' >"$out/$1.passed"
}
for suite in $suites; do run_suite "$suite"; done

cat "$out"/*.passed | sort -u >"$out/passed"
for suite in $suites; do grep "^$suite " test/smb/expected.txt; done | sort -u >"$out/expected"
comm -13 "$out/passed" "$out/expected" >"$out/lost"
comm -23 "$out/passed" "$out/expected" >"$out/new"
while read -r suite name; do
    echo "FAIL $suite $name"
    grep -A2 -E "^(failure|error): $name( |$)" "$out/$suite.log" | head -4
done <"$out/lost"
sed 's/^/new: /' "$out/new"
if [ $add = 1 ]; then cat "$out/new" >>test/smb/expected.txt; sort -u -o test/smb/expected.txt test/smb/expected.txt; fi
echo "$(comm -12 "$out/passed" "$out/expected" | wc -l) passed, $(wc -l <"$out/lost") failed"
[ ! -s "$out/lost" ]
