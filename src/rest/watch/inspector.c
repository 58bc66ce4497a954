/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/watch/inspector.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/hash/mix.h"
#include "core/mem.h"
#include "rest/watch/inspector_note.h"

/* How long a refusal waits for the write that caused it. */
#define LATE_TICKS ((int64_t)10 * TICKS_PER_SECOND)

/* The key of a table of writers. */
struct writer_key {
    uint64_t hash;
    struct str account;
};

struct refusals {
    struct inspector_event *events;
    size_t count; /* ever put; the newest is at (count - 1) % INSPECTOR_REFUSALS */
};

/* What was done: writes, and reads while a client watches. */
struct notes {
    struct note *notes;
    size_t count; /* as above, of INSPECTOR_DONE */
};

struct inspector {
    pthread_mutex_t lock; /* of all that follows */
    struct refusals refusals;
    struct notes done;
    uint64_t sequence;
    bool explains;
    uint64_t conflicts[SERVICE_KIND_COUNT][RULE_COUNT];
    uint64_t checks[SERVICE_KIND_COUNT][CHECK_COUNT];
    _Atomic int64_t watched_until_ms;
    struct note_writer *writers;
    struct note_writer *holders; /* of leases */
    void *blocks[3];             /* what the three tables of notes and writers are in */
};

/* Zeroed memory of whole cache lines; *block is to be freed. */
static void *lines_new(size_t count, size_t size, void **block)
{
    *block = mem_calloc(1, count * size + NOTE_ALIGN);
    uintptr_t skip = -(uintptr_t)*block & (NOTE_ALIGN - 1);
    return (char *)*block + skip;
}

struct inspector *inspector_new(bool explains)
{
    struct inspector *in = MEM_NEW(struct inspector);
    in->explains = explains;
    (void)pthread_mutex_init(&in->lock, NULL);
    in->refusals.events = mem_calloc(INSPECTOR_REFUSALS, sizeof(struct inspector_event));
    in->done.notes = lines_new(INSPECTOR_DONE, sizeof(struct note), &in->blocks[0]);
    in->writers = lines_new(INSPECTOR_WRITERS, sizeof *in->writers, &in->blocks[1]);
    in->holders = lines_new(INSPECTOR_LEASES, sizeof *in->holders, &in->blocks[2]);
    return in;
}

void inspector_free(struct inspector *in)
{
    if (in == NULL)
        return;
    (void)pthread_mutex_destroy(&in->lock);
    free(in->refusals.events);
    for (size_t i = 0; i < sizeof in->blocks / sizeof in->blocks[0]; i++)
        free(in->blocks[i]);
    free(in);
}

/* ---- names ---- */

uint64_t inspector_hash(const struct inspector_name *name)
{
    uint64_t hash = mix_add((uint64_t)name->service + 1, name->account);
    hash = mix_add(mix_add(hash, name->container), name->object);
    if (str_given(name->pk))
        hash = mix_add(mix_add(hash, name->pk), name->rk);
    return hash == 0 ? 1 : hash;
}

static struct writer_key writer_key_of(const struct rest_call *call)
{
    struct inspector_name name = {call->service, call->account, call->container,
                                  call->object,  call->key_pk,  call->key_rk};
    return (struct writer_key){inspector_hash(&name), call->account};
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

void inspector_address(const struct inspector_who *who, char out[INSPECTOR_ADDRESS_MAX])
{
    out[0] = '\0';
    if (who->family != 0)
        (void)inet_ntop(who->family, who->address, out, INSPECTOR_ADDRESS_MAX);
}

/* ---- what is recorded ---- */

static struct note_source source_of(const struct rest_call *call, enum inspector_kind kind,
                                    uint64_t hash)
{
    return (struct note_source){
        .kind = kind,
        .service = call->service,
        .op = call->op,
        .status = call->status,
        .hash = hash,
        .at = call->now,
        .etag = call->etag,
        .account = call->account,
        .container = call->container,
        .object = call->object,
        .pk = call->key_pk,
        .rk = call->key_rk,
        .request_id = {call->request_id, GUID_TEXT_BYTES},
        .client_id = call_header(call, STR("x-ms-client-request-id")),
        .agent = call_header(call, STR("User-Agent")),
        .peer = call->x->peer,
    };
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

static struct note_writer *slot_of(struct note_writer *table, size_t size, uint64_t hash)
{
    return &table[hash % size];
}

static struct inspector_maker find_writer(struct inspector *in, const struct note_writer *table,
                                          size_t size, const struct writer_key *key)
{
    const struct note_writer *w = &table[key->hash % size];
    struct inspector_maker maker = {0};
    (void)pthread_mutex_lock(&in->lock);
    if (w->hash == key->hash && str_eq(note_writer_account(w), key->account))
        note_writer_show(w, &maker);
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

/* The slot of the next note. Under the lock: nothing is copied twice. */
static struct note *next_note(struct inspector *in)
{
    struct note *n = &in->done.notes[in->done.count++ % INSPECTOR_DONE];
    n->sequence = ++in->sequence;
    return n;
}

static void put_refusal(struct inspector *in, struct inspector_event *e)
{
    struct refusals *kept = &in->refusals;
    (void)pthread_mutex_lock(&in->lock);
    e->sequence = ++in->sequence;
    kept->events[kept->count++ % INSPECTOR_REFUSALS] = *e;
    in->conflicts[e->service][e->rule]++;
    in->checks[e->service][check_of(e)]++;
    (void)pthread_mutex_unlock(&in->lock);
}

/* A write is recorded when it is durable, but another request may conflict with it earlier: such a
 * refusal is completed now. Under the lock. */
static void tell_refused(struct inspector *in, const struct note *write)
{
    enum { LOOK_BACK = 16 };
    const struct refusals *kept = &in->refusals;
    for (size_t i = 0; i < LOOK_BACK && i < kept->count; i++) {
        struct inspector_event *e = &kept->events[(kept->count - 1 - i) % INSPECTOR_REFUSALS];
        if (e->at + LATE_TICKS < write->at)
            break;
        if (e->hash != write->hash || e->maker.current || e->verdict.check == VERDICT_LEASE ||
            e->verdict.etag == 0 || e->verdict.etag != write->etag)
            continue;
        note_show_maker(write, &e->maker);
        e->maker.current = true;
    }
}

COLD uint64_t inspector_refused(struct inspector *in, const struct rest_call *call,
                                struct err error)
{
    enum inspector_rule rule;
    struct inspector_event e;
    struct note note = {0};
    if (in == NULL || (!rule_of(call, error.code, &rule) &&
                       (call->op == NULL || !rule_of_others(call, error.code, &rule))))
        return 0;
    struct writer_key key = writer_key_of(call);
    struct note_source source = source_of(call, INSPECTOR_REFUSED, key.hash);
    source.etag = 0;
    note_fill(&note, &source);
    note_show(&note, &e);
    e.status = err_http_status(error.code);
    e.error = error.code;
    e.rule = rule;
    e.verdict = call->verdict;
    e.maker = maker_of(in, call, &key);
    put_sent(&e, call);
    note_copy_text(e.holder, sizeof e.holder, call->holder);
    put_refusal(in, &e);
    return in->explains ? e.sequence : 0;
}

static void refuse_foreign(struct inspector *in, const struct inspector_foreign *f,
                           const struct note_source *source)
{
    struct writer_key key = {source->hash, f->account};
    struct inspector_event e;
    struct note note = {0};
    note_fill(&note, source);
    note_show(&note, &e);
    e.status = err_http_status(f->error);
    e.error = f->error;
    e.rule = f->error == ERR_SMB_DELETE_PENDING ? RULE_S3 : RULE_S2;
    note_copy_text(e.sent, sizeof e.sent, f->sent);
    note_copy_text(e.holder, sizeof e.holder, f->holder);
    if (!str_given(f->holder)) {
        e.maker = find_writer(in, in->holders, INSPECTOR_LEASES, &key);
        e.maker.current = e.maker.known;
    }
    put_refusal(in, &e);
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
    struct note_source source = {.kind = f->kind,
                                 .service = SERVICE_FILE,
                                 .op = f->op,
                                 .status = 200,
                                 .hash = inspector_hash(&name),
                                 .at = f->at,
                                 .account = f->account,
                                 .container = f->share,
                                 .object = f->path,
                                 .agent = f->client,
                                 .peer = f->peer};
    if (f->kind == INSPECTOR_REFUSED) {
        refuse_foreign(in, f, &source);
        return;
    }
    (void)pthread_mutex_lock(&in->lock);
    struct note *n = next_note(in);
    note_fill(n, &source);
    if (f->kind == INSPECTOR_WROTE)
        note_writer_set(slot_of(in->writers, INSPECTOR_WRITERS, n->hash), n);
    (void)pthread_mutex_unlock(&in->lock);
}

static bool is_lease_op(const struct op *op)
{
    return strncmp(op->name, "Lease", 5) == 0;
}

static bool takes_lease(const struct rest_call *call)
{
    struct str action = call_header(call, STR("x-ms-lease-action"));
    return !str_ieq(action, STR("release")) && !str_ieq(action, STR("break"));
}

static void note_write(struct inspector *in, const struct rest_call *call)
{
    struct note_source source = source_of(call, INSPECTOR_WROTE, writer_key_of(call).hash);
    struct note_writer *writer = slot_of(in->writers, INSPECTOR_WRITERS, source.hash);
    /* Usually no cache has it. */
    __builtin_prefetch(writer, 1);
    __builtin_prefetch((char *)writer + NOTE_ALIGN, 1);
    (void)pthread_mutex_lock(&in->lock);
    struct note *n = next_note(in);
    note_fill(n, &source);
    if (!is_lease_op(call->op)) {
        note_writer_set(writer, n);
        tell_refused(in, n);
    } else if (takes_lease(call)) {
        note_writer_set(slot_of(in->holders, INSPECTOR_LEASES, n->hash), n);
    }
    (void)pthread_mutex_unlock(&in->lock);
}

static void note_read(struct inspector *in, const struct rest_call *call)
{
    struct note_source source = source_of(call, INSPECTOR_READ, writer_key_of(call).hash);
    (void)pthread_mutex_lock(&in->lock);
    note_fill(next_note(in), &source);
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
static const struct inspector_event *nth_refusal(const struct refusals *kept, size_t i)
{
    bool there = i < kept->count && i < INSPECTOR_REFUSALS;
    return there ? &kept->events[(kept->count - 1 - i) % INSPECTOR_REFUSALS] : NULL;
}

static const struct note *nth_note(const struct notes *kept, size_t i)
{
    bool there = i < kept->count && i < INSPECTOR_DONE;
    return there ? &kept->notes[(kept->count - 1 - i) % INSPECTOR_DONE] : NULL;
}

/* Copies the note to *out; false if it does not fit. Other accounts' are not even copied. */
static bool take_note(const struct note *n, const struct inspector_filter *f,
                      struct inspector_event *out)
{
    if ((f->kinds & (1U << n->kind)) == 0 || !str_eq(f->account, note_account(n)))
        return false;
    note_show(n, out);
    return fits(out, f);
}

/* From the newest of both rings backwards. */
static size_t find_backwards(struct inspector *in, const struct inspector_filter *f,
                             struct inspector_event *out)
{
    size_t refused = 0, done = 0, count = 0;
    while (count < f->count_max) {
        const struct inspector_event *e = nth_refusal(&in->refusals, refused);
        const struct note *n = nth_note(&in->done, done);
        bool is_note = e == NULL || (n != NULL && n->sequence > e->sequence);
        if (is_note) {
            if (n == NULL || n->sequence <= f->after)
                break;
            done++;
            count += take_note(n, f, &out[count]);
            continue;
        }
        if (e->sequence <= f->after)
            break;
        refused++;
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
    for (size_t i = 0; i < INSPECTOR_REFUSALS && i < in->refusals.count; i++)
        if (!str_given(account) || str_eq(account, str_of(in->refusals.events[i].account)))
            in->refusals.events[i].account[0] = '\0';
    for (size_t i = 0; i < INSPECTOR_DONE && i < in->done.count; i++)
        if (!str_given(account) || str_eq(account, note_account(&in->done.notes[i])))
            in->done.notes[i].kind = NOTE_FORGOTTEN;
    (void)pthread_mutex_unlock(&in->lock);
}
