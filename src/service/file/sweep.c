/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/sweep.h"

#include <assert.h>

#include "engine/wait.h"
#include "service/common/content/interval_fold.h"
#include "service/file/copy/copy.h"
#include "service/file/keys.h"
#include "service/file/scope.h"

enum {
    SWEEP_ROWS = 500,           /* per step; other updates wait for a step, about 2 ms */
    SWEEP_PARTITIONS_MAX = 16,  /* per step */
    EXPIRY_PARTITIONS_MAX = 64, /* per step */
    EXPIRY_ROUND_SECONDS = 60,  /* from one round over all shares to the next */
    FOLD_QUIET_SECONDS = 5,     /* without a change to the file, before its chunks are folded */
    FOLD_WAITING_MAX = 256,     /* files skipped in one search because they were changed */
};

/* ---- notes ---- */

static struct str note_key(struct arena *a, const struct sweep_note *note)
{
    struct buf b = buf_in(a);
    buf_putc(&b, 'S');
    buf_put_u8(&b, (uint8_t)note->kind);
    buf_put_be64(&b, note->incarnation);
    buf_put_be64(&b, note->id);
    buf_put_be64(&b, note->more);
    return buf_str(&b);
}

static bool note_of_key(struct str key, struct sweep_note *out)
{
    struct reader r = reader_of(str_from(key, 1));
    out->kind = (enum sweep_kind_file)read_u8(&r);
    out->incarnation = read_be64(&r);
    out->id = read_be64(&r);
    out->more = read_be64(&r);
    return reader_done(&r);
}

struct err file_sweep_note_with(struct txn *t, const struct sweep_note *note, struct str value)
{
    TRY(txn_put(t, note_key(txn_arena(t), note), value));
    return txn_put(t, FILE_KEY_SWEEP, STR(""));
}

struct err file_sweep_note(struct txn *t, const struct sweep_note *note)
{
    return file_sweep_note_with(t, note, STR(""));
}

struct err file_sweep_note_read(struct txn *t, const struct sweep_note *note, struct str *value)
{
    return txn_get(t, note_key(txn_arena(t), note), value);
}

struct err file_sweep_note_drop(struct txn *t, const struct sweep_note *note)
{
    return txn_del(t, note_key(txn_arena(t), note));
}

/* ---- the share that a note is of ---- */

/* It may be deleted but still retained. *found is false if it is gone: then all its rows are
 * removed with it. */
static struct err open_scope(struct txn *t, uint64_t incarnation, struct file_scope *s, bool *found)
{
    struct str row;
    struct err error = file_scope_open_incarnation(t, incarnation, 0, s);
    *found = !err_is(error);
    if (*found || error.code != ERR_SHARE_NOT_FOUND)
        return error;
    TRY(txn_get(t, file_key_deleted(txn_arena(t), incarnation), &row));
    *found = str_given(row);
    if (!*found)
        return OK;
    TRY(share_decode(row, &s->share));
    return file_scope_enter(t, 0, s);
}

/* ---- one step each ---- */

struct step {
    struct sweep_note note;
    bool found; /* there was a note */
    uint64_t removed;
};

static struct err sweep_content(struct txn *t, struct step *step)
{
    struct file_scope s;
    bool found;
    bool done = true;
    TRY(open_scope(t, step->note.incarnation, &s, &found));
    if (found) {
        struct node n = {.content = step->note.id, .has_chunks = true, .has_blocks = true};
        struct interval_map m = file_map(&s, &n);
        TRY(interval_remove(&m, SWEEP_ROWS, &done));
    }
    step->removed += SWEEP_ROWS;
    return done ? file_sweep_note_drop(t, &step->note) : OK;
}

static struct err sweep_voids(struct txn *t, struct step *step)
{
    struct file_scope s;
    struct file_found file;
    bool found;
    bool done = true;
    TRY(open_scope(t, step->note.incarnation, &s, &found));
    if (found)
        TRY(file_find_id(&s, step->note.id, &file));
    if (found && file.exists) {
        struct interval_map m = file_map(&s, &file.node);
        TRY(interval_sweep_voids(&m, SWEEP_ROWS, &done));
        TRY(file_keep_map(&s, &file, &m));
        TRY(file_put(&s, &file));
    }
    return done ? file_sweep_note_drop(t, &step->note) : OK;
}

/* ---- rows that nothing names ---- */

/* True if the row has a chunk's extents; rest is its key, without the prefix of past rows. */
static bool is_chunk(struct str rest)
{
    return rest.n > FILE_CONTENT_KEY_BYTES && rest.p[0] == 'm' &&
           interval_key_is_chunk(str_from(rest, FILE_CONTENT_KEY_BYTES));
}

static struct err drop_row(struct txn *t, struct str key, struct str value)
{
    struct vrow_scope past = {.history = FILE_HISTORY};
    bool is_past = key.p[0] == FILE_HISTORY.p[0];
    struct str rest = is_past ? vrow_past_key(&past, key) : key;
    struct vrow row;
    TRY(txn_del(t, key));
    if (!is_chunk(rest))
        return OK;
    if (!vrow_split(value, &row))
        return err_new(ERR_CORRUPT);
    return interval_drop(t, row.payload);
}

/* The removal of rows under prefixes, one after the other. Each step begins where the last one
 * ended, because a cursor has to skip the tombstones of all rows deleted before. */
struct removal {
    unsigned budget;
    struct str from; /* where the last step ended; empty: at the beginning */
    struct str next; /* where this step ended; absent: nothing is left */
};

static struct err remove_prefix(struct txn *t, struct str prefix, struct removal *m)
{
    struct arena *a = txn_arena(t);
    struct cursor *c;
    if (str_given(m->next) || (m->from.n > 0 && !str_starts(m->from, prefix)))
        return OK; /* for a later step, or done by an earlier one */
    TRY(cursor_open(t, prefix, &c));
    if (m->from.n > 0)
        TRY(cursor_seek(c, m->from));
    m->from = STR("");
    for (; c->valid && m->budget > 0; m->budget--) {
        TRY(drop_row(t, arena_copy(a, c->key), arena_copy(a, c->value)));
        TRY(cursor_next(c));
    }
    if (c->valid)
        m->next = arena_copy(a, c->key);
    cursor_close(c);
    return OK;
}

static struct err sweep_share(struct txn *t, struct step *step)
{
    static const char KINDS[] = {'e', 'i', 'n', 'm', 'p', 'x', 'o', 'Y'};
    struct arena *a = txn_arena(t);
    struct removal m = {.budget = SWEEP_ROWS, .next = STR_NONE};
    TRY(file_sweep_note_read(t, &step->note, &m.from));
    for (size_t i = 0; i < sizeof KINDS; i++) {
        struct str rows = file_key_kind(a, KINDS[i], step->note.incarnation);
        struct buf past = buf_in(a);
        buf_put(&past, FILE_HISTORY);
        buf_put(&past, rows);
        TRY(remove_prefix(t, rows, &m));
        TRY(remove_prefix(t, buf_str(&past), &m));
    }
    step->removed += SWEEP_ROWS - m.budget;
    return str_given(m.next) ? txn_put(t, note_key(a, &step->note), m.next)
                             : file_sweep_note_drop(t, &step->note);
}

/* ---- the past ---- */

static struct err sweep_past_row(struct txn *t, struct cursor *c, const struct file_scope *s,
                                 struct step *step)
{
    struct arena *a = txn_arena(t);
    struct str key = arena_copy(a, c->key);
    struct str value = arena_copy(a, c->value);
    struct vrow row;
    if (!vrow_split(value, &row))
        return err_new(ERR_CORRUPT);
    if (!vrow_past_unseen(&s->rows, key, &row))
        return OK;
    step->removed++;
    return drop_row(t, key, value);
}

/* Scans the past rows of a kind from the position in the note's value. */
static struct err sweep_past(struct txn *t, struct step *step, const struct file_scope *s,
                             struct str from)
{
    struct arena *a = txn_arena(t);
    struct buf all = buf_in(a);
    struct cursor *c;
    unsigned budget = SWEEP_ROWS;
    buf_put(&all, FILE_HISTORY);
    TRY(cursor_open(t, buf_str(&all), &c));
    if (from.n > 0)
        TRY(cursor_seek(c, from));
    for (; c->valid && budget > 0; budget--) {
        struct reader r = reader_of(str_from(c->key, FILE_HISTORY.n + 1));
        if (read_be64(&r) == step->note.incarnation)
            TRY(sweep_past_row(t, c, s, step));
        TRY(cursor_next(c));
    }
    struct str position = c->valid ? arena_copy(a, c->key) : STR_NONE;
    cursor_close(c);
    return str_given(position) ? txn_put(t, note_key(a, &step->note), position)
                               : file_sweep_note_drop(t, &step->note);
}

static struct err sweep_history(struct txn *t, struct step *step)
{
    struct file_scope s;
    struct str from;
    bool found;
    TRY(open_scope(t, step->note.incarnation, &s, &found));
    if (!found)
        return file_sweep_note_drop(t, &step->note);
    TRY(file_sweep_note_read(t, &step->note, &from));
    return sweep_past(t, step, &s, from);
}

/* ---- folding ---- */

struct fold_step {
    struct sweep_note note;
    struct file_scope scope;
    struct file_found file;
    struct interval_map map;
};

static struct err find_file(struct txn *t, struct fold_step *f, bool *found)
{
    TRY(open_scope(t, f->note.incarnation, &f->scope, found));
    if (*found)
        TRY(file_find_id(&f->scope, f->note.id, &f->file));
    *found = *found && f->file.exists;
    return OK;
}

static struct err open_fold(struct txn *t, void *arg, struct interval_map **map)
{
    struct fold_step *f = arg;
    bool found;
    TRY(find_file(t, f, &found));
    *map = found ? &f->map : NULL;
    if (found)
        f->map = file_map(&f->scope, &f->file.node);
    return OK;
}

static struct err drop_fold_note(struct txn *t, void *arg)
{
    const struct fold_step *f = arg;
    return file_sweep_note_drop(t, &f->note);
}

static struct err keep_fold(struct txn *t, void *arg)
{
    struct fold_step *f = arg;
    (void)t;
    TRY(file_keep_map(&f->scope, &f->file, &f->map));
    return file_put(&f->scope, &f->file);
}

static struct err sweep_fold(struct store *store, struct str partition,
                             const struct sweep_note *note)
{
    struct fold_step step = {.note = *note};
    struct interval_folding folding = {.partition = partition,
                                       .chunk = (uint32_t)note->more,
                                       .arg = &step,
                                       .open = open_fold,
                                       .drop_note = drop_fold_note,
                                       .keep = keep_fold};
    return interval_fold_run(store->engine, &folding);
}

/* ---- a partition ---- */

/* A file that is being written to would soon have to be folded again. */
static struct err fold_is_due(struct txn *t, const struct sweep_note *note, bool *due)
{
    struct fold_step f = {.note = *note};
    bool found;
    TRY(find_file(t, &f, &found));
    *due =
        !found || f.file.node.last_modified + FOLD_QUIET_SECONDS * TICKS_PER_SECOND <= txn_now(t);
    return OK;
}

/* All notes of the same kind and file begin with it. */
static struct str note_file(struct arena *a, const struct sweep_note *note)
{
    struct str key = note_key(a, note);
    return (struct str){key.p, key.n - sizeof note->more};
}

/* Skips the files whose folds have to wait, and counts them. */
static struct err find_due(struct txn *t, struct cursor *c, struct step *step, unsigned *waiting)
{
    while (c->valid && *waiting < FOLD_WAITING_MAX) {
        bool due = true;
        if (!note_of_key(c->key, &step->note))
            return err_new(ERR_CORRUPT);
        if (step->note.kind == FILE_SWEEP_FOLD_QUIET)
            TRY(fold_is_due(t, &step->note, &due));
        step->found = due;
        if (due)
            return OK;
        ++*waiting;
        TRY(cursor_skip(c, note_file(txn_arena(t), &step->note)));
    }
    return OK;
}

/* Finds the first note that is due; removes the mark if there are no notes at all. */
static struct err find_note(struct txn *t, void *arg)
{
    struct step *step = arg;
    struct cursor *c;
    unsigned waiting = 0;
    step->found = false;
    TRY(cursor_open(t, STR("S"), &c));
    TRY(find_due(t, c, step, &waiting));
    cursor_close(c);
    return step->found || waiting > 0 ? OK : txn_del(t, FILE_KEY_SWEEP);
}

static struct err run_step(struct txn *t, void *arg)
{
    struct step *step = arg;
    step->removed = 0;
    TRY(find_note(t, step));
    if (!step->found)
        return OK;
    switch (step->note.kind) {
    case FILE_SWEEP_SHARE:
        return sweep_share(t, step);
    case FILE_SWEEP_CONTENT:
        return sweep_content(t, step);
    case FILE_SWEEP_VOIDS:
        return sweep_voids(t, step);
    case FILE_SWEEP_HISTORY:
        return sweep_history(t, step);
    case FILE_SWEEP_FOLD:
    case FILE_SWEEP_FOLD_QUIET:
    case FILE_SWEEP_COPY:
        return OK; /* not within one transaction */
    }
    return err_new(ERR_CORRUPT);
}

static struct err sweep_partition(struct store *store, struct str partition,
                                  struct sweep_report *report)
{
    struct step step = {0};
    TRY(engine_update_wait(store->engine, partition, run_step, &step));
    report->removed += step.removed;
    report->more = report->more || step.found;
    if (step.found &&
        (step.note.kind == FILE_SWEEP_FOLD || step.note.kind == FILE_SWEEP_FOLD_QUIET))
        return sweep_fold(store, partition, &step.note);
    if (step.found && step.note.kind == FILE_SWEEP_COPY)
        return file_copy_step(store, partition, &step.note);
    return OK;
}

/* ---- over all shares ---- */

struct visit {
    struct arena arena;
    struct str partitions[EXPIRY_PARTITIONS_MAX];
    size_t count, max;
    bool more;
};

static bool take_partition(struct str partition, struct str value, void *arg)
{
    struct visit *visit = arg;
    (void)value;
    visit->more = visit->count == visit->max;
    if (!visit->more)
        visit->partitions[visit->count++] = arena_copy(&visit->arena, partition);
    return !visit->more;
}

static struct str round_after(const struct file_round *round)
{
    return round->after_n == 0 ? STR_NONE : (struct str){round->after, round->after_n};
}

/* Starts again from the first if there are no more. */
static void round_remember(struct file_round *round, const struct visit *visit)
{
    round->after_n = 0;
    if (!visit->more)
        return;
    struct str last = visit->partitions[visit->count - 1];
    assert(last.n <= sizeof round->after);
    memcpy(round->after, last.p, last.n);
    round->after_n = last.n;
}

struct err file_sweep(struct store *store, void *context, struct sweep_report *report)
{
    struct file_round from_first = {0};
    struct file_round *round = context == NULL ? &from_first : context;
    struct visit visit = {.max = SWEEP_PARTITIONS_MAX};
    arena_init(&visit.arena, 1 << 20);
    struct err e = engine_partitions(store->engine, FILE_SPACE, round_after(round), FILE_KEY_SWEEP,
                                     take_partition, &visit);
    for (size_t i = 0; i < visit.count && !err_is(e); i++)
        e = sweep_partition(store, visit.partitions[i], report);
    round_remember(round, &visit);
    report->more = report->more || visit.more;
    arena_release(&visit.arena);
    return e;
}

/* ---- retention ---- */

static struct err purge(struct txn *t, struct cursor *c, uint64_t *removed)
{
    struct share deleted;
    TRY(share_decode(c->value, &deleted));
    if (deleted.purge_at > txn_now(t))
        return OK;
    struct sweep_note note = {.kind = FILE_SWEEP_SHARE, .incarnation = deleted.incarnation};
    ++*removed;
    TRY(txn_del(t, file_key_deleted(txn_arena(t), deleted.incarnation)));
    return file_sweep_note(t, &note);
}

/* Removes the row in a share's place once it is empty. */
static struct err unblock(struct txn *t, const struct share *current)
{
    bool says_nothing = current->incarnation == 0 && current->deleted_count == 0 &&
                        current->blocked_until <= txn_now(t);
    return says_nothing ? txn_del(t, FILE_KEY_SHARE) : OK;
}

static struct err expire_partition(struct txn *t, void *arg)
{
    uint64_t *removed = arg;
    struct share current;
    struct str row;
    struct cursor *c;
    *removed = 0;
    TRY(txn_get(t, FILE_KEY_SHARE, &row));
    TRY(share_decode(row, &current));
    if (current.deleted_count == 0)
        return unblock(t, &current);
    TRY(cursor_open(t, STR("d"), &c));
    while (c->valid) {
        TRY(purge(t, c, removed));
        TRY(cursor_next(c));
    }
    cursor_close(c);
    if (*removed == 0)
        return OK;
    assert(current.deleted_count >= *removed);
    current.deleted_count -= *removed;
    TRY(share_save(t, &current));
    return unblock(t, &current);
}

struct err file_expire(struct store *store, void *context, struct sweep_report *report)
{
    struct file_expiry *expiry = context;
    int64_t now = store_now(store);
    if (expiry->round.after_n == 0 && now < expiry->next_round)
        return OK;
    struct visit visit = {.max = EXPIRY_PARTITIONS_MAX};
    arena_init(&visit.arena, 1 << 20);
    struct err e = engine_partitions(store->engine, FILE_SPACE, round_after(&expiry->round),
                                     FILE_KEY_SHARE, take_partition, &visit);
    for (size_t i = 0; i < visit.count && !err_is(e); i++) {
        uint64_t removed = 0;
        e = engine_update_wait(store->engine, visit.partitions[i], expire_partition, &removed);
        report->removed += removed;
    }
    if (!err_is(e)) {
        round_remember(&expiry->round, &visit);
        if (!visit.more)
            expiry->next_round = now + EXPIRY_ROUND_SECONDS * TICKS_PER_SECOND;
        report->more = visit.more;
    }
    arena_release(&visit.arena);
    return e;
}

/* ---- check ---- */

bool file_row_extents(struct str key, struct str value,
                      void (*named)(void *sink, const struct extent *x), void *sink)
{
    struct vrow_scope past = {.history = FILE_HISTORY};
    struct vrow row;
    if (key.n == 0)
        return false;
    bool is_past = key.p[0] == FILE_HISTORY.p[0];
    if (is_past && key.n < FILE_HISTORY.n + VROW_PAST_BYTES)
        return false;
    if (!is_chunk(is_past ? vrow_past_key(&past, key) : key))
        return true;
    return vrow_split(value, &row) && interval_extents(row.payload, named, sink);
}
