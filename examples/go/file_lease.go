// SPDX-License-Identifier: Apache-2.0

// Files over REST: the last writer wins, and there is no If-Match; a lease keeps others from writing.
package main

import (
	"fmt"
	"strconv"
)

type file struct {
	service
	path string
}

func (f file) read() int {
	number, err := strconv.Atoi(f.send("GET", f.path, "", nil).body)
	must(err)
	return number
}

// write puts two digits, with the lease's id when there is one.
func (f file) write(number int, lease string) string {
	with := headers{"x-ms-write": "update", "x-ms-range": "bytes=0-1"}
	if lease != "" {
		with["x-ms-lease-id"] = lease
	}
	return f.send("PUT", f.path+"?comp=range", fmt.Sprintf("%02d", number), with).outcome
}

func (f file) lease(with headers) reply { return f.send("PUT", f.path+"?comp=lease", "", with) }

// acquire returns the outcome and the lease's id. A file's lease has no end.
func (f file) acquire() (string, string) {
	answer := f.lease(headers{"x-ms-lease-action": "acquire", "x-ms-lease-duration": "-1"})
	return answer.outcome, answer.header.Get("x-ms-lease-id")
}

func main() {
	files := newService("File")
	share := "/" + newName("share")
	files.send("PUT", share+"?restype=share", "", nil)
	counter := file{files, share + "/counter.txt"}
	expect("the file", files.send("PUT", counter.path, "", headers{"x-ms-type": "file", "x-ms-content-length": "2"}).outcome, "201")

	// The problem: both have read 10.
	counter.write(10, "")
	ann, bob := counter.read(), counter.read()
	counter.write(ann+1, "")
	counter.write(bob+1, "")
	expect("10 + 1 + 1 without a lock", fmt.Sprint(counter.read()), "11")

	// The cure: lease, read, write, release.
	_, anns := counter.acquire()
	expect("Bob writes while Ann holds the lease", counter.write(99, ""), "412 LeaseIdMissing")
	refused, _ := counter.acquire()
	expect("Bob wants the lease", refused, "409 LeaseAlreadyPresent")
	expect("Ann writes with the id", counter.write(counter.read()+1, anns), "201")
	counter.lease(headers{"x-ms-lease-action": "release", "x-ms-lease-id": anns})
	_, bobs := counter.acquire()
	counter.write(counter.read()+1, bobs)
	expect("11 + 1 + 1 with leases", fmt.Sprint(counter.read()), "13")

	// A holder who is gone: an operator breaks the lease.
	counter.lease(headers{"x-ms-lease-action": "break"})
	expect("Bob writes after his lease was broken", counter.write(99, bobs), "412 LeaseLost")
	files.send("DELETE", share+"?restype=share", "", nil)
}
