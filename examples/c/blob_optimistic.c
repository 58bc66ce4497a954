/* SPDX-License-Identifier: Apache-2.0 */
/* Two clients add one to a number in a blob: without conditions an addition is lost, with If-Match
 * it is not. */
#include "azure.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char counter[96];

static struct answer read_counter(void)
{
    return azure("GET", counter, NULL, NULL);
}

/* Writes the number; only if the ETag is current, when there is one. */
static struct answer write_counter(int number, const char *etag)
{
    char text[16], condition[96];
    snprintf(text, sizeof text, "%d", number);
    snprintf(condition, sizeof condition, "If-Match: %s", etag != NULL ? etag : "");
    const char *headers[] = {"x-ms-blob-type: BlockBlob", etag != NULL ? condition : NULL, NULL};
    return azure("PUT", counter, headers, text);
}

static void lose_an_update(void)
{
    write_counter(10, NULL);
    struct answer ann = read_counter();
    struct answer bob = read_counter();
    write_counter(atoi(ann.body) + 1, NULL);
    write_counter(atoi(bob.body) + 1, NULL);
    expect_text("10 + 1 + 1 without a condition", read_counter().body, "11");
}

static void lose_none(void)
{
    write_counter(10, NULL);
    struct answer ann = read_counter();
    struct answer bob = read_counter();
    write_counter(atoi(ann.body) + 1, ann.etag);
    struct answer refused = write_counter(atoi(bob.body) + 1, bob.etag);
    expect_answer("Bob's write with his old ETag", &refused, "412 ConditionNotMet");
    bob = read_counter();
    write_counter(atoi(bob.body) + 1, bob.etag);
    expect_text("10 + 1 + 1 with If-Match, after Bob read again", read_counter().body, "12");
}

int main(void)
{
    char container[96];
    azure_init("Blob");
    snprintf(counter, sizeof counter, "/optimistic-c-%ld/counter", (long)getpid());
    snprintf(container, sizeof container, "/optimistic-c-%ld?restype=container", (long)getpid());
    azure("PUT", container, NULL, NULL);
    lose_an_update();
    lose_none();
    azure("DELETE", container, NULL, NULL);
    azure_release();
    return 0;
}
