/* SPDX-License-Identifier: Apache-2.0 */
#include "import/loki.h"

#include <sys/mman.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/test.h"
#include "import/document.h"

struct found {
    int fd;
    struct arena arena;
    struct buf out; /* "collection:document " of each, and "!" for damage */
};

static bool take(void *arg, struct str collection, struct loki_span place)
{
    struct found *f = arg;
    struct str text;
    CHECK_OK(loki_read(f->fd, place, &f->arena, &text));
    buf_printf(&f->out, "%.*s:%.*s ", STR_ARG(collection), STR_ARG(text));
    return true;
}

static void damage(void *arg, uint64_t offset, const char *what)
{
    struct found *f = arg;
    (void)offset;
    (void)what;
    buf_put(&f->out, STR("! "));
}

static void check_walk(struct str text, struct str want, bool whole)
{
    struct found f = {.fd = memfd_create("loki", MFD_CLOEXEC), .out = buf_heap()};
    struct loki_visit visit = {take, damage, &f};
    struct loki_outcome outcome;
    arena_init(&f.arena, 1 << 20);
    CHECK(f.fd >= 0 && write(f.fd, text.p, text.n) == (ssize_t)text.n);
    CHECK_OK(loki_walk(f.fd, &visit, &outcome));
    CHECK_STR(buf_str(&f.out), want);
    CHECK_INT(outcome.whole, whole);
    buf_release(&f.out);
    arena_release(&f.arena);
    (void)close(f.fd);
}

#define HEAD "{\"filename\":\"data\",\"collections\":[{\"name\":\"A\",\"data\":["
#define TAIL "],\"idIndex\":[1],\"events\":{\"data\":[{}]}}],\"databaseVersion\":1.5}"

void test_loki_finds_documents(void)
{
    check_walk(STR(HEAD TAIL), STR(""), true);
    check_walk(STR(HEAD "{\"x\":1},{\"y\":\"}]\\\"{\"}" TAIL),
               STR("A:{\"x\":1} A:{\"y\":\"}]\\\"{\"} "), true);
    check_walk(
        STR("{\"collections\":[{\"name\":\"A\",\"data\":[{}]},{\"name\":\"B\",\"data\":[{}]}]}"),
        STR("A:{} B:{} "), true);
    /* The names that are looked for mean nothing elsewhere. */
    check_walk(STR(HEAD "{\"name\":\"B\",\"data\":[{\"collections\":[]}]}" TAIL),
               STR("A:{\"name\":\"B\",\"data\":[{\"collections\":[]}]} "), true);
}

void test_loki_ends_early(void)
{
    check_walk(STR(""), STR("! "), false);
    check_walk(STR(HEAD "{\"x\":1},{\"y\":"), STR("A:{\"x\":1} ! "), false);
}

/* Documents after the damage are found, even if it is in a list within a document. */
void test_loki_goes_on_behind_damage(void)
{
    check_walk(STR(HEAD "{\"x\":1},{\"y\0\":2},{\"z\":3}" TAIL), STR("A:{\"x\":1} ! A:{\"z\":3} "),
               false);
    check_walk(STR(HEAD "{\"x\":\0[{\"p\":1},{\"q\":2}]},{\"z\":3}" TAIL),
               STR("! A:{\"q\":2} A:{\"z\":3} "), false);
    check_walk(STR(HEAD "{\"x\":1]},{\"z\":3}" TAIL), STR("! A:{\"z\":3} "), false);
}

void test_document_members(void)
{
    struct arena a;
    uint64_t n;
    arena_init(&a, 1 << 20);
    const struct node *node =
        document_parse(&a, STR("{\"n\":7,\"t\":\"x\\u0041\",\"o\":{\"b\":true,\"l\":[1,{}]}}"));
    CHECK(node != NULL);
    CHECK(document_u64(node, "n", &n) && n == 7);
    CHECK_STR(document_text(node, "t"), STR("xA"));
    CHECK(document_true(document_member(node, "o"), "b"));
    CHECK_STR(document_member(node, "o")->source, STR("{\"b\":true,\"l\":[1,{}]}"));
    CHECK(document_member(NULL, "n") == NULL && !str_given(document_text(node, "n")));
    CHECK(document_parse(&a, STR("{\"n\":}")) == NULL);
    CHECK(document_parse(&a, STR("{} x")) == NULL);
    arena_release(&a);
}
