/* SPDX-License-Identifier: Apache-2.0 */
/* Which messages are visible, in the order of their next-visible times: get and peek.
 *
 * Two sources are merged: the log, where a message's time is that of its insertion, and the v rows
 * that are due. The search only reads, so get and peek share it; get then writes what it chose. */
#include "service/queue/page.h"

enum {
    /* What one search looks at in vain: pages that are gone, messages that have expired. */
    LOOK_MAX = 512,
};

/* How far past the present a search for due messages goes. When it finds none, the next search need
 * not begin before that time: so a queue with many messages in flight, whose v rows come and go
 * unseen, is searched ten times a second at most, and each deleted row is passed over once. Less
 * than the shortest visibility timeout, so a get never sees its own v rows. */
#define LOOK_AHEAD (TICKS_PER_SECOND / 10)

/* Every page is loaded once in a transaction, so that all changes meet in one place. */
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

struct search {
    struct txn *t;
    const struct queue_state *s;
    int64_t now;
    unsigned left; /* of LOOK_MAX */
    struct loaded *pages;
    struct expired *expired; /* met on the way */

    uint64_t head; /* no message waits in the log before this */
    bool has_logged;
    struct chosen logged; /* the one at head */

    struct cursor *due; /* open while v rows may be due */
    struct loaded *due_page;
    uint32_t due_passed; /* the slots of due_page that were looked at */
    bool has_timed;
    struct chosen timed;
    int64_t visible_from; /* the bound for the next search */
};

static struct err search_page(struct search *f, uint64_t id, struct loaded **out)
{
    for (struct loaded *l = f->pages; l != NULL; l = l->next) {
        if (l->page.id == id) {
            *out = l;
            return OK;
        }
    }
    struct loaded *l = ARENA_NEW(txn_arena(f->t), struct loaded);
    TRY(page_load(f->t, f->s, id, &l->page, &l->found));
    l->next = f->pages;
    f->pages = l;
    *out = l;
    return OK;
}

static const struct slot *slot_at(const struct chosen *c)
{
    return &c->at->page.slots[c->slot];
}

/* Whether the message is one to hand out; one that has expired is kept for removal. */
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
    *f = (struct search){.t = t, .s = s, .now = txn_now(t), .left = LOOK_MAX, .head = s->head};
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

static struct err search_log(struct search *f)
{
    while (!f->has_logged && f->head < f->s->tail && f->left > 0) {
        struct chosen c = {.slot = slot_of(f->head)};
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

/* The earliest message of due_page that the v row at `time` stands for and that was not looked at
 * yet; NULL when there is none. */
static const struct slot *due_earliest(const struct search *f, int64_t time)
{
    const struct page *page = &f->due_page->page;
    const struct slot *earliest = NULL;
    for (unsigned i = 0; i < page->count; i++) {
        const struct slot *slot = &page->slots[i];
        if (!slot->gone && slot->timed && (f->due_passed & 1U << i) == 0 &&
            slot->next_visible >> VISIBLE_GRAIN_BITS == time >> VISIBLE_GRAIN_BITS &&
            (earliest == NULL || slot->next_visible < earliest->next_visible))
            earliest = slot;
    }
    return earliest;
}

static struct err due_next_row(struct search *f)
{
    f->due_page = NULL;
    f->due_passed = 0;
    return cursor_next(f->due);
}

/* Looks at one message of the v row at the cursor, or goes to the next row. */
static struct err search_due_row(struct search *f, int64_t time, uint64_t id)
{
    if (f->due_page == NULL)
        TRY(search_page(f, id, &f->due_page));
    if (!f->due_page->found)
        return err_new(ERR_CORRUPT);
    const struct slot *slot = due_earliest(f, time);
    if (slot == NULL || slot->next_visible > f->now) {
        if (slot != NULL)
            search_remember(f, slot->next_visible);
        return due_next_row(f);
    }
    f->timed = (struct chosen){f->due_page, (unsigned)(slot - f->due_page->page.slots)};
    f->due_passed |= 1U << f->timed.slot;
    f->has_timed = search_wants(f, &f->timed);
    return OK;
}

static struct err search_due(struct search *f)
{
    while (!f->has_timed && f->due != NULL && f->left > 0 && cursor_valid(f->due)) {
        int64_t time;
        uint64_t id;
        TRY(queue_key_read(cursor_key(f->due), &time, &id));
        if (time > f->now)
            return OK;
        TRY(search_due_row(f, time, id));
    }
    return OK;
}

/* ---- both ---- */

/* The next visible message; none when there is none, or the search has looked enough. A message in
 * the log became visible when it was put, which is what its receipt's stamp says. */
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

/* The first v row that still stands for something when the search ends is where the next one has to
 * begin. */
static struct err search_end(struct search *f)
{
    int64_t time;
    uint64_t id;
    if (f->due == NULL || !cursor_valid(f->due))
        return OK;
    TRY(queue_key_read(cursor_key(f->due), &time, &id));
    if (f->due_page != NULL && !f->has_timed && due_earliest(f, time) == NULL) {
        TRY(due_next_row(f));
        if (!cursor_valid(f->due))
            return OK;
        TRY(queue_key_read(cursor_key(f->due), &time, &id));
    }
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

static struct err find(struct search *f, struct txn *t, const struct queue_state *s,
                       unsigned count_max, struct found *out)
{
    struct err error = search_begin(f, t, s);
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
    TRY(page_show(t, s, &c->at->page, c->slot, &m->inserted, &text));
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
    TRY(page_show_at(t, s, &c->at->page, c->slot,
                     txn_now(t) + get->visibility_s * TICKS_PER_SECOND));
    slot->receipt = (uint64_t)txn_stamp(t);
    slot->dequeues++;
    c->at->changed = true;
    return show(t, s, c, get);
}

/* Writes what the search found out and what is handed out. */
static struct err take(struct txn *t, struct queue_state *s, const struct search *f,
                       const struct found *found, struct queue_get_messages *get)
{
    s->head = f->head;
    s->visible_from = f->visible_from;
    for (struct expired *e = f->expired; e != NULL; e = e->next) {
        TRY(page_remove(t, s, &e->message.at->page, e->message.slot));
        e->message.at->changed = true;
    }
    get->messages = ARENA_ARRAY(get->arena, struct queue_message, found->count);
    for (unsigned i = 0; i < found->count; i++)
        TRY(hand_out(t, s, &found->messages[i], get));
    for (struct loaded *l = f->pages; l != NULL; l = l->next)
        if (l->changed)
            TRY(page_finish(t, s, &l->page));
    return queue_state_save(t, s);
}

struct err queue_get_messages(struct txn *t, void *arg)
{
    struct queue_get_messages *get = arg;
    struct queue_state s;
    struct search f;
    struct found found;
    TRY(queue_state_load(t, &s));
    TRY(find(&f, t, &s, get->count_max, &found));
    get->count = 0;
    get->again = found.count == 0 && f.left == 0;
    if (found.count == 0 && f.head == s.head && f.visible_from == s.visible_from &&
        f.expired == NULL)
        return OK;
    return take(t, &s, &f, &found, get);
}
