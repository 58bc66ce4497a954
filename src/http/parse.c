/* SPDX-License-Identifier: Apache-2.0 */
#include "http/parse.h"

#include "core/word.h"

/* Character classes. */
enum { IN_TOKEN = 1, IN_VALUE = 2, IN_TARGET = 4, IN_HOST = 8 };

#define T (IN_TOKEN | IN_VALUE | IN_TARGET)
#define H (IN_TOKEN | IN_VALUE | IN_TARGET | IN_HOST)
#define V (IN_VALUE | IN_TARGET)
#define G (IN_VALUE | IN_TARGET | IN_HOST)
#define W (IN_VALUE)
/* Rows of sixteen. '#' is not allowed in a target (a fragment is not sent), bytes above 0x7F only
 * in a value. A host is a name or a bracketed address with an optional port. */
// clang-format off
static const unsigned char BYTE_IN[256] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, W, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    W, T, V, IN_TOKEN | IN_VALUE, T, H, T, T, V, V, T, T, V, H, H, V,  /*  !"#$%&'()*+,-./ */
    H, H, H, H, H, H, H, H, H, H, G, V, V, V, V, V,                    /* 0-9 : ; < = > ? */
    V, H, H, H, H, H, H, H, H, H, H, H, H, H, H, H,                    /* @ A-O */
    H, H, H, H, H, H, H, H, H, H, H, G, V, G, T, H,                    /* P-Z [ \ ] ^ _ */
    T, H, H, H, H, H, H, H, H, H, H, H, H, H, H, H,                    /* ` a-o */
    H, H, H, H, H, H, H, H, H, H, H, V, T, V, T, 0,                    /* p-z { | } ~ DEL */
    W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W,
    W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W,
    W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W,
    W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W,
};
// clang-format on
#undef T
#undef H
#undef V
#undef G
#undef W

static bool all_in(struct str s, unsigned char kind)
{
    for (size_t i = 0; i < s.n; i++)
        if (!(BYTE_IN[(unsigned char)s.p[i]] & kind))
            return false;
    return true;
}

bool http_is_token(struct str s)
{
    return s.n > 0 && all_in(s, IN_TOKEN);
}

bool http_is_field_value(struct str s)
{
    return !str_has_control(s) || all_in(s, IN_VALUE);
}

COLD static struct err bad(const char *why)
{
    return err_detail(ERR_BAD_REQUEST, why);
}

/* ---- where the head ends ---- */

/* The longest request line: the longest target with a method and a version around it. */
enum { REQUEST_LINE_BYTES_MAX = HTTP_TARGET_BYTES_MAX + 64 };

static struct err scan_more(struct str input)
{
    if (memchr(input.p, '\n', input.n) == NULL && input.n > REQUEST_LINE_BYTES_MAX)
        return err_new(ERR_URI_TOO_LONG);
    if (input.n >= HTTP_HEAD_BYTES_MAX)
        return err_new(ERR_HEADERS_TOO_LARGE);
    return OK;
}

struct err http_scan_head(struct str input, size_t *scanned, size_t *length)
{
    *length = 0;
    if (input.n == 0)
        return OK;
    /* For example, refuse a TLS greeting on a plain port here and not at the time-out. */
    if (!(BYTE_IN[(unsigned char)input.p[0]] & IN_TOKEN))
        return bad("Reason\tThe request line does not begin with a method.");
    for (size_t at = *scanned;;) {
        const char *end = memchr(input.p + at, '\n', input.n - at);
        if (end == NULL)
            break;
        size_t lf = (size_t)(end - input.p);
        if (lf == 0 || input.p[lf - 1] != '\r')
            return bad("Reason\tA line ends in LF alone.");
        if (lf >= HTTP_HEAD_BYTES_MAX)
            return err_new(ERR_HEADERS_TOO_LARGE);
        /* lf - 1 == *scanned: the line is empty except for its CR LF, and is not the first. */
        if (lf - 1 == *scanned && *scanned > 0) {
            *length = lf + 1;
            return OK;
        }
        at = *scanned = lf + 1;
    }
    return scan_more(input);
}

/* ---- the request line ---- */

static const struct {
    struct str name;
    enum http_method method;
} METHODS[] = {
    {STR_INIT("GET"), HTTP_GET},         {STR_INIT("PUT"), HTTP_PUT},
    {STR_INIT("HEAD"), HTTP_HEAD},       {STR_INIT("POST"), HTTP_POST},
    {STR_INIT("DELETE"), HTTP_DELETE},   {STR_INIT("MERGE"), HTTP_MERGE},
    {STR_INIT("OPTIONS"), HTTP_OPTIONS}, {STR_INIT("PATCH"), HTTP_PATCH},
};
enum { METHOD_COUNT = sizeof METHODS / sizeof METHODS[0], METHOD_BYTES_MAX = 32 };

struct str http_method_name(enum http_method method)
{
    for (size_t i = 0; i < METHOD_COUNT; i++)
        if (METHODS[i].method == method)
            return METHODS[i].name;
    return STR("OTHER");
}

static struct err parse_method(struct str text, struct http_request *out)
{
    if (text.n > METHOD_BYTES_MAX || !http_is_token(text))
        return bad("Reason\tThe method is not a token.");
    out->method_text = text;
    out->method = HTTP_METHOD_OTHER;
    for (size_t i = 0; i < METHOD_COUNT && out->method == HTTP_METHOD_OTHER; i++)
        if (str_eq(METHODS[i].name, text))
            out->method = METHODS[i].method;
    return OK;
}

/* A name or an address, with an optional port. Callers check the name. */
static bool is_host(struct str host)
{
    return host.n > 0 && host.n <= 512 && all_in(host, IN_HOST);
}

static void split_query(struct str path_and_query, struct http_request *out)
{
    out->query = path_and_query;
    out->path = str_cut(&out->query, '?');
}

/* http://authority/path?query, as proxies send it: the authority replaces the Host header. */
static struct err parse_absolute(struct str target, struct http_request *out)
{
    size_t scheme = str_istarts(target, STR("http://"))    ? sizeof "http://" - 1
                    : str_istarts(target, STR("https://")) ? sizeof "https://" - 1
                                                           : 0;
    if (scheme == 0)
        return bad("Reason\tThe request target is neither a path nor a URL.");
    struct str rest = str_from(target, scheme);
    size_t host = 0;
    while (host < rest.n && rest.p[host] != '/' && rest.p[host] != '?')
        host++;
    out->host = str_head(rest, host);
    if (!is_host(out->host))
        return bad("Reason\tThe request target names no valid host.");
    split_query(str_from(rest, host), out);
    if (out->path.n == 0)
        out->path = STR("/");
    return OK;
}

/* A target may contain all visible ASCII except '#': fragments are not sent. */
static bool word_is_target(uint64_t word)
{
    uint64_t space = word - word_all(0x21);
    uint64_t delete = word + word_all(1);
    uint64_t hash = (word ^ word_all('#')) - word_all(1);
    return ((word | space | delete | hash) & word_all(0x80)) == 0;
}

/* Works on words, of which the last two may overlap; short texts byte by byte. */
static bool is_target(struct str s)
{
    if (s.n < WORD_BYTES)
        return all_in(s, IN_TARGET);
    for (size_t i = 0; i + WORD_BYTES < s.n; i += WORD_BYTES)
        if (!word_is_target(word_load(s.p + i)))
            return false;
    return word_is_target(word_load(s.p + s.n - WORD_BYTES));
}

static struct err parse_target(struct str target, struct http_request *out)
{
    if (target.n > HTTP_TARGET_BYTES_MAX)
        return err_new(ERR_URI_TOO_LONG);
    if (target.n == 0 || !is_target(target))
        return bad("Reason\tThe request target has characters that must be percent-encoded.");
    out->target = target;
    if (target.p[0] == '/') {
        split_query(target, out);
        return OK;
    }
    if (str_eq(target, STR("*")) && out->method == HTTP_OPTIONS) {
        out->path = STR("/");
        return OK;
    }
    return parse_absolute(target, out);
}

static struct err parse_version(struct str text, struct http_request *out)
{
    if (str_eq(text, STR("HTTP/1.1")) || str_eq(text, STR("HTTP/1.0"))) {
        out->version_minor = text.p[7] - '0';
        return OK;
    }
    if (text.n == 8 && str_starts(text, STR("HTTP/")) && ascii_digit(text.p[5]) &&
        text.p[6] == '.' && ascii_digit(text.p[7]))
        return err_new(ERR_HTTP_VERSION);
    return bad("Reason\tThe request line does not end in a version of HTTP.");
}

/* Exactly one space between method, target and version, none around them. */
static struct err parse_request_line(struct str line, struct http_request *out)
{
    struct str rest = line;
    TRY(parse_method(str_cut(&rest, ' '), out));
    struct str target = str_given(rest) ? str_cut(&rest, ' ') : STR_NONE;
    TRY(parse_target(target, out));
    return parse_version(rest, out);
}

/* ---- headers ---- */

struct err http_parse_header(struct str line, struct http_header *out)
{
    if (line.p[0] == ' ' || line.p[0] == '\t')
        return bad("Reason\tA header is folded over several lines.");
    size_t colon = 0;
    while (colon < line.n && (BYTE_IN[(unsigned char)line.p[colon]] & IN_TOKEN))
        colon++; /* a colon is not part of a token */
    if (colon == 0 || colon == line.n || line.p[colon] != ':')
        return bad(
            str_find(line, ':', 0) == line.n
                ? "Reason\tA header has no colon."
                : "Reason\tA header's name is empty or has characters that are not allowed.");
    out->name = str_head(line, colon);
    out->value = str_trim(str_from(line, colon + 1));
    if (!http_is_field_value(out->value))
        return bad("Reason\tA header's value has control characters.");
    return OK;
}

/* The framing headers seen so far. */
struct framing {
    unsigned hosts;
    unsigned lengths;
    unsigned encodings;
    bool close;
};

static struct err note_host(struct str value, struct framing *seen, struct http_request *out)
{
    if (seen->hosts++ > 0)
        return bad("HeaderName\tHost\nReason\tThe header is given more than once.");
    if (!is_host(value))
        return bad("HeaderName\tHost\nReason\tThe header names no valid host.");
    if (!str_given(out->host))
        out->host = value;
    return OK;
}

static struct err note_length(struct str value, struct framing *seen, struct http_request *out)
{
    if (seen->lengths++ > 0)
        return bad("HeaderName\tContent-Length\nReason\tThe header is given more than once.");
    uint64_t length;
    if (!str_to_u64(value, &length) || length > INT64_MAX)
        return bad("HeaderName\tContent-Length\nReason\tThe header is not a decimal number.");
    out->content_length = (int64_t)length;
    return OK;
}

static struct err note_encoding(struct str value, struct framing *seen, struct http_request *out)
{
    if (seen->encodings++ > 0 || !str_ieq(value, STR("chunked")))
        return bad("HeaderName\tTransfer-Encoding\nReason\tOnly a single \"chunked\" is served.");
    out->chunked = true;
    return OK;
}

static struct err note_header(const struct http_header *header, struct framing *seen,
                              struct http_request *out)
{
    struct str name = header->name;
    switch (name.n) {
    case sizeof "Host" - 1:
        return str_ieq(name, STR("Host")) ? note_host(header->value, seen, out) : OK;
    case sizeof "Expect" - 1:
        if (str_ieq(name, STR("Expect")) && str_ieq(header->value, STR("100-continue")))
            out->expect_continue = true;
        return OK;
    case sizeof "Connection" - 1:
        if (str_ieq(name, STR("Connection")) && http_list_has(header->value, STR("close")))
            seen->close = true;
        return OK;
    case sizeof "Content-Length" - 1:
        return str_ieq(name, STR("Content-Length")) ? note_length(header->value, seen, out) : OK;
    case sizeof "Transfer-Encoding" - 1:
        return str_ieq(name, STR("Transfer-Encoding")) ? note_encoding(header->value, seen, out)
                                                       : OK;
    default:
        return OK;
    }
}

static struct err check_framing(const struct framing *seen, struct http_request *out)
{
    if (seen->hosts == 0 && out->version_minor > 0)
        return bad("HeaderName\tHost\nReason\tThe header is missing.");
    if (seen->encodings > 0 && seen->lengths > 0)
        return bad("Reason\tContent-Length and Transfer-Encoding are both given.");
    if (seen->encodings > 0 && out->version_minor == 0)
        return bad("Reason\tHTTP/1.0 has no Transfer-Encoding.");
    /* An HTTP/1.0 connection always ends after its reply, which simplifies a body without a
     * length. */
    out->keep_alive = out->version_minor > 0 && !seen->close;
    out->expect_continue = out->expect_continue && out->version_minor > 0;
    return OK;
}

struct str http_next_line(struct str *rest)
{
    size_t lf = str_find(*rest, '\n', 0);
    struct str line = str_head(*rest, lf > 0 ? lf - 1 : 0);
    *rest = str_from(*rest, lf + 1);
    return line;
}

struct err http_parse_head(struct str head, struct http_header *headers, struct http_request *out)
{
    *out = (struct http_request){.headers = headers, .content_length = -1};
    struct framing seen = {0};
    struct str rest = head;
    TRY(parse_request_line(http_next_line(&rest), out));
    for (struct str line; (line = http_next_line(&rest)).n > 0;) {
        if (out->header_count == HTTP_HEADERS_MAX)
            return err_new(ERR_HEADERS_TOO_LARGE);
        struct http_header *header = &headers[out->header_count++];
        TRY(http_parse_header(line, header));
        out->names |= http_name_mark(header->name);
        TRY(note_header(header, &seen, out));
    }
    return check_framing(&seen, out);
}

bool http_list_has(struct str list, struct str token)
{
    for (struct str rest = list; str_given(rest);)
        if (str_ieq(str_trim(str_cut(&rest, ',')), token))
            return true;
    return false;
}
