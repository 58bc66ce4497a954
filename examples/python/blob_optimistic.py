# SPDX-License-Identifier: Apache-2.0
"""Two clients add one to a number in a blob: without conditions an addition is lost, with If-Match it is not."""
from azure.core import MatchConditions
from azure.storage.blob import BlobServiceClient

from common import CONNECTION, expect, new_name, outcome

container = BlobServiceClient.from_connection_string(CONNECTION).create_container(new_name("optimistic"))
counter = container.get_blob_client("counter")


def read():
    download = counter.download_blob()
    return int(download.readall()), download.properties.etag


def write(number, etag=None):
    condition = {"etag": etag, "match_condition": MatchConditions.IfNotModified} if etag else {}
    counter.upload_blob(str(number), overwrite=True, **condition)


# The problem: last writer wins.
write(10)
ann, _ = read()
bob, _ = read()
write(ann + 1)
write(bob + 1)
expect("10 + 1 + 1 without a condition", read()[0], 11)

# The cure: write only if nobody has written since.
write(10)
ann, anns_etag = read()
bob, bobs_etag = read()
write(ann + 1, anns_etag)
expect("Bob's write with his old ETag", outcome(write, bob + 1, bobs_etag), "412 ConditionNotMet")
write(*[(number + 1, etag) for number, etag in [read()]][0])
expect("10 + 1 + 1 with If-Match, after Bob read again", read()[0], 12)

# Create only once: overwrite=False sends If-None-Match: *.
once = container.get_blob_client("once")
expect("the first create", outcome(once.upload_blob, b"x", overwrite=False), "success")
expect("the second create", outcome(once.upload_blob, b"x", overwrite=False), "409 BlobAlreadyExists")
container.delete_container()
