/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/source.h"

#include <assert.h>
#include <errno.h>

#include "core/hash/md5.h"
#include "core/text/base64.h"
#include "core/text/xml.h"

/* ---- what is wanted ---- */

bool selection_has(const struct selection *s, const char *service, struct str container)
{
    for (size_t i = 0; i < s->count; i++) {
        struct str rest = s->parts[i];
        if (!str_eq(str_cut(&rest, '/'), str_of(service)))
            continue;
        if (!str_given(rest) || !str_given(container) || str_eq(rest, container))
            return true;
    }
    return s->count == 0;
}

/* ---- going on behind the last item of an earlier walk ---- */

bool source_walk_is_done(struct walk *w, enum item_kind kind, struct str container, struct str name)
{
    const struct position *last = w->after;
    if (!w->skipping)
        return false;
    if (last->kind == kind && str_eq(last->container, container) && str_eq(last->name, name))
        w->skipping = false; /* this one is complete, the next one is not */
    return true;
}

struct err source_walk_give(struct walk *w, const struct entry *entry)
{
    w->listed++;
    if (source_walk_is_done(w, entry->position.kind, entry->position.container,
                            entry->position.name))
        return OK;
    return w->visit(w->arg, entry);
}

struct err source_walk_list(struct session *s, struct arena *a, struct remote_call *call,
                            struct xml_node **root)
{
    TRY(session_expect(s, a, call));
    return xml_parse(a, call->body, root);
}

static struct err walk_group_page(struct walk *w, struct remote_call *c, const char *element,
                                  struct err (*take)(struct walk *w, struct str name),
                                  struct buf *marker)
{
    struct arena a;
    struct xml_node *root = NULL;
    arena_init(&a, ITEM_ARENA_BYTES_MAX);
    if (marker->n > 0)
        remote_query(c, "marker", arena_copy(&a, buf_str(marker)));
    struct err error = source_walk_list(w->session, &a, c, &root);
    const struct xml_node *list = err_is(error) ? NULL : xml_child(root, str_of(element));
    for (const struct xml_node *n = list == NULL ? NULL : list->first_child;
         n != NULL && !err_is(error); n = n->next)
        if (!str_given(xml_child_text(n, STR("Snapshot"))))
            error = take(w, xml_child_text(n, STR("Name")));
    buf_clear(marker);
    if (!err_is(error))
        buf_put(marker, xml_child_text(root, STR("NextMarker")));
    arena_release(&a);
    return error;
}

struct err source_walk_groups(struct walk *w, enum remote_service service, const char *element,
                              struct err (*take)(struct walk *w, struct str name))
{
    struct buf marker = buf_heap();
    struct err error;
    do {
        struct remote_call c = remote_call_of(service, "GET", STR_NONE, STR_NONE);
        remote_query(&c, "comp", STR("list"));
        error = walk_group_page(w, &c, element, take, &marker);
    } while (!err_is(error) && marker.n > 0);
    buf_release(&marker);
    return error;
}

struct err source_walk_service(struct walk *w, enum remote_service service)
{
    static const char *const NAMES[] = {"blob", "queue", "table", "file"};
    struct entry e = {.position = {.kind = ITEM_SERVICE, .container = str_of(NAMES[service])}};
    return source_walk_give(w, &e);
}

static struct err walk_account(struct walk *w)
{
    struct entry e = {.position = {.kind = ITEM_ACCOUNT}, .hierarchical = w->hierarchical};
    return source_walk_give(w, &e);
}

/* The folders of a hierarchical account have their own access rights. */
static struct err see_account(struct walk *w)
{
    struct arena a;
    struct remote_call call = remote_call_of(REMOTE_BLOB, "GET", STR_NONE, STR_NONE);
    if (!w->session->remote->has[REMOTE_BLOB])
        return OK;
    arena_init(&a, ITEM_ARENA_BYTES_MAX);
    remote_query(&call, "restype", STR("account"));
    remote_query(&call, "comp", STR("properties"));
    struct err error = session_ask(w->session, &a, &call);
    w->hierarchical = !err_is(error) && call.answer.status == 200 &&
                      str_ieq(remote_answer(&call, "x-ms-is-hns-enabled"), STR("true"));
    arena_release(&a);
    return error;
}

static struct err walk_all(struct walk *w)
{
    static struct err (*const WALKS[])(struct walk *) = {source_walk_blobs, source_walk_queues,
                                                         source_walk_tables, source_walk_files};
    static const char *const NAMES[] = {"blob", "queue", "table", "file"};
    TRY(walk_account(w));
    for (unsigned i = 0; i <= REMOTE_FILE; i++)
        if (w->session->remote->has[i] && selection_has(w->selection, NAMES[i], STR_NONE))
            TRY(WALKS[i](w));
    return OK;
}

/* If the last item no longer exists, the whole account is walked again: objects are replaced by
 * equal ones. */
struct err source_walk(struct walk *w)
{
    TRY(see_account(w));
    w->skipping = w->after != NULL;
    TRY(walk_all(w));
    if (!w->skipping)
        return OK;
    w->skipping = false;
    return walk_all(w);
}

/* ---- describing ---- */

void item_begin(struct json_writer *w, struct session *s, enum item_kind kind)
{
    json_open(w, '{');
    item_put_text(w, "kind", str_of(ITEM_KIND_NAMES[kind]));
    item_put_text(w, "account", s->remote->account);
}

void item_end(struct json_writer *w, enum item_kind kind, struct str label, struct item *out)
{
    assert(out != NULL);
    json_close(w, '}');
    buf_putc(w->out, '\n');
    out->kind = kind;
    out->label = arena_printf(w->out->arena, "%.*s%%.json", STR_ARG(label));
    out->json = buf_str(w->out);
}

void item_put_metadata(struct json_writer *w, const struct remote_call *c)
{
    item_put_metadata_but(w, c, STR_NONE);
}

void item_put_metadata_but(struct json_writer *w, const struct remote_call *c, struct str but)
{
    const struct str prefix = STR("x-ms-meta-");
    bool any = false;
    for (size_t i = 0; i < c->answer.header_count; i++) {
        const struct http_header *h = &c->answer.headers[i];
        if (!str_istarts(h->name, prefix) || str_ieq(str_from(h->name, prefix.n), but))
            continue;
        if (!any) {
            json_name(w, STR("metadata"));
            json_open(w, '{');
        }
        any = true;
        json_name(w, str_from(h->name, prefix.n));
        json_string(w, h->value);
    }
    if (any)
        json_close(w, '}');
}

static struct err put_policies(struct json_writer *w, struct arena *a, const struct remote_call *c)
{
    struct xml_node *root;
    TRY(xml_parse(a, c->body, &root));
    if (root->first_child == NULL)
        return OK;
    json_name(w, STR("policies"));
    json_open(w, '[');
    for (const struct xml_node *n = root->first_child; n != NULL; n = n->next) {
        const struct xml_node *terms = xml_child(n, STR("AccessPolicy"));
        json_open(w, '{');
        item_put_text(w, "id", xml_child_text(n, STR("Id")));
        item_put_text(w, "start", xml_child_text(terms, STR("Start")));
        item_put_text(w, "expiry", xml_child_text(terms, STR("Expiry")));
        item_put_text(w, "permission", xml_child_text(terms, STR("Permission")));
        json_close(w, '}');
    }
    json_close(w, ']');
    return OK;
}

struct err source_ask(struct session *s, struct arena *a, struct remote_call *c)
{
    TRY(session_ask(s, a, c));
    if (c->answer.status / 100 == 2)
        return OK;
    if (c->answer.status == 404)
        return err_new(ERR_BLOB_NOT_FOUND);
    return c->answer.status == 412 ? err_new(ERR_CONDITION_NOT_MET) : session_refused(s, c);
}

struct err item_ask_policies(struct json_writer *w, struct session *s, struct arena *a,
                             struct remote_call *c)
{
    if (!s->remote->has_key) {
        item_put_text(w, "policiesUnknown", STR("true"));
        return OK;
    }
    TRY(source_ask(s, a, c));
    return put_policies(w, a, c);
}

/* If the server sends the MD5 of a part, it is compared; this program and the cloud always do. */
static bool md5_is_right(const struct remote_call *c)
{
    struct md5 md5;
    unsigned char sum[MD5_BYTES];
    unsigned char told[MD5_BYTES];
    struct str text = remote_answer(c, "Content-MD5");
    if (!str_given(text))
        return true;
    md5_init(&md5);
    md5_update(&md5, c->body);
    md5_final(&md5, sum);
    return base64_decode_exact(text, told, sizeof told) && memcmp(sum, told, sizeof sum) == 0;
}

struct err source_read_range(struct session *s, struct arena *a, struct remote_call *call,
                             uint64_t offset, size_t n, char *into)
{
    remote_header(call, "x-ms-range",
                  arena_printf(a, "bytes=%llu-%llu", (unsigned long long)offset,
                               (unsigned long long)(offset + n - 1)));
    remote_header(call, "x-ms-range-get-content-md5", STR("true"));
    TRY(source_ask(s, a, call));
    if (call->body.n != n)
        return err_cause(ERR_IO, EPIPE);
    if (!md5_is_right(call))
        return err_detail(ERR_MD5_MISMATCH, "what came is not what the server says it sent");
    memcpy(into, call->body.p, n);
    return OK;
}

static struct err add_spans(struct arena *a, const struct xml_node *root, struct item_content *out,
                            size_t *capacity)
{
    for (const struct xml_node *n = root->first_child; n != NULL; n = n->next) {
        uint64_t start, end;
        if (!str_eq(n->name, STR("PageRange")) && !str_eq(n->name, STR("Range")))
            continue;
        if (!str_to_u64(xml_child_text(n, STR("Start")), &start) ||
            !str_to_u64(xml_child_text(n, STR("End")), &end) || end < start || end >= out->size)
            return err_detail(ERR_INVALID_INPUT, "the server's list of ranges makes no sense");
        struct item_span *last = out->span_count > 0 ? &out->spans[out->span_count - 1] : NULL;
        if (last != NULL && last->offset + last->length == start) {
            last->length += end + 1 - start;
            continue;
        }
        if (out->span_count == *capacity) {
            struct item_span *more = ARENA_ARRAY(a, struct item_span, *capacity * 2 + 16);
            if (out->span_count > 0)
                memcpy(more, out->spans, out->span_count * sizeof *more);
            out->spans = more;
            *capacity = *capacity * 2 + 16;
        }
        out->spans[out->span_count++] = (struct item_span){start, end + 1 - start};
    }
    return OK;
}

struct err source_read_spans(struct session *s, struct arena *a, struct remote_call *call,
                             struct item_content *out)
{
    assert(out != NULL);
    size_t capacity = 0;
    size_t query_count = call->query_count;
    struct str marker = STR_NONE;
    out->sparse = true;
    do {
        struct xml_node *root;
        call->query_count = query_count;
        if (marker.n > 0)
            remote_query(call, "marker", marker);
        TRY(source_ask(s, a, call));
        TRY(xml_parse(a, call->body, &root));
        TRY(add_spans(a, root, out, &capacity));
        marker = xml_child_text(root, STR("NextMarker"));
    } while (marker.n > 0);
    return OK;
}

static struct err describe_text(struct session *s, struct arena *a, const struct entry *e,
                                struct item *out)
{
    bool messages = e->position.kind == ITEM_MESSAGES;
    struct buf text = buf_in(a);
    struct json_writer w = json_writer_of(&text);
    item_begin(&w, s, e->position.kind);
    item_put_text(&w, messages ? "queue" : "table", e->position.container);
    item_put_text(&w, "part", e->position.name);
    if (messages)
        item_put_u64(&w, "before", e->before);
    json_name(&w, messages ? STR("messages") : STR("entities"));
    json_raw(&w, e->json);
    item_end(&w, e->position.kind,
             item_label(a, s->remote->account, messages ? "queue" : "table", e->position.container,
                        e->position.name, NULL),
             out);
    return OK;
}

static struct err describe_account(struct session *s, struct arena *a, const struct entry *e,
                                   struct item *out)
{
    struct buf text = buf_in(a);
    struct json_writer w = json_writer_of(&text);
    item_begin(&w, s, ITEM_ACCOUNT);
    json_name(&w, STR("hierarchical"));
    json_bool(&w, e->hierarchical);
    item_end(&w, ITEM_ACCOUNT, item_label(a, s->remote->account, NULL, STR_NONE, STR_NONE, NULL),
             out);
    return OK;
}

/* Containers, queues and tables have properties and policies in two answers of the same form. */
struct group {
    enum remote_service service;
    const char *label;
    const char *restype; /* NULL: none */
    const char *comp;    /* of the properties; NULL: there are none */
};

static struct err put_group_properties(struct session *s, struct arena *a, const struct entry *e,
                                       const struct group *g, struct json_writer *w)
{
    struct remote_call c = remote_call_of(g->service, "HEAD", e->position.container, STR_NONE);
    if (g->restype != NULL)
        remote_query(&c, "restype", str_of(g->restype));
    if (g->comp != NULL)
        remote_query(&c, "comp", str_of(g->comp));
    TRY(source_ask(s, a, &c));
    item_put_metadata(w, &c);
    item_put_text(w, "publicAccess", remote_answer(&c, "x-ms-blob-public-access"));
    struct str scope = remote_answer(&c, "x-ms-default-encryption-scope");
    if (str_given(scope) && !str_eq(scope, STR("$account-encryption-key")))
        item_put_text(w, "encryptionScope", scope);
    if (str_ieq(remote_answer(&c, "x-ms-deny-encryption-scope-override"), STR("true")))
        item_put_text(w, "denyScopeOverride", STR("true"));
    return OK;
}

static struct err describe_group(struct session *s, struct arena *a, const struct entry *e,
                                 struct item *out)
{
    static const struct group CONTAINER = {REMOTE_BLOB, "blob", "container", NULL};
    static const struct group QUEUE = {REMOTE_QUEUE, "queue", NULL, "metadata"};
    static const struct group TABLE = {REMOTE_TABLE, "table", NULL, NULL};
    const struct group *g = e->position.kind == ITEM_CONTAINER ? &CONTAINER
                            : e->position.kind == ITEM_QUEUE   ? &QUEUE
                                                               : &TABLE;
    struct buf text = buf_in(a);
    struct json_writer w = json_writer_of(&text);
    item_begin(&w, s, e->position.kind);
    item_put_text(&w, "name", e->position.container);
    if (g != &TABLE)
        TRY(put_group_properties(s, a, e, g, &w));
    struct remote_call acl = remote_call_of(g->service, "GET", e->position.container, STR_NONE);
    if (g->restype != NULL)
        remote_query(&acl, "restype", str_of(g->restype));
    remote_query(&acl, "comp", STR("acl"));
    TRY(item_ask_policies(&w, s, a, &acl));
    item_end(&w, e->position.kind,
             item_label(a, s->remote->account, g->label, e->position.container, STR_NONE, NULL),
             out);
    return OK;
}

struct err source_describe_service(struct session *s, struct arena *a, const struct entry *e,
                                   struct item *out)
{
    static const char *const NAMES[] = {"blob", "queue", "table", "file"};
    unsigned service = 0;
    struct buf text = buf_in(a);
    struct json_writer w = json_writer_of(&text);
    while (service < REMOTE_FILE && !str_eq(e->position.container, str_of(NAMES[service])))
        service++;
    struct remote_call c = remote_call_of((enum remote_service)service, "GET", STR_NONE, STR_NONE);
    remote_query(&c, "restype", STR("service"));
    remote_query(&c, "comp", STR("properties"));
    TRY(source_ask(s, a, &c));
    item_begin(&w, s, ITEM_SERVICE);
    item_put_text(&w, "service", e->position.container);
    item_put_text(&w, "properties", c.body);
    item_end(&w, ITEM_SERVICE,
             item_label(a, s->remote->account, NAMES[service], STR_NONE, STR_NONE, NULL), out);
    return OK;
}

struct err source_describe(struct session *s, struct arena *a, const struct entry *entry,
                           struct item *out)
{
    assert(out != NULL);
    static struct err (*const DESCRIBE[ITEM_KINDS])(struct session *, struct arena *,
                                                    const struct entry *, struct item *) = {
        [ITEM_ACCOUNT] = describe_account,
        [ITEM_SERVICE] = source_describe_service,
        [ITEM_CONTAINER] = describe_group,
        [ITEM_BLOB] = source_describe_blob,
        [ITEM_QUEUE] = describe_group,
        [ITEM_MESSAGES] = describe_text,
        [ITEM_TABLE] = describe_group,
        [ITEM_ENTITIES] = describe_text,
        [ITEM_SHARE] = source_describe_share,
        [ITEM_FILE] = source_describe_file,
        [ITEM_DIRECTORY] = source_describe_directory,
    };
    *out = (struct item){.kind = entry->position.kind};
    return DESCRIBE[entry->position.kind](s, a, entry, out);
}
