/* SPDX-License-Identifier: Apache-2.0 */
/* Shares, directories and files at a server. */
#include "transfer/target.h"

struct err target_put_share(struct target_work *w)
{
    struct str name = document_text(w->json, "name");
    struct remote_call make = remote_call_of(REMOTE_FILE, "PUT", name, STR_NONE);
    remote_query(&make, "restype", STR("share"));
    remote_header(&make, "x-ms-share-quota", document_text(w->json, "quota"));
    remote_header(&make, "x-ms-access-tier", document_text(w->json, "tier"));
    remote_header(&make, "x-ms-enabled-protocols", document_text(w->json, "protocols"));
    remote_header(&make, "x-ms-root-squash", document_text(w->json, "rootSquash"));
    target_put_metadata(&make, w->arena, w->json);
    TRY(target_expect_or(w, &make, 409));
    if (make.answer.status == 409) {
        struct remote_call properties = remote_call_of(REMOTE_FILE, "PUT", name, STR_NONE);
        struct remote_call metadata = remote_call_of(REMOTE_FILE, "PUT", name, STR_NONE);
        remote_query(&properties, "restype", STR("share"));
        remote_query(&properties, "comp", STR("properties"));
        remote_header(&properties, "x-ms-share-quota", document_text(w->json, "quota"));
        remote_header(&properties, "x-ms-access-tier", document_text(w->json, "tier"));
        remote_query(&metadata, "restype", STR("share"));
        remote_query(&metadata, "comp", STR("metadata"));
        target_put_metadata(&metadata, w->arena, w->json);
        TRY(session_expect(w->session, w->arena, &properties));
        TRY(session_expect(w->session, w->arena, &metadata));
    }
    struct remote_call acl = remote_call_of(REMOTE_FILE, "PUT", name, STR_NONE);
    remote_query(&acl, "restype", STR("share"));
    return target_put_policies(w, &acl);
}

/* A short security descriptor is sent with the request, a long one is stored first and named by its
 * key. */
static struct err put_permission(struct target_work *w, struct remote_call *c)
{
    enum { SHORT_BYTES_MAX = 8000 };
    struct str text = document_text(w->json, "permission");
    if (text.n <= SHORT_BYTES_MAX) {
        remote_header(c, "x-ms-file-permission", str_given(text) ? text : STR("inherit"));
        return OK;
    }
    struct buf json = buf_in(w->arena);
    struct json_writer writer = json_writer_of(&json);
    struct remote_call make =
        remote_call_of(REMOTE_FILE, "PUT", document_text(w->json, "share"), STR_NONE);
    json_open(&writer, '{');
    item_put_text(&writer, "permission", text);
    json_close(&writer, '}');
    remote_query(&make, "restype", STR("share"));
    remote_query(&make, "comp", STR("filepermission"));
    remote_header(&make, "Content-Type", STR("application/json"));
    remote_body(&make, w->arena, buf_str(&json));
    TRY(session_expect(w->session, w->arena, &make));
    remote_header(c, "x-ms-file-permission-key", remote_answer(&make, "x-ms-file-permission-key"));
    return OK;
}

static struct str or_else(struct str text, const char *otherwise)
{
    return str_given(text) ? text : str_of(otherwise);
}

static struct err put_smb(struct target_work *w, struct remote_call *c, bool writable)
{
    remote_header(c, "x-ms-file-attributes",
                  writable ? STR("None") : or_else(document_text(w->json, "attributes"), "None"));
    remote_header(c, "x-ms-file-creation-time", or_else(document_text(w->json, "created"), "now"));
    remote_header(c, "x-ms-file-last-write-time",
                  or_else(document_text(w->json, "written"), "now"));
    remote_header(c, "x-ms-file-change-time", document_text(w->json, "changed"));
    return put_permission(w, c);
}

/* ---- directories ---- */

/* A directory follows its files in the archive: missing directories of a file's path are created
 * with the file. */
static struct err make_way(struct target_work *w, struct str share, struct str path)
{
    for (size_t i = 0; i < path.n; i++) {
        if (path.p[i] != '/')
            continue;
        struct remote_call c = remote_call_of(REMOTE_FILE, "PUT", share, str_head(path, i));
        remote_query(&c, "restype", STR("directory"));
        remote_header(&c, "x-ms-file-attributes", STR("None"));
        remote_header(&c, "x-ms-file-creation-time", STR("now"));
        remote_header(&c, "x-ms-file-last-write-time", STR("now"));
        remote_header(&c, "x-ms-file-permission", STR("inherit"));
        TRY(target_expect_or(w, &c, 409));
    }
    return OK;
}

/* The read-only attribute is removed before the file is replaced. */
static struct err make_writable(struct target_work *w, struct str share, struct str path)
{
    struct remote_call c = remote_call_of(REMOTE_FILE, "PUT", share, path);
    remote_query(&c, "comp", STR("properties"));
    remote_header(&c, "x-ms-file-attributes", STR("None"));
    remote_header(&c, "x-ms-file-creation-time", STR("preserve"));
    remote_header(&c, "x-ms-file-last-write-time", STR("preserve"));
    remote_header(&c, "x-ms-file-permission", STR("preserve"));
    return session_expect(w->session, w->arena, &c);
}

/* Puts a file; creates the directories on its path if the server reports them missing. */
static struct err put_node(struct target_work *w, struct remote_call *c)
{
    TRY(session_ask(w->session, w->arena, c));
    if (c->answer.status == 404)
        TRY(make_way(w, c->container, c->object));
    else if (c->answer.status == 412 && str_eq(c->code, STR("ReadOnlyAttribute")))
        TRY(make_writable(w, c->container, c->object));
    else
        return c->answer.status / 100 == 2 ? OK : session_refused(w->session, c);
    return session_expect(w->session, w->arena, c);
}

struct err target_put_directory(struct target_work *w)
{
    struct str share = document_text(w->json, "share");
    struct str path = document_text(w->json, "path");
    bool root = path.n == 0;
    if (!root) {
        struct remote_call make = remote_call_of(REMOTE_FILE, "PUT", share, path);
        remote_query(&make, "restype", STR("directory"));
        TRY(put_smb(w, &make, false));
        target_put_metadata(&make, w->arena, w->json);
        TRY(session_ask(w->session, w->arena, &make));
        if (make.answer.status == 404) {
            TRY(make_way(w, share, path));
            TRY(session_ask(w->session, w->arena, &make));
        }
        if (make.answer.status / 100 != 2 && make.answer.status != 409)
            return session_refused(w->session, &make);
    }
    struct remote_call metadata = remote_call_of(REMOTE_FILE, "PUT", share, root ? STR_NONE : path);
    struct remote_call set = remote_call_of(REMOTE_FILE, "PUT", share, root ? STR_NONE : path);
    remote_query(&metadata, "restype", STR("directory"));
    remote_query(&metadata, "comp", STR("metadata"));
    target_put_metadata(&metadata, w->arena, w->json);
    if (!root || document_member(w->json, "metadata") != NULL)
        TRY(session_expect(w->session, w->arena, &metadata));
    remote_query(&set, "restype", STR("directory"));
    remote_query(&set, "comp", STR("properties"));
    TRY(put_smb(w, &set, false));
    return session_expect(w->session, w->arena, &set);
}

/* ---- files ---- */

static void put_http(struct target_work *w, struct remote_call *c)
{
    static const struct {
        const char *name, *header;
    } TEXTS[] = {
        {"contentType", "x-ms-content-type"},
        {"contentEncoding", "x-ms-content-encoding"},
        {"contentLanguage", "x-ms-content-language"},
        {"contentDisposition", "x-ms-content-disposition"},
        {"cacheControl", "x-ms-cache-control"},
        {"contentMD5", "x-ms-content-md5"},
    };
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++)
        remote_header(c, TEXTS[i].header, document_text(w->json, TEXTS[i].name));
}

static struct err put_ranges(struct target_work *w, struct str share, struct str path)
{
    const struct item_content *content = &w->item->contents[0];
    struct item_span whole = {0, content->size};
    const struct item_span *spans = content->sparse ? content->spans : &whole;
    size_t count = content->sparse ? content->span_count : content->size > 0;
    for (size_t i = 0; i < count; i++)
        for (uint64_t at = 0; at < spans[i].length; at += ITEM_PIECE_BYTES) {
            uint64_t n =
                spans[i].length - at < ITEM_PIECE_BYTES ? spans[i].length - at : ITEM_PIECE_BYTES;
            uint64_t offset = spans[i].offset + at;
            struct remote_call c = remote_call_of(REMOTE_FILE, "PUT", share, path);
            remote_query(&c, "comp", STR("range"));
            remote_header(&c, "x-ms-write", STR("update"));
            remote_header(&c, "x-ms-range",
                          arena_printf(w->arena, "bytes=%llu-%llu", (unsigned long long)offset,
                                       (unsigned long long)(offset + n - 1)));
            TRY(target_put_content(w, &c, 0, offset, n));
        }
    return OK;
}

struct err target_put_file(struct target_work *w)
{
    struct str share = document_text(w->json, "share");
    struct str path = document_text(w->json, "path");
    struct remote_call make = remote_call_of(REMOTE_FILE, "PUT", share, path);
    struct remote_call set = remote_call_of(REMOTE_FILE, "PUT", share, path);
    if (w->item->content_count != 1)
        return err_detail(ERR_INVALID_INPUT, "a file has no content");
    remote_header(&make, "x-ms-type", STR("file"));
    remote_header_u64(&make, w->arena, "x-ms-content-length", w->item->contents[0].size);
    put_http(w, &make);
    /* A read-only file accepts no bytes. */
    TRY(put_smb(w, &make, w->item->contents[0].size > 0));
    target_put_metadata(&make, w->arena, w->json);
    TRY(put_node(w, &make));
    if (w->item->contents[0].size == 0)
        return OK;
    TRY(put_ranges(w, share, path));
    /* Writing has changed the times. */
    remote_query(&set, "comp", STR("properties"));
    put_http(w, &set);
    TRY(put_smb(w, &set, false));
    return session_expect(w->session, w->arena, &set);
}
