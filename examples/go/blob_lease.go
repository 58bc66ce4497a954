// SPDX-License-Identifier: Apache-2.0

// A lease locks a blob: Bob is kept out until Ann is done, or gone.
package main

import (
	"github.com/Azure/azure-storage-blob-go/azblob"
)

func withLease(id string) azblob.BlobAccessConditions {
	return azblob.BlobAccessConditions{LeaseAccessConditions: azblob.LeaseAccessConditions{LeaseID: id}}
}

func main() {
	stock := newContainer("lease").NewBlockBlobURL("stock")
	none := azblob.BlobAccessConditions{}

	// The problem: Ann has read 10 and takes 3; Bob took 5 meanwhile.
	must(write(stock, "10", none))
	must(write(stock, "5", none))
	must(write(stock, "7", none))
	lost, _ := read(stock)
	expect("10 - 5 - 3 without a lock", lost, "7")

	// The cure: Ann locks first.
	must(write(stock, "10", none))
	lease, err := stock.AcquireLease(ctx, "", 15, azblob.ModifiedAccessConditions{})
	must(err)
	expect("Bob writes while Ann holds the lease", outcome(write(stock, "5", none)), "412 LeaseIdMissing")
	_, err = stock.AcquireLease(ctx, "", 15, azblob.ModifiedAccessConditions{})
	expect("Bob wants the lease", outcome(err), "409 LeaseAlreadyPresent")
	expect("Ann writes with the id", outcome(write(stock, "7", withLease(lease.LeaseID()))), "success")

	// A holder who is gone: the lease ends by itself.
	letPass(16)
	expect("Ann writes after her lease has ended", outcome(write(stock, "0", withLease(lease.LeaseID()))), "412 LeaseLost")
	_, err = stock.AcquireLease(ctx, "", 15, azblob.ModifiedAccessConditions{})
	expect("Bob acquires the lease", outcome(err), "success")
	now, _ := read(stock)
	expect("the stock", now, "7")
}
