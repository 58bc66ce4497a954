/* SPDX-License-Identifier: Apache-2.0 */
/* Which messages are visible, in the order of their next-visible times: get and peek.
 *
 * Two sources are merged: the log, where a message's time is that of its insertion, and the v rows
 * that are due. The search only reads, so get and peek share it; get then writes what it chose. */
#include "service/queue/rows.h"

enum {
    /* Messages one search looks at in vain: expired, or no longer in the log. */
    LOOK_MAX = 512,
};

/* How far past the present a search for due messages goes. When it finds none, the next search need
 * not begin before that time: so a queue with many messages in flight, whose v rows come and go
 * unseen, is searched ten times a second at most, and each deleted row is passed over once. Less
 * than the shortest visibility timeout, so a get never sees its own v rows. */
#define LOOK_AHEAD (TICKS_PER_SECOND / 10)

struct expired {
    struct queue_row row;
    struct expired *next;
};

struct search {
    struct txn *t;
    const struct queue_state *s;
    int64_t now;
    unsigned left; /* of LOOK_MAX */

    uint64_t head; /* no message waits in the log before this */
    bool has_logged;
    struct queue_row logged; /* the one at head */

    struct cursor *due; /* open when v rows may be due */
    bool has_timed;
    struct queue_row timed; /* the one at the cursor */

    struct expired *expired; /* met on the way */
};

static struct err search_begin(struct search *f, struct txn *t, const struct queue_state *s)
{
    *f = (struct search){.t = t, .s = s, .now = txn_now(t), .left = LOOK_MAX, .head = s->head};
    if (s->visible_from > f->now)
        return OK;
    struct queue_key from = queue_key_visible(s, s->visible_from, 0);
    struct queue_key to = queue_key_visible(s, f->now + LOOK_AHEAD, 0);
    return cursor_open_range(t, queue_key_str(&from), queue_key_str(&to), &f->due);
}

/* Whether a loaded row is one to hand out; one that has expired is kept for removal. */
static bool search_wants(struct search *f, const struct queue_row *row)
{
    if (!queue_row_expired(row, f->now))
        return true;
    struct expired *e = ARENA_NEW(txn_arena(f->t), struct expired);
    *e = (struct expired){*row, f->expired};
    f->expired = e;
    return false;
}

static struct err search_log(struct search *f)
{
    while (!f->has_logged && f->head < f->s->tail && f->left > 0) {
        bool found;
        TRY(queue_row_load(f->t, f->s, f->head, &f->logged, &found));
        f->has_logged = found && !f->logged.timed && search_wants(f, &f->logged);
        if (!f->has_logged) {
            f->head++;
            f->left--;
        }
    }
    return OK;
}

/* The time of the v row at the cursor; that of the range's end when there is no further one. */
static struct err search_due_time(const struct search *f, int64_t *time, uint64_t *number)
{
    *time = f->now + LOOK_AHEAD;
    return cursor_valid(f->due) ? queue_key_time(cursor_key(f->due), time, number) : OK;
}

static struct err search_due(struct search *f)
{
    while (!f->has_timed && f->due != NULL && f->left > 0) {
        int64_t time;
        uint64_t number = 0;
        bool found;
        TRY(search_due_time(f, &time, &number));
        if (time > f->now)
            return OK;
        TRY(queue_row_load(f->t, f->s, number, &f->timed, &found));
        if (!found)
            return err_new(ERR_CORRUPT);
        f->has_timed = search_wants(f, &f->timed);
        if (!f->has_timed) {
            TRY(cursor_next(f->due));
            f->left--;
        }
    }
    return OK;
}

/* The next visible message; none when there is none, or the search has looked enough. */
static struct err search_next(struct search *f, struct queue_row *row, bool *found)
{
    TRY(search_log(f));
    TRY(search_due(f));
    *found = f->has_logged || f->has_timed;
    if (!*found)
        return OK;
    if (f->has_logged && (!f->has_timed || f->logged.inserted <= f->timed.next_visible)) {
        *row = f->logged;
        f->has_logged = false;
        f->head++;
        return OK;
    }
    *row = f->timed;
    f->has_timed = false;
    return cursor_next(f->due);
}

/* Finds up to count_max messages. *visible_from becomes the bound for the next search. */
static struct err search_run(struct search *f, unsigned count_max, struct queue_row *rows,
                             unsigned *count, int64_t *visible_from)
{
    bool found = true;
    uint64_t number = 0;
    *count = 0;
    while (*count < count_max && found) {
        TRY(search_next(f, &rows[*count], &found));
        *count += found;
    }
    return f->due == NULL ? OK : search_due_time(f, visible_from, &number);
}

struct found {
    struct queue_row rows[QUEUE_MESSAGES_MAX];
    unsigned count;
    uint64_t head;
    int64_t visible_from;
    struct expired *expired;
    bool looked_enough;
};

static struct err find(struct txn *t, const struct queue_state *s, unsigned count_max,
                       struct found *out)
{
    struct search f;
    struct err error = search_begin(&f, t, s);
    out->visible_from = s->visible_from;
    if (!err_is(error))
        error = search_run(&f, count_max, out->rows, &out->count, &out->visible_from);
    out->head = f.head;
    out->expired = f.expired;
    out->looked_enough = f.left == 0;
    cursor_close(f.due);
    return error;
}

/* ---- what is handed out ---- */

static struct err show(struct txn *t, const struct queue_state *s, const struct queue_row *row,
                       struct queue_get_messages *get)
{
    struct str text;
    TRY(queue_row_text(t, s, row, &text));
    get->messages[get->count++] = (struct queue_message){
        .id = queue_id_make(s, row->number),
        .text = arena_copy(get->arena, text),
        .inserted = row->inserted,
        .expires = row->expires,
        .next_visible = row->next_visible,
        .dequeue_count = row->dequeues,
        .receipt = queue_receipt_make(row),
    };
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
    struct found found;
    TRY(queue_state_load(t, &s));
    TRY(find(t, &s, get->count_max, &found));
    get->count = 0;
    for (unsigned i = 0; i < found.count; i++)
        TRY(show(t, &s, &found.rows[i], get));
    return OK;
}

static struct err hand_out(struct txn *t, struct queue_state *s, struct queue_row *row,
                           struct queue_get_messages *get)
{
    int64_t until = txn_now(t) + get->visibility_s * TICKS_PER_SECOND;
    TRY(queue_row_show_at(t, s, row, until));
    row->receipt = (uint64_t)txn_stamp(t);
    row->dequeues++;
    TRY(queue_row_save(t, s, row));
    return show(t, s, row, get);
}

struct err queue_get_messages(struct txn *t, void *arg)
{
    struct queue_get_messages *get = arg;
    struct queue_state s;
    struct found found;
    TRY(queue_state_load(t, &s));
    TRY(find(t, &s, get->count_max, &found));
    get->count = 0;
    get->again = found.count == 0 && found.looked_enough;
    if (found.count == 0 && found.head == s.head && found.visible_from == s.visible_from &&
        found.expired == NULL)
        return OK;
    s.head = found.head;
    s.visible_from = found.visible_from;
    for (struct expired *e = found.expired; e != NULL; e = e->next)
        TRY(queue_row_remove(t, &s, &e->row));
    for (unsigned i = 0; i < found.count; i++)
        TRY(hand_out(t, &s, &found.rows[i], get));
    return queue_state_save(t, &s);
}
