/* SPDX-License-Identifier: Apache-2.0 */
/* `lazuli check`: reads every row, value and extent, and compares the references in rows with
 * the reference counts and with the files. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/mem.h"
#include "engine/local/damage.h"
#include "engine/local/local_internal.h"

enum { ROWS_STEP = 1024 /* between two reports of the progress */ };

/* A range of a segment that is accounted for. */
struct range {
    uint64_t segment;
    uint64_t offset;
    uint64_t end;
};

struct checker {
    struct local_engine *engine;
    struct engine_check *check;
    struct local_txn txn;
    struct extent *named; /* by rows, one entry per reference */
    size_t named_count;
    size_t named_capacity;
    struct range *ranges;
    size_t range_count;
    size_t range_capacity;
    char *bytes; /* buffer for one extent */
    struct damage damage;
    bool naming;         /* second pass over the rows: finds the owners of damaged data */
    uint64_t rows_about; /* estimated number of rows */
    uint64_t extent_bytes;
    uint64_t extent_bytes_about;
};

static void problem(struct checker *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void problem(struct checker *c, const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    c->check->problems++;
    c->check->problem(c->check->arg, line);
}

static void tell_progress(const struct checker *c, const char *doing, uint64_t done, uint64_t of)
{
    if (c->check->progress != NULL)
        c->check->progress(c->check->arg, doing, done < of ? done : of, of);
}

/* ---- rows ---- */

static void note_named(void *sink, const struct extent *x)
{
    struct checker *c = sink;
    if (c->named_count == c->named_capacity) {
        c->named_capacity = c->named_capacity == 0 ? 1024 : c->named_capacity * 2;
        c->named = mem_realloc(c->named, c->named_capacity * sizeof *c->named);
    }
    c->named[c->named_count++] = *x;
}

/* Problems name rows by key; unprintable bytes are shown as '.'. */
static void printable(char to[128], struct str key)
{
    struct str some = str_head(key, 127);
    for (size_t i = 0; i < some.n; i++)
        to[i] = some.p[i] >= ' ' && some.p[i] < 0x7F ? some.p[i] : '.';
    to[some.n] = '\0';
}

static void check_row(struct checker *c, struct str physical, struct str value, struct str body)
{
    struct buf partition = buf_heap();
    struct str key;
    char text[128];
    printable(text, physical);
    if (!rowkey_split(physical, &partition, &key))
        problem(c, "row %s: the key is not well-formed", text);
    else if (!c->check->refs(buf_str(&partition), key, value, note_named, c))
        problem(c, "row %s: not understood", text);
    c->check->rows++;
    c->check->bytes += physical.n + value.n + body.n;
    if (c->check->rows % ROWS_STEP == 0)
        tell_progress(c, "rows", c->check->rows, c->rows_about);
    buf_release(&partition);
}

/* Second pass: checks whether the row refers to damaged data. */
static void look_for_damage(struct checker *c, struct str physical, struct str value)
{
    struct buf partition = buf_heap();
    struct str key;
    if (rowkey_split(physical, &partition, &key))
        damage_look(&c->damage, buf_str(&partition), key, value);
    buf_release(&partition);
}

/* Continues at the first key not yet checked and leaves the position in `from`. Stops at a value
 * that cannot be read. */
static struct err check_rows_from(struct checker *c, struct buf *from)
{
    static const char past[] = {SPACE_ROWS + 1};
    struct cursor *cursor;
    struct str body;
    TRY(local_cursor_between(&c->txn, arena_copy(&c->txn.arena, buf_str(from)),
                             (struct str){past, 1}, &body, &cursor));
    struct err e = OK;
    while (!err_is(e) && cursor->valid) {
        if (c->naming)
            look_for_damage(c, cursor->key, cursor->value);
        else
            check_row(c, cursor->key, cursor->value, body);
        buf_clear(from);
        buf_put(from, cursor->key);
        buf_putc(from, '\0');
        e = cursor->ops->next(cursor);
    }
    cursor->ops->close(cursor);
    return e;
}

static void note_unread(struct checker *c, struct str key)
{
    char text[128];
    printable(text, key);
    if (c->naming)
        return; /* already reported */
    problem(c, "row %s: the value cannot be read", text);
    damage_add_row(&c->damage, key);
    c->check->rows++;
}

/* Skips the unreadable row: the first one at or after `from`, in the journal's overlay or in
 * RocksDB. */
static struct err skip_row(struct checker *c, struct buf *from, bool *found)
{
    static const char past[] = {SPACE_ROWS + 1};
    struct walk walk;
    struct str key;
    walk_init(&walk, c->txn.state, ENGINE_WAIT, buf_str(from), (struct str){past, 1});
    walk_seek_first(&walk);
    struct err e = walk_key(&walk, &key);
    if (c->txn.batch != NULL) {
        const struct row *row = tree_at_or_after(&c->txn.batch->overlay, buf_str(from));
        if (row != NULL && (!str_given(key) || str_cmp(row_key(row), key) < 0))
            key = row_key(row);
    }
    *found = !err_is(e) && str_given(key);
    if (*found) {
        note_unread(c, key);
        struct buf next = buf_heap();
        buf_put(&next, key);
        buf_putc(&next, '\0');
        buf_release(from);
        *from = next;
    }
    walk_release(&walk);
    return e;
}

static struct err check_rows(struct checker *c)
{
    struct buf from = buf_heap();
    buf_putc(&from, SPACE_ROWS);
    struct err e = check_rows_from(c, &from);
    for (bool found = true; e.code == ERR_CORRUPT && found;) {
        e = skip_row(c, &from, &found);
        if (!err_is(e) && found)
            e = check_rows_from(c, &from);
    }
    buf_release(&from);
    return e;
}

/* ---- extents ---- */

static void note_range(struct checker *c, uint64_t segment, uint64_t offset, uint64_t bytes)
{
    if (c->range_count == c->range_capacity) {
        c->range_capacity = c->range_capacity == 0 ? 1024 : c->range_capacity * 2;
        c->ranges = mem_realloc(c->ranges, c->range_capacity * sizeof *c->ranges);
    }
    c->ranges[c->range_count++] = (struct range){segment, offset, offset + segment_align(bytes)};
}

static void check_bytes(struct checker *c, const struct extent *x)
{
    if (x->length == 0 || x->length > EXTENT_BYTES_MAX) {
        problem(c, "extent %" PRIu64 ":%" PRIu64 ": its length is %u", x->segment, x->offset,
                x->length);
        return;
    }
    struct extent_part part = {0, x->length, ENGINE_WAIT};
    struct err e = local_extent_read(&c->engine->base, x, &part, c->bytes);
    if (err_is(e)) {
        problem(c, "extent %" PRIu64 ":%" PRIu64 ", %u bytes: %s", x->segment, x->offset, x->length,
                e.code == ERR_CORRUPT ? "the checksum is wrong" : "cannot be read");
        damage_add_extent(&c->damage, x);
    }
    c->check->bytes += x->length;
    c->extent_bytes += x->length;
    tell_progress(c, "extents", c->extent_bytes, c->extent_bytes_about);
}

/* Compares the count with the references; *next is the first reference not yet used. */
static void check_names(struct checker *c, const struct extent *x, uint32_t count, size_t *next)
{
    uint32_t names = 0;
    for (; *next < c->named_count && extent_order(&c->named[*next], x) <= 0; *next += 1) {
        const struct extent *named = &c->named[*next];
        if (extent_order(named, x) < 0)
            problem(c, "extent %" PRIu64 ":%" PRIu64 ": named by a row and not counted",
                    named->segment, named->offset);
        else if (named->length != x->length || named->check != x->check)
            problem(c, "extent %" PRIu64 ":%" PRIu64 ": a row describes it otherwise", x->segment,
                    x->offset);
        else
            names++;
    }
    if (names != count)
        problem(c, "extent %" PRIu64 ":%" PRIu64 ": counted %u, named %u times", x->segment,
                x->offset, count, names);
}

static struct err check_space(struct checker *c, char space)
{
    char first[] = {space};
    char past[] = {(char)(space + 1)};
    struct cursor *cursor;
    size_t next = 0;
    TRY(local_cursor_between(&c->txn, (struct str){first, 1}, (struct str){past, 1}, NULL,
                             &cursor));
    struct err e = OK;
    for (; !err_is(e) && cursor->valid; e = cursor->ops->next(cursor)) {
        struct extent x;
        struct extent_row row;
        if (!extent_key_read(cursor->key, &x.segment, &x.offset) ||
            !extent_row_read(cursor->value, &row)) {
            problem(c, "a count of an extent is not well-formed");
            continue;
        }
        x.length = row.length;
        x.check = row.check;
        note_range(c, x.segment, x.offset, extent_room(x.length));
        if (space == SPACE_GARBAGE)
            continue;
        c->check->extents++;
        check_names(c, &x, row.count, &next);
        check_bytes(c, &x);
    }
    cursor->ops->close(cursor);
    for (; space == SPACE_EXTENTS && next < c->named_count; next++)
        problem(c, "extent %" PRIu64 ":%" PRIu64 ": named by a row and not counted",
                c->named[next].segment, c->named[next].offset);
    return e;
}

/* ---- bytes that nothing accounts for ---- */

static int range_order(const void *a, const void *b)
{
    const struct range *x = a;
    const struct range *y = b;
    if (x->segment != y->segment)
        return x->segment < y->segment ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset ? 1 : 0;
}

static void check_overlaps(struct checker *c)
{
    qsort(c->ranges, c->range_count, sizeof *c->ranges, range_order);
    for (size_t i = 1; i < c->range_count; i++) {
        const struct range *a = &c->ranges[i - 1];
        const struct range *b = &c->ranges[i];
        if (a->segment == b->segment && a->end > b->offset)
            problem(c, "extents %" PRIu64 ":%" PRIu64 " and %" PRIu64 " overlap", a->segment,
                    a->offset, b->offset);
    }
}

/* Returns the allocated bytes in [from, to), which nothing accounts for. */
static uint64_t stray_between(int fd, uint64_t from, uint64_t to)
{
    uint64_t stray = 0;
    while (from < to) {
        off_t data = lseek(fd, (off_t)from, SEEK_DATA);
        if (data < 0 || (uint64_t)data >= to)
            break;
        off_t hole = lseek(fd, data, SEEK_HOLE);
        uint64_t end = hole < 0 || (uint64_t)hole > to ? to : (uint64_t)hole;
        stray += end - (uint64_t)data;
        from = end;
    }
    return stray;
}

static void check_segment(struct checker *c, uint64_t id, size_t *next)
{
    struct segment *segment;
    struct stat stat;
    if (err_is(segments_use(&c->engine->segments, id, 0, &segment))) {
        problem(c, "segment %" PRIu64 ": cannot be opened", id);
        return;
    }
    uint64_t at = 0;
    uint64_t stray = 0;
    while (*next < c->range_count && c->ranges[*next].segment < id)
        *next += 1;
    for (; *next < c->range_count && c->ranges[*next].segment == id; *next += 1) {
        stray += stray_between(segment->fd, at, c->ranges[*next].offset);
        at = c->ranges[*next].end;
    }
    if (fstat(segment->fd, &stat) == 0)
        stray += stray_between(segment->fd, at, (uint64_t)stat.st_size);
    segment_put(&c->engine->segments, segment);
    if (stray > 0)
        problem(c, "segment %" PRIu64 ": %" PRIu64 " bytes that no extent accounts for", id, stray);
}

/* Segments that were open when the last run ended may hold extents that no update adopted. The
 * next start frees them, so they are not a fault. */
static void check_strays(struct checker *c)
{
    size_t next = 0;
    uint64_t open_from = c->engine->tail_written;
    for (uint64_t id = 0; segments_next(&c->engine->segments, id, &id) && id < open_from; id++)
        check_segment(c, id, &next);
}

/* Reports the owners of damaged rows and extents. */
static struct err name_damage(struct checker *c)
{
    struct err e = OK;
    c->naming = true;
    if (damage_wants_rows(&c->damage))
        e = check_rows(c);
    damage_end(&c->damage);
    return e;
}

static void begin(struct checker *c)
{
    uint64_t segments;
    struct engine_check *check = c->check;
    check->rows = check->extents = check->bytes = check->problems = 0;
    c->rows_about = rows_about(&c->engine->rows);
    segments_usage(&c->engine->segments, &segments, &c->extent_bytes_about);
    damage_init(&c->damage, &c->engine->base, check);
}

static struct err check_all(struct checker *c)
{
    TRY(check_rows(c));
    tell_progress(c, "rows", c->rows_about, c->rows_about);
    if (c->named_count > 0)
        qsort(c->named, c->named_count, sizeof *c->named, damage_extent_order);
    TRY(check_space(c, SPACE_EXTENTS));
    TRY(check_space(c, SPACE_GARBAGE));
    tell_progress(c, "extents", c->extent_bytes_about, c->extent_bytes_about);
    if (c->range_count > 0)
        check_overlaps(c);
    check_strays(c);
    return name_damage(c);
}

struct err engine_local_check(struct engine *engine, struct engine_check *check)
{
    struct local_engine *e = local_of(engine);
    struct checker c = {.engine = e, .check = check, .bytes = mem_alloc(EXTENT_BYTES_MAX)};
    struct state *state = local_state(e);
    begin(&c);
    local_txn_init(&c.txn, e, state, STR(""), ENGINE_WAIT);
    c.txn.batch = e->read_only ? &e->batch : NULL;
    struct err error = check_all(&c);
    local_txn_release(&c.txn);
    state_put(state);
    damage_release(&c.damage);
    free(c.bytes);
    free(c.named);
    free(c.ranges);
    return error;
}
