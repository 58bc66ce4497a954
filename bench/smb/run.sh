#!/bin/sh
# Lazuli's SMB beside Samba's on the same machine, file system and client, in one run (not part of `make bench`: it
# installs Samba).
#   sh bench/smb/run.sh                     all rows
#   SMB_MIB=256 SMB_CALLS=5000 SMB_FILES=2000 sh bench/smb/run.sh
# Needs root for smbd. BENCH_DATA: where both keep their data (a new folder in /tmp).
set -eu
cd "$(dirname "$0")/../.."
mib=${SMB_MIB:-1024} calls=${SMB_CALLS:-20000} files=${SMB_FILES:-10000}
data=${BENCH_DATA:-$(mktemp -d /tmp/lazuli-bench-smb-XXXXXX)}
key='Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=='
file_port=21813 smb_port=21814 samba_port=21815
lazuli_pid= samba_pid=
trap 'for p in $lazuli_pid $samba_pid; do kill "$p" 2>/dev/null || true; done; wait; rm -rf "$data"' EXIT INT TERM

for package in samba libsmbclient-dev; do
    dpkg-query -W -f '${Status}' $package 2>/dev/null | grep -q 'ok installed' ||
        env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $package >/dev/null
done
make -s all build/release/bench_load
# shellcheck disable=SC2046
gcc -std=gnu17 -O2 -Wall -Wextra $(pkg-config --cflags smbclient) -o "$data/load" bench/smb/load.c $(pkg-config --libs smbclient)

start_samba() {
    mkdir -p "$data/samba/share" "$data/samba/run"
    cat >"$data/samba/smb.conf" <<CONF
[global]
workgroup = AZURE
smb ports = $samba_port
bind interfaces only = yes
interfaces = lo
private dir = $data/samba/run
lock directory = $data/samba/run
state directory = $data/samba/run
cache directory = $data/samba/run
pid directory = $data/samba/run
ncalrpc dir = $data/samba/run/rpc
log file = $data/samba/log
load printers = no
disable spoolss = yes
server min protocol = SMB2_10
[bench]
path = $data/samba/share
read only = no
CONF
    printf 'bench\nbench\n' | smbpasswd -c "$data/samba/smb.conf" -s -a root >/dev/null
    setsid smbd -s "$data/samba/smb.conf" --foreground --no-process-group >/dev/null 2>&1 &
    samba_pid=$!
}

start_lazuli() {
    build/lazuli --data "$data/store" --blob-port off --queue-port off --table-port off --file-port $file_port \
        --smb-port $smb_port --silent 2>"$data/lazuli.log" &
    lazuli_pid=$!
    for _ in $(seq 200); do
        curl -s -o /dev/null "http://127.0.0.1:$file_port/devstoreaccount1?comp=list" && break
        sleep 0.01
    done
    build/release/bench_load --url http://127.0.0.1:$file_port --account devstoreaccount1 --key "$key" \
        --header 'x-ms-version: 2024-11-04' --connections 1 --requests 1 --warm-up 0 --name prepare \
        --op 'PUT /devstoreaccount1/bench?restype=share' >/dev/null
}

# both OP COUNT NAME [CLIENTS]: the same of the one and of the other.
both() {
    for mode in plain encrypted; do
        "$data/load" smb://127.0.0.1/bench root bench $samba_port $mode $samba_pid "$3, Samba" "$1" "$2" ${4:-}
        "$data/load" smb://127.0.0.1/bench devstoreaccount1 "$key" $smb_port $mode $lazuli_pid "$3, Lazuli" "$1" "$2" ${4:-}
    done
}

start_samba
start_lazuli
sleep 1
echo '| what | | rate | server CPU µs a call |'
echo '|---|---|---|---|'
both write "$mib" "write of $mib MiB, 1 MiB a call"
both read "$mib" "read of $mib MiB, 1 MiB a call"
both randread "$calls" '4 KiB reads at random'
both randwrite "$calls" '4 KiB writes at random'
both files "$files" "create and remove of $files files"
