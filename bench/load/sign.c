/* SPDX-License-Identifier: Apache-2.0 */
/* Shared Key, written from the protocol's description without the server's code, so that a run
 * checks both. */
#include <stdlib.h>

#include "core/mem.h"
#include "core/text/base64.h"
#include "core/text/uri.h"
#include "load/op.h"

enum { LINES_MAX = 64 };

struct line {
    struct str name;
    struct str value;
};

static int line_order(const void *a, const void *b)
{
    return str_cmp(((const struct line *)a)->name, ((const struct line *)b)->name);
}

static struct str lower(struct arena *a, struct str s)
{
    char *copy = arena_bytes(a, s.n + 1);
    for (size_t i = 0; i < s.n; i++)
        copy[i] = ascii_lower(s.p[i]);
    return (struct str){copy, s.n};
}

static size_t read_headers(struct arena *a, const struct buf *headers, struct line *out)
{
    size_t count = 0;
    for (struct str rest = buf_str(headers); rest.n > 0 && count < LINES_MAX;) {
        struct str value = str_head(rest, str_find_str(rest, STR("\r\n")));
        rest = str_from(rest, value.n + 2);
        struct str name = str_cut(&value, ':');
        out[count++] = (struct line){lower(a, name), str_trim(value)};
    }
    qsort(out, count, sizeof *out, line_order);
    return count;
}

static struct str find(const struct line *lines, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq(lines[i].name, str_of(name)))
            return lines[i].value;
    return STR("");
}

static void put_line(struct buf *out, struct str value)
{
    buf_put(out, value);
    buf_putc(out, '\n');
}

/* /account/path, then the query's parameters: all of them by name, or for tables comp alone. */
static void put_resource(struct buf *out, struct arena *a, const struct signer *signer,
                         struct str target)
{
    struct str query = target;
    struct str path = str_cut(&query, '?');
    buf_printf(out, "/%.*s%.*s", STR_ARG(signer->account), STR_ARG(path));
    struct line lines[LINES_MAX];
    size_t count = 0;
    struct uri_query q = uri_query_of(query);
    for (struct uri_param param; count < LINES_MAX && uri_query_next(&q, a, &param);)
        lines[count++] = (struct line){lower(a, param.name), param.value};
    qsort(lines, count, sizeof *lines, line_order);
    for (size_t i = 0; i < count; i++) {
        if (!signer->table)
            buf_printf(out, "\n%.*s:%.*s", STR_ARG(lines[i].name), STR_ARG(lines[i].value));
        else if (str_eq(lines[i].name, STR("comp")))
            buf_printf(out, "?comp=%.*s", STR_ARG(lines[i].value));
    }
}

static void put_string_to_sign(struct buf *out, const struct line *lines, size_t count,
                               size_t body_bytes)
{
    static const char *const before[] = {"content-encoding", "content-language"};
    static const char *const after[] = {"content-md5",         "content-type", "date",
                                        "if-modified-since",   "if-match",     "if-none-match",
                                        "if-unmodified-since", "range"};
    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++)
        put_line(out, find(lines, count, before[i]));
    if (body_bytes > 0)
        buf_put_u64(out, body_bytes);
    buf_putc(out, '\n');
    for (size_t i = 0; i < sizeof after / sizeof after[0]; i++)
        put_line(out, find(lines, count, after[i]));
    for (size_t i = 0; i < count; i++)
        if (str_starts(lines[i].name, STR("x-ms-")))
            buf_printf(out, "%.*s:%.*s\n", STR_ARG(lines[i].name), STR_ARG(lines[i].value));
}

static void put_table_string_to_sign(struct buf *out, const struct line *lines, size_t count)
{
    put_line(out, find(lines, count, "content-md5"));
    put_line(out, find(lines, count, "content-type"));
    put_line(out, find(lines, count, "x-ms-date"));
}

void sign_put(struct buf *out, const struct signer *signer, struct str method, struct str target,
              const struct buf *headers, size_t body_bytes)
{
    struct arena a;
    arena_init(&a, 1 << 20);
    struct line lines[LINES_MAX];
    size_t count = read_headers(&a, headers, lines);
    struct buf text = buf_in(&a);
    put_line(&text, method);
    if (signer->table)
        put_table_string_to_sign(&text, lines, count);
    else
        put_string_to_sign(&text, lines, count, body_bytes);
    put_resource(&text, &a, signer, target);
    unsigned char digest[SHA256_BYTES];
    hmac_sign(&signer->key, buf_str(&text), digest);
    buf_printf(out, "SharedKey %.*s:", STR_ARG(signer->account));
    base64_put(out, (struct str){(const char *)digest, sizeof digest});
    arena_release(&a);
}
