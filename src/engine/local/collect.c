/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/local/collect.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/log.h"
#include "core/mem.h"
#include "engine/local/local_internal.h"
#include "engine/wait.h"

enum {
    LOOK_PART = 4,        /* examine files after this part of a file's size was written */
    LOOK_PART_SHORT = 64, /* the same while the disk is nearly full */
    NEEDED_FILES_MAX = 3, /* files that recovery needs before the collector flushes rows to
                           * tables */
    LOOK_FILES_MAX = 16,  /* files examined at once */
    TABLE_LOOK_MS = 5,    /* interval and number of checks whether a table is written */
    TABLE_LOOKS_MAX = 400,
    SMALL_FILE_BYTES = 1 << 20,
    MOVE_VALUES_MAX = 64, /* values moved by one update */
    MOVE_BYTES_MAX = 4 << 20,
    GATHER_VALUES_MAX = 1 << 15, /* values of a file that are sorted by key before the lookup */
    GATHER_BYTES_MAX = 4 << 20,  /* bytes of those keys */
    GARBAGE_PART = 8,            /* a file with less than this part live is collected at once */
    TABLES_BYTES = 1 << 20,      /* free space required, besides that of the rows, before an
                                  * unforced table flush */
};

/* ---- samples ---- */

static void sample_free(struct file_sample *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->values[i].key);
    free(s);
}

void collect_init(struct collector *c)
{
    atomic_init(&c->doomed_commit, UINT64_MAX);
}

void collect_release(struct collector *c)
{
    for (size_t i = 0; i < c->sample_count; i++)
        sample_free(c->samples[i]);
    free(c->samples);
    free(c->doomed);
}

static size_t sample_index(const struct collector *c, uint64_t file)
{
    size_t at = 0;
    while (at < c->sample_count && c->samples[at]->file < file)
        at++;
    return at;
}

static void sample_add(struct collector *c, struct file_sample *s)
{
    if (c->sample_count == c->sample_capacity) {
        c->sample_capacity = c->sample_capacity == 0 ? 16 : c->sample_capacity * 2;
        c->samples = mem_realloc(c->samples, c->sample_capacity * sizeof(struct file_sample *));
    }
    size_t at = sample_index(c, s->file);
    memmove(c->samples + at + 1, c->samples + at,
            (c->sample_count - at) * sizeof(struct file_sample *));
    c->samples[at] = s;
    c->sample_count++;
}

static void sample_drop(struct collector *c, uint64_t file)
{
    size_t at = sample_index(c, file);
    if (at == c->sample_count || c->samples[at]->file != file)
        return;
    sample_free(c->samples[at]);
    c->sample_count--;
    memmove(c->samples + at, c->samples + at + 1,
            (c->sample_count - at) * sizeof(struct file_sample *));
}

/* Reservoir sampling: each of the n values seen is chosen with equal probability. */
static void sample_offer(struct file_sample *s, const struct record_entry *entry, uint64_t n,
                         uint64_t *random)
{
    *random = *random * 6364136223846793005ULL + 1442695040888963407ULL;
    size_t slot = s->count;
    if (slot == SAMPLE_VALUES)
        slot = (size_t)((*random >> 33) % n);
    if (slot >= SAMPLE_VALUES)
        return;
    struct sample_value *v = &s->values[slot];
    if (slot == s->count)
        s->count++;
    else
        free(v->key);
    v->key = mem_alloc(entry->key.n);
    v->key_n = entry->key.n;
    v->ref = entry->ref;
    memcpy(v->key, entry->key.p, entry->key.n);
}

static struct err sample_new(struct local_engine *e, uint64_t file, struct file_sample **out)
{
    struct journal_walk w;
    struct stat stat;
    TRY(journal_walk_init(&w, &e->journal, file, 0));
    struct file_sample *s = MEM_NEW(struct file_sample);
    s->file = file;
    s->file_bytes = fstat(w.file->fd, &stat) == 0 ? (uint64_t)stat.st_size : 0;
    uint64_t random = file + 1;
    uint64_t seen = 0;
    while (journal_walk_next(&w)) {
        s->value_bytes += w.head.value_bytes;
        if (w.head.value_bytes == 0 || !journal_walk_load(&w))
            continue;
        struct record_entry entry;
        while (journal_walk_entry(&w, &entry)) {
            if (record_entry_in_journal(&entry))
                sample_offer(s, &entry, ++seen, &random);
        }
    }
    journal_walk_release(&w, &e->journal);
    *out = s;
    return OK;
}

/* ---- judging ---- */

/* True if the row still refers to this value. */
static struct err is_live(struct state *state, struct str key, const struct value_ref *ref,
                          bool *live)
{
    struct state_row row;
    struct value_ref now;
    *live = false;
    TRY(state_read(state, ENGINE_WAIT, key, &row));
    *live = str_given(row.stored) && value_is_elsewhere(row.stored, &now) &&
            now.file == ref->file && now.offset == ref->offset;
    state_row_release(&row);
    return OK;
}

static struct err judge(struct local_engine *e, struct file_sample *s)
{
    uint64_t live_bytes = 0;
    uint64_t all_bytes = 0;
    struct state *state = local_state(e);
    struct err error = OK;
    for (size_t i = 0; i < s->count && !err_is(error); i++) {
        bool live = false;
        const struct sample_value *v = &s->values[i];
        error = is_live(state, (struct str){v->key, v->key_n}, &v->ref, &live);
        all_bytes += v->ref.length;
        live_bytes += live ? v->ref.length : 0;
    }
    state_put(state);
    double live_share = all_bytes == 0 ? 0.0 : (double)live_bytes / (double)all_bytes;
    s->live_bytes = (uint64_t)(live_share * (double)s->value_bytes);
    return error;
}

static bool has_less_live(const struct file_sample *a, const struct file_sample *b)
{
    return (double)a->live_bytes * (double)b->file_bytes <
           (double)b->live_bytes * (double)a->file_bytes;
}

/* Chooses the file to collect next, or NULL. With `join`, a small file qualifies whatever it
 * holds. */
static const struct file_sample *choose_file(const struct collector *c, bool join)
{
    const struct file_sample *least = NULL;
    uint64_t bytes = c->fresh_bytes;
    uint64_t live_bytes = bytes;
    for (size_t i = 0; i < c->sample_count; i++) {
        const struct file_sample *s = c->samples[i];
        bytes += s->file_bytes;
        live_bytes += s->live_bytes;
        if (join && s->file_bytes < SMALL_FILE_BYTES)
            return s;
        if (least == NULL || has_less_live(s, least))
            least = s;
    }
    if (least == NULL || least->live_bytes * 2 >= least->file_bytes)
        return NULL;
    bool much = bytes > 2 * live_bytes;
    return much || least->live_bytes * GARBAGE_PART < least->file_bytes ? least : NULL;
}

/* ---- moving ---- */

struct move {
    struct record_entry entries[MOVE_VALUES_MAX];
    size_t count;
    uint64_t bytes;
    struct arena arena; /* for the keys */
};

static struct err move_values(struct txn *txn, void *arg)
{
    assert(txn_writable(txn));
    const struct move *m = arg;
    for (size_t i = 0; i < m->count; i++)
        TRY(local_move_value(txn, m->entries[i].key, &m->entries[i].ref));
    return OK;
}

static struct err move_flush(struct local_engine *e, struct move *m)
{
    struct err error = m->count == 0 ? OK : engine_update_wait(&e->base, STR(""), move_values, m);
    m->count = 0;
    m->bytes = 0;
    arena_reset(&m->arena);
    return error;
}

/* Values of a file, sorted by key for the lookup: neighbours then share RocksDB blocks in the
 * CPU cache, which halves the cost. */
struct gathering {
    struct record_entry *entries;
    size_t count;
    struct arena arena; /* for the keys */
};

static int by_key(const void *a, const void *b)
{
    const struct record_entry *left = a;
    const struct record_entry *right = b;
    return str_cmp(left->key, right->key);
}

static struct err move_live(struct local_engine *e, struct state *state,
                            const struct record_entry *entry, struct move *m)
{
    bool live = false;
    TRY(is_live(state, entry->key, &entry->ref, &live));
    if (!live)
        return OK;
    struct record_entry *own = &m->entries[m->count++];
    *own = *entry;
    own->key = arena_copy(&m->arena, entry->key);
    m->bytes += entry->ref.length;
    return m->count == MOVE_VALUES_MAX || m->bytes >= MOVE_BYTES_MAX ? move_flush(e, m) : OK;
}

static struct err move_gathered(struct local_engine *e, struct gathering *g, struct move *m)
{
    struct err error = OK;
    qsort(g->entries, g->count, sizeof *g->entries, by_key);
    struct state *state = local_state(e);
    for (size_t i = 0; i < g->count && !err_is(error); i++) {
        error = move_live(e, state, &g->entries[i], m);
        if (!err_is(error) && atomic_load(&e->reclaimer.stopping))
            error = err_new(ERR_STOPPING);
    }
    state_put(state);
    g->count = 0;
    arena_reset(&g->arena);
    return error;
}

static struct err gather_record(struct local_engine *e, struct journal_walk *w, struct gathering *g,
                                struct move *m)
{
    struct record_entry entry;
    while (journal_walk_entry(w, &entry)) {
        if (!record_entry_in_journal(&entry))
            continue;
        entry.key = arena_copy(&g->arena, entry.key);
        g->entries[g->count++] = entry;
        if (g->count == GATHER_VALUES_MAX || g->arena.used >= GATHER_BYTES_MAX)
            TRY(move_gathered(e, g, m));
    }
    return OK;
}

static struct err move_all(struct local_engine *e, uint64_t file, struct gathering *g,
                           struct move *m)
{
    struct journal_walk w;
    struct err error = OK;
    TRY(journal_walk_init(&w, &e->journal, file, 0));
    while (!err_is(error) && journal_walk_next(&w)) {
        if (w.head.value_bytes > 0)
            error = journal_walk_load(&w) ? gather_record(e, &w, g, m) : err_new(ERR_CORRUPT);
    }
    journal_walk_release(&w, &e->journal);
    TRY(error);
    TRY(move_gathered(e, g, m));
    return move_flush(e, m);
}

static struct err move_file(struct local_engine *e, uint64_t file)
{
    struct move *m = MEM_NEW(struct move);
    struct gathering g = {.entries = mem_calloc(GATHER_VALUES_MAX, sizeof *g.entries)};
    arena_init(&m->arena, TXN_ARENA_LIMIT);
    arena_init(&g.arena, TXN_ARENA_LIMIT);
    struct err error = move_all(e, file, &g, m);
    arena_release(&g.arena);
    arena_release(&m->arena);
    free(g.entries);
    free(m);
    return error;
}

/* ---- the end of a file ---- */

static void note_doomed(struct collector *c)
{
    atomic_store(&c->doomed_commit, c->doomed_count == 0 ? UINT64_MAX : c->doomed[0].commit);
}

/* Views that began before the values were moved may still read the file. */
static void doom_file(struct local_engine *e, uint64_t file)
{
    struct collector *c = &e->collector;
    c->doomed = mem_realloc(c->doomed, (c->doomed_count + 1) * sizeof *c->doomed);
    c->doomed[c->doomed_count++] = (struct doomed_file){file, atomic_load(&e->commits)};
    note_doomed(c);
    sample_drop(c, file);
}

static void unlink_doomed(struct local_engine *e)
{
    struct collector *c = &e->collector;
    uint64_t safe = pins_safe_commit(&e->readers);
    size_t kept = 0;
    for (size_t i = 0; i < c->doomed_count; i++) {
        struct segment_look look = segments_look(&e->journal.files, c->doomed[i].file);
        if (c->doomed[i].commit > safe || !look.idle) {
            c->doomed[kept++] = c->doomed[i];
            continue;
        }
        segments_unlink(&e->journal.files, &look);
        tally_add(&e->collected_files, 1);
        tally_add(&e->collected_bytes, look.end);
    }
    c->doomed_count = kept;
    note_doomed(c);
    /* A file with a reader is kept for a later pass. */
    if (kept > 0 && c->doomed[0].commit <= safe)
        atomic_store(&c->doomed_commit, UINT64_MAX);
}

static bool is_doomed(const struct collector *c, uint64_t file)
{
    for (size_t i = 0; i < c->doomed_count; i++) {
        if (c->doomed[i].file == file)
            return true;
    }
    return false;
}

static struct err collect_file(struct local_engine *e, uint64_t file)
{
    TRY(move_file(e, file));
    TRY(local_flush(&e->base)); /* the moved values must be durable in their new file */
    log_line(LOG_DEBUG, "journal file %llu collected", (unsigned long long)file);
    doom_file(e, file);
    return OK;
}

/* ---- a look ---- */

/* Finds the oldest file that recovery would still need. */
static struct err oldest_needed(struct local_engine *e, uint64_t *file)
{
    struct buf stored = buf_heap();
    struct str value;
    struct journal_position position = {0};
    bool found = false;
    struct err error = rows_read_persisted(&e->rows, KEY_JOURNAL, &stored, &found);
    if (!err_is(error) && found &&
        (!value_is_here(buf_str(&stored), &value) || !journal_position_read(value, &position)))
        error = err_new(ERR_CORRUPT);
    *file = position.file;
    buf_release(&stored);
    return error;
}

static struct err judge_file(struct local_engine *e, uint64_t file)
{
    struct collector *c = &e->collector;
    size_t at = sample_index(c, file);
    if (at == c->sample_count || c->samples[at]->file != file) {
        struct file_sample *fresh;
        bool blank;
        TRY(journal_file_blank(&e->journal, file, &blank));
        if (blank) {
            doom_file(e, file);
            return OK;
        }
        TRY(sample_new(e, file, &fresh));
        sample_add(c, fresh);
    }
    return judge(e, c->samples[at]);
}

/* Joining small files takes space before it frees any. On a nearly full disk that space is
 * reserved for deletes. */
static bool room_to_join(struct local_engine *e)
{
    struct disk_room room;
    return !err_is(local_disk_room(e, &room)) && room.free >= room.reserve;
}

static struct err collect_chosen(struct local_engine *e)
{
    bool join = room_to_join(e);
    const struct file_sample *chosen;
    for (int n = 0; n < LOOK_FILES_MAX && (chosen = choose_file(&e->collector, join)) != NULL; n++)
        TRY(collect_file(e, chosen->file));
    return OK;
}

/* If the tables did not fit on the disk, RocksDB would refuse every write, including those that
 * free space. But on a disk filled by the journal, no file can be freed before the tables are
 * written. So require no more free space than the tables take. */
static bool room_for_tables(struct local_engine *e)
{
    struct disk_room room;
    uint64_t needed = atomic_load(&e->rows.fresh_bytes) + TABLES_BYTES;
    return !err_is(local_disk_room(e, &room)) && room.free >= needed;
}

static struct err begin_table(struct local_engine *e, void *arg)
{
    (void)arg;
    return rows_switch(&e->rows);
}

/* Writes the newest rows to tables. If that takes long, a later pass finds them done. */
static struct err rows_to_tables(struct local_engine *e)
{
    static const struct timespec a_little = {.tv_nsec = TABLE_LOOK_MS * 1000000};
    struct quiesced_job rest = {.run = begin_table};
    TRY(local_run_quiesced(e, &rest));
    for (int n = 0; n < TABLE_LOOKS_MAX && !rows_switched(&e->rows); n++)
        (void)nanosleep(&a_little, NULL);
    return OK;
}

static struct err look(struct local_engine *e, bool idle)
{
    struct collector *c = &e->collector;
    uint64_t needed;
    uint64_t id = c->next_file;
    TRY(oldest_needed(e, &needed));
    /* An idle store has time to flush its newest rows to tables, so that more files can be
     * freed. A busy store with few and large rows would never do it otherwise. */
    bool many = segments_newest(&e->journal.files) > needed + NEEDED_FILES_MAX;
    if ((idle || many || atomic_load(&e->room_short)) && room_for_tables(e)) {
        TRY(rows_to_tables(e));
        TRY(oldest_needed(e, &needed));
    }
    c->fresh_bytes = 0;
    for (uint64_t young = needed; segments_next(&e->journal.files, young, &young); young++)
        c->fresh_bytes += e->journal.files.file_bytes;
    for (int n = 0; n < LOOK_FILES_MAX; n++, id++) {
        if (!segments_next(&e->journal.files, id, &id) || id >= needed) {
            c->next_file = 0;
            break;
        }
        c->next_file = id + 1;
        if (!is_doomed(c, id))
            TRY(judge_file(e, id));
    }
    return collect_chosen(e);
}

void collect_soon(struct local_engine *e)
{
    atomic_store(&e->journal_bytes, e->journal.files.file_bytes / LOOK_PART);
}

bool collect_due(struct local_engine *e)
{
    struct collector *c = &e->collector;
    uint64_t parts = atomic_load(&e->room_short) ? LOOK_PART_SHORT : LOOK_PART;
    if (atomic_load(&e->journal_bytes) - atomic_load(&c->seen_bytes) >=
        e->journal.files.file_bytes / parts)
        return true;
    uint64_t doomed = atomic_load(&c->doomed_commit);
    return doomed != UINT64_MAX && doomed <= pins_safe_commit(&e->readers);
}

bool collect_due_when_idle(struct local_engine *e)
{
    return atomic_load(&e->commits) != e->collector.seen_commit || e->collector.doomed_count > 0;
}

void collect_some(struct local_engine *e, bool idle)
{
    struct collector *c = &e->collector;
    atomic_store(&c->seen_bytes, atomic_load(&e->journal_bytes));
    unlink_doomed(e);
    struct err error = look(e, idle);
    if (err_is(error) && error.code != ERR_STOPPING)
        log_line(LOG_ERROR, "the journal could not be collected");
    if (idle)
        c->seen_commit = atomic_load(&e->commits);
}
