/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/protect.h"

#include <assert.h>

#include "service/blob/blob.h"
#include "service/common/name.h"

/* ---- rules ---- */

struct err blob_check_mutable(const struct blob_head *head, int64_t now)
{
    if (head->protection.hold)
        return err_new(ERR_BLOB_IMMUTABLE_DUE_TO_LEGAL_HOLD);
    return head->protection.until > now ? err_new(ERR_BLOB_IMMUTABLE_DUE_TO_POLICY) : OK;
}

bool blob_is_expired(const struct blob_head *head, int64_t now)
{
    return head->expires != 0 && head->expires <= now && !head->protection.hold &&
           head->protection.until <= now;
}

/* ---- the indexes ---- */

static struct err move_entry(struct txn *t, char kind, struct str head_key, int64_t old,
                             int64_t new)
{
    struct arena *a = txn_arena(t);
    if (old == new)
        return OK;
    if (old != 0)
        TRY(txn_del(t, blob_key_timed(a, kind, old, head_key)));
    return new == 0 ? OK : txn_put(t, blob_key_timed(a, kind, new, head_key), STR(""));
}

/* A hold has no end. */
static struct blob_times times_of(const struct blob *blob, const struct blob_head *head)
{
    struct str name;
    struct blob_at at;
    if (head == NULL || head->deleted != 0)
        return (struct blob_times){0};
    /* Only the base blob expires, not its snapshots and versions. */
    bool base = blob_key_parse_head(blob->key, &name, &at) && at.item == BLOB_BASE;
    return (struct blob_times){
        .until = head->protection.hold ? INT64_MAX : head->protection.until,
        .expires = base ? head->expires : 0,
    };
}

struct err blob_index_times(struct txn *t, struct blob *blob, const struct blob_head *head)
{
    struct blob_times new = times_of(blob, head);
    /* A blob that was created by copying another's struct has no entries yet. */
    struct blob_times old = {0};
    if (str_given(blob->indexed_key) && str_eq(blob->indexed_key, blob->key))
        old = blob->timed;
    TRY(move_entry(t, BLOB_TIMED_PROTECTION, blob->key, old.until, new.until));
    TRY(move_entry(t, BLOB_TIMED_EXPIRY, blob->key, old.expires, new.expires));
    blob->timed = new;
    blob->indexed_key = blob->key;
    return OK;
}

/* Entries are in the order of their ends: only one with an end in the future counts. */
struct err blob_check_container_mutable(struct txn *t, uint64_t incarnation)
{
    struct str prefix = blob_key_all_timed(txn_arena(t), BLOB_TIMED_PROTECTION, incarnation);
    struct buf from = buf_in(txn_arena(t));
    struct cursor *c;
    buf_put(&from, prefix);
    buf_put_be64(&from, (uint64_t)txn_now(t) + 1);
    TRY(cursor_open(t, prefix, &c));
    struct err e = cursor_seek(c, buf_str(&from));
    if (!err_is(e) && c->valid)
        e = err_new(ERR_BLOB_IMMUTABLE_DUE_TO_POLICY);
    cursor_close(c);
    return e;
}

/* ---- what expires ---- */

static struct err remove_one(struct txn *t, struct str head_key)
{
    struct blob_at at;
    struct str name;
    struct blob_delete_args args = {.snapshots = BLOB_SNAPSHOTS_INCLUDE};
    if (!blob_key_parse_head(head_key, &name, &at))
        return err_new(ERR_CORRUPT);
    args.request = (struct blob_request){.arena = txn_arena(t),
                                         .name = name_from_key(txn_arena(t), name),
                                         .at = at,
                                         .of_expired = true};
    return blob_delete_blob(t, &args);
}

/* Returns true if the head has really expired: a protected one has not, and stays in the index. */
static struct err has_expired(struct txn *t, struct str head_key, bool *out)
{
    struct str row;
    struct blob_head head;
    TRY(txn_get(t, head_key, &row));
    if (!str_given(row))
        return err_new(ERR_CORRUPT);
    TRY(blob_head_decode(row, &head));
    *out = blob_is_expired(&head, txn_now(t));
    return OK;
}

static struct err visit_expired(struct txn *t, struct cursor *c, unsigned max, unsigned *count)
{
    while (*count < max && c->valid) {
        struct str key = arena_copy(txn_arena(t), c->key);
        struct str head_key;
        int64_t time;
        bool expired;
        if (!blob_key_parse_timed(txn_arena(t), key, &time, &head_key))
            return err_new(ERR_CORRUPT);
        if (time > txn_now(t))
            return OK;
        TRY(has_expired(t, head_key, &expired));
        if (expired && txn_writable(t))
            TRY(remove_one(t, head_key));
        *count += expired;
        TRY(cursor_next(c));
    }
    return OK;
}

struct err blob_remove_expired(struct txn *t, const struct container *container, unsigned max,
                               unsigned *count)
{
    struct str prefix = blob_key_all_timed(txn_arena(t), BLOB_TIMED_EXPIRY, container->incarnation);
    struct cursor *c;
    TRY(cursor_open(t, prefix, &c));
    struct err e = cursor_seek(c, prefix);
    if (!err_is(e))
        e = visit_expired(t, c, max, count);
    cursor_close(c);
    return e;
}

/* ---- operations ---- */

static struct err save(struct txn *t, const struct blob_request *request, struct blob *blob,
                       struct blob_head *out)
{
    TRY(blob_save_unchanged(t, blob));
    return blob_give(request, &blob->head, out);
}

struct err blob_set_blob_immutability_policy(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct blob_protect_args *args = arg;
    struct blob blob;
    TRY(blob_open(t, &args->request, BLOB_CHANGE_SHARED, &blob));
    struct blob_protection *now = &blob.head.protection;
    const struct blob_protection *wanted = &args->protection;
    if (now->locked && (!wanted->locked || wanted->until < now->until))
        return err_new(ERR_BLOB_IMMUTABLE_DUE_TO_POLICY);
    now->until = wanted->until;
    now->locked = wanted->locked;
    return save(t, &args->request, &blob, &args->head);
}

struct err blob_delete_blob_immutability_policy(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct blob_protect_args *args = arg;
    struct blob blob;
    TRY(blob_open(t, &args->request, BLOB_CHANGE_SHARED, &blob));
    if (blob.head.protection.locked)
        return err_new(ERR_BLOB_IMMUTABLE_DUE_TO_POLICY);
    blob.head.protection.until = 0;
    return save(t, &args->request, &blob, &args->head);
}

struct err blob_set_blob_legal_hold(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct blob_protect_args *args = arg;
    struct blob blob;
    TRY(blob_open(t, &args->request, BLOB_CHANGE_SHARED, &blob));
    blob.head.protection.hold = args->protection.hold;
    return save(t, &args->request, &blob, &args->head);
}

static int64_t expiry_of(struct txn *t, const struct blob_expiry_args *args,
                         const struct blob_head *head)
{
    switch (args->option) {
    case BLOB_EXPIRY_NEVER:
        break;
    case BLOB_EXPIRY_FROM_CREATION:
        return head->created + args->ticks;
    case BLOB_EXPIRY_FROM_NOW:
        return txn_now(t) + args->ticks;
    case BLOB_EXPIRY_AT:
        return args->ticks;
    }
    return 0;
}

struct err blob_set_blob_expiry(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct blob_expiry_args *args = arg;
    struct blob blob;
    TRY(blob_open(t, &args->request, BLOB_CHANGE, &blob));
    if (blob.head.path.directory)
        return err_new(ERR_EXPIRY_NOT_SUPPORTED_FOR_DIRECTORY);
    TRY(blob_check_mutable(&blob.head, txn_now(t)));
    blob.head.expires = expiry_of(t, args, &blob.head);
    if (args->option != BLOB_EXPIRY_NEVER && blob.head.expires <= txn_now(t))
        return err_new(ERR_INVALID_HEADER_VALUE);
    return save(t, &args->request, &blob, &args->head);
}
