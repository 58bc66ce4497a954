/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "transfer/resume.h"
#include "transfer/transfer.h"

struct copying {
    struct transfer *t;
    struct crew *crew;
    struct resume resume;
    struct remote *from;
    uint64_t total;
};

static void reached(void *arg, const struct position *position, uint64_t number)
{
    struct copying *c = arg;
    resume_reached(&c->resume, position, number);
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
    struct crew_work work = {.entry = entry, .position = &entry->position};
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

static struct err walk(struct copying *c, const struct position *after,
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
    struct copying c = {.t = t, .from = from};
    struct arena a;
    struct position after;
    uint64_t number;
    struct err error = OK;
    arena_init(&a, ITEM_ARENA_BYTES_MAX);
    resume_open(&c.resume, state, t->of);
    bool again = resume_find(&c.resume, &a, to, &after, &number);
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
    resume_close(&c.resume, !err_is(error) && t->counts.crew.failed == 0);
    arena_release(&a);
    return error;
}
