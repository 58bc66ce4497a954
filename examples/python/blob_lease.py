# SPDX-License-Identifier: Apache-2.0
"""A lease locks a blob: Bob is kept out until Ann is done, or gone."""
from azure.storage.blob import BlobServiceClient

from common import CONNECTION, expect, let_pass, new_name, outcome

container = BlobServiceClient.from_connection_string(CONNECTION).create_container(new_name("lease"))
stock = container.get_blob_client("stock")


def read():
    return int(stock.download_blob().readall())


def write(number, **kwargs):
    stock.upload_blob(str(number), overwrite=True, **kwargs)


# The problem: Ann reads, needs a while, and writes over what Bob wrote.
write(10)
seen = read()
write(10 - 5)
write(seen - 3)
expect("10 - 5 - 3 without a lock", read(), 7)

# The cure: Ann locks first.
write(10)
lease = stock.acquire_lease(15)
expect("Bob writes while Ann holds the lease", outcome(write, 5), "412 LeaseIdMissing")
expect("Bob wants the lease", outcome(stock.acquire_lease, 15), "409 LeaseAlreadyPresent")
write(read() - 3, lease=lease)
lease.release()
bobs = stock.acquire_lease(15)
write(read() - 5, lease=bobs)
expect("10 - 3 - 5 with leases", read(), 2)

# A holder who is gone: the lease ends by itself.
let_pass(16)
expect("Bob writes after his lease has ended", outcome(write, 0, lease=bobs), "412 LeaseLost")
expect("Ann gets the lease", outcome(stock.acquire_lease, 15), "success")
