/* SPDX-License-Identifier: Apache-2.0 */
/* Azurite's queues. A queue and its messages are imported together: messages get new ids, so half a
 * queue could not be distinguished from a whole one. */
#include "core/time.h"
#include "import/azurite_internal.h"
#include "service/common/name.h"
#include "service/queue/queue.h"

/* Documents of a queue come before those of its messages, which keep the order of the file. */
enum { ORDER_QUEUE, ORDER_MESSAGE };

bool import_queue_document(void *import, struct str collection, struct loki_span span)
{
    struct import *im = import;
    bool queue = str_eq(collection, STR("$QUEUES_COLLECTION$"));
    bool message = str_eq(collection, STR("$MESSAGES_COLLECTION$"));
    arena_reset(&im->arena);
    if (queue || message) {
        const struct node *node =
            import_document(im, span, queue ? IMPORT_QUEUES : IMPORT_MESSAGES);
        struct str name = document_text(node, queue ? "name" : "queueName");
        if (node != NULL)
            import_index_add(&im->index,
                             import_name(im, document_text(node, "accountName"), name, STR_NONE),
                             queue ? ORDER_QUEUE : ORDER_MESSAGE, span);
    } else {
        report_count(im->report, IMPORT_PROPERTIES, FATE_LEFT_OUT);
    }
    return import_goes_on(im, "queues", span.offset, 2 * im->db_bytes);
}

/* The queue that is being filled. Its strings are not in the arena of documents. */
struct filling {
    struct import *im;
    char account[32], queue[NAME_BYTES_MAX + 1];
    char name[128];
    bool open;  /* messages go into it */
    bool there; /* it was in the store before */
};

static void keep(char *to, size_t size, struct str text)
{
    size_t n = text.n < size ? text.n : size - 1;
    memcpy(to, text.p == NULL ? "" : text.p, n);
    to[n] = '\0';
}

static struct str partition_of(struct filling *f)
{
    return queue_partition(&f->im->arena, str_of(f->account), str_of(f->queue));
}

static struct err make_queue(struct filling *f, struct str metadata, struct str policies)
{
    struct import *im = f->im;
    struct queue_create create = {.metadata = metadata};
    struct queue_properties before = {.arena = &im->arena};
    struct err found =
        store_read(im->store, partition_of(f), ENGINE_WAIT, queue_get_metadata, &before);
    bool again = import_was_cut_off(im, str_of(f->name));
    f->there = !err_is(found) && !again;
    if (f->there)
        return OK;
    TRY(import_begin_steps(im, str_of(f->name)));
    f->open = true;
    if (!err_is(found))
        TRY(import_update(im, partition_of(f), queue_delete, NULL));
    TRY(import_update(im, partition_of(f), queue_create, &create));
    struct queue_acl acl = {.policies = policies};
    return str_given(policies) ? import_update(im, partition_of(f), queue_set_acl, &acl) : OK;
}

static void note_queue(struct filling *f, struct err error)
{
    if (err_is(error))
        report_error(f->im->report, IMPORT_QUEUES, str_of(f->name), error);
    else
        report_count(f->im->report, IMPORT_QUEUES, f->there ? FATE_THERE : FATE_TAKEN);
}

/* Returns the queue of a document: also that of a message whose queue's document is lost. */
static void begin_queue(struct filling *f, const struct node *node, bool is_queue)
{
    struct import *im = f->im;
    struct str account = document_text(node, "accountName");
    struct str queue = document_text(node, is_queue ? "name" : "queueName");
    struct str metadata = STR_NONE;
    struct str policies = STR_NONE;
    struct err error = account_name_ok(account)
                           ? name_check(queue)
                           : err_detail(ERR_INVALID_INPUT, "its account has no valid name");
    keep(f->account, sizeof f->account, account);
    keep(f->queue, sizeof f->queue, queue);
    keep(f->name, sizeof f->name, import_name(im, account, queue, STR_NONE));
    f->open = f->there = false;
    if (is_queue && !err_is(error)) {
        error = import_metadata(im, node, &metadata);
        policies = import_policies(im, document_member(node, "queueAcl"));
    }
    if (!err_is(error))
        error = make_queue(f, metadata, policies);
    note_queue(f, error);
}

static void end_queue(struct filling *f)
{
    if (f->open && err_is(import_end_steps(f->im)))
        f->im->fatal = err_detail(ERR_IO, "the import's progress cannot be written");
    f->open = false;
}

struct text_sink {
    struct buf *out;
};

static struct err take_text(void *arg, struct str bytes)
{
    struct text_sink *sink = arg;
    if (sink->out->n + bytes.n > QUEUE_TEXT_BYTES_MAX)
        return err_detail(ERR_CORRUPT, "its text is too long");
    buf_put(sink->out, bytes);
    return OK;
}

static struct err read_text(struct import *im, const struct node *node, struct str *out)
{
    struct chunk chunk;
    struct buf text = buf_in(&im->arena);
    struct text_sink sink = {&text};
    if (!import_chunk_of(node, &chunk))
        return err_detail(ERR_CORRUPT, "it names no text");
    TRY(import_chunk_read(&im->extents, &chunk, take_text, &sink));
    *out = buf_str(&text);
    return str_is_utf8(*out) ? OK : err_detail(ERR_CORRUPT, "its text is no UTF-8");
}

/* A time as text, or as milliseconds since 1970. */
static bool read_time(const struct node *node, const char *name, int64_t *out)
{
    uint64_t ms;
    if (document_u64(node, name, &ms) && ms < INT64_MAX / TICKS_PER_MS) {
        *out = (int64_t)ms * TICKS_PER_MS;
        return true;
    }
    struct str text = document_text(node, name);
    return str_given(text) && time_parse_iso(text, out);
}

static int64_t seconds_until(int64_t time, int64_t now)
{
    return time <= now ? 0 : (time - now + TICKS_PER_SECOND - 1) / TICKS_PER_SECOND;
}

static struct err put_message(struct filling *f, const struct node *node)
{
    struct import *im = f->im;
    struct queue_put_message put = {.ttl_s = QUEUE_TTL_DEFAULT_S};
    int64_t now = store_now(im->store);
    int64_t expires;
    int64_t visible;
    if (read_time(node, "expirationTime", &expires))
        put.ttl_s = expires >= QUEUE_EXPIRES_NEVER - TICKS_PER_DAY ? QUEUE_TTL_NEVER
                                                                   : seconds_until(expires, now);
    if (put.ttl_s == 0)
        return err_detail(ERR_MESSAGE_NOT_FOUND, "it has expired");
    if (read_time(node, "timeNextVisible", &visible)) {
        int64_t wait = seconds_until(visible, now);
        int64_t most = put.ttl_s == QUEUE_TTL_NEVER ? QUEUE_VISIBILITY_MAX_S : put.ttl_s - 1;
        put.visibility_s = (uint32_t)(wait < most ? wait : most);
    }
    TRY(read_text(im, node, &put.text));
    im->report->bytes += put.text.n;
    return import_update(im, partition_of(f), queue_put_message, &put);
}

static void import_message(struct filling *f, const struct node *node)
{
    struct report *report = f->im->report;
    if (f->there) {
        report_count(report, IMPORT_MESSAGES, FATE_THERE);
        return;
    }
    struct err error =
        f->open ? put_message(f, node) : err_detail(ERR_QUEUE_NOT_FOUND, "its queue was left out");
    if (err_is(error))
        report_error(
            report, IMPORT_MESSAGES,
            import_name(f->im, str_of(f->name), document_text(node, "messageId"), STR_NONE), error);
    else
        report_count(report, IMPORT_MESSAGES, FATE_TAKEN);
}

void import_queues_finish(struct import *im)
{
    struct filling f = {.im = im};
    import_index_sort(&im->index);
    for (size_t i = 0; i < im->index.count; i++) {
        const struct index_entry *entry = &im->index.items[i];
        bool is_queue = entry->order == ORDER_QUEUE;
        arena_reset(&im->arena);
        const struct node *node =
            import_document(im, entry->span, is_queue ? IMPORT_QUEUES : IMPORT_MESSAGES);
        if (node == NULL)
            continue;
        if (i == 0 || entry->group != im->index.items[i - 1].group || f.account[0] == '\0') {
            end_queue(&f);
            begin_queue(&f, node, is_queue);
        }
        if (!is_queue)
            import_message(&f, node);
        if (!import_goes_on(im, "queues", im->index.count + i, 2 * im->index.count))
            return;
    }
    end_queue(&f);
}
