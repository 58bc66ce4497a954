/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/body/structured.h"

#include "core/crc/crc64.h"
#include "core/wire.h"

enum { VERSION = 1, FLAG_CRC64 = 1 };

const struct str STRUCTURED_NAME = STR_INIT("XSM/1.0; properties=crc64");

bool structured_named(struct str value)
{
    struct str rest = value;
    struct str version = str_trim(str_cut(&rest, ';'));
    if (!str_ieq(version, STR("XSM/1.0")) || !str_given(rest))
        return false;
    struct str property = str_trim(str_cut(&rest, '='));
    return str_ieq(property, STR("properties")) && str_ieq(str_trim(rest), STR("crc64"));
}

uint64_t structured_length(uint64_t content, uint64_t count)
{
    uint64_t around = STRUCTURED_SEGMENT_HEADER_BYTES + STRUCTURED_CRC64_BYTES;
    return STRUCTURED_HEADER_BYTES + content + count * around + STRUCTURED_CRC64_BYTES;
}

/* An empty content is one empty segment: readers expect one. */
struct structured_frame structured_frame_of(uint64_t content)
{
    struct structured_frame f = {.content = content, .segment = STRUCTURED_SEGMENT_BYTES};
    while (content / f.segment >= STRUCTURED_SEGMENTS_MAX)
        f.segment *= 2;
    f.count = content == 0 ? 1 : (content + f.segment - 1) / f.segment;
    return f;
}

void structured_reader_init(struct structured_reader *r, uint64_t length, uint64_t content)
{
    *r = (struct structured_reader){.length = length, .left = content};
}

/* The number of segments determines the total length. */
static struct err take_header(struct structured_reader *r)
{
    struct reader in = reader_of((struct str){(const char *)r->field, STRUCTURED_HEADER_BYTES});
    uint8_t version = read_u8(&in);
    uint64_t length = read_le64(&in);
    uint16_t flags = read_le16(&in);
    r->segments = read_le16(&in);
    if (version != VERSION || flags != FLAG_CRC64 ||
        (r->length != UINT64_MAX && length != r->length) ||
        length != structured_length(r->left, r->segments) || (r->segments == 0 && r->left > 0))
        return err_new(ERR_INVALID_INPUT);
    r->state = r->segments == 0 ? STRUCTURED_FOOTER : STRUCTURED_SEGMENT;
    return OK;
}

static struct err take_segment(struct structured_reader *r)
{
    struct reader in =
        reader_of((struct str){(const char *)r->field, STRUCTURED_SEGMENT_HEADER_BYTES});
    uint64_t number = read_le16(&in);
    r->segment_length = read_le64(&in);
    bool last = number == r->segments;
    if (number != ++r->number || r->segment_length > r->left ||
        (last && r->segment_length != r->left))
        return err_new(ERR_INVALID_INPUT);
    r->segment_left = r->segment_length;
    r->segment_crc64 = 0;
    r->state = r->segment_left == 0 ? STRUCTURED_SEGMENT_CRC64 : STRUCTURED_CONTENT;
    return OK;
}

static struct err take_crc64(struct structured_reader *r)
{
    struct reader in = reader_of((struct str){(const char *)r->field, STRUCTURED_CRC64_BYTES});
    uint64_t sent = read_le64(&in);
    if (r->state == STRUCTURED_FOOTER) {
        r->state = STRUCTURED_ENDED;
        return sent == r->crc64 ? OK : err_new(ERR_CRC64_MISMATCH);
    }
    if (sent != r->segment_crc64)
        return err_new(ERR_CRC64_MISMATCH);
    r->crc64 = crc64_join(r->crc64, r->segment_crc64, r->segment_length);
    r->state = r->number == r->segments ? STRUCTURED_FOOTER : STRUCTURED_SEGMENT;
    return OK;
}

/* Returns the length of the field that the state reads. */
static size_t field_length(enum structured_state state)
{
    return state == STRUCTURED_HEADER    ? STRUCTURED_HEADER_BYTES
           : state == STRUCTURED_SEGMENT ? STRUCTURED_SEGMENT_HEADER_BYTES
                                         : STRUCTURED_CRC64_BYTES;
}

static struct err take_field(struct structured_reader *r, struct str *input)
{
    size_t length = field_length(r->state);
    struct str part = str_head(*input, length - r->have);
    memcpy(r->field + r->have, part.p, part.n);
    *input = str_from(*input, part.n);
    r->have += part.n;
    if (r->have < length)
        return OK;
    r->have = 0;
    return r->state == STRUCTURED_HEADER    ? take_header(r)
           : r->state == STRUCTURED_SEGMENT ? take_segment(r)
                                            : take_crc64(r);
}

struct err structured_next(struct structured_reader *r, struct str *input, struct str *content)
{
    *content = STR("");
    while (input->n > 0 && r->state != STRUCTURED_CONTENT) {
        if (r->state == STRUCTURED_ENDED)
            return err_new(ERR_INVALID_INPUT);
        TRY(take_field(r, input));
    }
    if (r->state != STRUCTURED_CONTENT || input->n == 0)
        return OK;
    uint64_t portion = r->segment_left < input->n ? r->segment_left : input->n;
    *content = str_head(*input, (size_t)portion);
    *input = str_from(*input, (size_t)portion);
    r->segment_crc64 = crc64(r->segment_crc64, *content);
    r->segment_left -= portion;
    r->left -= portion;
    if (r->segment_left == 0)
        r->state = STRUCTURED_SEGMENT_CRC64;
    return OK;
}

struct err structured_end(const struct structured_reader *r)
{
    return r->state == STRUCTURED_ENDED ? OK : err_new(ERR_INVALID_INPUT);
}
