/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "import/document.h"
#include "transfer/bookmark.h"
#include "transfer/transfer.h"

struct copying {
    struct transfer *t;
    struct crew *crew;
    struct bookmark state;
    struct remote *from, *to;
    uint64_t total;
};

/* ---- how far it is ---- */

/* Which copy a state is of: endpoints and accounts, no secrets. */
static void put_servers(struct json_writer *w, const char *name, const struct remote *r)
{
    json_name(w, str_of(name));
    json_open(w, '[');
    json_string(w, r->account);
    for (unsigned i = 0; i < REMOTE_SERVICES; i++)
        json_string(w, r->has[i] ? r->endpoint[i].host : STR(""));
    for (unsigned i = 0; i < REMOTE_SERVICES; i++)
        json_i64(w, r->has[i] ? r->endpoint[i].port : 0);
    json_close(w, ']');
}

static void put_state(const struct copying *c, struct json_writer *w, const struct place *place)
{
    json_open(w, '{');
    put_servers(w, "from", c->from);
    put_servers(w, "to", c->to);
    if (place != NULL) {
        item_put_text(w, "kind", str_of(ITEM_KIND_NAMES[place->kind]));
        item_put_text(w, "container", place->container);
        item_put_text(w, "name", place->name);
    }
    json_close(w, '}');
}

static void reached(void *arg, const struct place *place, uint64_t number)
{
    struct copying *c = arg;
    struct arena a;
    arena_init(&a, BOOKMARK_BYTES_MAX);
    struct buf text = buf_in(&a);
    struct json_writer w = json_writer_of(&text);
    (void)number;
    put_state(c, &w, place);
    bookmark_set(&c->state, buf_str(&text));
    arena_release(&a);
}

static bool same_servers(struct arena *a, const struct copying *c, const struct node *old)
{
    struct buf text = buf_in(a);
    struct json_writer w = json_writer_of(&text);
    put_state(c, &w, NULL);
    const struct node *now = document_parse(a, buf_str(&text));
    const struct node *from = node_member(old, "from");
    const struct node *to = node_member(old, "to");
    return from != NULL && to != NULL && str_eq(from->source, node_member(now, "from")->source) &&
           str_eq(to->source, node_member(now, "to")->source);
}

/* False: there is no earlier run of this copy. */
static bool find_place(const struct copying *c, struct arena *a, struct place *out)
{
    char *text = arena_bytes(a, BOOKMARK_BYTES_MAX);
    size_t n = bookmark_read(&c->state, text, BOOKMARK_BYTES_MAX);
    const struct node *old = n == 0 ? NULL : document_parse(a, (struct str){text, n});
    struct str kind = node_text(old, "kind");
    if (old == NULL || !same_servers(a, c, old))
        return false;
    for (unsigned i = 0; i < ITEM_KINDS; i++)
        if (str_eq(kind, str_of(ITEM_KIND_NAMES[i]))) {
            *out = (struct place){(enum item_kind)i, node_text(old, "container"),
                                  node_text(old, "name")};
            return true;
        }
    return false;
}

/* ---- copying ---- */

static void failed(void *arg, struct str line)
{
    struct copying *c = arg;
    if (c->t->failed != NULL)
        c->t->failed(c->t->arg, line);
}

static void tell(struct copying *c, uint64_t listed)
{
    struct crew_counts counts;
    uint64_t sum = 0;
    if (c->t->progress == NULL)
        return;
    crew_look(c->crew, &counts);
    for (unsigned i = 0; i < ITEM_KINDS; i++)
        sum += counts.done[i];
    uint64_t total = listed > c->total ? listed : c->total;
    c->t->progress(c->t->arg, "copy", sum < total ? sum : total, total);
}

static struct err give_entry(void *arg, const struct entry *entry)
{
    struct copying *c = arg;
    struct arena a;
    arena_init(&a, ITEM_ARENA_BYTES_MAX);
    struct crew_work work = {.entry = entry, .place = &entry->place};
    struct err error = crew_give(c->crew, &work, &a);
    arena_release(&a);
    tell(c, 0);
    return error;
}

static struct err count_entry(void *arg, const struct entry *entry)
{
    uint64_t *total = arg;
    (void)entry;
    ++*total;
    return OK;
}

static struct err walk(struct copying *c, const struct place *after,
                       struct err (*visit)(void *, const struct entry *), void *arg)
{
    struct session session;
    session_init(&session, c->from);
    struct walk w = {.session = &session,
                     .selection = &c->t->selection,
                     .after = after,
                     .visit = visit,
                     .arg = arg};
    struct err error = source_walk(&w);
    if (err_is(error) && error.detail != NULL) {
        (void)snprintf(c->t->counts.text, sizeof c->t->counts.text, "%s", error.detail);
        error.detail = c->t->counts.text;
    }
    session_end(&session);
    return error;
}

struct err transfer_copy(struct transfer *t, struct remote *from, struct remote *to,
                         const char *state)
{
    struct copying c = {.t = t, .from = from, .to = to};
    struct arena a;
    struct place after;
    struct err error = OK;
    arena_init(&a, ITEM_ARENA_BYTES_MAX);
    bookmark_open(&c.state, state);
    bool again = find_place(&c, &a, &after);
    t->counts.resumed = again;
    if (t->progress != NULL)
        error = walk(&c, NULL, count_entry, &c.total);
    struct crew_options options = {.source = from,
                                   .target = to,
                                   .threads = t->threads,
                                   .failed = failed,
                                   .reached = reached,
                                   .arg = &c};
    c.crew = crew_new(&options);
    if (!err_is(error))
        error = walk(&c, again ? &after : NULL, give_entry, &c);
    struct err ended = crew_end(c.crew, &t->counts.crew);
    error = err_is(ended) ? ended : error;
    if (!err_is(error) && t->counts.crew.failed == 0)
        bookmark_remove(&c.state);
    bookmark_close(&c.state);
    arena_release(&a);
    return error;
}
