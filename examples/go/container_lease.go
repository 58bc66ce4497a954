// SPDX-License-Identifier: Apache-2.0

// A container: last writer wins for its metadata, and a lease guards its deletion.
package main

import (
	"fmt"

	"github.com/Azure/azure-storage-blob-go/azblob"
)

func metadata(container azblob.ContainerURL) azblob.Metadata {
	answer, err := container.GetProperties(ctx, azblob.LeaseAccessConditions{})
	must(err)
	return answer.NewMetadata()
}

func main() {
	container := newContainer("container")
	none := azblob.ContainerAccessConditions{}
	set := func(values azblob.Metadata) {
		_, err := container.SetMetadata(ctx, values, none)
		must(err)
	}

	// The problem: each writer replaces all metadata.
	set(azblob.Metadata{"owner": "ann"})
	set(azblob.Metadata{"project": "bobs"})
	expect("after Ann's and Bob's Set Container Metadata", fmt.Sprint(metadata(container)), "map[project:bobs]")

	// The cure: a lease, and the agreement to take it before changing anything.
	lease, err := container.AcquireLease(ctx, "", 15, azblob.ModifiedAccessConditions{})
	must(err)
	_, err = container.AcquireLease(ctx, "", 15, azblob.ModifiedAccessConditions{})
	expect("Bob asks for the lease", outcome(err), "409 LeaseAlreadyPresent")
	both := metadata(container)
	both["owner"] = "ann"
	set(both)
	expect("Ann has added to the metadata", fmt.Sprint(metadata(container)), "map[owner:ann project:bobs]")

	// What the service itself guards is the deletion.
	_, err = container.Delete(ctx, none)
	expect("Bob deletes the leased container", outcome(err), "412 LeaseIdMissing")
	expect("blobs are written without the id", outcome(write(container.NewBlockBlobURL("b"), "x", azblob.BlobAccessConditions{})), "success")
	_, err = container.Delete(ctx, azblob.ContainerAccessConditions{LeaseAccessConditions: azblob.LeaseAccessConditions{LeaseID: lease.LeaseID()}})
	expect("Ann deletes it with the id", outcome(err), "success")
}
