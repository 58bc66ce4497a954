/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/remote.h"

#include "core/test.h"
#include "transfer/item.h"

static struct err open_text(const char *text, struct remote *r)
{
    return remote_open(str_of(text), r);
}

void test_connection_strings_name_endpoints(void)
{
    struct remote r;
    CHECK_OK(open_text("DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=a2V5;"
                       "EndpointSuffix=core.example.net",
                       &r));
    CHECK(str_eq(r.account, STR("acme")) && r.has_key);
    CHECK(str_eq(r.endpoint[REMOTE_TABLE].host, STR("acme.table.core.example.net")));
    CHECK(str_eq(r.endpoint[REMOTE_DFS].host, STR("acme.dfs.core.example.net")));
    CHECK_INT(r.endpoint[REMOTE_BLOB].port, 443);
    remote_close(&r);
    CHECK_OK(open_text("BlobEndpoint=http://127.0.0.1:1/acct/;SharedAccessSignature=?sv=1&sig=a%3D",
                       &r));
    CHECK(str_eq(r.account, STR("acct")) && !r.has_key);
    CHECK(str_eq(r.sas, STR("sv=1&sig=a%3D")));
    CHECK(str_eq(r.endpoint[REMOTE_BLOB].path, STR("/acct")));
    CHECK(r.has[REMOTE_DFS] && !r.has[REMOTE_QUEUE]);
    remote_close(&r);
    CHECK_OK(open_text("UseDevelopmentStorage=true", &r));
    CHECK_INT(r.endpoint[REMOTE_QUEUE].port, 10001);
    remote_close(&r);
}

void test_connection_strings_that_are_none_are_refused(void)
{
    static const char *const TEXTS[] = {"",
                                        "x",
                                        "AccountName=a",
                                        "AccountName=a;AccountKey=***",
                                        "BlobEndpoint=ftp://x/a;AccountKey=a2V5",
                                        ";;;=;"};
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        struct remote r;
        CHECK(err_is(open_text(TEXTS[i], &r)));
        remote_close(&r);
    }
}

static struct str label(struct arena *a, const char *name, const struct label_heads *heads)
{
    return item_label(a, STR("acct"), "blob", STR("c"), str_of(name), heads);
}

void test_labels_are_names_of_files(void)
{
    struct arena a;
    struct label_heads heads = {.lengths = {1}, .count = 1};
    arena_init(&a, 1 << 20);
    CHECK(str_eq(label(&a, "x/y.txt", NULL), STR("acct/blob/c/x/y.txt")));
    CHECK(str_eq(label(&a, "a/b", &heads), STR("acct/blob/c/a%/b")));
    CHECK(str_eq(label(&a, "../x", NULL), STR("acct/blob/c/%2E./x")));
    CHECK(str_eq(label(&a, "/x//", NULL), STR("acct/blob/c/%/x/%/%")));
    CHECK(str_eq(label(&a, "50%:a", NULL), STR("acct/blob/c/50%25%3Aa")));
    arena_release(&a);
}
