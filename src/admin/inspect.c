/* SPDX-License-Identifier: Apache-2.0 */
/* /api/v1/inspect/…: the inspector's events, and the current state: leases, opens, messages.
 * Limited to the account whose key signed the request. */
#include "admin/inspect.h"

#include <stdlib.h>

#include "admin/internal.h"
#include "core/container.h"
#include "core/mem.h"
#include "core/time.h"
#include "rest/watch/inspector.h"
#include "service/blob/inspect.h"
#include "service/common/etag.h"
#include "service/file/inspect.h"
#include "service/queue/inspect.h"
#include "service/table/table.h"

enum {
    EVENTS_DEFAULT = 100,
    EVENTS_MAX = 1000,
    WAIT_SECONDS_MAX = 25,
    LOOK_MS = 100,               /* how often a waiting request checks for events */
    WAITERS_OF_ACCOUNT_MAX = 16, /* so that no account uses all waiters */
    NO_SLOT = ADMIN_WAITERS_MAX,
    HOT_MAX = 20, /* the number of hottest resources */
};

/* ---- JSON ---- */

static void put_text(struct json_writer *w, const char *name, struct str text)
{
    if (!str_given(text) || text.n == 0)
        return;
    json_name(w, str_of(name));
    json_string(w, text);
}

static void put_number(struct json_writer *w, const char *name, int64_t value)
{
    json_name(w, str_of(name));
    json_i64(w, value);
}

static void put_time(struct json_writer *w, const char *name, int64_t ticks)
{
    char text[TIME_ISO_BYTES];
    if (ticks <= 0)
        return;
    time_iso(ticks, text);
    put_text(w, name, (struct str){text, sizeof text});
}

/* Writes the ETag that clients see: that of an entity is a time. */
static void put_etag(struct json_writer *w, const char *name, enum service_kind service,
                     int64_t stamp)
{
    char text[ENTITY_ETAG_BYTES > ETAG_TEXT_MAX + 2 ? ENTITY_ETAG_BYTES : ETAG_TEXT_MAX + 2];
    struct buf etag = {.p = text, .capacity = sizeof text};
    if (stamp == 0)
        return;
    if (service == SERVICE_TABLE) {
        entity_etag(stamp, text);
        etag.n = ENTITY_ETAG_BYTES;
    } else {
        etag_put_quoted(&etag, stamp);
    }
    put_text(w, name, buf_str(&etag));
}

static void put_who(struct json_writer *w, const struct inspector_who *who)
{
    char address[INSPECTOR_ADDRESS_MAX];
    inspector_address(who, address);
    put_text(w, "requestId", str_of(who->request_id));
    put_text(w, "clientRequestId", str_of(who->client_request_id));
    put_text(w, "userAgent", str_of(who->agent));
    put_text(w, "address", str_of(address));
}

static void put_maker(struct json_writer *w, enum service_kind service,
                      const struct inspector_maker *maker)
{
    if (!maker->known)
        return;
    json_name(w, STR("madeBy"));
    json_open(w, '{');
    put_text(w, "operation", str_of(maker->op->name));
    put_time(w, "time", maker->at);
    put_etag(w, "etag", service, maker->etag);
    json_name(w, STR("current"));
    json_bool(w, maker->current);
    put_who(w, &maker->who);
    json_close(w, '}');
}

static const char *const CHECKS[] = {
    [VERDICT_NONE] = "",
    [VERDICT_IF_MATCH] = "If-Match",
    [VERDICT_IF_NONE_MATCH] = "If-None-Match",
    [VERDICT_IF_MODIFIED_SINCE] = "If-Modified-Since",
    [VERDICT_IF_UNMODIFIED_SINCE] = "If-Unmodified-Since",
    [VERDICT_IF_TAGS] = "x-ms-if-tags",
    [VERDICT_LEASE] = "x-ms-lease-id",
};

static void put_lease_met(struct json_writer *w, const struct inspector_event *e)
{
    static const char *const IDS[] = {"missing", "same", "other"};
    const struct verdict *v = &e->verdict;
    put_text(w, "lease", lease_state_text((enum lease_state)v->lease_state));
    put_text(w, "leaseId", str_of(IDS[v->lease_id]));
    put_time(w, "leaseEnds", v->lease_ends);
    if (v->lease_ends > e->at)
        put_number(w, "leaseSecondsLeft",
                   (v->lease_ends - e->at + TICKS_PER_SECOND - 1) / TICKS_PER_SECOND);
}

static void put_refusal(struct json_writer *w, const struct inspector_event *e)
{
    const struct verdict *v = &e->verdict;
    put_text(w, "error", str_of(err_azure_code(e->error)));
    put_text(w, "rule", str_of(inspector_rule_name(e->rule)));
    put_text(w, "check", str_of(CHECKS[v->check]));
    put_text(w, "sent", str_of(e->sent));
    json_name(w, STR("met"));
    json_open(w, '{');
    if (v->check == VERDICT_LEASE) {
        put_lease_met(w, e);
    } else if (v->check != VERDICT_NONE || v->etag != 0) {
        json_name(w, STR("exists"));
        json_bool(w, v->exists);
        put_etag(w, "etag", e->service, v->exists ? v->etag : 0);
        put_time(w, "lastModified", v->exists ? v->last_modified : 0);
    }
    put_text(w, "holder", str_of(e->holder));
    json_close(w, '}');
    put_maker(w, e->service, &e->maker);
}

static void put_event(struct json_writer *w, const struct inspector_event *e)
{
    static const char *const KINDS[] = {"refusal", "write", "read"};
    json_open(w, '{');
    put_number(w, "id", (int64_t)e->sequence);
    put_text(w, "kind", str_of(KINDS[e->kind]));
    put_time(w, "time", e->at);
    put_text(w, "service", admin_service_name(e->service));
    put_text(w, "operation", str_of(e->op->name));
    put_text(w, "container", str_of(e->container));
    put_text(w, "object", str_of(e->object));
    put_number(w, "status", e->status);
    if (e->kind == INSPECTOR_REFUSED)
        put_refusal(w, e);
    else
        put_etag(w, "etag", e->service, e->etag);
    json_name(w, STR("request"));
    json_open(w, '{');
    put_who(w, &e->who);
    json_close(w, '}');
    json_close(w, '}');
}

/* ---- events ---- */

static bool read_number(struct admin_call *call, struct str name, uint64_t max, uint64_t *out)
{
    struct str text = admin_query(call, name);
    uint64_t value;
    if (!str_given(text))
        return true;
    if (!str_to_u64(text, &value) || value > max) {
        admin_fail(call, 400, "InvalidQueryParameterValue",
                   arena_printf(call->x->arena, "%.*s is to be a number of at most %llu.",
                                STR_ARG(name), (unsigned long long)max));
        return false;
    }
    *out = value;
    return true;
}

static bool read_service(struct admin_call *call, struct inspector_filter *out)
{
    struct str text = admin_query(call, STR("service"));
    if (!str_given(text))
        return true;
    for (unsigned i = 0; i < SERVICE_KIND_COUNT; i++) {
        if (!str_eq(text, admin_service_name((enum service_kind)i)))
            continue;
        out->has_service = true;
        out->service = (enum service_kind)i;
        return true;
    }
    admin_fail(call, 400, "InvalidQueryParameterValue",
               STR("service is to be blob, queue, table or file."));
    return false;
}

static bool read_kinds(struct admin_call *call, unsigned *out)
{
    static const struct str names[] = {STR_INIT("refusal"), STR_INIT("write"), STR_INIT("read")};
    struct str rest = admin_query(call, STR("kind"));
    *out = 0;
    while (str_given(rest)) {
        struct str word = str_cut(&rest, ',');
        unsigned before = *out;
        for (unsigned i = 0; i < 3; i++)
            if (str_eq(word, names[i]))
                *out |= 1U << i;
        if (*out == before) {
            admin_fail(call, 400, "InvalidQueryParameterValue",
                       STR("kind is to be some of refusal, write, read, with commas between."));
            return false;
        }
    }
    if (*out == 0)
        *out = 1U << INSPECTOR_REFUSED;
    return true;
}

/* "container" or "container/object". */
static void read_resource(struct admin_call *call, struct inspector_filter *out)
{
    struct str rest = admin_query(call, STR("resource"));
    if (!str_given(rest))
        return;
    if (rest.n > 0 && rest.p[0] == '/')
        rest = str_from(rest, 1);
    out->container = str_cut(&rest, '/');
    if (str_given(rest))
        out->object = str_head(rest, INSPECTOR_NAME_MAX);
}

struct events_wait {
    struct admin_call *call;
    struct inspector_filter filter;
    int64_t until_ms;
    size_t slot; /* its index among the waiting requests; NO_PLACE: none */
    struct loop_timer timer;
};

/* Reserves an index among the waiting requests, or returns NO_PLACE. */
static size_t take_slot(struct admin *a, struct str account)
{
    size_t slot = NO_SLOT, same = 0;
    (void)pthread_mutex_lock(&a->waiters_lock);
    for (size_t i = 0; i < ADMIN_WAITERS_MAX; i++) {
        if (a->waiters[i][0] == '\0')
            slot = i;
        else
            same += str_eq(str_of(a->waiters[i]), account);
    }
    if (same >= WAITERS_OF_ACCOUNT_MAX)
        slot = NO_SLOT;
    if (slot != NO_SLOT) {
        memcpy(a->waiters[slot], account.p, account.n);
        a->waiters[slot][account.n] = '\0';
    }
    (void)pthread_mutex_unlock(&a->waiters_lock);
    return slot;
}

static void leave_slot(struct admin *a, size_t slot)
{
    if (slot == NO_SLOT)
        return;
    (void)pthread_mutex_lock(&a->waiters_lock);
    a->waiters[slot][0] = '\0';
    (void)pthread_mutex_unlock(&a->waiters_lock);
}

static void answer_events(struct events_wait *e, const struct inspector_event *events, size_t count,
                          uint64_t next)
{
    struct admin_call *call = e->call;
    struct json_writer w = json_writer_of(&call->out);
    json_open(&w, '{');
    put_number(&w, "next", (int64_t)next);
    json_name(&w, STR("events"));
    json_open(&w, '[');
    for (size_t i = 0; i < count; i++)
        put_event(&w, &events[i]);
    json_close(&w, ']');
    json_close(&w, '}');
    buf_putc(&call->out, '\n');
    admin_reply(call, 200, STR("application/json"), buf_str(&call->out));
}

/* Answers, or continues to wait. */
static void look(struct events_wait *e)
{
    struct admin_call *call = e->call;
    struct loop *loop = call->x->loop;
    struct inspector_event *events =
        mem_alloc(e->filter.count_max * sizeof(struct inspector_event));
    uint64_t next;
    if ((e->filter.kinds & 1U << INSPECTOR_READ) != 0)
        inspector_watch_reads(call->admin->rest->inspector);
    size_t count = inspector_find(call->admin->rest->inspector, &e->filter, events, &next);
    bool over = count > 0 || loop_now_ms(loop) >= e->until_ms ||
                atomic_load(&call->admin->state) == ADMIN_DRAINING;
    if (over) {
        leave_slot(call->admin, e->slot);
        answer_events(e, events, count, next);
    } else {
        loop_timer_set(loop, &e->timer, LOOK_MS);
    }
    free(events);
}

static void look_again(struct loop_timer *timer)
{
    look(CONTAINER_OF(timer, struct events_wait, timer));
}

void admin_get_events(struct admin_call *call)
{
    struct events_wait *e = ARENA_NEW(call->x->arena, struct events_wait);
    uint64_t limit = EVENTS_DEFAULT, wait_s = 0;
    e->call = call;
    e->timer.fire = look_again;
    e->filter.account = call->account;
    read_resource(call, &e->filter);
    if (!read_number(call, STR("after"), INT64_MAX, &e->filter.after) ||
        !read_number(call, STR("id"), INT64_MAX, &e->filter.only) ||
        !read_number(call, STR("limit"), EVENTS_MAX, &limit) ||
        !read_number(call, STR("wait"), WAIT_SECONDS_MAX, &wait_s) ||
        !read_service(call, &e->filter) || !read_kinds(call, &e->filter.kinds))
        return;
    e->filter.count_max = limit > 0 ? (size_t)limit : 1;
    if (e->filter.only != 0)
        e->filter.after = e->filter.only - 1;
    e->slot = wait_s > 0 ? take_slot(call->admin, call->account) : NO_SLOT;
    if (wait_s > 0 && e->slot == NO_SLOT) {
        admin_fail(call, 503, "ServerBusy", STR("Too many requests wait for events."));
        return;
    }
    e->until_ms = wait_s > 0 ? loop_now_ms(call->x->loop) + (int64_t)wait_s * 1000 : 0;
    look(e);
}

/* ---- leases ---- */

static void put_lease(struct json_writer *w, struct admin_call *call, enum service_kind service,
                      const struct blob_leased *l)
{
    struct inspector *in = call->admin->rest->inspector;
    int64_t now = store_now(call->admin->rest->store);
    bool infinite = l->lease.state == LEASE_LEASED && l->lease.seconds == LEASE_INFINITE;
    struct inspector_name name = {
        .service = service, .account = call->account, .container = l->container, .object = l->blob};
    json_open(w, '{');
    put_text(w, "service", admin_service_name(service));
    put_text(w, "container", l->container);
    put_text(w, "object", l->blob);
    put_text(w, "state", lease_state_text(lease_state(&l->lease, now)));
    put_text(w, "duration", infinite ? STR("infinite") : STR("fixed"));
    if (!infinite) {
        put_time(w, "ends", l->lease.ends);
        put_number(w, "secondsLeft",
                   (l->lease.ends - now + TICKS_PER_SECOND - 1) / TICKS_PER_SECOND);
    }
    put_etag(w, "etag", service, l->etag);
    if (in != NULL) {
        struct inspector_maker holder = inspector_lease_holder(in, &name);
        holder.etag = 0;
        holder.current = holder.known;
        put_maker(w, service, &holder);
    }
    json_close(w, '}');
}

static void put_file_leases(struct json_writer *w, struct admin_call *call,
                            const struct file_lease_inspect *in)
{
    for (size_t i = 0; i < in->count; i++)
        put_lease(w, call, SERVICE_FILE,
                  &(struct blob_leased){.container = in->leases[i].share,
                                        .blob = in->leases[i].path,
                                        .lease = in->leases[i].lease,
                                        .etag = in->leases[i].etag});
}

static void put_leases(struct admin_call *call)
{
    struct store *store = call->admin->rest->store;
    struct blob_inspect blobs = {.arena = call->x->arena, .account = call->account};
    struct file_inspect files = {.arena = call->x->arena, .account = call->account};
    struct file_lease_inspect leased = {.arena = call->x->arena, .account = call->account};
    struct err error = store_read(store, STR("b/"), ENGINE_WAIT, blob_inspect_leases, &blobs);
    if (!err_is(error))
        error = file_inspect(store, &files);
    leased.shares = files.shares;
    leased.share_count = files.share_count;
    if (!err_is(error))
        error = file_inspect_leases(store, &leased);
    if (err_is(error)) {
        admin_pool_failed(call, error);
        return;
    }
    struct json_writer w = json_writer_of(&call->out);
    json_open(&w, '{');
    json_name(&w, STR("leases"));
    json_open(&w, '[');
    for (size_t i = 0; i < blobs.count; i++)
        put_lease(&w, call, SERVICE_BLOB, &blobs.leases[i]);
    for (size_t i = 0; i < files.share_count; i++) {
        const struct file_share_seen *s = &files.shares[i];
        if (lease_locked(lease_state(&s->lease, store_now(store))))
            put_lease(&w, call, SERVICE_FILE,
                      &(struct blob_leased){.container = s->name, .lease = s->lease});
    }
    put_file_leases(&w, call, &leased);
    json_close(&w, ']');
    json_name(&w, STR("cut"));
    json_bool(&w, blobs.cut || files.cut || leased.cut);
    json_close(&w, '}');
}

void admin_get_leases(struct admin_call *call)
{
    admin_in_pool(call, put_leases);
}

/* ---- opens and locks ---- */

static void put_letters(struct json_writer *w, const char *name, unsigned bits)
{
    char letters[4];
    struct buf text = {.p = letters, .capacity = sizeof letters};
    if ((bits & OPENS_READ) != 0)
        buf_putc(&text, 'r');
    if ((bits & OPENS_WRITE) != 0)
        buf_putc(&text, 'w');
    if ((bits & OPENS_DELETE) != 0)
        buf_putc(&text, 'd');
    json_name(w, str_of(name));
    json_string(w, buf_str(&text));
}

static void put_locks(struct json_writer *w, const struct opens_info *info)
{
    put_number(w, "lockCount", (int64_t)info->lock_count);
    json_name(w, STR("locks"));
    json_open(w, '[');
    for (size_t i = 0; i < info->lock_count && i < OPENS_INFO_LOCKS; i++) {
        json_open(w, '{');
        put_number(w, "offset", (int64_t)info->locks[i].offset);
        put_number(w, "length", (int64_t)info->locks[i].length);
        json_name(w, STR("exclusive"));
        json_bool(w, info->locks[i].exclusive);
        json_close(w, '}');
    }
    json_close(w, ']');
}

static void put_open(struct json_writer *w, const struct file_open_seen *seen)
{
    static const char *const CACHES[] = {"", "r", "h", "rh", "w", "rw", "wh", "rwh"};
    const struct opens_info *info = &seen->info;
    json_open(w, '{');
    put_text(w, "share", seen->share);
    json_name(w, STR("path"));
    json_string(w, info->path);
    put_number(w, "handleId", (int64_t)info->id);
    put_number(w, "sessionId", (int64_t)info->session);
    put_text(w, "address", info->client);
    put_text(w, "clientName", info->client_name);
    put_time(w, "opened", info->opened_ticks);
    put_letters(w, "access", info->access);
    put_letters(w, "sharing", info->sharing);
    json_name(w, STR("caching"));
    json_string(w, str_of(CACHES[info->cache & 7]));
    json_name(w, STR("directory"));
    json_bool(w, info->directory);
    json_name(w, STR("disconnected"));
    json_bool(w, info->disconnected);
    json_name(w, STR("deletePending"));
    json_bool(w, info->delete_pending);
    put_locks(w, info);
    json_close(w, '}');
}

static void put_opens(struct admin_call *call)
{
    struct file_inspect files = {.arena = call->x->arena, .account = call->account};
    struct err error = file_inspect(call->admin->rest->store, &files);
    if (err_is(error)) {
        admin_pool_failed(call, error);
        return;
    }
    struct json_writer w = json_writer_of(&call->out);
    json_open(&w, '{');
    json_name(&w, STR("opens"));
    json_open(&w, '[');
    for (size_t i = 0; i < files.open_count; i++)
        put_open(&w, &files.opens[i]);
    json_close(&w, ']');
    json_name(&w, STR("cut"));
    json_bool(&w, files.cut);
    json_close(&w, '}');
}

void admin_get_opens(struct admin_call *call)
{
    admin_in_pool(call, put_opens);
}

/* ---- messages ---- */

static void put_message(struct json_writer *w, const struct queue_seen *m, int64_t now)
{
    char id[GUID_TEXT_BYTES];
    bool invisible = m->next_visible > now;
    guid_text(&m->id, id);
    json_open(w, '{');
    put_text(w, "id", (struct str){id, sizeof id});
    put_text(w, "state", invisible ? STR("invisible") : STR("visible"));
    put_time(w, "inserted", m->inserted);
    put_time(w, "expires", m->expires);
    if (invisible) {
        put_time(w, "visibleAt", m->next_visible);
        put_number(w, "secondsLeft",
                   (m->next_visible - now + TICKS_PER_SECOND - 1) / TICKS_PER_SECOND);
    }
    if (m->next_visible != 0) {
        put_time(w, "receiptSince", m->handed_out);
        put_number(w, "receiptAgeSeconds", (now - m->handed_out) / TICKS_PER_SECOND);
    }
    put_number(w, "dequeueCount", (int64_t)m->dequeues);
    if (str_given(m->text))
        put_text(w, "text", m->text);
    json_close(w, '}');
}

static void put_messages(struct admin_call *call)
{
    struct store *store = call->admin->rest->store;
    struct str queue = admin_query(call, STR("queue"));
    struct queue_inspect seen = {.arena = call->x->arena,
                                 .timed_only = str_given(admin_query(call, STR("inflight"))),
                                 .texts = str_given(admin_query(call, STR("text")))};
    struct str partition = queue_partition(call->x->arena, call->account, queue);
    struct err error = store_read(store, partition, ENGINE_WAIT, queue_inspect, &seen);
    if (err_is(error)) {
        admin_pool_failed(call, error);
        return;
    }
    struct json_writer w = json_writer_of(&call->out);
    json_open(&w, '{');
    put_number(&w, "total", (int64_t)seen.total);
    json_name(&w, STR("cut"));
    json_bool(&w, seen.cut);
    json_name(&w, STR("messages"));
    json_open(&w, '[');
    for (size_t i = 0; i < seen.count; i++)
        put_message(&w, &seen.messages[i], store_now(store));
    json_close(&w, ']');
    json_close(&w, '}');
}

void admin_get_messages(struct admin_call *call)
{
    struct str queue = admin_query(call, STR("queue"));
    if (!str_given(queue) || queue.n == 0 || str_find(queue, '/', 0) < queue.n || queue.n > 63)
        admin_fail(call, 400, "InvalidQueryParameterValue", STR("queue is to name a queue."));
    else
        admin_in_pool(call, put_messages);
}

/* ---- contention ---- */

struct hot {
    const struct inspector_event *example;
    size_t count;
    size_t by_rule[RULE_COUNT];
};

static int by_count(const void *a, const void *b)
{
    const struct hot *left = a, *right = b;
    return left->count < right->count ? 1 : left->count > right->count ? -1 : 0;
}

static size_t sum_up(const struct inspector_event *events, size_t count, struct hot *out)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        while (at < found && out[at].example->hash != events[i].hash)
            at++;
        if (at == found)
            out[found++] = (struct hot){.example = &events[i]};
        out[at].count++;
        out[at].by_rule[events[i].rule]++;
    }
    qsort(out, found, sizeof out[0], by_count);
    return found;
}

static void put_hot(struct json_writer *w, const struct hot *h)
{
    json_open(w, '{');
    put_text(w, "service", admin_service_name(h->example->service));
    put_text(w, "container", str_of(h->example->container));
    put_text(w, "object", str_of(h->example->object));
    put_number(w, "refusals", (int64_t)h->count);
    json_name(w, STR("rules"));
    json_open(w, '{');
    for (unsigned i = 0; i < RULE_COUNT; i++)
        if (h->by_rule[i] != 0)
            put_number(w, i == RULE_NONE ? "none" : inspector_rule_name((enum inspector_rule)i),
                       (int64_t)h->by_rule[i]);
    json_close(w, '}');
    json_close(w, '}');
}

/* The resources with the most of the account's last refusals. */
static void put_contention(struct admin_call *call)
{
    struct inspector_filter filter = {
        .account = call->account, .kinds = 1U << INSPECTOR_REFUSED, .count_max = EVENTS_MAX};
    struct inspector_event *events = mem_alloc(EVENTS_MAX * sizeof *events);
    struct hot *hot = ARENA_ARRAY(call->x->arena, struct hot, EVENTS_MAX);
    uint64_t next;
    size_t count = inspector_find(call->admin->rest->inspector, &filter, events, &next);
    size_t found = sum_up(events, count, hot);
    struct json_writer w = json_writer_of(&call->out);
    json_open(&w, '{');
    put_number(&w, "refusals", (int64_t)count);
    put_time(&w, "since", count > 0 ? events[0].at : 0);
    put_time(&w, "now", store_now(call->admin->rest->store));
    json_name(&w, STR("hottest"));
    json_open(&w, '[');
    for (size_t i = 0; i < found && i < HOT_MAX; i++)
        put_hot(&w, &hot[i]);
    json_close(&w, ']');
    json_close(&w, '}');
    free(events);
}

void admin_get_contention(struct admin_call *call)
{
    admin_in_pool(call, put_contention);
}
