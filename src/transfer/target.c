/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/target.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "core/clock.h"
#include "core/crc/crc64.h"
#include "core/hash/md5.h"
#include "core/mem.h"
#include "core/text/base64.h"
#include "core/text/xml.h"
#include "core/time.h"

void target_init(struct target *t, struct session *session)
{
    *t = (struct target){.session = session, .piece = mem_alloc(ITEM_PIECE_BYTES)};
    arena_init(&t->arena, ITEM_ARENA_BYTES_MAX);
}

void target_release(struct target *t)
{
    arena_release(&t->arena);
    free(t->piece);
}

/* ---- shared ---- */

void target_put_metadata(struct remote_call *c, struct arena *a, const struct node *owner)
{
    const struct node *object = document_member(owner, "metadata");
    for (const struct node *n = document_first(object); n != NULL; n = n->next)
        remote_header(c, arena_cstr(a, arena_printf(a, "x-ms-meta-%.*s", STR_ARG(n->name))),
                      n->value.text);
}

struct err target_expect_or(struct target_work *w, struct remote_call *c, int also)
{
    TRY(session_ask(w->session, w->arena, c));
    return c->answer.status / 100 == 2 || c->answer.status == also ? OK
                                                                   : session_refused(w->session, c);
}

static void put_optional(struct buf *out, const char *element, struct str text)
{
    if (str_given(text))
        xml_element(out, str_of(element), text);
}

struct err target_put_policies(struct target_work *w, struct remote_call *c)
{
    struct buf xml = buf_in(w->arena);
    bool unknown = str_given(document_text(w->json, "policiesUnknown"));
    /* Only the account's key may set them, and public access with them. */
    if (!w->session->remote->has_key ||
        (unknown && !str_given(document_text(w->json, "publicAccess"))))
        return OK;
    buf_put(&xml, STR(XML_DECLARATION "<SignedIdentifiers>"));
    for (const struct node *n = document_first(document_member(w->json, "policies")); n != NULL;
         n = n->next) {
        buf_put(&xml, STR("<SignedIdentifier>"));
        xml_element(&xml, STR("Id"), document_text(n, "id"));
        buf_put(&xml, STR("<AccessPolicy>"));
        put_optional(&xml, "Start", document_text(n, "start"));
        put_optional(&xml, "Expiry", document_text(n, "expiry"));
        put_optional(&xml, "Permission", document_text(n, "permission"));
        buf_put(&xml, STR("</AccessPolicy></SignedIdentifier>"));
    }
    buf_put(&xml, STR("</SignedIdentifiers>"));
    remote_query(c, "comp", STR("acl"));
    remote_header(c, "Content-Type", STR("application/xml"));
    remote_body(c, w->arena, buf_str(&xml));
    return session_expect(w->session, w->arena, c);
}

/* ---- contents ---- */

struct body {
    struct target_work *work;
    size_t content;
    uint64_t base;
    struct md5 md5;
    uint64_t crc64;
};

static struct err next_piece(void *arg, uint64_t offset, uint64_t bytes_max, struct str *out)
{
    struct body *b = arg;
    struct target *t = b->work->target;
    size_t n = bytes_max < ITEM_PIECE_BYTES ? (size_t)bytes_max : ITEM_PIECE_BYTES;
    if (offset == 0) { /* also if the request is repeated */
        md5_init(&b->md5);
        b->crc64 = 0;
    }
    TRY(b->work->item->read(b->work->item, b->content, b->base + offset, n, t->piece));
    *out = (struct str){t->piece, n};
    md5_update(&b->md5, *out);
    b->crc64 = crc64(b->crc64, *out);
    return OK;
}

/* Compares with the checksum that the server reports, if it reports one. */
static struct err compare(struct body *b, const struct remote_call *c)
{
    unsigned char sum[MD5_BYTES];
    unsigned char told[MD5_BYTES];
    unsigned char crc[8];
    struct str md5 = remote_answer(c, "Content-MD5");
    struct str crc_text = remote_answer(c, "x-ms-content-crc64");
    bool same = true;
    md5_final(&b->md5, sum);
    memcpy(crc, &b->crc64, sizeof crc);
    if (str_given(md5))
        same = base64_decode_exact(md5, told, MD5_BYTES) && memcmp(told, sum, MD5_BYTES) == 0;
    if (same && str_given(crc_text))
        same = base64_decode_exact(crc_text, told, sizeof crc) && memcmp(told, crc, 8) == 0;
    return same ? OK : err_detail(ERR_MD5_MISMATCH, "the server got other bytes than were sent");
}

struct err target_put_content(struct target_work *w, struct remote_call *c, size_t content,
                              uint64_t offset, uint64_t length)
{
    struct target *t = w->target;
    struct body *body = ARENA_NEW(w->arena, struct body);
    *body = (struct body){.work = w, .content = content, .base = offset};
    t->bytes += length;
    if (length <= ITEM_PIECE_BYTES) {
        if (length > 0)
            TRY(w->item->read(w->item, content, offset, (size_t)length, t->piece));
        remote_body(c, w->arena, (struct str){t->piece, (size_t)length});
        return session_expect(w->session, w->arena, c);
    }
    c->has_body = true;
    c->body_bytes = length;
    c->source = next_piece;
    c->source_arg = body;
    TRY(session_expect(w->session, w->arena, c));
    return compare(body, c);
}

/* ---- accounts, containers, queues, tables ---- */

/* Only the operator creates accounts; see archive.c. */
static struct err put_account(struct target_work *w)
{
    (void)w;
    return OK;
}

static struct err put_service(struct target_work *w)
{
    static const char *const NAMES[] = {"blob", "queue", "table", "file"};
    struct str name = document_text(w->json, "service");
    for (unsigned i = 0; i <= REMOTE_FILE; i++) {
        if (!str_eq(name, str_of(NAMES[i])))
            continue;
        struct remote_call c = remote_call_of((enum remote_service)i, "PUT", STR_NONE, STR_NONE);
        remote_query(&c, "restype", STR("service"));
        remote_query(&c, "comp", STR("properties"));
        remote_header(&c, "Content-Type", STR("application/xml"));
        remote_body(&c, w->arena, document_text(w->json, "properties"));
        return session_expect(w->session, w->arena, &c);
    }
    return err_detail(ERR_INVALID_INPUT, "an item is of no service");
}

static struct err put_container(struct target_work *w)
{
    struct str name = document_text(w->json, "name");
    struct remote_call make = remote_call_of(REMOTE_BLOB, "PUT", name, STR_NONE);
    remote_query(&make, "restype", STR("container"));
    remote_header(&make, "x-ms-default-encryption-scope",
                  document_text(w->json, "encryptionScope"));
    remote_header(&make, "x-ms-deny-encryption-scope-override",
                  document_text(w->json, "denyScopeOverride"));
    target_put_metadata(&make, w->arena, w->json);
    TRY(target_expect_or(w, &make, 409));
    if (make.answer.status == 409) {
        struct remote_call again = remote_call_of(REMOTE_BLOB, "PUT", name, STR_NONE);
        remote_query(&again, "restype", STR("container"));
        remote_query(&again, "comp", STR("metadata"));
        target_put_metadata(&again, w->arena, w->json);
        TRY(session_expect(w->session, w->arena, &again));
    }
    struct remote_call acl = remote_call_of(REMOTE_BLOB, "PUT", name, STR_NONE);
    remote_query(&acl, "restype", STR("container"));
    remote_header(&acl, "x-ms-blob-public-access", document_text(w->json, "publicAccess"));
    return target_put_policies(w, &acl);
}

static struct err put_queue(struct target_work *w)
{
    struct str name = document_text(w->json, "name");
    struct remote_call make = remote_call_of(REMOTE_QUEUE, "PUT", name, STR_NONE);
    struct remote_call clear = remote_call_of(REMOTE_QUEUE, "DELETE", name, STR("messages"));
    struct remote_call metadata = remote_call_of(REMOTE_QUEUE, "PUT", name, STR_NONE);
    struct remote_call acl = remote_call_of(REMOTE_QUEUE, "PUT", name, STR_NONE);
    target_put_metadata(&make, w->arena, w->json);
    TRY(target_expect_or(w, &make, 409));
    remote_query(&metadata, "comp", STR("metadata"));
    target_put_metadata(&metadata, w->arena, w->json);
    TRY(session_expect(w->session, w->arena, &metadata));
    TRY(session_expect(w->session, w->arena, &clear));
    return target_put_policies(w, &acl);
}

static struct err put_table(struct target_work *w)
{
    struct str name = document_text(w->json, "name");
    struct remote_call make = remote_call_of(REMOTE_TABLE, "POST", STR("Tables"), STR_NONE);
    struct remote_call acl = remote_call_of(REMOTE_TABLE, "PUT", name, STR_NONE);
    remote_header(&make, "Content-Type", STR("application/json"));
    remote_header(&make, "Accept", STR("application/json;odata=nometadata"));
    remote_header(&make, "DataServiceVersion", STR("3.0"));
    remote_header(&make, "Prefer", STR("return-no-content"));
    remote_body(&make, w->arena, arena_printf(w->arena, "{\"TableName\":\"%.*s\"}", STR_ARG(name)));
    TRY(target_expect_or(w, &make, 409));
    return target_put_policies(w, &acl);
}

/* A quote in a key is written twice. */
static void put_key(struct buf *out, struct str key)
{
    for (size_t i = 0; i < key.n; i++) {
        if (key.p[i] == '\'')
            buf_putc(out, '\'');
        buf_putc(out, key.p[i]);
    }
}

static struct err put_entity(struct target_work *w, struct arena *a, struct str table,
                             const struct node *entity)
{
    struct buf path = buf_in(a);
    buf_printf(&path, "%.*s(PartitionKey='", STR_ARG(table));
    put_key(&path, document_text(entity, "PartitionKey"));
    buf_put(&path, STR("',RowKey='"));
    put_key(&path, document_text(entity, "RowKey"));
    buf_put(&path, STR("')"));
    struct remote_call c = remote_call_of(REMOTE_TABLE, "PUT", buf_str(&path), STR_NONE);
    remote_header(&c, "Content-Type", STR("application/json"));
    remote_header(&c, "DataServiceVersion", STR("3.0"));
    remote_body(&c, a, entity->source);
    return session_expect(w->session, a, &c);
}

static struct err put_entities(struct target_work *w)
{
    struct arena a;
    struct err error = OK;
    struct str table = document_text(w->json, "table");
    arena_init(&a, ITEM_ARENA_BYTES_MAX);
    for (const struct node *n = document_first(document_member(w->json, "entities"));
         n != NULL && !err_is(error); n = n->next) {
        arena_reset(&a);
        error = put_entity(w, &a, table, n);
    }
    arena_release(&a);
    return error;
}

/* ---- messages ---- */

static int64_t now_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec;
}

static int64_t seconds_of(struct str text)
{
    int64_t ticks;
    return str_given(text) && time_parse_http(text, &ticks) ? ticks / TICKS_PER_SECOND : 0;
}

/* Reads the messages in the queue, so that those of an earlier attempt are not put again. */
static struct err count_messages(struct target_work *w, struct str queue, uint64_t *out)
{
    struct remote_call c = remote_call_of(REMOTE_QUEUE, "GET", queue, STR_NONE);
    remote_query(&c, "comp", STR("metadata"));
    TRY(session_expect(w->session, w->arena, &c));
    return str_to_u64(remote_answer(&c, "x-ms-approximate-messages-count"), out)
               ? OK
               : err_detail(ERR_INVALID_INPUT, "the server does not count messages");
}

static struct err delete_message(struct target_work *w, struct arena *a, struct str queue,
                                 const struct xml_node *message)
{
    struct str id = xml_child_text(message, STR("MessageId"));
    struct remote_call c = remote_call_of(REMOTE_QUEUE, "DELETE", queue,
                                          arena_printf(a, "messages/%.*s", STR_ARG(id)));
    remote_query(&c, "popreceipt", xml_child_text(message, STR("PopReceipt")));
    return session_expect(w->session, a, &c);
}

struct message_times {
    int64_t expires, visible; /* 0: never, at once */
};

/* The time to live counts whole seconds from when the server receives the message. If the request
 * took longer than a second, the message is deleted and put again; then *again is true. */
static struct err put_message(struct target_work *w, struct arena *a, struct str queue,
                              const struct node *message, bool *again)
{
    struct message_times times = {seconds_of(document_text(message, "expires")),
                                  seconds_of(document_text(message, "visible"))};
    int64_t now = now_seconds();
    struct buf xml = buf_in(a);
    struct xml_node *root;
    *again = false;
    if (times.expires != 0 && times.expires <= now)
        return OK; /* its time is over */
    struct remote_call c = remote_call_of(REMOTE_QUEUE, "POST", queue, STR("messages"));
    c.tries_max = 1;
    remote_query(&c, "messagettl",
                 times.expires == 0 ? STR("-1")
                                    : arena_printf(a, "%lld", (long long)(times.expires - now)));
    if (times.visible > now)
        remote_query(&c, "visibilitytimeout",
                     arena_printf(a, "%lld", (long long)(times.visible - now)));
    buf_put(&xml, STR("<QueueMessage><MessageText>"));
    xml_put_text(&xml, document_text(message, "text"));
    buf_put(&xml, STR("</MessageText></QueueMessage>"));
    remote_header(&c, "Content-Type", STR("application/xml"));
    remote_body(&c, a, buf_str(&xml));
    TRY(session_expect(w->session, a, &c));
    TRY(xml_parse(a, c.body, &root));
    const struct xml_node *made = root->first_child;
    bool late = (times.expires != 0 &&
                 seconds_of(xml_child_text(made, STR("ExpirationTime"))) != times.expires) ||
                (times.visible > now &&
                 seconds_of(xml_child_text(made, STR("TimeNextVisible"))) != times.visible);
    if (late && now_seconds() - now < 60) {
        TRY(delete_message(w, a, queue, made));
        *again = true;
    }
    return OK;
}

static struct err put_messages(struct target_work *w)
{
    enum { AGAIN_MAX = 8 };
    struct str queue = document_text(w->json, "queue");
    struct arena a;
    uint64_t before = 0;
    uint64_t count;
    struct err error = OK;
    TRY(count_messages(w, queue, &count));
    (void)document_u64(w->json, "before", &before);
    arena_init(&a, ITEM_ARENA_BYTES_MAX);
    for (const struct node *n = document_first(document_member(w->json, "messages"));
         n != NULL && !err_is(error); n = n->next) {
        bool again = before >= count;
        before++;
        for (unsigned tries = 0; again && tries < AGAIN_MAX && !err_is(error); tries++) {
            arena_reset(&a);
            error = put_message(w, &a, queue, n, &again);
        }
    }
    arena_release(&a);
    return error;
}

/* ---- the item ---- */

static struct err (*const PUT[ITEM_KINDS])(struct target_work *w) = {
    [ITEM_ACCOUNT] = put_account,
    [ITEM_SERVICE] = put_service,
    [ITEM_CONTAINER] = put_container,
    [ITEM_BLOB] = target_put_blob,
    [ITEM_QUEUE] = put_queue,
    [ITEM_MESSAGES] = put_messages,
    [ITEM_TABLE] = put_table,
    [ITEM_ENTITIES] = put_entities,
    [ITEM_SHARE] = target_put_share,
    [ITEM_FILE] = target_put_file,
    [ITEM_DIRECTORY] = target_put_directory,
};

struct err target_put(struct target *t, const struct item *item)
{
    arena_reset(&t->arena);
    struct target_work w = {.target = t,
                            .session = t->session,
                            .arena = &t->arena,
                            .item = item,
                            .json = document_parse(&t->arena, item->json)};
    if (w.json == NULL || w.json->value.kind != JSON_OBJECT)
        return err_detail(ERR_INVALID_INPUT, "an item's JSON cannot be read");
    return PUT[item->kind](&w);
}
