/* SPDX-License-Identifier: Apache-2.0 */
#include "load/op.h"

#include "core/clock.h"
#include "core/text/base64.h"
#include "core/text/uri.h"
#include "core/time.h"

/* Eight digits, so that all requests of an operation have one length. */
static void put_key(struct buf *out, uint64_t key)
{
    buf_printf(out, "%08llu", (unsigned long long)key);
}

/* The key in base64, escaped for a query: a block id, for one. */
static void put_key64(struct buf *out, uint64_t key)
{
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%08llu", (unsigned long long)key);
    struct buf text = buf_heap();
    base64_put(&text, (struct str){digits, (size_t)n});
    uri_encode(out, buf_str(&text), URI_KEEP_NONE);
    buf_release(&text);
}

/* {range:N}: the key's own N bytes, as a range header wants them. Takes it off the text. */
static bool put_range(struct buf *out, struct str *text, uint64_t key)
{
    uint64_t length;
    struct str rest = str_from(*text, sizeof "{range:" - 1);
    struct str number = str_cut(&rest, '}');
    if (!str_to_u64(number, &length) || length == 0)
        return false;
    buf_printf(out, "bytes=%llu-%llu", (unsigned long long)(key * length),
               (unsigned long long)(key * length + length - 1));
    *text = rest;
    return true;
}

static void put_template(struct buf *out, struct str text, uint64_t key, uint64_t sequence)
{
    while (text.n > 0) {
        size_t brace = str_find(text, '{', 0);
        buf_put(out, str_head(text, brace));
        text = str_from(text, brace);
        if (str_starts(text, STR("{key}"))) {
            put_key(out, key);
            text = str_from(text, sizeof "{key}" - 1);
        } else if (str_starts(text, STR("{key64}"))) {
            put_key64(out, key);
            text = str_from(text, sizeof "{key64}" - 1);
        } else if (str_starts(text, STR("{seq}"))) {
            put_key(out, sequence);
            text = str_from(text, sizeof "{seq}" - 1);
        } else if (str_starts(text, STR("{range:")) && put_range(out, &text, key)) {
            continue;
        } else if (text.n > 0) {
            buf_putc(out, text.p[0]);
            text = str_from(text, 1);
        }
    }
}

static bool has_sequence(struct str text)
{
    return str_find_str(text, STR("{seq}")) < text.n;
}

bool op_is_unique(const struct op *op)
{
    bool unique = has_sequence(op->path) || (op->body_is_template && has_sequence(op->body));
    for (size_t i = 0; i < op->header_count; i++)
        unique = unique || has_sequence(op->headers[i]);
    return unique;
}

size_t op_pick(const struct op_set *set, uint64_t random)
{
    uint64_t total = 0;
    for (size_t i = 0; i < set->count; i++)
        total += set->ops[i].weight;
    uint64_t at = random % total;
    size_t op = 0;
    while (at >= set->ops[op].weight)
        at -= set->ops[op++].weight;
    return op;
}

/* ---- one request ---- */

struct draft {
    struct buf target;
    struct buf headers;
    struct buf body;
};

static void draft_headers(struct draft *d, const struct op_set *set, const struct op *op,
                          uint64_t key)
{
    buf_printf(&d->headers, "Host: %.*s\r\n", STR_ARG(set->host));
    for (size_t i = 0; i < op->header_count; i++) {
        put_template(&d->headers, op->headers[i], key, set->sequence);
        buf_put(&d->headers, STR("\r\n"));
    }
    size_t body_bytes = op->body_is_template ? d->body.n : op->body.n;
    if (body_bytes > 0 || !str_eq(op->method, STR("GET")))
        buf_printf(&d->headers, "Content-Length: %zu\r\n", body_bytes);
    if (!str_given(set->signer.account))
        return;
    struct clock clock;
    clock_init_system(&clock);
    buf_put(&d->headers, STR("x-ms-date: "));
    time_put_rfc1123(&d->headers, clock_now(&clock));
    buf_put(&d->headers, STR("\r\n"));
    struct buf authorization = buf_heap();
    sign_put(&authorization, &set->signer, op->method, buf_str(&d->target), &d->headers,
             body_bytes);
    buf_printf(&d->headers, "Authorization: %.*s\r\n", STR_ARG(buf_str(&authorization)));
    buf_release(&authorization);
}

static void render(struct op_set *set, const struct op *op, uint64_t key, struct buf *out)
{
    struct draft d = {buf_heap(), buf_heap(), buf_heap()};
    put_template(&d.target, op->path, key, set->sequence);
    if (set->signer.sas.n > 0) {
        buf_putc(&d.target, str_find(op->path, '?', 0) < op->path.n ? '&' : '?');
        buf_put(&d.target, set->signer.sas);
    }
    if (op->body_is_template)
        put_template(&d.body, op->body, key, set->sequence);
    draft_headers(&d, set, op, key);
    buf_printf(out, "%.*s %.*s HTTP/1.1\r\n", STR_ARG(op->method), STR_ARG(buf_str(&d.target)));
    buf_put(out, buf_str(&d.headers));
    buf_put(out, STR("\r\n"));
    buf_put(out, buf_str(&d.body));
    buf_release(&d.target);
    buf_release(&d.headers);
    buf_release(&d.body);
}

struct str op_request(struct op_set *set, size_t op_index, uint64_t key, struct buf *scratch)
{
    struct op *op = &set->ops[op_index];
    if (op_is_unique(op) || set->key_count > RENDERED_KEYS_MAX) {
        buf_clear(scratch);
        render(set, op, key, scratch);
        set->sequence++;
        return buf_str(scratch);
    }
    if (op->rendered == NULL)
        op->rendered = ARENA_ARRAY(&set->arena, struct str, set->key_count);
    if (!str_given(op->rendered[key])) {
        struct buf text = buf_in(&set->arena);
        render(set, op, key, &text);
        op->rendered[key] = buf_str(&text);
    }
    return op->rendered[key];
}
