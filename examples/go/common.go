// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/Azure/azure-storage-blob-go/azblob"
)

const wellKnown = "AccountName=devstoreaccount1;AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;" +
	"BlobEndpoint=http://127.0.0.1:10000/devstoreaccount1;"

var ctx = context.Background()

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// newContainer makes a container of a new name.
func newContainer(prefix string) azblob.ContainerURL {
	connection := os.Getenv("AZURE_STORAGE_CONNECTION_STRING")
	if connection == "" {
		connection = wellKnown
	}
	settings := map[string]string{}
	for _, part := range strings.Split(connection, ";") {
		if name, value, found := strings.Cut(part, "="); found {
			settings[name] = value
		}
	}
	credential, err := azblob.NewSharedKeyCredential(settings["AccountName"], settings["AccountKey"])
	must(err)
	base, err := url.Parse(settings["BlobEndpoint"])
	must(err)
	service := azblob.NewServiceURL(*base, azblob.NewPipeline(credential, azblob.PipelineOptions{}))
	container := service.NewContainerURL(fmt.Sprintf("%s%d", prefix, time.Now().UnixNano()))
	_, err = container.Create(ctx, azblob.Metadata{}, azblob.PublicAccessNone)
	must(err)
	return container
}

// write puts the text under the conditions.
func write(blob azblob.BlockBlobURL, text string, conditions azblob.BlobAccessConditions) error {
	_, err := blob.Upload(ctx, strings.NewReader(text), azblob.BlobHTTPHeaders{}, azblob.Metadata{}, conditions,
		azblob.DefaultAccessTier, nil, azblob.ClientProvidedKeyOptions{}, azblob.ImmutabilityPolicyOptions{})
	return err
}

// read returns content and ETag of the same moment.
func read(blob azblob.BlockBlobURL) (string, azblob.ETag) {
	answer, err := blob.Download(ctx, 0, azblob.CountToEnd, azblob.BlobAccessConditions{}, false, azblob.ClientProvidedKeyOptions{})
	must(err)
	body := answer.Body(azblob.RetryReaderOptions{})
	defer body.Close()
	text, err := io.ReadAll(body)
	must(err)
	return string(text), answer.ETag()
}

// outcome is "success", or status and code of the error.
func outcome(err error) string {
	if err == nil {
		return "success"
	}
	if refused, ok := err.(azblob.StorageError); ok {
		return fmt.Sprintf("%d %s", refused.Response().StatusCode, refused.ServiceCode())
	}
	return err.Error()
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
