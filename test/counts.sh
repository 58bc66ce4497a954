#!/bin/sh
# sh test/counts.sh PART STATUS <LOG: prints the counts of a part of test/run.sh, "passed failed", from the log of unit
# tests or fuzzers ("N passed, N failed, N skipped") or of Node ("# pass N"). A skipped test counts as failed. build,
# style and lint count as one test each; any other part without tests has failed.
case $1 in build | style | lint) whole=1 ;; *) whole=0 ;; esac
awk -v status="$2" -v whole=$whole '
    /^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$/ { passed += $1; failed += $3 + $5 }
    /^# pass [0-9]+$/ { passed += $3 }
    /^# (fail|cancelled|skipped|todo) [0-9]+$/ { failed += $3 }
    END {
        if (whole && status == 0) passed = 1
        if (failed == 0 && (status != 0 || passed == 0)) failed = 1
        print passed + 0, failed + 0
    }'
