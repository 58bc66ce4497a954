/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/tar.h"

#include <stdio.h>
#include <unistd.h>

#include "core/test.h"

struct archive {
    FILE *file;
    struct tar_writer writer;
    struct tar_reader reader;
    struct arena arena;
};

static void begin(struct archive *t)
{
    t->file = tmpfile();
    CHECK(t->file != NULL);
    t->writer = (struct tar_writer){.fd = fileno(t->file)};
    arena_init(&t->arena, 1 << 24);
}

static void end(struct archive *t)
{
    tar_reader_release(&t->reader);
    arena_release(&t->arena);
    (void)fclose(t->file);
}

static void put(struct archive *t, const struct item_content *entry, struct str bytes)
{
    CHECK_OK(tar_begin(&t->writer, &t->arena, entry));
    CHECK_OK(tar_write(&t->writer, bytes));
    CHECK_OK(tar_end(&t->writer));
}

void test_tar_gives_back_what_was_put(void)
{
    struct archive t;
    struct tar_entry e;
    bool found, whole;
    char longer[300];
    char bytes[16];
    struct item_span spans[] = {{512, 4}, {4096, 3}};
    memset(longer, 'x', sizeof longer);
    begin(&t);
    struct item_content plain = {.label = STR("a/b.txt"), .size = 5};
    struct item_content named = {.label = {longer, sizeof longer}, .size = 0};
    struct item_content holes = {.label = STR("h\xC3\xB6hle"),
                                 .size = 10000,
                                 .sparse = true,
                                 .spans = spans,
                                 .span_count = 2};
    struct item_content nothing = {.label = STR("empty"), .size = 700, .sparse = true};
    put(&t, &plain, STR("hello"));
    put(&t, &named, STR(""));
    put(&t, &holes, STR("abcdxyz"));
    put(&t, &nothing, STR(""));
    CHECK_OK(tar_finish(&t.writer));
    tar_reader_init(&t.reader, fileno(t.file));
    CHECK_OK(tar_next(&t.reader, &t.arena, &e, &found, &whole));
    CHECK(found && str_eq(e.content.label, plain.label) && e.content.size == 5);
    CHECK_OK(tar_read_at(&t.reader, e.data, bytes, 5));
    CHECK(memcmp(bytes, "hello", 5) == 0);
    CHECK_OK(tar_next(&t.reader, &t.arena, &e, &found, &whole));
    CHECK(found && str_eq(e.content.label, named.label) && e.content.size == 0);
    CHECK_OK(tar_next(&t.reader, &t.arena, &e, &found, &whole));
    CHECK(found && str_eq(e.content.label, holes.label) && e.content.size == 10000);
    CHECK(e.content.sparse && e.content.span_count == 2 && e.content.spans[1].offset == 4096);
    CHECK_OK(tar_read_at(&t.reader, e.data, bytes, 7));
    CHECK(memcmp(bytes, "abcdxyz", 7) == 0);
    CHECK_OK(tar_next(&t.reader, &t.arena, &e, &found, &whole));
    CHECK(found && e.content.sparse && e.content.span_count == 0 && e.content.size == 700);
    CHECK_OK(tar_next(&t.reader, &t.arena, &e, &found, &whole));
    CHECK(!found && whole);
    end(&t);
}

/* Every prefix and every flipped byte of an archive is read to the end without harm. */
void test_tar_survives_damage(void)
{
    struct archive t;
    struct item_span spans[] = {{0, 3}};
    begin(&t);
    struct item_content holes = {
        .label = STR("x"), .size = 600, .sparse = true, .spans = spans, .span_count = 1};
    put(&t, &holes, STR("abc"));
    CHECK_OK(tar_finish(&t.writer));
    for (uint64_t i = 0; i < t.writer.offset; i++) {
        bool found = true, whole;
        char byte, other;
        CHECK_INT(pread(fileno(t.file), &byte, 1, (off_t)i), 1);
        other = (char)(byte ^ 0x15);
        CHECK_INT(pwrite(fileno(t.file), &other, 1, (off_t)i), 1);
        tar_reader_init(&t.reader, fileno(t.file));
        for (unsigned n = 0; n < 8 && found; n++) {
            struct tar_entry e;
            if (err_is(tar_next(&t.reader, &t.arena, &e, &found, &whole)))
                break;
        }
        tar_reader_release(&t.reader);
        CHECK_INT(pwrite(fileno(t.file), &byte, 1, (off_t)i), 1);
    }
    t.reader.spare = NULL;
    end(&t);
}
