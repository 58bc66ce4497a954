/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/blob_fixture.h"
#include "service/common/record.h"

static struct str joined(struct blob_fixture *f, struct str a, struct str b)
{
    struct buf out = buf_in(&f->arena);
    buf_put(&out, a);
    buf_put(&out, b);
    return buf_str(&out);
}

void test_put_block_makes_no_blob_yet(void)
{
    struct blob_fixture f;
    struct str content;
    bf_init(&f);
    CHECK_OK(bf_stage(&f, bf_blob(&f, "b"), "1", STR("one")));
    CHECK_ERR(bf_get(&f, bf_blob(&f, "b"), &content), ERR_BLOB_NOT_FOUND);
    CHECK_STR(bf_list(&f, (struct blob_list_args){0}), STR(""));
    CHECK_STR(bf_list(&f, (struct blob_list_args){.wants_uncommitted = true}), STR("b? "));
    CHECK_STR(bf_blocks(&f, bf_blob(&f, "b")), STR("|1=3 "));
    bf_release(&f);
}

void test_put_block_last_of_the_same_id_wins(void)
{
    struct blob_fixture f;
    bf_init(&f);
    CHECK_OK(bf_stage(&f, bf_blob(&f, "b"), "1", bf_bytes(&f, 9000, 1)));
    CHECK_OK(bf_stage(&f, bf_blob(&f, "b"), "1", STR("last")));
    CHECK_OK(bf_commit(&f, bf_blob(&f, "b"), "u1", NULL));
    CHECK_STR(bf_content(&f, "b"), STR("last"));
    CHECK_INT(bf_extent_bytes(&f), 0);
    bf_release(&f);
}

void test_put_block_ids_have_one_length(void)
{
    struct blob_fixture f;
    bf_init(&f);
    CHECK_OK(bf_stage(&f, bf_blob(&f, "b"), "11", STR("x")));
    struct str before = bf_dump(&f);
    CHECK_ERR(bf_stage(&f, bf_blob(&f, "b"), "1", STR("x")), ERR_INVALID_BLOB_OR_BLOCK);
    CHECK_STR(bf_dump(&f), before);
    CHECK_OK(bf_commit(&f, bf_blob(&f, "b"), "u11", NULL));
    CHECK_OK(bf_stage(&f, bf_blob(&f, "b"), "222", STR("x")));
    bf_release(&f);
}

/* Makes the set look full: its row counts as many blocks as there may be. */
static struct err fill_set(struct txn *t, void *arg)
{
    struct blob_fixture *f = arg;
    struct blob blob;
    struct blob_request request = bf_blob(f, "b");
    TRY(blob_open(t, &request, BLOB_READ_STORED, &blob));
    struct buf row = buf_in(txn_arena(t));
    record_put_bytes(&row, 1, STR("b"));
    record_put(&row, 2, BLOCKS_UNCOMMITTED_MAX);
    record_put(&row, 3, 1);
    record_put(&row, 4, (uint64_t)txn_now(t));
    return txn_put(t, blob_key_blocks(txn_arena(t), blob.container.incarnation, blob.head.blocks),
                   buf_str(&row));
}

void test_put_block_at_most_a_hundred_thousand(void)
{
    struct blob_fixture f;
    bf_init(&f);
    CHECK_OK(bf_stage(&f, bf_blob(&f, "b"), "1", STR("x")));
    CHECK_OK(bf_update(&f, fill_set, &f));
    CHECK_ERR(bf_stage(&f, bf_blob(&f, "b"), "2", STR("x")), ERR_BLOCK_COUNT_EXCEEDS_LIMIT);
    CHECK_OK(bf_stage(&f, bf_blob(&f, "b"), "1", STR("again")));
    bf_release(&f);
}

void test_put_block_list_joins_blocks_in_order(void)
{
    struct blob_fixture f;
    struct blob_head head;
    bf_init(&f);
    struct str one = bf_bytes(&f, 100, 1), two = bf_bytes(&f, 9000, 2);
    CHECK_OK(bf_stage(&f, bf_blob(&f, "b"), "1", one));
    CHECK_OK(bf_stage(&f, bf_blob(&f, "b"), "2", two));
    CHECK_OK(bf_stage(&f, bf_blob(&f, "b"), "3", bf_bytes(&f, 7000, 3)));
    CHECK_OK(bf_commit(&f, bf_blob(&f, "b"), "u2 l1 l1", &head));
    CHECK(head.size == 9200 && head.block_count == 3);
    CHECK_STR(bf_content(&f, "b"), joined(&f, two, joined(&f, one, one)));
    CHECK_STR(bf_blocks(&f, bf_blob(&f, "b")), STR("2=9000 1=100 1=100 |"));
    bf_sweep(&f); /* block 3 is gone */
    CHECK_OK(bf_delete(&f, bf_blob(&f, "b"), BLOB_SNAPSHOTS_KEEP));
    bf_sweep(&f);
    CHECK_INT(bf_extent_bytes(&f), 0);
    CHECK_INT(bf_rows(&f), 1);
    bf_release(&f);
}

void test_put_block_list_of_committed_and_new_blocks(void)
{
    struct blob_fixture f;
    bf_init(&f);
    struct str one = bf_bytes(&f, 5000, 1), two = bf_bytes(&f, 6000, 2), new1 = bf_bytes(&f, 10, 3);
    CHECK_OK(bf_stage(&f, bf_blob(&f, "b"), "1", one));
    CHECK_OK(bf_stage(&f, bf_blob(&f, "b"), "2", two));
    CHECK_OK(bf_commit(&f, bf_blob(&f, "b"), "l1 l2", NULL));
    CHECK_OK(bf_stage(&f, bf_blob(&f, "b"), "1", new1));
    CHECK_OK(bf_commit(&f, bf_blob(&f, "b"), "c2 l1", NULL));
    CHECK_STR(bf_content(&f, "b"), joined(&f, two, new1));
    CHECK_OK(bf_commit(&f, bf_blob(&f, "b"), "c1 c2 c1", NULL));
    CHECK_STR(bf_content(&f, "b"), joined(&f, new1, joined(&f, two, new1)));
    CHECK_OK(bf_commit(&f, bf_blob(&f, "b"), "", NULL));
    CHECK_STR(bf_content(&f, "b"), STR(""));
    bf_sweep(&f);
    CHECK_INT(bf_extent_bytes(&f), 0);
    bf_release(&f);
}

void test_put_block_list_looks_where_it_is_told(void)
{
    struct blob_fixture f;
    bf_init(&f);
    CHECK_OK(bf_stage(&f, bf_blob(&f, "b"), "1", STR("x")));
    struct str before = bf_dump(&f);
    CHECK_ERR(bf_commit(&f, bf_blob(&f, "b"), "c1", NULL), ERR_INVALID_BLOCK_LIST);
    CHECK_ERR(bf_commit(&f, bf_blob(&f, "b"), "u1 u2", NULL), ERR_INVALID_BLOCK_LIST);
    CHECK_STR(bf_dump(&f), before);
    CHECK_OK(bf_commit(&f, bf_blob(&f, "b"), "u1", NULL));
    CHECK_ERR(bf_commit(&f, bf_blob(&f, "b"), "u1", NULL), ERR_INVALID_BLOCK_LIST);
    CHECK_OK(bf_commit(&f, bf_blob(&f, "b"), "c1", NULL));
    bf_release(&f);
}

void test_put_block_list_keeps_lease_snapshots_and_creation(void)
{
    struct blob_fixture f;
    struct blob_head first, second;
    int64_t snapshot;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("x"), &first));
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "b"), &snapshot));
    CHECK_OK(bf_acquire(&f, "b", 'A', 60));
    bf_seconds(&f, 5);
    CHECK_OK(bf_stage(&f, bf_with_lease(&f, "b", 'A'), "1", STR("y")));
    CHECK_OK(bf_commit(&f, bf_with_lease(&f, "b", 'A'), "l1", &second));
    CHECK(second.created == first.created);
    CHECK_INT(lease_state(&second.lease, clock_now(&f.clock)), LEASE_LEASED);
    CHECK_STR(bf_list(&f, (struct blob_list_args){.wants_snapshots = true}), STR("b@ b "));
    bf_release(&f);
}

/* A blob of more blocks than one row of the list, and of more pieces than one chunk, holds. */
void test_put_block_list_of_many_blocks(void)
{
    enum { MANY = BLOB_BLOCK_LIST_ROW + 100 };
    struct blob_fixture f;
    static struct block_entry entries[MANY];
    bf_init(&f);
    for (unsigned i = 0; i < MANY; i++) {
        struct str id = arena_printf(&f.arena, "%04u", i);
        CHECK_OK(bf_stage(&f, bf_blob(&f, "b"), id.p, id));
        entries[i] = (struct block_entry){BLOCK_LATEST, id};
    }
    struct block_commit_args args = {
        .request = bf_blob(&f, "b"), .entries = entries, .count = MANY};
    CHECK_OK(bf_update(&f, blob_put_block_list, &args));
    CHECK_INT(args.head.size, MANY * 4);
    struct str content = bf_content(&f, "b");
    for (unsigned i = 0; i < MANY; i++)
        CHECK(memcmp(content.p + 4 * (size_t)i, entries[i].id.p, 4) == 0);
    /* Again, the other way round, from what is committed. */
    for (unsigned i = 0; i < MANY / 2; i++) {
        struct block_entry e = entries[i];
        entries[i] = entries[MANY - 1 - i];
        entries[MANY - 1 - i] = e;
    }
    CHECK_OK(bf_update(&f, blob_put_block_list, &args));
    CHECK(memcmp(bf_content(&f, "b").p, entries[0].id.p, 4) == 0);
    CHECK_OK(bf_delete(&f, bf_blob(&f, "b"), BLOB_SNAPSHOTS_KEEP));
    bf_sweep(&f);
    CHECK_INT(bf_rows(&f), 1);
    bf_release(&f);
}

void test_get_block_list_of_what_is_not_there(void)
{
    struct blob_fixture f;
    bf_init(&f);
    struct block_list_args args = {.request = bf_blob(&f, "b")};
    CHECK_ERR(bf_view(&f, blob_get_block_list, &args), ERR_BLOB_NOT_FOUND);
    bf_release(&f);
}

void test_get_block_list_of_a_blob_put_whole(void)
{
    struct blob_fixture f;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("x"), NULL));
    CHECK_OK(bf_stage(&f, bf_blob(&f, "b"), "2", STR("yy")));
    CHECK_OK(bf_stage(&f, bf_blob(&f, "b"), "1", STR("z")));
    CHECK_STR(bf_blocks(&f, bf_blob(&f, "b")), STR("|1=1 2=2 "));
    bf_release(&f);
}

void test_blocks_go_after_a_week_without_use(void)
{
    struct blob_fixture f;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "there"), STR("x"), NULL));
    CHECK_OK(bf_stage(&f, bf_blob(&f, "there"), "1", bf_bytes(&f, 5000, 1)));
    CHECK_OK(bf_stage(&f, bf_blob(&f, "not"), "1", bf_bytes(&f, 5000, 1)));
    CHECK_OK(bf_stage(&f, bf_blob(&f, "used"), "1", STR("1")));
    bf_seconds(&f, 6 * 86400);
    bf_sweep(&f);
    CHECK_STR(bf_blocks(&f, bf_blob(&f, "there")), STR("|1=5000 "));
    CHECK_OK(bf_stage(&f, bf_blob(&f, "used"), "2", STR("2")));
    bf_seconds(&f, 86401);
    bf_sweep(&f);
    CHECK_STR(bf_blocks(&f, bf_blob(&f, "there")), STR("|"));
    CHECK_STR(bf_blocks(&f, bf_blob(&f, "used")), STR("|1=1 2=1 "));
    CHECK_STR(bf_list(&f, (struct blob_list_args){.wants_uncommitted = true}), STR("there used? "));
    CHECK_INT(bf_extent_bytes(&f), 0);
    CHECK_STR(bf_content(&f, "there"), STR("x"));
    bf_release(&f);
}
