#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One file by two protocols: the last writer wins, and a lease taken over REST keeps SMB writers out. SMB_PORT is the server's
# port for SMB, 10445 unless it is set.
set -eu
. "$(dirname "$0")/azure.sh"

share=$(new_name share)
azure file PUT "/$share?restype=share" -H 'Content-Length: 0'

# rest_write TEXT [CURL ARGUMENTS]: the whole file of five bytes
rest_write() {
    text=$1
    shift
    azure file PUT "/$share/note.txt?comp=range" -H 'x-ms-write: update' -H 'x-ms-range: bytes=0-4' --data-binary "$text" "$@"
}
# lease ACTION [CURL ARGUMENTS]
lease() {
    action=$1
    shift
    azure file PUT "/$share/note.txt?comp=lease" -H 'Content-Length: 0' -H "x-ms-lease-action: $action" "$@"
}
smb() {
    smbclient "//127.0.0.1/$share" -p "${SMB_PORT:-10445}" -U "AZURE\\$ACCOUNT%$KEY" -c "$1" 2>&1
}
smb_write() {
    printf '%s' "$1" >"$work/note"
    smb "put $work/note note.txt" || true
}

# The problem: REST and SMB write the same file, and neither is told of the other.
azure file PUT "/$share/note.txt" -H 'x-ms-type: file' -H 'x-ms-content-length: 5' -H 'Content-Length: 0'
rest_write 'rest1'
smb_write 'smb-1' >/dev/null
azure file GET "/$share/note.txt"
expect 'what REST reads after SMB wrote' "$body" smb-1
rest_write 'rest2'
smb "get note.txt $work/back" >/dev/null
expect 'what SMB reads after REST wrote' "$(cat "$work/back")" rest2

# The cure: a lease.
lease acquire -H 'x-ms-lease-duration: -1'
expect 'the lease over REST' "$status" 201
id=$(header x-ms-lease-id)
expect 'SMB writes while the file is leased' "$(smb_write 'smb-2' | grep -o 'NT_STATUS[A-Z_]*')" NT_STATUS_SHARING_VIOLATION
rest_write 'rest3' -H "x-ms-lease-id: $id"
expect 'the holder writes' "$status" 201
lease release -H "x-ms-lease-id: $id"
smb_write 'smb-3' >/dev/null
azure file GET "/$share/note.txt"
expect 'SMB writes after the release' "$body" smb-3
azure file DELETE "/$share?restype=share"
