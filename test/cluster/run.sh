#!/bin/sh
# The tests of the cluster engine, on a separate cluster: `make test-cluster`, and the part `cluster` of `make test`.
#   sh test/cluster/run.sh [STEP...]   some of: unit shards across files faults migrate backup one three smb smb-three torture torture-three
# FULL=1 runs every suite and every fault; without it a representative part of each. Output is TAP and the unit tests' totals, which
# test/run.sh counts.
cd "$(dirname "$0")/../.." || exit 2
steps=${*:-unit shards across files faults migrate ${FULL:+backup} one three ${FULL:+smb smb-three torture torture-three}}
bin=${LAZULI_BIN:-$PWD/build/release/lazuli}
unit=${LAZULI_UNIT:-$(dirname "$bin")/unit}
folder=$(mktemp -d "${TMPDIR:-/tmp}/lazuli-cluster-XXXXXX") || exit 2
trap 'test/cluster/down "$folder" --remove' EXIT
trap 'exit 1' INT TERM
assignments=$(test/cluster/up "$folder") || exit 1
eval "$assignments"
export LAZULI_TEST_CLUSTER="$folder" LAZULI_TEST_ROWS="$ROWS" LAZULI_TEST_EXTENTS="$EXTENTS" LAZULI_TEST_BIN="$bin" LAZULI_BIN="$bin"
status=0

# suites FILE: the names in it, without what comes after a '#'.
suites() {
    sed 's/#.*//' "$1" | tr -s ' \n' '\n' | grep .
}

# node_tests CONCURRENCY FILES...: with the program as it is, or in place of it what WRAPPER names.
node_tests() {
    at_once=$1
    shift
    LAZULI_BIN=${WRAPPER:-$bin} node --test --test-reporter=tap --test-concurrency="$at_once" --test-timeout=1800000 "$@" || status=1
}

# The suites of the whole program: all but those that are about the local engine, or a few of them.
# rest_suites LIST...: those of the lists are left out.
rest_suites() {
    if [ -n "${FULL:-}" ]; then
        for suite in test/rest/*.test.mjs test/admin/*.test.mjs; do
            for list in "$@"; do suites "$list"; done | grep -qx "$suite" || echo "$suite"
        done
    else
        suites test/cluster/representative.txt
    fi
}

# smb_suites LIST...: the same for SMB.
smb_suites() {
    for suite in test/smb/*.test.mjs; do
        for list in "$@"; do suites "$list"; done | grep -qx "$suite" || echo "$suite"
    done
}

for step in $steps; do
    echo "# step $step"
    case $step in
    unit) "$unit" on_cluster || status=1 ;;
    # The engine's own suite on two shards (FULL), and histories while shards are added.
    shards)
        if [ -n "${FULL:-}" ]; then
            two=$(test/cluster/up "$folder" --shards 2) || exit 1
            (eval "$two" && LAZULI_TEST_ROWS="$ROWS $ROWS2" "$unit" on_cluster) || status=1
        fi
        node_tests 1 test/cluster/shards.test.mjs ;;
    across | files | faults | migrate | backup) node_tests 1 "test/cluster/$step.test.mjs" ;;
    # shellcheck disable=SC2046
    one) WRAPPER=$PWD/test/cluster/gateway node_tests 2 $(rest_suites test/cluster/local_only.txt) ;;
    # shellcheck disable=SC2046
    three) WRAPPER=$PWD/test/cluster/gateways LAZULI_TEST_GATEWAYS=3 node_tests 1 $(rest_suites test/cluster/local_only.txt test/cluster/one_gateway_only.txt) ;;
    # shellcheck disable=SC2046
    smb) WRAPPER=$PWD/test/cluster/gateway node_tests 1 $(smb_suites test/cluster/local_only.txt) ;;
    # shellcheck disable=SC2046
    smb-three) WRAPPER=$PWD/test/cluster/gateways LAZULI_TEST_GATEWAYS=3 node_tests 1 $(smb_suites test/cluster/local_only.txt test/cluster/one_gateway_only.txt) ;;
    # smb2.maxfid opens some 65,000 files, one after the other, each a transaction.
    torture) SMB_SUITE_SECONDS=1800 LAZULI_BIN=$PWD/test/cluster/gateway bash test/smb/torture.sh || status=1 ;;
    torture-three) SMB_SUITE_SECONDS=1800 LAZULI_BIN=$PWD/test/cluster/gateways LAZULI_TEST_GATEWAYS=3 bash test/smb/torture.sh || status=1 ;;
    *) echo "no step $step"; status=1 ;;
    esac
done
exit $status
