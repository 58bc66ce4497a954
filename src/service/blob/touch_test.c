/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/touch.h"

#include "service/blob/blob_fixture.h"

static int64_t accessed(struct blob_fixture *f, const char *name)
{
    struct blob_head head;
    CHECK_OK(bf_properties(f, bf_blob(f, name), &head));
    return head.accessed;
}

static void read_it(struct blob_fixture *f, const char *name)
{
    struct blob_head head;
    CHECK_OK(bf_properties(f, bf_blob(f, name), &head));
    struct blob_touch touch = {f->partition, str_of(name), clock_now(&f->clock)};
    blob_touch(f->store.touches, &touch, &head);
}

static void write_down(struct blob_fixture *f)
{
    struct sweep_report report = {.more = true};
    while (report.more)
        CHECK_OK(blob_touch_sweep(&f->store, NULL, &report));
}

void test_touch_is_written_down_by_the_sweeper_once_a_day(void)
{
    struct blob_fixture f;
    struct blob_head before, after;
    bf_init(&f);
    f.store.touches = blob_touches_new();
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("x"), &before));
    read_it(&f, "b");
    CHECK(accessed(&f, "b") == 0);
    write_down(&f);
    CHECK(accessed(&f, "b") == BLOB_FIXTURE_NOW);
    bf_seconds(&f, 86399);
    read_it(&f, "b");
    write_down(&f);
    CHECK(accessed(&f, "b") == BLOB_FIXTURE_NOW);
    bf_seconds(&f, 1);
    read_it(&f, "b");
    read_it(&f, "b");
    write_down(&f);
    CHECK(accessed(&f, "b") == BLOB_FIXTURE_NOW + TICKS_PER_DAY);
    CHECK_OK(bf_properties(&f, bf_blob(&f, "b"), &after));
    CHECK(after.etag == before.etag && after.last_modified == before.last_modified);
    blob_touches_free(f.store.touches);
    bf_release(&f);
}

/* More blobs than fit, a deleted blob, and one in a deleted container do no harm. */
void test_touch_is_bounded_and_forgiving(void)
{
    struct blob_fixture f;
    struct blob_head none = {0};
    bf_init(&f);
    f.store.touches = blob_touches_new();
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("x"), NULL));
    for (int i = 0; i < 5 * BLOB_TOUCHES_MAX; i++) {
        struct str name = arena_printf(&f.arena, "n%d", i);
        struct blob_touch touch = {i % 3 == 0 ? STR("b/a/none") : f.partition, name, 1LL << 60};
        blob_touch(f.store.touches, &touch, &none);
    }
    write_down(&f);
    read_it(&f, "b");
    write_down(&f);
    CHECK(accessed(&f, "b") == BLOB_FIXTURE_NOW);
    read_it(&f, "b");
    blob_touches_free(f.store.touches);
    bf_release(&f);
}
