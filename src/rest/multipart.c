/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/multipart.h"

#include <assert.h>

#include "http/parse.h"

struct str multipart_boundary(struct str content_type)
{
    struct str type = str_trim(str_cut(&content_type, ';'));
    if (!str_ieq(type, STR("multipart/mixed")))
        return STR_NONE;
    while (str_given(content_type)) {
        struct str value = str_cut(&content_type, ';');
        struct str name = str_trim(str_cut(&value, '='));
        if (!str_ieq(name, STR("boundary")))
            continue;
        value = str_trim(value);
        if (value.n >= 2 && value.p[0] == '"' && value.p[value.n - 1] == '"')
            value = (struct str){value.p + 1, value.n - 2};
        return value.n > 0 && value.n <= MULTIPART_BOUNDARY_MAX ? value : STR_NONE;
    }
    return STR_NONE;
}

/* Removes the first line and returns it without its end. */
static struct str take_line(struct str *rest)
{
    struct str line = str_cut(rest, '\n');
    if (line.n > 0 && line.p[line.n - 1] == '\r')
        line.n--;
    if (!str_given(*rest))
        *rest = (struct str){line.p + line.n, 0};
    return line;
}

enum delimiter { DELIMITER_NONE, DELIMITER_PART, DELIMITER_END };

/* Classifies a line: white space may follow a delimiter. */
static enum delimiter delimiter_of(struct str line, struct str boundary)
{
    if (!str_starts(line, STR("--")) || !str_starts(str_from(line, 2), boundary))
        return DELIMITER_NONE;
    struct str after = str_from(line, 2 + boundary.n);
    bool end = str_starts(after, STR("--"));
    after = str_trim(end ? str_from(after, 2) : after);
    if (after.n > 0)
        return DELIMITER_NONE;
    return end ? DELIMITER_END : DELIMITER_PART;
}

/* Moves past the next delimiter line. *before is the text before it. */
static enum delimiter take_to_delimiter(struct multipart *m, struct str *before)
{
    const char *start = m->rest.p;
    while (m->rest.n > 0) {
        const char *line_start = m->rest.p;
        struct str line = take_line(&m->rest);
        enum delimiter found = delimiter_of(line, m->boundary);
        if (found == DELIMITER_NONE)
            continue;
        *before = (struct str){start, (size_t)(line_start - start)};
        return found;
    }
    return DELIMITER_NONE;
}

struct multipart multipart_of(struct str body, struct str boundary)
{
    struct multipart m = {.rest = body, .boundary = boundary};
    struct str preamble;
    enum delimiter first = take_to_delimiter(&m, &preamble);
    m.ended = first == DELIMITER_END;
    if (first != DELIMITER_PART)
        m.rest.n = 0;
    return m;
}

bool multipart_next(struct multipart *m, struct str *part)
{
    if (m->ended || m->rest.n == 0)
        return false;
    enum delimiter found = take_to_delimiter(m, part);
    m->ended = found == DELIMITER_END;
    if (found == DELIMITER_NONE)
        return false;
    if (part->n > 0 && part->p[part->n - 1] == '\n')
        part->n--;
    if (part->n > 0 && part->p[part->n - 1] == '\r')
        part->n--;
    return true;
}

/* ---- headers ---- */

static bool take_header(struct str line, struct http_header *out)
{
    size_t colon = str_find(line, ':', 0);
    if (colon == 0 || colon == line.n)
        return false;
    out->name = str_head(line, colon);
    out->value = str_trim(str_from(line, colon + 1));
    return http_is_token(out->name) && http_is_field_value(out->value);
}

bool multipart_split(struct str part, struct multipart_headers *headers, struct str *body)
{
    headers->count = 0;
    while (part.n > 0) {
        struct str line = take_line(&part);
        if (line.n == 0) {
            *body = part;
            return true;
        }
        if (headers->count == MULTIPART_HEADERS_MAX ||
            !take_header(line, &headers->items[headers->count++]))
            return false;
    }
    /* No empty line: only headers, as a request without a body may end. */
    *body = part;
    return true;
}

struct str multipart_header(const struct multipart_headers *headers, struct str name)
{
    for (size_t i = 0; i < headers->count; i++)
        if (headers->items[i].value.n > 0 && str_ieq(headers->items[i].name, name))
            return headers->items[i].value;
    return STR_NONE;
}

/* ---- requests ---- */

bool multipart_request_of(struct str text, struct multipart_request *out)
{
    assert(out != NULL);
    struct str line = take_line(&text);
    size_t first = str_find(line, ' ', 0);
    if (first == 0 || first == line.n)
        return false;
    out->method = str_head(line, first);
    struct str rest = str_from(line, first + 1);
    /* The version follows the last space. */
    size_t last = rest.n;
    while (last > 0 && rest.p[last - 1] != ' ')
        last--;
    if (last < 2 || !str_starts(str_from(rest, last), STR("HTTP/1.")))
        return false;
    out->address = str_trim(str_head(rest, last - 1));
    return http_is_token(out->method) && out->address.n > 0 && !str_has_control(out->address) &&
           multipart_split(text, &out->headers, &out->body);
}
