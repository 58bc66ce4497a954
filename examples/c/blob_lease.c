/* SPDX-License-Identifier: Apache-2.0 */
/* A lease locks a blob: Bob is kept out until Ann is done, or gone. */
#include "azure.h"

#include <stdio.h>
#include <unistd.h>

static char blob[96];

/* Writes the text, with the lease's id when there is one. */
static struct answer write_stock(const char *text, const char *lease_id)
{
    char lease[96];
    snprintf(lease, sizeof lease, "x-ms-lease-id: %s", lease_id != NULL ? lease_id : "");
    const char *headers[] = {"x-ms-blob-type: BlockBlob", lease_id != NULL ? lease : NULL, NULL};
    return azure("PUT", blob, headers, text);
}

static struct answer acquire(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s?comp=lease", blob);
    const char *headers[] = {"x-ms-lease-action: acquire", "x-ms-lease-duration: 15", NULL};
    return azure("PUT", path, headers, NULL);
}

int main(void)
{
    char container[96];
    azure_init("Blob");
    snprintf(blob, sizeof blob, "/lease-c-%ld/stock", (long)getpid());
    snprintf(container, sizeof container, "/lease-c-%ld?restype=container", (long)getpid());
    azure("PUT", container, NULL, NULL);

    /* The problem: Ann has read 10 and takes 3; Bob took 5 meanwhile. */
    write_stock("10", NULL);
    write_stock("5", NULL);
    write_stock("7", NULL);
    expect_text("10 - 5 - 3 without a lock", azure("GET", blob, NULL, NULL).body, "7");

    /* The cure: Ann locks first. */
    write_stock("10", NULL);
    struct answer ann = acquire();
    struct answer bob = write_stock("5", NULL);
    expect_answer("Bob writes while Ann holds the lease", &bob, "412 LeaseIdMissing");
    bob = acquire();
    expect_answer("Bob wants the lease", &bob, "409 LeaseAlreadyPresent");
    struct answer written = write_stock("7", ann.lease_id);
    expect_answer("Ann writes with the id", &written, "201");

    /* A holder who is gone: the lease ends by itself. */
    let_pass(16);
    written = write_stock("0", ann.lease_id);
    expect_answer("Ann writes after her lease has ended", &written, "412 LeaseLost");
    bob = acquire();
    expect_answer("Bob acquires the lease", &bob, "201");
    azure_release();
    return 0;
}
