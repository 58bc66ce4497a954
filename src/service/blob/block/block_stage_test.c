/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/block/block_stage.h"

#include "service/blob/blob_fixture.h"

enum { MANY = BLOCK_STAGE_MIN + 100, BLOCK_BYTES = BLOCK_INLINE_MAX + 44 };

struct staged_fixture {
    struct blob_fixture f;
    struct block_entry entries[MANY];
    struct block_commit_args args;
};

/* Every third block is small enough to be stored in its row, the others are extents. */
static struct str block_bytes(struct blob_fixture *f, unsigned i, unsigned seed)
{
    return bf_bytes(f, i % 3 == 0 ? 4 : BLOCK_BYTES, i + seed);
}

static struct staged_fixture *begin(void)
{
    static struct staged_fixture s;
    s = (struct staged_fixture){0};
    bf_init(&s.f);
    for (unsigned i = 0; i < MANY; i++) {
        struct str id = arena_printf(&s.f.arena, "%04u", i);
        CHECK_OK(bf_stage(&s.f, bf_blob(&s.f, "b"), id.p, block_bytes(&s.f, i, 0)));
        s.entries[i] = (struct block_entry){BLOCK_LATEST, id};
    }
    s.args = (struct block_commit_args){
        .request = bf_blob(&s.f, "b"), .entries = s.entries, .count = MANY};
    return &s;
}

static void stage(struct staged_fixture *s)
{
    block_stage_list(&s->f.store, s->f.partition, &s->args, &s->args.stage);
    CHECK(s->args.stage != NULL);
}

static struct str expected(struct staged_fixture *s, bool backwards)
{
    struct buf all = buf_in(&s->f.arena);
    for (unsigned i = 0; i < MANY; i++)
        buf_put(&all, block_bytes(&s->f, backwards ? MANY - 1 - i : i, 0));
    return buf_str(&all);
}

void test_put_block_list_staged(void)
{
    struct staged_fixture *s = begin();
    stage(s);
    CHECK_OK(bf_update(&s->f, blob_put_block_list, &s->args));
    CHECK_STR(bf_content(&s->f, "b"), expected(s, false));
    CHECK_INT(s->args.head.block_count, MANY);
    bf_sweep(&s->f);
    CHECK_STR(bf_content(&s->f, "b"), expected(s, false));
    bf_end(&s->f);
}

/* From what is committed, in another order. */
void test_put_block_list_staged_of_committed(void)
{
    struct staged_fixture *s = begin();
    CHECK_OK(bf_update(&s->f, blob_put_block_list, &s->args));
    for (unsigned i = 0; i < MANY / 2; i++) {
        struct block_entry e = s->entries[i];
        s->entries[i] = s->entries[MANY - 1 - i];
        s->entries[MANY - 1 - i] = e;
    }
    stage(s);
    CHECK_OK(bf_update(&s->f, blob_put_block_list, &s->args));
    CHECK_STR(bf_content(&s->f, "b"), expected(s, true));
    bf_sweep(&s->f);
    CHECK_STR(bf_content(&s->f, "b"), expected(s, true));
    bf_end(&s->f);
}

/* A staged commit and a single transaction make the same rows of the blob, except for ids and
 * times. */
void test_put_block_list_staged_lists_the_same_blocks(void)
{
    struct staged_fixture *s = begin();
    struct str uncommitted = bf_blocks(&s->f, bf_blob(&s->f, "b"));
    stage(s);
    CHECK_STR(bf_blocks(&s->f, bf_blob(&s->f, "b")), uncommitted); /* nobody sees it before */
    CHECK_OK(bf_update(&s->f, blob_put_block_list, &s->args));
    struct str staged = bf_blocks(&s->f, bf_blob(&s->f, "b"));
    s->args.stage = NULL;
    CHECK_OK(bf_update(&s->f, blob_put_block_list, &s->args));
    CHECK_STR(bf_blocks(&s->f, bf_blob(&s->f, "b")), staged);
    bf_end(&s->f);
}

/* If a block is put again, even at the same time, the old one is not committed. */
void test_put_block_list_staged_before_a_block_came(void)
{
    struct staged_fixture *s = begin();
    stage(s);
    CHECK_OK(bf_stage(&s->f, bf_blob(&s->f, "b"), "0001", bf_bytes(&s->f, 4, 99)));
    CHECK_ERR(bf_update(&s->f, blob_put_block_list, &s->args), ERR_STAGE_STALE);
    block_stage_drop(&s->f.store, s->f.partition, s->args.stage);
    stage(s);
    CHECK_OK(bf_update(&s->f, blob_put_block_list, &s->args));
    struct str content = bf_content(&s->f, "b");
    CHECK_STR(str_head(str_from(content, 4), 4), bf_bytes(&s->f, 4, 99));
    bf_sweep(&s->f);
    CHECK_STR(bf_content(&s->f, "b"), content);
    bf_end(&s->f);
}

void test_put_block_list_staged_before_the_blob_was_put(void)
{
    struct staged_fixture *s = begin();
    stage(s);
    CHECK_OK(bf_put(&s->f, bf_blob(&s->f, "b"), STR("other"), NULL));
    CHECK_ERR(bf_update(&s->f, blob_put_block_list, &s->args), ERR_STAGE_STALE);
    block_stage_drop_later(&s->f.store, s->f.partition, s->args.stage);
    s->args.stage = NULL; /* the blocks went with the put */
    CHECK_ERR(bf_update(&s->f, blob_put_block_list, &s->args), ERR_INVALID_BLOCK_LIST);
    CHECK_STR(bf_content(&s->f, "b"), STR("other"));
    bf_end(&s->f);
}

void test_put_block_list_staged_with_a_block_missing(void)
{
    struct staged_fixture *s = begin();
    s->entries[MANY - 1].id = STR("none");
    stage(s);
    CHECK_ERR(bf_update(&s->f, blob_put_block_list, &s->args), ERR_INVALID_BLOCK_LIST);
    block_stage_drop(&s->f.store, s->f.partition, s->args.stage);
    s->entries[MANY - 1].id = STR("0000");
    s->args.stage = NULL;
    stage(s);
    CHECK_OK(bf_update(&s->f, blob_put_block_list, &s->args));
    bf_end(&s->f);
}

/* Uncommitted sets are removed, but not while they may still be committed; after that they cannot
 * be. */
void test_put_block_list_staged_and_left(void)
{
    struct staged_fixture *s = begin();
    uint64_t before = bf_extent_bytes(&s->f);
    stage(s);
    size_t rows = bf_rows(&s->f);
    bf_sweep(&s->f);
    CHECK_INT(bf_rows(&s->f), rows);
    bf_seconds(&s->f, 3600);
    bf_sweep(&s->f);
    CHECK(bf_rows(&s->f) < rows);
    CHECK_INT(bf_extent_bytes(&s->f), before);
    CHECK_ERR(bf_update(&s->f, blob_put_block_list, &s->args), ERR_STAGE_STALE);
    stage(s);
    CHECK_OK(bf_update(&s->f, blob_put_block_list, &s->args));
    CHECK_STR(bf_content(&s->f, "b"), expected(s, false));
    bf_end(&s->f);
}

/* While a set is swept in many steps, its row is gone and some of its blocks remain. */
void test_expiry_passes_blocks_that_are_being_swept(void)
{
    struct staged_fixture *s = begin();
    struct blob_round round = {0}, expiry = {0};
    struct sweep_report report = {0};
    stage(s);
    CHECK_OK(bf_update(&s->f, blob_put_block_list, &s->args));
    CHECK_OK(blob_sweep(&s->f.store, &round, &report));
    CHECK(report.more);
    CHECK_OK(blob_expire(&s->f.store, &expiry, &report));
    bf_end(&s->f);
}
