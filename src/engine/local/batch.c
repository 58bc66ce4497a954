/* SPDX-License-Identifier: Apache-2.0 */
/* The batch that the committer builds: updates run one after the other over one overlay of rows.
 * An update that fails is rolled back. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "core/mem.h"
#include "engine/local/local_internal.h"

enum {
    /* Of the space that extents leave free, new rows may use all but this part; the rest is
     * reserved for deletes. The free space is checked again whenever the journal has grown by
     * that part. */
    ROOM_SHARE = 2,
    COMING_SMALL = 2048, /* small updates are admitted until half of the reserve is used */
    ROOM_LOOK_SHARE = 16,
};

void batch_clear(struct batch *b)
{
    publish_forget(b);
    tree_put(&b->overlay);
    b->overlay.random = TREE_SEED;
    b->bytes = 0;
    b->coming = 0;
    b->going = 0;
    b->adopted_count = 0;
    b->dropped_count = 0;
}

/* Recording a delete takes space, too. So on a nearly full disk the engine admits only updates
 * that add few bytes, delete rows, or lead to deletes. Then messages can still be received and
 * deleted, users can delete what filled the disk, and the collector can work. */
void batch_look_for_room(struct local_engine *e)
{
    struct disk_room room;
    uint64_t written = atomic_load(&e->journal_bytes);
    if (!atomic_load(&e->room_short) && written < e->room_look_at)
        return;
    if (err_is(local_disk_room(e, &room)))
        return; /* the write itself will show whether there is space */
    atomic_store(&e->room_short, room.free < room.reserve / ROOM_SHARE);
    e->coming_max = room.free < room.reserve / ROOM_SHARE / 2 ? 0 : COMING_SMALL;
    e->room_look_at = written + room.reserve / ROOM_LOOK_SHARE;
}

static bool needs_room(const struct local_engine *e, size_t coming_before, size_t going_before)
{
    const struct batch *b = &e->batch;
    return b->coming - coming_before > e->coming_max && b->going == going_before;
}

struct row *batch_find(struct batch *b, struct str key)
{
    return tree_find(&b->overlay, key);
}

static void note_overlaid(struct batch *b, struct overlaid o)
{
    if (b->overlaid_count == b->overlaid_capacity) {
        b->overlaid_capacity = b->overlaid_capacity == 0 ? 64 : b->overlaid_capacity * 2;
        b->overlaid = mem_realloc(b->overlaid, b->overlaid_capacity * sizeof *b->overlaid);
    }
    b->overlaid[b->overlaid_count++] = o;
}

/* Keeps the replaced row until the outcome of the update is known. (Keeping the tree's old root
 * instead would make every update copy the paths to its rows.) */
void batch_insert(struct batch *b, struct row *row)
{
    struct row *before = tree_exchange(&b->overlay, row);
    if (before != NULL)
        row->born = before->born;
    note_overlaid(b, (struct overlaid){row, before, 0});
}

void batch_append(struct batch *b, struct row *row, struct str bytes)
{
    assert(bytes.n <= row->room && row->body_n == 0);
    note_overlaid(b, (struct overlaid){row, row, row->value_n});
    if (bytes.n > 0)
        memcpy(row->bytes + row->key_n + row->value_n, bytes.p, bytes.n);
    row->value_n += (uint32_t)bytes.n;
    row->room -= (uint32_t)bytes.n;
}

static void batch_keep(struct batch *b)
{
    for (size_t i = 0; i < b->overlaid_count; i++) {
        const struct overlaid *o = &b->overlaid[i];
        if (o->before != NULL && o->before != o->row)
            row_put(o->before);
    }
    b->overlaid_count = 0;
}

/* Rolls back from the last write to the first, so that a row written twice returns to its first
 * value. */
static void batch_take_back(struct batch *b)
{
    assert(b->overlay.root != NULL || b->overlaid_count == 0);
    for (size_t i = b->overlaid_count; i > 0; i--) {
        const struct overlaid *o = &b->overlaid[i - 1];
        struct row *row = row_get(o->row); /* the key is needed until the row is removed */
        if (o->before == row) {
            row->room += row->value_n - o->value_n;
            row->value_n = o->value_n;
        } else if (o->before != NULL) {
            tree_insert(&b->overlay, o->before);
        } else {
            tree_remove(&b->overlay, row_key(row));
        }
        row_put(row);
    }
    b->overlaid_count = 0;
}

/* On an error the batch is unchanged. */
void batch_run(struct local_engine *e, struct engine_update *u)
{
    struct batch *b = &e->batch;
    size_t adopted_before = b->adopted_count;
    size_t dropped_before = b->dropped_count;
    size_t coming_before = b->coming;
    size_t going_before = b->going;
    struct local_txn t;
    local_txn_init(&t, e, e->published, u->partition, ENGINE_WAIT);
    e->last_stamp = t.base.now > e->last_stamp ? t.base.now : e->last_stamp + 1;
    t.base.stamp = e->last_stamp;
    t.base.writable = true;
    t.batch = b;
    u->result = txn_run_update(&t.base, &e->base, u);
    local_txn_release(&t);
    if (!err_is(u->result) && (u->hints & HINT_SMALL) == 0 && atomic_load(&e->room_short) &&
        needs_room(e, coming_before, going_before))
        u->result = err_cause(ERR_NO_SPACE, ENOSPC);
    if (!err_is(u->result)) {
        batch_keep(b);
        return;
    }
    batch_take_back(b);
    b->adopted_count = adopted_before;
    b->dropped_count = dropped_before;
}
