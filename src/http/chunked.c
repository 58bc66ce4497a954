/* SPDX-License-Identifier: Apache-2.0 */
#include "http/chunked.h"

enum {
    AT_SIZE,         /* hex digits */
    AT_EXTENSION,    /* after the size, up to the CR */
    AT_SIZE_LF,      /* the LF after it */
    AT_DATA,         /* the chunk's bytes */
    AT_DATA_CR,      /* the CR after them */
    AT_DATA_LF,      /* and the LF */
    AT_TRAILER,      /* the first byte of a line after the last chunk */
    AT_TRAILER_LINE, /* within such a line */
    AT_TRAILER_LF,   /* its LF */
    AT_LAST_LF,      /* the LF of the empty line at the end */
    AT_END,
};

void http_chunked_init(struct http_chunked *c)
{
    *c = (struct http_chunked){.state = AT_SIZE};
}

bool http_chunked_ended(const struct http_chunked *c)
{
    return c->state == AT_END;
}

static bool is_line_byte(char c)
{
    return c == '\t' || ((unsigned char)c >= 0x20 && (unsigned char)c != 0x7F);
}

static bool step_size(struct http_chunked *c, char byte)
{
    int digit = ascii_hex(byte);
    if (digit >= 0) {
        c->left = c->left << 4 | (uint64_t)digit;
        return ++c->digits <= CHUNK_SIZE_DIGITS_MAX;
    }
    c->line_bytes = 0;
    c->state = byte == '\r' ? AT_SIZE_LF : AT_EXTENSION;
    return c->digits > 0 && (byte == '\r' || byte == ';');
}

static bool step_extension(struct http_chunked *c, char byte)
{
    if (byte == '\r') {
        c->state = AT_SIZE_LF;
        return true;
    }
    return is_line_byte(byte) && ++c->line_bytes <= CHUNK_EXTENSION_BYTES_MAX;
}

static void begin_chunk(struct http_chunked *c)
{
    c->digits = 0;
    c->line_bytes = 0;
    c->state = c->left > 0 ? AT_DATA : AT_TRAILER;
}

static bool step_trailer(struct http_chunked *c, char byte)
{
    if (byte == '\r') {
        c->state = c->state == AT_TRAILER ? AT_LAST_LF : AT_TRAILER_LF;
        return true;
    }
    /* A line that begins with a space would continue the one before. */
    if (c->state == AT_TRAILER && (byte == ' ' || byte == '\t' || byte == ':'))
        return false;
    c->state = AT_TRAILER_LINE;
    return is_line_byte(byte) && ++c->line_bytes <= CHUNK_TRAILER_BYTES_MAX;
}

/* Processes one byte of framing. False if it is not allowed there. */
static bool step(struct http_chunked *c, char byte)
{
    switch (c->state) {
    case AT_SIZE:
        return step_size(c, byte);
    case AT_EXTENSION:
        return step_extension(c, byte);
    case AT_SIZE_LF:
        begin_chunk(c);
        return byte == '\n';
    case AT_DATA_CR:
        c->state = AT_DATA_LF;
        return byte == '\r';
    case AT_DATA_LF:
        c->state = AT_SIZE;
        return byte == '\n';
    case AT_TRAILER:
    case AT_TRAILER_LINE:
        return step_trailer(c, byte);
    case AT_TRAILER_LF:
        c->state = AT_TRAILER;
        return byte == '\n';
    case AT_LAST_LF:
        c->state = AT_END;
        return byte == '\n';
    default:
        return false;
    }
}

struct err http_chunked_next(struct http_chunked *c, struct str *input, struct str *data)
{
    *data = (struct str){input->p, 0};
    while (input->n > 0 && c->state != AT_END) {
        if (c->state == AT_DATA) {
            *data = str_head(*input, c->left < input->n ? (size_t)c->left : input->n);
            *input = str_from(*input, data->n);
            c->left -= data->n;
            if (c->left == 0)
                c->state = AT_DATA_CR;
            return OK;
        }
        if (!step(c, input->p[0]))
            return err_detail(ERR_BAD_REQUEST, "Reason\tThe chunks of the body are malformed.");
        *input = str_from(*input, 1);
    }
    return OK;
}
