/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/short_name.h"

#include "core/text/casefold.h"
#include "service/file/file_fixture.h"

void test_short_name_fits(void)
{
    static const char *const FIT[] = {"a",   "FILE.TXT", "12345678.abc",
                                      "a~b", "x-y_z.1",  "A1B2C3D4"};
    static const char *const DO_NOT[] = {"",      ".",        "a.",        ".a",
                                         "a.b.c", "a b",      "123456789", "a.html",
                                         "a+b",   "\xC3\xA9", "a,b",       "very long name.txt"};
    for (size_t i = 0; i < sizeof FIT / sizeof FIT[0]; i++)
        CHECK(short_name_fits(str_of(FIT[i])));
    for (size_t i = 0; i < sizeof DO_NOT / sizeof DO_NOT[0]; i++)
        CHECK(!short_name_fits(str_of(DO_NOT[i])));
}

static struct str of(struct world *w, const char *name)
{
    char bytes[SHORT_NAME_BYTES_MAX];
    return arena_copy(&w->arena, short_name_of(casefold_utf8(&w->arena, str_of(name)), bytes));
}

/* For any name, the short one is recognised, fits, and names nothing else. */
void test_short_name_of(void)
{
    static const char *const NAMES[] = {"a long name.text",
                                        "a long name.texts",
                                        "a.b.c",
                                        ".profile",
                                        "\xC3\xA9t\xC3\xA9.\xC3\xA9\xC3\xA9",
                                        "trailing.",
                                        "a.+"};
    struct world w;
    world_begin(&w);
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        struct str name = of(&w, NAMES[i]);
        CHECK(short_name_like(name) && short_name_fits(name));
        CHECK(short_name_is_of(name, casefold_utf8(&w.arena, str_of(NAMES[i]))));
        for (size_t other = 0; other < i; other++)
            CHECK(!str_eq(name, of(&w, NAMES[other])));
    }
    CHECK_STR(of(&w, "A LONG name.TEXT"), of(&w, "a long name.text"));
    CHECK_STR(str_head(of(&w, "name.HTML"), 2), STR("N~"));
    CHECK_STR(str_from(of(&w, "name.HTML"), 8), STR(".HTM"));
    CHECK_STR(str_head(of(&w, ".profile"), 2), STR("_~"));
    CHECK(!short_name_like(STR("FILE~1.TXT")) && !short_name_like(STR("A~12345")) &&
          !short_name_like(STR("A~123456.")) && !short_name_like(STR("A~12+456")));
    CHECK(short_name_in_path(STR("dir/a~123456.x/file")));
    CHECK(!short_name_in_path(STR("dir/a~1/file")) && !short_name_in_path(STR("")));
    world_end(&w);
}

static struct err lengthen(struct world *w, struct str path, struct file_long_path_args *args)
{
    struct file_share_args share = {.at.arena = &w->arena};
    CHECK_OK(world_update(w, file_look_share, &share));
    *args = (struct file_long_path_args){
        .at = {.arena = &w->arena, .incarnation = share.incarnation}, .path = path};
    return world_update(w, file_long_path, args);
}

static struct str join(struct world *w, struct str directory, struct str name)
{
    struct buf b = buf_in(&w->arena);
    buf_put(&b, directory);
    buf_putc(&b, '/');
    buf_put(&b, name);
    return buf_str(&b);
}

void test_short_name_finds_the_long_one(void)
{
    struct world w;
    struct file_long_path_args args;
    world_begin(&w);
    CHECK_OK(create_directory(&w, "A long directory"));
    CHECK_OK(create_file(&w, "A long directory/.Dotted File", 0));
    CHECK_OK(create_file(&w, "A long directory/file.text", 0));
    struct str directory = casefold_utf8(&w.arena, of(&w, "A long directory"));
    CHECK_OK(lengthen(&w, join(&w, directory, of(&w, ".Dotted File")), &args));
    CHECK(args.exists);
    CHECK_STR(args.long_path, STR("A long directory/.Dotted File"));
    CHECK_OK(lengthen(&w, join(&w, directory, STR("new file")), &args));
    CHECK(!args.exists);
    CHECK_STR(args.long_path, STR("A long directory/new file"));
    CHECK_OK(lengthen(&w, join(&w, directory, of(&w, "not there.text")), &args));
    CHECK(!args.exists);
    CHECK_ERR(lengthen(&w, join(&w, of(&w, "not there"), STR("f")), &args), ERR_PARENT_NOT_FOUND);
    /* A file that is really called so comes first. */
    struct str name = join(&w, STR("A long directory"), of(&w, "file.text"));
    char *path = arena_bytes(&w.arena, name.n + 1);
    memcpy(path, name.p, name.n);
    path[name.n] = 0;
    CHECK_OK(create_file(&w, path, 0));
    CHECK_OK(lengthen(&w, name, &args));
    CHECK_STR(args.long_path, name);
    world_end(&w);
}
