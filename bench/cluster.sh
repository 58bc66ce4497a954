#!/bin/bash
# The cluster engine on this machine: its gateway compared with the local engine, pgbench on the same PostgreSQL and `rados bench` on the
# same pool, and with 1, 2 and 4 gateways on 1 and 2 shards. Rates depend on the machine, which all processes share here; compare ratios
# within one run, and CPU per request.
#   sh bench/cluster.sh               all parts
#   sh bench/cluster.sh local rows    some of: local rows hot bulk scale
# With other work on the machine: chrt -f 10 bash bench/cluster.sh …, which gives all of it, cluster and load, real-time priority.
# BENCH_SECONDS (6) per row, BENCH_CONNECTIONS (64), BENCH_ROUNDS (5) of bulk, BENCH_BIN (build/lazuli).
set -eu
cd "$(dirname "$0")/.."
seconds=${BENCH_SECONDS:-6}
connections=${BENCH_CONNECTIONS:-64}
bin=${BENCH_BIN:-build/lazuli}
build=$(dirname "$(readlink -f "$bin")")
load=$build/bench_load
cycle=$build/bench_queue_cycle
psql=/usr/lib/postgresql/15/bin/psql
pgbench=/usr/lib/postgresql/15/bin/pgbench
key='Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=='
work=$(mktemp -d /tmp/lazuli-bench-cluster-XXXXXX)
pids=
trap 'stop; test/cluster/down "$work/cluster" --remove; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
parts=${*:-local rows hot bulk scale}

# start PORT FLAGS...: a server whose blob port is PORT, queue port PORT + 1 and table port PORT + 2.
start() {
    listen=$1
    shift
    "$bin" --blob-port "$listen" --queue-port $((listen + 1)) --table-port $((listen + 2)) --file-port off --smb-port off --dfs-port off \
        --admin-port off --silent "$@" >>"$work/server.log" 2>&1 &
    pids="$pids $!"
    for _ in $(seq 500); do
        curl -s -o /dev/null "http://127.0.0.1:$listen/devstoreaccount1?comp=list" && return
        sleep 0.02
    done
    cat "$work/server.log" >&2
    exit 1
}

stop() {
    for one in $pids; do kill "$one" 2>/dev/null || true; done
    for one in $pids; do wait "$one" 2>/dev/null || true; done
    pids=
}

# fresh [SHARDS]: a store of its own in the cluster.
fresh() {
    name=b_$(date +%s%N)
    rows=
    for uri in "$ROWS" $([ "${1:-1}" = 2 ] && echo "$ROWS2"); do
        "$psql" -Xq "$uri" -c "create schema $name"
        rows="$rows${rows:+ }$uri&options=-csearch_path%3D$name"
    done
    extents="$EXTENTS,namespace=$name"
    "$bin" cluster init --rows "$rows" --extents "$extents" >/dev/null
}

gateway() {
    start "$1" --engine cluster --rows "$rows" --extents "$extents"
}

# row PORT NAME ARGS...: one line of the table, with the CPU of the last server that was started.
row() {
    at=$1 title=$2
    shift 2
    "$load" --url "http://127.0.0.1:$at" --account devstoreaccount1 --key "$key" --pid "${pids##* }" \
        --header 'x-ms-version: 2024-11-04' --seconds "$seconds" --connections "$connections" --name "$title" "$@"
}

once() {
    at=$1
    shift
    row "$at" prepare --connections 1 --requests 1 --warm-up 0 "$@" >/dev/null
}

put() { row "$1" "$2" --in-order --op "PUT /devstoreaccount1/bench/k{key}" --header 'x-ms-blob-type: BlockBlob' --body-bytes 4096; }
get() { row "$1" "$2" --op "GET /devstoreaccount1/bench/k{key}"; }

titles() {
    printf '\n%s\n\n' "$*"
    echo '| what | connections | requests | errors | requests/s | p50 ms | p99 ms | in MB/s | out MB/s | gateway CPU µs |'
    echo '|---|---|---|---|---|---|---|---|---|---|'
}

port=$((20000 + $$ % 10000))

# entity PORT NAME ARGS...
entity() {
    at=$1 title=$2
    shift 2
    row $((at + 2)) "$title" --table --header 'Accept: application/json;odata=nometadata' "$@"
}

# insert PORT NAME PARTITION ROW ARGS...
insert() {
    into=$1 label=$2 body="{\"PartitionKey\":\"$3\",\"RowKey\":\"$4\",\"Name\":\"value\"}"
    shift 4
    entity "$into" "$label" --op 'POST /devstoreaccount1/bench' --header 'Content-Type: application/json' \
        --header 'Prefer: return-no-content' --body "$body" "$@"
}

# small NAME: the rows of one server at $port.
small() {
    once $port --op 'PUT /devstoreaccount1/bench?restype=container'
    put $port "$1: PUT 4 KiB"
    get $port "$1: GET 4 KiB"
    row $port "$1: Get Blob Properties" --op 'HEAD /devstoreaccount1/bench/k{key}'
    row $port "$1: List Blobs, 10" --op 'GET /devstoreaccount1/bench?restype=container&comp=list&maxresults=10'
    once $((port + 1)) --op 'PUT /devstoreaccount1/bench'
    row $((port + 1)) "$1: Put Message" --op 'POST /devstoreaccount1/bench/messages' \
        --body '<QueueMessage><MessageText>hello</MessageText></QueueMessage>'
    row $((port + 1)) "$1: Get Messages" --op 'GET /devstoreaccount1/bench/messages?visibilitytimeout=1'
    entity $port prepare --connections 1 --requests 1 --warm-up 0 --op 'POST /devstoreaccount1/Tables' \
        --header 'Content-Type: application/json' --body '{"TableName":"bench"}' >/dev/null
    insert $port prepare p 'k{key}' --connections 8 --requests 1000 --in-order --warm-up 0 >/dev/null
    insert $port "$1: Insert Entity" i '{seq}'
    entity $port "$1: Get Entity" --op "GET /devstoreaccount1/bench(PartitionKey='p',RowKey='k{key}')"
}

part_local() {
    titles 'Small requests: one gateway of the cluster beside the local engine'
    start $port --data "$work/local"
    small local
    stop
    fresh
    gateway $port
    small cluster
    stop
}

# What one PUT writes: the row with its 4 KiB in it, and the partition's row, in a transaction with a flush on both servers.
part_rows() {
    titles 'PUT 4 KiB beside pgbench with the same row writes, the same PostgreSQL, the same number of clients'
    fresh
    gateway $port
    once $port --op 'PUT /devstoreaccount1/bench?restype=container'
    put $port 'cluster: PUT 4 KiB, one container'
    stop
    "$psql" -Xq "$ROWS" -c 'drop table if exists bench_rows, bench_partitions;
        create table bench_partitions (partition bytea primary key, stamp bigint);
        create table bench_rows (partition bytea, key bytea, value bytea, body bytea, primary key (partition, key));
        alter table bench_rows alter body set storage external;
        insert into bench_partitions select int4send(n), 0 from generate_series(0, 999) n'
    cat >"$work/rows.sql" <<'SQL'
\set p random(0, 999)
\set k random(0, 999)
begin;
update bench_partitions set stamp = stamp + 1 where partition = int4send(:p);
insert into bench_rows values (int4send(:p), int4send(:k), decode(repeat('ab', 300), 'hex'), decode(repeat('cd', 4096), 'hex'))
    on conflict (partition, key) do update set value = excluded.value, body = excluded.body;
commit;
SQL
    echo
    "$pgbench" -n -M prepared -c "$connections" -j 2 -T "$seconds" -f "$work/rows.sql" "$ROWS" 2>/dev/null | grep -E 'tps|latency average' |
        sed 's/^/pgbench, each in a partition of its own: /'
}

# One queue: the gateway's updates share transactions. One transaction per update is what pgbench does on one partition.
part_hot() {
    titles 'One hot queue beside one transaction per update'
    fresh
    gateway $port
    once $((port + 1)) --op 'PUT /devstoreaccount1/hot'
    row $((port + 1)) 'cluster: put message, one queue' --op 'POST /devstoreaccount1/hot/messages' \
        --body '<QueueMessage><MessageText>hello</MessageText></QueueMessage>'
    stop
    "$psql" -Xq "$ROWS" -c 'drop table if exists bench_rows, bench_partitions;
        create table bench_partitions (partition bytea primary key, stamp bigint);
        create table bench_rows (partition bytea, key bytea, value bytea, body bytea, primary key (partition, key));
        insert into bench_partitions select int4send(0), 0'
    cat >"$work/hot.sql" <<'SQL'
begin;
update bench_partitions set stamp = stamp + 1 where partition = int4send(0);
insert into bench_rows values (int4send(0), uuid_send(gen_random_uuid()), decode(repeat('ab', 100), 'hex'), null);
commit;
SQL
    echo
    "$pgbench" -n -M prepared -c "$connections" -j 2 -T "$seconds" -f "$work/hot.sql" "$ROWS" 2>/dev/null | grep -E 'tps|latency average' |
        sed 's/^/pgbench, one partition: /'
}

# mib_a_second NANOSECONDS: of 1 GiB.
mib_a_second() { awk -v t="$1" 'BEGIN { printf "%.0f\n", 1024 / (t / 1e9) }'; }

# A blob of 1 GiB as SDKs send it: 256 blocks of 4 MiB, 16 at a time, then the list of them.
upload() {
    began=$(date +%s%N)
    row $port 'cluster: 256 × Put Block 4 MiB' --connections 16 --requests 256 --seconds 300 --warm-up 0 --in-order --keys 256 \
        --op 'PUT /devstoreaccount1/bench/big?comp=block&blockid={key64}' --body-bytes 4194304
    once $port --op 'PUT /devstoreaccount1/bench/big?comp=blocklist' --body "$(
        echo '<BlockList>'
        for n in $(seq 0 255); do printf '<Latest>%s</Latest>' "$(printf %08d "$n" | base64)"; done
        echo '</BlockList>'
    )"
    mib_a_second $(($(date +%s%N) - began)) >>"$work/upload"
}

# The same blob in 256 ranges, 16 at a time. `--drop`: a client's cores are not those of the cluster.
download() {
    began=$(date +%s%N)
    row $port 'cluster: 256 × Get Blob, ranges of 4 MiB' --connections 16 --requests 256 --seconds 300 --warm-up 0 --in-order --keys 256 --drop \
        --op 'GET /devstoreaccount1/bench/big' --header 'x-ms-range: {range:4194304}'
    mib_a_second $(($(date +%s%N) - began)) >>"$work/download"
}

# rados_bench MODE FILE: the same objects, as many at a time.
rados_bench() {
    # shellcheck disable=SC2046
    rados -c "$work/cluster/ceph/ceph.conf" -p lazuli -N bench bench "$seconds" "$1" -t 16 $([ "$1" = write ] && echo '-b 4194304 --no-cleanup') \
        2>/dev/null | sed -n 's/^Bandwidth (MB\/sec): *//p' >>"$work/$2"
}

# compared WHAT OURS THEIRS: every round, and the median of their ratios.
compared() {
    paste -d ' ' "$work/$2" "$work/$3" | awk '{ printf "%.2f %.0f %.0f\n", $1 / $2, $1, $2 }' | sort -n | awk -v what="$1" '
        { ratio[NR] = $1; all = all sprintf(" %s (%s, %s)", $1, $2, $3) }
        END { printf "%s: median %.2f; rounds by ratio, MiB/s:%s\n", what, ratio[int((NR + 1) / 2)], all }'
}

# Extents are objects of 4 MiB and some checksums, so `rados bench` has objects of 4 MiB, and 16 at a time as the client has.
# By turns, because the machine has good and bad minutes. The first round makes everything warm, and is not counted.
part_bulk() {
    titles '1 GiB up and down beside rados bench on the same pool'
    fresh
    gateway $port
    once $port --op 'PUT /devstoreaccount1/bench?restype=container'
    for round in $(seq 0 "${BENCH_ROUNDS:-5}"); do
        upload
        rados_bench write rados-write
        download
        rados_bench seq rados-seq
        rados -c "$work/cluster/ceph/ceph.conf" -p lazuli -N bench cleanup >/dev/null 2>&1 || true
        [ "$round" -gt 0 ] || rm -f "$work/upload" "$work/download" "$work/rados-write" "$work/rados-seq"
    done
    stop
    echo
    compared 'upload beside rados bench write' upload rados-write
    compared 'download beside rados bench seq' download rados-seq
}

# scale_row SHARDS GATEWAYS WHAT ARGS...: a load generator for each gateway, each in a container of its own.
scale_row() {
    shards=$1 count=$2 what=$3 n=0 loads=
    shift 3
    for one in $pids; do
        n=$((n + 1))
        "$load" --url "http://127.0.0.1:$((port + 10 * n))" --account devstoreaccount1 --key "$key" --pid "$one" \
            --header 'x-ms-version: 2024-11-04' --seconds "$seconds" --connections 32 --name "$what, $shards shards, $count gateways: gateway $n" \
            --op "$what /devstoreaccount1/bench$n/k{key}" "$@" &
        loads="$loads $!"
    done
    # shellcheck disable=SC2086
    wait $loads
}

# They all share the cores, so the rate shows little and CPU per request all.
part_scale() {
    titles 'PUT and GET 4 KiB with 1, 2 and 4 gateways on 1 and 2 shards, 32 connections for each gateway'
    for shards in 1 2; do
        for count in 1 2 4; do
            fresh "$shards"
            for n in $(seq "$count"); do
                gateway $((port + 10 * n))
                once $((port + 10 * n)) --op "PUT /devstoreaccount1/bench$n?restype=container"
            done
            scale_row "$shards" "$count" PUT --keys 1000 --in-order --header 'x-ms-blob-type: BlockBlob' --body-bytes 4096
            scale_row "$shards" "$count" GET --keys 1000
            stop
        done
    done
}

up=$(test/cluster/up "$work/cluster" --shards 2)
eval "$up"
for part in $parts; do "part_$part"; done
