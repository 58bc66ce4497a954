/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/copy/copy_job.h"

#include <assert.h>

#include "engine/wait.h"
#include "service/blob/page/page.h"
#include "service/blob/sweep.h"
#include "service/common/records.h"
#include "service/common/rows.h"

/* ---- the row ---- */

#define JOB(number, member) RECORD_MEMBER(struct copy_job, number, member)
static const struct record_member MEMBERS[] = {
    JOB(1, name),
    RECORD_ENUM(struct copy_job, 2, type, BLOB_APPEND),
    JOB(3, size),
    JOB(4, started),
    JOB(5, partition),
    JOB(6, source_name),
    RECORD_ENUM(struct copy_job, 7, source_at.item, BLOB_VERSION),
    JOB(8, source_at.time),
    JOB(9, source_incarnation),
    JOB(10, source_content),
    JOB(11, source_blocks),
    JOB(12, source_etag),
    JOB(13, url),
    JOB(14, url_etag),
    JOB(15, content),
    JOB(16, done),
    JOB(17, rows),
    JOB(18, extents),
};
#undef JOB
const struct record_type COPY_JOB_RECORD = RECORD_TYPE(struct copy_job, MEMBERS);

static struct str job_key(struct arena *a, uint64_t incarnation, uint64_t id)
{
    struct buf b = buf_in(a);
    buf_putc(&b, 'Y');
    buf_put_be64(&b, incarnation);
    buf_put_be64(&b, id);
    return buf_str(&b);
}

struct err copy_job_save(struct txn *t, const struct copy_job *job)
{
    struct buf b = buf_in(txn_arena(t));
    record_write(&b, &COPY_JOB_RECORD, job);
    TRY(txn_put(t, job_key(txn_arena(t), job->incarnation, job->id), buf_str(&b)));
    return txn_put(t, BLOB_KEY_COPIES, STR(""));
}

static struct err any_job(struct txn *t, struct str prefix, bool *any)
{
    struct cursor *c;
    TRY(cursor_open(t, prefix, &c));
    *any = c->valid;
    cursor_close(c);
    return OK;
}

struct err copy_job_drop(struct txn *t, const struct copy_job *job)
{
    bool any;
    TRY(txn_del(t, job_key(txn_arena(t), job->incarnation, job->id)));
    TRY(any_job(t, STR("Y"), &any));
    return any ? OK : txn_del(t, BLOB_KEY_COPIES);
}

static struct err job_decode(struct str row, struct copy_job *job)
{
    bool good = record_read(row, &COPY_JOB_RECORD, job) && str_given(job->name) &&
                (str_given(job->partition) || str_given(job->url));
    return good ? OK : err_new(ERR_CORRUPT);
}

struct err copy_job_load(struct txn *t, uint64_t incarnation, uint64_t id, struct copy_job *out,
                         bool *found)
{
    assert(out != NULL);
    assert(found != NULL);
    struct str row;
    *out = (struct copy_job){.incarnation = incarnation, .id = id};
    TRY(txn_get(t, job_key(txn_arena(t), incarnation, id), &row));
    *found = str_given(row);
    return *found ? job_decode(row, out) : OK;
}

void copy_job_set_source(struct copy_job *job, const struct blob_source *source)
{
    job->partition = source->partition;
    job->source_name = source->name;
    job->source_at = source->at;
    job->source_incarnation = source->incarnation;
    job->source_content = source->head.content;
    job->source_etag = source->head.etag;
}

void copy_job_source(const struct copy_job *job, struct arena *a, struct blob_source *out)
{
    assert(out != NULL);
    *out = (struct blob_source){
        .arena = a,
        .partition = arena_copy(a, job->partition),
        .name = arena_copy(a, job->source_name),
        .at = job->source_at,
        .offset = job->done,
        .length = job->size - job->done,
        .pieces_max = BLOB_SOURCE_PIECES,
        .found = true,
        .incarnation = job->source_incarnation,
        .head = {.type = job->type,
                 .size = job->size,
                 .content = job->source_content,
                 .etag = job->source_etag},
    };
    out->key = blob_key_head(a, out->incarnation, out->name, &out->at);
}

/* ---- the content ---- */

struct err copy_job_write(struct txn *t, struct blob *blob, struct copy_job *job,
                          const struct pieces *pieces, enum piece_claim claim)
{
    if (job->type == BLOB_PAGE) {
        struct blob_request request = {.arena = txn_arena(t), .name = job->name};
        TRY(blob_pages_write(t, &request, blob, job->done, pieces, claim));
        job->done += pieces_length(pieces);
        return OK;
    }
    struct content_writer w;
    content_write_begin(&w, t,
                        blob_key_content(txn_arena(t), blob->container.incarnation, job->content));
    content_write_from(&w, job->done);
    for (size_t i = 0; i < pieces->count; i++)
        TRY(content_write(&w, &pieces->items[i], claim));
    TRY(content_write_end(&w));
    job->rows += w.rows;
    job->extents = job->extents || w.extents;
    job->done = w.size;
    return OK;
}

static struct err take_block_list(struct txn *t, const struct blob *blob,
                                  const struct copy_job *job)
{
    struct arena *a = txn_arena(t);
    uint64_t rows = (job->source_blocks + BLOB_BLOCK_LIST_ROW - 1) / BLOB_BLOCK_LIST_ROW;
    for (uint32_t i = 0; i < rows; i++) {
        struct str list;
        TRY(row_get_in(t, job->partition,
                       blob_key_block_list_row(a, job->source_incarnation, job->source_content, i),
                       &list));
        if (!str_given(list))
            return err_new(ERR_CORRUPT);
        TRY(txn_put(t, blob_key_block_list_row(a, blob->container.incarnation, job->content, i),
                    list));
    }
    return OK;
}

struct err copy_job_finish(struct txn *t, struct blob *blob, struct copy_job *job)
{
    struct blob_head *head = &blob->head;
    assert(job->done == job->size);
    head->size = job->size;
    if (job->type == BLOB_PAGE)
        return OK;
    head->content = job->size == 0 ? 0 : job->content;
    head->content_rows = job->rows;
    head->content_inline = job->type == BLOB_BLOCK && job->rows == 1 && !job->extents;
    head->block_count = job->source_blocks;
    if (job->type != BLOB_BLOCK)
        return OK;
    if (head->content == 0) /* where a list would lie */
        head->block_count = 0;
    return head->block_count == 0 ? OK : take_block_list(t, blob, job);
}

struct err copy_job_undo(struct txn *t, struct blob *blob, const struct copy_job *job,
                         const struct blob_copy_state *state)
{
    struct blob_head *head = &blob->head;
    /* The next copy rewrites the whole content; earlier snapshots are not affected. */
    if (state->incremental)
        return OK;
    if (job->type == BLOB_PAGE) {
        TRY(blob_drop_content(t, blob->container.incarnation, head));
        head->content = (uint64_t)txn_stamp(t);
        head->content_shared = false;
        head->page_rows = 0;
        head->page_voids = STR_NONE;
        head->page_clears = STR_NONE;
        head->size = 0;
        return OK;
    }
    struct sweep_item item = {SWEEP_CONTENT, blob->container.incarnation, job->content};
    return job->rows == 0 ? OK : blob_sweep_add(t, &item);
}

/* ---- going on ---- */

static struct err take_jobs(struct copy_jobs_args *args, struct cursor *c)
{
    while (c->valid && args->count < args->max) {
        struct reader key = reader_of(str_from(c->key, 1));
        struct copy_job *job = &args->jobs[args->count];
        *job = (struct copy_job){.incarnation = read_be64(&key)};
        job->id = read_be64(&key);
        if (!reader_done(&key))
            return err_new(ERR_CORRUPT);
        TRY(job_decode(arena_copy(args->arena, c->value), job));
        args->count++;
        TRY(cursor_next(c));
    }
    return OK;
}

struct err copy_jobs_list(struct txn *t, void *arg)
{
    struct copy_jobs_args *args = arg;
    struct cursor *c;
    args->count = 0;
    args->jobs = ARENA_ARRAY(args->arena, struct copy_job, args->max);
    TRY(cursor_open(t, STR("Y"), &c));
    struct err e = cursor_seek(c, job_key(txn_arena(t), args->after_incarnation, args->after + 1));
    if (!err_is(e))
        e = take_jobs(args, c);
    cursor_close(c);
    return e;
}

/* Opens the blob of a job; *mine is false if the blob does not wait for that job. */
static struct err open_blob(struct txn *t, const struct copy_job *job, struct blob *blob,
                            struct blob_copy_state *state, bool *mine)
{
    struct blob_at base = {.item = BLOB_BASE};
    struct str row;
    *blob = (struct blob){.keep_copy = true};
    *state = (struct blob_copy_state){0};
    TRY(container_load(t, &blob->container));
    blob->key = blob_key_head(txn_arena(t), job->incarnation, job->name, &base);
    TRY(txn_get(t, blob->key, &row));
    TRY(blob_take_row(blob, row));
    if (blob->stored)
        TRY(blob_copy_decode(blob->head.copy, state));
    *mine = blob->stored && state->status == BLOB_COPY_PENDING && state->job == job->id;
    return OK;
}

static struct err leave_snapshot(struct txn *t, struct str name, struct blob *blob,
                                 struct blob_copy_state *state)
{
    struct blob_at at = {.item = BLOB_SNAPSHOT, .time = txn_stamp(t)};
    state->snapshot = at.time;
    blob->head.copy = blob_copy_encode(txn_arena(t), state);
    TRY(blob_share_content(t, blob));
    TRY(blob_save_written(t, blob));
    struct blob snapshot = *blob;
    snapshot.at = at;
    snapshot.key = blob_key_head(txn_arena(t), blob->container.incarnation, name, &at);
    snapshot.head.version = 0;
    snapshot.head.lease = (struct lease){0};
    snapshot.head.protection = (struct blob_protection){0};
    snapshot.head.expires = 0;
    return blob_save_unchanged(t, &snapshot);
}

struct err copy_end(struct txn *t, struct str name, struct blob *blob,
                    struct blob_copy_state *state, enum blob_copy_status status)
{
    state->status = status;
    state->completed = txn_now(t);
    state->job = 0;
    blob->keep_copy = true;
    if (state->incremental && status == BLOB_COPY_SUCCESS)
        return leave_snapshot(t, name, blob, state);
    blob->head.copy = blob_copy_encode(txn_arena(t), state);
    return blob_save_written(t, blob);
}

static struct err take_step(struct txn *t, struct copy_step_args *args, struct copy_job *job,
                            struct blob *blob, struct blob_copy_state *state)
{
    if (args->source != NULL)
        TRY(blob_source_guard(t, args->source));
    TRY(copy_job_write(t, blob, job, args->pieces, args->claim));
    args->taken = true;
    state->done = job->done;
    if (job->done == job->size) {
        args->ended = true;
        TRY(copy_job_finish(t, blob, job));
        TRY(copy_job_drop(t, job));
        return copy_end(t, job->name, blob, state, BLOB_COPY_SUCCESS);
    }
    TRY(copy_job_save(t, job));
    blob->head.copy = blob_copy_encode(txn_arena(t), state);
    return blob_save_unchanged(t, blob);
}

struct err blob_step_copy(struct txn *t, void *arg)
{
    struct copy_step_args *args = arg;
    struct copy_job job;
    struct blob blob;
    struct blob_copy_state state;
    bool found, mine;
    args->taken = false;
    args->ended = false;
    TRY(copy_job_load(t, args->incarnation, args->id, &job, &found));
    args->ended = !found;
    if (!found)
        return OK;
    TRY(open_blob(t, &job, &blob, &state, &mine));
    args->ended = !mine;
    if (!mine)
        return copy_job_drop(t, &job);
    if (str_given(args->failure)) {
        args->ended = true;
        TRY(copy_job_undo(t, &blob, &job, &state));
        TRY(copy_job_drop(t, &job));
        state.description = args->failure;
        return copy_end(t, job.name, &blob, &state, BLOB_COPY_FAILED);
    }
    return args->from == job.done ? take_step(t, args, &job, &blob, &state) : OK;
}

struct local_step {
    struct arena arena;
    uint64_t incarnation, id;
    bool found;
    struct blob_source source;
    int64_t started;
};

static struct err read_job(struct txn *t, void *arg)
{
    struct local_step *step = arg;
    struct copy_job job;
    TRY(copy_job_load(t, step->incarnation, step->id, &job, &step->found));
    if (!step->found)
        return OK;
    step->started = job.started;
    copy_job_source(&job, &step->arena, &step->source);
    return OK;
}

static struct err advance(struct store *store, const struct copy_job_ref *ref,
                          struct local_step *step, bool *ended)
{
    struct engine *e = store->engine;
    struct copy_step_args args = {.incarnation = step->incarnation,
                                  .id = step->id,
                                  .claim = PIECE_HOLD,
                                  .source = &step->source};
    TRY(engine_view(e, ref->partition, ENGINE_WAIT, read_job, step));
    *ended = !step->found;
    if (!step->found)
        return OK;
    struct err error =
        engine_view(e, step->source.partition, ENGINE_WAIT, blob_read_source, &step->source);
    bool changed = error.code == ERR_SOURCE_CONDITION_NOT_MET;
    bool late = store_now(store) > step->started + BLOB_COPY_TIME_MAX;
    if (err_is(error) && !changed)
        return error;
    if (changed || late)
        args.failure =
            late ? STR("500 OperationCancelled \"The copy operation exceeded the maximum allowed "
                       "time.\"")
                 : STR("412 SourceConditionNotMet \"The source was modified or deleted while it "
                       "was copied.\"");
    args.pieces = &step->source.pieces;
    args.from = step->source.offset;
    error = engine_update_wait(e, ref->partition, ref->step, &args);
    /* The source has just changed, or its pages were folded: the next step finds out which. */
    if (error.code == ERR_SOURCE_CONDITION_NOT_MET)
        return OK;
    *ended = args.ended;
    return error;
}

struct err copy_job_advance(struct store *store, const struct copy_job_ref *ref, bool *ended)
{
    struct local_step step = {.incarnation = ref->incarnation, .id = ref->id};
    arena_init(&step.arena, SIZE_MAX);
    struct err error = advance(store, ref, &step, ended);
    arena_release(&step.arena);
    return error;
}
