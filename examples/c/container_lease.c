/* SPDX-License-Identifier: Apache-2.0 */
/* A container: If-Match is refused, last writer wins, and a lease guards its deletion. */
#include "azure.h"

#include <stdio.h>
#include <unistd.h>

static char name[64];

/* METHOD to the container; `more` goes behind the query. */
static struct answer container(const char *method, const char *more, const char *first,
                               const char *second)
{
    char path[160];
    snprintf(path, sizeof path, "%s?restype=container%s", name, more);
    const char *headers[] = {first, second, NULL};
    return azure(method, path, headers, NULL);
}

int main(void)
{
    char text[128], blob[96];
    azure_init("Blob");
    snprintf(name, sizeof name, "/container-c-%ld", (long)getpid());
    snprintf(blob, sizeof blob, "%s/blob", name);
    struct answer made = container("PUT", "", NULL, NULL);

    /* The problem: Bob writes over what Ann wrote, and an ETag is no help. */
    container("PUT", "&comp=metadata", "x-ms-meta-owner: ann", NULL);
    struct answer bob = container("PUT", "&comp=metadata", "x-ms-meta-owner: bob", NULL);
    expect_answer("Bob replaces Ann's metadata", &bob, "200");
    snprintf(text, sizeof text, "If-Match: %s", made.etag);
    bob = container("PUT", "&comp=metadata", "x-ms-meta-owner: bob", text);
    expect_answer("the same with If-Match", &bob, "400 ConditionHeadersNotSupported");

    /* The cure: a lease. The service asks for its id when the container is deleted. */
    struct answer ann =
        container("PUT", "&comp=lease", "x-ms-lease-action: acquire", "x-ms-lease-duration: -1");
    expect_answer("Ann leases the container", &ann, "201");
    bob = container("PUT", "&comp=lease", "x-ms-lease-action: acquire", "x-ms-lease-duration: 15");
    expect_answer("Bob wants the lease", &bob, "409 LeaseAlreadyPresent");
    bob = container("DELETE", "", NULL, NULL);
    expect_answer("Bob deletes it", &bob, "412 LeaseIdMissing");
    const char *kind[] = {"x-ms-blob-type: BlockBlob", NULL};
    bob = azure("PUT", blob, kind, "x");
    expect_answer("Bob writes a blob, which the lease does not guard", &bob, "201");
    snprintf(text, sizeof text, "x-ms-lease-id: %s", ann.lease_id);
    ann = container("DELETE", "", text, NULL);
    expect_answer("Ann deletes it", &ann, "202");
    azure_release();
    return 0;
}
