/* SPDX-License-Identifier: Apache-2.0 */
/* Accepted text is written out again, and the writer's output reads and writes to the same text. */
#include <assert.h>

#include "core/text/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The depth is bounded by the reader. */
static void copy_value(struct json_reader *r, struct json_writer *w)
{
    struct json_value v = json_value(r);
    struct str name;
    switch (v.kind) {
    case JSON_NONE:
    case JSON_NULL:
        json_raw(w, STR("null"));
        break;
    case JSON_BOOL:
        json_bool(w, v.boolean);
        break;
    case JSON_INTEGER:
    case JSON_REAL:
        json_raw(w, v.text);
        break;
    case JSON_STRING:
        assert(str_is_utf8(v.text));
        json_string(w, v.text);
        break;
    case JSON_OBJECT:
        json_open(w, '{');
        while (json_member(r, &name)) {
            json_name(w, name);
            copy_value(r, w);
        }
        json_close(w, '}');
        break;
    case JSON_ARRAY:
        json_open(w, '[');
        while (json_element(r))
            copy_value(r, w);
        json_close(w, ']');
        break;
    }
}

static bool copy(struct arena *a, struct str text, struct buf *out)
{
    struct json_reader r = json_reader_of(a, text);
    struct json_writer w = json_writer_of(out);
    copy_value(&r, &w);
    return json_done(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a;
    struct str in = {(const char *)data, size};
    arena_init(&a, 1 << 24);
    struct buf once = buf_in(&a);
    struct buf twice = buf_in(&a);
    struct json_reader skipping = json_reader_of(&a, in);
    json_skip(&skipping, json_value(&skipping));
    bool good = copy(&a, in, &once);
    assert(json_done(&skipping) == good);
    if (good) {
        bool again = copy(&a, buf_str(&once), &twice);
        assert(again && str_eq(buf_str(&once), buf_str(&twice)));
    }
    arena_release(&a);
    return 0;
}
