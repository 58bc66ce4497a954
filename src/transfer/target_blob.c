/* SPDX-License-Identifier: Apache-2.0 */
/* Creates a blob with its snapshots and versions at a server. Its states are created one after the
 * other, in their original order. If the server keeps versions, overwriting a state creates a
 * version of it, and so does taking a snapshot: versions that the source does not have are deleted
 * at the end. */
#include <string.h>

#include "core/text/uri.h"
#include "core/text/xml.h"
#include "core/time.h"
#include "transfer/target.h"

enum state_kind { STATE_CURRENT, STATE_SNAPSHOT, STATE_VERSION, STATE_FOLDER };

struct chain {
    struct target_work *w;
    struct str container, name;
    size_t count;   /* states */
    bool versions;  /* the server has given the last write a version id */
    bool unsettled; /* a snapshot was taken: the blob is a version that the source may have too */
    const struct node *shown; /* the state that the blob has now; NULL: none of the source's */
    struct str shown_version; /* its id */
    struct str *surplus;      /* ids of versions that the source does not have */
    size_t surplus_count;
};

static enum state_kind kind_of(const struct node *state)
{
    struct str is = document_text(state, "is");
    return str_eq(is, STR("snapshot"))  ? STATE_SNAPSHOT
           : str_eq(is, STR("version")) ? STATE_VERSION
           : str_eq(is, STR("folder"))  ? STATE_FOLDER
                                        : STATE_CURRENT;
}

static struct remote_call blob_call(const struct chain *c, const char *method)
{
    return remote_call_of(REMOTE_BLOB, method, c->container, c->name);
}

/* ---- what a state says of itself ---- */

static const struct {
    const char *name, *header;
} HTTP_TEXTS[] = {
    {"contentType", "x-ms-blob-content-type"},
    {"contentEncoding", "x-ms-blob-content-encoding"},
    {"contentLanguage", "x-ms-blob-content-language"},
    {"contentDisposition", "x-ms-blob-content-disposition"},
    {"cacheControl", "x-ms-blob-cache-control"},
    {"contentMD5", "x-ms-blob-content-md5"},
};

static void put_http(struct remote_call *call, const struct node *state)
{
    for (size_t i = 0; i < sizeof HTTP_TEXTS / sizeof HTTP_TEXTS[0]; i++)
        remote_header(call, HTTP_TEXTS[i].header, document_text(state, HTTP_TEXTS[i].name));
}

static struct str tags_header(struct arena *a, const struct node *state)
{
    struct buf out = buf_in(a);
    const struct node *tags = document_member(state, "tags");
    for (const struct node *n = document_first(tags); n != NULL; n = n->next) {
        if (out.n > 0)
            buf_putc(&out, '&');
        uri_encode(&out, n->name, URI_KEEP_NONE);
        buf_putc(&out, '=');
        uri_encode(&out, n->value.text, URI_KEEP_NONE);
    }
    return tags == NULL ? STR_NONE : buf_str(&out);
}

static void put_state_headers(const struct chain *c, struct remote_call *call,
                              const struct node *state)
{
    put_http(call, state);
    remote_header(call, "x-ms-tags", tags_header(c->w->arena, state));
    remote_header(call, "x-ms-encryption-scope", document_text(state, "encryptionScope"));
    target_put_metadata(call, c->w->arena, state);
}

/* ---- contents ---- */

/* An archived blob cannot be written to, so that tier comes later. */
static bool is_archived(const struct node *state)
{
    return str_ieq(document_text(state, "tier"), STR("Archive"));
}

static struct err put_whole(struct chain *c, const struct node *state, size_t i, struct str *id)
{
    struct remote_call call = blob_call(c, "PUT");
    remote_header(&call, "x-ms-blob-type", STR("BlockBlob"));
    put_state_headers(c, &call, state);
    if (!is_archived(state))
        remote_header(&call, "x-ms-access-tier", document_text(state, "tier"));
    TRY(target_put_content(c->w, &call, i, 0, c->w->item->contents[i].size));
    *id = remote_answer(&call, "x-ms-version-id");
    if (str_given(document_text(state, "contentMD5")))
        return OK;
    /* Put Blob has computed one. */
    struct remote_call properties = blob_call(c, "PUT");
    remote_query(&properties, "comp", STR("properties"));
    put_http(&properties, state);
    return session_expect(c->w->session, c->w->arena, &properties);
}

static struct err put_block(struct chain *c, const struct node *block, size_t i, uint64_t *at,
                            struct buf *list)
{
    const struct node *id = document_first(block);
    uint64_t size;
    if (id == NULL || id->next == NULL || !str_to_u64(id->next->value.text, &size) ||
        size > c->w->item->contents[i].size - *at)
        return err_detail(ERR_INVALID_INPUT, "a blob's blocks do not make up its content");
    struct remote_call call = blob_call(c, "PUT");
    remote_query(&call, "comp", STR("block"));
    remote_query(&call, "blockid", id->value.text);
    if (size > 0)
        TRY(target_put_content(c->w, &call, i, *at, size));
    *at += size;
    xml_element(list, STR("Latest"), id->value.text);
    return OK;
}

static struct err put_block_list(struct chain *c, const struct node *state, size_t i,
                                 struct str *id)
{
    struct buf list = buf_in(c->w->arena);
    uint64_t at = 0;
    buf_put(&list, STR(XML_DECLARATION "<BlockList>"));
    for (const struct node *n = document_first(document_member(state, "blocks")); n != NULL;
         n = n->next)
        TRY(put_block(c, n, i, &at, &list));
    if (at != c->w->item->contents[i].size)
        return err_detail(ERR_INVALID_INPUT, "a blob's blocks do not make up its content");
    buf_put(&list, STR("</BlockList>"));
    struct remote_call call = blob_call(c, "PUT");
    remote_query(&call, "comp", STR("blocklist"));
    remote_header(&call, "Content-Type", STR("application/xml"));
    put_state_headers(c, &call, state);
    if (!is_archived(state))
        remote_header(&call, "x-ms-access-tier", document_text(state, "tier"));
    remote_body(&call, c->w->arena, buf_str(&list));
    TRY(session_expect(c->w->session, c->w->arena, &call));
    *id = remote_answer(&call, "x-ms-version-id");
    return OK;
}

static struct err put_page(struct chain *c, size_t i, uint64_t offset, uint64_t n, bool clear)
{
    struct remote_call call = blob_call(c, "PUT");
    remote_query(&call, "comp", STR("page"));
    remote_header(&call, "x-ms-page-write", clear ? STR("clear") : STR("update"));
    remote_header(&call, "x-ms-range",
                  arena_printf(c->w->arena, "bytes=%llu-%llu", (unsigned long long)offset,
                               (unsigned long long)(offset + n - 1)));
    return clear ? session_expect(c->w->session, c->w->arena, &call)
                 : target_put_content(c->w, &call, i, offset, n);
}

static struct err put_pages(struct chain *c, size_t i)
{
    const struct item_content *content = &c->w->item->contents[i];
    struct item_span whole = {0, content->size};
    const struct item_span *spans = content->sparse ? content->spans : &whole;
    size_t count = content->sparse ? content->span_count : content->size > 0;
    for (size_t k = 0; k < count; k++)
        for (uint64_t at = 0; at < spans[k].length; at += ITEM_PIECE_BYTES) {
            uint64_t left = spans[k].length - at;
            TRY(put_page(c, i, spans[k].offset + at,
                         left < ITEM_PIECE_BYTES ? left : ITEM_PIECE_BYTES, false));
        }
    return OK;
}

/* Appends the content from `from` on. A retry may find that the attempt before succeeded: then the
 * blob is longer by exactly these bytes. */
static struct err append_from(struct chain *c, size_t i, uint64_t from)
{
    uint64_t size = c->w->item->contents[i].size;
    for (uint64_t at = from; at < size; at += ITEM_PIECE_BYTES) {
        uint64_t n = size - at < ITEM_PIECE_BYTES ? size - at : ITEM_PIECE_BYTES;
        struct remote_call call = blob_call(c, "PUT");
        remote_query(&call, "comp", STR("appendblock"));
        remote_header_u64(&call, c->w->arena, "x-ms-blob-condition-appendpos", at);
        struct err error = target_put_content(c->w, &call, i, at, n);
        bool came_through = call.tries > 1 && call.answer.status == 412;
        if (err_is(error) && !came_through)
            return error;
    }
    return OK;
}

static struct err put_empty(struct chain *c, const struct node *state, size_t i, struct str *id)
{
    struct remote_call call = blob_call(c, "PUT");
    struct str type = document_text(state, "type");
    remote_header(&call, "x-ms-blob-type", type);
    if (str_eq(type, STR("PageBlob"))) {
        remote_header_u64(&call, c->w->arena, "x-ms-blob-content-length",
                          c->w->item->contents[i].size);
        remote_header(&call, "x-ms-blob-sequence-number", document_text(state, "sequenceNumber"));
        remote_header(&call, "x-ms-access-tier", document_text(state, "tier"));
    }
    put_state_headers(c, &call, state);
    TRY(session_expect(c->w->session, c->w->arena, &call));
    *id = remote_answer(&call, "x-ms-version-id");
    return OK;
}

/* Overwrites the blob with the state. */
static struct err write_state(struct chain *c, const struct node *state, size_t i, struct str *id)
{
    struct str type = document_text(state, "type");
    if (str_eq(type, STR("BlockBlob")))
        return document_member(state, "blocks") != NULL ? put_block_list(c, state, i, id)
                                                        : put_whole(c, state, i, id);
    if (!str_eq(type, STR("PageBlob")) && !str_eq(type, STR("AppendBlob")))
        return err_detail(ERR_INVALID_INPUT, "a blob is of no type");
    TRY(put_empty(c, state, i, id));
    return str_eq(type, STR("PageBlob")) ? put_pages(c, i) : append_from(c, i, 0);
}

/* ---- changing the state in its place ---- */

static bool same_member(const struct node *a, const struct node *b, const char *name)
{
    const struct node *left = document_member(a, name);
    const struct node *right = document_member(b, name);
    return left == NULL || right == NULL ? left == right : str_eq(left->source, right->source);
}

static bool same_members(const struct node *a, const struct node *b, const char *const *names)
{
    for (; *names != NULL; names++)
        if (!same_member(a, b, *names))
            return false;
    return true;
}

/* Returns true if they differ only in what can change without a new version. */
static bool can_become(const struct node *now, const struct node *wanted)
{
    static const char *const FIXED[] = {"type", "blocks", "metadata", "encryptionScope", NULL};
    uint64_t from = 0, to = 0;
    bool block = str_eq(document_text(wanted, "type"), STR("BlockBlob"));
    (void)document_u64(now, "size", &from);
    (void)document_u64(wanted, "size", &to);
    return same_members(now, wanted, FIXED) && (block ? from == to : from <= to);
}

static struct err set_tags(struct chain *c, const struct node *state)
{
    struct buf xml = buf_in(c->w->arena);
    struct remote_call call = blob_call(c, "PUT");
    buf_put(&xml, STR(XML_DECLARATION "<Tags><TagSet>"));
    for (const struct node *n = document_first(document_member(state, "tags")); n != NULL;
         n = n->next) {
        buf_put(&xml, STR("<Tag>"));
        xml_element(&xml, STR("Key"), n->name);
        xml_element(&xml, STR("Value"), n->value.text);
        buf_put(&xml, STR("</Tag>"));
    }
    buf_put(&xml, STR("</TagSet></Tags>"));
    remote_query(&call, "comp", STR("tags"));
    remote_header(&call, "Content-Type", STR("application/xml"));
    remote_body(&call, c->w->arena, buf_str(&xml));
    return session_expect(c->w->session, c->w->arena, &call);
}

static struct err set_properties(struct chain *c, const struct node *state, size_t i)
{
    struct remote_call call = blob_call(c, "PUT");
    struct str sequence = document_text(state, "sequenceNumber");
    remote_query(&call, "comp", STR("properties"));
    put_http(&call, state);
    if (str_eq(document_text(state, "type"), STR("PageBlob"))) {
        remote_header_u64(&call, c->w->arena, "x-ms-blob-content-length",
                          c->w->item->contents[i].size);
        remote_header(&call, "x-ms-sequence-number-action", STR("update"));
        remote_header(&call, "x-ms-blob-sequence-number",
                      str_given(sequence) ? sequence : STR("0"));
    }
    return session_expect(c->w->session, c->w->arena, &call);
}

static struct err set_tier(struct chain *c, const struct node *state)
{
    struct remote_call call = blob_call(c, "PUT");
    remote_query(&call, "comp", STR("tier"));
    remote_header(&call, "x-ms-access-tier", document_text(state, "tier"));
    return str_given(document_text(state, "tier"))
               ? session_expect(c->w->session, c->w->arena, &call)
               : OK;
}

static struct err change_state(struct chain *c, const struct node *state, size_t i)
{
    static const char *const PROPERTIES[] = {"contentType",
                                             "contentEncoding",
                                             "contentLanguage",
                                             "contentDisposition",
                                             "cacheControl",
                                             "contentMD5",
                                             "sequenceNumber",
                                             "size",
                                             NULL};
    struct str type = document_text(state, "type");
    uint64_t before = 0;
    (void)document_u64(c->shown, "size", &before);
    if (str_eq(type, STR("AppendBlob")))
        TRY(append_from(c, i, before));
    if (!same_members(c->shown, state, PROPERTIES))
        TRY(set_properties(c, state, i));
    if (str_eq(type, STR("PageBlob")) && c->w->item->contents[i].size > 0) {
        TRY(put_page(c, i, 0, c->w->item->contents[i].size, true));
        TRY(put_pages(c, i));
    }
    if (!same_member(c->shown, state, "tags"))
        TRY(set_tags(c, state));
    return same_member(c->shown, state, "tier") ? OK : set_tier(c, state);
}

/* ---- what comes once the content is there ---- */

static struct err seal(struct chain *c)
{
    struct remote_call call = blob_call(c, "PUT");
    remote_query(&call, "comp", STR("seal"));
    return session_expect(c->w->session, c->w->arena, &call);
}

static struct err set_expiry(struct chain *c, struct str time)
{
    struct remote_call call = blob_call(c, "PUT");
    remote_query(&call, "comp", STR("expiry"));
    remote_header(&call, "x-ms-expiry-option", STR("Absolute"));
    remote_header(&call, "x-ms-expiry-time", time);
    return session_expect(c->w->session, c->w->arena, &call);
}

static struct err protect(struct chain *c, const struct node *state, struct str snapshot)
{
    struct str until = document_text(state, "immutableUntil");
    if (str_given(until)) {
        struct remote_call call = blob_call(c, "PUT");
        remote_query(&call, "comp", STR("immutabilityPolicies"));
        remote_query(&call, "snapshot", snapshot);
        remote_header(&call, "x-ms-immutability-policy-until-date", until);
        remote_header(&call, "x-ms-immutability-policy-mode",
                      document_text(state, "immutableMode"));
        /* An expired policy is refused, and protects nothing. */
        TRY(target_expect_or(c->w, &call, 400));
    }
    if (!str_given(document_text(state, "legalHold")))
        return OK;
    struct remote_call hold = blob_call(c, "PUT");
    remote_query(&hold, "comp", STR("legalhold"));
    remote_query(&hold, "snapshot", snapshot);
    remote_header(&hold, "x-ms-legal-hold", STR("true"));
    return session_expect(c->w->session, c->w->arena, &hold);
}

static struct err set_access(struct chain *c, const struct node *state)
{
    struct remote_call call = remote_call_of(REMOTE_DFS, "PATCH", c->container, c->name);
    if (!str_given(document_text(state, "acl")))
        return OK;
    remote_query(&call, "action", STR("setAccessControl"));
    remote_header(&call, "x-ms-owner", document_text(state, "owner"));
    remote_header(&call, "x-ms-group", document_text(state, "group"));
    remote_header(&call, "x-ms-acl", document_text(state, "acl"));
    call.has_body = true;
    return session_expect(c->w->session, c->w->arena, &call);
}

static struct err finish_state(struct chain *c, const struct node *state)
{
    if (str_given(document_text(state, "sealed")))
        TRY(seal(c));
    if (is_archived(state))
        TRY(set_tier(c, state));
    if (str_given(document_text(state, "expires")))
        TRY(set_expiry(c, document_text(state, "expires")));
    TRY(set_access(c, state));
    return protect(c, state, STR_NONE);
}

/* ---- one state after the other ---- */

/* The current state becomes a version that the source does not have, unless it is one. */
static void note_surplus(struct chain *c)
{
    if (str_given(c->shown_version) && c->surplus_count < 2 * c->count)
        c->surplus[c->surplus_count++] = c->shown_version;
    c->shown_version = STR_NONE;
}

/* Makes the blob equal to the state, as a separate version if `own`. */
static struct err show(struct chain *c, const struct node *state, size_t i, bool own)
{
    struct str id = STR_NONE;
    bool in_place = own && c->unsettled && can_become(c->shown, state);
    if (in_place) {
        TRY(change_state(c, state, i));
    } else {
        if (c->unsettled)
            note_surplus(c);
        TRY(write_state(c, state, i, &id));
        c->versions = str_given(id);
        c->shown_version = id;
    }
    c->unsettled = false;
    c->shown = state;
    return OK;
}

static struct err take_snapshot(struct chain *c, const struct node *state, bool is_version)
{
    struct remote_call call = blob_call(c, "PUT");
    remote_query(&call, "comp", STR("snapshot"));
    call.tries_max =
        1; /* a retry would create another version: the whole item is created again instead */
    TRY(session_expect(c->w->session, c->w->arena, &call));
    if (!is_version)
        note_surplus(c);
    c->shown_version = remote_answer(&call, "x-ms-version-id");
    c->unsettled = str_given(c->shown_version);
    return protect(c, state, remote_answer(&call, "x-ms-snapshot"));
}

static bool same_state(const struct node *a, const struct node *b)
{
    static const char *const ALL[] = {"type",
                                      "size",
                                      "contentType",
                                      "contentEncoding",
                                      "contentLanguage",
                                      "contentDisposition",
                                      "cacheControl",
                                      "contentMD5",
                                      "sequenceNumber",
                                      "sealed",
                                      "encryptionScope",
                                      "tier",
                                      "metadata",
                                      "tags",
                                      "blocks",
                                      NULL};
    return a != NULL && same_members(a, b, ALL);
}

/* A snapshot of the version right before it need not be written again. */
static struct err make_snapshot(struct chain *c, const struct node *state, size_t i,
                                const struct node *before)
{
    bool of_version = c->versions && before != NULL && c->shown == before && !c->unsettled &&
                      kind_of(before) == STATE_VERSION && same_state(before, state);
    if (!of_version) {
        TRY(show(c, state, i, false));
        if (str_given(document_text(state, "sealed")))
            TRY(seal(c));
    }
    return take_snapshot(c, state, of_version);
}

static struct err make_folder(struct chain *c, const struct node *state)
{
    struct remote_call make = remote_call_of(REMOTE_DFS, "PUT", c->container, c->name);
    struct remote_call metadata = blob_call(c, "PUT");
    remote_query(&make, "resource", STR("directory"));
    remote_header(&make, "If-None-Match", STR("*")); /* its files may have come first */
    TRY(target_expect_or(c->w, &make, 409));
    remote_query(&metadata, "comp", STR("metadata"));
    target_put_metadata(&metadata, c->w->arena, state);
    TRY(session_expect(c->w->session, c->w->arena, &metadata));
    return set_access(c, state);
}

static struct err make_state(struct chain *c, const struct node *state, size_t i,
                             const struct node *before)
{
    switch (kind_of(state)) {
    case STATE_FOLDER:
        return make_folder(c, state);
    case STATE_SNAPSHOT:
        return make_snapshot(c, state, i, before);
    case STATE_VERSION:
        TRY(show(c, state, i, true));
        if (c->versions)
            return finish_state(c, state);
        /* The server keeps no versions: the next state overwrites it. */
        c->w->target->versions_left_out++;
        return OK;
    case STATE_CURRENT:
    default:
        TRY(show(c, state, i, true));
        return finish_state(c, state);
    }
}

/* ---- before and after ---- */

static struct err delete_one(struct chain *c, struct str version)
{
    struct remote_call call = blob_call(c, "DELETE");
    remote_query(&call, "versionid", version);
    return target_expect_or(c->w, &call, 404);
}

/* All except the current one, if there is one. */
static struct err delete_versions(struct chain *c)
{
    struct remote_call list = remote_call_of(REMOTE_BLOB, "GET", c->container, STR_NONE);
    struct xml_node *root;
    remote_query(&list, "restype", STR("container"));
    remote_query(&list, "comp", STR("list"));
    remote_query(&list, "include", STR("versions"));
    remote_query(&list, "prefix", c->name);
    TRY(session_expect(c->w->session, c->w->arena, &list));
    TRY(xml_parse(c->w->arena, list.body, &root));
    const struct xml_node *blobs = xml_child(root, STR("Blobs"));
    for (const struct xml_node *n = blobs == NULL ? NULL : blobs->first_child; n != NULL;
         n = n->next) {
        const struct xml_node *name = xml_child(n, STR("Name"));
        struct str version = xml_child_text(n, STR("VersionId"));
        if (name != NULL && version.n > 0 && !str_eq(version, c->shown_version) &&
            str_eq(name->encoded ? uri_decode_loose(c->w->arena, name->text) : name->text, c->name))
            TRY(delete_one(c, version));
    }
    return OK;
}

/* Deletes the blob of that name, with its snapshots and versions. */
static struct err wipe(struct chain *c)
{
    struct remote_call call = blob_call(c, "DELETE");
    remote_header(&call, "x-ms-delete-snapshots", STR("include"));
    TRY(target_expect_or(c->w, &call, 404));
    return c->w->session->lazuli || call.answer.status != 404 ? delete_versions(c) : OK;
}

static struct err make_states(struct chain *c, const struct node *states)
{
    const struct node *before = NULL;
    size_t i = 0;
    for (const struct node *n = document_first(states); n != NULL; n = n->next, i++) {
        TRY(make_state(c, n, i, before));
        before = n;
    }
    return OK;
}

/* A blob that has versions but no current state was deleted. */
static struct err end_chain(struct chain *c, const struct node *states)
{
    const struct node *last = document_first(states);
    while (last != NULL && last->next != NULL)
        last = last->next;
    enum state_kind kind = kind_of(last);
    if (kind == STATE_VERSION || kind == STATE_SNAPSHOT) {
        struct remote_call call = blob_call(c, "DELETE");
        TRY(target_expect_or(c->w, &call, 404));
        if (c->unsettled)
            note_surplus(c);
    }
    for (size_t i = 0; i < c->surplus_count; i++)
        TRY(delete_one(c, c->surplus[i]));
    return OK;
}

struct err target_put_blob(struct target_work *w)
{
    const struct node *states = document_member(w->json, "states");
    struct chain c = {.w = w,
                      .container = document_text(w->json, "container"),
                      .name = document_text(w->json, "name"),
                      .count = w->item->content_count};
    const struct node *first = document_first(states);
    size_t count = 0;
    for (const struct node *n = first; n != NULL; n = n->next)
        count++;
    if (count == 0 || count != c.count || !str_given(c.name))
        return err_detail(ERR_INVALID_INPUT, "a blob's states and contents do not go together");
    c.surplus = ARENA_ARRAY(w->arena, struct str, 2 * c.count);
    bool simple = count == 1 && kind_of(first) == STATE_CURRENT;
    if (!simple && kind_of(first) != STATE_FOLDER)
        TRY(wipe(&c));
    w->session->refused = 0;
    struct err error = make_states(&c, states);
    /* The existing blob may have another type or be protected from being replaced. */
    if (err_is(error) && simple && error.code == ERR_INVALID_INPUT && w->session->refused == 409) {
        c.shown_version = STR_NONE;
        TRY(wipe(&c));
        error = make_states(&c, states);
    }
    TRY(error);
    if (simple && c.versions)
        return delete_versions(&c);
    return end_chain(&c, states);
}
