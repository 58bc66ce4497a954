/* SPDX-License-Identifier: Apache-2.0 */
/* Entities one by one and in groups: the changes, and reading one. Rules T1 to T3. */
#include <assert.h>

#include "core/time.h"
#include "service/common/name.h"
#include "service/table/entity.h"
#include "service/table/table_internal.h"

/* ---- ETags ---- */

/* The Timestamp with its colons percent-encoded, as the service has always sent it. */
void entity_etag(int64_t stamp, char out[ENTITY_ETAG_BYTES])
{
    char iso[TIME_ISO_BYTES];
    static const struct str before = STR_INIT("W/\"datetime'");
    size_t n = before.n;
    time_iso(stamp, iso);
    memcpy(out, before.p, before.n);
    for (size_t i = 0; i < TIME_ISO_BYTES; i++) {
        if (iso[i] == ':') {
            memcpy(out + n, "%3A", 3);
            n += 3;
        } else {
            out[n++] = iso[i];
        }
    }
    memcpy(out + n, "'\"", 2);
    assert(n + 2 == ENTITY_ETAG_BYTES);
}

/* Parses the text between the quotes of a weak ETag as a stamp; clients may have decoded the
 * percent signs. */
static bool stamp_of(struct str text, int64_t *stamp)
{
    static const struct str prefix = STR_INIT("datetime'");
    char iso[TIME_ISO_BYTES];
    size_t n = 0;
    if (!str_starts(text, prefix) || text.n == prefix.n || text.p[text.n - 1] != '\'')
        return false;
    text = (struct str){text.p + prefix.n, text.n - prefix.n - 1};
    for (size_t i = 0; i < text.n; i++) {
        if (n == sizeof iso)
            return false;
        bool colon = str_istarts(str_from(text, i), STR("%3A"));
        iso[n++] = colon ? ':' : text.p[i];
        i += colon ? 2 : 0;
    }
    return n == sizeof iso && time_parse_iso((struct str){iso, n}, stamp);
}

struct err entity_match_parse(struct str text, struct entity_match *out)
{
    assert(out != NULL);
    *out = (struct entity_match){.kind = MATCH_ANY};
    if (str_eq(text, STR("*")))
        return OK;
    bool weak = text.n >= 4 && ascii_lower(text.p[0]) == 'w' && text.p[1] == '/' &&
                text.p[2] == '"' && text.p[text.n - 1] == '"';
    if (!weak)
        return err_new(ERR_INVALID_INPUT);
    struct str inner = {text.p + 3, text.n - 4};
    if (str_find(inner, '"', 0) < inner.n)
        return err_new(ERR_INVALID_INPUT);
    out->kind = inner.n > 0 && stamp_of(inner, &out->stamp) ? MATCH_STAMP : MATCH_NEVER;
    return OK;
}

/* ---- the changes ---- */

/* One change in progress: the entity's row and the action. */
struct change_run {
    struct txn *txn;
    struct entity_change *change;
    struct str key;
    struct str old; /* absent: there is none */
};

static struct err store_record(struct change_run *run, char *record, size_t n)
{
    run->change->stamp = txn_stamp(run->txn);
    entity_set_stamp(record, run->change->stamp);
    return txn_put(run->txn, run->key, (struct str){record, n});
}

static struct err put_record(struct change_run *run)
{
    return store_record(run, run->change->record, run->change->record_n);
}

/* Records the state that the change found, for the inspector. */
COLD static void tell(const struct change_run *run, enum verdict_check check)
{
    int64_t stamp = run->old.n < ENTITY_HEAD_BYTES ? 0 : entity_stamp(run->old);
    if (run->change->verdict != NULL)
        *run->change->verdict =
            (struct verdict){.check = check, .exists = true, .etag = stamp, .last_modified = stamp};
}

COLD static struct err refuse_insert(const struct change_run *run)
{
    tell(run, VERDICT_NONE);
    return err_new(ERR_ENTITY_ALREADY_EXISTS);
}

static struct err check_match(const struct change_run *run)
{
    const struct entity_match *match = &run->change->match;
    if (!str_given(run->old))
        return err_new(ERR_RESOURCE_NOT_FOUND);
    if (match->kind == MATCH_ANY)
        return OK;
    if (run->old.n < ENTITY_HEAD_BYTES)
        return err_new(ERR_CORRUPT);
    bool current = match->kind == MATCH_STAMP && match->stamp == entity_stamp(run->old);
    if (current)
        return OK;
    tell(run, VERDICT_IF_MATCH);
    return err_new(ERR_UPDATE_CONDITION_NOT_SATISFIED);
}

static struct err merge_record(struct change_run *run)
{
    struct entity_change *change = run->change;
    struct buf merged;
    struct str patch = {change->record, change->record_n};
    TRY(entity_merge(txn_arena(run->txn), run->old, patch, &merged));
    TRY(entity_check_size(buf_str(&merged), change->pk, change->rk));
    return store_record(run, merged.p, merged.n);
}

static struct err run_change(struct change_run *run, enum entity_change_kind kind)
{
    bool exists = str_given(run->old);
    switch (kind) {
    case CHANGE_INSERT:
        return exists ? refuse_insert(run) : put_record(run);
    case CHANGE_UPDATE:
        TRY(check_match(run));
        return put_record(run);
    case CHANGE_MERGE:
        TRY(check_match(run));
        return merge_record(run);
    case CHANGE_DELETE:
        TRY(check_match(run));
        return txn_del(run->txn, run->key);
    case CHANGE_INSERT_OR_REPLACE:
        return put_record(run);
    case CHANGE_INSERT_OR_MERGE:
        return exists ? merge_record(run) : put_record(run);
    }
    return err_new(ERR_INVALID_INPUT);
}

static struct str key_of(struct txn *t, uint64_t table, const struct entity_change *change)
{
    struct arena *a = txn_arena(t);
    return table_entity_key(a, table, name_to_key(a, change->rk));
}

static struct err apply_alone(struct txn *t, struct entity_change *change,
                              enum entity_change_kind kind)
{
    uint64_t table;
    TRY(table_find(t, &change->ref, &table));
    struct change_run run = {.txn = t, .change = change, .key = key_of(t, table, change)};
    TRY(txn_get(t, run.key, &run.old));
    return run_change(&run, kind);
}

struct err table_insert_entity(struct txn *t, void *arg)
{
    return apply_alone(t, arg, CHANGE_INSERT);
}

struct err table_update_entity(struct txn *t, void *arg)
{
    return apply_alone(t, arg, CHANGE_UPDATE);
}

struct err table_merge_entity(struct txn *t, void *arg)
{
    return apply_alone(t, arg, CHANGE_MERGE);
}

struct err table_delete_entity(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    return apply_alone(t, arg, CHANGE_DELETE);
}

struct err table_insert_or_replace_entity(struct txn *t, void *arg)
{
    return apply_alone(t, arg, CHANGE_INSERT_OR_REPLACE);
}

struct err table_insert_or_merge_entity(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    return apply_alone(t, arg, CHANGE_INSERT_OR_MERGE);
}

struct err table_entity_group_transaction(struct txn *t, void *arg)
{
    struct entity_group *group = arg;
    struct engine_read *reads = ARENA_ARRAY(txn_arena(t), struct engine_read, group->count);
    uint64_t table;
    group->failed = 0;
    TRY(table_find(t, &group->ref, &table));
    for (size_t i = 0; i < group->count; i++)
        reads[i] = (struct engine_read){.key = key_of(t, table, group->changes[i])};
    TRY(txn_get_many(t, reads, group->count));
    for (; group->failed < group->count; group->failed++) {
        struct entity_change *change = group->changes[group->failed];
        const struct engine_read *read = &reads[group->failed];
        struct change_run run = {.txn = t, .change = change, .key = read->key, .old = read->value};
        TRY(run_change(&run, change->kind));
    }
    return OK;
}

/* ---- reading one ---- */

struct err table_get_entity(struct txn *t, void *arg)
{
    struct entity_get *get = arg;
    struct arena *a = txn_arena(t);
    uint64_t table;
    struct str row;
    TRY(table_find(t, &get->ref, &table));
    TRY(txn_get(t, table_entity_key(a, table, name_to_key(a, get->rk)), &row));
    if (!str_given(row))
        return err_new(ERR_RESOURCE_NOT_FOUND);
    if (row.n < ENTITY_HEAD_BYTES)
        return err_new(ERR_CORRUPT);
    get->record = arena_copy(get->arena, row);
    return OK;
}
