// SPDX-License-Identifier: Apache-2.0

// Two clients add one to a number in a blob: without conditions an addition is lost, with If-Match it is not.
package main

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/Azure/azure-storage-blob-go/azblob"
)

func plusOne(text string) string {
	number, err := strconv.Atoi(text)
	must(err)
	return strconv.Itoa(number + 1)
}

func ifMatch(etag azblob.ETag) azblob.BlobAccessConditions {
	return azblob.BlobAccessConditions{ModifiedAccessConditions: azblob.ModifiedAccessConditions{IfMatch: etag}}
}

// addOne retries until nobody was faster, and returns how often somebody was.
func addOne(counter azblob.BlockBlobURL) (conflicts int64) {
	for {
		text, etag := read(counter)
		err := write(counter, plusOne(text), ifMatch(etag))
		if err == nil {
			return conflicts
		}
		if outcome(err) != "412 ConditionNotMet" {
			must(err)
		}
		conflicts++
	}
}

func main() {
	container := newContainer("optimistic")
	counter := container.NewBlockBlobURL("counter")
	none := azblob.BlobAccessConditions{}

	// The problem: last writer wins.
	must(write(counter, "10", none))
	ann, _ := read(counter)
	bob, _ := read(counter)
	must(write(counter, plusOne(ann), none))
	must(write(counter, plusOne(bob), none))
	lost, _ := read(counter)
	expect("10 + 1 + 1 without a condition", lost, "11")

	// The cure: write only if nobody has written since.
	must(write(counter, "10", none))
	ann, annsTag := read(counter)
	bob, bobsTag := read(counter)
	must(write(counter, plusOne(ann), ifMatch(annsTag)))
	expect("Bob's write with his old ETag", outcome(write(counter, plusOne(bob), ifMatch(bobsTag))), "412 ConditionNotMet")
	addOne(counter)
	now, _ := read(counter)
	expect("10 + 1 + 1 with If-Match, after Bob read again", now, "12")

	// Eight at once.
	var group sync.WaitGroup
	var conflicts int64
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			atomic.AddInt64(&conflicts, addOne(counter))
		}()
	}
	group.Wait()
	now, _ = read(counter)
	expect("12 + 8 times 1, all at once", now, "20")
	fmt.Println("conflicts that were retried:", conflicts)
	_, err := container.Delete(ctx, azblob.ContainerAccessConditions{})
	must(err)
}
