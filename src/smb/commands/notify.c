/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/commands/notify.h"

#include "core/text/utf16.h"
#include "service/file/opens/watch.h"
#include "smb/drive.h"
#include "smb/message.h"
#include "smb/open.h"
#include "smb/server.h"

enum {
    WATCH_TREE = 1,
    ANSWER_HEAD = 8,
    NOTIFIES_PER_OPEN = 64,
};

struct notifying {
    struct smb_request *q;
    struct notifying *next; /* of the handle, in order of arrival */
    uint32_t bytes_max;
    /* Used while the changes are written. */
    struct buf list;
    size_t last;
    bool full;
    uint32_t status;
};

static struct watches *watches_of(const struct smb_open *o)
{
    return opens_watches(smb_server_world(o->server)->store->opens);
}

/* ---- answering ---- */

/* [MS-FSCC] 2.7.1: each entry has the offset of the next. */
static void put_change(void *arg, enum change_action action, struct str path)
{
    struct notifying *n = arg;
    struct arena *a = n->q->arena;
    struct buf name = buf_in(a);
    char *copy = arena_bytes(a, path.n + 1);
    for (size_t i = 0; i < path.n; i++)
        copy[i] = path.p[i] == '/' ? '\\' : path.p[i];
    utf16_put(&name, (struct str){copy, path.n});
    while (n->list.n % 4 != 0)
        buf_putc(&n->list, 0);
    n->full = n->full || n->list.n + 12 + name.n > n->bytes_max;
    if (n->full)
        return;
    if (n->list.n > 0) {
        uint32_t next = (uint32_t)(n->list.n - n->last);
        for (unsigned i = 0; i < 4; i++)
            n->list.p[n->last + i] = (char)(next >> (8 * i));
    }
    n->last = n->list.n;
    buf_put_le32(&n->list, 0);
    buf_put_le32(&n->list, (uint32_t)action);
    buf_put_le32(&n->list, (uint32_t)name.n);
    buf_put(&n->list, buf_str(&name));
}

static void answer(struct notifying *n)
{
    struct buf *out = &n->q->out;
    if (n->status == STATUS_DELETE_PENDING) {
        smb_complete(n->q, n->status);
        return;
    }
    buf_put_le16(out, 9);
    buf_put_le16(out, SMB_HEADER_BYTES + ANSWER_HEAD);
    buf_put_le32(out, (uint32_t)n->list.n);
    buf_put(out, buf_str(&n->list));
    if (n->list.n == 0)
        buf_putc(out, 0);
    smb_complete(n->q, n->status);
}

/* Takes the collected changes; false if there are none. */
static bool take_news(struct notifying *n)
{
    struct smb_open *o = n->q->open;
    n->list = buf_in(n->q->arena);
    n->full = false;
    switch (watch_take(watches_of(o), o->watch, put_change, n)) {
    case WATCH_NOTHING:
        return false;
    case WATCH_CHANGES:
        break;
    case WATCH_LOOK_ANEW:
        n->full = true;
        break;
    case WATCH_DOOMED:
        n->status = STATUS_DELETE_PENDING;
        return true;
    }
    if (n->full)
        buf_clear(&n->list);
    n->status = n->full ? STATUS_NOTIFY_ENUM_DIR : STATUS_SUCCESS;
    return true;
}

/* ---- waiting ---- */

static void dequeue(struct smb_open *o, const struct notifying *n)
{
    struct notifying **link = &o->notifies;
    while (*link != n)
        link = &(*link)->next;
    *link = n->next;
    o->notify_count--;
}

static bool leave_queue(struct smb_request *q)
{
    dequeue(q->open, q->work);
    return true;
}

static void waited(struct smb_request *q, struct err outcome)
{
    if (err_is(outcome))
        smb_complete(q, q->interrupted ? STATUS_NOTIFY_CLEANUP : STATUS_CANCELLED);
    else
        answer(q->work);
}

/* On the handle's thread. */
static void on_news(struct smb_open *o, const void *bytes)
{
    (void)bytes;
    struct notifying *n = o->notifies;
    if (n == NULL || !take_news(n))
        return;
    dequeue(o, n);
    run_wake_here(&n->q->run);
}

/* On any thread. */
static void ready(void *owner, uint64_t fleeting)
{
    smb_open_post(owner, fleeting, on_news, STR(""));
}

static void wait_for_news(struct notifying *n)
{
    static const struct smb_wait NEWS = {.take_back = leave_queue};
    struct smb_open *o = n->q->open;
    struct notifying **link = &o->notifies;
    if (!smb_may_wait(n->q)) {
        smb_complete(n->q, STATUS_INTERNAL_ERROR);
        return;
    }
    while (*link != NULL)
        link = &(*link)->next;
    *link = n;
    o->notify_count++;
    smb_wait_for(n->q, &NEWS, waited);
}

/* ---- the request ---- */

/* The buffer size of the first request applies to the handle. */
static bool begin_watch(struct smb_open *o, bool recursive, uint32_t filter, uint32_t bytes_max)
{
    struct watch_request request = {
        .directory = {o->incarnation, o->node},
        .recursive = recursive,
        .what = filter,
        .ready = ready,
        .owner = o->server,
        .id = o->id.fleeting,
    };
    if (o->watch == NULL) {
        o->watch = watch_new(watches_of(o), &request);
        o->notify_bytes = bytes_max;
    }
    return o->watch != NULL;
}

void smb_notify_end(struct smb_open *o)
{
    if (o->watch != NULL)
        watch_free(watches_of(o), o->watch);
    o->watch = NULL;
}

static uint32_t check(const struct notifying *n)
{
    const struct smb_open *o = n->q->open;
    if (n->bytes_max > SMB_IO_BYTES_MAX)
        return STATUS_INVALID_PARAMETER;
    if (!o->directory || o->handle == NULL)
        return STATUS_INVALID_PARAMETER;
    if ((o->access & SMB_READ_DATA) == 0)
        return STATUS_ACCESS_DENIED;
    if (opens_delete_pending(smb_store(n->q)->opens, opens_key_of(o->handle)))
        return STATUS_DELETE_PENDING;
    return o->notify_count < NOTIFIES_PER_OPEN ? STATUS_SUCCESS : STATUS_INSUFFICIENT_RESOURCES;
}

void smb_change_notify(struct smb_request *q)
{
    struct notifying *n = ARENA_NEW(q->arena, struct notifying);
    struct reader r = reader_of(str_from(q->body, 2));
    uint16_t flags = read_le16(&r);
    n->q = q;
    n->bytes_max = read_le32(&r);
    struct smb_file_id id = smb_read_file_id(&r);
    uint32_t filter = read_le32(&r);
    q->work = n;
    uint32_t status = reader_ok(&r) ? smb_open_find(q, id) : STATUS_INVALID_PARAMETER;
    if (status == STATUS_SUCCESS)
        status = check(n);
    if (status == STATUS_SUCCESS &&
        !begin_watch(q->open, (flags & WATCH_TREE) != 0, filter, n->bytes_max))
        status = STATUS_INSUFFICIENT_RESOURCES;
    if (status == STATUS_SUCCESS && n->bytes_max > q->open->notify_bytes)
        n->bytes_max = q->open->notify_bytes;
    if (status != STATUS_SUCCESS)
        smb_complete(q, status);
    else if (q->open->notifies != NULL || !take_news(n))
        wait_for_news(n);
    else
        answer(n);
}
