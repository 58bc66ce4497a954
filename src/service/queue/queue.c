/* SPDX-License-Identifier: Apache-2.0 */
/* Queues themselves: create, delete, metadata, policies. */
#include "service/queue/rows.h"

#include "service/common/pairs.h"
#include "service/common/record.h"

struct str queue_partition(struct arena *a, struct str account, struct str queue)
{
    struct buf b = buf_in(a);
    buf_put(&b, STR("q/"));
    buf_put(&b, account);
    buf_putc(&b, '/');
    buf_put(&b, queue);
    return buf_str(&b);
}

/* ---- the properties row ---- */

enum properties_field { PROPERTIES_METADATA = 1, PROPERTIES_POLICIES };

struct properties {
    bool exists;
    struct str metadata;
    struct str policies;
};

static struct err properties_decode(struct str value, struct properties *p)
{
    *p = (struct properties){.exists = str_given(value)};
    struct reader r = reader_of(value);
    struct record_field f;
    while (record_next(&r, &f)) {
        if (f.number == PROPERTIES_METADATA)
            p->metadata = f.bytes;
        else if (f.number == PROPERTIES_POLICIES)
            p->policies = f.bytes;
    }
    return reader_done(&r) ? OK : err_new(ERR_CORRUPT);
}

static struct err properties_read(struct txn *t, struct properties *p)
{
    struct str value;
    TRY(txn_get(t, QUEUE_KEY_PROPERTIES, &value));
    return properties_decode(value, p);
}

static struct err properties_load(struct txn *t, struct properties *p)
{
    TRY(properties_read(t, p));
    return p->exists ? OK : err_new(ERR_QUEUE_NOT_FOUND);
}

static struct err properties_save(struct txn *t, const struct properties *p)
{
    struct buf b = buf_in(txn_arena(t));
    record_put_bytes(&b, PROPERTIES_METADATA, p->metadata);
    record_put_bytes(&b, PROPERTIES_POLICIES, p->policies);
    return txn_put(t, QUEUE_KEY_PROPERTIES, buf_str(&b));
}

/* ---- create and delete ---- */

static bool metadata_holds(struct str encoded, const struct pair *wanted)
{
    struct reader r = reader_of(encoded);
    struct pair pair;
    while (pairs_next(&r, &pair))
        if (str_ieq(pair.name, wanted->name) && str_eq(pair.value, wanted->value))
            return true;
    return false;
}

static bool metadata_same(struct str a, struct str b)
{
    struct reader r = reader_of(a);
    struct pair pair;
    if (pairs_count(a) != pairs_count(b))
        return false;
    while (pairs_next(&r, &pair))
        if (!metadata_holds(b, &pair))
            return false;
    return true;
}

struct err queue_create(struct txn *t, void *arg)
{
    struct queue_create *create = arg;
    struct properties p;
    TRY(properties_read(t, &p));
    create->existed = p.exists;
    if (p.exists)
        return metadata_same(p.metadata, create->metadata) ? OK : err_new(ERR_QUEUE_ALREADY_EXISTS);
    struct queue_state s;
    TRY(queue_state_read(t, &s));
    s.exists = true;
    s.incarnation = (uint64_t)txn_stamp(t);
    TRY(queue_state_save(t, &s));
    p.metadata = create->metadata;
    return properties_save(t, &p);
}

/* The cloud keeps the name blocked for half a minute (QueueBeingDeleted) while it collects the
 * messages; here nothing waits for that. */
struct err queue_delete(struct txn *t, void *arg)
{
    (void)arg;
    struct queue_state s;
    TRY(queue_state_load(t, &s));
    queue_state_bury(t, &s);
    TRY(queue_state_save(t, &s));
    return txn_del(t, QUEUE_KEY_PROPERTIES);
}

/* ---- metadata and policies ---- */

/* Messages that have expired but are not swept yet are not there for anyone: the count leaves them
 * out. How many are looked for is bounded; past it the count errs upwards, which it may. */
static struct err count_expired(struct txn *t, const struct queue_state *s, uint64_t *count)
{
    enum { COUNT_LOOK_MAX = 2000 };
    *count = 0;
    if (s->expires_from > txn_now(t))
        return OK;
    struct queue_key from = queue_key_expires(s, s->expires_from, 0);
    struct queue_key to = queue_key_expires(s, txn_now(t) + 1, 0);
    struct cursor *c = NULL;
    struct err error = cursor_open_range(t, queue_key_str(&from), queue_key_str(&to), &c);
    while (!err_is(error) && cursor_valid(c) && *count < COUNT_LOOK_MAX) {
        (*count)++;
        error = cursor_next(c);
    }
    cursor_close(c);
    return error;
}

struct err queue_get_metadata(struct txn *t, void *arg)
{
    struct queue_properties *out = arg;
    struct properties p;
    struct queue_state s;
    uint64_t expired;
    TRY(properties_load(t, &p));
    TRY(queue_state_load(t, &s));
    TRY(count_expired(t, &s, &expired));
    out->metadata = arena_copy(out->arena, p.metadata);
    out->count = s.count - expired;
    return OK;
}

struct err queue_set_metadata(struct txn *t, void *arg)
{
    const struct queue_set_metadata *set = arg;
    struct properties p;
    TRY(properties_load(t, &p));
    p.metadata = set->metadata;
    return properties_save(t, &p);
}

struct err queue_get_acl(struct txn *t, void *arg)
{
    struct queue_acl *acl = arg;
    struct properties p;
    TRY(properties_load(t, &p));
    acl->policies = arena_copy(acl->arena, p.policies);
    return OK;
}

struct err queue_set_acl(struct txn *t, void *arg)
{
    const struct queue_acl *acl = arg;
    struct properties p;
    TRY(properties_load(t, &p));
    p.policies = acl->policies;
    return properties_save(t, &p);
}

/* ---- the list ---- */

struct listing {
    struct queue_list *list;
    size_t head_n; /* of the partition, before the queue's name */
    struct err error;
};

static bool list_visit(struct str partition, struct str value, void *arg)
{
    struct listing *l = arg;
    struct queue_list *list = l->list;
    struct properties p;
    if (list->count == list->count_max) {
        list->next = list->queues[list->count - 1].name;
        return false;
    }
    l->error = properties_decode(value, &p);
    if (err_is(l->error))
        return false;
    list->queues[list->count++] = (struct queue_listed){
        .name = arena_copy(list->arena, str_from(partition, l->head_n)),
        .metadata = arena_copy(list->arena, p.metadata),
    };
    return true;
}

struct err queue_list(struct store *store, struct queue_list *list)
{
    struct str head = queue_partition(list->arena, list->account, STR(""));
    struct str prefix = queue_partition(list->arena, list->account, list->prefix);
    struct str after = STR_NONE;
    if (str_given(list->after))
        after = queue_partition(list->arena, list->account, list->after);
    struct listing l = {.list = list, .head_n = head.n, .error = OK};
    list->queues = ARENA_ARRAY(list->arena, struct queue_listed, list->count_max);
    list->count = 0;
    list->next = STR_NONE;
    TRY(engine_partitions(store->engine, prefix, after, QUEUE_KEY_PROPERTIES, list_visit, &l));
    return l.error;
}
