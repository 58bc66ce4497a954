#!/bin/sh
# `make bench`: every measurement of bench/README.md, one table. Compare ratios and CPU per operation; rates depend on the machine.
#   sh bench/run.sh            all parts
#   sh bench/run.sh blob list  some of them; `bounds` (BENCH_ROWS, 1000000) and `datalake` (BENCH_ROUNDS, BENCH_FILES) only when it is asked for
# BENCH_FLAGS: more flags for the server. BENCH_SECONDS (4) per row, BENCH_BLOBS (1000000) for the large container, BENCH_DATA: where the
# store goes (a new folder in /tmp).
set -eu
cd "$(dirname "$0")/.."
seconds=${BENCH_SECONDS:-4}
blobs=${BENCH_BLOBS:-1000000}
data=${BENCH_DATA:-$(mktemp -d /tmp/lazuli-bench-XXXXXX)}
load=build/release/bench_load
key='Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=='
account=/devstoreaccount1
blob_port=${BENCH_PORT:-21800} nginx_port=21804
queue_port=$((blob_port + 1)) table_port=$((blob_port + 2)) file_port=$((blob_port + 3))
pid= nginx_pid= pin=
trap 'stop; [ -z "$nginx_pid" ] || kill "$nginx_pid"; rm -rf "$data"' EXIT INT TERM

start() {
    $pin build/lazuli --data "$data/store" --blob-port $blob_port --queue-port $queue_port --table-port $table_port \
        --file-port $file_port --smb-port off --silent ${BENCH_FLAGS:-} 2>"$data/server.log" &
    pid=$!
    for _ in $(seq 200); do
        curl -s -o /dev/null "http://127.0.0.1:$blob_port$account?comp=list" && return
        sleep 0.01
    done
    echo "the server does not answer" >&2
    exit 1
}

stop() {
    [ -z "$pid" ] || { kill "$pid" 2>/dev/null || true; wait "$pid" 2>/dev/null || true; }
    pid=
}

# row PORT NAME ARGS...: one line of the table.
row() {
    port=$1 name=$2
    shift 2
    $load --url "http://127.0.0.1:$port" --account devstoreaccount1 --key "$key" --pid "$pid" \
        --header 'x-ms-version: 2024-11-04' --seconds "$seconds" --name "$name" "$@"
}

# once PORT ARGS...: one request that prepares something.
once() {
    port=$1
    shift
    row "$port" prepare --connections 1 --requests 1 --warm-up 0 "$@" >/dev/null
}

titles() {
    echo '| what | connections | requests | errors | requests/s | p50 ms | p99 ms | in MB/s | out MB/s | server CPU µs |'
    echo '|---|---|---|---|---|---|---|---|---|---|'
}

say() {
    printf '\n%s\n\n' "$*"
}

part_blob() {
    say "## Blobs, full durability, 64 connections"
    once $blob_port --op "PUT $account/bench?restype=container"
    titles
    row $blob_port 'Put Blob 4 KiB' --op "PUT $account/bench/k{key}" --header 'x-ms-blob-type: BlockBlob' --body-bytes 4096
    once $blob_port --requests 1000 --in-order --connections 8 --op "PUT $account/bench/k{key}" --header 'x-ms-blob-type: BlockBlob' --body-bytes 4096
    row $blob_port 'Get Blob 4 KiB' --op "GET $account/bench/k{key}"
    row $blob_port 'Put Blob 8 MiB' --connections 8 --keys 16 --op "PUT $account/bench/e{key}" --header 'x-ms-blob-type: BlockBlob' --body-bytes 8388608
    once $blob_port --op "PUT $account/bench/m" --header 'x-ms-blob-type: BlockBlob' --body-bytes 1048576
    row $blob_port 'Get Blob 1 MiB' --op "GET $account/bench/m"
    once $blob_port --op "PUT $account/bench/a" --header 'x-ms-blob-type: AppendBlob'
    row $blob_port 'Append Block 4 KiB' --warm-up 0 --requests 40000 --op "PUT $account/bench/a?comp=appendblock" --body-bytes 4096
    say "dd conv=fdatasync of 8 MiB pieces on the same file system:"
    dd if=/dev/zero of="$data/dd" bs=8M count=64 conv=fdatasync 2>&1 | tail -n 1
    rm -f "$data/dd"
}

# Pages of one blob of 1 GiB, at random; then what the ranges of a sparse blob of 1 TiB cost.
part_page() {
    say "## Page blobs"
    once $blob_port --op "PUT $account/page?restype=container"
    once $blob_port --op "PUT $account/page/p" --header 'x-ms-blob-type: PageBlob' --header 'x-ms-blob-content-length: 1073741824'
    titles
    row $blob_port 'Put Page 4 KiB' --keys 65536 --op "PUT $account/page/p?comp=page" --header 'x-ms-page-write: update' \
        --header 'x-ms-range: {range:4096}' --body-bytes 4096
    row $blob_port 'Put Page 4 MiB' --connections 8 --keys 256 --op "PUT $account/page/p?comp=page" --header 'x-ms-page-write: update' \
        --header 'x-ms-range: {range:4194304}' --body-bytes 4194304
    say "Ranges of a blob of 1 TiB, whole and since a snapshot; pages scattered before and after it:"
    build/release/bench_page_diff
}

# Find Blobs by Tags among many: all have the one tag, each has a value of its own of the other.
part_tags() {
    say "## Find Blobs by Tags, $blobs tagged blobs"
    once $blob_port --op "PUT $account/tags?restype=container"
    once $blob_port --requests "$blobs" --keys "$blobs" --in-order --connections 64 --seconds 3600 --op "PUT $account/tags/k{key}" \
        --header 'x-ms-blob-type: BlockBlob' --header 'x-ms-tags: kind=all&n={key}' --body-bytes 16
    titles
    find="GET $account/?comp=blobs&maxresults=100&where="
    row $blob_port 'one tag, a page of 100' --connections 8 --op "$find%22kind%22%20%3D%20%27all%27"
    row $blob_port 'a range of the other, a page of 100' --connections 8 --op "$find%22n%22%20%3E%20%2700{key}%27"
    row $blob_port 'both, a page of 100' --connections 8 --op "$find%22kind%22%20%3D%20%27all%27%20AND%20%22n%22%20%3E%3D%20%27{key}%27"
    row $blob_port 'one value, one blob' --connections 8 --op "$find%22n%22%20%3D%20%27{key}%27"
}

# A copy within the server names the same data: its cost does not depend on the bytes.
part_copy() {
    say "## Copies of 1 GiB within the server"
    once $blob_port --op "PUT $account/copies?restype=container"
    once $blob_port --op "PUT $account/elsewhere?restype=container"
    once $blob_port --seconds 600 --op "PUT $account/copies/gib" --header 'x-ms-blob-type: BlockBlob' --body-bytes 1073741824
    once $blob_port --op "PUT $account/copies/disk" --header 'x-ms-blob-type: PageBlob' --header 'x-ms-blob-content-length: 1073741824'
    once $blob_port --requests 256 --connections 4 --keys 256 --in-order --seconds 600 --op "PUT $account/copies/disk?comp=page" \
        --header 'x-ms-page-write: update' --header 'x-ms-range: {range:4194304}' --body-bytes 4194304
    from="http://127.0.0.1:$blob_port$account/copies"
    titles
    row $blob_port 'Copy Blob, same container' --connections 1 --keys 100 --op "PUT $account/copies/c{key}" --header "x-ms-copy-source: $from/gib"
    row $blob_port 'Copy Blob, another container' --connections 1 --keys 100 --op "PUT $account/elsewhere/c{key}" --header "x-ms-copy-source: $from/gib"
    row $blob_port 'Copy Blob of pages' --connections 1 --keys 100 --op "PUT $account/copies/p{key}" --header "x-ms-copy-source: $from/disk"
}

# The same bytes by nginx with sendfile, for the ratio of CPU per request.
part_nginx() {
    command -v nginx >/dev/null || { say "(nginx is not installed: no comparison)"; return; }
    say "## Get 1 MiB beside nginx"
    mkdir -p "$data/www"
    dd if=/dev/urandom of="$data/www/m" bs=1M count=1 2>/dev/null
    cat >"$data/nginx.conf" <<NGINX
user root; daemon off; worker_processes 1; pid $data/nginx.pid; error_log $data/nginx.log;
events { worker_connections 256; }
http { access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000; client_body_temp_path $data/b;
proxy_temp_path $data/p; fastcgi_temp_path $data/f; uwsgi_temp_path $data/u; scgi_temp_path $data/s;
server { listen 127.0.0.1:$nginx_port; root $data/www; } }
NGINX
    nginx -c "$data/nginx.conf" -p "$data" &
    nginx_pid=$!
    sleep 1
    titles
    $load --url http://127.0.0.1:$nginx_port --pid "$(pgrep -P $nginx_pid)" --seconds "$seconds" --name 'nginx, 1 MiB' --op 'GET /m'
    kill $nginx_pid
    wait $nginx_pid 2>/dev/null || true
    nginx_pid=
    row $blob_port 'Get Blob 1 MiB' --op "GET $account/bench/m"
}

part_list() {
    say "## List Blobs of 5,000"
    once $blob_port --op "PUT $account/list?restype=container"
    once $blob_port --requests 5000 --keys 5000 --in-order --connections 64 --op "PUT $account/list/k{key}" --header 'x-ms-blob-type: BlockBlob' --body-bytes 100
    titles
    row $blob_port 'List Blobs, 5,000' --connections 4 --op "GET $account/list?restype=container&comp=list"
}

part_queue() {
    say "## Queues"
    once $queue_port --op "PUT $account/bench"
    titles
    row $queue_port 'Get Messages, empty' --op "GET $account/bench/messages"
    row $queue_port 'Put Message 1 KiB' --op "POST $account/bench/messages" \
        --body "<QueueMessage><MessageText>$(head -c 768 /dev/zero | base64 -w0)</MessageText></QueueMessage>"
    row $queue_port 'Get Messages' --op "GET $account/bench/messages?visibilitytimeout=600"
    say "Each by itself, then all three by each connection (1 KiB texts, an account SAS):"
    build/release/bench_queue_cycle $queue_port $pid ${BENCH_MESSAGES:-500}
    say "The same with a core each for server and generator:"
    stop
    pin='taskset -c 0'
    start
    taskset -c 1 build/release/bench_queue_cycle $queue_port $pid ${BENCH_MESSAGES:-500}
    stop
    pin=
    start
    say "The service alone over the engine: does the head stay cheap? (10000000 1000000 for the whole question)"
    build/release/bench_queue_head ${BENCH_QUEUE:-200000 100000}
}

# A change set of 100 inserts; {seq} makes each batch's keys its own.
table_batch() {
    printf -- '--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n'
    for i in $(seq 100); do
        printf -- '--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n'
        printf 'POST http://127.0.0.1:%s%s/%s HTTP/1.1\r\nContent-Type: application/json\r\n' $table_port $account "$1"
        printf 'Prefer: return-no-content\r\n\r\n'
        printf '{"PartitionKey":"%s","RowKey":"{seq}x%s","Name":"value","Count":7,"Flag":true,"Price":1.5}\r\n' "$2" "$i"
    done
    printf -- '--c--\r\n--b--\r\n'
}

part_table() {
    say "## Tables (a query's CPU is that of all the rows it looks at)"
    for table in bench scan; do
        once $table_port --table --op "POST $account/Tables" --header 'Content-Type: application/json' --header 'Accept: application/json;odata=nometadata' --body "{\"TableName\":\"$table\"}"
    done
    titles
    row $table_port 'Insert Entity' --table --op "POST $account/bench" --header 'Content-Type: application/json' \
        --header 'Accept: application/json;odata=nometadata' --header 'Prefer: return-no-content' \
        --body '{"PartitionKey":"p","RowKey":"{seq}","Name":"value","Count":7,"Flag":true,"Price":1.5}'
    once $table_port --table --requests 1000 --in-order --connections 8 --op "PUT $account/bench(PartitionKey='p',RowKey='k{key}')" \
        --header 'Content-Type: application/json' --body '{"Name":"value","Count":7,"Flag":true,"Price":1.5}'
    row $table_port 'Get Entity' --table --op "GET $account/bench(PartitionKey='p',RowKey='k{key}')" --header 'Accept: application/json;odata=nometadata'
    row $table_port 'Merge Entity' --table --op "PATCH $account/bench(PartitionKey='p',RowKey='k{key}')" --header 'Content-Type: application/json' --body '{"Count":8}'
    row $table_port 'batch of 100 inserts, one partition' --table --connections 16 --op "POST $account/\$batch" \
        --header 'Content-Type: multipart/mixed; boundary=b' --body "$(table_batch bench b)"
    once $table_port --table --requests 2000 --connections 8 --seconds 600 --op "POST $account/\$batch" \
        --header 'Content-Type: multipart/mixed; boundary=b' --body "$(table_batch scan 'p{seq}')"
    row $table_port 'query of 100 rows by PartitionKey' --table --op "GET $account/bench()?\$filter=PartitionKey%20eq%20'b'&\$top=100" --header 'Accept: application/json;odata=nometadata'
    row $table_port 'query over 200,000 rows, nothing found' --table --connections 2 --op "GET $account/scan()?\$filter=Count%20eq%208" --header 'Accept: application/json;odata=nometadata'
}

# rows TABLE COUNT: fills a table with so many entities of one partition.
rows() {
    once $table_port --table --op "POST $account/Tables" --header 'Content-Type: application/json' --header 'Accept: application/json;odata=nometadata' --body "{\"TableName\":\"$1\"}"
    once $table_port --table --requests $(($2 / 100)) --connections 16 --seconds 3600 --op "POST $account/\$batch" \
        --header 'Content-Type: multipart/mixed; boundary=b' --body "$(table_batch "$1" b)"
}

# select TABLE NAME FROM TO: the entities between two row keys.
select() {
    row $table_port "$2" --table --connections 8 --op "GET $account/$1()?\$filter=PartitionKey%20eq%20'b'%20and%20RowKey%20ge%20'$3'%20and%20RowKey%20lt%20'$4'" \
        --header 'Accept: application/json;odata=nometadata'
}

resident() {
    awk '/VmRSS/ {print $2}' /proc/"$pid"/status
}

# Does a query cost what its bounds select, and not what there is? And what does a scan of all of it need in memory?
part_bounds() {
    many=${BENCH_ROWS:-1000000}
    say "## Queries of 1,000 entities out of 10,000 and out of $many, and a scan of all"
    rows few 10000
    begun=$(date +%s%N)
    rows many "$many"
    echo "$many entities in $((($(date +%s%N) - begun) / 1000000)) ms"
    titles
    for round in 1 2 3; do
        select few "1,000 of 10,000, $round" 00000010 00000020
        select many "1,000 of $many, $round" 00000500 00000510
    done
    for round in first second; do # the first fills the caches
        before=$(resident) most=0
        row $table_port "scan of $many, nothing found" --table --connections 1 --op "GET $account/many()?\$filter=Count%20eq%208" --header 'Accept: application/json;odata=nometadata' &
        scanning=$!
        while kill -0 $scanning 2>/dev/null; do
            now=$(resident)
            [ "$now" -le "$most" ] || most=$now
            sleep 0.2
        done
        echo "memory, $round scan: $before KiB before, $most KiB at most"
    done
}

# Costs in a large container against a small one, and the time to start with it.
part_large() {
    say "## $blobs blobs in a container"
    once $blob_port --op "PUT $account/small?restype=container"
    once $blob_port --op "PUT $account/large?restype=container"
    once $blob_port --requests 1000 --keys 1000 --in-order --connections 64 --op "PUT $account/small/k{key}" --header 'x-ms-blob-type: BlockBlob' --body-bytes 1024
    once $blob_port --requests "$blobs" --keys "$blobs" --in-order --connections 64 --seconds 3600 --op "PUT $account/large/k{key}" --header 'x-ms-blob-type: BlockBlob' --body-bytes 1024
    titles
    row $blob_port 'Put 1 KiB, 1,000 blobs' --keys 1000 --op "PUT $account/small/k{key}" --header 'x-ms-blob-type: BlockBlob' --body-bytes 1024
    row $blob_port "Put 1 KiB, $blobs blobs" --keys "$blobs" --op "PUT $account/large/k{key}" --header 'x-ms-blob-type: BlockBlob' --body-bytes 1024
    row $blob_port 'Get 1 KiB, 1,000 blobs' --keys 1000 --op "GET $account/small/k{key}"
    row $blob_port "Get 1 KiB, $blobs blobs" --keys "$blobs" --op "GET $account/large/k{key}"
    stop
    begun=$(date +%s%N)
    start
    say "start to first answer with these: $((($(date +%s%N) - begun) / 1000000)) ms"
}

part_memory() {
    stop
    rm -rf "$data/store"
    start
    say "## Memory"
    echo "idle: $(awk '/VmRSS/ {print $2}' /proc/"$pid"/status) KiB"
    once $blob_port --op "PUT $account/bench?restype=container"
    row $blob_port 'upload' --connections 64 --requests 64 --warm-up 0 --seconds 600 --keys 64 --in-order \
        --op "PUT $account/bench/u{key}" --header 'x-ms-blob-type: BlockBlob' --body-bytes $((${BENCH_UPLOAD_MIB:-64} << 20)) >/dev/null &
    uploading=$!
    most=0
    while kill -0 $uploading 2>/dev/null; do
        now=$(awk '/VmRSS/ {print $2}' /proc/"$pid"/status)
        [ "$now" -le "$most" ] || most=$now
        sleep 0.2
    done
    echo "64 clients uploading ${BENCH_UPLOAD_MIB:-64} MiB each: $most KiB at most"
}

# Data Lake beside our own blob service: an account with a hierarchical namespace and a flat one, by turns.
lake() {
    name=$1
    shift
    $load --url "http://127.0.0.1:$blob_port" --account lake --key "$key" --pid "$pid" --header 'x-ms-version: 2024-11-04' --seconds "$seconds" --name "$name" "$@"
}

lake_once() {
    lake prepare --connections 1 --requests 1 --warm-up 0 "$@" >/dev/null
}

# CPU time of the server so far, in ms.
cpu_ms() {
    awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print int(($12 + $13) * 1000 / hz) }' /proc/"$pid"/stat
}

# files NAME HOW: 20,000 new files, made by the function, and what each cost. Each connection does all requests to one file, then to the next.
files() {
    files_name=$1 how=$2 before=$(cpu_ms)
    all="--warm-up 0 --keys 20000 --in-order --in-turn --seconds 600"
    "$how" "$files_name${round}k{key}" >"$data/files"
    awk -F'|' '{ wrong += $5; sum += $4 } END { if (wrong > 0 || sum < 20000) { print "requests failed:", wrong, "of", sum; exit 1 } }' "$data/files"
    awk -v ms=$(($(cpu_ms) - before)) -v name="$files_name, $round" 'BEGIN { printf "| %s | %.1f |\n", name, ms / 20 }'
}

put_blobs() {
    row $blob_port put $all --requests 20000 --op "PUT $account/flat/$1" --header 'x-ms-blob-type: BlockBlob' --body-bytes 4096
}

write_in_two() {
    lake 'create, append' $all --requests 40000 --op "PUT /lake/tree/$1?resource=file" --body-bytes 0 \
        --op "PATCH /lake/tree/$1?action=append&position=0&flush=true&close=true" --body-bytes 4096
}

write_in_three() {
    lake 'create, append, flush' $all --requests 60000 --op "PUT /lake/tree/$1?resource=file" --body-bytes 0 \
        --op "PATCH /lake/tree/$1?action=append&position=0" --body-bytes 4096 \
        --op "PATCH /lake/tree/$1?action=flush&position=4096&close=true" --body-bytes 0
}

part_datalake() {
    rounds=${BENCH_ROUNDS:-5}
    say "## Data Lake, by turns with the blob service"
    stop
    printf 'devstoreaccount1:%s\nlake:%s\n' "$key" "$key" >"$data/accounts"
    BENCH_FLAGS="${BENCH_FLAGS:-} --dfs-port off --accounts $data/accounts --hns lake"
    start
    once $blob_port --op "PUT $account/flat?restype=container"
    lake_once --op 'PUT /lake/tree?resource=filesystem'
    say '| 4 KiB, 64 connections | CPU µs a file |'
    echo '|---|---|'
    for round in $(seq "$rounds"); do
        files put put_blobs
        files create-append-with-flush write_in_two
        files create-append-flush write_in_three
    done
    titles
    for round in $(seq "$rounds"); do
        row $blob_port "Get Blob 4 KiB, $round" --keys 2000 --op "GET $account/flat/put1k{key}"
        lake "Read Path 4 KiB, $round" --keys 2000 --op 'GET /lake/tree/create-append-flush1k{key}?resource='
        lake "Get Blob 4 KiB of it, $round" --keys 2000 --op 'GET /lake/tree/create-append-flush1k{key}'
    done
    datalake_list
    datalake_depth
    datalake_rename
}

datalake_list() {
    lake_once --op 'PUT /lake/list?resource=filesystem'
    once $blob_port --op "PUT $account/list?restype=container"
    lake_once --requests 5000 --keys 5000 --in-order --seconds 600 --connections 64 --op 'PUT /lake/list/k{key}?resource=file' --body-bytes 0
    once $blob_port --requests 5000 --keys 5000 --in-order --seconds 600 --connections 64 --op "PUT $account/list/k{key}" --header 'x-ms-blob-type: BlockBlob' --body-bytes 0
    for round in $(seq "$rounds"); do
        row $blob_port "List Blobs, 5,000, $round" --connections 4 --op "GET $account/list?restype=container&comp=list"
        lake "List Paths, 5,000, $round" --connections 4 --op 'GET /lake/list?resource=filesystem&recursive=true'
    done
}

datalake_depth() {
    deep=$(printf 'd/%.0s' $(seq 59))
    lake_once --op "PUT /lake/tree/${deep}f?resource=file" --body-bytes 0
    lake_once --op "PUT /lake/tree/f?resource=file" --body-bytes 0
    for round in $(seq "$rounds"); do
        for path in f "${deep}f"; do
            lake "read, $((${#path} / 2 + 1)) deep, $round" --op "GET /lake/tree/$path"
            lake "create, $((${#path} / 2 + 1)) deep, $round" --op "PUT /lake/tree/$path?resource=file" --body-bytes 0
            lake "append and flush, $((${#path} / 2 + 1)) deep, $round" --op "PATCH /lake/tree/$path?action=append&position=0&flush=true" --body-bytes 4096
        done
    done
}

# A directory with one file and one with many, renamed there and back, by turns.
datalake_rename() {
    many=${BENCH_FILES:-1000000}
    lake_once --op 'PUT /lake/dirs?resource=filesystem'
    lake_once --op 'PUT /lake/dirs/one/k?resource=file' --body-bytes 0
    lake_once --requests "$many" --keys "$many" --in-order --connections 64 --seconds 3600 --op 'PUT /lake/dirs/many/k{key}?resource=file' --body-bytes 0
    say "| 100 renames of a directory, one after the other | files in it | CPU ms | ms in all |"
    echo '|---|---|---|---|'
    for round in $(seq "$rounds"); do
        for which in one many; do
            before=$(cpu_ms) begun=$(date +%s%N)
            for _ in $(seq 50); do
                lake_once --op "PUT /lake/dirs/moved-$which?mode=legacy" --header "x-ms-rename-source: /dirs/$which" --body-bytes 0
                lake_once --op "PUT /lake/dirs/$which?mode=legacy" --header "x-ms-rename-source: /dirs/moved-$which" --body-bytes 0
            done
            echo "| $round | $which | $(($(cpu_ms) - before)) | $((($(date +%s%N) - begun) / 1000000)) |"
        done
    done
    lake "delete of a directory with $many files" --connections 1 --requests 1 --warm-up 0 --op 'DELETE /lake/dirs/many?recursive=true'
}

# Ranges of files. {range:N} is the key's own N bytes of the file.
part_file() {
    say "## Files, full durability, 64 connections"
    once $file_port --op "PUT $account/bench?restype=share"
    once $file_port --op "PUT $account/bench/f" --header 'x-ms-type: file' --header 'x-ms-content-length: 1073741824'
    titles
    row $file_port 'Put Range 4 KiB' --op "PUT $account/bench/f?comp=range" --header 'x-ms-write: update' --header 'x-ms-range: {range:4096}' --body-bytes 4096
    once $file_port --requests 1000 --in-order --connections 8 --op "PUT $account/bench/k{key}" --header 'x-ms-type: file' --header 'x-ms-content-length: 4096'
    once $file_port --requests 1000 --in-order --connections 8 --op "PUT $account/bench/k{key}?comp=range" --header 'x-ms-write: update' --header 'x-ms-range: bytes=0-4095' --body-bytes 4096
    row $file_port 'Get File 4 KiB' --op "GET $account/bench/k{key}"
    row $file_port 'Get File Properties' --op "HEAD $account/bench/k{key}"
    row $file_port 'Create File' --op "PUT $account/bench/c{seq}" --header 'x-ms-type: file' --header 'x-ms-content-length: 0'
    for connections in 1 8; do
        row $file_port 'Put Range 4 MiB' --connections $connections --keys 256 --op "PUT $account/bench/f?comp=range" --header 'x-ms-write: update' --header 'x-ms-range: {range:4194304}' --body-bytes 4194304
    done
    row $file_port 'Get File, ranges of 4 MiB' --connections 8 --keys 256 --op "GET $account/bench/f" --header 'x-ms-range: {range:4194304}'
    say "dd conv=fdatasync of 4 MiB pieces on the same file system:"
    dd if=/dev/zero of="$data/dd" bs=4M count=128 conv=fdatasync 2>&1 | tail -n 1
    rm -f "$data/dd"
}

# Does a rewrite of 4 KiB of a file of 10 GiB keep its cost while the file is written over and over? (BENCH_PAGES=262144
# BENCH_REWRITES=10: a file of 1 GiB until each page was written seven times. BENCH_FILLED=1: all of it is there before.)
part_rewrite() {
    pages=${BENCH_PAGES:-2621440}
    say "## Rewrites of 4 KiB at random in a file of $((pages / 256)) MiB, ${BENCH_REWRITES:-5} rows of 200,000"
    once $file_port --op "PUT $account/rewrite?restype=share"
    once $file_port --op "PUT $account/rewrite/f" --header 'x-ms-type: file' --header "x-ms-content-length: $((pages * 4096))"
    [ -z "${BENCH_FILLED:-}" ] || once $file_port --requests $((pages / 1024)) --keys $((pages / 1024)) --in-order --connections 8 --seconds 3600 \
        --op "PUT $account/rewrite/f?comp=range" --header 'x-ms-write: update' --header 'x-ms-range: {range:4194304}' --body-bytes 4194304
    titles
    for i in $(seq "${BENCH_REWRITES:-5}"); do
        row $file_port "rewrites, row $i" --warm-up 0 --seconds 600 --requests 200000 --keys $pages --op "PUT $account/rewrite/f?comp=range" --header 'x-ms-write: update' --header 'x-ms-range: {range:4096}' --body-bytes 4096
        echo "journal, rows and segments, MiB: $(du -sm "$data"/store/journal "$data"/store/rows "$data"/store/segments | cut -f1 | tr '\n' ' ')" >&2
    done
    row $file_port 'Get File 4 KiB of it' --keys $pages --op "GET $account/rewrite/f" --header 'x-ms-range: {range:4096}'
}

# A directory of a million files: its listing page by page, and the memory that takes.
part_directory() {
    files=${BENCH_FILES:-1000000}
    say "## A directory of $files files"
    once $file_port --op "PUT $account/directory?restype=share"
    once $file_port --requests "$files" --keys "$files" --in-order --connections 64 --seconds 3600 --op "PUT $account/directory/{key}" --header 'x-ms-type: file' --header 'x-ms-content-length: 0'
    titles
    row $file_port 'the first page of 5,000' --connections 4 --op "GET $account/directory?restype=directory&comp=list"
    row $file_port 'Create File there' --op "PUT $account/directory/n{seq}" --header 'x-ms-type: file' --header 'x-ms-content-length: 0'
    stop
    start
    echo "memory after a start: $(awk '/VmRSS/ {print $2}' /proc/"$pid"/status) KiB"
    titles
    row $file_port 'pages of 5,000 from anywhere' --warm-up 0 --connections 4 --keys "$files" --requests 400 --seconds 600 \
        --op "GET $account/directory?restype=directory&comp=list&marker={key64}"
    echo "memory after two million entries: $(awk '/VmRSS/ {print $2}' /proc/"$pid"/status) KiB"
    stop
    flags=${BENCH_FLAGS:-}
    BENCH_FLAGS="$flags --cache-mib 2"
    start
    for i in 1 2 3; do
        row $file_port "with a cache of 2 MiB, pass $i" --warm-up 0 --connections 4 --keys "$files" --requests 100 --seconds 600 \
            --op "GET $account/directory?restype=directory&comp=list&marker={key64}"
        echo "memory after it: $(awk '/VmRSS/ {print $2}' /proc/"$pid"/status) KiB"
    done
    BENCH_FLAGS=$flags
}

start
for part in ${*:-blob copy page tags nginx list queue table file rewrite directory large memory}; do "part_$part"; done
