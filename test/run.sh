#!/bin/sh
# Runs all tests: `make test`. Each part's output is in build/test/PART.log; the end of a failed part's log is shown here. The
# last line is the total of all parts, "N passed, N failed", and the exit status agrees with it. A part that ran no test, or
# skipped one, has failed.
#
#   sh test/run.sh           all parts
#   sh test/run.sh PART...   some of them, after building what they need:
#                            build style lint unit unit-asan unit-tsan power-cut node node-asan console docs dist smb cluster fuzz
cd "$(dirname "$0")/.." || exit 2
FUZZ_SECONDS=${FUZZ_SECONDS:-2}
logs=build/test
mkdir -p $logs
rm -rf $logs/*.log $logs/*.count $logs/*.claim $logs/*.times
wanted=${*:-build style lint unit unit-asan unit-tsan power-cut node node-asan console docs dist smb cluster fuzz}

# ---- the parts; each is a shell function of its name with '-' as '_' ----

# wants PART...: is one of them to run? `build` alone is all builds.
wants() {
    for one in "$@"; do
        case " $wanted " in *" $one "*) return 0 ;; esac
    done
    return 1
}

# Everything is compiled here, by both compilers and in every variant, so that the other parts only run. Two makes side by
# side: while one links, the other compiles.
jobs=-j$((($(nproc) + 1) / 2))
build_release_and_tsan() {
    if wants build unit node console docs dist smb cluster; then make $jobs all build/release/unit build/release/http_echo || return; fi
    if wants build; then make $jobs bench-objects || return; fi
    if wants build power-cut; then make $jobs build/release/power_cut || return; fi
    if wants build unit-tsan; then make $jobs V=tsan build/tsan/unit || return; fi
}

build_asan_and_clang() {
    if wants build unit-asan node-asan; then
        make $jobs V=asan build/asan/lazuli build/asan/unit build/asan/http_echo || return
    fi
    if wants build unit; then make $jobs CC=clang build/release-clang/lazuli build/release-clang/unit || return; fi
}

part_build() {
    build_asan_and_clang &
    build_release_and_tsan
    built=$?
    wait $! && return $built
}

part_style() {
    make format-check && sh tools/layers.sh && sh tools/tidy.sh whole && sh tools/names.sh
}

part_lint() {
    make -k -j"$(nproc)" tidy-quick
}

part_unit() {
    build/release/unit && build/release-clang/unit
}

part_unit_asan() {
    build/asan/unit
}

part_unit_tsan() {
    TSAN_OPTIONS=suppressions=test/tsan.supp build/tsan/unit
}

part_power_cut() {
    build/release/power_cut
}

# node_suites VARIANT [WITHOUT]: all test/**/*.test.mjs against that build.
node_suites() {
    # Without a file to run, node would look for some by itself.
    suites=$(find test -name '*.test.mjs' -not -path '*/node_modules/*' -not -path 'test/console/*' -not -path 'test/dist/*' -not -path 'test/docs/*' -not -path 'test/cluster/*' | grep -v "^${2:-/}" | sort)
    [ -n "$suites" ] || return 1
    # shellcheck disable=SC2086
    LAZULI_BIN=$PWD/build/$1/lazuli HTTP_ECHO=$PWD/build/$1/http_echo \
        node --test --test-reporter=tap --test-concurrency=2 --test-timeout=300000 $suites
}

part_node() {
    node_suites release
}

part_node_asan() {
    node_suites asan test/cost/ # instructions are counted of the release alone
}

# The console in Debian's Chromium, and its modules without one. FULL=1 (make test-full) runs longer cases too.
part_console() {
    # shellcheck disable=SC2046
    LAZULI_BIN=$PWD/build/release/lazuli node --test --test-reporter=tap --test-concurrency=2 --test-timeout=600000 \
        $(find web/src -name '*.test.mjs' | sort) test/console/*.test.mjs
}

# The packages, each tried where nothing of the build is. Linked without link-time optimisation, which `make dist` does.
part_dist() {
    arm64=
    if [ "${FULL:-}" = 1 ]; then
        sh tools/deps.sh cross && make build/sysroot-arm64 && make -j2 ARCH=arm64 build/release-arm64/portable/lazuli || return
        arm64='build/release-arm64/portable/lazuli build/sysroot-arm64'
    fi
    # shellcheck disable=SC2086
    make -j2 LTO=0 build/release/portable/lazuli && sh tools/dist/dist.sh build/release/portable/lazuli build/test/dist $arm64 &&
        LAZULI_DIST=$PWD/build/test/dist node --test --test-reporter=tap --test-concurrency=1 --test-timeout=300000 \
            test/dist/*.test.mjs
}

# The programs of examples/, the commands of docs/guide, links, and the site.
part_docs() {
    LAZULI_BIN=$PWD/build/release/lazuli node --test --test-reporter=tap --test-concurrency=1 --test-timeout=300000 \
        test/docs/*.test.mjs
}

# smbtorture's suites against the list of those that are known to pass.
part_smb() {
    LAZULI_BIN=$PWD/build/release/lazuli test/smb/torture.sh
}

# The cluster engine, on a PostgreSQL and a Ceph of its own. FULL=1 (make test-full) runs every suite and every fault.
part_cluster() {
    LAZULI_BIN=$PWD/build/release/lazuli sh test/cluster/run.sh
}

part_fuzz() {
    make -j"$(nproc)" fuzz FUZZ_SECONDS="$FUZZ_SECONDS"
}

# ---- running and counting ----

run_part() {
    name=$1
    started=$(date +%s)
    (
        "part_$(echo "$name" | tr - _)"
        status=$?
        times >"$logs/$name.times"
        exit $status
    ) >"$logs/$name.log" 2>&1
    status=$?
    sh test/counts.sh "$name" $status <"$logs/$name.log" >"$logs/$name.count"
    read -r passed failed <"$logs/$name.count"
    [ "$failed" -eq 0 ] || report_failure "$name"
    echo "$name: $passed passed, $failed failed ($(($(date +%s) - started)) s, $(cpu_seconds "$name") s of CPU)"
}

# The CPU time of the part's commands: the second line of `times`, "1m2.3s 0m4.5s".
cpu_seconds() {
    sed -n '2s/[ms]/ /gp' "$logs/$1.times" | awk '{ printf "%d", $1 * 60 + $2 + $3 * 60 + $4 }'
}

# failures PART: the tests that failed, each with the lines above it, which say why.
failures() {
    echo "---- what failed in $1 ($logs/$1.log):"
    grep -E -B 3 -A 12 '^FAIL|^ *not ok|error:|ERROR: |runtime error|WARNING: ThreadSanitizer' "$logs/$1.log" |
        grep -v '^slow: ' | head -n 40
}

report_failure() {
    failures "$1"
    echo "---- the end of $logs/$1.log:"
    tail -n 15 "$logs/$1.log"
    echo "----"
}

# Runs the parts that nobody else has claimed, one after the other.
lane() {
    for claimed in "$@"; do
        if wants "$claimed" && mkdir "$logs/$claimed.claim" 2>/dev/null; then run_part "$claimed"; fi
    done
}

# install_packages FOLDER: what its lock file names, from npm.
install_packages() {
    (cd "$1" && npm ci --ignore-scripts --no-audit --no-fund) >$logs/npm.log 2>&1 && return 0
    tail -n 20 $logs/npm.log
    echo "0 1" >$logs/npm.count
}

if wants node node-asan console docs dist cluster; then
    { install_packages test/rest; install_packages test/starters; if wants console docs; then install_packages test/console; fi; } &
fi
run_part build
wait
# Two cores: three parts at a time, first those that take long alone, since each waits for a quarter of its time; and
# beside them smb, unit and cluster, which wait for most of theirs: for clocks, for the disk, for faults to end.
parts='unit-tsan unit-asan node node-asan console docs dist fuzz lint power-cut style unit'
lane smb unit cluster &
# shellcheck disable=SC2086
{ lane $parts & lane $parts & lane $parts; }
wait

# A log that was cut short still ends with what failed.
for name in $wanted; do
    [ "$(awk '{ print $2 }' "$logs/$name.count" 2>/dev/null)" = 0 ] || failures "$name"
done

# A part that left no count (its name is not known, or its lane died) has failed like any other.
for name in $wanted; do
    [ -f "$logs/$name.count" ] || { echo "$name did not run"; echo "0 1" >"$logs/$name.count"; }
done
cat $logs/*.count | awk '{ passed += $1; failed += $2 }
    END { print passed + 0 " passed, " failed + 0 " failed"; exit failed > 0 || passed == 0 }'
