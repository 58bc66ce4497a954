#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A container: last writer wins for its metadata, If-Match is refused, and a lease guards its deletion.
set -eu
. "$(dirname "$0")/azure.sh"

name=$(new_name container)
# container METHOD MORE_QUERY [CURL ARGUMENTS]
container() {
    method=$1
    query=$2
    shift 2
    azure blob "$method" "/$name?restype=container$query" -H 'Content-Length: 0' "$@"
}

# The problem: each writer replaces all metadata, and ETags are not taken.
container PUT ''
old=$etag
container PUT '&comp=metadata' -H 'x-ms-meta-owner: ann'
container PUT '&comp=metadata' -H 'x-ms-meta-project: bobs'
container GET ''
expect 'the owner that Ann set' "$(header x-ms-meta-owner)" ''
container PUT '&comp=metadata' -H 'x-ms-meta-a: b' -H "If-Match: $old"
expect 'Set Container Metadata with If-Match' "$status $code" '400 ConditionHeadersNotSupported'

# The cure: a lease.
container PUT '&comp=lease' -H 'x-ms-lease-action: acquire' -H 'x-ms-lease-duration: -1'
expect 'Ann leases the container' "$status" 201
id=$(header x-ms-lease-id)
container DELETE ''
expect 'Bob deletes it' "$status $code" '412 LeaseIdMissing'
azure blob PUT "/$name/blob" -H 'x-ms-blob-type: BlockBlob' --data-binary x
expect 'Bob writes a blob, which the lease does not guard' "$status" 201
container DELETE '' -H "x-ms-lease-id: $id"
expect 'Ann deletes it' "$status" 202
