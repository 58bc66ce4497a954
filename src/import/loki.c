/* SPDX-License-Identifier: Apache-2.0 */
#include "import/loki.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/mem.h"

enum { WINDOW_BYTES = 1 << 20, KEY_BYTES_MAX = 32, FILE_DEPTH_MAX = 64 };

/* The depths of the braces and brackets around what is looked for. */
enum { DEPTH_FILE = 1, DEPTH_COLLECTIONS, DEPTH_COLLECTION, DEPTH_DATA };

struct walk {
    int fd;
    const struct loki_visit *visit;
    char *window;
    size_t n, at;
    uint64_t base; /* where in the file the window begins */
    struct err error;
    /* Structure. */
    unsigned depth;
    char open[FILE_DEPTH_MAX + 1]; /* which bracket opened each depth */
    bool in_string, escaped;
    bool stopped;
    bool lost; /* in a data array, after damage: what looks like a document may be part of a larger
                  one */
    /* The current or last string, truncated to the length that matters. */
    char text[LOKI_COLLECTION_BYTES_MAX + 1];
    size_t text_n;
    /* The key of the value that comes next, in the file's object and in a collection's. */
    char key[KEY_BYTES_MAX];
    size_t key_n;
    char collection[LOKI_COLLECTION_BYTES_MAX + 1];
    size_t collection_n;
    bool in_collections, in_data;
    uint64_t document; /* where the open document began */
    struct loki_outcome outcome;
};

static bool next_byte(struct walk *w, char *c)
{
    if (w->at == w->n) {
        ssize_t got;
        w->base += w->n;
        do
            got = pread(w->fd, w->window, WINDOW_BYTES, (off_t)w->base);
        while (got < 0 && errno == EINTR);
        if (got < 0)
            w->error = err_cause(ERR_IO, errno);
        w->n = got > 0 ? (size_t)got : 0;
        w->at = 0;
        if (w->n == 0)
            return false;
    }
    *c = w->window[w->at++];
    return true;
}

/* Returns the offset of the last byte read. */
static uint64_t position(const struct walk *w)
{
    return w->base + w->at - 1;
}

static void damaged(struct walk *w, uint64_t offset, const char *what)
{
    w->outcome.whole = false;
    w->visit->damage(w->visit->arg, offset, what);
}

static bool key_is(const struct walk *w, const char *wanted)
{
    return str_eq((struct str){w->key, w->key_n}, str_of(wanted));
}

static void end_string(struct walk *w)
{
    w->in_string = false;
    if (w->depth == DEPTH_COLLECTION && w->in_collections && key_is(w, "name")) {
        memcpy(w->collection, w->text, w->text_n);
        w->collection_n = w->text_n;
        w->key_n = 0;
    }
}

/* Names of collections contain no character that JSON escapes, so text after a backslash belongs to
 * a document or is irrelevant. */
static void string_byte(struct walk *w, char c)
{
    if (w->escaped)
        w->escaped = false;
    else if (c == '\\')
        w->escaped = true;
    else if (c == '"')
        end_string(w);
    else if (w->text_n < sizeof w->text - 1)
        w->text[w->text_n++] = c;
}

static void open_value(struct walk *w, char c)
{
    if (w->depth == DEPTH_FILE && c == '[')
        w->in_collections = key_is(w, "collections");
    if (w->depth == DEPTH_COLLECTIONS && w->in_collections)
        w->collection_n = 0;
    if (w->depth == DEPTH_COLLECTION && w->in_collections && c == '[')
        w->in_data = key_is(w, "data");
    if (w->depth == DEPTH_DATA && w->in_data)
        w->document = position(w);
    w->key_n = 0;
    w->depth++;
    if (w->depth <= FILE_DEPTH_MAX)
        w->open[w->depth] = c;
}

static void close_document(struct walk *w)
{
    struct loki_span span = {w->document, position(w) + 1 - w->document};
    struct str collection = {w->collection, w->collection_n};
    w->outcome.documents++;
    w->stopped = !w->visit->document(w->visit->arg, collection, span);
}

/* Continues at the next document: after damage nothing else is reliable. */
static void look_for_document(struct walk *w)
{
    static const char mark[] = "},{\"";
    size_t seen = 0;
    char c;
    while (seen < sizeof mark - 1 && next_byte(w, &c))
        seen = c == mark[seen] ? seen + 1 : c == mark[0] ? 1 : 0;
    if (seen < sizeof mark - 1)
        return;
    w->document = position(w) - 1;
    w->lost = true;
    w->depth = DEPTH_DATA + 1;
    w->open[w->depth] = '{';
    w->in_string = true;
    w->escaped = false;
    w->text_n = 0;
}

static void lose(struct walk *w, const char *what)
{
    damaged(w, position(w), what);
    if (w->in_data)
        look_for_document(w);
    else
        w->stopped = true;
}

/* The text that LokiJS writes after a collection's documents. Any other array ends here. */
static bool ends_data(const struct walk *w)
{
    static const char mark[] = ",\"idIndex\"";
    char found[sizeof mark - 1];
    return pread(w->fd, found, sizeof found, (off_t)(position(w) + 1)) == (ssize_t)sizeof found &&
           memcmp(found, mark, sizeof found) == 0;
}

static void close_value(struct walk *w, char c)
{
    if (w->lost && w->depth == DEPTH_DATA && !ends_data(w)) {
        look_for_document(w);
        return;
    }
    bool fits =
        w->depth > 0 && w->depth <= FILE_DEPTH_MAX && w->open[w->depth] == (c == '}' ? '{' : '[');
    if (!fits) {
        lose(w, "brackets that do not match");
        return;
    }
    w->depth--;
    if (w->depth == DEPTH_DATA && w->in_data)
        close_document(w);
    if (w->depth == DEPTH_COLLECTION)
        w->in_data = w->lost = false;
    if (w->depth == DEPTH_FILE)
        w->in_collections = false;
}

/* File systems leave zeros where data never reached the disk. */
static bool is_structure(char c)
{
    return c == ',' || c == ' ' || c == '\n' || c == '\r' || c == '\t' || ascii_digit(c) ||
           ascii_alpha(c) || c == '-' || c == '+' || c == '.';
}

static void byte(struct walk *w, char c)
{
    if (w->in_string && (unsigned char)c >= 0x20) {
        string_byte(w, c);
    } else if (w->in_string) {
        lose(w, "a control character in a string");
    } else if (c == '"') {
        w->in_string = true;
        w->text_n = 0;
    } else if (c == ':') {
        w->key_n = w->text_n < sizeof w->key ? w->text_n : 0;
        memcpy(w->key, w->text, w->key_n);
    } else if (c == '{' || c == '[') {
        open_value(w, c);
    } else if (c == '}' || c == ']') {
        close_value(w, c);
    } else if (!is_structure(c)) {
        lose(w, "bytes that are no JSON");
    }
}

struct err loki_walk(int fd, const struct loki_visit *visit, struct loki_outcome *out)
{
    assert(out != NULL);
    struct walk w = {.fd = fd, .visit = visit, .error = OK, .outcome = {.whole = true}};
    char c;
    w.window = mem_alloc(WINDOW_BYTES);
    while (!w.stopped && next_byte(&w, &c))
        byte(&w, c);
    if (!w.stopped && (w.depth > 0 || w.base + w.n == 0))
        damaged(&w, w.base + w.n, w.base + w.n == 0 ? "the file is empty" : "the file ends early");
    free(w.window);
    *out = w.outcome;
    return w.error;
}

struct err loki_read(int fd, struct loki_span span, struct arena *a, struct str *out)
{
    assert(out != NULL);
    if (span.length > LOKI_DOCUMENT_BYTES_MAX)
        return err_new(ERR_INVALID_INPUT);
    char *bytes = arena_bytes(a, (size_t)span.length + 1);
    size_t n = 0;
    while (n < span.length) {
        ssize_t got = pread(fd, bytes + n, (size_t)span.length - n, (off_t)(span.offset + n));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return err_cause(ERR_IO, got < 0 ? errno : EIO);
        n += (size_t)got;
    }
    *out = (struct str){bytes, n};
    return OK;
}
