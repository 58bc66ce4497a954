/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/local/recover.h"

#include "core/log.h"
#include "engine/local/local_internal.h"

enum { SWEEP_ROWS_MAX = 256 };

/* ---- ranges that no row names ---- */

static struct err punch_gap(struct segment *segment, uint64_t from, uint64_t to)
{
    return to == from || segment_punch(segment, from, to - from) ? OK : err_new(ERR_IO);
}

/* Walks over the segment's extents as of start-up. Extents dropped since are still among them,
 * because a view may be reading them. */
static struct err clear_gaps(struct local_engine *e, struct segment *segment, struct walk *walk)
{
    uint64_t at = 0;
    walk_seek_first(walk);
    for (;; walk_next(walk)) {
        struct str key;
        TRY(walk_key(walk, &key));
        if (!str_given(key))
            break;
        uint64_t id;
        uint64_t offset;
        struct extent_row row;
        if (!extent_key_read(key, &id, &offset) || !extent_stored_read(walk_value(walk), &row) ||
            offset < at)
            return err_new(ERR_CORRUPT);
        TRY(punch_gap(segment, at, offset));
        at = offset + segment_align(extent_room(row.length));
        if (atomic_load(&e->reclaimer.stopping))
            return err_new(ERR_STOPPING);
    }
    /* Past the last extent the file is truncated, even if it contains none. It is unlinked in that
     * case, but a power cut may bring it back after the last check of such files. */
    return segment_cut(segment, at);
}

static struct err recover_segment(struct local_engine *e, uint64_t id)
{
    char first[EXTENT_KEY_BYTES];
    char past[EXTENT_KEY_BYTES];
    extent_key_write(first, SPACE_EXTENTS, id, 0);
    extent_key_write(past, SPACE_EXTENTS, id + 1, 0);
    struct segment *segment;
    TRY(segments_use(&e->segments, id, 0, &segment));
    struct walk walk;
    walk_init(&walk, e->reclaimer.begin, ENGINE_WAIT, (struct str){first, sizeof first},
              (struct str){past, sizeof past});
    struct err error = clear_gaps(e, segment, &walk);
    walk_release(&walk);
    segment_put(&e->segments, segment);
    return error;
}

/* Examines one segment. False if there was none. */
static bool recover_next_segment(struct local_engine *e)
{
    struct reclaimer *r = &e->reclaimer;
    uint64_t id;
    if (!segments_next(&e->segments, r->recover_next, &id) || id >= r->recover_past)
        return false;
    struct err error = recover_segment(e, id);
    if (error.code == ERR_STOPPING)
        return true;
    r->recover_next = id + 1;
    if (err_is(error) || !segments_settle(&e->segments, id)) {
        /* It stays pending, so the next start tries again. */
        log_line(LOG_ERROR, "segment %llu could not be cleared up", (unsigned long long)id);
        return true;
    }
    segments_recovered(&e->segments, id);
    reclaim_unlink_if_empty(e, id);
    return true;
}

/* ---- garbage rows ---- */

/* Takes up to SWEEP_ROWS_MAX rows, starting where the last call stopped. */
static struct err take_garbage(struct reclaimer *r, struct waste *waste, size_t *count)
{
    static const char past[] = {SPACE_GARBAGE + 1};
    struct walk walk;
    struct err error = OK;
    walk_init(&walk, r->begin, ENGINE_WAIT, (struct str){r->sweep_from, sizeof r->sweep_from},
              (struct str){past, sizeof past});
    walk_seek_first(&walk);
    for (*count = 0; *count < SWEEP_ROWS_MAX; walk_next(&walk)) {
        struct str key;
        struct extent_row row;
        struct waste *w = &waste[*count];
        error = walk_key(&walk, &key);
        if (err_is(error) || !str_given(key))
            break;
        if (!extent_key_read(key, &w->segment, &w->offset) ||
            !extent_stored_read(walk_value(&walk), &row)) {
            error = err_new(ERR_CORRUPT);
            break;
        }
        *w = (struct waste){0, w->segment, w->offset, extent_room(row.length), true};
        *count += 1;
    }
    walk_release(&walk);
    return error;
}

static void sweep_garbage(struct local_engine *e)
{
    struct reclaimer *r = &e->reclaimer;
    struct waste waste[SWEEP_ROWS_MAX];
    size_t count;
    if (err_is(take_garbage(r, waste, &count)))
        log_line(LOG_ERROR, "garbage rows could not be read");
    r->sweeping = count == SWEEP_ROWS_MAX;
    if (count == 0)
        return;
    const struct waste *last = &waste[count - 1];
    extent_key_write(r->sweep_from, SPACE_GARBAGE, last->segment, last->offset + 1);
    for (size_t i = 0; i < count; i++)
        segments_add_waste(&e->segments, waste[i].segment);
    reclaim_waste(e, waste, count);
}

void recover_some(struct local_engine *e)
{
    struct reclaimer *r = &e->reclaimer;
    if (recover_next_segment(e))
        return;
    if (r->sweeping) {
        sweep_garbage(e);
        return;
    }
    state_put(r->begin);
    r->begin = NULL;
}
