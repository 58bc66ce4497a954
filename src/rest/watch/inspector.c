/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/watch/inspector.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/mem.h"

/* How long a refusal waits for the write that caused it. */
#define LATE_TICKS ((int64_t)10 * TICKS_PER_SECOND)

/* The last writer of an object, or the holder of its lease. Names with equal hashes can be
 * constructed, so the account is stored too: each account sees only its own clients. */
struct writer {
    uint64_t hash; /* 0: nobody */
    char account[ACCOUNT_NAME_MAX + 1];
    struct inspector_maker maker;
};

/* The key of a table of writers. */
struct writer_key {
    uint64_t hash;
    struct str account;
};

struct ring {
    struct inspector_event *events;
    size_t size;
    size_t count; /* ever put; the newest is at (count - 1) % size */
};

struct inspector {
    pthread_mutex_t lock; /* of all that follows */
    struct ring rings[2]; /* refusals; what was done */
    uint64_t sequence;
    bool explains;
    uint64_t conflicts[SERVICE_KIND_COUNT][RULE_COUNT];
    uint64_t checks[SERVICE_KIND_COUNT][CHECK_COUNT];
    _Atomic int64_t watched_until_ms;
    struct writer *writers;
    struct writer *holders; /* of leases */
};

struct inspector *inspector_new(bool explains)
{
    struct inspector *in = MEM_NEW(struct inspector);
    in->explains = explains;
    (void)pthread_mutex_init(&in->lock, NULL);
    in->rings[0] = (struct ring){mem_calloc(INSPECTOR_REFUSALS, sizeof(struct inspector_event)),
                                 INSPECTOR_REFUSALS, 0};
    in->rings[1] = (struct ring){mem_calloc(INSPECTOR_DONE, sizeof(struct inspector_event)),
                                 INSPECTOR_DONE, 0};
    in->writers = mem_calloc(INSPECTOR_WRITERS, sizeof *in->writers);
    in->holders = mem_calloc(INSPECTOR_LEASES, sizeof *in->holders);
    return in;
}

void inspector_free(struct inspector *in)
{
    if (in == NULL)
        return;
    (void)pthread_mutex_destroy(&in->lock);
    free(in->rings[0].events);
    free(in->rings[1].events);
    free(in->writers);
    free(in->holders);
    free(in);
}

/* ---- names ---- */

static uint64_t mix(uint64_t hash, struct str text)
{
    uint64_t word;
    hash = (hash ^ text.n) * 0x9E3779B97F4A7C15ULL;
    for (; text.n >= sizeof word; text = str_from(text, sizeof word)) {
        memcpy(&word, text.p, sizeof word);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL;
        hash ^= hash >> 29;
    }
    word = 0;
    if (text.n > 0)
        memcpy(&word, text.p, text.n);
    hash = (hash ^ word) * 0xBF58476D1CE4E5B9ULL;
    return hash ^ hash >> 32;
}

uint64_t inspector_hash(const struct inspector_name *name)
{
    uint64_t hash = mix((uint64_t)name->service + 1, name->account);
    hash = mix(mix(hash, name->container), name->object);
    if (str_given(name->pk))
        hash = mix(mix(hash, name->pk), name->rk);
    return hash == 0 ? 1 : hash;
}

static struct writer_key writer_key_of(const struct rest_call *call)
{
    struct inspector_name name = {call->service, call->account, call->container,
                                  call->object,  call->key_pk,  call->key_rk};
    return (struct writer_key){inspector_hash(&name), call->account};
}

static void copy_text(char *to, size_t size, struct str from)
{
    size_t n = from.n < size - 1 ? from.n : size - 1;
    /* Does not cut a character in half. */
    while (n > 0 && n < from.n && ((unsigned char)from.p[n] & 0xC0) == 0x80)
        n--;
    if (n > 0)
        memcpy(to, from.p, n);
    to[n] = '\0';
}

/* Client input, arbitrary bytes: escaped only when it is shown, which is rare. */
static void clean(char *text)
{
    for (; *text != '\0'; text++)
        if (*text < 0x20 || *text > 0x7E)
            *text = '?';
}

static void clean_who(struct inspector_who *who)
{
    clean(who->client_request_id);
    clean(who->agent);
}

static void copy_bytes(char *to, size_t size, struct str from)
{
    size_t n = from.n < size - 1 ? from.n : size - 1;
    if (n > 0)
        memcpy(to, from.p, n);
    to[n] = '\0';
}

static void copy_object(char to[INSPECTOR_NAME_MAX + 1], const struct rest_call *call)
{
    if (!str_given(call->key_pk)) {
        copy_text(to, INSPECTOR_NAME_MAX + 1, call->object);
        return;
    }
    char *room = arena_bytes(call->arena, call->key_pk.n + call->key_rk.n + 1);
    struct buf text = {.p = room, .capacity = call->key_pk.n + call->key_rk.n + 1};
    buf_put(&text, call->key_pk);
    buf_putc(&text, '/');
    buf_put(&text, call->key_rk);
    copy_text(to, INSPECTOR_NAME_MAX + 1, buf_str(&text));
}

void inspector_address(const struct inspector_who *who, char out[INSPECTOR_ADDRESS_MAX])
{
    out[0] = '\0';
    if (who->family != 0)
        (void)inet_ntop(who->family, who->address, out, INSPECTOR_ADDRESS_MAX);
}

static void copy_address(struct inspector_who *to, const struct sockaddr_storage *peer)
{
    if (peer == NULL)
        return;
    to->family = (unsigned char)peer->ss_family;
    if (peer->ss_family == AF_INET)
        memcpy(to->address, &((const struct sockaddr_in *)peer)->sin_addr, 4);
    else if (peer->ss_family == AF_INET6)
        memcpy(to->address, &((const struct sockaddr_in6 *)peer)->sin6_addr, 16);
    else
        to->family = 0;
}

static void who_is(const struct rest_call *call, struct inspector_who *out)
{
    memcpy(out->request_id, call->request_id, sizeof out->request_id);
    copy_bytes(out->client_request_id, sizeof out->client_request_id,
               call_header(call, STR("x-ms-client-request-id")));
    copy_bytes(out->agent, sizeof out->agent, call_header(call, STR("User-Agent")));
    copy_address(out, call->x->peer);
}

/* ---- rules ---- */

const char *inspector_rule_name(enum inspector_rule rule)
{
    static const char *const names[RULE_COUNT] = {"",   "B2", "B3", "B6", "L1", "L2", "L3", "L4",
                                                  "L5", "L7", "T1", "T2", "Q1", "S2", "S3"};
    return names[rule];
}

const char *inspector_check_name(enum inspector_check check)
{
    static const char *const names[CHECK_COUNT] = {"",     "if_match", "if_none_match", "since",
                                                   "tags", "lease",    "sequence",      "append"};
    return names[check];
}

static enum inspector_check check_of(const struct inspector_event *e)
{
    static const enum inspector_check CHECKS[] = {
        [VERDICT_NONE] = CHECK_NONE,
        [VERDICT_IF_MATCH] = CHECK_IF_MATCH,
        [VERDICT_IF_NONE_MATCH] = CHECK_IF_NONE_MATCH,
        [VERDICT_IF_MODIFIED_SINCE] = CHECK_SINCE,
        [VERDICT_IF_UNMODIFIED_SINCE] = CHECK_SINCE,
        [VERDICT_IF_TAGS] = CHECK_TAGS,
        [VERDICT_LEASE] = CHECK_LEASE,
    };
    if (e->error == ERR_SEQUENCE_NUMBER_CONDITION_NOT_MET)
        return CHECK_SEQUENCE;
    if (e->error == ERR_APPEND_POSITION_CONDITION_NOT_MET ||
        e->error == ERR_MAX_BLOB_SIZE_CONDITION_NOT_MET)
        return CHECK_APPEND;
    return CHECKS[e->verdict.check];
}

static enum inspector_rule rule_of_lease_use(const struct rest_call *call)
{
    bool reads = call->op->mode == MODE_READ || call->op->mode == MODE_START_READ;
    if (!str_given(call->object))
        return RULE_L7;
    return reads ? RULE_L5 : RULE_L3;
}

/* Errors of concurrency control; others of the same status are ignored here. */
static bool rule_of(const struct rest_call *call, enum err_code code, enum inspector_rule *out)
{
    *out = RULE_NONE;
    if (call->op == NULL)
        return false;
    switch ((int)code) {
    case ERR_CONDITION_NOT_MET:
    case ERR_TARGET_CONDITION_NOT_MET:
        *out = call->verdict.check == VERDICT_IF_MATCH ? RULE_B2 : RULE_B3;
        return true;
    case ERR_NOT_MODIFIED:
    case ERR_BLOB_ALREADY_EXISTS:
    case ERR_APPEND_POSITION_CONDITION_NOT_MET:
    case ERR_MAX_BLOB_SIZE_CONDITION_NOT_MET:
    case ERR_SEQUENCE_NUMBER_CONDITION_NOT_MET:
    case ERR_ACCESS_TIER_CHANGE_TIME_CONDITION_NOT_MET:
        *out = RULE_B3;
        return true;
    case ERR_SOURCE_CONDITION_NOT_MET:
    case ERR_COPY_SOURCE_CONDITION:
    case ERR_PENDING_COPY_OPERATION:
    case ERR_SNAPSHOTS_PRESENT:
        *out = RULE_B6;
        return true;
    case ERR_LEASE_ALREADY_PRESENT:
        *out = RULE_L2;
        return true;
    case ERR_LEASE_ALREADY_BROKEN:
    case ERR_LEASE_ID_MISMATCH_WITH_LEASE_OPERATION:
    case ERR_LEASE_NOT_PRESENT_WITH_LEASE_OPERATION:
    case ERR_LEASE_IS_BREAKING_AND_CANNOT_BE_ACQUIRED:
    case ERR_LEASE_IS_BREAKING_AND_CANNOT_BE_CHANGED:
    case ERR_LEASE_IS_BROKEN_AND_CANNOT_BE_RENEWED:
    case ERR_INFINITE_LEASE_DURATION_REQUIRED:
        *out = RULE_L1;
        return true;
    case ERR_LEASE_LOST:
        *out = RULE_L4;
        return true;
    default:
        return false;
    }
}

static bool rule_of_others(const struct rest_call *call, enum err_code code,
                           enum inspector_rule *out)
{
    switch ((int)code) {
    case ERR_LEASE_ID_MISSING:
    case ERR_LEASE_ID_MISMATCH_WITH_BLOB_OPERATION:
    case ERR_LEASE_ID_MISMATCH_WITH_CONTAINER_OPERATION:
    case ERR_LEASE_ID_MISMATCH_WITH_FILE_OPERATION:
    case ERR_LEASE_ID_MISMATCH_WITH_SHARE_OPERATION:
    case ERR_LEASE_NOT_PRESENT_WITH_BLOB_OPERATION:
    case ERR_LEASE_NOT_PRESENT_WITH_CONTAINER_OPERATION:
    case ERR_LEASE_NOT_PRESENT_WITH_FILE_OPERATION:
    case ERR_LEASE_NOT_PRESENT_WITH_SHARE_OPERATION:
        *out = rule_of_lease_use(call);
        return true;
    case ERR_ENTITY_ALREADY_EXISTS:
        *out = RULE_T1;
        return true;
    case ERR_UPDATE_CONDITION_NOT_SATISFIED:
        *out = RULE_T2;
        return true;
    case ERR_POP_RECEIPT_MISMATCH:
        *out = RULE_Q1;
        return true;
    case ERR_SHARING_VIOLATION:
    case ERR_HANDLE_UNAVAILABLE:
    case ERR_FILE_LOCK_CONFLICT:
    case ERR_CLIENT_CACHE_FLUSH_DELAY:
        *out = RULE_S2;
        return true;
    case ERR_SMB_DELETE_PENDING:
    case ERR_CANNOT_DELETE_FILE_OR_DIRECTORY:
        *out = RULE_S3;
        return true;
    case ERR_CONTAINER_ALREADY_EXISTS:
    case ERR_CONTAINER_BEING_DELETED:
    case ERR_QUEUE_ALREADY_EXISTS:
    case ERR_QUEUE_BEING_DELETED:
    case ERR_TABLE_ALREADY_EXISTS:
    case ERR_TABLE_BEING_DELETED:
    case ERR_SHARE_ALREADY_EXISTS:
    case ERR_SHARE_BEING_DELETED:
    case ERR_RESOURCE_ALREADY_EXISTS:
        return true;
    default:
        return false;
    }
}

/* ---- who made it so ---- */

/* Returns the writer of event `e`. The lock is held. */
static void note_writer(struct writer *table, size_t size, const struct inspector_event *e)
{
    struct writer *w = &table[e->hash % size];
    w->hash = e->hash;
    memcpy(w->account, e->account, sizeof w->account);
    w->maker.known = true;
    w->maker.current = false;
    w->maker.op = e->op;
    w->maker.at = e->at;
    w->maker.etag = e->etag;
    w->maker.who = e->who;
}

static struct inspector_maker find_writer(struct inspector *in, const struct writer *table,
                                          size_t size, const struct writer_key *key)
{
    const struct writer *w = &table[key->hash % size];
    struct inspector_maker maker = {0};
    (void)pthread_mutex_lock(&in->lock);
    if (w->hash == key->hash && str_eq(str_of(w->account), key->account))
        maker = w->maker;
    (void)pthread_mutex_unlock(&in->lock);
    clean_who(&maker.who);
    return maker;
}

struct inspector_maker inspector_lease_holder(struct inspector *in,
                                              const struct inspector_name *name)
{
    struct writer_key key = {inspector_hash(name), name->account};
    return find_writer(in, in->holders, INSPECTOR_LEASES, &key);
}

static struct inspector_maker maker_of(struct inspector *in, const struct rest_call *call,
                                       const struct writer_key *key)
{
    const struct verdict *v = &call->verdict;
    struct inspector_maker maker = v->check == VERDICT_LEASE
                                       ? find_writer(in, in->holders, INSPECTOR_LEASES, key)
                                       : find_writer(in, in->writers, INSPECTOR_WRITERS, key);
    /* The ETag shows whether the known writer made the state that caused the refusal. */
    maker.current =
        maker.known && (v->check == VERDICT_LEASE || v->etag == 0 || v->etag == maker.etag);
    return maker;
}

/* ---- events ---- */

static void put_sent(struct inspector_event *e, const struct rest_call *call)
{
    static const struct str HEADERS[] = {
        [VERDICT_IF_MATCH] = STR_INIT("If-Match"),
        [VERDICT_IF_NONE_MATCH] = STR_INIT("If-None-Match"),
        [VERDICT_IF_MODIFIED_SINCE] = STR_INIT("If-Modified-Since"),
        [VERDICT_IF_UNMODIFIED_SINCE] = STR_INIT("If-Unmodified-Since"),
        [VERDICT_IF_TAGS] = STR_INIT("x-ms-if-tags"),
    };
    enum verdict_check check = call->verdict.check;
    if (check == VERDICT_NONE || check == VERDICT_LEASE)
        return;
    copy_bytes(e->sent, sizeof e->sent, call_header(call, HEADERS[check]));
    clean(e->sent);
}

/* Fills in everything except the members of refusals, which are kept. */
static void fill(struct inspector_event *e, const struct rest_call *call, uint64_t hash)
{
    e->at = call->now;
    e->service = call->service;
    e->op = call->op;
    e->status = call->status;
    e->error = ERR_OK;
    e->rule = RULE_NONE;
    e->hash = hash;
    e->etag = call->etag;
    copy_text(e->account, sizeof e->account, call->account);
    copy_text(e->container, sizeof e->container, call->container);
    copy_object(e->object, call);
    who_is(call, &e->who);
}

/* The slot of the next event, under the lock: nothing is copied twice. */
static struct inspector_event *next_event(struct inspector *in, struct ring *ring,
                                          enum inspector_kind kind)
{
    struct inspector_event *e = &ring->events[ring->count++ % ring->size];
    e->sequence = ++in->sequence;
    e->kind = kind;
    return e;
}

static void put_refusal(struct inspector *in, struct inspector_event *e)
{
    struct ring *ring = &in->rings[0];
    e->kind = INSPECTOR_REFUSED;
    (void)pthread_mutex_lock(&in->lock);
    e->sequence = ++in->sequence;
    ring->events[ring->count++ % ring->size] = *e;
    in->conflicts[e->service][e->rule]++;
    in->checks[e->service][check_of(e)]++;
    (void)pthread_mutex_unlock(&in->lock);
}

/* A write is recorded when it is durable, but another request may conflict with it earlier: such a
 * refusal is completed now. Under the lock. */
static void tell_refused(struct inspector *in, const struct inspector_event *write)
{
    enum { LOOK_BACK = 16 };
    const struct ring *ring = &in->rings[0];
    for (size_t i = 0; i < LOOK_BACK && i < ring->count && i < ring->size; i++) {
        struct inspector_event *e = &ring->events[(ring->count - 1 - i) % ring->size];
        if (e->at + LATE_TICKS < write->at)
            break;
        if (e->hash == write->hash && !e->maker.current && e->verdict.check != VERDICT_LEASE &&
            e->verdict.etag != 0 && e->verdict.etag == write->etag)
            e->maker = (struct inspector_maker){.known = true,
                                                .current = true,
                                                .op = write->op,
                                                .at = write->at,
                                                .etag = write->etag,
                                                .who = write->who};
    }
}

COLD uint64_t inspector_refused(struct inspector *in, const struct rest_call *call,
                                struct err error)
{
    enum inspector_rule rule;
    struct inspector_event e = {0};
    if (in == NULL || (!rule_of(call, error.code, &rule) &&
                       (call->op == NULL || !rule_of_others(call, error.code, &rule))))
        return 0;
    struct writer_key key = writer_key_of(call);
    fill(&e, call, key.hash);
    e.etag = 0;
    e.status = err_http_status(error.code);
    e.error = error.code;
    e.rule = rule;
    e.verdict = call->verdict;
    e.maker = maker_of(in, call, &key);
    put_sent(&e, call);
    copy_text(e.holder, sizeof e.holder, call->holder);
    put_refusal(in, &e);
    return in->explains ? e.sequence : 0;
}

static void refuse_foreign(struct inspector *in, const struct inspector_foreign *f,
                           struct inspector_event *e)
{
    struct writer_key key = {e->hash, f->account};
    e->status = err_http_status(f->error);
    e->error = f->error;
    e->rule = f->error == ERR_SMB_DELETE_PENDING ? RULE_S3 : RULE_S2;
    copy_text(e->sent, sizeof e->sent, f->sent);
    copy_text(e->holder, sizeof e->holder, f->holder);
    if (!str_given(f->holder)) {
        e->maker = find_writer(in, in->holders, INSPECTOR_LEASES, &key);
        e->maker.current = e->maker.known;
    }
    put_refusal(in, e);
}

static bool reads_are_watched(struct inspector *in, int64_t now_ms)
{
    return now_ms < atomic_load_explicit(&in->watched_until_ms, memory_order_relaxed);
}

/* Records an SMB client's file under its REST name. */
COLD void inspector_note_foreign(struct inspector *in, const struct inspector_foreign *f)
{
    struct inspector_name name = {
        .service = SERVICE_FILE, .account = f->account, .container = f->share, .object = f->path};
    if (f->kind == INSPECTOR_READ && !reads_are_watched(in, clock_mono_ms()))
        return;
    struct inspector_event e = {.at = f->at,
                                .service = SERVICE_FILE,
                                .op = f->op,
                                .status = 200,
                                .hash = inspector_hash(&name)};
    copy_text(e.account, sizeof e.account, f->account);
    copy_text(e.container, sizeof e.container, f->share);
    copy_text(e.object, sizeof e.object, f->path);
    copy_bytes(e.who.agent, sizeof e.who.agent, f->client);
    copy_address(&e.who, f->peer);
    if (f->kind == INSPECTOR_REFUSED) {
        refuse_foreign(in, f, &e);
        return;
    }
    (void)pthread_mutex_lock(&in->lock);
    struct inspector_event *kept = next_event(in, &in->rings[1], f->kind);
    e.sequence = kept->sequence;
    e.kind = kept->kind;
    *kept = e;
    if (f->kind == INSPECTOR_WROTE)
        note_writer(in->writers, INSPECTOR_WRITERS, kept);
    (void)pthread_mutex_unlock(&in->lock);
}

static bool is_lease_op(const struct op *op)
{
    return strncmp(op->name, "Lease", 5) == 0;
}

static void note_lease_op(struct inspector *in, const struct rest_call *call,
                          const struct inspector_event *e)
{
    struct str action = call_header(call, STR("x-ms-lease-action"));
    if (!str_ieq(action, STR("release")) && !str_ieq(action, STR("break")))
        note_writer(in->holders, INSPECTOR_LEASES, e);
}

static void note_write(struct inspector *in, const struct rest_call *call)
{
    uint64_t hash = writer_key_of(call).hash;
    (void)pthread_mutex_lock(&in->lock);
    struct inspector_event *e = next_event(in, &in->rings[1], INSPECTOR_WROTE);
    fill(e, call, hash);
    if (is_lease_op(call->op)) {
        note_lease_op(in, call, e);
    } else {
        note_writer(in->writers, INSPECTOR_WRITERS, e);
        tell_refused(in, e);
    }
    (void)pthread_mutex_unlock(&in->lock);
}

static void note_read(struct inspector *in, const struct rest_call *call)
{
    uint64_t hash = writer_key_of(call).hash;
    (void)pthread_mutex_lock(&in->lock);
    fill(next_event(in, &in->rings[1], INSPECTOR_READ), call, hash);
    (void)pthread_mutex_unlock(&in->lock);
}

void inspector_succeeded(struct inspector *in, const struct rest_call *call)
{
    if (in == NULL || call->op == NULL)
        return;
    if (call->op->mode == MODE_WRITE || call->op->mode == MODE_START)
        note_write(in, call);
    else if (reads_are_watched(in, loop_now_ms(call->x->loop)))
        note_read(in, call);
}

/* ---- asking ---- */

static bool fits(const struct inspector_event *e, const struct inspector_filter *f)
{
    return (f->kinds & (1U << e->kind)) != 0 && e->sequence > f->after &&
           (f->only == 0 || e->sequence == f->only) && str_eq(f->account, str_of(e->account)) &&
           (!f->has_service || f->service == e->service) &&
           (!str_given(f->container) || str_eq(f->container, str_of(e->container))) &&
           (!str_given(f->object) || str_eq(f->object, str_of(e->object)));
}

/* The i-th newest; NULL if there is none. */
static const struct inspector_event *nth(const struct ring *ring, size_t i)
{
    bool there = i < ring->count && i < ring->size;
    return there ? &ring->events[(ring->count - 1 - i) % ring->size] : NULL;
}

/* From the newest of both rings backwards. */
static size_t find_backwards(struct inspector *in, const struct inspector_filter *f,
                             struct inspector_event *out)
{
    size_t at[2] = {0, 0}, count = 0;
    while (count < f->count_max) {
        const struct inspector_event *a = nth(&in->rings[0], at[0]);
        const struct inspector_event *b = nth(&in->rings[1], at[1]);
        bool second = a == NULL || (b != NULL && b->sequence > a->sequence);
        const struct inspector_event *e = second ? b : a;
        if (e == NULL || e->sequence <= f->after)
            break;
        at[second]++;
        if (fits(e, f))
            out[count++] = *e;
    }
    return count;
}

size_t inspector_find(struct inspector *in, const struct inspector_filter *filter,
                      struct inspector_event *out, uint64_t *next)
{
    (void)pthread_mutex_lock(&in->lock);
    size_t count = find_backwards(in, filter, out);
    *next = in->sequence;
    (void)pthread_mutex_unlock(&in->lock);
    for (size_t i = 0; i < count; i++)
        clean_who(&out[i].who);
    for (size_t i = 0; i < count / 2; i++) {
        struct inspector_event e = out[i];
        out[i] = out[count - 1 - i];
        out[count - 1 - i] = e;
    }
    return count;
}

void inspector_watch_reads(struct inspector *in)
{
    atomic_store_explicit(&in->watched_until_ms, clock_mono_ms() + INSPECTOR_WATCH_MS,
                          memory_order_relaxed);
}

uint64_t inspector_conflicts(struct inspector *in, enum service_kind service,
                             enum inspector_rule rule)
{
    (void)pthread_mutex_lock(&in->lock);
    uint64_t count = in->conflicts[service][rule];
    (void)pthread_mutex_unlock(&in->lock);
    return count;
}

uint64_t inspector_failed_checks(struct inspector *in, enum service_kind service,
                                 enum inspector_check check)
{
    (void)pthread_mutex_lock(&in->lock);
    uint64_t failed = in->checks[service][check];
    (void)pthread_mutex_unlock(&in->lock);
    return failed;
}

void inspector_forget(struct inspector *in, struct str account)
{
    (void)pthread_mutex_lock(&in->lock);
    for (size_t r = 0; r < 2; r++)
        for (size_t i = 0; i < in->rings[r].size && i < in->rings[r].count; i++)
            if (!str_given(account) || str_eq(account, str_of(in->rings[r].events[i].account)))
                in->rings[r].events[i].account[0] = '\0';
    (void)pthread_mutex_unlock(&in->lock);
}
