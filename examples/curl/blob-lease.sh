#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A lease locks a blob: Bob is kept out until Ann is done, or gone.
set -eu
. "$(dirname "$0")/azure.sh"

container=$(new_name lease)
azure blob PUT "/$container?restype=container" -H 'Content-Length: 0'
write() {
    text=$1
    shift
    azure blob PUT "/$container/stock" -H 'x-ms-blob-type: BlockBlob' --data-binary "$text" "$@"
}
# lease ACTION [CURL ARGUMENTS]
lease() {
    action=$1
    shift
    azure blob PUT "/$container/stock?comp=lease" -H "x-ms-lease-action: $action" -H 'Content-Length: 0' "$@"
}

# The problem: Ann has read 10 and takes 3; Bob took 5 meanwhile.
write 10
write 5
write 7
azure blob GET "/$container/stock"
expect '10 - 5 - 3 without a lock' "$body" 7

# The cure: Ann locks first.
write 10
lease acquire -H 'x-ms-lease-duration: 15'
expect 'Ann acquires the lease' "$status" 201
id=$(header x-ms-lease-id)
write 5
expect 'Bob writes' "$status $code" '412 LeaseIdMissing'
lease acquire -H 'x-ms-lease-duration: 15'
expect 'Bob wants the lease' "$status $code" '409 LeaseAlreadyPresent'
write 7 -H "x-ms-lease-id: $id"
expect 'Ann writes with the id' "$status" 201

# A holder who is gone: the lease ends by itself.
let_pass 16
write 0 -H "x-ms-lease-id: $id"
expect 'Ann writes after her lease has ended' "$status $code" '412 LeaseLost'
lease acquire -H 'x-ms-lease-duration: 15'
expect 'Bob acquires the lease' "$status" 201
