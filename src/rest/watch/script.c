/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/watch/script.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/mem.h"
#include "rest/watch/requests.h"

struct hold {
    struct script_hold is;
    uint64_t number; /* 0: the place is free */
    struct script_stop *queue;
    uint32_t to_release;
    bool busy;    /* a released request was not answered yet */
    bool leaving; /* it is removed when nobody waits any more */
};

struct script {
    pthread_mutex_t lock;
    struct script_fault faults[SCRIPT_FAULTS_MAX];
    size_t fault_count;
    struct hold holds[SCRIPT_HOLDS_MAX];
    uint64_t last_number;
    uint64_t struck;
    struct requests *requests;
};

struct script *script_new(void)
{
    struct script *s = MEM_NEW(struct script);
    s->requests = requests_new();
    (void)pthread_mutex_init(&s->lock, NULL);
    return s;
}

void script_free(struct script *s)
{
    if (s == NULL)
        return;
    (void)pthread_mutex_destroy(&s->lock);
    requests_free(s->requests);
    free(s);
}

struct requests *script_requests(struct script *s)
{
    return s->requests;
}

/* ---- matching ---- */

bool script_glob(const char *pattern, struct str text)
{
    size_t at = 0, star_at = 0;
    const char *star = NULL;
    for (;;) {
        if (*pattern == '*') {
            star = ++pattern;
            star_at = at;
        } else if (at == text.n) {
            return *pattern == '\0';
        } else if (*pattern == '?' || *pattern == text.p[at]) {
            pattern++;
            at++;
        } else if (star != NULL) {
            pattern = star;
            at = ++star_at;
        } else {
            return false;
        }
    }
}

static bool glob_or_any(const char *pattern, struct str text)
{
    return pattern[0] == '\0' || script_glob(pattern, str_given(text) ? text : STR(""));
}

static bool headers_fit(const struct script_match *m, const struct rest_call *call)
{
    for (size_t i = 0; i < m->header_count; i++) {
        struct str value = call_header(call, str_of(m->headers[i].name));
        if (!str_given(value) || !script_glob(m->headers[i].value, value))
            return false;
    }
    return true;
}

bool script_fits(const struct script_match *m, const struct rest_call *call)
{
    return (!m->has_service || m->service == call->service) &&
           glob_or_any(m->operation, str_of(call->op == NULL ? "" : call->op->name)) &&
           glob_or_any(m->account, call->account) && glob_or_any(m->container, call->container) &&
           glob_or_any(m->object, call->object) &&
           glob_or_any(m->client_request_id, call_header(call, STR("x-ms-client-request-id"))) &&
           headers_fit(m, call);
}

/* ---- faults ---- */

static struct script_fault *find_fault(struct script *s, struct str id)
{
    for (size_t i = 0; i < s->fault_count; i++)
        if (str_eq(id, str_of(s->faults[i].id)))
            return &s->faults[i];
    return NULL;
}

static void name_it(struct script *s, char id[SCRIPT_ID_MAX + 1], const char *kind)
{
    if (id[0] == '\0')
        (void)snprintf(id, SCRIPT_ID_MAX + 1, "%s-%llu", kind,
                       (unsigned long long)++s->last_number);
}

struct err script_add_fault(struct script *s, struct script_fault *fault)
{
    struct err error = OK;
    (void)pthread_mutex_lock(&s->lock);
    name_it(s, fault->id, "fault");
    fault->seen = fault->struck = 0;
    fault->tokens = fault->rate_burst;
    fault->tokens_us = clock_mono_us();
    if (find_fault(s, str_of(fault->id)) != NULL)
        error = err_new(ERR_RESOURCE_ALREADY_EXISTS);
    else if (s->fault_count == SCRIPT_FAULTS_MAX)
        error = err_new(ERR_INVALID_INPUT);
    else
        s->faults[s->fault_count++] = *fault;
    (void)pthread_mutex_unlock(&s->lock);
    return error;
}

bool script_remove_fault(struct script *s, struct str id)
{
    (void)pthread_mutex_lock(&s->lock);
    struct script_fault *fault = find_fault(s, id);
    if (fault != NULL) {
        size_t after = (size_t)(&s->faults[s->fault_count] - (fault + 1));
        memmove(fault, fault + 1, after * sizeof *fault);
        s->fault_count--;
    }
    (void)pthread_mutex_unlock(&s->lock);
    return fault != NULL;
}

void script_clear_faults(struct script *s)
{
    (void)pthread_mutex_lock(&s->lock);
    s->fault_count = 0;
    (void)pthread_mutex_unlock(&s->lock);
}

size_t script_faults(struct script *s, struct script_fault out[SCRIPT_FAULTS_MAX])
{
    (void)pthread_mutex_lock(&s->lock);
    size_t count = s->fault_count;
    memcpy(out, s->faults, count * sizeof out[0]);
    (void)pthread_mutex_unlock(&s->lock);
    return count;
}

uint64_t script_struck(struct script *s)
{
    (void)pthread_mutex_lock(&s->lock);
    uint64_t struck = s->struck;
    (void)pthread_mutex_unlock(&s->lock);
    return struck;
}

/* xorshift64*: the n-th draw of a seed is the same in every run. From 0 to below 1. */
static double draw(struct script_fault *fault)
{
    uint64_t x = fault->seed == 0 ? 88172645463325252ULL : fault->seed;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    fault->seed = x;
    return (double)(x * 2685821657736338717ULL >> 11) / 9007199254740992.0;
}

static bool chance(struct script_fault *fault)
{
    return fault->probability >= 1 || draw(fault) < fault->probability;
}

/* A token bucket: true if the request exceeds the rate. */
static bool over_rate(struct script_fault *fault)
{
    int64_t now_us = clock_mono_us();
    if (fault->rate_per_second == 0)
        return true;
    fault->tokens += (double)(now_us - fault->tokens_us) * 1e-6 * fault->rate_per_second;
    fault->tokens_us = now_us;
    if (fault->tokens > fault->rate_burst)
        fault->tokens = fault->rate_burst;
    if (fault->tokens < 1)
        return true;
    fault->tokens -= 1;
    return false;
}

static bool strikes(struct script_fault *fault, const struct rest_call *call,
                    enum script_point point)
{
    if (fault->at != point || !script_fits(&fault->match, call))
        return false;
    bool over = fault->times != 0 && fault->struck == fault->times;
    if (fault->seen++ < fault->skip || over)
        return false;
    if (fault->every > 1 && (fault->seen - fault->skip) % fault->every != 0)
        return false;
    if (!chance(fault) || !over_rate(fault))
        return false;
    fault->struck++;
    return true;
}

struct script_deed script_meets(struct script *s, const struct rest_call *call,
                                enum script_point point)
{
    struct script_deed deed = {.act = SCRIPT_NOTHING};
    (void)pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->fault_count; i++) {
        struct script_fault *fault = &s->faults[i];
        if (!strikes(fault, call, point))
            continue;
        deed = fault->deed;
        if (fault->jitter_ms > 0)
            deed.delay_ms += (uint32_t)(draw(fault) * (fault->jitter_ms + 1));
        memcpy(deed.id, fault->id, sizeof deed.id);
        s->struck++;
        break;
    }
    (void)pthread_mutex_unlock(&s->lock);
    return deed;
}

/* ---- holds; all but the callbacks under the lock ---- */

static struct hold *find_hold(struct script *s, struct str id)
{
    for (size_t i = 0; i < SCRIPT_HOLDS_MAX; i++)
        if (s->holds[i].number != 0 && str_eq(id, str_of(s->holds[i].is.id)))
            return &s->holds[i];
    return NULL;
}

static struct hold *hold_of(struct script *s, uint64_t number)
{
    for (size_t i = 0; i < SCRIPT_HOLDS_MAX; i++)
        if (number != 0 && s->holds[i].number == number)
            return &s->holds[i];
    return NULL;
}

static void unqueue(struct hold *h, struct script_stop *stop)
{
    struct script_stop **link = &h->queue;
    while (*link != stop)
        link = &(*link)->next;
    *link = stop->next;
    stop->queued = false;
    h->is.waiting--;
}

/* The next in the requested order, else in the order of arrival. */
static struct script_stop *next_of(struct hold *h)
{
    for (size_t i = 0; i < h->is.order_count; i++)
        for (struct script_stop *stop = h->queue; stop != NULL; stop = stop->next)
            if (str_eq(str_of(h->is.order[i]), str_of(stop->client_request_id)))
                return stop;
    return h->queue;
}

static void release_next(struct hold *h)
{
    struct script_stop *stop = h->busy || h->to_release == 0 ? NULL : next_of(h);
    if (stop != NULL) {
        h->to_release--;
        h->busy = true;
        unqueue(h, stop);
        run_wake(stop->run);
    }
    if (h->leaving && h->queue == NULL && !h->busy)
        *h = (struct hold){.number = 0};
}

bool script_leaves(struct script_stop *stop)
{
    struct script *s = stop->script;
    (void)pthread_mutex_lock(&s->lock);
    bool queued = stop->queued;
    struct hold *h = hold_of(s, stop->hold);
    if (queued && h != NULL) {
        unqueue(h, stop);
        stop->hold = 0;
        release_next(h);
    }
    (void)pthread_mutex_unlock(&s->lock);
    return queued;
}

static void enqueue(struct hold *h, struct script_stop *stop)
{
    struct script_stop **link = &h->queue;
    while (*link != NULL)
        link = &(*link)->next;
    stop->next = NULL;
    stop->queued = true;
    stop->hold = h->number;
    *link = stop;
    h->is.arrived++;
    h->is.waiting++;
    if (h->is.parties != 0 && h->is.arrived == h->is.parties) {
        h->to_release = h->is.parties;
        release_next(h);
    }
}

static void remember_id(struct script_stop *stop, const struct rest_call *call)
{
    struct str id = call_header(call, STR("x-ms-client-request-id"));
    size_t n =
        id.n < sizeof stop->client_request_id - 1 ? id.n : sizeof stop->client_request_id - 1;
    if (n > 0)
        memcpy(stop->client_request_id, id.p, n);
    stop->client_request_id[n] = '\0';
}

bool script_stops(struct script *s, struct rest_call *call, enum script_point point,
                  struct script_stop *stop)
{
    bool stopped = false;
    (void)pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < SCRIPT_HOLDS_MAX && !stopped; i++) {
        struct hold *h = &s->holds[i];
        if (h->number == 0 || h->leaving || h->is.at != point || h->is.arrived == h->is.times ||
            !script_fits(&h->is.match, call))
            continue;
        stopped = true;
        stop->script = s;
        stop->run = &call->run;
        stop->timeout_ms = h->is.timeout_ms;
        remember_id(stop, call);
        enqueue(h, stop);
    }
    (void)pthread_mutex_unlock(&s->lock);
    return stopped;
}

void script_ended(struct script_stop *stop)
{
    struct script *s = stop->script;
    if (s == NULL || stop->hold == 0)
        return;
    (void)pthread_mutex_lock(&s->lock);
    struct hold *h = hold_of(s, stop->hold);
    stop->hold = 0;
    if (h != NULL && !stop->queued) {
        h->busy = false;
        release_next(h);
    }
    (void)pthread_mutex_unlock(&s->lock);
}

struct err script_add_hold(struct script *s, struct script_hold *hold)
{
    struct err error = err_new(ERR_INVALID_INPUT);
    (void)pthread_mutex_lock(&s->lock);
    name_it(s, hold->id, "hold");
    hold->arrived = hold->waiting = 0;
    if (find_hold(s, str_of(hold->id)) != NULL)
        error = err_new(ERR_RESOURCE_ALREADY_EXISTS);
    for (size_t i = 0; i < SCRIPT_HOLDS_MAX && error.code == ERR_INVALID_INPUT; i++) {
        if (s->holds[i].number != 0)
            continue;
        s->holds[i] = (struct hold){.is = *hold, .number = ++s->last_number};
        error = OK;
    }
    (void)pthread_mutex_unlock(&s->lock);
    return error;
}

bool script_release(struct script *s, struct str id, uint32_t count)
{
    (void)pthread_mutex_lock(&s->lock);
    struct hold *h = find_hold(s, id);
    if (h != NULL) {
        h->to_release = count == 0 || count > h->is.waiting ? h->is.waiting : count;
        release_next(h);
    }
    (void)pthread_mutex_unlock(&s->lock);
    return h != NULL;
}

static void leave(struct hold *h)
{
    h->leaving = true;
    h->to_release = h->is.waiting;
    release_next(h);
}

bool script_remove_hold(struct script *s, struct str id)
{
    (void)pthread_mutex_lock(&s->lock);
    struct hold *h = find_hold(s, id);
    if (h != NULL)
        leave(h);
    (void)pthread_mutex_unlock(&s->lock);
    return h != NULL;
}

size_t script_holds(struct script *s, struct script_hold out[SCRIPT_HOLDS_MAX])
{
    size_t count = 0;
    (void)pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < SCRIPT_HOLDS_MAX; i++)
        if (s->holds[i].number != 0)
            out[count++] = s->holds[i].is;
    (void)pthread_mutex_unlock(&s->lock);
    return count;
}

void script_clear(struct script *s)
{
    (void)pthread_mutex_lock(&s->lock);
    s->fault_count = 0;
    for (size_t i = 0; i < SCRIPT_HOLDS_MAX; i++)
        if (s->holds[i].number != 0)
            leave(&s->holds[i]);
    (void)pthread_mutex_unlock(&s->lock);
}
