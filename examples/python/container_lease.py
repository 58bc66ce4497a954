# SPDX-License-Identifier: Apache-2.0
"""A container: last writer wins for its metadata, and a lease guards its deletion."""
from azure.storage.blob import BlobServiceClient

from common import CONNECTION, expect, new_name, outcome

container = BlobServiceClient.from_connection_string(CONNECTION).create_container(new_name("container"))


def metadata():
    return dict(container.get_container_properties().metadata)


# The problem: each writer replaces all metadata.
container.set_container_metadata({"owner": "ann"})
container.set_container_metadata({"project": "bobs"})
expect("after Ann's and Bob's Set Container Metadata", metadata(), {"project": "bobs"})

# The cure: a lease, and the agreement to take it before changing anything.
lease = container.acquire_lease(15)
expect("Bob asks for the lease", outcome(container.acquire_lease, 15), "409 LeaseAlreadyPresent")
container.set_container_metadata({**metadata(), "owner": "ann"}, lease=lease)
expect("Ann has added to the metadata", sorted(metadata()), ["owner", "project"])

# What the service itself guards is the deletion.
expect("Bob deletes the leased container", outcome(container.delete_container), "412 LeaseIdMissing")
expect("blobs are written without the id", outcome(container.upload_blob, "b", b"x"), "success")
expect("Ann deletes it with the id", outcome(container.delete_container, lease=lease), "success")
