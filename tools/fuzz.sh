#!/bin/sh
# fuzz.sh SECONDS PROGRAM...: runs each fuzzer for that long, keeps its corpus in PROGRAM.d, and prints how many found
# no error. It starts from the seeds of fuzz/NAME.seeds, if there are any.
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
