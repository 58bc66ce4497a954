/* SPDX-License-Identifier: Apache-2.0 */
/* Containers and blobs. The states of one blob (snapshots, previous versions, the blob itself) are
 * one item. They are in the order of their creation, in which the target creates them again. */
#include <assert.h>
#include <stdlib.h>

#include "core/text/uri.h"
#include "core/text/xml.h"
#include "transfer/source.h"

/* ---- walking ---- */

enum { HEADS_PER_BLOB_MAX = 100000 };

/* The blob whose states are being listed: a page of the listing may end among them. */
struct gathering {
    struct walk *walk;
    struct str container;
    struct arena arena;
    struct str name;
    struct entry_head *heads;
    size_t count, capacity;
    struct label_heads labels;
};

static struct str time_of(const struct entry_head *h)
{
    return str_given(h->snapshot) ? h->snapshot : h->version;
}

/* By time; if equal, the snapshot comes first: it was taken of the state that the version
 * replaced. */
static int by_time(const void *left, const void *right)
{
    const struct entry_head *a = left;
    const struct entry_head *b = right;
    if (a->current != b->current)
        return a->current ? 1 : -1;
    int order = str_cmp(time_of(a), time_of(b));
    return order != 0 ? order : str_given(b->snapshot) - str_given(a->snapshot);
}

static struct err give_blob(struct gathering *g)
{
    struct entry e = {.position = {ITEM_BLOB, g->container, g->name},
                      .heads = g->heads,
                      .head_count = g->count,
                      .hierarchical = g->walk->hierarchical,
                      .labels = &g->labels};
    if (g->count == 0)
        return OK;
    qsort(g->heads, g->count, sizeof *g->heads, by_time);
    struct err error = source_walk_give(g->walk, &e);
    g->count = 0;
    return error;
}

/* Names come in order, so those that are prefixes of this one come right before it. */
static void begin_blob(struct gathering *g, struct str name)
{
    struct str before = g->name;
    size_t common = 0;
    while (common < before.n && common < name.n && before.p[common] == name.p[common])
        common++;
    while (g->labels.count > 0 && g->labels.lengths[g->labels.count - 1] > common)
        g->labels.count--;
    if (before.n > 0 && before.n == common && g->labels.count < 1024)
        g->labels.lengths[g->labels.count++] = before.n;
    arena_reset(&g->arena);
    g->heads = NULL;
    g->capacity = 0;
    g->name = arena_copy(&g->arena, name);
}

static void add_head(struct gathering *g, const struct entry_head *h)
{
    if (g->count == g->capacity) {
        size_t capacity = g->capacity * 2 + 4;
        struct entry_head *more = ARENA_ARRAY(&g->arena, struct entry_head, capacity);
        if (g->count > 0)
            memcpy(more, g->heads, g->count * sizeof *more);
        g->heads = more;
        g->capacity = capacity;
    }
    g->heads[g->count++] = (struct entry_head){arena_copy(&g->arena, h->snapshot),
                                               arena_copy(&g->arena, h->version), h->current};
}

static struct str name_of(struct arena *a, const struct xml_node *node)
{
    const struct xml_node *name = xml_child(node, STR("Name"));
    return name == NULL ? STR("") : name->encoded ? uri_decode_loose(a, name->text) : name->text;
}

static struct err take_blob(struct gathering *g, struct arena *a, const struct xml_node *node)
{
    struct str name = name_of(a, node);
    struct entry_head h = {.snapshot = xml_child_text(node, STR("Snapshot")),
                           .version = xml_child_text(node, STR("VersionId"))};
    if (h.snapshot.n == 0)
        h.snapshot = STR_NONE;
    h.current =
        !str_given(h.snapshot) &&
        (h.version.n == 0 || str_ieq(xml_child_text(node, STR("IsCurrentVersion")), STR("true")));
    if (h.version.n == 0 || str_given(h.snapshot))
        h.version = STR_NONE;
    if (!str_eq(name, g->name) || g->count == 0) {
        TRY(give_blob(g));
        if (!str_eq(name, g->name))
            begin_blob(g, name);
    }
    if (g->count == HEADS_PER_BLOB_MAX)
        return err_detail(ERR_INVALID_INPUT, "a blob has too many snapshots and versions");
    add_head(g, &h);
    return OK;
}

static struct err list_page(struct gathering *g, struct arena *a, struct str *marker)
{
    struct xml_node *root;
    struct remote_call c = remote_call_of(REMOTE_BLOB, "GET", g->container, STR_NONE);
    remote_query(&c, "restype", STR("container"));
    remote_query(&c, "comp", STR("list"));
    remote_query(&c, "include", STR("snapshots,versions"));
    remote_query(&c, "maxresults", STR("1000"));
    if (marker->n > 0)
        remote_query(&c, "marker", *marker);
    TRY(source_walk_list(g->walk->session, a, &c, &root));
    const struct xml_node *blobs = xml_child(root, STR("Blobs"));
    for (const struct xml_node *n = blobs == NULL ? NULL : blobs->first_child; n != NULL;
         n = n->next)
        if (str_eq(n->name, STR("Blob")))
            TRY(take_blob(g, a, n));
    *marker = xml_child_text(root, STR("NextMarker"));
    return OK;
}

static struct err walk_container(struct walk *w, struct str container)
{
    struct gathering g = {.walk = w, .container = container};
    struct arena a;
    struct buf marker = buf_heap();
    struct err error = OK;
    arena_init(&a, ITEM_ARENA_BYTES_MAX);
    arena_init(&g.arena, ITEM_ARENA_BYTES_MAX);
    do {
        struct str next = buf_str(&marker);
        arena_reset(&a);
        error = list_page(&g, &a, &next);
        buf_clear(&marker);
        buf_put(&marker, err_is(error) ? STR("") : next);
    } while (!err_is(error) && marker.n > 0);
    if (!err_is(error))
        error = give_blob(&g);
    buf_release(&marker);
    arena_release(&g.arena);
    arena_release(&a);
    return error;
}

static struct err take_container(struct walk *w, struct str name)
{
    struct entry e = {.position = {.kind = ITEM_CONTAINER, .container = name}};
    if (!selection_has(w->selection, "blob", name))
        return OK;
    TRY(source_walk_give(w, &e));
    if (w->skipping && !str_eq(w->after->container, name))
        return OK;
    return walk_container(w, name);
}

struct err source_walk_blobs(struct walk *w)
{
    TRY(source_walk_service(w, REMOTE_BLOB));
    return source_walk_groups(w, REMOTE_BLOB, "Containers", take_container);
}

/* ---- describing ---- */

struct head_at {
    struct str snapshot, version, etag;
};

struct blob_reader {
    struct session *session;
    struct str container, name;
    struct head_at *heads;
};

static struct remote_call head_call(const char *method, const struct blob_reader *r, size_t i)
{
    struct remote_call c = remote_call_of(REMOTE_BLOB, method, r->container, r->name);
    remote_query(&c, "snapshot", r->heads[i].snapshot);
    remote_query(&c, "versionid", r->heads[i].version);
    remote_header(&c, "If-Match", r->heads[i].etag);
    return c;
}

static struct err read_blob(const struct item *item, size_t content, uint64_t offset, size_t n,
                            char *into)
{
    struct blob_reader *r = item->reader;
    struct arena a;
    struct remote_call c = head_call("GET", r, content);
    arena_init(&a, ITEM_ARENA_BYTES_MAX);
    struct err error = source_read_range(r->session, &a, &c, offset, n, into);
    arena_release(&a);
    return error;
}

static const struct {
    const char *header, *name;
} TEXTS[] = {
    {"Content-Type", "contentType"},
    {"Content-Encoding", "contentEncoding"},
    {"Content-Language", "contentLanguage"},
    {"Content-Disposition", "contentDisposition"},
    {"Cache-Control", "cacheControl"},
    {"Content-MD5", "contentMD5"},
    {"x-ms-blob-sequence-number", "sequenceNumber"},
    {"x-ms-blob-sealed", "sealed"},
    {"x-ms-expiry-time", "expires"},
    {"x-ms-immutability-policy-until-date", "immutableUntil"},
    {"x-ms-immutability-policy-mode", "immutableMode"},
    {"x-ms-legal-hold", "legalHold"},
    {"x-ms-encryption-scope", "encryptionScope"},
};

static bool says_nothing(const char *name, struct str value)
{
    bool flag = strcmp(name, "sealed") == 0 || strcmp(name, "legalHold") == 0;
    return !str_given(value) || (flag && !str_ieq(value, STR("true"))) ||
           (strcmp(name, "sequenceNumber") == 0 && str_eq(value, STR("0")));
}

static void put_properties(struct json_writer *w, const struct remote_call *c, bool folder)
{
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        struct str value = remote_answer(c, TEXTS[i].header);
        if (!says_nothing(TEXTS[i].name, value))
            item_put_text(w, TEXTS[i].name, value);
    }
    if (!str_ieq(remote_answer(c, "x-ms-access-tier-inferred"), STR("true")))
        item_put_text(w, "tier", remote_answer(c, "x-ms-access-tier"));
    /* In a hierarchical account the server adds the folder marker; elsewhere it is ordinary
     * metadata. */
    item_put_metadata_but(w, c, folder ? STR("hdi_isfolder") : STR_NONE);
}

static struct err put_tags(struct json_writer *w, struct arena *a, const struct blob_reader *r,
                           size_t i)
{
    struct xml_node *root;
    struct remote_call c = head_call("GET", r, i);
    c.header_count = 0; /* the tags have no conditions on the ETag */
    remote_query(&c, "comp", STR("tags"));
    TRY(source_ask(r->session, a, &c));
    TRY(xml_parse(a, c.body, &root));
    const struct xml_node *set = xml_child(root, STR("TagSet"));
    json_name(w, STR("tags"));
    json_open(w, '{');
    for (const struct xml_node *n = set == NULL ? NULL : set->first_child; n != NULL; n = n->next) {
        json_name(w, xml_child_text(n, STR("Key")));
        json_string(w, xml_child_text(n, STR("Value")));
    }
    json_close(w, '}');
    return OK;
}

/* Blocks keep their ids and bounds: a later append refers to them. */
static struct err put_blocks(struct json_writer *w, struct arena *a, const struct blob_reader *r,
                             size_t i)
{
    struct xml_node *root;
    struct remote_call c = head_call("GET", r, i);
    c.header_count = 0;
    remote_query(&c, "comp", STR("blocklist"));
    remote_query(&c, "blocklisttype", STR("committed"));
    TRY(source_ask(r->session, a, &c));
    if (!str_eq(remote_answer(&c, "ETag"), r->heads[i].etag))
        return err_new(ERR_CONDITION_NOT_MET);
    TRY(xml_parse(a, c.body, &root));
    const struct xml_node *list = xml_child(root, STR("CommittedBlocks"));
    if (list == NULL || list->first_child == NULL)
        return OK;
    json_name(w, STR("blocks"));
    json_open(w, '[');
    for (const struct xml_node *n = list->first_child; n != NULL; n = n->next) {
        json_open(w, '[');
        json_string(w, xml_child_text(n, STR("Name")));
        json_raw(w, xml_child_text(n, STR("Size")));
        json_close(w, ']');
    }
    json_close(w, ']');
    return OK;
}

/* Owner, group and rights, of a path in a hierarchical account. */
static struct err put_access(struct json_writer *w, struct arena *a, const struct blob_reader *r)
{
    struct remote_call c = remote_call_of(REMOTE_DFS, "HEAD", r->container, r->name);
    remote_query(&c, "action", STR("getAccessControl"));
    TRY(source_ask(r->session, a, &c));
    item_put_text(w, "owner", remote_answer(&c, "x-ms-owner"));
    item_put_text(w, "group", remote_answer(&c, "x-ms-group"));
    item_put_text(w, "acl", remote_answer(&c, "x-ms-acl"));
    return OK;
}

static bool is_folder(const struct remote_call *c)
{
    return str_ieq(remote_answer(c, "x-ms-meta-hdi_isfolder"), STR("true")) ||
           str_ieq(remote_answer(c, "x-ms-resource-type"), STR("directory"));
}

static struct err put_content(struct json_writer *w, struct arena *a, const struct blob_reader *r,
                              size_t i, struct remote_call *c, struct item_content *content)
{
    struct str type = remote_answer(c, "x-ms-blob-type");
    if (!str_to_u64(remote_answer(c, "Content-Length"), &content->size))
        return err_detail(ERR_INVALID_INPUT, "the server does not say how long a blob is");
    item_put_text(w, "type", type);
    item_put_u64(w, "size", content->size);
    if (str_eq(type, STR("PageBlob"))) {
        struct remote_call ranges = head_call("GET", r, i);
        remote_query(&ranges, "comp", STR("pagelist"));
        return source_read_spans(r->session, a, &ranges, content);
    }
    return str_eq(type, STR("BlockBlob")) ? put_blocks(w, a, r, i) : OK;
}

static struct err put_head(struct json_writer *w, struct arena *a, const struct blob_reader *r,
                           size_t i, const struct entry *e, struct item_content *content)
{
    const struct entry_head *h = &e->heads[i];
    struct remote_call c = head_call("HEAD", r, i);
    TRY(source_ask(r->session, a, &c));
    r->heads[i].etag = remote_answer(&c, "ETag");
    bool folder = e->hierarchical && is_folder(&c);
    json_open(w, '{');
    item_put_text(w, "is",
                  folder                   ? STR("folder")
                  : h->current             ? STR("current")
                  : str_given(h->snapshot) ? STR("snapshot")
                                           : STR("version"));
    content->absent = folder;
    if (!folder)
        TRY(put_content(w, a, r, i, &c, content));
    put_properties(w, &c, folder);
    struct str tags = remote_answer(&c, "x-ms-tag-count");
    if (str_given(tags) && !str_eq(tags, STR("0")))
        TRY(put_tags(w, a, r, i));
    if (e->hierarchical && h->current)
        TRY(put_access(w, a, r));
    json_close(w, '}');
    return OK;
}

/* The blob's own bytes have its name; those of its earlier states are numbered beside them. */
static void label_contents(struct arena *a, const struct entry *e, struct str label,
                           struct item *out)
{
    for (size_t i = 0; i < e->head_count; i++)
        out->contents[i].label =
            e->heads[i].current ? label : arena_printf(a, "%.*s%%%zu", STR_ARG(label), i + 1);
}

struct err source_describe_blob(struct session *s, struct arena *a, const struct entry *e,
                                struct item *out)
{
    assert(out != NULL);
    struct blob_reader *r = ARENA_NEW(a, struct blob_reader);
    struct buf text = buf_in(a);
    struct json_writer w = json_writer_of(&text);
    struct str label = item_label(a, s->remote->account, "blob", e->position.container,
                                  e->position.name, e->labels);
    *r = (struct blob_reader){s, arena_copy(a, e->position.container),
                              arena_copy(a, e->position.name),
                              ARENA_ARRAY(a, struct head_at, e->head_count)};
    out->contents = ARENA_ARRAY(a, struct item_content, e->head_count);
    out->content_count = e->head_count;
    out->reader = r;
    out->read = read_blob;
    item_begin(&w, s, ITEM_BLOB);
    item_put_text(&w, "container", e->position.container);
    item_put_text(&w, "name", e->position.name);
    json_name(&w, STR("states"));
    json_open(&w, '[');
    for (size_t i = 0; i < e->head_count; i++) {
        r->heads[i] = (struct head_at){
            arena_copy(a, e->heads[i].snapshot),
            arena_copy(a, e->heads[i].current ? STR_NONE : e->heads[i].version), STR_NONE};
        TRY(put_head(&w, a, r, i, e, &out->contents[i]));
    }
    json_close(&w, ']');
    label_contents(a, e, label, out);
    item_end(&w, ITEM_BLOB, label, out);
    return OK;
}
