#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two clients add one to a number in a blob: without conditions an addition is lost, with If-Match it is not.
set -eu
. "$(dirname "$0")/azure.sh"

container=$(new_name optimistic)
azure blob PUT "/$container?restype=container" -H 'Content-Length: 0'

# write NUMBER [CURL ARGUMENTS]
write() {
    number=$1
    shift
    azure blob PUT "/$container/counter" -H 'x-ms-blob-type: BlockBlob' --data-binary "$number" "$@"
}
read_counter() {
    azure blob GET "/$container/counter"
}

# The problem: last writer wins.
write 10
read_counter; ann=$body
read_counter; bob=$body
write $((ann + 1))
write $((bob + 1))
read_counter
expect '10 + 1 + 1 without a condition' "$body" 11

# The cure: write only if nobody has written since.
write 10
read_counter; ann=$body; anns_etag=$etag
read_counter; bob=$body; bobs_etag=$etag
write $((ann + 1)) -H "If-Match: $anns_etag"
expect "Ann's write" "$status" 201
write $((bob + 1)) -H "If-Match: $bobs_etag"
expect "Bob's write with his old ETag" "$status $code" '412 ConditionNotMet'
read_counter
write $((body + 1)) -H "If-Match: $etag"
read_counter
expect '10 + 1 + 1 with If-Match, after Bob read again' "$body" 12

# A cache asks whether its copy is still good.
azure blob GET "/$container/counter" -H "If-None-Match: $etag"
expect 'a read with the ETag of the copy' "$status" 304
azure blob DELETE "/$container?restype=container"
