#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Any number of power cuts: soak.sh PROGRAM CUTS [SEED]. Each round runs every test of PROGRAM (power_cut) over a store
# with the next seed. The first seed is the time by default; `PROGRAM '' 1 SEED` repeats a round.
set -u
program=$1
wanted=$2
seed=${3:-$(date +%s)}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cuts=0
passed=0
failed=0
while [ "$cuts" -lt "$wanted" ]; do
    "$program" '' 1 "$seed" >"$log" 2>&1
    round=$(awk '$2 == "cuts" { n += $1 } END { print n + 0 }' "$log")
    sum=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$log") || { cat "$log"; exit 1; }
    bad=${sum#*, }
    passed=$((passed + ${sum%% *}))
    failed=$((failed + ${bad%% *}))
    cuts=$((cuts + round))
    echo "seed $seed: $sum; $cuts of $wanted cuts"
    # What a failed test said comes before its name.
    [ "${bad%% *}" -eq 0 ] || grep -B 12 '^FAIL' "$log"
    seed=$((seed + 1))
    [ "$round" -gt 0 ] || { echo 'no cut was made'; exit 1; }
done
echo "$cuts cuts: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
