/* SPDX-License-Identifier: Apache-2.0 */
/* File shares. A directory comes after its contents: creating a file changes the times of its
 * directory, so those are set last. */
#include <assert.h>

#include "core/text/uri.h"
#include "transfer/source.h"

/* ---- walking ---- */

/* One directory on the path from the root to the current position of the walk. */
struct level {
    struct walk *walk;
    struct str share, path; /* "" is the root */
    unsigned depth;
};

static struct err walk_directory(const struct level *l);

static struct str child_path(struct arena *a, const struct level *l, struct str name)
{
    return l->path.n == 0 ? arena_copy(a, name)
                          : arena_printf(a, "%.*s/%.*s", STR_ARG(l->path), STR_ARG(name));
}

/* Directories that the earlier walk did not reach, or has completed, need no comparison. */
static bool is_on_the_way(const struct walk *w, struct str path)
{
    struct str last = w->after->name;
    return str_starts(last, path) && last.n > path.n && last.p[path.n] == '/';
}

static struct err take_entry(const struct level *l, struct arena *a, const struct xml_node *node)
{
    const struct xml_node *name = xml_child(node, STR("Name"));
    bool directory = str_eq(node->name, STR("Directory"));
    if (name == NULL || (!directory && !str_eq(node->name, STR("File"))))
        return OK;
    struct str path =
        child_path(a, l, name->encoded ? uri_decode_loose(a, name->text) : name->text);
    struct entry e = {.position = {directory ? ITEM_DIRECTORY : ITEM_FILE, l->share, path}};
    if (directory && (!l->walk->skipping || is_on_the_way(l->walk, path))) {
        struct level below = {l->walk, l->share, path, l->depth + 1};
        TRY(walk_directory(&below));
    }
    return source_walk_give(l->walk, &e);
}

static struct err list_page(const struct level *l, struct arena *a, struct buf *marker)
{
    struct xml_node *root;
    struct remote_call c =
        remote_call_of(REMOTE_FILE, "GET", l->share, l->path.n > 0 ? l->path : STR_NONE);
    remote_query(&c, "restype", STR("directory"));
    remote_query(&c, "comp", STR("list"));
    remote_query(&c, "maxresults", STR("1000"));
    if (marker->n > 0)
        remote_query(&c, "marker", arena_copy(a, buf_str(marker)));
    TRY(source_walk_list(l->walk->session, a, &c, &root));
    const struct xml_node *entries = xml_child(root, STR("Entries"));
    for (const struct xml_node *n = entries == NULL ? NULL : entries->first_child; n != NULL;
         n = n->next)
        TRY(take_entry(l, a, n));
    buf_clear(marker);
    buf_put(marker, xml_child_text(root, STR("NextMarker")));
    return OK;
}

/* The service's limit for the depth of directories. */
// NOLINTNEXTLINE(misc-no-recursion)
static struct err walk_directory(const struct level *l)
{
    struct arena a;
    struct buf marker = buf_heap();
    struct err error;
    if (l->depth > FILE_DEPTH_MAX)
        return err_detail(ERR_INVALID_INPUT, "a share has directories too deep in each other");
    arena_init(&a, ITEM_ARENA_BYTES_MAX);
    do {
        arena_reset(&a);
        error = list_page(l, &a, &marker);
    } while (!err_is(error) && marker.n > 0);
    buf_release(&marker);
    arena_release(&a);
    return error;
}

static struct err take_share(struct walk *w, struct str name)
{
    struct entry e = {.position = {.kind = ITEM_SHARE, .container = name}};
    struct entry root = {.position = {ITEM_DIRECTORY, name, STR("")}};
    struct level top = {w, name, STR(""), 0};
    if (!selection_has(w->selection, "file", name))
        return OK;
    TRY(source_walk_give(w, &e));
    if (w->skipping && !str_eq(w->after->container, name))
        return OK;
    TRY(walk_directory(&top));
    return source_walk_give(w, &root);
}

struct err source_walk_files(struct walk *w)
{
    TRY(source_walk_service(w, REMOTE_FILE));
    return source_walk_groups(w, REMOTE_FILE, "Shares", take_share);
}

/* ---- describing ---- */

struct file_reader {
    struct session *session;
    struct str share, path, etag;
};

static struct err read_file(const struct item *item, size_t content, uint64_t offset, size_t n,
                            char *into)
{
    struct file_reader *r = item->reader;
    struct arena a;
    struct remote_call c = remote_call_of(REMOTE_FILE, "GET", r->share, r->path);
    (void)content;
    arena_init(&a, ITEM_ARENA_BYTES_MAX);
    struct err error = source_read_range(r->session, &a, &c, offset, n, into);
    /* The file service takes no conditions on reads, so the ETag is compared here. */
    if (!err_is(error) && !str_eq(remote_answer(&c, "ETag"), r->etag))
        error = err_new(ERR_CONDITION_NOT_MET);
    arena_release(&a);
    return error;
}

static const struct {
    const char *header, *name;
} TEXTS[] = {
    {"Content-Type", "contentType"},          {"Content-Encoding", "contentEncoding"},
    {"Content-Language", "contentLanguage"},  {"Content-Disposition", "contentDisposition"},
    {"Cache-Control", "cacheControl"},        {"Content-MD5", "contentMD5"},
    {"x-ms-file-attributes", "attributes"},   {"x-ms-file-creation-time", "created"},
    {"x-ms-file-last-write-time", "written"}, {"x-ms-file-change-time", "changed"},
};

/* The security descriptor as text: its key is valid only in its own share. */
static struct err put_permission(struct json_writer *w, struct session *s, struct arena *a,
                                 struct str share, const struct remote_call *of)
{
    struct str key = remote_answer(of, "x-ms-file-permission-key");
    struct remote_call c = remote_call_of(REMOTE_FILE, "GET", share, STR_NONE);
    struct json_reader r;
    struct str name;
    if (!str_given(key))
        return OK;
    remote_query(&c, "restype", STR("share"));
    remote_query(&c, "comp", STR("filepermission"));
    remote_header(&c, "x-ms-file-permission-key", key);
    TRY(source_ask(s, a, &c));
    r = json_reader_of(a, c.body);
    struct json_value object = json_value(&r);
    while (object.kind == JSON_OBJECT && json_member(&r, &name)) {
        struct json_value v = json_value(&r);
        if (str_eq(name, STR("permission")) && v.kind == JSON_STRING)
            item_put_text(w, "permission", v.text);
        json_skip(&r, v);
    }
    return OK;
}

static struct err put_properties(struct json_writer *w, struct session *s, struct arena *a,
                                 struct str share, const struct remote_call *c)
{
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++)
        item_put_text(w, TEXTS[i].name, remote_answer(c, TEXTS[i].header));
    TRY(put_permission(w, s, a, share, c));
    item_put_metadata(w, c);
    return OK;
}

struct err source_describe_file(struct session *s, struct arena *a, const struct entry *e,
                                struct item *out)
{
    assert(out != NULL);
    struct file_reader *r = ARENA_NEW(a, struct file_reader);
    struct buf text = buf_in(a);
    struct json_writer w = json_writer_of(&text);
    struct remote_call c =
        remote_call_of(REMOTE_FILE, "HEAD", e->position.container, e->position.name);
    TRY(source_ask(s, a, &c));
    *r = (struct file_reader){s, arena_copy(a, e->position.container),
                              arena_copy(a, e->position.name), remote_answer(&c, "ETag")};
    out->contents = ARENA_NEW(a, struct item_content);
    out->content_count = 1;
    out->reader = r;
    out->read = read_file;
    if (!str_to_u64(remote_answer(&c, "Content-Length"), &out->contents[0].size))
        return err_detail(ERR_INVALID_INPUT, "the server does not say how long a file is");
    item_begin(&w, s, ITEM_FILE);
    item_put_text(&w, "share", e->position.container);
    item_put_text(&w, "path", e->position.name);
    item_put_u64(&w, "size", out->contents[0].size);
    TRY(put_properties(&w, s, a, e->position.container, &c));
    struct remote_call ranges = remote_call_of(REMOTE_FILE, "GET", r->share, r->path);
    remote_query(&ranges, "comp", STR("rangelist"));
    if (out->contents[0].size > 0)
        TRY(source_read_spans(s, a, &ranges, &out->contents[0]));
    struct str label =
        item_label(a, s->remote->account, "file", e->position.container, e->position.name, NULL);
    out->contents[0].label = label;
    item_end(&w, ITEM_FILE, label, out);
    return OK;
}

struct err source_describe_directory(struct session *s, struct arena *a, const struct entry *e,
                                     struct item *out)
{
    struct buf text = buf_in(a);
    struct json_writer w = json_writer_of(&text);
    bool root = e->position.name.n == 0;
    struct remote_call c = remote_call_of(REMOTE_FILE, "HEAD", e->position.container,
                                          root ? STR_NONE : e->position.name);
    remote_query(&c, "restype", STR("directory"));
    TRY(source_ask(s, a, &c));
    item_begin(&w, s, ITEM_DIRECTORY);
    item_put_text(&w, "share", e->position.container);
    item_put_text(&w, "path", e->position.name);
    TRY(put_properties(&w, s, a, e->position.container, &c));
    item_end(&w, ITEM_DIRECTORY,
             item_label(a, s->remote->account, "file", e->position.container,
                        root ? STR_NONE : e->position.name, NULL),
             out);
    if (root)
        out->label = arena_printf(a, "%.*s/file/%.*s/%%.json", STR_ARG(s->remote->account),
                                  STR_ARG(e->position.container));
    return OK;
}

struct err source_describe_share(struct session *s, struct arena *a, const struct entry *e,
                                 struct item *out)
{
    struct buf text = buf_in(a);
    struct json_writer w = json_writer_of(&text);
    struct remote_call c = remote_call_of(REMOTE_FILE, "HEAD", e->position.container, STR_NONE);
    struct remote_call acl = remote_call_of(REMOTE_FILE, "GET", e->position.container, STR_NONE);
    remote_query(&c, "restype", STR("share"));
    remote_query(&acl, "restype", STR("share"));
    remote_query(&acl, "comp", STR("acl"));
    TRY(source_ask(s, a, &c));
    item_begin(&w, s, ITEM_SHARE);
    item_put_text(&w, "name", e->position.container);
    item_put_text(&w, "quota", remote_answer(&c, "x-ms-share-quota"));
    item_put_text(&w, "tier", remote_answer(&c, "x-ms-access-tier"));
    item_put_text(&w, "protocols", remote_answer(&c, "x-ms-enabled-protocols"));
    item_put_text(&w, "rootSquash", remote_answer(&c, "x-ms-root-squash"));
    item_put_metadata(&w, &c);
    TRY(item_ask_policies(&w, s, a, &acl));
    item_end(&w, ITEM_SHARE,
             item_label(a, s->remote->account, "file", e->position.container, STR_NONE, NULL), out);
    return OK;
}
