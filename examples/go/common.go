// SPDX-License-Identifier: Apache-2.0

// What all the programs share: where the server is, checks, and a way to let time pass.
package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

const wellKnown = "AccountName=devstoreaccount1;AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;" +
	"BlobEndpoint=http://127.0.0.1:10000/devstoreaccount1;QueueEndpoint=http://127.0.0.1:10001/devstoreaccount1;" +
	"TableEndpoint=http://127.0.0.1:10002/devstoreaccount1;FileEndpoint=http://127.0.0.1:10003/devstoreaccount1;"

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// settings are the parts of the connection string.
func settings() map[string]string {
	connection := os.Getenv("AZURE_STORAGE_CONNECTION_STRING")
	if connection == "" {
		connection = wellKnown
	}
	parts := map[string]string{}
	for _, part := range strings.Split(connection, ";") {
		if name, value, found := strings.Cut(part, "="); found {
			parts[name] = value
		}
	}
	return parts
}

// newName is a name that nobody has used.
func newName(prefix string) string {
	return fmt.Sprintf("%s%d", prefix, time.Now().UnixNano())
}

// expect prints what happened, and ends the program if it is not what was expected.
func expect(what, actual, expected string) {
	fmt.Printf("%s: %s\n", what, actual)
	if actual != expected {
		fmt.Fprintln(os.Stderr, "expected", expected)
		os.Exit(1)
	}
}

// letPass waits; or moves the server's clock, and does not wait, when LAZULI_CLOCK names the server's --clock-file.
func letPass(seconds int) {
	name := os.Getenv("LAZULI_CLOCK")
	if name == "" {
		time.Sleep(time.Duration(seconds) * time.Second)
		return
	}
	clock, err := os.OpenFile(name, os.O_RDWR, 0)
	must(err)
	_, err = fmt.Fprintf(clock, "%d\n", seconds*1000)
	must(err)
	must(clock.Close())
}
