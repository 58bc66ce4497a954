# For the scripts of this folder: a server with SMB on free ports and a separate data folder. smb_start [FLAGS],
# smb_share NAME, smb_stop. SMB_PORT, FILE_PORT, SMB_USER (for -U), SMB_KEY.
SMB_ACCOUNT=devstoreaccount1
SMB_KEY='Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=='
SMB_USER="AZURE\\$SMB_ACCOUNT%$SMB_KEY"
SMB_BIN=${LAZULI_BIN:-$PWD/build/lazuli}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

smb_start() {
    SMB_FOLDER=$(mktemp -d /tmp/lazuli-smb-XXXXXX)
    SMB_PORT=$(free_port)
    FILE_PORT=$(free_port)
    "$SMB_BIN" --data "$SMB_FOLDER/data" --blob-port off --queue-port off --table-port off --file-port "$FILE_PORT" \
        --smb-port "$SMB_PORT" --silent "$@" >"$SMB_FOLDER/log" 2>&1 &
    SMB_PID=$!
    for _ in $(seq 100); do
        (exec 3<>"/dev/tcp/127.0.0.1/$SMB_PORT") 2>/dev/null && return 0
        kill -0 $SMB_PID 2>/dev/null || break
        sleep 0.1
    done
    cat "$SMB_FOLDER/log"
    return 1
}

smb_share() {
    python3 test/smb/share.py "$FILE_PORT" create "$1" >/dev/null
}

# The server ends in good order; its status is returned (a sanitizer's report is not 0).
smb_stop() {
    [ -n "$SMB_PID" ] || return 0
    kill "$SMB_PID" 2>/dev/null
    wait "$SMB_PID"
    SMB_STATUS=$?
    [ $SMB_STATUS = 0 ] || { echo "the server ended with $SMB_STATUS:"; tail -60 "$SMB_FOLDER/log"; }
    SMB_PID=
    rm -rf "$SMB_FOLDER"
    return $SMB_STATUS
}
