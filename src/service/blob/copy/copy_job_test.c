/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/copy/copy_job.h"

#include "service/blob/append.h"
#include "service/blob/copy/copy_fixture.h"
#include "service/blob/copy/incremental.h"
#include "service/blob/page/page.h"

/* ---- a copy that takes more than one transaction ---- */

void test_copy_blob_pending(void)
{
    struct blob_fixture f;
    struct blob_head head;
    bf_init(&f);
    cf_append_blob(&f, "from", BLOB_SOURCE_PIECES * 2 + 10);
    CHECK_OK(cf_copy(&f, "from", "to"));
    struct blob_copy_state state = cf_state(&f, "to");
    CHECK_INT(state.status, BLOB_COPY_PENDING);
    CHECK_INT(state.done, BLOB_SOURCE_PIECES);
    CHECK_INT(state.completed, 0);
    CHECK_OK(bf_properties(&f, bf_blob(&f, "to"), &head));
    CHECK_INT(head.size, 0);
    /* Meanwhile nobody writes it, leases it or deletes it. */
    CHECK_ERR(bf_put(&f, bf_blob(&f, "to"), STR("x"), NULL), ERR_PENDING_COPY_OPERATION);
    CHECK_ERR(bf_set_metadata(&f, bf_blob(&f, "to"), "x", NULL), ERR_PENDING_COPY_OPERATION);
    CHECK_ERR(bf_acquire(&f, "to", 'A', 15), ERR_PENDING_COPY_OPERATION);
    CHECK_ERR(bf_delete(&f, bf_blob(&f, "to"), BLOB_SNAPSHOTS_KEEP), ERR_PENDING_COPY_OPERATION);
    CHECK_ERR(bf_stage(&f, bf_blob(&f, "to"), "1", STR("x")), ERR_PENDING_COPY_OPERATION);
    CHECK_ERR(cf_copy(&f, "from", "to"), ERR_PENDING_COPY_OPERATION);
    CHECK_ERR(cf_copy(&f, "to", "third"), ERR_PENDING_COPY_OPERATION);
    int64_t time;
    CHECK_ERR(bf_take_snapshot(&f, bf_blob(&f, "to"), &time), ERR_PENDING_COPY_OPERATION);
    int64_t etag = head.etag;
    CHECK_INT(cf_advance(&f, "to"), 2);
    state = cf_state(&f, "to");
    CHECK_INT(state.status, BLOB_COPY_SUCCESS);
    CHECK_STR(bf_content(&f, "to"), bf_content(&f, "from"));
    CHECK_OK(bf_properties(&f, bf_blob(&f, "to"), &head));
    CHECK_INT(head.block_count, BLOB_SOURCE_PIECES * 2 + 10);
    CHECK(head.etag != etag);
    CHECK_OK(bf_set_metadata(&f, bf_blob(&f, "to"), "x", NULL));
    CHECK_INT(cf_state(&f, "to").status, BLOB_COPY_NONE);
    bf_release(&f);
}

void test_copy_blob_pending_pages(void)
{
    struct blob_fixture f;
    bf_init(&f);
    cf_page_blob(&f, "from", 1500);
    int64_t time;
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "from"), &time));
    struct blob_source source = cf_source(&f, "from");
    source.at = (struct blob_at){.item = BLOB_SNAPSHOT, .time = time};
    CHECK_OK(cf_copy_to(&f, &source, bf_blob(&f, "to"), (struct blob_copy_wishes){0}));
    CHECK_INT(cf_state(&f, "to").status, BLOB_COPY_PENDING);
    /* The base of a snapshot may change. */
    struct blob_page_args clear = {.request = bf_blob(&f, "from"), .offset = 0, .length = 1 << 20};
    CHECK_OK(bf_update(&f, blob_put_page, &clear));
    CHECK(cf_advance(&f, "to") > 1);
    CHECK_INT(cf_state(&f, "to").status, BLOB_COPY_SUCCESS);
    for (unsigned i = 0; i < 1500; i += 499) {
        struct blob_get_args get = {.request = bf_blob(&f, "to"),
                                    .store = &f.store,
                                    .wants_content = true,
                                    .has_range = true,
                                    .range_offset = (uint64_t)i * 8192,
                                    .range_length = 512};
        CHECK_OK(bf_view(&f, blob_get_blob, &get));
        CHECK_INT(get.pieces.count, 1);
        CHECK_STR(((struct str){get.pieces.items[0].bytes, 512}), bf_bytes(&f, 512, i));
    }
    bf_release(&f);
}

void test_copy_blob_failed(void)
{
    struct blob_fixture f;
    bf_init(&f);
    cf_append_blob(&f, "from", BLOB_SOURCE_PIECES + 10);
    CHECK_OK(cf_copy(&f, "from", "to"));
    CHECK_OK(bf_delete(&f, bf_blob(&f, "from"), BLOB_SNAPSHOTS_KEEP));
    CHECK_INT(cf_advance(&f, "to"), 1);
    struct blob_copy_state state = cf_state(&f, "to");
    CHECK_INT(state.status, BLOB_COPY_FAILED);
    CHECK(str_starts(state.description, STR("412 ")));
    CHECK_INT(bf_content(&f, "to").n, 0);
    CHECK_OK(bf_delete(&f, bf_blob(&f, "to"), BLOB_SNAPSHOTS_KEEP));
    bf_sweep(&f);
    CHECK_INT(bf_rows(&f), 1);
    bf_release(&f);
}

void test_abort_copy_blob(void)
{
    struct blob_fixture f;
    bf_init(&f);
    cf_append_blob(&f, "from", BLOB_SOURCE_PIECES + 10);
    struct blob_abort_args abort = {.request = bf_blob(&f, "to"), .id = bf_guid('I')};
    CHECK_ERR(bf_update(&f, blob_abort_copy_blob, &abort), ERR_BLOB_NOT_FOUND);
    cf_append_blob(&f, "to", 1);
    CHECK_ERR(bf_update(&f, blob_abort_copy_blob, &abort), ERR_NO_PENDING_COPY_OPERATION);
    CHECK_OK(bf_acquire(&f, "to", 'A', LEASE_INFINITE));
    struct blob_source source = cf_source(&f, "from");
    CHECK_OK(cf_copy_to(&f, &source, bf_with_lease(&f, "to", 'A'), (struct blob_copy_wishes){0}));
    /* A destination that is leased for good wants its id for this too. */
    CHECK_ERR(bf_update(&f, blob_abort_copy_blob, &abort), ERR_LEASE_ID_MISSING);
    abort.request = bf_with_lease(&f, "to", 'B');
    CHECK_ERR(bf_update(&f, blob_abort_copy_blob, &abort),
              ERR_LEASE_ID_MISMATCH_WITH_BLOB_OPERATION);
    abort.request = bf_with_lease(&f, "to", 'A');
    abort.id = bf_guid('X');
    CHECK_ERR(bf_update(&f, blob_abort_copy_blob, &abort), ERR_COPY_ID_MISMATCH);
    abort.id = bf_guid('I');
    CHECK_OK(bf_update(&f, blob_abort_copy_blob, &abort));
    CHECK_INT(cf_state(&f, "to").status, BLOB_COPY_ABORTED);
    CHECK_INT(bf_content(&f, "to").n, 0);
    CHECK_ERR(bf_update(&f, blob_abort_copy_blob, &abort), ERR_NO_PENDING_COPY_OPERATION);
    CHECK_OK(bf_delete(&f, bf_with_lease(&f, "to", 'A'), BLOB_SNAPSHOTS_KEEP));
    CHECK_OK(bf_delete(&f, bf_blob(&f, "from"), BLOB_SNAPSHOTS_KEEP));
    bf_sweep(&f);
    CHECK_INT(bf_rows(&f), 1);
    bf_release(&f);
}

/* Put Page, Put Block and leases keep the copy's properties; other writes remove them. */
void test_copy_blob_state_goes(void)
{
    struct blob_fixture f;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "from"), STR("x"), NULL));
    CHECK_OK(cf_copy(&f, "from", "to"));
    CHECK_OK(bf_stage(&f, bf_blob(&f, "to"), "1", STR("x")));
    CHECK_OK(bf_acquire(&f, "to", 'A', LEASE_INFINITE));
    CHECK_INT(cf_state(&f, "to").status, BLOB_COPY_SUCCESS);
    CHECK_OK(bf_commit(&f, bf_with_lease(&f, "to", 'A'), "u1", NULL));
    CHECK_INT(cf_state(&f, "to").status, BLOB_COPY_NONE);
    cf_page_blob(&f, "pages", 1);
    CHECK_OK(cf_copy(&f, "pages", "pages2"));
    struct blob_page_args clear = {.request = bf_blob(&f, "pages2"), .offset = 0, .length = 512};
    CHECK_OK(bf_update(&f, blob_put_page, &clear));
    CHECK_INT(cf_state(&f, "pages2").status, BLOB_COPY_SUCCESS);
    struct blob_set_args set = {.request = bf_blob(&f, "pages2")};
    CHECK_OK(bf_update(&f, blob_set_blob_properties, &set));
    CHECK_INT(cf_state(&f, "pages2").status, BLOB_COPY_NONE);
    bf_release(&f);
}

void test_copy_blob_state_encoding(void)
{
    struct arena a;
    arena_init(&a, 1 << 20);
    struct blob_copy_state state = {.status = BLOB_COPY_FAILED,
                                    .id = bf_guid('I'),
                                    .source = STR("http://x/y"),
                                    .done = 3,
                                    .total = 1ULL << 40,
                                    .completed = BLOB_FIXTURE_NOW,
                                    .description = STR("404"),
                                    .job = 5,
                                    .incremental = true,
                                    .snapshot = 9,
                                    .source_snapshot = 8};
    struct str bytes = blob_copy_encode(&a, &state);
    struct blob_copy_state back;
    CHECK_OK(blob_copy_decode(bytes, &back));
    CHECK_STR(blob_copy_encode(&a, &back), bytes);
    CHECK_INT(back.total, 1LL << 40);
    CHECK(guid_eq(&back.id, &state.id));
    CHECK_ERR(blob_copy_decode(STR("\xff\xff"), &back), ERR_CORRUPT);
    CHECK_OK(blob_copy_decode(STR_NONE, &back));
    CHECK_INT(back.status, BLOB_COPY_NONE);
    arena_release(&a);
}

/* ---- Incremental Copy Blob ---- */

static struct blob_incremental_args follow(struct blob_fixture *f, int64_t time)
{
    struct blob_incremental_args args = {.request = bf_blob(f, "to"),
                                         .id = bf_guid('I'),
                                         .url = STR("http://here/a/c/from?snapshot=x"),
                                         .source = cf_source(f, "from")};
    args.source.at = (struct blob_at){.item = BLOB_SNAPSHOT, .time = time};
    return args;
}

/* More than one transaction can do: a job, and a snapshot when it has ended. */
void test_incremental_copy_blob(void)
{
    struct blob_fixture f;
    int64_t time;
    bf_init(&f);
    cf_page_blob(&f, "from", 4500);
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "from"), &time));
    struct blob_incremental_args args = follow(&f, time);
    CHECK_OK(blob_incremental_find(&f.store, f.partition, &args));
    CHECK(!args.whole);
    CHECK_OK(bf_update(&f, blob_incremental_copy_blob, &args));
    CHECK_INT(args.status, BLOB_COPY_PENDING);
    CHECK(cf_advance(&f, "to") > 1);
    struct blob_copy_state state = cf_state(&f, "to");
    CHECK_INT(state.status, BLOB_COPY_SUCCESS);
    CHECK(state.incremental);
    struct blob_head head;
    CHECK_OK(bf_properties(&f, bf_snapshot(&f, "to", state.snapshot), &head));
    CHECK_INT(head.size, 1 << 30);
    /* The next is what has changed, at once. */
    struct blob_page_args clear = {.request = bf_blob(&f, "from"), .offset = 0, .length = 1 << 20};
    CHECK_OK(bf_update(&f, blob_put_page, &clear));
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "from"), &time));
    args = follow(&f, time);
    CHECK_OK(blob_incremental_find(&f.store, f.partition, &args));
    CHECK(args.whole);
    CHECK(args.since != 0);
    CHECK_OK(bf_update(&f, blob_incremental_copy_blob, &args));
    CHECK_INT(args.status, BLOB_COPY_SUCCESS);
    CHECK(cf_state(&f, "to").snapshot > state.snapshot);
    /* What was found for an older state is not used for a newer one. */
    CHECK_ERR(bf_update(&f, blob_incremental_copy_blob, &args),
              ERR_INCREMENTAL_COPY_OF_EARLIER_SNAPSHOT_NOT_ALLOWED);
    CHECK_OK(bf_delete(&f, bf_blob(&f, "to"), BLOB_SNAPSHOTS_INCLUDE));
    CHECK_OK(bf_delete(&f, bf_blob(&f, "from"), BLOB_SNAPSHOTS_INCLUDE));
    bf_sweep(&f);
    CHECK_INT(bf_rows(&f), 1);
    bf_release(&f);
}

/* A failed copy has changed the blob, so the next one copies everything. */
void test_incremental_copy_blob_failed(void)
{
    struct blob_fixture f;
    int64_t first, second;
    bf_init(&f);
    cf_page_blob(&f, "from", 4500);
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "from"), &first));
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "from"), &second));
    struct blob_incremental_args args = follow(&f, first);
    CHECK_OK(blob_incremental_find(&f.store, f.partition, &args));
    CHECK_OK(bf_update(&f, blob_incremental_copy_blob, &args));
    CHECK_OK(bf_delete(&f, bf_snapshot(&f, "from", first), BLOB_SNAPSHOTS_KEEP));
    CHECK_INT(cf_advance(&f, "to"), 1);
    CHECK_INT(cf_state(&f, "to").status, BLOB_COPY_FAILED);
    args = follow(&f, second);
    CHECK_OK(blob_incremental_find(&f.store, f.partition, &args));
    CHECK_INT(args.since, 0);
    CHECK_OK(bf_update(&f, blob_incremental_copy_blob, &args));
    CHECK(cf_advance(&f, "to") > 1);
    CHECK_INT(cf_state(&f, "to").status, BLOB_COPY_SUCCESS);
    bf_release(&f);
}
