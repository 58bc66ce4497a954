/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the visible messages, ordered by next-visible time. Get and peek use it.
 *
 * The search merges two sources: the log, where a message's time is its insertion time, and the
 * v rows that are due. It only reads, so get and peek share it; get then writes what it chose. */
#include <assert.h>

#include "service/queue/page.h"

enum {
    /* How many useless items (deleted pages, expired messages) one search may skip. A get that
     * reaches the limit removes those it has found and continues in another transaction. A peek
     * only reads and cannot continue, so it searches much further before it reports an empty
     * queue. */
    GET_LOOK_MAX = 512,
    PEEK_LOOK_MAX = 4096,
    /* How many pages with v rows of the same time are compared at once. A v row stores its time
     * only to a coarse grain, so the exact order is known once the pages are loaded. Where more
     * pages share a grain, they are ordered 16 at a time. */
    DUE_ROWS_MAX = 16,
    /* how many pages one read fetches */
    PAGES_TOGETHER_MAX = 16,
};

/* How far into the future a search for due messages looks. If it finds none, no later search starts
 * before that time. So a queue with many messages in flight, whose v rows come and go, is searched
 * at most ten times a second, and each tombstone is skipped once. The value is below the shortest
 * visibility timeout, so a get never finds its own v rows. */
#define LOOK_AHEAD (TICKS_PER_SECOND / 10)

/* A transaction loads each page once, so that all changes to a page are made to one copy. */
struct loaded {
    struct page page;
    bool found;
    bool changed;
    struct loaded *next;
};

struct chosen {
    struct loaded *at;
    unsigned slot;
};

struct expired {
    struct chosen message;
    struct expired *next;
};

/* A v row that was read. */
struct due_row {
    struct loaded *at;
    uint32_t passed; /* slots already examined */
    bool over;       /* no message of the row is due any more */
};

struct search {
    struct txn *t;
    const struct queue_state *s;
    int64_t now;
    unsigned left; /* how many more useless items the search may skip */
    struct loaded *pages;
    struct expired *expired; /* expired messages found on the way */

    uint64_t head;   /* no message before this number waits in the log */
    uint64_t wanted; /* how many messages the caller requested */
    bool fetched;    /* the first pages of the log were read together */
    bool has_logged;
    struct chosen logged; /* the message at head */

    struct cursor *due; /* open while v rows may be due */
    int64_t due_time;   /* time of the v rows read last */
    unsigned due_count;
    struct due_row due_rows[DUE_ROWS_MAX];
    bool has_timed;
    struct chosen timed;
    int64_t visible_from; /* where the next search may start */
};

static struct loaded *loaded_page(struct search *f, uint64_t id)
{
    struct loaded *l = f->pages;
    while (l != NULL && l->page.id != id)
        l = l->next;
    return l;
}

/* Loads those of the pages that are not loaded yet, all together. */
static struct err load_pages(struct search *f, const uint64_t *ids, size_t count)
{
    struct page_wanted wanted[PAGES_TOGETHER_MAX];
    size_t n = 0;
    assert(count <= PAGES_TOGETHER_MAX);
    for (size_t i = 0; i < count; i++) {
        if (loaded_page(f, ids[i]) != NULL)
            continue;
        struct loaded *l = ARENA_NEW(txn_arena(f->t), struct loaded);
        l->page.id = ids[i];
        l->next = f->pages;
        f->pages = l;
        wanted[n++] = (struct page_wanted){ids[i], &l->page, &l->found};
    }
    return queue_page_load_many(f->t, f->s, wanted, n);
}

static struct err search_page(struct search *f, uint64_t id, struct loaded **out)
{
    if (loaded_page(f, id) == NULL)
        TRY(load_pages(f, &id, 1));
    *out = loaded_page(f, id);
    return OK;
}

static const struct slot *slot_at(const struct chosen *c)
{
    return &c->at->page.slots[c->slot];
}

/* True if the message can be delivered. An expired message is remembered for removal. */
static bool search_wants(struct search *f, const struct chosen *c)
{
    if (slot_at(c)->expires > f->now)
        return true;
    struct expired *e = ARENA_NEW(txn_arena(f->t), struct expired);
    *e = (struct expired){*c, f->expired};
    f->expired = e;
    f->left--;
    return false;
}

static struct err search_begin(struct search *f, struct txn *t, const struct queue_state *s)
{
    f->t = t;
    f->s = s;
    f->now = txn_now(t);
    f->pages = NULL;
    f->expired = NULL;
    f->head = s->head;
    f->has_logged = f->has_timed = f->fetched = false;
    f->due = NULL;
    f->due_count = 0;
    f->visible_from = s->visible_from;
    if (s->visible_from > f->now)
        return OK;
    f->visible_from = f->now + LOOK_AHEAD;
    int64_t grain = 1LL << VISIBLE_GRAIN_BITS;
    struct queue_key from = queue_key_timed(s, KEY_VISIBLE, s->visible_from / grain * grain, 0);
    struct queue_key to = queue_key_timed(s, KEY_VISIBLE, f->visible_from, 0);
    return cursor_open_range(t, queue_key_str(&from), queue_key_str(&to), &f->due);
}

/* ---- the log ---- */

/* Estimates how many pages hold the wanted messages, assuming that the log's pages are about
 * equally full. */
static uint64_t pages_wanted(const struct search *f, uint64_t pages)
{
    uint64_t wanted = 1;
    if (f->s->count > 0)
        wanted += f->wanted * pages / f->s->count;
    wanted = wanted < pages ? wanted : pages;
    return wanted < PAGES_TOGETHER_MAX ? wanted : PAGES_TOGETHER_MAX;
}

/* Reads the pages at the head of the log that the search will need, once and together. */
static struct err fetch_pages(struct search *f)
{
    uint64_t ids[PAGES_TOGETHER_MAX];
    uint64_t first = page_of(f->head);
    if (f->fetched)
        return OK;
    f->fetched = true;
    uint64_t count = pages_wanted(f, page_of(f->s->tail - 1) + 1 - first);
    for (uint64_t i = 0; i < count; i++)
        ids[i] = first + i;
    return load_pages(f, ids, (size_t)count);
}

static struct err search_log(struct search *f)
{
    while (!f->has_logged && f->head < f->s->tail && f->left > 0) {
        struct chosen c = {.slot = slot_of(f->head)};
        TRY(fetch_pages(f));
        TRY(search_page(f, page_of(f->head), &c.at));
        if (!c.at->found || c.slot >= c.at->page.count) {
            f->head = number_of(page_of(f->head) + 1, 0);
            f->left--;
            continue;
        }
        f->logged = c;
        f->has_logged = !slot_at(&c)->gone && !slot_at(&c)->timed && search_wants(f, &c);
        f->head += !f->has_logged;
    }
    return OK;
}

/* ---- what is due ---- */

static void search_remember(struct search *f, int64_t time)
{
    if (time < f->visible_from)
        f->visible_from = time;
}

/* Returns the earliest message of the row that was not examined yet, or NULL. */
static const struct slot *due_earliest(const struct search *f, const struct due_row *row)
{
    const struct page *page = &row->at->page;
    const struct slot *earliest = NULL;
    for (unsigned i = 0; i < page->count; i++) {
        const struct slot *slot = &page->slots[i];
        if (!slot->gone && slot->timed && (row->passed & 1U << i) == 0 &&
            slot->next_visible >> VISIBLE_GRAIN_BITS == f->due_time >> VISIBLE_GRAIN_BITS &&
            (earliest == NULL || slot->next_visible < earliest->next_visible))
            earliest = slot;
    }
    return earliest;
}

/* Reads the next v rows, all of one time, and then their pages together. Reads none if no more
 * are due. */
static struct err due_read(struct search *f)
{
    uint64_t ids[DUE_ROWS_MAX];
    unsigned count = 0;
    f->due_count = 0;
    while (count < DUE_ROWS_MAX && f->due->valid) {
        int64_t time;
        TRY(queue_key_read(f->due->key, &time, &ids[count]));
        if (time > f->now || (count > 0 && time != f->due_time))
            break;
        f->due_time = time;
        count++;
        TRY(cursor_next(f->due));
    }
    TRY(load_pages(f, ids, count));
    for (; f->due_count < count; f->due_count++) {
        struct due_row *row = &f->due_rows[f->due_count];
        *row = (struct due_row){.at = loaded_page(f, ids[f->due_count])};
        if (!row->at->found)
            return err_new(ERR_CORRUPT);
    }
    return OK;
}

/* Returns the row whose earliest message is due first, or NULL if all rows read so far are used
 * up. */
static struct due_row *due_first(struct search *f, const struct slot **slot)
{
    struct due_row *first = NULL;
    for (unsigned i = 0; i < f->due_count; i++) {
        struct due_row *row = &f->due_rows[i];
        const struct slot *earliest = row->over ? NULL : due_earliest(f, row);
        row->over = earliest == NULL || earliest->next_visible > f->now;
        if (earliest != NULL && row->over)
            search_remember(f, earliest->next_visible);
        if (row->over || (first != NULL && (*slot)->next_visible <= earliest->next_visible))
            continue;
        first = row;
        *slot = earliest;
    }
    return first;
}

static struct err search_due(struct search *f)
{
    while (!f->has_timed && f->due != NULL && f->left > 0) {
        const struct slot *slot = NULL;
        struct due_row *row = due_first(f, &slot);
        if (row == NULL) {
            TRY(due_read(f));
            if (f->due_count == 0)
                return OK;
            continue;
        }
        f->timed = (struct chosen){row->at, (unsigned)(slot - row->at->page.slots)};
        row->passed |= 1U << f->timed.slot;
        f->has_timed = search_wants(f, &f->timed);
    }
    return OK;
}

/* ---- both ---- */

/* Finds the next visible message. Finds none if there is none or the search has reached its
 * limit. A message in the log became visible when it was put; the stamp of its receipt is that
 * time. */
static struct err search_next(struct search *f, struct chosen *c, bool *found)
{
    TRY(search_log(f));
    TRY(search_due(f));
    *found = f->has_logged || f->has_timed;
    if (!*found)
        return OK;
    if (f->has_logged && (!f->has_timed || (int64_t)slot_at(&f->logged)->receipt <=
                                               slot_at(&f->timed)->next_visible)) {
        *c = f->logged;
        f->has_logged = false;
        f->head++;
        return OK;
    }
    *c = f->timed;
    f->has_timed = false;
    return OK;
}

/* The next search must start at the first v row that still has messages, so remember it. */
static struct err search_end(struct search *f)
{
    int64_t time;
    uint64_t id;
    const struct slot *slot = NULL;
    if (f->due == NULL)
        return OK;
    if (f->has_timed || due_first(f, &slot) != NULL)
        search_remember(f, f->due_time);
    if (!f->due->valid)
        return OK;
    TRY(queue_key_read(f->due->key, &time, &id));
    search_remember(f, time);
    return OK;
}

struct found {
    struct chosen messages[QUEUE_MESSAGES_MAX];
    unsigned count;
};

static struct err search_run(struct search *f, unsigned count_max, struct found *out)
{
    bool found = true;
    out->count = 0;
    while (out->count < count_max && found) {
        TRY(search_next(f, &out->messages[out->count], &found));
        out->count += found;
    }
    return search_end(f);
}

/* The caller sets search.left. */
static struct err find(struct search *f, struct txn *t, const struct queue_state *s,
                       unsigned count_max, struct found *out)
{
    struct err error = search_begin(f, t, s);
    f->wanted = count_max;
    if (!err_is(error))
        error = search_run(f, count_max, out);
    cursor_close(f->due);
    return error;
}

/* ---- what is handed out ---- */

static struct err show(struct txn *t, const struct queue_state *s, const struct chosen *c,
                       struct queue_get_messages *get)
{
    const struct slot *slot = slot_at(c);
    uint64_t number = number_of(c->at->page.id, c->slot);
    struct queue_message *m = &get->messages[get->count++];
    struct str text;
    *m = (struct queue_message){
        .id = queue_id_make(s, number),
        .expires = slot->expires,
        .next_visible = slot->next_visible,
        .dequeue_count = slot->dequeues,
        .receipt = queue_receipt_make(number, slot->receipt),
    };
    TRY(queue_page_show(t, s, &c->at->page, c->slot, &m->inserted, &text));
    m->text = arena_copy(get->arena, text);
    return OK;
}

struct err queue_poll_messages(struct txn *t, void *arg)
{
    struct queue_get_messages *get = arg;
    struct queue_state s;
    TRY(queue_state_load(t, &s));
    get->nothing = s.count == 0 || (s.head == s.tail && s.visible_from > txn_now(t));
    return OK;
}

struct err queue_peek_messages(struct txn *t, void *arg)
{
    struct queue_get_messages *get = arg;
    struct queue_state s;
    struct search f;
    struct found found;
    TRY(queue_state_load(t, &s));
    f.left = PEEK_LOOK_MAX;
    TRY(find(&f, t, &s, get->count_max, &found));
    get->count = 0;
    get->messages = ARENA_ARRAY(get->arena, struct queue_message, found.count);
    for (unsigned i = 0; i < found.count; i++)
        TRY(show(t, &s, &found.messages[i], get));
    return OK;
}

static struct err hand_out(struct txn *t, struct queue_state *s, const struct chosen *c,
                           struct queue_get_messages *get)
{
    struct slot *slot = &c->at->page.slots[c->slot];
    TRY(queue_page_show_at(t, s, &c->at->page, c->slot,
                           txn_now(t) + get->visibility_s * TICKS_PER_SECOND));
    slot->receipt = (uint64_t)txn_stamp(t);
    slot->dequeues++;
    c->at->changed = true;
    return show(t, s, c, get);
}

/* Writes the state that the search found and the delivered messages. */
static struct err take(struct txn *t, struct queue_state *s, const struct search *f,
                       const struct found *found, struct queue_get_messages *get)
{
    s->head = f->head;
    s->visible_from = f->visible_from;
    for (struct expired *e = f->expired; e != NULL; e = e->next) {
        TRY(queue_page_remove(t, s, &e->message.at->page, e->message.slot));
        e->message.at->changed = true;
    }
    get->messages = ARENA_ARRAY(get->arena, struct queue_message, found->count);
    for (unsigned i = 0; i < found->count; i++)
        TRY(hand_out(t, s, &found->messages[i], get));
    for (struct loaded *l = f->pages; l != NULL; l = l->next)
        if (l->changed)
            TRY(queue_page_finish(t, s, &l->page));
    return queue_state_save(t, s);
}

struct err queue_get_messages(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct queue_get_messages *get = arg;
    struct queue_state s;
    struct search f;
    struct found found;
    TRY(queue_state_load(t, &s));
    f.left = GET_LOOK_MAX;
    TRY(find(&f, t, &s, get->count_max, &found));
    get->count = 0;
    get->again = found.count == 0 && f.left == 0;
    if (found.count == 0 && f.head == s.head && f.visible_from == s.visible_from &&
        f.expired == NULL)
        return OK;
    return take(t, &s, &f, &found, get);
}
