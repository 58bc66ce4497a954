/* SPDX-License-Identifier: Apache-2.0 */
#include "import/azurite.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/mem.h"
#include "engine/wait.h"
#include "import/azurite_internal.h"
#include "service/common/metadata.h"

#define PENDING_FILE "import.pending"

/* ---- transactions ---- */

struct err import_update(struct import *im, struct str partition, engine_fn *fn, void *arg)
{
    struct grouped_update one = {
        .update = {.partition = partition, .fn = fn, .arg = arg, .ack = ENGINE_VISIBLE}};
    struct grouped_update *all = &one;
    engine_updates_wait(im->store->engine, &all, 1);
    struct err error = one.update.result;
    if (error.code == ERR_NO_SPACE || error.code == ERR_IO || error.code == ERR_UNKNOWN_OUTCOME)
        im->fatal = error;
    return error;
}

static bool pending_path(const struct import *im, const char *suffix, char *out, size_t size)
{
    return im->options->data != NULL &&
           snprintf(out, size, "%s/" PENDING_FILE "%s", im->options->data, suffix) < (int)size;
}

static struct err write_file(const char *path, struct str text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool written = fd >= 0 && write(fd, text.p, text.n) == (ssize_t)text.n && fsync(fd) == 0;
    int cause = errno;
    if (fd >= 0)
        (void)close(fd);
    return written ? OK : err_cause(ERR_IO, cause);
}

struct err import_begin_steps(struct import *im, struct str what)
{
    char path[4096];
    char fresh[4096];
    if (!pending_path(im, "", path, sizeof path) || !pending_path(im, "~", fresh, sizeof fresh))
        return OK;
    TRY(write_file(fresh, what));
    return rename(fresh, path) == 0 ? OK : err_cause(ERR_IO, errno);
}

/* Makes all steps durable, then removes the note: without a note they count as done. */
struct err import_end_steps(struct import *im)
{
    char path[4096];
    im->pending_n = 0;
    if (!pending_path(im, "", path, sizeof path))
        return OK;
    TRY(engine_flush(im->store->engine));
    return unlink(path) == 0 || errno == ENOENT ? OK : err_cause(ERR_IO, errno);
}

bool import_was_cut_off(const struct import *im, struct str what)
{
    return str_eq((struct str){im->pending, im->pending_n}, what);
}

static void read_pending(struct import *im)
{
    char path[4096];
    int fd = pending_path(im, "", path, sizeof path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    ssize_t n = read(fd, im->pending, sizeof im->pending);
    im->pending_n = n > 0 ? (size_t)n : 0;
    (void)close(fd);
}

/* ---- documents ---- */

static uint64_t hash(struct str s)
{
    uint64_t h = 14695981039346656037ULL;
    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (unsigned char)s.p[i]) * 1099511628211ULL;
    return h;
}

void import_index_add(struct index *index, struct str group, int64_t order, struct loki_span span)
{
    if (index->count == index->capacity) {
        index->capacity = index->capacity == 0 ? 1024 : index->capacity * 2;
        index->items = mem_realloc(index->items, index->capacity * sizeof *index->items);
    }
    index->items[index->count++] = (struct index_entry){hash(group), order, span};
}

static int compare(const void *left, const void *right)
{
    const struct index_entry *a = left;
    const struct index_entry *b = right;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->order != b->order)
        return a->order < b->order ? -1 : 1;
    return a->span.offset < b->span.offset ? -1 : a->span.offset > b->span.offset;
}

void import_index_sort(struct index *index)
{
    if (index->count > 0)
        qsort(index->items, index->count, sizeof *index->items, compare);
}

const struct node *import_document(struct import *im, struct loki_span span, enum import_kind kind)
{
    struct str text;
    char where[64];
    struct err error = loki_read(im->db, span, &im->arena, &text);
    const struct node *node = err_is(error) ? NULL : document_parse(&im->arena, text);
    if (node != NULL && node->value.kind == JSON_OBJECT)
        return node;
    (void)snprintf(where, sizeof where, "at byte %llu", (unsigned long long)span.offset);
    report_line(im->report, kind, FATE_DAMAGED, str_of(where), "the document cannot be read");
    return NULL;
}

bool import_goes_on(struct import *im, const char *doing, uint64_t done, uint64_t of)
{
    const struct azurite_import *o = im->options;
    if (o->progress != NULL)
        o->progress(o->arg, doing, done, of);
    if (o->stopped != NULL && o->stopped(o->arg))
        im->fatal =
            err_detail(ERR_OPERATION_TIMED_OUT, "the import was stopped; run it again to go on");
    return !err_is(im->fatal);
}

struct str import_name(struct import *im, struct str account, struct str first, struct str second)
{
    return arena_printf(&im->arena, "%.*s/%.*s%s%.*s", STR_ARG(account), STR_ARG(first),
                        second.n > 0 ? "/" : "", STR_ARG(second));
}

struct err import_metadata(struct import *im, const struct node *owner, struct str *out)
{
    assert(out != NULL);
    struct pairs pairs = {NULL, 0};
    const struct node *object = document_member(owner, "metadata");
    size_t count = 0;
    *out = STR_NONE;
    for (const struct node *n = document_first(object); n != NULL; n = n->next)
        count++;
    if (count == 0 || object->value.kind != JSON_OBJECT)
        return OK;
    pairs.items = arena_alloc(&im->arena, count * sizeof *pairs.items);
    for (const struct node *n = document_first(object); n != NULL; n = n->next)
        if (n->value.kind == JSON_STRING)
            pairs.items[pairs.count++] = (struct pair){n->name, n->value.text};
    TRY(metadata_check(&pairs));
    *out = pairs_encode(&im->arena, &pairs);
    return OK;
}

struct str import_policies(struct import *im, const struct node *list)
{
    struct policies policies = {.count = 0};
    for (const struct node *n = document_first(list); n != NULL && policies.count < POLICIES_MAX;
         n = n->next) {
        const struct node *terms = document_member(n, "accessPolicy");
        struct policy policy = {.id = document_text(n, "id"),
                                .start = document_text(terms, "start"),
                                .expiry = document_text(terms, "expiry"),
                                .permission = document_text(terms, "permission")};
        if (str_given(policy.id) && str_utf16_units(policy.id) <= POLICY_ID_CHARACTERS_MAX)
            policies.items[policies.count++] = policy;
    }
    return policies_encode(&im->arena, &policies);
}

/* ---- the databases ---- */

struct database {
    const char *file;
    const char *extents; /* NULL: it has none */
    bool (*document)(void *import, struct str collection, struct loki_span span);
    void (*finish)(struct import *im); /* NULL: all is done */
};

static const struct database DATABASES[] = {
    {"__azurite_db_blob__.json", "__blobstorage__", import_blob_document, import_blobs_finish},
    {"__azurite_db_queue__.json", "__queuestorage__", import_queue_document, import_queues_finish},
    {"__azurite_db_table__.json", NULL, import_table_document, NULL},
};
enum { DATABASE_COUNT = sizeof DATABASES / sizeof DATABASES[0] };

bool azurite_is_folder(const char *folder)
{
    bool found = false;
    int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (unsigned i = 0; fd >= 0 && i < DATABASE_COUNT; i++)
        found = found || faccessat(fd, DATABASES[i].file, F_OK, 0) == 0;
    if (fd >= 0)
        (void)close(fd);
    return found;
}

static bool count_document(void *arg, struct str collection, struct loki_span span)
{
    (void)arg;
    (void)collection;
    (void)span;
    return true;
}

static void ignore_damage(void *arg, uint64_t offset, const char *what)
{
    (void)arg;
    (void)offset;
    (void)what;
}

static int open_file(const struct import *im, const char *name, const char *suffix)
{
    char full[64];
    struct stat info;
    (void)snprintf(full, sizeof full, "%s%s", name, suffix);
    int fd = openat(im->folder, full, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

static struct loki_outcome try_file(int fd)
{
    const struct loki_visit visit = {count_document, ignore_damage, NULL};
    struct loki_outcome outcome = {.whole = false};
    if (fd >= 0 && err_is(loki_walk(fd, &visit, &outcome)))
        outcome.whole = false;
    return outcome;
}

/* LokiJS writes NAME~ and renames it: that file counts only if NAME is incomplete and it is
 * complete, or contains more. */
static int open_database(const struct import *im, const char *name)
{
    int fd = open_file(im, name, "");
    int other = open_file(im, name, "~");
    if (other >= 0) {
        struct loki_outcome main = try_file(fd);
        struct loki_outcome spare = try_file(other);
        bool better = !main.whole && (spare.whole || spare.documents > main.documents);
        if (better || fd < 0) {
            int taken = other;
            other = fd;
            fd = taken;
        }
    }
    if (other >= 0)
        (void)close(other);
    return fd;
}

static void note_damage(void *arg, uint64_t offset, const char *what)
{
    struct import *im = arg;
    char where[64];
    (void)snprintf(where, sizeof where, "at byte %llu", (unsigned long long)offset);
    report_line(im->report, IMPORT_FILES, FATE_DAMAGED, str_of(where), what);
}

static void import_database(struct import *im, const struct database *database)
{
    const struct loki_visit visit = {database->document, note_damage, im};
    struct loki_outcome outcome;
    struct stat info;
    if (fstat(im->db, &info) == 0)
        im->db_bytes = (uint64_t)info.st_size;
    import_extents_open(&im->extents, im->folder,
                        database->extents == NULL ? "." : database->extents);
    struct err error = loki_walk(im->db, &visit, &outcome);
    if (err_is(error))
        report_error(im->report, IMPORT_FILES, str_of(database->file), error);
    else if (outcome.whole)
        report_count(im->report, IMPORT_FILES, FATE_TAKEN);
    if (database->finish != NULL && !err_is(im->fatal))
        database->finish(im);
    import_extents_close(&im->extents);
    im->index.count = 0;
}

static unsigned import_databases(struct import *im)
{
    unsigned found = 0;
    for (unsigned i = 0; i < DATABASE_COUNT && !err_is(im->fatal); i++) {
        im->db = open_database(im, DATABASES[i].file);
        if (im->db < 0)
            continue;
        found++;
        import_database(im, &DATABASES[i]);
        (void)close(im->db);
    }
    return found;
}

struct err azurite_import(struct store *store, const struct azurite_import *options)
{
    struct import im = {.store = store, .options = options, .report = options->report, .fatal = OK};
    im.folder = open(options->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (im.folder < 0)
        return err_cause(ERR_IO, errno);
    arena_init(&im.arena, IMPORT_ARENA_BYTES_MAX);
    read_pending(&im);
    unsigned found = import_databases(&im);
    struct err flushed = engine_flush(store->engine);
    (void)close(im.folder);
    free(im.index.items);
    arena_release(&im.arena);
    if (err_is(im.fatal))
        return im.fatal;
    if (found == 0)
        return err_detail(ERR_INVALID_INPUT, "has no database of Azurite (__azurite_db_*.json)");
    return flushed;
}
