/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/watch/requests.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/mem.h"

struct requests {
    pthread_mutex_t lock;
    struct request_note *ring;
    uint64_t last;    /* the id of the newest */
    uint64_t cleared; /* requests up to this one were cleared */
};

struct requests *requests_new(void)
{
    struct requests *r = MEM_NEW(struct requests);
    (void)pthread_mutex_init(&r->lock, NULL);
    r->ring = mem_calloc(REQUESTS_KEPT, sizeof *r->ring);
    return r;
}

void requests_free(struct requests *r)
{
    if (r == NULL)
        return;
    (void)pthread_mutex_destroy(&r->lock);
    free(r->ring);
    free(r);
}

/* Does not cut a character in half, and removes control characters, which are invalid in JSON. */
static void copy(char *to, size_t size, struct str from)
{
    size_t n = from.n < size - 1 ? from.n : size - 1;
    while (n > 0 && n < from.n && ((unsigned char)from.p[n] & 0xC0) == 0x80)
        n--;
    for (size_t i = 0; i < n; i++)
        to[i] = (unsigned char)from.p[i] < 0x20 ? '?' : from.p[i];
    to[n] = '\0';
}

/* A header may have any bytes. */
static void copy_header(char *to, size_t size, struct str from)
{
    copy(to, size, from);
    for (; *to != '\0'; to++)
        if (*to < 0x20 || *to > 0x7E)
            *to = '?';
}

static void copy_object(struct request_note *note, const struct rest_call *call)
{
    if (!str_given(call->key_pk))
        copy(note->object, sizeof note->object, call->object);
    else
        copy(note->object, sizeof note->object,
             arena_printf(call->arena, "%.*s/%.*s", STR_ARG(call->key_pk), STR_ARG(call->key_rk)));
}

void requests_add(struct requests *r, const struct rest_call *call, struct err error,
                  const char *fault, int64_t ended_us)
{
    struct request_note note = {
        .at = call->now,
        .service = call->service,
        .operation = call->op == NULL ? "" : call->op->name,
        .status = call->status,
        .error = error.code,
        .duration_us = ended_us - call->x->started_us,
        .bytes_in = call->x->body_bytes,
        .bytes_out = call->x->sent_bytes,
    };
    copy(note.method, sizeof note.method, call->x->request.method_text);
    copy(note.account, sizeof note.account, call->account);
    copy(note.container, sizeof note.container, call->container);
    copy_object(&note, call);
    copy(note.request_id, sizeof note.request_id, str_of(call->request_id));
    copy_header(note.client_request_id, sizeof note.client_request_id,
                call_header(call, STR("x-ms-client-request-id")));
    copy(note.fault, sizeof note.fault, str_of(fault));
    (void)pthread_mutex_lock(&r->lock);
    note.id = ++r->last;
    r->ring[note.id % REQUESTS_KEPT] = note;
    (void)pthread_mutex_unlock(&r->lock);
}

static bool fits_text(const char *pattern, const char *text)
{
    return pattern[0] == '\0' || script_glob(pattern, str_of(text));
}

static bool fits(const struct request_note *n, const struct requests_filter *f)
{
    const struct script_match *m = &f->match;
    return (!m->has_service || m->service == n->service) && fits_text(m->operation, n->operation) &&
           fits_text(m->account, n->account) && fits_text(m->container, n->container) &&
           fits_text(m->object, n->object) &&
           fits_text(m->client_request_id, n->client_request_id) &&
           (f->status == 0 || f->status == n->status) &&
           fits_text(f->error, err_azure_code(n->error));
}

void requests_find(struct requests *r, const struct requests_filter *f, struct requests_found *out)
{
    assert(out != NULL);
    out->count = 0;
    out->notes_count = 0;
    (void)pthread_mutex_lock(&r->lock);
    uint64_t oldest = r->last > REQUESTS_KEPT ? r->last - REQUESTS_KEPT : 0;
    if (oldest < r->cleared)
        oldest = r->cleared;
    if (oldest < f->after)
        oldest = f->after;
    out->next = r->last;
    for (uint64_t id = r->last; id > oldest; id--) {
        const struct request_note *note = &r->ring[id % REQUESTS_KEPT];
        if (!fits(note, f))
            continue;
        out->count++;
        if (out->notes_count < out->limit)
            out->notes[out->limit - ++out->notes_count] = *note;
    }
    (void)pthread_mutex_unlock(&r->lock);
    memmove(out->notes, out->notes + (out->limit - out->notes_count),
            out->notes_count * sizeof *out->notes);
}

void requests_clear(struct requests *r)
{
    (void)pthread_mutex_lock(&r->lock);
    r->cleared = r->last;
    (void)pthread_mutex_unlock(&r->lock);
}
