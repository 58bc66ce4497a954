/* SPDX-License-Identifier: Apache-2.0 */
#include "service/queue/inspect.h"

#include <assert.h>

#include "service/queue/page.h"

/* ---- all queues ---- */

struct usage_walk {
    struct queue_usage *out;
    struct arena arena;
    struct str some[QUEUE_USAGE_AGES_MAX]; /* queues that have messages */
    size_t some_count;
};

static bool add_queue(struct str partition, struct str value, void *arg)
{
    struct usage_walk *walk = arg;
    struct queue_usage *out = walk->out;
    struct queue_state s;
    if (out->queues == QUEUE_USAGE_QUEUES_MAX) {
        out->cut = true;
        return false;
    }
    if (err_is(queue_state_decode(value, &s)) || !s.exists)
        return true;
    out->queues++;
    out->messages += s.count;
    if (s.count > 0 && walk->some_count < QUEUE_USAGE_AGES_MAX)
        walk->some[walk->some_count++] = arena_copy(&walk->arena, partition);
    return true;
}

static struct err see_pages(struct txn *t, struct queue_inspect *out, size_t pages_max);

/* A page is deleted with its last message, so the first page of the log has the oldest message. */
static struct err find_oldest(struct txn *t, void *arg)
{
    int64_t *oldest = arg;
    struct queue_inspect first = {.arena = txn_arena(t)};
    TRY(see_pages(t, &first, 1));
    for (size_t i = 0; i < first.count; i++)
        if (*oldest == 0 || first.messages[i].inserted < *oldest)
            *oldest = first.messages[i].inserted;
    return OK;
}

struct err queue_usage(struct store *store, struct queue_usage *out)
{
    assert(out != NULL);
    enum { NAMES_BYTES_MAX = QUEUE_USAGE_AGES_MAX * ENGINE_PARTITION_MAX };
    struct usage_walk walk = {.out = out};
    *out = (struct queue_usage){0};
    arena_init(&walk.arena, NAMES_BYTES_MAX);
    struct err error =
        engine_partitions(store->engine, STR("q/"), STR_NONE, QUEUE_KEY_STATE, add_queue, &walk);
    for (size_t i = 0; i < walk.some_count && !err_is(error); i++)
        error = store_read(store, walk.some[i], ENGINE_WAIT, find_oldest, &out->oldest);
    arena_release(&walk.arena);
    return error;
}

/* ---- one queue ---- */

static struct err see_slot(struct txn *t, const struct queue_state *s, struct page *page,
                           unsigned slot, struct queue_inspect *out)
{
    const struct slot *is = &page->slots[slot];
    struct str text;
    int64_t inserted;
    uint64_t number = number_of(page->id, slot);
    if (is->gone || is->expires <= txn_now(t) || (out->timed_only && !is->timed) ||
        number < out->from || out->cut)
        return OK;
    if (out->count == QUEUE_INSPECT_MAX) {
        out->cut = true;
        out->next = number;
        return OK;
    }
    TRY(queue_page_show(t, s, page, slot, &inserted, &text));
    bool with_text = out->texts && text.n <= QUEUE_INSPECT_TEXT_MAX - out->text_bytes;
    if (out->whole && !with_text) {
        out->cut = true;
        out->next = number;
        return OK;
    }
    out->text_bytes += with_text ? text.n : 0;
    out->messages[out->count++] = (struct queue_seen){
        .id = queue_id_make(s, number),
        .inserted = inserted,
        .expires = is->expires,
        .next_visible = is->timed ? is->next_visible : 0,
        .handed_out = (int64_t)is->receipt,
        .dequeues = is->dequeues,
        .text = with_text ? arena_copy(out->arena, text) : STR_NONE,
    };
    return OK;
}

static struct err see_page(struct txn *t, const struct queue_state *s, uint64_t id,
                           struct queue_inspect *out)
{
    struct page page;
    bool found;
    TRY(queue_page_load(t, s, id, &page, &found));
    for (unsigned i = 0; found && i < page.count; i++)
        TRY(see_slot(t, s, &page, i, out));
    return OK;
}

static uint64_t page_number(struct str key)
{
    uint64_t word = 0;
    if (key.n == KEY_NUMBERED_BYTES)
        memcpy(&word, key.p + KEY_HEAD_BYTES, sizeof word);
    return be64toh(word);
}

static struct err see_pages(struct txn *t, struct queue_inspect *out, size_t pages_max)
{
    struct queue_state s;
    struct cursor *c;
    TRY(queue_state_load(t, &s));
    out->messages = ARENA_ARRAY(out->arena, struct queue_seen, QUEUE_INSPECT_MAX);
    out->count = 0;
    out->text_bytes = 0;
    out->total = s.count;
    out->cut = false;
    struct queue_key key = queue_key_of(&s, KEY_PAGE, 0);
    struct queue_key first = queue_key_of(&s, KEY_PAGE, page_of(out->from));
    key.n = KEY_HEAD_BYTES;
    TRY(cursor_open(t, queue_key_str(&key), &c));
    if (out->from > 0)
        TRY(cursor_seek(c, queue_key_str(&first)));
    for (size_t pages = 0; c->valid && !out->cut && pages < pages_max; pages++) {
        TRY(see_page(t, &s, page_number(c->key), out));
        TRY(cursor_next(c));
    }
    cursor_close(c);
    return OK;
}

struct err queue_inspect(struct txn *t, void *arg)
{
    return see_pages(t, arg, SIZE_MAX);
}
