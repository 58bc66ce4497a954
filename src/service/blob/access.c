/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/access.h"

#include <assert.h>

#include "service/blob/copy/copy_state.h"
#include "service/blob/keep.h"
#include "service/blob/protect.h"
#include "service/blob/sweep.h"
#include "service/blob/tags/tag_index.h"
#include "service/common/rows.h"

/* The most that a request removes itself; the sweeper removes the rest, so that deleting a blob
 * with many snapshots stays short. */
enum { REMOVED_AT_ONCE_BYTES_MAX = 64 << 20 };

static enum condition_use condition_use_of(enum blob_use use)
{
    switch (use) {
    case BLOB_READ:
    case BLOB_READ_STORED:
        return CONDITION_READ;
    case BLOB_CREATE:
    case BLOB_COPY_ON:
        return CONDITION_CREATE;
    case BLOB_COPY_END:
    case BLOB_CHANGE:
    case BLOB_ALTER:
    case BLOB_STAGE:
    case BLOB_DELETE:
    case BLOB_CHANGE_SHARED:
    case BLOB_LEASE:
        break;
    }
    return CONDITION_WRITE;
}

struct err blob_take_row(struct blob *blob, struct str row)
{
    blob->stored = str_given(row);
    if (blob->stored)
        TRY(blob_head_decode(row, &blob->head));
    if (blob->stored && blob->head.deleted != 0) {
        blob->grave = blob->head;
        blob->head = (struct blob_head){0};
        blob->buried = true;
        blob->stored = false;
    }
    blob->exists = blob->stored && blob->head.committed;
    blob_note_indexed(blob);
    return OK;
}

void blob_note_indexed(struct blob *blob)
{
    const struct blob_head *head = &blob->head;
    bool hidden = head->deleted != 0;
    blob->indexed = hidden ? STR_NONE : head->tags;
    blob->timed = (struct blob_times){0};
    if (!hidden)
        blob->timed =
            (struct blob_times){.until = head->protection.hold ? INT64_MAX : head->protection.until,
                                .expires = head->expires};
    blob->indexed_key = blob->key;
}

static struct err load_at(struct txn *t, const struct blob_request *request,
                          const struct blob_at *at, struct blob *out)
{
    out->at = *at;
    if (!str_given(out->name))
        return OK;
    out->key = blob_key_head(txn_arena(t), out->container.incarnation, out->name, at);
    struct engine_read read = {
        .key = out->key, .with_body = request->wants_content, .loan = request->loan};
    if (container_hides(&out->container, out->key))
        return OK;
    TRY(txn_get_many(t, &read, 1));
    out->unused = !str_given(read.value);
    out->body = read.body;
    out->lent = request->loan != NULL && request->loan->end != NULL;
    TRY(blob_take_row(out, read.value));
    blob_head_settle(&out->head, txn_now(t));
    return OK;
}

/* Finds the keys of the blob's rows. `makes`: creates missing directories. */
static struct err find_keys(struct txn *t, const struct blob_request *request, bool makes,
                            struct blob *out)
{
    struct tree_way way;
    *out = (struct blob){.name = request->name};
    TRY(container_load(t, &out->container));
    if (!out->container.hierarchical)
        return acl_check_flat(request->path.caller);
    TRY(path_tree_resolve(t, &out->container, &request->path, request->name, makes, &way));
    out->name = way.name;
    out->parent = way.parent;
    out->made = way.made;
    return OK;
}

static struct err load(struct txn *t, const struct blob_request *request, bool makes,
                       struct blob *out)
{
    static const struct blob_at base = {.item = BLOB_BASE};
    TRY(find_keys(t, request, makes, out));
    TRY(load_at(t, request, &request->at, out));
    if (request->at.item != BLOB_VERSION || out->stored)
        return OK;
    /* The id may be that of the current version, which has the key of the blob. */
    struct blob version = *out;
    TRY(load_at(t, request, &base, out));
    if (!out->exists || out->head.version != request->at.time)
        *out = version;
    return OK;
}

struct err blob_load(struct txn *t, const struct blob_request *request, struct blob *out)
{
    return load(t, request, false, out);
}

/* ---- paths ---- */

static bool is_making(enum blob_use use)
{
    return use == BLOB_CREATE || use == BLOB_COPY_ON || use == BLOB_STAGE;
}

/* The rights that the lists of a path, or of its directory, must grant. */
static bool is_granted(const struct blob_request *request, enum blob_use use,
                       const struct blob *blob)
{
    const struct acl_caller *caller = request->path.caller;
    const struct blob_path *path = &blob->head.path;
    if (caller == NULL || request->path.looks)
        return true;
    if (use == BLOB_DELETE)
        return !blob->stored || acl_may_unlink(&blob->parent, path, caller);
    if (!blob->stored)
        return !is_making(use) || acl_allows(&blob->parent, caller, ACL_WRITE | ACL_EXECUTE);
    return acl_allows(path, caller,
                      use == BLOB_READ || use == BLOB_READ_STORED ? ACL_READ : ACL_WRITE);
}

static struct err check_path(const struct blob_request *request, enum blob_use use,
                             const struct blob *blob)
{
    return !blob->container.hierarchical || is_granted(request, use, blob)
               ? OK
               : err_new(ERR_AUTHORIZATION_PERMISSION_MISMATCH);
}

/* A file cannot replace a directory, nor a directory a file; and a directory has no content. */
static struct err check_kind(struct txn *t, const struct blob_request *request, enum blob_use use,
                             struct blob *blob)
{
    if (!blob->container.hierarchical)
        return OK;
    bool directory = blob->head.path.directory;
    if (is_making(use) && !blob->stored)
        return path_tree_new_path(t, &request->path, &blob->parent, &blob->head.path);
    if (is_making(use) && directory != request->path.directory)
        return err_new(ERR_PATH_CONFLICT);
    return directory && use == BLOB_CHANGE_SHARED
               ? err_new(ERR_OPERATION_NOT_SUPPORTED_ON_DIRECTORY)
               : OK;
}

static struct err check_existence(const struct blob_request *request, enum blob_use use,
                                  const struct blob *blob)
{
    if (use == BLOB_STAGE)
        return OK;
    if (use == BLOB_CREATE || use == BLOB_COPY_ON)
        return blob->exists && request->create_only ? err_new(ERR_UNAUTHORIZED_BLOB_OVERWRITE) : OK;
    bool there = use == BLOB_DELETE || use == BLOB_READ_STORED ? blob->stored : blob->exists;
    return there ? OK : err_new(ERR_BLOB_NOT_FOUND);
}

static struct err check_lease(struct txn *t, const struct blob_request *request, enum blob_use use,
                              const struct blob *blob)
{
    const struct lease *lease = &blob->head.lease;
    if (use == BLOB_LEASE || request->of_expired)
        return OK;
    if (!blob->exists)
        return lease_check_absent(LEASE_BLOB, &request->lease);
    /* Snapshots are never leased, so an id given for one is refused like one for no lease. */
    if (use == BLOB_READ || use == BLOB_READ_STORED || use == BLOB_CHANGE_SHARED)
        return lease_check_read(lease, LEASE_BLOB, &request->lease, txn_now(t));
    return lease_check_write(lease, LEASE_BLOB, &request->lease, txn_now(t));
}

/* A create with "If-None-Match: *", which SDKs send by default: the cloud checks the lease before
 * it reports that the blob exists, and lets the lease's holder overwrite it. */
static struct err check_conditions(struct txn *t, const struct blob_request *request,
                                   enum blob_use use, const struct blob *blob)
{
    struct condition_target target = {.exists = blob->exists,
                                      .etag = blob->head.etag,
                                      .last_modified = blob->head.last_modified,
                                      .tags = blob->head.tags};
    struct err error = conditions_check(&request->conditions, condition_use_of(use), &target);
    if (error.code != ERR_BLOB_ALREADY_EXISTS)
        return error;
    TRY(check_lease(t, request, use, blob));
    if (!request->lease.given)
        return error;
    struct conditions others = request->conditions;
    others.if_none_match = STR_NONE;
    return conditions_check(&others, condition_use_of(use), &target);
}

/* An expired blob does not exist. An operation that creates one in its place deletes it first. */
static struct err pass_over_expired(struct txn *t, const struct blob_request *request,
                                    enum blob_use use, struct blob *blob)
{
    if (request->of_expired || blob->at.item != BLOB_BASE || !blob->stored ||
        !blob_is_expired(&blob->head, txn_now(t)))
        return OK;
    if (use == BLOB_CREATE || use == BLOB_STAGE)
        TRY(blob_remove(t, blob));
    *blob = (struct blob){.container = blob->container,
                          .name = blob->name,
                          .parent = blob->parent,
                          .made = blob->made,
                          .at = blob->at,
                          .key = blob->key};
    return OK;
}

/* With versions, the overwritten state is kept as a previous version with its protection, so
 * overwriting is allowed. A deleted one is kept too, but recordings show that the cloud refuses to
 * delete it, under a policy as under a hold. */
static struct err check_protection(struct txn *t, const struct blob_request *request,
                                   enum blob_use use, const struct blob *blob)
{
    bool kept = use == BLOB_CREATE && blob->at.item == BLOB_BASE &&
                (request->versioning || blob->head.version != 0);
    if (!blob->exists || kept || (use != BLOB_ALTER && use != BLOB_CREATE && use != BLOB_DELETE))
        return OK;
    return blob_check_mutable(&blob->head, txn_now(t));
}

/* A new blob has the scope that the request names, else the container's; the container may forbid
 * others. A write to an existing blob uses the blob's. */
static struct err check_encryption_scope(const struct blob_request *request, enum blob_use use,
                                         struct blob *blob)
{
    struct str wanted = request->encryption_scope;
    struct str usual = blob->container.encryption_scope;
    if (use == BLOB_CREATE || use == BLOB_STAGE) {
        if (str_given(wanted) && blob->container.deny_scope_override &&
            !str_eq(wanted, container_scope(&blob->container)))
            return err_new(ERR_REQUEST_FORBIDDEN_BY_CONTAINER_ENCRYPTION_POLICY);
        blob->scope = str_given(wanted) ? wanted : usual;
        return OK;
    }
    if (!str_given(wanted) || (use != BLOB_ALTER && use != BLOB_CHANGE_SHARED))
        return OK;
    struct str own = blob->head.encryption_scope;
    return str_eq(wanted, str_given(own) ? own : BLOB_ACCOUNT_SCOPE)
               ? OK
               : err_new(ERR_BLOB_CUSTOMER_SPECIFIED_ENCRYPTION_MISMATCH);
}

struct err blob_check_scope_said(const struct blob_request *request, const struct blob *blob)
{
    struct str own = blob->head.encryption_scope;
    return !str_given(own) || str_given(request->encryption_scope) ||
                   str_eq(own, container_scope(&blob->container))
               ? OK
               : err_new(ERR_BLOB_USES_CUSTOMER_SPECIFIED_ENCRYPTION);
}

/* Returns true if the use changes the content of an incremental copy. Such a blob may only be
 * inspected, leased and deleted. */
static bool spoils_incremental(enum blob_use use)
{
    return use == BLOB_CREATE || use == BLOB_CHANGE || use == BLOB_ALTER || use == BLOB_STAGE ||
           use == BLOB_CHANGE_SHARED;
}

static struct err check_copy(const struct blob *blob, enum blob_use use)
{
    struct blob_copy_state copy;
    if (!str_given(blob->head.copy) || use == BLOB_READ || use == BLOB_READ_STORED)
        return OK;
    TRY(blob_copy_decode(blob->head.copy, &copy));
    if (copy.status == BLOB_COPY_PENDING && use != BLOB_COPY_END)
        return err_new(ERR_PENDING_COPY_OPERATION);
    return copy.incremental && spoils_incremental(use)
               ? err_new(ERR_OPERATION_NOT_ALLOWED_ON_INCREMENTAL_COPY_BLOB)
               : OK;
}

struct err blob_open(struct txn *t, const struct blob_request *request, enum blob_use use,
                     struct blob *out)
{
    assert(out != NULL);
    TRY(load(t, request, is_making(use), out));
    TRY(pass_over_expired(t, request, use, out));
    out->tracks_access = request->tracks_access;
    TRY(check_path(request, use, out));
    TRY(check_conditions(t, request, use, out));
    TRY(check_existence(request, use, out));
    TRY(check_kind(t, request, use, out));
    TRY(check_lease(t, request, use, out));
    TRY(check_protection(t, request, use, out));
    TRY(check_encryption_scope(request, use, out));
    return request->at.item == BLOB_BASE ? check_copy(out, use) : OK;
}

/* A blob that was created by copying another's struct has no rows yet. */
static struct str indexed_tags(const struct blob *blob)
{
    bool known = str_given(blob->indexed_key) && str_eq(blob->indexed_key, blob->key);
    return known ? blob->indexed : STR_NONE;
}

/* Snapshots have tags, but are not indexed; nor are soft-deleted blobs. */
static struct err index_tags(struct txn *t, struct blob *blob, struct str tags)
{
    struct tag_change change = {
        .incarnation = blob->container.incarnation, .old = indexed_tags(blob), .new = tags};
    struct blob_at at;
    if (!str_given(change.old) && !str_given(tags)) {
        blob->indexed = tags;
        return OK;
    }
    if (!blob_key_parse_head(blob->key, &change.name, &at))
        return err_new(ERR_CORRUPT);
    blob->indexed = tags;
    if (at.item == BLOB_SNAPSHOT || at.deleted)
        return OK;
    change.version = at.time;
    return tag_index_change(t, &change);
}

/* Reads the body of the head's row. */
struct err blob_load_body(struct txn *t, struct str key, const struct blob_head *head,
                          struct str *body)
{
    struct str row;
    TRY(row_get_with_body(t, key, &row, body));
    return head->appended != 0 || body->n == head->size ? OK : err_new(ERR_CORRUPT);
}

/* Features that the cloud does not have in hierarchical accounts, whichever operation would set
 * them. */
static struct err check_hierarchical(const struct blob *blob)
{
    const struct blob_head *head = &blob->head;
    bool refused = head->type == BLOB_PAGE || head->tags.n > 0 || head->protection.until != 0 ||
                   head->protection.hold;
    return blob->container.hierarchical && refused
               ? err_new(ERR_FEATURE_NOT_YET_SUPPORTED_FOR_HIERARCHICAL_NAMESPACE_ACCOUNTS)
               : OK;
}

struct err blob_save_unchanged(struct txn *t, struct blob *blob)
{
    assert(blob->container.incarnation != 0 && blob->key.n > 0);
    TRY(check_hierarchical(blob));
    TRY(index_tags(t, blob, blob->head.deleted != 0 ? STR_NONE : blob->head.tags));
    TRY(blob_index_times(t, blob, &blob->head));
    struct buf row = buf_in(txn_arena(t));
    blob_head_encode(&row, &blob->head);
    struct engine_row whole = {
        .key = blob->key, .value = buf_str(&row), .hints = blob->soon ? HINT_SOON : 0};
    bool has_body = blob_head_has_body(&blob->head);
    assert(!blob->head.content_beside || blob->head.appended == 0);
    if (has_body && str_given(blob->body))
        whole.body = blob->body;
    else
        whole.keeps_body = has_body;
    bool is_new = blob->unused && blob->soon;
    blob->unused = false;
    return is_new ? txn_insert(t, &whole) : txn_put_row(t, &whole);
}

struct err blob_save_written(struct txn *t, struct blob *blob)
{
    blob->head.etag = txn_stamp(t);
    blob->head.last_modified = txn_now(t);
    lease_after_write(&blob->head.lease, txn_now(t));
    if (!blob->keep_copy)
        blob->head.copy = STR_NONE;
    return blob_save_unchanged(t, blob);
}

struct err blob_forget(struct txn *t, struct blob *blob)
{
    assert(blob->key.n > 0);
    TRY(index_tags(t, blob, STR_NONE));
    TRY(blob_index_times(t, blob, NULL));
    return txn_del(t, blob->key);
}

void blob_give_written(const struct blob_request *request, const struct blob_head *head,
                       struct blob_written *out)
{
    *out = (struct blob_written){.etag = head->etag,
                                 .last_modified = head->last_modified,
                                 .encryption_scope =
                                     arena_copy(request->arena, head->encryption_scope)};
}

struct err blob_give(const struct blob_request *request, const struct blob_head *head,
                     struct blob_head *out)
{
    blob_head_copy(request->arena, head, out);
    return OK;
}

/* ---- contents ---- */

struct err blob_read_content(struct txn *t, const struct blob *blob, struct content_part part,
                             struct arena *to, struct pieces *out)
{
    assert(out != NULL);
    if (!blob->head.content_beside) {
        struct str map =
            blob_key_content(txn_arena(t), blob->container.incarnation, blob->head.content);
        return content_read_some(t, map, part, to, out);
    }
    struct str body = blob->body;
    if (!str_given(body))
        TRY(blob_load_body(t, blob->key, &blob->head, &body));
    if (part.offset > body.n || part.length > body.n - part.offset)
        return err_new(ERR_CORRUPT);
    struct str bytes = str_head(str_from(body, part.offset), part.length);
    if (!blob->lent)
        bytes = arena_copy(to, bytes);
    struct piece piece = {.kind = PIECE_INLINE, .length = bytes.n, .bytes = bytes.p};
    *out = (struct pieces){0};
    if (bytes.n > 0)
        pieces_add(out, to, &piece);
    return OK;
}

struct err blob_settle_content(struct txn *t, uint64_t incarnation, struct str key,
                               struct blob_head *head)
{
    struct content_writer w;
    struct str body;
    if (!head->content_beside)
        return OK;
    TRY(blob_load_body(t, key, head, &body));
    struct piece piece = {.kind = PIECE_INLINE, .length = body.n, .bytes = body.p};
    content_write_begin(&w, t, blob_key_content(txn_arena(t), incarnation, head->content));
    TRY(content_write(&w, &piece, PIECE_ADOPT));
    TRY(content_write_end(&w));
    head->content_beside = false;
    head->content_inline = true;
    head->content_rows = w.rows;
    return OK;
}

static struct err load_shares(struct txn *t, struct str key, uint64_t *count)
{
    struct str row;
    TRY(txn_get(t, key, &row));
    *count = 1;
    if (!str_given(row))
        return OK;
    struct reader r = reader_of(row);
    *count = read_varint(&r);
    return reader_done(&r) && *count > 1 ? OK : err_new(ERR_CORRUPT);
}

static struct err save_shares(struct txn *t, struct str key, uint64_t count)
{
    if (count <= 1)
        return txn_del(t, key);
    struct buf row = buf_in(txn_arena(t));
    buf_put_varint(&row, count);
    return txn_put(t, key, buf_str(&row));
}

struct err blob_share_content(struct txn *t, struct blob *blob)
{
    struct blob_head *head = &blob->head;
    if (head->content == 0)
        return OK;
    TRY(blob_settle_content(t, blob->container.incarnation, blob->key, head));
    struct str key = blob_key_shares(txn_arena(t), blob->container.incarnation, head->content);
    uint64_t count;
    TRY(load_shares(t, key, &count));
    head->content_shared = true;
    return save_shares(t, key, count + 1);
}

/* Removes a content of one chunk, and its block list, which is then one row too. */
static struct err remove_small(struct txn *t, uint64_t incarnation, const struct blob_head *head)
{
    struct arena *a = txn_arena(t);
    struct str content = blob_key_content(a, incarnation, head->content);
    bool done = true;
    if (head->content_inline)
        TRY(content_remove_inline(t, content));
    else
        TRY(content_remove(t, content, CONTENT_CHUNK_PIECES, &done));
    assert(done);
    if (head->block_count == 0)
        return OK;
    return txn_del(t, blob_key_block_list_row(a, incarnation, head->content, 0));
}

struct err blob_drop_content(struct txn *t, uint64_t incarnation, const struct blob_head *head)
{
    assert(incarnation != 0);
    if (head->content == 0 || head->content_beside)
        return OK;
    if (head->content_shared) {
        struct str key = blob_key_shares(txn_arena(t), incarnation, head->content);
        uint64_t count;
        TRY(load_shares(t, key, &count));
        if (count > 1)
            return save_shares(t, key, count - 1);
    }
    if (head->type == BLOB_PAGE) {
        struct sweep_item pages = {SWEEP_PAGES, incarnation, head->content};
        return blob_sweep_add(t, &pages);
    }
    if (head->content_rows <= 1 && head->size <= REMOVED_AT_ONCE_BYTES_MAX &&
        head->block_count <= BLOB_BLOCK_LIST_ROW)
        return remove_small(t, incarnation, head);
    struct sweep_item item = {SWEEP_CONTENT, incarnation, head->content};
    return blob_sweep_add(t, &item);
}

struct err blob_drop_blocks(struct txn *t, uint64_t incarnation, struct blob_head *head)
{
    assert(incarnation != 0);
    blob_head_drop_appends(head);
    if (head->blocks == 0)
        return OK;
    struct sweep_item item = {SWEEP_BLOCKS, incarnation, head->blocks};
    head->blocks = 0;
    head->blocks_appended = false;
    return blob_sweep_add(t, &item);
}
