/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/item.h"

#include "core/crc/crc64.h"

const char *const ITEM_KIND_NAMES[ITEM_KINDS] = {
    "account", "service",  "container", "blob", "queue",     "messages",
    "table",   "entities", "share",     "file", "directory",
};

enum { SEGMENT_BYTES_MAX = 200 };

/* Names that a file system does not allow: ".", ".." and empty ones, and on some systems control
 * characters, backslashes and colons. Labels escape them with '%', so a '%' in a name is escaped
 * too. */
static void put_segment(struct buf *out, struct str segment)
{
    bool dots =
        segment.n > 0 && segment.n <= 2 && segment.p[0] == '.' && segment.p[segment.n - 1] == '.';
    struct str whole = segment;
    if (segment.n == 0)
        buf_put(out, STR("%"));
    segment = str_head(segment, SEGMENT_BYTES_MAX);
    for (size_t i = 0; i < segment.n; i++) {
        unsigned char c = (unsigned char)segment.p[i];
        if (c < 0x20 || c == 0x7F || strchr("%\\:*?\"<>|", c) != NULL || (dots && i == 0))
            buf_printf(out, "%%%02X", c);
        else
            buf_putc(out, (char)c);
    }
    if (segment.n < whole.n)
        buf_printf(out, "%%%016llX", (unsigned long long)crc64(0, whole));
}

static void put_name(struct buf *out, struct str name, const struct label_heads *heads)
{
    size_t head = 0;
    struct str rest = name;
    while (str_given(rest)) {
        struct str segment = str_cut(&rest, '/');
        size_t end = (size_t)(segment.p - name.p) + segment.n;
        buf_putc(out, '/');
        put_segment(out, segment);
        while (heads != NULL && head < heads->count && heads->lengths[head] < end)
            head++;
        if (str_given(rest) && heads != NULL && head < heads->count && heads->lengths[head] == end)
            buf_putc(out, '%');
    }
}

struct str item_label(struct arena *a, struct str account, const char *service,
                      struct str container, struct str name, const struct label_heads *heads)
{
    struct buf out = buf_in(a);
    buf_put(&out, account);
    if (service != NULL)
        buf_printf(&out, "/%s", service);
    if (str_given(container)) {
        buf_putc(&out, '/');
        buf_put(&out, container);
    }
    if (str_given(name))
        put_name(&out, name, heads);
    return buf_str(&out);
}

void item_put_text(struct json_writer *w, const char *name, struct str text)
{
    if (!str_given(text))
        return;
    json_name(w, str_of(name));
    json_string(w, text);
}

void item_put_u64(struct json_writer *w, const char *name, uint64_t value)
{
    struct buf *out = w->out;
    json_name(w, str_of(name));
    struct arena *a = out->arena;
    json_raw(w, arena_printf(a, "%llu", (unsigned long long)value));
}
