#!/bin/sh
# fuzz.sh SECONDS PROGRAM...: runs each fuzzer for that long, keeps what it has found in PROGRAM.d, and says how many
# found nothing wrong. The seeds of fuzz/NAME.seeds, if there are any, are where it starts.
seconds=$1
shift
passed=0
failed=0
for program in "$@"; do
    name=$(basename "$program")
    mkdir -p "$program.d"
    seeds=
    [ ! -d "fuzz/$name.seeds" ] || seeds=fuzz/$name.seeds
    # shellcheck disable=SC2086
    if "$program" -max_total_time="$seconds" -max_len=8192 -print_final_stats=1 -artifact_prefix="$program.crash-" \
        "$program.d" $seeds >"$program.log" 2>&1; then
        passed=$((passed + 1))
        echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$program.log") inputs"
    else
        failed=$((failed + 1))
        tail -n 40 "$program.log"
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
