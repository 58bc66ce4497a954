/* SPDX-License-Identifier: Apache-2.0 */
#include "service/census/census.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/mem.h"
#include "service/blob/container.h"
#include "service/blob/head.h"
#include "service/blob/keys.h"
#include "service/common/dirtree.h"
#include "service/common/lease.h"
#include "service/file/keys.h"
#include "service/file/node.h"
#include "service/file/share.h"

enum { BELOW_MAX = 32 };
/* Containers and shares have their own row under this key. */
#define HEAD_KEY STR("c")

struct lease_end {
    int64_t ends; /* ticks; INT64_MAX: never */
    enum census_lease kind;
};

/* The result of one walk. */
struct tallied {
    struct census_counts counts; /* leases: those whose ends are not kept */
    struct lease_end *ends;
    size_t end_count, end_capacity;
};

/* The position of a scan: a view that runs again begins from here. */
struct census_position {
    size_t space;          /* among SPACES */
    char below[BELOW_MAX]; /* the prefix of the keys of the container's or share's objects */
    size_t below_n;        /* 0: it is in none */
    struct census_counts counts;
    size_t end_count;
};

struct census {
    pthread_mutex_t lock;
    int64_t asked_until_ms;
    int64_t next_walk_ms; /* of a large store */
    struct tallied last, current;

    /* The running scan. */
    bool walking;
    int64_t began_ms;
    struct census_position at;
    struct buf partition, key;           /* the row where it continues */
    struct buf next_partition, next_key; /* the same after the view */
    size_t step_rows;
    int64_t step_until_ms;
};

struct census *census_new(void)
{
    struct census *c = MEM_NEW(struct census);
    (void)pthread_mutex_init(&c->lock, NULL);
    c->partition = buf_heap();
    c->key = buf_heap();
    c->next_partition = buf_heap();
    c->next_key = buf_heap();
    return c;
}

void census_free(struct census *c)
{
    if (c == NULL)
        return;
    (void)pthread_mutex_destroy(&c->lock);
    buf_release(&c->partition);
    buf_release(&c->key);
    buf_release(&c->next_partition);
    buf_release(&c->next_key);
    free(c->last.ends);
    free(c->current.ends);
    free(c);
}

/* ---- names ---- */

static const struct {
    const char *service, *name;
} KINDS[CENSUS_KINDS] = {
    [CENSUS_CONTAINER] = {"blob", "container"},
    [CENSUS_BLOCK_BLOB] = {"blob", "block_blob"},
    [CENSUS_APPEND_BLOB] = {"blob", "append_blob"},
    [CENSUS_PAGE_BLOB] = {"blob", "page_blob"},
    [CENSUS_BLOB_DIRECTORY] = {"blob", "directory"},
    [CENSUS_BLOB_SNAPSHOT] = {"blob", "snapshot"},
    [CENSUS_BLOB_VERSION] = {"blob", "version"},
    [CENSUS_BLOB_DELETED] = {"blob", "deleted"},
    [CENSUS_TABLE] = {"table", "table"},
    [CENSUS_ENTITY] = {"table", "entity"},
    [CENSUS_SHARE] = {"file", "share"},
    [CENSUS_DIRECTORY] = {"file", "directory"},
    [CENSUS_FILE] = {"file", "file"},
};

const char *census_service(enum census_kind kind)
{
    return KINDS[kind].service;
}

const char *census_kind_name(enum census_kind kind)
{
    return KINDS[kind].name;
}

const char *census_lease_name(enum census_lease kind)
{
    static const char *const names[CENSUS_LEASED_KINDS] = {"container", "blob", "share", "file"};
    return names[kind];
}

/* ---- counting ---- */

static void count(struct census *c, enum census_kind kind, uint64_t bytes)
{
    c->current.counts.objects[kind]++;
    c->current.counts.bytes[kind] += bytes;
}

static void count_lease(struct census *c, enum census_lease kind, const struct lease *lease)
{
    struct tallied *t = &c->current;
    if (lease->state == LEASE_AVAILABLE)
        return;
    bool endless = lease->state == LEASE_LEASED && lease->seconds == LEASE_INFINITE;
    if (t->end_count == CENSUS_LEASES_MAX) {
        t->counts.leases[kind]++;
        return;
    }
    if (t->end_count == t->end_capacity) {
        t->end_capacity = t->end_capacity == 0 ? 64 : t->end_capacity * 2;
        t->ends = mem_realloc(t->ends, t->end_capacity * sizeof *t->ends);
    }
    t->ends[t->end_count++] = (struct lease_end){endless ? INT64_MAX : lease->ends, kind};
}

static void set_below(struct census *c, struct str prefix)
{
    assert(prefix.n > 0 && prefix.n <= BELOW_MAX);
    memcpy(c->at.below, prefix.p, prefix.n);
    c->at.below_n = prefix.n;
}

static struct err open_container(struct txn *t, struct census *c, struct str row)
{
    struct container container;
    bool live;
    TRY(container_decode(row, &container, &live));
    if (!live)
        return OK;
    count(c, CENSUS_CONTAINER, 0);
    count_lease(c, CENSUS_LEASED_CONTAINER, &container.lease);
    set_below(c, blob_key_heads(txn_arena(t), container.incarnation, STR("")));
    return OK;
}

static enum census_kind kind_of(const struct blob_head *head, const struct blob_at *at)
{
    if (head->deleted != 0 || at->deleted)
        return CENSUS_BLOB_DELETED;
    if (at->item != BLOB_BASE)
        return at->item == BLOB_SNAPSHOT ? CENSUS_BLOB_SNAPSHOT : CENSUS_BLOB_VERSION;
    if (head->path.directory)
        return CENSUS_BLOB_DIRECTORY;
    return head->type == BLOB_APPEND ? CENSUS_APPEND_BLOB
           : head->type == BLOB_PAGE ? CENSUS_PAGE_BLOB
                                     : CENSUS_BLOCK_BLOB;
}

static struct err count_blob(struct txn *t, struct census *c, const struct cursor *s)
{
    struct blob_at at;
    struct str name;
    struct blob_head head;
    (void)t;
    if (!blob_key_parse_head(s->key, &name, &at))
        return OK;
    TRY(blob_head_decode(s->value, &head));
    if (!head.committed)
        return OK;
    enum census_kind kind = kind_of(&head, &at);
    count(c, kind, head.size);
    if (at.item == BLOB_BASE && kind != CENSUS_BLOB_DELETED)
        count_lease(c, CENSUS_LEASED_BLOB, &head.lease);
    return OK;
}

static struct err open_share(struct txn *t, struct census *c, struct str row)
{
    struct share share;
    TRY(share_decode(row, &share));
    if (share.incarnation == 0)
        return OK;
    count(c, CENSUS_SHARE, 0);
    count_lease(c, CENSUS_LEASED_SHARE, &share.lease);
    set_below(c, file_key_kind(txn_arena(t), 'e', share.incarnation));
    return OK;
}

/* A file with several names is counted for each; its properties are elsewhere. */
static struct err count_node(struct txn *t, struct census *c, const struct cursor *s)
{
    struct dirtree tree = {.children = {c->at.below, c->at.below_n}};
    struct dirtree_entry entry;
    struct node node;
    (void)t;
    if (!dirtree_read(&tree, s->key, s->value, &entry))
        return err_new(ERR_CORRUPT);
    if (entry.directory) {
        count(c, CENSUS_DIRECTORY, 0);
        return OK;
    }
    bool whole = node_decode(entry.data, &node);
    count(c, CENSUS_FILE, whole ? node.size : 0);
    if (whole)
        count_lease(c, CENSUS_LEASED_FILE, &node.lease);
    return OK;
}

static struct err count_table(struct txn *t, struct census *c, const struct cursor *s)
{
    (void)t;
    if (s->key.n > 0 && s->key.p[0] == 'n')
        count(c, CENSUS_TABLE, 0);
    return OK;
}

static struct err count_entity(struct txn *t, struct census *c, const struct cursor *s)
{
    (void)t;
    count(c, CENSUS_ENTITY, s->value.n);
    return OK;
}

/* ---- the walk ---- */

/* Partitions of a kind. With `open`, the row of HEAD_KEY has the prefix of the objects' keys; the
 * rest of the partition is skipped. */
static const struct space {
    struct str prefix;
    struct err (*open)(struct txn *t, struct census *c, struct str row);
    struct err (*count)(struct txn *t, struct census *c, const struct cursor *s);
} SPACES[] = {
    {STR_INIT("b/"), open_container, count_blob},
    {STR_INIT("f/"), open_share, count_node},
    {STR_INIT("t/"), NULL, count_table},
    {STR_INIT("e/"), NULL, count_entity},
};
enum { SPACE_COUNT = sizeof SPACES / sizeof SPACES[0] };

static struct err pass_partition(struct txn *t, struct census *c, struct cursor *s)
{
    struct buf past = buf_in(txn_arena(t));
    c->at.below_n = 0;
    buf_put(&past, s->partition);
    buf_putc(&past, 0);
    return cursor_seek_across(s, buf_str(&past), STR(""));
}

/* Counts the row, and moves on to the next that matters. */
static struct err see(struct txn *t, struct census *c, struct cursor *s)
{
    const struct space *space = &SPACES[c->at.space];
    struct str below = {c->at.below, c->at.below_n};
    c->current.counts.rows++;
    if (space->open == NULL || (below.n > 0 && str_starts(s->key, below))) {
        TRY(space->count(t, c, s));
        return cursor_next(s);
    }
    struct str partition = arena_copy(txn_arena(t), s->partition);
    c->at.below_n = 0;
    if (str_cmp(s->key, HEAD_KEY) < 0)
        return cursor_seek_across(s, partition, HEAD_KEY);
    if (str_eq(s->key, HEAD_KEY))
        TRY(space->open(t, c, arena_copy(txn_arena(t), s->value)));
    if (c->at.below_n == 0)
        return pass_partition(t, c, s);
    return cursor_seek_across(s, partition, (struct str){c->at.below, c->at.below_n});
}

static bool step_is_over(struct census *c)
{
    enum { LOOK_ROWS = 128 };
    if (++c->step_rows > CENSUS_STEP_ROWS)
        return true;
    return c->step_rows % LOOK_ROWS == 0 && clock_mono_ms() >= c->step_until_ms;
}

static void keep_position(struct census *c, const struct cursor *s)
{
    c->next_partition.n = c->next_key.n = 0;
    if (!s->valid) {
        c->at.space++;
        c->at.below_n = 0;
        return;
    }
    buf_put(&c->next_partition, s->partition);
    buf_put(&c->next_key, s->key);
}

struct walking {
    struct census *census;
    struct census_position begin;
    size_t step_rows;
};

/* One view over one space. */
static struct err walk(struct txn *t, void *arg)
{
    struct walking *w = arg;
    struct census *c = w->census;
    struct str prefix = SPACES[w->begin.space].prefix;
    struct str from = c->partition.n > 0 ? buf_str(&c->partition) : prefix;
    struct cursor *s;
    struct err error = OK;
    c->at = w->begin;
    c->step_rows = w->step_rows;
    c->current.counts = w->begin.counts;
    c->current.end_count = w->begin.end_count;
    TRY(cursor_open_across(t, prefix, from, buf_str(&c->key), &s));
    while (!err_is(error) && s->valid && !step_is_over(c))
        error = see(t, c, s);
    if (!err_is(error))
        keep_position(c, s);
    cursor_close(s);
    return error;
}

static struct err walk_on(struct census *c, struct store *store)
{
    struct walking w = {.census = c, .begin = c->at, .step_rows = c->step_rows};
    w.begin.counts = c->current.counts;
    w.begin.end_count = c->current.end_count;
    TRY(store_read(store, SPACES[c->at.space].prefix, ENGINE_WAIT, walk, &w));
    struct buf partition = c->partition, key = c->key;
    c->partition = c->next_partition;
    c->key = c->next_key;
    c->next_partition = partition;
    c->next_key = key;
    return OK;
}

static void begin(struct census *c, int64_t now_ms)
{
    struct tallied *t = &c->current;
    *t = (struct tallied){.ends = t->ends, .end_capacity = t->end_capacity};
    c->walking = true;
    c->began_ms = now_ms;
    c->at = (struct census_position){.space = 0};
    c->partition.n = c->key.n = 0;
}

static void end(struct census *c, struct store *store, int64_t now_ms)
{
    struct tallied done = c->current;
    c->current = c->last;
    c->last = done;
    c->last.counts.known = true;
    c->last.counts.taken_at = store_now(store);
    c->last.counts.walk_ms = now_ms - c->began_ms;
    c->walking = false;
    c->next_walk_ms = now_ms + CENSUS_PAUSE_MS;
}

/* A part of the scan, under the lock. A read error ends it. */
static struct err step(struct census *c, struct store *store)
{
    c->step_rows = 0;
    c->step_until_ms = clock_mono_ms() + CENSUS_STEP_MS;
    while (c->at.space < SPACE_COUNT && c->step_rows <= CENSUS_STEP_ROWS &&
           clock_mono_ms() < c->step_until_ms) {
        struct err error = walk_on(c, store);
        c->walking = !err_is(error);
        TRY(error);
    }
    if (c->at.space == SPACE_COUNT)
        end(c, store, clock_mono_ms());
    return OK;
}

struct err census_sweep(struct store *store, void *context, struct sweep_report *report)
{
    struct census *c = context;
    struct err error = OK;
    (void)report;
    (void)pthread_mutex_lock(&c->lock);
    int64_t now_ms = clock_mono_ms();
    bool is_large = c->last.counts.rows > CENSUS_STEP_ROWS;
    if (!c->walking && is_large && now_ms < c->asked_until_ms && now_ms >= c->next_walk_ms)
        begin(c, now_ms);
    if (c->walking)
        error = step(c, store);
    (void)pthread_mutex_unlock(&c->lock);
    return error;
}

/* ---- asking ---- */

static void give(const struct tallied *t, int64_t now, struct census_counts *out)
{
    *out = t->counts;
    for (size_t i = 0; i < t->end_count; i++)
        out->leases[t->ends[i].kind] += t->ends[i].ends > now ? 1 : 0;
}

struct err census_ask(struct census *c, struct store *store, struct census_counts *out)
{
    struct err error = OK;
    (void)pthread_mutex_lock(&c->lock);
    int64_t now_ms = clock_mono_ms();
    bool is_small = c->last.counts.rows <= CENSUS_STEP_ROWS;
    c->asked_until_ms = now_ms + CENSUS_ASKED_MS;
    if (!c->walking && is_small) {
        begin(c, now_ms);
        error = step(c, store);
    }
    give(&c->last, store_now(store), out);
    (void)pthread_mutex_unlock(&c->lock);
    return error;
}
