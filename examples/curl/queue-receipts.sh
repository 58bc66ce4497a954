#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A consumer that takes too long: its message goes to another one, and its delete is refused.
set -eu
. "$(dirname "$0")/azure.sh"

queue=$(new_name work)
azure queue PUT "/$queue" -H 'Content-Length: 0'
field() {
    printf '%s' "$body" | sed -n "s,.*<$1>\(.*\)</$1>.*,\1,p" | escape
}
put() {
    azure queue POST "/$queue/messages" -H 'Content-Type: application/xml' \
        --data-binary '<QueueMessage><MessageText>work</MessageText></QueueMessage>'
}

# The problem: Ann's work takes longer than her 5 seconds.
put
azure queue GET "/$queue/messages?visibilitytimeout=5"
id=$(field MessageId)
anns=$(field PopReceipt)
let_pass 6
azure queue GET "/$queue/messages?visibilitytimeout=30"
expect 'Bob gets the same message' "$(field MessageId)" "$id"
bobs=$(field PopReceipt)
azure queue DELETE "/$queue/messages/$id?popreceipt=$anns"
expect "Ann's delete" "$status $code" '400 PopReceiptMismatch'
azure queue DELETE "/$queue/messages/$id?popreceipt=$bobs"
expect "Bob's delete" "$status" 204

# The cure: a timeout that is longer than the work.
put
azure queue GET "/$queue/messages?visibilitytimeout=300"
id=$(field MessageId)
mine=$(field PopReceipt)
let_pass 12
azure queue GET "/$queue/messages?visibilitytimeout=5"
expect 'another consumer finds' "$(field MessageId)" ''
azure queue DELETE "/$queue/messages/$id?popreceipt=$mine"
expect 'the delete' "$status" 204
