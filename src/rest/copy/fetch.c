/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/copy/fetch.h"

#include <assert.h>
#include <errno.h>

#include "core/hash/md5.h"
#include "core/text/base64.h"
#include "core/text/xml.h"
#include "rest/blob/tags.h"
#include "rest/server.h"
#include "service/blob/page/page.h"
#include "service/common/metadata.h"
#include "service/common/pairs.h"

enum { HEADERS_MAX = 16, SMALL_BODY_MAX = 4 << 20, METADATA_MAX = 100 };

/* Old enough for every server, new enough for tokens and page ranges in parts. */
#define FETCH_VERSION "2021-12-02"

/* ---- asking ---- */

static const struct {
    struct str sent, meant;
} CONDITIONS[] = {
    {STR_INIT("x-ms-source-if-match"), STR_INIT("If-Match")},
    {STR_INIT("x-ms-source-if-none-match"), STR_INIT("If-None-Match")},
    {STR_INIT("x-ms-source-if-modified-since"), STR_INIT("If-Modified-Since")},
    {STR_INIT("x-ms-source-if-unmodified-since"), STR_INIT("If-Unmodified-Since")},
    {STR_INIT("x-ms-source-if-tags"), STR_INIT("x-ms-if-tags")},
};

struct err fetch_init(struct rest_call *call, const struct source_url *source, struct fetch *out)
{
    assert(out != NULL);
    *out = (struct fetch){.dialer = call->server->dialer,
                          .arena = call->arena,
                          .uri = source->uri,
                          .authorization = source->second.authorization};
    for (size_t i = 0; i < sizeof CONDITIONS / sizeof CONDITIONS[0]; i++) {
        struct str value = call_header(call, CONDITIONS[i].sent);
        if (str_given(value))
            out->extra[out->extra_count++] = (struct http_header){CONDITIONS[i].meant, value};
    }
    return OK;
}

struct request {
    struct http_header headers[HEADERS_MAX];
    size_t count;
};

static void add(struct request *r, struct str name, struct str value)
{
    if (str_given(value) && r->count < HEADERS_MAX)
        r->headers[r->count++] = (struct http_header){name, value};
}

static void begin(const struct fetch *f, struct request *r)
{
    *r = (struct request){0};
    add(r, STR("x-ms-version"), STR(FETCH_VERSION));
    add(r, STR("Authorization"), f->authorization);
    for (size_t i = 0; i < f->extra_count; i++)
        add(r, f->extra[i].name, f->extra[i].value);
}

static struct err ask(struct fetch *f, struct str method, const struct request *r,
                      struct http_answer *answer, struct http_client **out)
{
    struct http_client_request request = {
        .method = method, .uri = f->uri, .headers = r->headers, .header_count = r->count};
    f->status = 0;
    if (f->dialer == NULL)
        return err_cause(ERR_IO, EACCES);
    TRY(http_client_ask(f->dialer, f->arena, &request, answer, out));
    if (answer->status == 200 || answer->status == 206)
        return OK;
    f->status = answer->status;
    f->code = http_answer_header(answer, STR("x-ms-error-code"));
    http_client_end(*out);
    *out = NULL;
    return err_new(answer->status == 416 ? ERR_INVALID_RANGE : ERR_COPY_SOURCE_FAILED);
}

/* ---- what it is ---- */

static enum blob_type type_of(const struct http_answer *a)
{
    struct str text = http_answer_header(a, STR("x-ms-blob-type"));
    return str_ieq(text, STR("PageBlob"))     ? BLOB_PAGE
           : str_ieq(text, STR("AppendBlob")) ? BLOB_APPEND
                                              : BLOB_BLOCK;
}

/* Metadata that this server would refuse from a client is not accepted from another server. */
static struct str metadata_of(struct arena *arena, const struct http_answer *a)
{
    const struct str prefix = STR("x-ms-meta-");
    struct pair items[METADATA_MAX];
    struct pairs pairs = {.items = items};
    for (size_t i = 0; i < a->header_count && pairs.count < METADATA_MAX; i++)
        if (str_istarts(a->headers[i].name, prefix))
            items[pairs.count++] =
                (struct pair){str_from(a->headers[i].name, prefix.n), a->headers[i].value};
    return err_is(metadata_check(&pairs)) ? STR_NONE : pairs_encode(arena, &pairs);
}

static void take_http(struct arena *arena, const struct http_answer *a, struct blob_http *out)
{
    char *md5 = arena_bytes(arena, MD5_BYTES);
    out->content_type = http_answer_header(a, STR("Content-Type"));
    out->content_encoding = http_answer_header(a, STR("Content-Encoding"));
    out->content_language = http_answer_header(a, STR("Content-Language"));
    out->content_disposition = http_answer_header(a, STR("Content-Disposition"));
    out->cache_control = http_answer_header(a, STR("Cache-Control"));
    struct str text =
        http_answer_header(a, a->status == 206 ? STR("x-ms-blob-content-md5") : STR("Content-MD5"));
    if (str_given(text) && base64_decode_exact(text, md5, MD5_BYTES))
        out->content_md5 = (struct str){md5, MD5_BYTES};
}

/* The total size: from Content-Range after its slash, else the body's length. */
static uint64_t size_of(const struct http_answer *a)
{
    uint64_t size = a->content_length < 0 ? 0 : (uint64_t)a->content_length;
    struct str rest = http_answer_header(a, STR("Content-Range"));
    if (a->status != 206 || !str_given(rest))
        return size;
    (void)str_cut(&rest, '/');
    (void)str_to_u64(rest, &size);
    return size;
}

static void take_head(struct arena *arena, const struct http_answer *a, struct blob_head *out)
{
    *out = (struct blob_head){.type = type_of(a), .committed = true, .size = size_of(a)};
    take_http(arena, a, &out->http);
    out->metadata = metadata_of(arena, a);
    (void)str_to_u64(http_answer_header(a, STR("x-ms-blob-sequence-number")), &out->sequence);
    out->sealed = str_ieq(http_answer_header(a, STR("x-ms-blob-sealed")), STR("true"));
}

struct err fetch_properties(struct fetch *f, struct blob_head *out, struct str *etag)
{
    struct request r;
    struct http_answer answer;
    struct http_client *client = NULL;
    begin(f, &r);
    TRY(ask(f, STR("HEAD"), &r, &answer, &client));
    http_client_end(client);
    *etag = http_answer_header(&answer, STR("ETag"));
    take_head(f->arena, &answer, out);
    bool pages = out->type != BLOB_PAGE ||
                 (out->size % BLOB_PAGE_BYTES == 0 && out->size <= BLOB_PAGE_SIZE_MAX);
    return answer.content_length >= 0 && pages ? OK : err_new(ERR_COPY_SOURCE_FAILED);
}

/* ---- its bytes ---- */

static struct str range_text(struct arena *a, const struct fetch_part *part)
{
    if (part->length == UINT64_MAX)
        return arena_printf(a, "bytes=%llu-", (unsigned long long)part->offset);
    return arena_printf(a, "bytes=%llu-%llu", (unsigned long long)part->offset,
                        (unsigned long long)(part->offset + part->length - 1));
}

/* A server without ranges answers with the whole, which is valid only for a request of the whole.
 * An answer with another range than requested is an error. */
static bool is_what_was_asked(const struct fetch_part *part, const struct http_answer *a)
{
    struct str range = http_answer_header(a, STR("Content-Range"));
    uint64_t first;
    if (!part->ranged)
        return a->status == 200;
    if (a->status != 206)
        return part->offset == 0 && a->content_length >= 0 &&
               (part->length == UINT64_MAX || part->length == (uint64_t)a->content_length);
    if (!str_istarts(range, STR("bytes ")))
        return false;
    range = str_from(range, 6);
    return str_to_u64(str_cut(&range, '-'), &first) && first == part->offset;
}

struct err fetch_bytes(struct fetch *f, struct fetch_part *part)
{
    struct request r;
    struct http_answer answer;
    struct http_client *client = NULL;
    begin(f, &r);
    add(&r, STR("If-Match"), part->etag);
    if (part->ranged)
        add(&r, STR("Range"), range_text(f->arena, part));
    TRY(ask(f, STR("GET"), &r, &answer, &client));
    if (part->head != NULL)
        take_head(f->arena, &answer, part->head);
    struct err error = is_what_was_asked(part, &answer)
                           ? http_client_body(client, part->size_max, part->sink, part->arg)
                           : err_new(ERR_COPY_SOURCE_FAILED);
    http_client_end(client);
    return error;
}

/* ---- its pages ---- */

static struct err collect(void *arg, struct str bytes)
{
    buf_put(arg, bytes);
    return OK;
}

static struct err read_pages(struct arena *a, struct str body, uint64_t from, uint64_t *start,
                             uint64_t *end, bool *found)
{
    struct xml_node *root;
    if (err_is(xml_parse(a, body, &root)) || !str_eq(root->name, STR("PageList")))
        return err_new(ERR_COPY_SOURCE_FAILED);
    *found = false;
    for (const struct xml_node *node = root->first_child; node != NULL; node = node->next) {
        uint64_t last;
        if (!str_eq(node->name, STR("PageRange")))
            continue;
        if (!str_to_u64(xml_child_text(node, STR("Start")), start) ||
            !str_to_u64(xml_child_text(node, STR("End")), &last) || last < *start)
            return err_new(ERR_COPY_SOURCE_FAILED);
        *end = last + 1;
        if (*end <= from)
            continue;
        *start = *start < from ? from : *start;
        *found = true;
        return OK;
    }
    return OK;
}

/* Another GET of the same blob, by more query parameters; the answer's body is small. */
static struct err ask_about(struct fetch *f, const char *parameters, const struct request *r,
                            struct buf *body)
{
    struct fetch about = *f;
    struct http_answer answer;
    struct http_client *client = NULL;
    struct str query = str_given(f->uri.query) ? f->uri.query : STR("");
    about.uri.query =
        arena_printf(f->arena, "%.*s%s%s", STR_ARG(query), query.n > 0 ? "&" : "", parameters);
    struct err error = ask(&about, STR("GET"), r, &answer, &client);
    f->status = about.status;
    f->code = about.code;
    TRY(error);
    error = http_client_body(client, SMALL_BODY_MAX, collect, body);
    http_client_end(client);
    return error;
}

struct err fetch_next_pages(struct fetch *f, uint64_t from, uint64_t size, uint64_t *start,
                            uint64_t *end, bool *found)
{
    struct request r;
    struct buf body = buf_in(f->arena);
    struct fetch_part part = {.offset = from, .length = size - from};
    begin(f, &r);
    add(&r, STR("x-ms-range"), range_text(f->arena, &part));
    TRY(ask_about(f, "comp=pagelist&maxresults=100", &r, &body));
    return read_pages(f->arena, buf_str(&body), from, start, end, found);
}

/* ---- its tags ---- */

/* Get Blob Tags accepts only conditions on tags; the others were checked by the earlier
 * requests. */
struct err fetch_tags(struct fetch *f, struct str *encoded)
{
    struct request r = {0};
    struct buf body = buf_in(f->arena);
    add(&r, STR("x-ms-version"), STR(FETCH_VERSION));
    add(&r, STR("Authorization"), f->authorization);
    TRY(ask_about(f, "comp=tags", &r, &body));
    return err_is(rest_blob_parse_tags(f->arena, buf_str(&body), encoded))
               ? err_new(ERR_COPY_SOURCE_FAILED)
               : OK;
}

/* ---- failures ---- */

struct err fetch_refused(struct rest_call *call, const struct fetch *f, struct err error)
{
    if (!err_is(error) || error.code == ERR_REQUEST_BODY_TOO_LARGE ||
        error.code == ERR_INVALID_RANGE)
        return error;
    if (f->status != 0)
        return copy_source_answered(call, f->status, f->code);
    if (error.code == ERR_IO && error.cause == EACCES)
        return call_error(call, ERR_COPY_SOURCE_FORBIDDEN, "Reason",
                          STR("This server may not reach the source: see --copy-sources."));
    if (error.code == ERR_NO_SPACE || error.code == ERR_STOPPING)
        return error;
    return err_cause(ERR_COPY_SOURCE_FAILED, error.cause);
}
