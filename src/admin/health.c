/* SPDX-License-Identifier: Apache-2.0 */
/* /livez: true unless a restart would help; /readyz: true if requests would be served. */
#include <stdatomic.h>

#include "admin/internal.h"
#include "engine/stats.h"

enum {
    LOOP_HELD_US_MAX = 5000000,       /* by one turn */
    COMMITTER_HELD_US_MAX = 30000000, /* by one group of updates */
    STORE_AWAY_MS_MAX = 10000,        /* servers that the engine needs */
    CHECKS_MAX = 8,
};

struct check {
    const char *name;
    bool ok;
};

struct checks {
    struct check list[CHECKS_MAX];
    size_t count;
};

static void add(struct checks *c, const char *name, bool ok)
{
    c->list[c->count++] = (struct check){name, ok};
}

static bool all_ok(const struct checks *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (!c->list[i].ok)
            return false;
    return true;
}

static bool loops_turn(const struct admin *a)
{
    for (size_t i = 0; i < a->watched.loop_count; i++)
        if (loop_health(a->watched.loops[i]).held_us > LOOP_HELD_US_MAX)
            return false;
    return true;
}

static void check_live(const struct admin *a, const struct engine_stats *s, struct checks *c)
{
    add(c, "loops", loops_turn(a));
    add(c, "committer", s->held_us < COMMITTER_HELD_US_MAX);
}

static void check_ready(const struct admin *a, const struct engine_stats *s, struct checks *c)
{
    check_live(a, s, c);
    add(c, "started", atomic_load(&a->state) != ADMIN_STARTING);
    add(c, "serving", atomic_load(&a->state) != ADMIN_DRAINING);
    add(c, "flush", !s->lost);
    add(c, "disk", engine_stats_room(s));
    add(c, "store", s->away_ms < STORE_AWAY_MS_MAX);
}

/* Answers "ok", or with ?verbose or on failure one line per check as JSON. */
static void answer(struct admin_call *call, const struct checks *c)
{
    bool ok = all_ok(c);
    struct str query = call->x->request.query;
    if (ok && (!str_given(query) || !str_starts(query, STR("verbose")))) {
        admin_reply(call, 200, STR("text/plain; charset=utf-8"), STR("ok\n"));
        return;
    }
    struct json_writer w = json_writer_of(&call->out);
    json_open(&w, '{');
    json_name(&w, STR("status"));
    json_string(&w, ok ? STR("ok") : STR("failed"));
    json_name(&w, STR("checks"));
    json_open(&w, '{');
    for (size_t i = 0; i < c->count; i++) {
        json_name(&w, str_of(c->list[i].name));
        json_string(&w, c->list[i].ok ? STR("ok") : STR("failed"));
    }
    json_close(&w, '}');
    json_close(&w, '}');
    buf_putc(&call->out, '\n');
    admin_reply(call, ok ? 200 : 503, STR("application/json"), buf_str(&call->out));
}

static void probe(struct admin_call *call,
                  void (*check)(const struct admin *, const struct engine_stats *, struct checks *))
{
    struct engine_stats stats;
    struct checks c = {.count = 0};
    engine_stats(call->admin->rest->store->engine, &stats);
    check(call->admin, &stats, &c);
    answer(call, &c);
}

void admin_get_livez(struct admin_call *call)
{
    probe(call, check_live);
}

void admin_get_readyz(struct admin_call *call)
{
    probe(call, check_ready);
}
