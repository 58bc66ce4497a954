#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two clients change one entity: an upsert loses an update, If-Match does not.
set -eu
. "$(dirname "$0")/azure.sh"

table=$(new_name People)
entity="/$table(PartitionKey='p',RowKey='stock')"
# request METHOD PATH [JSON [CURL ARGUMENTS]]
request() {
    method=$1
    path=$2
    json=${3:-}
    shift "$(($# < 3 ? $# : 3))"
    azure table "$method" "$path" -H 'Content-Type: application/json' -H 'Accept: application/json;odata=minimalmetadata' \
        --data-binary "$json" "$@"
}
count() {
    request GET "$entity"
    printf '%s' "$body" | sed -n 's/.*"Count":\([0-9]*\).*/\1/p'
}
request POST /Tables "{\"TableName\":\"$table\"}"

# The problem: both have read 10; upserts are never checked.
request PUT "$entity" '{"Count":10}'
request PUT "$entity" '{"Count":5}'
request PUT "$entity" '{"Count":7}'
expect '10 - 5 - 3 with upserts' "$(count)" 7

# The cure: If-Match, and a second try.
request PUT "$entity" '{"Count":10}'
seen=$etag
request PUT "$entity" '{"Count":5}' -H "If-Match: $seen"
expect 'Bob updates' "$status" 204
bobs=$etag
request PUT "$entity" '{"Count":7}' -H "If-Match: $seen"
expect 'Ann updates with the ETag from before' "$status $code" '412 UpdateConditionNotSatisfied'
request PUT "$entity" '{"Count":2}' -H "If-Match: $bobs"
expect 'Ann reads again and updates' "$status" 204
expect '10 - 5 - 3 with If-Match' "$(count)" 2
