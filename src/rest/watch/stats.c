/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/watch/stats.h"

#include <assert.h>

/* A key packs an outcome, with one bit set so that none is 0. */
enum { KEY_STATUS_SHIFT = 11, KEY_OP_SHIFT = 21, KEY_SERVICE_SHIFT = 28, KEY_AUTH_SHIFT = 31 };
#define KEY_SET (1ULL << 40)
static_assert(ERR_CODE_COUNT < 1 << KEY_STATUS_SHIFT, "an error code has room in the key");
static_assert(STATS_OPS <= 1 << (KEY_SERVICE_SHIFT - KEY_OP_SHIFT), "a row has room in the key");

static unsigned op_index(const struct rest_call *call)
{
    const struct op_table *table = match_table(call->service);
    const struct op *op = call->op;
    if (op != NULL && op >= OPS_DFS.rows && op < OPS_DFS.rows + OPS_DFS.count)
        return STATS_DFS_FIRST + (unsigned)(op - OPS_DFS.rows);
    /* The preflight and the website have separate rows, outside the tables. */
    if (op == NULL || op < table->rows || op >= table->rows + table->count)
        return STATS_OP_NONE;
    return (unsigned)(op - table->rows);
}

/* By the credentials that were sent: a refused request has no accepted kind. */
static enum stats_auth auth_kind(const struct rest_call *call, struct err error)
{
    if (!err_is(error)) {
        switch (call->who.kind) {
        case AUTH_SHARED_KEY:
            return STATS_KEY;
        case AUTH_ACCOUNT_SAS:
        case AUTH_SERVICE_SAS:
        case AUTH_DELEGATION_SAS:
            return STATS_SAS;
        case AUTH_BEARER:
            return STATS_BEARER;
        case AUTH_ANONYMOUS:
            return STATS_ANONYMOUS;
        }
    }
    struct str authorization = call_header(call, STR("Authorization"));
    if (str_given(authorization))
        return str_istarts(authorization, STR("Bearer ")) ? STATS_BEARER : STATS_KEY;
    return str_given(call_query(call, STR("sig"))) ? STATS_SAS : STATS_ANONYMOUS;
}

static uint64_t make_key(const struct rest_call *call, struct err error, unsigned op)
{
    return KEY_SET | (uint64_t)error.code | (uint64_t)call->status << KEY_STATUS_SHIFT |
           (uint64_t)op << KEY_OP_SHIFT | (uint64_t)call->service << KEY_SERVICE_SHIFT |
           (uint64_t)auth_kind(call, error) << KEY_AUTH_SHIFT;
}

static void count_outcome(struct rest_stats *s, uint64_t key)
{
    enum { TRIES = 16 };
    size_t at = (key * 0x9E3779B97F4A7C15ULL) >> 52;
    static_assert(STATS_OUTCOMES_MAX == 1 << 12, "as many slots as the hash has values");
    for (unsigned i = 0; i < TRIES; i++) {
        struct stats_slot *slot = &s->slots[(at + i) % STATS_OUTCOMES_MAX];
        uint64_t there = tally_read(&slot->key);
        if (there == 0)
            atomic_store_explicit(&slot->key, key, memory_order_relaxed);
        else if (there != key)
            continue;
        tally_add(&slot->count, 1);
        return;
    }
    tally_add(&s->unlisted, 1);
}

static uint64_t since(int64_t from_us, int64_t to_us)
{
    return to_us > from_us ? (uint64_t)(to_us - from_us) : 0;
}

void stats_add(struct rest_stats *s, const struct rest_call *call, struct err error,
               int64_t ended_us)
{
    const struct http_exchange *x = call->x;
    unsigned op = op_index(call);
    struct stats_op *times = &s->ops[call->service][op];
    assert(call->status >= 0 && call->status < 1 << (KEY_OP_SHIFT - KEY_STATUS_SHIFT));
    count_outcome(s, make_key(call, error, op));
    tally_add(&s->ended[call->service], 1);
    tally_add(&s->bytes_in[call->service], x->body_bytes);
    tally_add(&s->bytes_out[call->service], x->sent_bytes);
    histogram_add(&times->whole, HISTOGRAM_TIMES_US, since(x->started_us, ended_us));
    if (call->received_us != 0 && call->answered_us != 0)
        histogram_add(&times->server, HISTOGRAM_TIMES_US,
                      since(call->received_us, call->answered_us));
}

bool stats_read(const struct rest_stats *s, size_t i, struct stats_outcome *out)
{
    assert(out != NULL);
    uint64_t key = tally_read(&s->slots[i].key);
    if (key == 0)
        return false;
    *out = (struct stats_outcome){
        .error = (enum err_code)(key & ((1U << KEY_STATUS_SHIFT) - 1)),
        .status = (int)(key >> KEY_STATUS_SHIFT & ((1U << (KEY_OP_SHIFT - KEY_STATUS_SHIFT)) - 1)),
        .op = (unsigned)(key >> KEY_OP_SHIFT & ((1U << (KEY_SERVICE_SHIFT - KEY_OP_SHIFT)) - 1)),
        .service = (enum service_kind)(key >> KEY_SERVICE_SHIFT & 7),
        .auth = (enum stats_auth)(key >> KEY_AUTH_SHIFT & 7),
        .count = tally_read(&s->slots[i].count),
    };
    return true;
}

const char *stats_op_name(enum service_kind service, unsigned op)
{
    const struct op_table *table = match_table(service);
    if (service == SERVICE_BLOB && op >= STATS_DFS_FIRST) {
        table = &OPS_DFS;
        op -= STATS_DFS_FIRST;
    }
    return op < table->count ? table->rows[op].name : "";
}

const char *stats_auth_name(enum stats_auth auth)
{
    static const char *const names[STATS_AUTH_COUNT] = {"anonymous", "key", "sas", "bearer"};
    return names[auth];
}
