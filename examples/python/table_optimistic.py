# SPDX-License-Identifier: Apache-2.0
"""Entities: update_entity overwrites unless it is told to compare the ETag."""
from azure.core import MatchConditions
from azure.data.tables import TableServiceClient, UpdateMode

from common import CONNECTION, expect, new_name, outcome

table = TableServiceClient.from_connection_string(CONNECTION).create_table(new_name("seats"))
KEY = {"PartitionKey": "flight", "RowKey": "lh400"}


def read():
    return table.get_entity("flight", "lh400")


def write(free, etag=None):
    condition = {"etag": etag, "match_condition": MatchConditions.IfNotModified} if etag else {}
    table.update_entity({**KEY, "free": free}, mode=UpdateMode.REPLACE, **condition)


# The problem: two agents sell one seat each; one sale is lost.
table.create_entity({**KEY, "free": 10})
ann, bob = read(), read()
write(ann["free"] - 1)
write(bob["free"] - 1)
expect("10 - 1 - 1 without an ETag", read()["free"], 9)

# The cure.
ann, bob = read(), read()
write(ann["free"] - 1, ann.metadata["etag"])
expect("Bob's update with his old ETag", outcome(write, bob["free"] - 1, bob.metadata["etag"]), "412 UpdateConditionNotSatisfied")
bob = read()
write(bob["free"] - 1, bob.metadata["etag"])
expect("9 - 1 - 1 with ETags", read()["free"], 7)
expect("an insert where there is one", outcome(table.create_entity, {**KEY, "free": 1})[:3], "409")
table.delete_table()
