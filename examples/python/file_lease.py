# SPDX-License-Identifier: Apache-2.0
"""Files over REST: last writer wins; a lease keeps others from writing."""
from azure.storage.fileshare import ShareServiceClient

from common import CONNECTION, expect, new_name, outcome

share = ShareServiceClient.from_connection_string(CONNECTION).create_share(new_name("share"))
file = share.get_file_client("counter.txt")
file.create_file(2)


def read():
    return int(file.download_file().readall())


def write(number, **kwargs):
    file.upload_range(str(number).encode(), 0, 2, **kwargs)


# The problem: there is no If-Match for files.
write(10)
ann, bob = read(), read()
write(ann + 1)
write(bob + 1)
expect("10 + 1 + 1 without a lock", read(), 11)

# The cure: lease, read, write, release.
lease = file.acquire_lease()
expect("Bob writes while Ann holds the lease", outcome(write, 99), "412 LeaseIdMissing")
expect("Bob wants the lease", outcome(file.acquire_lease), "409 LeaseAlreadyPresent")
write(read() + 1, lease=lease)
lease.release()
bobs = file.acquire_lease()
write(read() + 1, lease=bobs)
bobs.release()
expect("11 + 1 + 1 with leases", read(), 13)
share.delete_share()
