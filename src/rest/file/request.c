/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/file/request.h"

#include <assert.h>

#include "core/text/base64.h"
#include "core/text/uri.h"
#include "core/text/xml.h"
#include "core/time.h"
#include "rest/blob/request.h"
#include "rest/metadata.h"
#include "service/common/name.h"
#include "service/file/keys.h"
#include "service/file/security/sddl.h"

enum { PERMISSION_HEADER_MAX = 8 << 10 };

/* ---- the resource ---- */

struct err rest_file_read_snapshot(struct rest_call *call, struct str parameter, int64_t *out)
{
    assert(out != NULL);
    struct str text = call_query(call, parameter);
    *out = 0;
    if (!str_given(text) || text.n == 0)
        return OK;
    return time_parse_iso(text, out) && *out > 0 ? OK : call_bad_query(call, parameter);
}

struct err rest_file_read_request(struct rest_call *call, bool snapshot, struct file_request *out)
{
    assert(out != NULL);
    *out = (struct file_request){.arena = call->arena, .path = call->object};
    if (!str_given(out->path))
        out->path = STR("");
    TRY(name_check(call->container));
    call->partition = file_partition(call->arena, call->account, call->container);
    TRY(rest_file_read_snapshot(call, STR("sharesnapshot"), &out->snapshot));
    if (out->snapshot != 0 && !snapshot)
        return call_bad_query(call, STR("sharesnapshot"));
    TRY(call_header_bool(call, STR("x-ms-allow-trailing-dot"), &out->keep_dots));
    return rest_blob_read_lease_id(call, &out->lease);
}

/* ---- settings ---- */

static const struct {
    struct str name;
    uint32_t bit;
} ATTRIBUTES[] = {
    {STR_INIT("ReadOnly"), NODE_READ_ONLY},
    {STR_INIT("Hidden"), NODE_HIDDEN},
    {STR_INIT("System"), NODE_SYSTEM},
    {STR_INIT("Directory"), NODE_DIRECTORY_BIT},
    {STR_INIT("Archive"), NODE_ARCHIVE},
    {STR_INIT("Temporary"), NODE_TEMPORARY},
    {STR_INIT("Offline"), NODE_OFFLINE},
    {STR_INIT("NotContentIndexed"), NODE_NOT_INDEXED},
    {STR_INIT("NoScrubData"), NODE_NO_SCRUB},
    {STR_INIT("None"), 0},
    {STR_INIT("Normal"), 0},
};
enum { ATTRIBUTES_COUNT = sizeof ATTRIBUTES / sizeof ATTRIBUTES[0] };

struct err rest_file_read_attributes(struct rest_call *call, struct str text, uint32_t *out)
{
    assert(out != NULL);
    *out = 0;
    while (str_given(text)) {
        struct str name = str_trim(str_cut(&text, '|'));
        size_t i = 0;
        while (i < ATTRIBUTES_COUNT && !str_ieq(name, ATTRIBUTES[i].name))
            i++;
        if (i == ATTRIBUTES_COUNT)
            return call_bad_header(call, STR("x-ms-file-attributes"));
        *out |= ATTRIBUTES[i].bit;
    }
    return OK;
}

struct err rest_file_read_time(struct rest_call *call, struct str name, bool *source,
                               struct file_time *out)
{
    assert(out != NULL);
    struct str text = call_header(call, name);
    if (!str_given(text) || str_ieq(text, STR("preserve")))
        return OK;
    if (source != NULL && str_ieq(text, STR("source"))) {
        *source = true;
        return OK;
    }
    if (str_ieq(text, STR("now"))) {
        out->kind = FILE_TIME_NOW;
        return OK;
    }
    out->kind = FILE_TIME_GIVEN;
    /* SMB cannot represent a time before 1601. */
    return time_parse_iso(text, &out->ticks) && out->ticks >= -TIME_TICKS_YEAR_1601
               ? OK
               : call_bad_header(call, name);
}

bool rest_file_permission_format_known(struct str format)
{
    return str_ieq(format, STR("sddl")) || str_ieq(format, STR("binary"));
}

struct err rest_file_read_permission_text(struct rest_call *call, struct str text,
                                          struct str format, struct str *sd)
{
    const struct str name = STR("x-ms-file-permission-format");
    struct sd parts;
    if (!str_given(format))
        format = call_header(call, name);
    if (str_given(format) && !rest_file_permission_format_known(format))
        return call_bad_header(call, name);
    if (str_given(format) && str_ieq(format, STR("binary"))) {
        if (!base64_decode(call->arena, text, sd))
            return err_new(ERR_INVALID_FILE_PERMISSION);
        return sd_decode(call->arena, *sd, &parts);
    }
    TRY(sddl_parse(call->arena, text, &parts));
    *sd = sd_encode(call->arena, &parts);
    return OK;
}

struct err rest_file_read_permission(struct rest_call *call, struct file_settings *out)
{
    assert(out != NULL);
    const struct str name = STR("x-ms-file-permission");
    const struct str key_name = STR("x-ms-file-permission-key");
    struct str text = call_header(call, name);
    struct str key = call_header(call, key_name);
    if (str_given(text) && str_given(key))
        return call_bad_header(call, key_name);
    if (str_given(key)) {
        out->permission = FILE_PERMISSION_KEY;
        return permission_key_parse(key, &out->key) ? OK : call_bad_header(call, key_name);
    }
    if (!str_given(text) || str_ieq(text, STR("preserve")))
        return OK;
    if (str_ieq(text, STR("inherit"))) {
        out->permission = FILE_PERMISSION_INHERIT;
        return OK;
    }
    if (text.n > PERMISSION_HEADER_MAX)
        return call_bad_header(call, name);
    out->permission = FILE_PERMISSION_SD;
    return rest_file_read_permission_text(call, text, STR_NONE, &out->sd);
}

/* An octal mode of four digits, or "rwxr-x---". */
static bool parse_mode(struct str text, uint32_t *out)
{
    *out = 0;
    if (text.n == 9) {
        for (size_t i = 0; i < 9; i++) {
            bool set = text.p[i] == "rwx"[i % 3];
            if (!set && text.p[i] != '-')
                return false;
            *out = *out << 1 | set;
        }
        return true;
    }
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '7')
            return false;
        *out = *out << 3 | (uint32_t)(text.p[i] - '0');
    }
    return text.n >= 3 && text.n <= 4;
}

struct err rest_file_read_nfs(struct rest_call *call, struct file_settings *out)
{
    assert(out != NULL);
    struct str mode = call_header(call, STR("x-ms-mode"));
    uint64_t owner = 0;
    uint64_t group = 0;
    out->has_mode = str_given(mode);
    out->has_owner = str_given(call_header(call, STR("x-ms-owner")));
    out->has_group = str_given(call_header(call, STR("x-ms-group")));
    if (out->has_mode && !parse_mode(mode, &out->mode))
        return call_bad_header(call, STR("x-ms-mode"));
    TRY(call_header_u64(call, STR("x-ms-owner"), &owner));
    TRY(call_header_u64(call, STR("x-ms-group"), &group));
    if (owner > UINT32_MAX)
        return call_bad_header(call, STR("x-ms-owner"));
    if (group > UINT32_MAX)
        return call_bad_header(call, STR("x-ms-group"));
    out->owner = (uint32_t)owner;
    out->group = (uint32_t)group;
    return OK;
}

struct err rest_file_read_settings(struct rest_call *call, struct file_settings *out)
{
    struct str attributes = call_header(call, STR("x-ms-file-attributes"));
    if (str_given(attributes) && !str_ieq(attributes, STR("preserve"))) {
        out->has_attributes = true;
        TRY(rest_file_read_attributes(call, attributes, &out->attributes));
    }
    TRY(rest_file_read_time(call, STR("x-ms-file-creation-time"), NULL, &out->created));
    TRY(rest_file_read_time(call, STR("x-ms-file-last-write-time"), NULL, &out->last_write));
    TRY(rest_file_read_time(call, STR("x-ms-file-change-time"), NULL, &out->changed));
    TRY(rest_file_read_permission(call, out));
    return rest_file_read_nfs(call, out);
}

/* Without a permission there is nothing to restore. */
static struct err read_semantics(struct rest_call *call, struct file_settings *out)
{
    const struct str name = STR("x-ms-file-property-semantics");
    struct str text = call_header(call, name);
    if (!str_given(text) || str_ieq(text, STR("New")))
        return OK;
    if (!str_ieq(text, STR("Restore")))
        return call_bad_header(call, name);
    out->restores = out->permission == FILE_PERMISSION_SD || out->permission == FILE_PERMISSION_KEY;
    return OK;
}

struct err rest_file_read_new_settings(struct rest_call *call, struct file_settings *out)
{
    static const struct str NAMES[] = {
        STR_INIT("x-ms-file-attributes"), STR_INIT("x-ms-file-creation-time"),
        STR_INIT("x-ms-file-last-write-time"), STR_INIT("x-ms-file-change-time"),
        STR_INIT("x-ms-file-permission")};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        struct str value = call_header(call, NAMES[i]);
        if (str_given(value) && str_ieq(value, STR("preserve")))
            return call_bad_header(call, NAMES[i]);
    }
    TRY(rest_file_read_settings(call, out));
    return read_semantics(call, out);
}

struct err rest_file_read_last_write(struct rest_call *call, struct file_time *out)
{
    assert(out != NULL);
    const struct str name = STR("x-ms-file-last-write-time");
    struct str text = call_header(call, name);
    bool keeps = str_given(text) && str_ieq(text, STR("preserve"));
    out->kind = keeps ? FILE_TIME_KEEP : FILE_TIME_NOW;
    return rest_file_read_time(call, name, NULL, out);
}

struct err rest_file_read_http(struct rest_call *call, struct node_http *out, bool *given)
{
    assert(out != NULL);
    *out = (struct node_http){
        .content_type = call_header(call, STR("x-ms-content-type")),
        .content_encoding = call_header(call, STR("x-ms-content-encoding")),
        .content_language = call_header(call, STR("x-ms-content-language")),
        .cache_control = call_header(call, STR("x-ms-cache-control")),
        .content_disposition = call_header(call, STR("x-ms-content-disposition")),
    };
    TRY(rest_blob_read_kept_md5(call, STR("x-ms-content-md5"), &out->content_md5));
    *given = str_given(out->content_md5) || str_given(out->content_type) ||
             str_given(out->content_encoding) || str_given(out->content_language) ||
             str_given(out->cache_control) || str_given(out->content_disposition);
    return OK;
}

struct err rest_file_read_lease_request(struct rest_call *call, struct lease_request *out)
{
    TRY(rest_blob_read_lease_request(call, out));
    if (out->action == LEASE_RENEW)
        return call_bad_header(call, STR("x-ms-lease-action"));
    if (out->action == LEASE_ACQUIRE && out->seconds != LEASE_INFINITE)
        return call_bad_header(call, STR("x-ms-lease-duration"));
    if (out->action == LEASE_BREAK && out->break_seconds > 0)
        return call_bad_header(call, STR("x-ms-lease-break-period"));
    return OK;
}

/* ---- writing ---- */

void rest_file_put_iso(struct rest_call *call, struct str name, int64_t ticks)
{
    char text[TIME_ISO_BYTES];
    time_iso(ticks, text);
    call_put_own(call, name, (struct str){text, sizeof text});
}

void rest_file_put_etag(struct rest_call *call, const struct node *n)
{
    rest_blob_put_etag(call, n->etag, n->last_modified);
}

void rest_file_put_attributes_text(struct buf *b, const struct node *n)
{
    uint32_t attributes = n->attributes;
    size_t start = b->n;
    if (n->kind == NODE_DIRECTORY)
        attributes |= NODE_DIRECTORY_BIT;
    for (size_t i = 0; i < ATTRIBUTES_COUNT; i++) {
        if ((attributes & ATTRIBUTES[i].bit) == 0)
            continue;
        if (b->n > start)
            buf_put(b, STR(" | "));
        buf_put(b, ATTRIBUTES[i].name);
    }
    if (b->n == start)
        buf_put(b, STR("None"));
}

void rest_file_put_permission_key(struct rest_call *call, const struct permission_key *key)
{
    char room[2 * BUF_U64_BYTES_MAX + 1];
    struct buf text = {.p = room, .capacity = sizeof room, .arena = call->arena};
    permission_key_put(&text, key);
    call_put_own(call, STR("x-ms-file-permission-key"), buf_str(&text));
}

static void put_nfs(struct rest_call *call, const struct node *n)
{
    static const struct str KINDS[] = {[NODE_FILE] = STR_INIT("Regular"),
                                       [NODE_DIRECTORY] = STR_INIT("Directory"),
                                       [NODE_SYMLINK] = STR_INIT("SymLink")};
    call_put(call, STR("x-ms-mode"), arena_printf(call->arena, "%04o", n->mode));
    call_put_u64(call, STR("x-ms-owner"), n->owner);
    call_put_u64(call, STR("x-ms-group"), n->group);
    call_put(call, STR("x-ms-file-file-type"), KINDS[n->kind]);
    if (n->kind == NODE_FILE)
        call_put_u64(call, STR("x-ms-link-count"), n->links + 1);
}

void rest_file_put_outcome(struct rest_call *call, const struct file_outcome *outcome)
{
    const struct node *n = &outcome->node;
    rest_file_put_etag(call, n);
    rest_file_put_iso(call, STR("x-ms-file-creation-time"), n->created);
    rest_file_put_iso(call, STR("x-ms-file-last-write-time"), n->last_write);
    rest_file_put_iso(call, STR("x-ms-file-change-time"), n->changed);
    call_put_u64(call, STR("x-ms-file-id"), outcome->id);
    call_put_u64(call, STR("x-ms-file-parent-id"), outcome->parent);
    if (!outcome->is_smb) {
        put_nfs(call, n);
        return;
    }
    struct buf attributes = buf_in(call->arena);
    rest_file_put_attributes_text(&attributes, n);
    call_put(call, STR("x-ms-file-attributes"), buf_str(&attributes));
    rest_file_put_permission_key(call, &n->permission);
}

struct str rest_file_copy_status_text(enum copy_status status)
{
    static const struct str TEXTS[] = {
        [COPY_NONE] = STR_INIT(""),           [COPY_PENDING] = STR_INIT("pending"),
        [COPY_SUCCESS] = STR_INIT("success"), [COPY_ABORTED] = STR_INIT("aborted"),
        [COPY_FAILED] = STR_INIT("failed"),
    };
    return TEXTS[status];
}

void rest_file_put_copy(struct rest_call *call, const struct node_copy *copy)
{
    char id[GUID_TEXT_BYTES];
    if (copy->status == COPY_NONE)
        return;
    guid_text(&copy->id, id);
    call_put(call, STR("x-ms-copy-id"), (struct str){id, sizeof id});
    call_put(call, STR("x-ms-copy-source"), copy->source);
    call_put(call, STR("x-ms-copy-status"), rest_file_copy_status_text(copy->status));
    call_put(call, STR("x-ms-copy-progress"),
             arena_printf(call->arena, "%llu/%llu", (unsigned long long)copy->done,
                          (unsigned long long)copy->total));
    if (copy->completed != 0)
        call_put_time(call, STR("x-ms-copy-completion-time"), copy->completed);
    if (copy->description.n > 0)
        call_put(call, STR("x-ms-copy-status-description"), copy->description);
}

bool rest_file_name_is_encoded(const struct rest_call *call, struct str name)
{
    enum { VERSION_ENCODED_NAMES = 20211202 };
    return call->version >= VERSION_ENCODED_NAMES && !xml_can_hold(name);
}

void rest_file_put_name(struct rest_call *call, struct str element, struct str name)
{
    struct buf *b = &call->out;
    if (!rest_file_name_is_encoded(call, name)) {
        xml_element(b, element, name);
        return;
    }
    buf_putc(b, '<');
    buf_put(b, element);
    buf_put(b, STR(" Encoded=\"true\">"));
    uri_encode(b, name, URI_KEEP_NONE);
    xml_close(b, element);
}
