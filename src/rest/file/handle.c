/* SPDX-License-Identifier: Apache-2.0 */
/* List Handles and Force Close Handles: the handles that SMB clients have open. */
#include "core/text/xml.h"
#include "core/time.h"
#include "rest/file/ops.h"
#include "rest/file/request.h"
#include "rest/head/second.h"
#include "service/file/opens/handles.h"

/* One response closes this many; the client continues with x-ms-marker. */
enum { FORCE_CLOSE_MAX = 1000 };

struct handles {
    struct file_handles_args args; /* first */
    struct rest_call *call;
    size_t max, found;
    uint64_t last, next;
    uint64_t only; /* one handle; 0: all */
};

static struct err decode(struct rest_call *call, struct handles **out)
{
    struct handles *h = ARENA_NEW(call->arena, struct handles);
    uint64_t max = FILE_HANDLES_MAX;
    struct str marker = call_query(call, STR("marker"));
    call->args = h;
    *out = h;
    h->call = call;
    TRY(rest_file_read_request(call, true, &h->args.request));
    TRY(call_header_bool(call, STR("x-ms-recursive"), &h->args.recursive));
    if (h->args.recursive)
        TRY(second_permit_below(call));
    TRY(call_query_u64(call, STR("maxresults"), 1, INT32_MAX, &max));
    h->max = max < FILE_HANDLES_MAX ? (size_t)max : FILE_HANDLES_MAX;
    if (str_given(marker) && marker.n > 0 && !str_to_u64(marker, &h->args.after))
        return call_bad_query(call, STR("marker"));
    return OK;
}

struct err rest_list_handles_decode(struct rest_call *call)
{
    struct handles *h;
    return decode(call, &h);
}

static void put_rights(struct buf *b, uint32_t mask)
{
    enum { READS = 0x1, WRITES = 0x6, DELETES = 0x10000 };
    xml_open(b, STR("AccessRightList"));
    if ((mask & READS) != 0)
        xml_element(b, STR("AccessRight"), STR("Read"));
    if ((mask & WRITES) != 0)
        xml_element(b, STR("AccessRight"), STR("Write"));
    if ((mask & DELETES) != 0)
        xml_element(b, STR("AccessRight"), STR("Delete"));
    xml_close(b, STR("AccessRightList"));
}

static void put_time(struct buf *b, struct str name, int64_t ticks)
{
    xml_open(b, name);
    time_put_rfc1123(b, ticks);
    xml_close(b, name);
}

static bool put_handle(void *arg, const struct opens_info *info)
{
    struct handles *h = arg;
    struct buf *b = &h->call->out;
    if (h->found == h->max) {
        h->next = h->last;
        return false;
    }
    h->found++;
    h->last = info->id;
    xml_open(b, STR("Handle"));
    xml_element_u64(b, STR("HandleId"), info->id);
    rest_file_put_name(h->call, STR("Path"), info->path);
    xml_element_u64(b, STR("FileId"), info->key.node);
    xml_element_u64(b, STR("ParentId"), info->parent);
    xml_element_u64(b, STR("SessionId"), info->session);
    xml_element(b, STR("ClientIp"), info->client);
    if (info->client_name.n > 0)
        xml_element(b, STR("ClientName"), info->client_name);
    put_time(b, STR("OpenTime"), info->opened_ticks);
    if (info->reconnected_ticks != 0)
        put_time(b, STR("LastReconnectTime"), info->reconnected_ticks);
    put_rights(b, info->access_mask);
    xml_close(b, STR("Handle"));
    return true;
}

struct err rest_list_handles_encode(struct rest_call *call)
{
    struct handles *h = call->args;
    struct buf *b = &call->out;
    call_begin_xml(call);
    buf_put(b, STR("<EnumerationResults><Entries>"));
    if (call->store->opens != NULL && h->args.request.snapshot == 0)
        opens_list(call->store->opens, &h->args.select, put_handle, h);
    buf_put(b, STR("</Entries>"));
    if (h->next != 0)
        xml_element_u64(b, STR("NextMarker"), h->next);
    else
        xml_element(b, STR("NextMarker"), STR(""));
    buf_put(b, STR("</EnumerationResults>"));
    return OK;
}

struct err rest_force_close_handles_decode(struct rest_call *call)
{
    const struct str name = STR("x-ms-handle-id");
    struct str text = call_header(call, name);
    struct handles *h;
    TRY(decode(call, &h));
    if (!str_given(text))
        return call_missing_header(call, name);
    if (str_eq(text, STR("*")))
        return OK;
    return str_to_u64(text, &h->only) && h->only != 0 ? OK : call_bad_header(call, name);
}

struct err rest_force_close_handles_encode(struct rest_call *call)
{
    const struct handles *h = call->args;
    size_t closed = 0;
    uint64_t next = 0;
    if (call->store->opens != NULL && h->args.request.snapshot == 0)
        closed =
            opens_force_close(call->store->opens, &h->args.select, h->only, FORCE_CLOSE_MAX, &next);
    if (next != 0)
        call_put_u64(call, STR("x-ms-marker"), next);
    call_put_u64(call, STR("x-ms-number-of-handles-closed"), closed);
    call_put_u64(call, STR("x-ms-number-of-handles-failed"), 0);
    return OK;
}
