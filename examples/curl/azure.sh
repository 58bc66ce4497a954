# SPDX-License-Identifier: Apache-2.0
# To be sourced: plain curl against Azure Storage. One account SAS, made by openssl, lets all requests in, so that headers
# need no signature of their own.
#
#   azure blob PUT "/container?restype=container" [CURL ARGUMENTS]     sets $status, $code (of the error), $etag, $body
#   header x-ms-lease-id                                               a header of the last answer

VERSION=2023-11-03
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# setting NAME DEFAULT: of AZURE_STORAGE_CONNECTION_STRING
setting() {
    found=$(printf '%s' "${AZURE_STORAGE_CONNECTION_STRING:-}" | tr ';' '\n' | sed -n "s/^$1=//p")
    printf '%s' "${found:-$2}"
}
ACCOUNT=$(setting AccountName devstoreaccount1)
KEY=$(setting AccountKey Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==)
blob_url=$(setting BlobEndpoint "http://127.0.0.1:10000/$ACCOUNT")
queue_url=$(setting QueueEndpoint "http://127.0.0.1:10001/$ACCOUNT")
table_url=$(setting TableEndpoint "http://127.0.0.1:10002/$ACCOUNT")
file_url=$(setting FileEndpoint "http://127.0.0.1:10003/$ACCOUNT")

escape() {
    sed 's/+/%2B/g; s,/,%2F,g; s/=/%3D/g; s/:/%3A/g'
}
expiry=$(date -u -d '+1 hour' '+%Y-%m-%dT%H:%M:%SZ')
hex=$(printf '%s' "$KEY" | base64 -d | od -An -v -tx1 | tr -d ' \n')
signature=$(printf '%s\nrwdlacup\nbqtf\nsco\n\n%s\n\n\n%s\n\n' "$ACCOUNT" "$expiry" "$VERSION" |
    openssl dgst -sha256 -mac HMAC -macopt "hexkey:$hex" -binary | base64 | escape)
sas="sv=$VERSION&ss=bqtf&srt=sco&sp=rwdlacup&se=$(printf '%s' "$expiry" | escape)&sig=$signature"

header() {
    tr -d '\r' <"$work/head" | sed -n "s/^$1: //Ip" | head -n 1
}

azure() {
    case $1 in blob) base=$blob_url ;; queue) base=$queue_url ;; table) base=$table_url ;; file) base=$file_url ;; esac
    method=$2
    case $3 in *\?*) url="$base$3&$sas" ;; *) url="$base$3?$sas" ;; esac
    shift 3
    status=$(curl -sS -o "$work/body" -D "$work/head" -w '%{http_code}' -X "$method" -H "x-ms-version: $VERSION" "$@" "$url")
    body=$(cat "$work/body" 2>/dev/null || true)
    code=$(header x-ms-error-code)
    etag=$(header etag)
}

# expect WHAT ACTUAL EXPECTED: prints what happened, and ends the program if it is not what was expected.
expect() {
    echo "$1: $2"
    [ "$2" = "$3" ] || { echo "expected $3" >&2; exit 1; }
}

# Waits; or moves the server's clock, and does not wait, when LAZULI_CLOCK names the server's --clock-file.
let_pass() {
    if [ -n "${LAZULI_CLOCK:-}" ]; then echo "$(($1 * 1000))" 1<>"$LAZULI_CLOCK"; else sleep "$1"; fi
}

new_name() {
    echo "$1$(od -An -N6 -tx1 /dev/urandom | tr -d ' \n')"
}
