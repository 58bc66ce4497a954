/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/head/target.h"

#include "core/test.h"

struct fixture {
    struct arena arena;
    struct target target;
};

static struct err parse(struct fixture *f, enum service_kind service, const char *host,
                        const char *path, bool names_container)
{
    arena_release(&f->arena);
    arena_init(&f->arena, 1 << 20);
    struct target_request request = {
        .service = service,
        .host = str_of(host),
        .path = str_of(path),
        .product_style = true,
        .names_container = names_container,
    };
    return target_parse(&f->arena, &request, &f->target);
}

void test_target_blob_path_style(void)
{
    struct fixture f = {0};
    CHECK_OK(parse(&f, SERVICE_BLOB, "127.0.0.1:10000", "/acct/con/a%2Fb%20c", false));
    CHECK_INT(f.target.resource, R_OBJECT);
    CHECK_STR(f.target.account, STR("acct"));
    CHECK_STR(f.target.container, STR("con"));
    CHECK_STR(f.target.object, STR("a/b c"));
    CHECK_OK(parse(&f, SERVICE_BLOB, "localhost:10000", "/acct/con", true));
    CHECK_INT(f.target.resource, R_CONTAINER);
    CHECK_OK(parse(&f, SERVICE_BLOB, "localhost:10000", "/acct/con/", true));
    CHECK_INT(f.target.resource, R_CONTAINER);
    CHECK_OK(parse(&f, SERVICE_BLOB, "localhost:10000", "/acct", false));
    CHECK_INT(f.target.resource, R_SERVICE);
    arena_release(&f.arena);
}

void test_target_blob_backslash_is_a_slash(void)
{
    struct fixture f = {0};
    CHECK_OK(parse(&f, SERVICE_BLOB, "127.0.0.1:10000", "/acct/con/a%5Cb%5C", false));
    CHECK_STR(f.target.object, STR("a/b/"));
    arena_release(&f.arena);
}

/* The source of a rename that the JavaScript SDK sends without the account, and of all others. */
void test_target_rename_without_account(void)
{
    static const struct {
        const char *path, *source, *account, *share;
    } cases[] = {
        {"/sh/to", "http://h:1/acct/sh/from", "acct", "sh"},
        {"/sh/d/to", "http://h:1/acct/sh/d/from?sig=1", "acct", "sh"},
        {"/acct/sh/to", "http://h:1/acct/sh/from", "acct", "sh"},
        {"/same/same/to", "http://h:1/same/same/from", "same", "same"},
        {"/other/sh/to", "http://h:1/acct/sh/from", "other", "sh"},
        {"/sh/to", "http://h:1/acct", "sh", "to"},
        {"/sh/to", "nonsense", "sh", "to"},
    };
    struct arena arena;
    arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct target_request request = {
            .service = SERVICE_FILE,
            .host = STR("127.0.0.1:10003"),
            .path = str_of(cases[i].path),
            .rename_source = str_of(cases[i].source),
        };
        struct target target;
        CHECK_OK(target_parse(&arena, &request, &target));
        CHECK_STR(target.account, str_of(cases[i].account));
        CHECK_STR(target.container, str_of(cases[i].share));
    }
    arena_release(&arena);
}

void test_target_root_container(void)
{
    struct fixture f = {0};
    CHECK_OK(parse(&f, SERVICE_BLOB, "localhost:10000", "/acct/pic.png", false));
    CHECK_INT(f.target.resource, R_OBJECT);
    CHECK_STR(f.target.container, STR("$root"));
    CHECK_STR(f.target.object, STR("pic.png"));
    arena_release(&f.arena);
}

void test_target_host_style(void)
{
    struct fixture f = {0};
    CHECK_OK(parse(&f, SERVICE_BLOB, "acct.blob.localhost:10000", "/con/b", false));
    CHECK(!f.target.path_style);
    CHECK_STR(f.target.account, STR("acct"));
    CHECK_STR(f.target.container, STR("con"));
    CHECK_OK(parse(&f, SERVICE_BLOB, "acct-secondary.blob.core.windows.net", "/con/b", false));
    CHECK(f.target.secondary);
    CHECK_STR(f.target.account, STR("acct"));
    CHECK_OK(parse(&f, SERVICE_BLOB, "acct.localhost:10000", "/con/b", false));
    CHECK(!f.target.path_style);
    CHECK_STR(f.target.account, STR("acct"));
    CHECK_OK(parse(&f, SERVICE_BLOB, "host.docker.internal:10000", "/acct/con/b", false));
    CHECK(f.target.path_style);
    arena_release(&f.arena);
}

void test_target_refuses(void)
{
    struct fixture f = {0};
    CHECK_ERR(parse(&f, SERVICE_BLOB, "h", "/acct/con/%zz", false), ERR_INVALID_URI);
    CHECK_ERR(parse(&f, SERVICE_BLOB, "h", "/acct/con/%00", false), ERR_INVALID_URI);
    CHECK_ERR(parse(&f, SERVICE_BLOB, "h", "/acct/con/%ff", false), ERR_INVALID_URI);
    CHECK_ERR(parse(&f, SERVICE_QUEUE, "h", "/acct/q/other", false), ERR_INVALID_URI);
    arena_release(&f.arena);
}

void test_target_queue(void)
{
    struct fixture f = {0};
    CHECK_OK(parse(&f, SERVICE_QUEUE, "h", "/acct/q", false));
    CHECK_INT(f.target.resource, R_CONTAINER);
    CHECK_OK(parse(&f, SERVICE_QUEUE, "h", "/acct/q/messages", false));
    CHECK_INT(f.target.resource, R_MESSAGES);
    CHECK_OK(parse(&f, SERVICE_QUEUE, "h", "/acct/q/messages/id", false));
    CHECK_INT(f.target.resource, R_MESSAGE);
    CHECK_STR(f.target.object, STR("id"));
    arena_release(&f.arena);
}

void test_target_table(void)
{
    struct fixture f = {0};
    CHECK_OK(parse(&f, SERVICE_TABLE, "h", "/acct/Tables('t1')", false));
    CHECK_INT(f.target.resource, R_TABLE);
    CHECK_STR(f.target.container, STR("t1"));
    CHECK_OK(parse(&f, SERVICE_TABLE, "h", "/acct/t1()", false));
    CHECK_INT(f.target.resource, R_ENTITIES);
    CHECK_OK(parse(&f, SERVICE_TABLE, "h", "/acct/t1(PartitionKey='a''b',RowKey='%25')", false));
    CHECK_INT(f.target.resource, R_ENTITY);
    CHECK_STR(f.target.key_pk, STR("a'b"));
    CHECK_STR(f.target.key_rk, STR("%"));
    CHECK_OK(parse(&f, SERVICE_TABLE, "h", "/acct/$batch", false));
    CHECK_INT(f.target.resource, R_BATCH);
    CHECK_ERR(parse(&f, SERVICE_TABLE, "h", "/acct/t1(PartitionKey='a')", false),
              ERR_INVALID_INPUT);
    CHECK_ERR(parse(&f, SERVICE_TABLE, "h", "/acct/t1(PartitionKey='a',RowKey='b'", false),
              ERR_INVALID_INPUT);
    arena_release(&f.arena);
}

void test_target_file(void)
{
    struct fixture f = {0};
    CHECK_OK(parse(&f, SERVICE_FILE, "h", "/acct/share/dir/f.txt", false));
    CHECK_INT(f.target.resource, R_OBJECT);
    CHECK_STR(f.target.object, STR("dir/f.txt"));
    CHECK_OK(parse(&f, SERVICE_FILE, "h", "/acct/share/", false));
    CHECK_INT(f.target.resource, R_CONTAINER);
    arena_release(&f.arena);
}

void test_target_website(void)
{
    struct fixture f = {0};
    CHECK_OK(parse(&f, SERVICE_BLOB, "acct.web.localhost:10000", "/a%20b/", false));
    CHECK_INT(f.target.resource, R_WEBSITE);
    CHECK_STR(f.target.account, STR("acct"));
    CHECK_STR(f.target.object, STR("a b/"));
    CHECK_OK(parse(&f, SERVICE_BLOB, "acct.z13.web.core.windows.net", "/", true));
    CHECK_INT(f.target.resource, R_WEBSITE);
    CHECK_STR(f.target.account, STR("acct"));
    CHECK_STR(f.target.object, STR(""));
    CHECK_OK(parse(&f, SERVICE_BLOB, "127.0.0.1:10000", "/acct-web/css/x.css", false));
    CHECK_INT(f.target.resource, R_WEBSITE);
    CHECK_STR(f.target.account, STR("acct"));
    CHECK_STR(f.target.object, STR("css/x.css"));
    CHECK_OK(parse(&f, SERVICE_BLOB, "localhost", "/acct-web", false));
    CHECK_INT(f.target.resource, R_WEBSITE);
    CHECK_OK(parse(&f, SERVICE_QUEUE, "acct.web.localhost", "/acct-web/q", false));
    CHECK_INT(f.target.resource, R_CONTAINER);
    arena_release(&f.arena);
}
