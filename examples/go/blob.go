// SPDX-License-Identifier: Apache-2.0

// Blobs and containers by Debian's SDK.
package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/Azure/azure-storage-blob-go/azblob"
)

var ctx = context.Background()

// newContainer makes a container of a new name.
func newContainer(prefix string) azblob.ContainerURL {
	at := settings()
	credential, err := azblob.NewSharedKeyCredential(at["AccountName"], at["AccountKey"])
	must(err)
	base, err := url.Parse(at["BlobEndpoint"])
	must(err)
	service := azblob.NewServiceURL(*base, azblob.NewPipeline(credential, azblob.PipelineOptions{}))
	container := service.NewContainerURL(newName(prefix))
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
