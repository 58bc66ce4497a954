#!/bin/bash
# Runs smbtorture's suites against a separate server and compares with expected.txt, the tests that passed before. A listed
# test that does not pass is a failure; a passing test that is not listed is printed, to be added (tests are never removed:
# `torture.sh --add`). Last line: "N passed, N failed".
#
#   torture.sh [--add] [SUITE...]       LAZULI_BIN: the program, default build/lazuli; SMB_SUITE_SECONDS: for each suite, 480
#
# A suite is a line of suites.txt, the longest first; each has a separate share, and several run in parallel, because a
# suite mostly waits. Lines with "slow" wait for real timeouts of half a minute: they run only with SMB_TORTURE=all.
cd "$(dirname "$0")/../.." || exit 2
. test/smb/server.sh
add=0
[ "$1" = --add ] && { add=1; shift; }
[ "$SMB_TORTURE" = all ] && slow=1 || slow=0
suites=${*:-$(awk -v slow="$slow" '$2 != "slow" || slow { print $1 }' test/smb/suites.txt)}
out=$(mktemp -d /tmp/lazuli-torture-XXXXXX)
trap 'smb_stop; [ -n "$SMB_KEEP" ] || rm -rf "$out"' EXIT
smb_start || exit 2

# torture SHARE SUITE [OPTION...]: a suite that hangs must not hang the rest; what it had passed by then counts.
torture() {
    share=$1
    suite=$2
    shift 2
    timeout "${SMB_SUITE_SECONDS:-480}" smbtorture "//127.0.0.1/$share" -p "$SMB_PORT" -U "$SMB_USER" --option=torture:progress=no \
        --option="torture:share2=$share-two" "$@" --format=subunit --fullname "$suite" >>"$out/$suite.log" 2>&1
}

# run_suite SUITE
run_suite() {
    share=$(echo "$1" | tr -c 'a-z0-9\n' '-' | cut -c1-40)
    share=${share%-}
    python3 test/smb/share.py "$FILE_PORT" create "$share" >/dev/null
    python3 test/smb/share.py "$FILE_PORT" create "$share-two" >/dev/null
    began=$SECONDS
    : >"$out/$1.log"
    torture "$share" "$1"
    # Many of these are only for a client that gets GMAC. One that may use several connections gets it when it does not
    # offer CMAC as well (src/smb/commands/negotiate.c).
    case $1 in smb2.session*) torture "$share" "$1" --option="client smb3 signing algorithms=aes-128-gmac hmac-sha256" ;; esac
    sed -n 's/^success: //p' "$out/$1.log" >"$out/$1.passed"
    [ $((SECONDS - began)) -lt 20 ] || echo "slow: $1 took $((SECONDS - began)) s"
}
export -f run_suite torture
export out FILE_PORT SMB_PORT SMB_USER
echo "$suites" | tr ' ' '\n' | xargs -P 6 -I{} bash -c 'run_suite {}'

# A name of a suite is that test, or begins it.
for suite in $suites; do grep -E "^${suite//./\\.}(\.|$)" test/smb/expected.txt; done | sort -u >"$out/expected"
sum_up() {
    cat "$out"/*.passed | sort -u >"$out/passed"
    comm -13 "$out/passed" "$out/expected" >"$out/lost"
}
sum_up
# Many of these tests measure time, and a busy machine or a suite cut short loses some: each gets a second chance,
# beside one other.
if [ -s "$out/lost" ]; then
    sed 's/^/second chance: /' "$out/lost"
    xargs -d '\n' -n 1 -P 2 bash -c 'run_suite "$1"' _ <"$out/lost"
    sum_up
fi
comm -23 "$out/passed" "$out/expected" >"$out/new"
while read -r name; do
    echo "FAIL $name"
    grep -h -A2 -F "failure: $name " "$out"/*.log | sed -n 2p
done <"$out/lost"
sed 's/^/new: /' "$out/new"
if [ $add = 1 ]; then cat "$out/new" >>test/smb/expected.txt; sort -u -o test/smb/expected.txt test/smb/expected.txt; fi
echo "$(comm -12 "$out/passed" "$out/expected" | wc -l) passed, $(wc -l <"$out/lost") failed"
[ ! -s "$out/lost" ]
