/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/tar.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/mem.h"

/* POSIX ustar. */
struct header {
    char name[100];
    char mode[8], uid[8], gid[8];
    char size[12], mtime[12];
    char checksum[8];
    char type;
    char link[100];
    char magic[6], version[2];
    char user[32], group[32];
    char major[8], minor[8];
    char prefix[155];
    char rest[12];
};
static_assert(sizeof(struct header) == TAR_BLOCK, "as it is written");

static const char ZEROS[2 * TAR_BLOCK];
static const uint64_t SIZE_IN_OCTAL_MAX = 077777777777;

static uint64_t padding_of(uint64_t size)
{
    return (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK;
}

/* ---- writing ---- */

struct err tar_write(struct tar_writer *w, struct str bytes)
{
    while (bytes.n > 0) {
        ssize_t n = write(w->fd, bytes.p, bytes.n);
        if (n < 0 && errno != EINTR)
            return err_cause(ERR_IO, errno);
        if (n <= 0)
            continue;
        w->offset += (uint64_t)n;
        bytes = str_from(bytes, (size_t)n);
    }
    return OK;
}

struct err tar_end(struct tar_writer *w)
{
    return tar_write(w, (struct str){ZEROS, (size_t)padding_of(w->offset)});
}

struct err tar_finish(struct tar_writer *w)
{
    return tar_write(w, (struct str){ZEROS, sizeof ZEROS});
}

static unsigned checksum_of(const struct header *h)
{
    const unsigned char *p = (const unsigned char *)h;
    unsigned sum = 0;
    for (size_t i = 0; i < sizeof *h; i++) {
        bool own = i >= offsetof(struct header, checksum) && i < offsetof(struct header, type);
        sum += own ? ' ' : p[i];
    }
    return sum;
}

static struct err put_header(struct tar_writer *w, struct str name, uint64_t size, char type)
{
    struct header h = {.type = type};
    memcpy(h.name, name.p, name.n < sizeof h.name ? name.n : sizeof h.name);
    (void)snprintf(h.mode, sizeof h.mode, "0000644");
    (void)snprintf(h.uid, sizeof h.uid, "0000000");
    (void)snprintf(h.gid, sizeof h.gid, "0000000");
    (void)snprintf(h.size, sizeof h.size, "%011llo",
                   (unsigned long long)(size > SIZE_IN_OCTAL_MAX ? 0 : size));
    (void)snprintf(h.mtime, sizeof h.mtime, "00000000000");
    memcpy(h.magic, "ustar", 6);
    memcpy(h.version, "00", 2);
    (void)snprintf(h.checksum, sizeof h.checksum, "%06o", checksum_of(&h));
    h.checksum[7] = ' ';
    return tar_write(w, (struct str){(const char *)&h, sizeof h});
}

/* "27 path=some/long/name\n": the number counts itself too. */
static void put_record(struct buf *out, const char *key, struct str value)
{
    size_t n = strlen(key) + value.n + 3;
    size_t digits = 1;
    for (size_t limit = 10; n + digits >= limit; limit *= 10)
        digits++;
    buf_printf(out, "%zu %s=", n + digits, key);
    buf_put(out, value);
    buf_putc(out, '\n');
}

static bool fits_header(struct str label)
{
    for (size_t i = 0; i < label.n; i++)
        if ((unsigned char)label.p[i] >= 0x80)
            return false;
    return label.n <= sizeof((struct header *)NULL)->name;
}

static struct str u64_text(struct arena *a, uint64_t value)
{
    return arena_printf(a, "%llu", (unsigned long long)value);
}

/* "2\n0\n512\n4096\n512\n", padded to whole blocks. */
static struct str sparse_map(struct arena *a, const struct item_content *entry)
{
    struct buf map = buf_in(a);
    const struct item_span *last =
        entry->span_count > 0 ? &entry->spans[entry->span_count - 1] : NULL;
    /* A hole at the end is encoded as an empty span after it. */
    bool open_end = last == NULL || last->offset + last->length < entry->size;
    buf_printf(&map, "%zu\n", entry->span_count + open_end);
    for (size_t i = 0; i < entry->span_count; i++)
        buf_printf(&map, "%llu\n%llu\n", (unsigned long long)entry->spans[i].offset,
                   (unsigned long long)entry->spans[i].length);
    if (open_end)
        buf_printf(&map, "%llu\n0\n", (unsigned long long)entry->size);
    buf_put(&map, (struct str){ZEROS, (size_t)padding_of(map.n)});
    return buf_str(&map);
}

static uint64_t bytes_of(const struct item_content *entry)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < entry->span_count; i++)
        sum += entry->spans[i].length;
    return entry->sparse ? sum : entry->size;
}

/* A file without holes is not stored as sparse. */
static bool has_holes(const struct item_content *entry)
{
    return entry->sparse && bytes_of(entry) != entry->size;
}

struct err tar_begin(struct tar_writer *w, struct arena *a, const struct item_content *entry)
{
    struct buf pax = buf_in(a);
    struct str map = has_holes(entry) ? sparse_map(a, entry) : STR("");
    uint64_t size = bytes_of(entry) + map.n;
    if (has_holes(entry)) {
        put_record(&pax, "GNU.sparse.major", STR("1"));
        put_record(&pax, "GNU.sparse.minor", STR("0"));
        put_record(&pax, "GNU.sparse.name", entry->label);
        put_record(&pax, "GNU.sparse.realsize", u64_text(a, entry->size));
    }
    if (!fits_header(entry->label))
        put_record(&pax, "path", entry->label);
    if (size > SIZE_IN_OCTAL_MAX)
        put_record(&pax, "size", u64_text(a, size));
    if (pax.n > 0) {
        TRY(put_header(w, STR("pax"), pax.n, 'x'));
        TRY(tar_write(w, buf_str(&pax)));
        TRY(tar_end(w));
    }
    TRY(put_header(w, entry->label, size, '0'));
    return tar_write(w, map);
}

/* ---- reading ---- */

enum { SPARE_BYTES = 64 << 10 };

void tar_reader_init(struct tar_reader *r, int fd)
{
    *r = (struct tar_reader){.fd = fd, .seekable = lseek(fd, 0, SEEK_CUR) >= 0};
    r->spare = mem_alloc(SPARE_BYTES);
}

void tar_reader_release(struct tar_reader *r)
{
    free(r->spare);
}

/* ERR_IO with EPIPE at the end. */
static struct err read_some(struct tar_reader *r, uint64_t offset, char *into, size_t n,
                            size_t *got)
{
    for (;;) {
        ssize_t done = r->seekable ? pread(r->fd, into, n, (off_t)offset) : read(r->fd, into, n);
        if (done > 0) {
            *got = (size_t)done;
            if (!r->seekable)
                r->position += (uint64_t)done;
            return OK;
        }
        if (done == 0 || errno != EINTR)
            return err_cause(ERR_IO, done == 0 ? EPIPE : errno);
    }
}

static struct err skip_to(struct tar_reader *r, uint64_t offset)
{
    if (!r->seekable && offset < r->position)
        return err_detail(ERR_INVALID_INPUT, "an archive from a pipe cannot be read twice");
    while (!r->seekable && r->position < offset) {
        uint64_t left = offset - r->position;
        size_t n;
        TRY(read_some(r, 0, r->spare, left < SPARE_BYTES ? (size_t)left : SPARE_BYTES, &n));
    }
    return OK;
}

struct err tar_read_at(struct tar_reader *r, uint64_t offset, char *into, size_t n)
{
    TRY(skip_to(r, offset));
    while (n > 0) {
        size_t got = 0;
        TRY(read_some(r, offset, into, n, &got));
        into += got;
        offset += got;
        n -= got;
    }
    return OK;
}

static bool read_octal(const char *text, size_t n, uint64_t *out)
{
    uint64_t value = 0;
    size_t i = 0;
    while (i < n && text[i] == ' ')
        i++;
    for (; i < n && text[i] >= '0' && text[i] <= '7'; i++)
        value = value * 8 + (uint64_t)(text[i] - '0');
    *out = value;
    return i < n && (text[i] == '\0' || text[i] == ' ');
}

static bool is_sound(const struct header *h, uint64_t *size)
{
    uint64_t sum;
    return memcmp(h->magic, "ustar", 5) == 0 && read_octal(h->checksum, sizeof h->checksum, &sum) &&
           sum == checksum_of(h) && read_octal(h->size, sizeof h->size, size);
}

static struct err no_archive(void)
{
    return err_detail(ERR_INVALID_INPUT, "is no archive of this program, or is damaged");
}

/* The values of extended headers for the next entry. */
struct pax {
    struct str path, sparse_name, real_size, size;
    bool sparse;
};

static bool take_record(struct str *text, struct pax *pax)
{
    struct str start = *text;
    uint64_t length;
    if (!str_to_u64(str_cut(text, ' '), &length) || !str_given(*text) || length > start.n ||
        length < (size_t)(text->p - start.p) + 2 || start.p[length - 1] != '\n')
        return false;
    struct str value = {text->p, length - (size_t)(text->p - start.p) - 1};
    struct str key = str_cut(&value, '=');
    if (str_eq(key, STR("path")))
        pax->path = value;
    else if (str_eq(key, STR("size")))
        pax->size = value;
    else if (str_eq(key, STR("GNU.sparse.name")))
        pax->sparse_name = value;
    else if (str_eq(key, STR("GNU.sparse.realsize")))
        pax->real_size = value;
    else if (str_eq(key, STR("GNU.sparse.major")))
        pax->sparse = str_eq(value, STR("1"));
    *text = str_from(start, (size_t)length);
    return true;
}

static struct err read_pax(struct tar_reader *r, struct arena *a, uint64_t offset, uint64_t size,
                           struct pax *pax)
{
    if (size > TAR_PAX_BYTES_MAX)
        return no_archive();
    char *bytes = arena_bytes(a, (size_t)size);
    TRY(tar_read_at(r, offset, bytes, (size_t)size));
    struct str text = {bytes, (size_t)size};
    while (text.n > 0)
        if (!take_record(&text, pax))
            return no_archive();
    return OK;
}

/* Reads the map's numbers from its blocks. */
struct map_reader {
    struct tar_reader *tar;
    uint64_t offset;
    char block[TAR_BLOCK];
    size_t used, filled;
};

static struct err map_number(struct map_reader *m, uint64_t *out)
{
    uint64_t value = 0;
    for (unsigned digits = 0; digits < 20; digits++) {
        if (m->used == m->filled) {
            TRY(tar_read_at(m->tar, m->offset, m->block, TAR_BLOCK));
            m->offset += TAR_BLOCK;
            m->used = 0;
            m->filled = TAR_BLOCK;
        }
        char c = m->block[m->used++];
        if (c == '\n' && digits > 0) {
            *out = value;
            return OK;
        }
        if (c < '0' || c > '9')
            break;
        value = value * 10 + (uint64_t)(c - '0');
    }
    return no_archive();
}

static struct err read_map(struct tar_reader *r, struct arena *a, struct tar_entry *out)
{
    struct map_reader m = {.tar = r, .offset = out->data};
    uint64_t count;
    uint64_t end = 0;
    TRY(map_number(&m, &count));
    if (count > TAR_SPANS_MAX)
        return no_archive();
    out->content.sparse = true;
    out->content.spans = ARENA_ARRAY(a, struct item_span, count + 1);
    for (uint64_t i = 0; i < count; i++) {
        struct item_span *span = &out->content.spans[i];
        TRY(map_number(&m, &span->offset));
        TRY(map_number(&m, &span->length));
        if (span->offset < end || span->offset > out->content.size ||
            span->length > out->content.size - span->offset)
            return no_archive();
        end = span->offset + span->length;
    }
    if (count > 0 && out->content.spans[count - 1].length == 0)
        count--;
    out->content.span_count = (size_t)count;
    out->data = m.offset;
    return OK;
}

static struct err take_entry(struct tar_reader *r, struct arena *a, const struct header *h,
                             uint64_t size, const struct pax *pax, struct tar_entry *out)
{
    const struct str *name = pax->sparse ? &pax->sparse_name : &pax->path;
    *out = (struct tar_entry){.data = r->offset};
    out->content.label =
        str_given(*name) ? *name : arena_copy(a, (struct str){h->name, strnlen(h->name, 100)});
    out->content.size = size;
    r->offset += size + padding_of(size);
    if (!pax->sparse)
        return OK;
    if (!str_to_u64(pax->real_size, &out->content.size))
        return no_archive();
    return read_map(r, a, out);
}

struct err tar_next(struct tar_reader *r, struct arena *a, struct tar_entry *out, bool *found,
                    bool *whole)
{
    assert(found != NULL);
    struct pax pax = {.sparse = false};
    *found = *whole = false;
    for (;;) {
        struct header h;
        uint64_t size;
        struct err error = tar_read_at(r, r->offset, (char *)&h, sizeof h);
        if (err_is(error))
            return error.code == ERR_IO && error.cause == EPIPE ? OK : error;
        if (memcmp(&h, ZEROS, sizeof h) == 0) {
            *whole = true;
            return OK;
        }
        if (!is_sound(&h, &size))
            return no_archive();
        r->offset += sizeof h;
        if (h.type == 'x') {
            TRY(read_pax(r, a, r->offset, size, &pax));
            r->offset += size + padding_of(size);
            continue;
        }
        if (str_given(pax.size) && !str_to_u64(pax.size, &size))
            return no_archive();
        if (size > INT64_MAX - r->offset - TAR_BLOCK)
            return no_archive();
        *found = true;
        return take_entry(r, a, &h, size, &pax, out);
    }
}
