/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/copy/copy.h"

#include <assert.h>

#include "engine/wait.h"
#include "service/common/content/interval_copy.h"
#include "service/common/records.h"
#include "service/file/copy/copy_foreign.h"
#include "service/file/keys.h"

enum { STEP_ROWS = 512 };

/* ---- the source ---- */

struct err file_copy_find(struct txn *t, void *arg)
{
    struct copy_source *source = arg;
    struct file_request request = {.arena = source->arena,
                                   .path = source->path,
                                   .keep_dots = source->keep_dots,
                                   .snapshot = source->snapshot};
    struct file_scope s;
    struct file_found found;
    struct str sd;
    TRY(file_open(t, &request, FILE_FILE, FILE_READ, &s, &found));
    TRY(permission_get(t, s.share.incarnation, &found.node.permission, &sd));
    source->incarnation = s.share.incarnation;
    source->id = found.id;
    source->node = node_copy(source->arena, &found.node);
    source->sd = arena_copy(source->arena, sd);
    return OK;
}

/* ---- a copy under way, as its note keeps it ---- */

struct under_way {
    struct str partition;
    uint64_t incarnation;
    int64_t snapshot;
    uint64_t id, content;
    int64_t etag;
    struct str next; /* the row to continue with; absent at first */
};

#define COPY(number, member) RECORD_MEMBER(struct under_way, number, member)
static const struct record_member MEMBERS[] = {
    COPY(1, partition), COPY(2, incarnation), COPY(3, snapshot), COPY(4, id),
    COPY(5, content),   COPY(6, etag),        COPY(7, next),
};
#undef COPY
const struct record_type FILE_COPY_RECORD = RECORD_TYPE(struct under_way, MEMBERS);

static struct err save_under_way(struct txn *t, const struct sweep_note *note,
                                 const struct under_way *w)
{
    struct buf b = buf_in(txn_arena(t));
    record_write(&b, &FILE_COPY_RECORD, w);
    return file_sweep_note_with(t, note, buf_str(&b));
}

static bool load_under_way(struct str value, struct under_way *w)
{
    *w = (struct under_way){0};
    return record_read(value, &FILE_COPY_RECORD, w) && str_given(w->partition);
}

/* ---- beginning ---- */

static struct err take_properties(struct file_scope *s, struct copy_args *args, struct node *n,
                                  uint64_t parent)
{
    const struct node *source = &args->source->node;
    struct file_settings settings = args->settings;
    if (args->source_permission) {
        settings.permission = FILE_PERMISSION_SD;
        settings.sd = args->source->sd;
    }
    TRY(file_apply(s, n, parent, &settings));
    if (args->source_attributes)
        n->attributes = source->attributes;
    if (args->set_archive)
        n->attributes |= NODE_ARCHIVE;
    if (args->source_mode)
        n->mode = source->mode;
    if (args->source_owner) {
        n->owner = source->owner;
        n->group = source->group;
    }
    if (args->source_created)
        n->created = source->created;
    if (args->source_last_write)
        n->last_write = source->last_write;
    if (args->source_changed)
        n->changed = source->changed;
    n->http = source->http;
    n->metadata = args->has_metadata ? args->metadata : source->metadata;
    n->eas = source->eas;
    return OK;
}

/* Replaces an existing file, but keeps its lease and id. */
static struct err replace(struct file_scope *s, struct copy_args *args, struct file_found *found)
{
    struct lease lease = found->node.lease;
    uint64_t links = found->node.links;
    uint32_t attributes = found->node.attributes;
    if (found->node.kind == NODE_DIRECTORY)
        return err_new(ERR_RESOURCE_TYPE_MISMATCH);
    if (args->create_only)
        return err_new(ERR_AUTHORIZATION_PERMISSION_MISMATCH);
    if (args->ignore_read_only)
        found->node.attributes &= ~(uint32_t)NODE_READ_ONLY;
    struct err claimed = file_claim(s, &args->request, found, OPENS_REST_CREATE);
    found->node.attributes = attributes;
    /* Recorded of the cloud: 409 as for the target of a rename, not the 412 of other writes. */
    if (claimed.code == ERR_READ_ONLY_ATTRIBUTE)
        return err_new(ERR_READ_ONLY_TARGET);
    TRY(claimed);
    if (found->node.copy.status == COPY_PENDING)
        return err_new(ERR_PENDING_COPY_OPERATION);
    TRY(lease_check_write(&lease, LEASE_FILE, &args->request.lease, txn_now(s->txn)));
    TRY(file_drop_content(s, &found->node));
    TRY(file_new_node(s, NODE_FILE, found->parent, &found->node));
    found->node.lease = lease;
    found->node.links = links;
    return OK;
}

static struct err begin_copy(struct file_scope *s, struct copy_args *args, struct file_found *found)
{
    const struct copy_source *source = args->source;
    struct node *n = &found->node;
    bool empty = args->foreign != NULL ? source->node.size == 0
                                       : !source->node.has_chunks && !source->node.has_blocks;
    n->copy = (struct node_copy){.status = empty ? COPY_SUCCESS : COPY_PENDING,
                                 .id = args->id,
                                 .source = args->url,
                                 .done = empty ? source->node.size : 0,
                                 .total = source->node.size,
                                 .completed = empty ? txn_now(s->txn) : 0};
    if (empty)
        return OK;
    n->content = (uint64_t)txn_stamp(s->txn);
    if (args->foreign != NULL)
        return copy_foreign_begin(s, found, args->foreign);
    struct sweep_note note = {
        .kind = FILE_SWEEP_COPY, .incarnation = s->share.incarnation, .id = found->id};
    struct under_way w = {.partition = source->partition,
                          .incarnation = source->incarnation,
                          .snapshot = source->snapshot,
                          .id = source->id,
                          .content = source->node.content,
                          .etag = source->node.etag};
    return save_under_way(s->txn, &note, &w);
}

struct err file_copy_file(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct copy_args *args = arg;
    struct file_scope s;
    struct file_found found;
    TRY(file_open_new(t, &args->request, &s, &found));
    bool existed = found.exists;
    if (existed) {
        TRY(replace(&s, args, &found));
    } else {
        TRY(file_start_new(&s, &args->request, &found));
    }
    if (s.share.protocol == SHARE_SMB)
        found.node.attributes = NODE_ARCHIVE;
    TRY(take_properties(&s, args, &found.node, found.parent));
    TRY(file_resize(&s, &found, args->source->node.size));
    file_touch(&s, &found.node);
    TRY(begin_copy(&s, args, &found));
    TRY(existed ? file_put(&s, &found) : file_add(&s, &found));
    file_give(&args->request, &s, &found, &args->outcome);
    return file_scope_close(&s);
}

/* ---- going on ---- */

struct copy_step {
    const struct sweep_note *note;
    struct arena arena;
    struct under_way at; /* in the arena */
    bool pending;        /* there is a copy to continue */
    bool source_gone;
    struct interval_copy_rows rows;
    struct file_changes changes;
};

static struct err read_note(struct txn *t, void *arg)
{
    struct copy_step *step = arg;
    struct str value;
    TRY(file_sweep_note_read(t, step->note, &value));
    step->pending = str_given(value);
    if (!step->pending)
        return OK;
    return load_under_way(arena_copy(&step->arena, value), &step->at) ? OK : err_new(ERR_CORRUPT);
}

static struct err list_source(struct txn *t, void *arg)
{
    struct copy_step *step = arg;
    const struct under_way *at = &step->at;
    struct file_scope s;
    struct file_found found;
    struct err error = file_scope_open_incarnation(t, at->incarnation, at->snapshot, &s);
    step->source_gone =
        error.code == ERR_SHARE_NOT_FOUND || error.code == ERR_SHARE_SNAPSHOT_NOT_FOUND;
    if (step->source_gone)
        return OK;
    TRY(error);
    TRY(file_find_id(&s, at->id, &found));
    step->source_gone =
        !found.exists || found.node.etag != at->etag || found.node.content != at->content;
    if (step->source_gone)
        return OK;
    struct interval_map m = file_map(&s, &found.node);
    return interval_copy_list(&m, at->next, STEP_ROWS, &step->arena, &step->rows);
}

static void finish(struct file_scope *s, struct node *n, enum copy_status status)
{
    n->copy.status = status;
    n->copy.completed = txn_now(s->txn);
    if (status == COPY_SUCCESS)
        n->copy.done = n->copy.total;
    else
        n->copy.description = STR("409 The source was modified or deleted while it was copied");
    file_touch(s, n);
}

/* The end of the copied rows. */
static uint64_t progress_of(const struct interval_copy_rows *rows, uint64_t total)
{
    struct reader r = reader_of(rows->next);
    uint64_t done = (uint64_t)read_be32(&r) * INTERVAL_CHUNK_BYTES;
    return done < total ? done : total;
}

static struct err take_rows(struct file_scope *s, struct copy_step *step, struct file_found *found,
                            bool *gone)
{
    struct interval_map m = file_map(s, &found->node);
    *gone = false;
    for (size_t i = 0; i < step->rows.count && !*gone; i++)
        TRY(interval_copy_take(&m, step->at.partition, &step->rows.items[i], gone));
    m.fold_wanted = false;
    return file_keep_map(s, found, &m);
}

static struct err take_over(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct copy_step *step = arg;
    struct file_scope s;
    struct file_found found;
    bool gone = step->source_gone;
    file_changes_begin(&step->changes, &step->arena);
    struct err error = file_scope_open_incarnation(t, step->note->incarnation, 0, &s);
    if (error.code == ERR_SHARE_NOT_FOUND)
        return file_sweep_note_drop(t, step->note);
    TRY(error);
    s.changes = &step->changes;
    TRY(file_find_id(&s, step->note->id, &found));
    if (!found.exists || found.node.copy.status != COPY_PENDING)
        return file_sweep_note_drop(t, step->note);
    if (!gone)
        TRY(take_rows(&s, step, &found, &gone));
    /* A row of a snapshot may just have become historic: the next step lists again, and also
     * detects a changed live source. Nothing of this step is kept. */
    if (gone && !step->source_gone)
        return err_new(ERR_SOURCE_CONDITION_NOT_MET);
    if (gone) {
        TRY(file_drop_content(&s, &found.node));
        finish(&s, &found.node, COPY_FAILED);
    } else if (!str_given(step->rows.next)) {
        finish(&s, &found.node, COPY_SUCCESS);
    } else {
        found.node.copy.done = progress_of(&step->rows, found.node.copy.total);
        step->at.next = step->rows.next;
        TRY(save_under_way(t, step->note, &step->at));
    }
    if (found.node.copy.status != COPY_PENDING)
        TRY(file_sweep_note_drop(t, step->note));
    TRY(file_put(&s, &found));
    return file_scope_close(&s);
}

static struct watches *watches_of(const struct store *store)
{
    return store->opens == NULL ? NULL : opens_watches(store->opens);
}

/* The copier's progress is not stored step by step. */
void file_copy_ended(struct store *store, uint64_t incarnation)
{
    struct watches *watches = watches_of(store);
    if (watches != NULL && watches_any(watches))
        watches_tell_unknown(watches, incarnation);
}

static struct err run_step(struct store *store, struct str partition, struct copy_step *step)
{
    struct engine *e = store->engine;
    TRY(engine_view(e, partition, ENGINE_WAIT, read_note, step));
    if (!step->pending)
        return OK;
    TRY(engine_view(e, step->at.partition, ENGINE_WAIT, list_source, step));
    struct err error = engine_update_wait(e, partition, take_over, step);
    if (!err_is(error))
        file_changes_tell(&step->changes);
    return error.code == ERR_SOURCE_CONDITION_NOT_MET ? OK : error;
}

struct err file_copy_step(struct store *store, struct str partition, const struct sweep_note *note)
{
    struct copy_step step = {.note = note, .changes.watches = watches_of(store)};
    arena_init(&step.arena, SIZE_MAX);
    struct err error = run_step(store, partition, &step);
    arena_release(&step.arena);
    return error;
}

static struct err look(struct txn *t, void *arg)
{
    struct copy_progress *progress = arg;
    struct file_scope s;
    struct file_found found;
    progress->node = (struct node){0};
    TRY(file_scope_open_incarnation(t, progress->incarnation, 0, &s));
    TRY(file_find_id(&s, progress->id, &found));
    if (found.exists)
        progress->node = node_copy(progress->arena, &found.node);
    return OK;
}

struct err file_copy_advance(struct store *store, struct str partition, unsigned steps,
                             struct copy_progress *progress)
{
    struct sweep_note note = {
        .kind = FILE_SWEEP_COPY, .incarnation = progress->incarnation, .id = progress->id};
    for (;;) {
        TRY(engine_view(store->engine, partition, ENGINE_WAIT, look, progress));
        if (progress->node.copy.status != COPY_PENDING || steps-- == 0)
            return OK;
        TRY(file_copy_step(store, partition, &note));
    }
}

/* ---- Abort Copy ---- */

struct err file_abort_copy(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct copy_abort_args *args = arg;
    struct file_request *r = &args->request;
    struct file_scope s;
    struct file_found found;
    file_pass_begin(&r->pass, r->arena);
    TRY(file_scope_open(t, 0, &s));
    s.changes = &r->pass.changes;
    struct str path;
    TRY(file_check_path(&s, txn_arena(t), r->path, r->keep_dots, &path));
    TRY(file_find(&s, path, &found));
    if (!found.exists || found.node.kind == NODE_DIRECTORY)
        return err_new(ERR_RESOURCE_NOT_FOUND);
    TRY(file_claim(&s, r, &found, OPENS_REST_WRITE));
    TRY(lease_check_write(&found.node.lease, LEASE_FILE, &r->lease, txn_now(t)));
    if (found.node.copy.status != COPY_PENDING)
        return err_new(ERR_NO_PENDING_COPY_OPERATION);
    if (!guid_eq(&found.node.copy.id, &args->id))
        return err_new(ERR_COPY_ID_MISMATCH);
    struct sweep_note note = {
        .kind = FILE_SWEEP_COPY, .incarnation = s.share.incarnation, .id = found.id};
    TRY(file_sweep_note_drop(t, &note));
    TRY(copy_foreign_drop(&s, found.id));
    TRY(file_drop_content(&s, &found.node));
    found.node.copy.status = COPY_ABORTED;
    found.node.copy.completed = txn_now(t);
    file_touch(&s, &found.node);
    TRY(file_put(&s, &found));
    return file_scope_close(&s);
}
