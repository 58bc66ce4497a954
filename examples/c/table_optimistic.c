/* SPDX-License-Identifier: Apache-2.0 */
/* Two agents sell a seat each: without an ETag one sale is lost, with If-Match it is not. */
#include "azure.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define JSON  "Content-Type: application/json"
#define PLAIN "Accept: application/json;odata=nometadata"

static char table[48], entity[128];

/* How many seats are free; *seen, if it is wanted, is the answer, which has the ETag. */
static int read_free(struct answer *seen)
{
    const char *headers[] = {PLAIN, NULL};
    struct answer answer = azure("GET", entity, headers, NULL);
    char number[16];
    find_between(answer.body, "\"free\":", "}", number, sizeof number);
    if (seen != NULL)
        *seen = answer;
    return atoi(number);
}

/* Replaces the entity if `etag` is current; "*" means whatever is there. */
static struct answer write_free(int number, const char *etag)
{
    char body[32], condition[128];
    snprintf(body, sizeof body, "{\"free\":%d}", number);
    snprintf(condition, sizeof condition, "If-Match: %s", etag);
    const char *headers[] = {JSON, PLAIN, condition, NULL};
    return azure("PUT", entity, headers, body);
}

static struct answer insert(const char *row, int number)
{
    char path[64], body[96];
    const char *headers[] = {JSON, PLAIN, NULL};
    snprintf(path, sizeof path, "/%s", table);
    snprintf(body, sizeof body, "{\"PartitionKey\":\"flight\",\"RowKey\":\"%s\",\"free\":%d}", row,
             number);
    return azure("POST", path, headers, body);
}

static void expect_free(const char *what, int expected)
{
    char actual[16], wanted[16];
    snprintf(actual, sizeof actual, "%d", read_free(NULL));
    snprintf(wanted, sizeof wanted, "%d", expected);
    expect_text(what, actual, wanted);
}

static void lose_a_sale(void)
{
    int ann = read_free(NULL), bob = read_free(NULL);
    write_free(ann - 1, "*");
    write_free(bob - 1, "*");
    expect_free("10 - 1 - 1 with If-Match: *", 9);
}

static void lose_none(void)
{
    struct answer ann, bob;
    int anns = read_free(&ann), bobs = read_free(&bob);
    write_free(anns - 1, ann.etag);
    struct answer refused = write_free(bobs - 1, bob.etag);
    expect_answer("Bob's update with his old ETag", &refused, "412 UpdateConditionNotSatisfied");
    bobs = read_free(&bob);
    write_free(bobs - 1, bob.etag);
    expect_free("9 - 1 - 1 with ETags, after Bob read again", 7);
}

int main(void)
{
    char body[64], path[96];
    const char *headers[] = {JSON, PLAIN, NULL};
    azure_init("Table");
    snprintf(table, sizeof table, "seats%ld", (long)getpid());
    snprintf(entity, sizeof entity, "/%s(PartitionKey='flight',RowKey='lh400')", table);
    snprintf(body, sizeof body, "{\"TableName\":\"%s\"}", table);
    struct answer made = azure("POST", "/Tables", headers, body);
    expect_answer("the table", &made, "201");
    made = insert("lh400", 10);
    expect_answer("the flight", &made, "201");

    lose_a_sale();
    lose_none();
    made = insert("lh400", 1);
    expect_answer("an insert where there is one", &made, "409 EntityAlreadyExists");

    snprintf(path, sizeof path, "/Tables('%s')", table);
    azure("DELETE", path, headers, NULL);
    azure_release();
    return 0;
}
