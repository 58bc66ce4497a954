/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/body/structured.h"

#include "core/arena.h"
#include "core/buf.h"
#include "core/crc/crc64.h"
#include "core/test.h"

struct message {
    uint8_t version;
    uint16_t flags, segments;
    uint64_t length; /* 0: the right one */
    uint64_t first_number;
    uint64_t wrong_segment, wrong_footer; /* added to the checksums */
};

#define GOOD ((struct message){.version = 1, .flags = 1, .segments = 2, .first_number = 1})

/* "hello" and "world!" in two segments. */
static struct str message_of(struct arena *a, const struct message *m)
{
    static const struct str PARTS[] = {STR_INIT("hello"), STR_INIT("world!")};
    struct buf b = buf_in(a);
    buf_put_u8(&b, m->version);
    buf_put_le64(&b, m->length != 0 ? m->length : structured_length(11, 2));
    buf_put_le16(&b, m->flags);
    buf_put_le16(&b, m->segments);
    for (uint16_t i = 0; i < 2; i++) {
        buf_put_le16(&b, (uint16_t)(m->first_number + i));
        buf_put_le64(&b, PARTS[i].n);
        buf_put(&b, PARTS[i]);
        buf_put_le64(&b, crc64(0, PARTS[i]) + m->wrong_segment);
    }
    buf_put_le64(&b, crc64(0, STR("helloworld!")) + m->wrong_footer);
    return buf_str(&b);
}

static struct err read_steps(struct str message, uint64_t length, uint64_t content, size_t step,
                             struct buf *out)
{
    struct structured_reader r;
    structured_reader_init(&r, length, content);
    while (message.n > 0) {
        struct str portion = str_head(message, step);
        message = str_from(message, portion.n);
        while (portion.n > 0) {
            struct str part;
            TRY(structured_next(&r, &portion, &part));
            buf_put(out, part);
        }
    }
    return structured_end(&r);
}

static enum err_code outcome(const struct message *m, uint64_t length, uint64_t content)
{
    struct arena a;
    arena_init(&a, 1 << 20);
    struct buf out = buf_in(&a);
    struct str message = message_of(&a, m);
    struct err e = read_steps(message, length == 0 ? message.n : length, content, 7, &out);
    arena_release(&a);
    return e.code;
}

void test_structured_body_is_read_in_steps_of_any_size(void)
{
    struct arena a;
    arena_init(&a, 1 << 20);
    struct message good = GOOD;
    struct str message = message_of(&a, &good);
    for (size_t step = 1; step <= message.n; step++) {
        struct buf out = buf_in(&a);
        CHECK_OK(read_steps(message, message.n, 11, step, &out));
        CHECK_STR(buf_str(&out), STR("helloworld!"));
    }
    for (size_t n = 0; n < message.n; n++) {
        struct buf out = buf_in(&a);
        CHECK_ERR(read_steps(str_head(message, n), message.n, 11, n + 1, &out), ERR_INVALID_INPUT);
    }
    arena_release(&a);
}

void test_structured_body_of_another_form_is_refused(void)
{
    struct message m = GOOD;
    CHECK(outcome(&m, 0, 11) == ERR_OK);
    CHECK(outcome(&m, UINT64_MAX, 11) == ERR_OK);
    CHECK(outcome(&m, 0, 10) == ERR_INVALID_INPUT);
    CHECK(outcome(&m, 0, 12) == ERR_INVALID_INPUT);
    CHECK(outcome(&m, 70, 11) == ERR_INVALID_INPUT);
    m.version = 2;
    CHECK(outcome(&m, 0, 11) == ERR_INVALID_INPUT);
    m = GOOD;
    m.flags = 0;
    CHECK(outcome(&m, 0, 11) == ERR_INVALID_INPUT);
    m = GOOD;
    m.segments = 3;
    CHECK(outcome(&m, 0, 11) == ERR_INVALID_INPUT);
    m = GOOD;
    m.length = 1;
    CHECK(outcome(&m, 0, 11) == ERR_INVALID_INPUT);
    m = GOOD;
    m.first_number = 2;
    CHECK(outcome(&m, 0, 11) == ERR_INVALID_INPUT);
}

void test_structured_body_with_a_wrong_checksum_is_refused(void)
{
    struct message m = GOOD;
    m.wrong_segment = 1;
    CHECK(outcome(&m, 0, 11) == ERR_CRC64_MISMATCH);
    m = GOOD;
    m.wrong_footer = 1;
    CHECK(outcome(&m, 0, 11) == ERR_CRC64_MISMATCH);
}

void test_structured_names_and_frames(void)
{
    CHECK(structured_named(STRUCTURED_NAME));
    CHECK(structured_named(STR("xsm/1.0;properties=CRC64")));
    CHECK(!structured_named(STR("XSM/1.0")));
    CHECK(!structured_named(STR("XSM/2.0; properties=crc64")));
    CHECK(!structured_named(STR("XSM/1.0; properties=md5")));
    struct structured_frame f = structured_frame_of(0);
    CHECK(f.count == 1);
    f = structured_frame_of(STRUCTURED_SEGMENT_BYTES + 1);
    CHECK(f.count == 2);
    /* The largest blob there is. */
    f = structured_frame_of(50000ULL * (4000ULL << 20));
    CHECK(f.count <= STRUCTURED_SEGMENTS_MAX && f.count * f.segment >= f.content);
}
