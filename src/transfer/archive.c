/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/archive.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/mem.h"

enum { JSON_BYTES_MAX = 64 << 20 };

/* ---- writing ---- */

static struct err put_text(struct tar_writer *w, struct arena *a, struct str label, struct str text)
{
    struct item_content entry = {.label = label, .size = text.n};
    TRY(tar_begin(w, a, &entry));
    TRY(tar_write(w, text));
    return tar_end(w);
}

struct err archive_put_header(struct tar_writer *w, struct arena *a)
{
    return put_text(w, a, STR(ARCHIVE_LABEL), STR(ARCHIVE_HEADER));
}

static struct err put_span(struct tar_writer *w, const struct item *item, size_t i,
                           struct item_span span, char *piece)
{
    while (span.length > 0) {
        size_t n = span.length < ITEM_PIECE_BYTES ? (size_t)span.length : ITEM_PIECE_BYTES;
        TRY(item->read(item, i, span.offset, n, piece));
        TRY(tar_write(w, (struct str){piece, n}));
        span.offset += n;
        span.length -= n;
    }
    return OK;
}

static struct err put_content(struct tar_writer *w, struct arena *a, const struct item *item,
                              size_t i, char *piece)
{
    const struct item_content *content = &item->contents[i];
    TRY(tar_begin(w, a, content));
    for (size_t k = 0; content->sparse && k < content->span_count; k++)
        TRY(put_span(w, item, i, content->spans[k], piece));
    if (!content->sparse)
        TRY(put_span(w, item, i, (struct item_span){0, content->size}, piece));
    return tar_end(w);
}

struct err archive_put_item(struct tar_writer *w, struct arena *a, const struct item *item,
                            char *piece, uint64_t *bytes)
{
    TRY(put_text(w, a, item->label, item->json));
    for (size_t i = 0; i < item->content_count; i++) {
        if (item->contents[i].absent)
            continue;
        TRY(put_content(w, a, item, i, piece));
        *bytes += item->contents[i].size;
    }
    return OK;
}

/* ---- reading ---- */

static bool is_json(struct str label)
{
    return str_ends(label, STR("%.json"));
}

static struct err read_text(struct archive_reader *r, struct arena *a, const struct tar_entry *e,
                            struct str *out)
{
    if (e->content.size > JSON_BYTES_MAX || e->content.sparse)
        return err_detail(ERR_INVALID_INPUT, "the archive has a description that is too long");
    char *bytes = arena_bytes(a, (size_t)e->content.size + 1);
    TRY(tar_read_at(&r->tar, e->data, bytes, (size_t)e->content.size));
    *out = (struct str){bytes, (size_t)e->content.size};
    return OK;
}

struct err archive_open(struct archive_reader *r, int fd, struct arena *a)
{
    struct tar_entry first;
    struct str text;
    bool found, whole;
    *r = (struct archive_reader){.spool = -1};
    tar_reader_init(&r->tar, fd);
    TRY(tar_next(&r->tar, a, &first, &found, &whole));
    if (!found || !str_eq(first.content.label, STR(ARCHIVE_LABEL)))
        return err_detail(ERR_INVALID_INPUT, "is no archive that `lazuli export` has made");
    TRY(read_text(r, a, &first, &text));
    if (!str_eq(text, STR(ARCHIVE_HEADER)))
        return err_detail(ERR_INVALID_INPUT, "is an archive of another format");
    r->whole = r->tar.offset;
    return OK;
}

void archive_close(struct archive_reader *r)
{
    tar_reader_release(&r->tar);
    if (r->spool >= 0)
        (void)close(r->spool);
}

struct item_at {
    struct tar_reader *tar;
    uint64_t *data; /* where each content begins */
    int spool;      /* the file that contains it; -1: the archive */
};

static struct err read_at(const struct item_at *at, uint64_t offset, char *into, size_t n)
{
    if (at->spool < 0)
        return tar_read_at(at->tar, offset, into, n);
    struct tar_reader spool = {.fd = at->spool, .seekable = true};
    return tar_read_at(&spool, offset, into, n);
}

static struct err read_content(const struct item *item, size_t i, uint64_t offset, size_t n,
                               char *into)
{
    const struct item_at *at = item->reader;
    const struct item_content *content = &item->contents[i];
    uint64_t data = at->data[i];
    if (!content->sparse)
        return read_at(at, data + offset, into, n);
    for (size_t k = 0; k < content->span_count; k++) {
        const struct item_span *span = &content->spans[k];
        if (offset >= span->offset && offset - span->offset < span->length)
            return n <= span->length - (offset - span->offset)
                       ? read_at(at, data + (offset - span->offset), into, n)
                       : err_detail(ERR_INVALID_INPUT, "bytes are read across a hole");
        data += span->length;
    }
    return err_detail(ERR_INVALID_INPUT, "bytes of a hole are read");
}

static bool kind_of(struct str name, enum item_kind *out)
{
    for (unsigned i = 0; i < ITEM_KINDS; i++)
        if (str_eq(name, str_of(ITEM_KIND_NAMES[i]))) {
            *out = (enum item_kind)i;
            return true;
        }
    return false;
}

static size_t count_states(const struct node *json)
{
    size_t count = 0;
    for (const struct node *n = document_first(document_member(json, "states")); n != NULL;
         n = n->next)
        count++;
    return count;
}

/* A page blob or file without holes is stored in the archive without a map. */
static void dense_span(struct arena *a, struct item_content *content)
{
    if (content->sparse || content->size == 0)
        return;
    content->sparse = true;
    content->spans = ARENA_NEW(a, struct item_span);
    content->spans[0] = (struct item_span){0, content->size};
    content->span_count = 1;
}

/* The states of a blob are not created in the order of the archive, and a pipe cannot be read
 * twice. So the content from a pipe is written to an unnamed file while the item is created. */
static struct err keep_content(struct archive_reader *r, struct tar_entry *e)
{
    enum { COPY_BYTES = 64 << 10 };
    char bytes[COPY_BYTES];
    struct tar_writer spool;
    uint64_t left = e->content.sparse ? 0 : e->content.size;
    for (size_t i = 0; i < e->content.span_count; i++)
        left += e->content.spans[i].length;
    if (r->spool < 0)
        r->spool = open(getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp",
                        O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    off_t end = r->spool < 0 ? -1 : lseek(r->spool, 0, SEEK_END);
    if (end < 0)
        return err_cause(ERR_IO, errno);
    spool = (struct tar_writer){.fd = r->spool, .offset = (uint64_t)end};
    for (uint64_t at = e->data; left > 0;) {
        size_t n = left < COPY_BYTES ? (size_t)left : COPY_BYTES;
        TRY(tar_read_at(&r->tar, at, bytes, n));
        TRY(tar_write(&spool, (struct str){bytes, n}));
        at += n;
        left -= n;
    }
    e->data = (uint64_t)end;
    return OK;
}

static struct err take_contents(struct archive_reader *r, struct arena *a, const struct node *json,
                                struct item *out, bool *found)
{
    struct item_at *at = ARENA_NEW(a, struct item_at);
    const struct node *state = document_first(document_member(json, "states"));
    size_t count = out->kind == ITEM_FILE ? 1 : count_states(json);
    bool whole;
    bool spooled = !r->tar.seekable && count > 1;
    if (r->spool >= 0 && ftruncate(r->spool, 0) != 0)
        return err_cause(ERR_IO, errno);
    *at = (struct item_at){&r->tar, ARENA_ARRAY(a, uint64_t, count + 1), -1};
    out->contents = ARENA_ARRAY(a, struct item_content, count + 1);
    out->content_count = count;
    out->reader = at;
    out->read = read_content;
    for (size_t i = 0; i < count; i++, state = state == NULL ? NULL : state->next) {
        struct tar_entry e;
        if (str_eq(document_text(state, "is"), STR("folder"))) {
            out->contents[i].absent = true;
            continue;
        }
        TRY(tar_next(&r->tar, a, &e, found, &whole));
        if (!*found)
            return OK;
        if (is_json(e.content.label))
            return err_detail(ERR_INVALID_INPUT, "the archive misses the content of an item");
        if (spooled)
            TRY(keep_content(r, &e));
        out->contents[i] = e.content;
        at->data[i] = e.data;
        at->spool = spooled ? r->spool : -1;
        if (out->kind == ITEM_FILE || str_eq(document_text(state, "type"), STR("PageBlob")))
            dense_span(a, &out->contents[i]);
    }
    return OK;
}

/* The file may contain less of the last entry than its header announces. */
static bool is_cut_off(struct archive_reader *r)
{
    char last;
    return r->tar.seekable && err_is(tar_read_at(&r->tar, r->tar.offset - 1, &last, 1));
}

struct err archive_next(struct archive_reader *r, struct arena *a, struct item *out, bool *found,
                        bool *whole)
{
    assert(out != NULL);
    struct tar_entry e;
    *out = (struct item){.kind = ITEM_ACCOUNT};
    TRY(tar_next(&r->tar, a, &e, found, whole));
    if (!*found)
        return OK;
    if (!is_json(e.content.label))
        return err_detail(ERR_INVALID_INPUT, "the archive has a content without its item");
    if (is_cut_off(r)) {
        *found = false;
        return OK;
    }
    out->label = e.content.label;
    TRY(read_text(r, a, &e, &out->json));
    const struct node *json = document_parse(a, out->json);
    if (json == NULL || !kind_of(document_text(json, "kind"), &out->kind))
        return err_detail(ERR_INVALID_INPUT, "the archive has an item that cannot be read");
    if (out->kind == ITEM_BLOB || out->kind == ITEM_FILE)
        TRY(take_contents(r, a, json, out, found));
    if (*found && is_cut_off(r))
        *found = false;
    if (*found)
        r->whole = r->tar.offset;
    return OK;
}

struct err archive_place(struct arena *a, const struct item *item, struct position *position,
                         struct str *account)
{
    static const struct {
        const char *container, *name;
    } MEMBERS[ITEM_KINDS] = {
        [ITEM_ACCOUNT] = {"", ""},
        [ITEM_SERVICE] = {"service", ""},
        [ITEM_CONTAINER] = {"name", ""},
        [ITEM_BLOB] = {"container", "name"},
        [ITEM_QUEUE] = {"name", ""},
        [ITEM_MESSAGES] = {"queue", "part"},
        [ITEM_TABLE] = {"name", ""},
        [ITEM_ENTITIES] = {"table", "part"},
        [ITEM_SHARE] = {"name", ""},
        [ITEM_FILE] = {"share", "path"},
        [ITEM_DIRECTORY] = {"share", "path"},
    };
    const struct node *json = document_parse(a, item->json);
    *position = (struct position){item->kind, document_text(json, MEMBERS[item->kind].container),
                                  document_text(json, MEMBERS[item->kind].name)};
    *account = document_text(json, "account");
    return str_given(*account) ? OK : err_detail(ERR_INVALID_INPUT, "an item names no account");
}
