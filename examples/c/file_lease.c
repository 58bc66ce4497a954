/* SPDX-License-Identifier: Apache-2.0 */
/* Files over REST: the last writer wins, and there is no If-Match; a lease keeps others out. */
#include "azure.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char share[80], file[80];

static int read_number(void)
{
    return atoi(azure("GET", file, NULL, NULL).body);
}

/* Writes two digits, with the lease's id when there is one. */
static struct answer write_number(int number, const char *lease_id)
{
    char path[96], text[16], lease[96];
    snprintf(path, sizeof path, "%s?comp=range", file);
    snprintf(text, sizeof text, "%02d", number % 100);
    snprintf(lease, sizeof lease, "x-ms-lease-id: %s", lease_id != NULL ? lease_id : "");
    const char *headers[] = {"x-ms-write: update", "x-ms-range: bytes=0-1",
                             lease_id != NULL ? lease : NULL, NULL};
    return azure("PUT", path, headers, text);
}

/* Acquires, releases or breaks. */
static struct answer lease(const char *action, const char *more)
{
    char path[96];
    snprintf(path, sizeof path, "%s?comp=lease", file);
    const char *headers[] = {action, more, NULL};
    return azure("PUT", path, headers, NULL);
}

static struct answer acquire(void)
{
    return lease("x-ms-lease-action: acquire", "x-ms-lease-duration: -1");
}

static void expect_number(const char *what, const char *expected)
{
    char actual[16];
    snprintf(actual, sizeof actual, "%d", read_number());
    expect_text(what, actual, expected);
}

static void lose_an_update(void)
{
    write_number(10, NULL);
    int ann = read_number(), bob = read_number();
    write_number(ann + 1, NULL);
    write_number(bob + 1, NULL);
    expect_number("10 + 1 + 1 without a lock", "11");
}

/* Lease, read, write, release. A file's lease has no end: it is broken for a holder who is gone. */
static void lose_none(void)
{
    char id[96];
    struct answer ann = acquire();
    struct answer bob = write_number(99, NULL);
    expect_answer("Bob writes while Ann holds the lease", &bob, "412 LeaseIdMissing");
    bob = acquire();
    expect_answer("Bob wants the lease", &bob, "409 LeaseAlreadyPresent");
    write_number(read_number() + 1, ann.lease_id);
    snprintf(id, sizeof id, "x-ms-lease-id: %s", ann.lease_id);
    lease("x-ms-lease-action: release", id);
    bob = acquire();
    write_number(read_number() + 1, bob.lease_id);
    expect_number("11 + 1 + 1 with leases", "13");
    lease("x-ms-lease-action: break", NULL);
    struct answer late = write_number(99, bob.lease_id);
    expect_answer("Bob writes after the operator broke his lease", &late, "412 LeaseLost");
}

int main(void)
{
    azure_init("File");
    snprintf(share, sizeof share, "/share-c-%ld?restype=share", (long)getpid());
    snprintf(file, sizeof file, "/share-c-%ld/counter.txt", (long)getpid());
    azure("PUT", share, NULL, NULL);
    const char *made[] = {"x-ms-type: file", "x-ms-content-length: 2", NULL};
    azure("PUT", file, made, NULL);
    lose_an_update();
    lose_none();
    azure("DELETE", share, NULL, NULL);
    azure_release();
    return 0;
}
