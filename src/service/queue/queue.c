/* SPDX-License-Identifier: Apache-2.0 */
/* Queues themselves: create, delete, metadata, policies. */
#include <assert.h>

#include "service/queue/page.h"

#include "service/common/pairs.h"
#include "service/common/records.h"

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

struct properties {
    bool exists;
    struct str metadata;
    struct str policies;
};

#define PROPERTY(number, member) RECORD_MEMBER(struct properties, number, member)
static const struct record_member PROPERTIES_MEMBERS[] = {
    PROPERTY(1, metadata),
    PROPERTY(2, policies),
};
#undef PROPERTY
const struct record_type QUEUE_RECORD = RECORD_TYPE(struct properties, PROPERTIES_MEMBERS);

static struct err properties_decode(struct str value, struct properties *p)
{
    *p = (struct properties){.exists = str_given(value)};
    return record_read(value, &QUEUE_RECORD, p) ? OK : err_new(ERR_CORRUPT);
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
    record_write(&b, &QUEUE_RECORD, p);
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
    assert(txn_writable(t));
    struct queue_create *create = arg;
    struct properties p;
    struct queue_state s;
    struct engine_read reads[] = {{.key = QUEUE_KEY_PROPERTIES},
                                  {.key = QUEUE_KEY_STATE, .hints = HINT_SOON}};
    TRY(txn_get_many(t, reads, 2));
    TRY(properties_decode(reads[0].value, &p));
    create->existed = p.exists;
    if (p.exists)
        return metadata_same(p.metadata, create->metadata) ? OK : err_new(ERR_QUEUE_ALREADY_EXISTS);
    TRY(queue_state_decode(reads[1].value, &s));
    if (s.blocked_until > txn_now(t))
        return err_new(ERR_QUEUE_BEING_DELETED);
    s.blocked_until = 0;
    s.exists = true;
    s.incarnation = (uint64_t)txn_stamp(t);
    TRY(queue_state_save(t, &s));
    p.metadata = create->metadata;
    return properties_save(t, &p);
}

/* The cloud refuses the name for half a minute (QueueBeingDeleted) while it deletes the
 * messages. Here deletion needs no such time, so the name is blocked only if the caller asks for
 * it. */
struct err queue_delete(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    const struct queue_delete *delete = arg;
    struct queue_state s;
    TRY(queue_state_load(t, &s));
    queue_state_bury(t, &s);
    if (delete != NULL && delete->blocked_ticks > 0)
        s.blocked_until = txn_now(t) + delete->blocked_ticks;
    TRY(queue_state_save(t, &s));
    return txn_del(t, QUEUE_KEY_PROPERTIES);
}

/* ---- metadata and policies ---- */

static struct err count_expired_pages(struct txn *t, const struct queue_state *s, struct cursor *c,
                                      uint64_t *count)
{
    enum { COUNT_PAGES_MAX = 100 };
    for (unsigned looked = 0; c->valid && looked < COUNT_PAGES_MAX; looked++) {
        int64_t time;
        uint64_t id;
        struct page page;
        bool found;
        TRY(queue_key_read(c->key, &time, &id));
        TRY(queue_page_load(t, s, id, &page, &found));
        for (unsigned i = 0; found && i < page.count; i++)
            *count += !page.slots[i].gone && page.slots[i].expires <= txn_now(t);
        TRY(cursor_next(c));
    }
    return OK;
}

/* An expired message that the sweep has not removed yet must not be counted. The search for them
 * is bounded; past the bound the count is too high, which the API allows ("approximate"). */
static struct err count_expired(struct txn *t, const struct queue_state *s, uint64_t *count)
{
    *count = 0;
    if (s->expires_from > txn_now(t))
        return OK;
    struct queue_key from = queue_key_timed(s, KEY_EXPIRES, s->expires_from, 0);
    struct queue_key to = queue_key_timed(s, KEY_EXPIRES, txn_now(t) + 1, 0);
    struct cursor *c = NULL;
    struct err error = cursor_open_range(t, queue_key_str(&from), queue_key_str(&to), &c);
    if (!err_is(error))
        error = count_expired_pages(t, s, c, count);
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
    assert(txn_writable(t));
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
    assert(txn_writable(t));
    const struct queue_acl *acl = arg;
    struct properties p;
    TRY(properties_load(t, &p));
    p.policies = acl->policies;
    return properties_save(t, &p);
}

/* ---- the list ---- */

/* Adds the queue at the cursor to the list. A partition that holds only rows of a deleted queue
 * has no properties row and is skipped. */
static struct err list_take(struct queue_list *list, size_t head_n, const struct cursor *scan)
{
    struct properties p;
    if (!str_eq(scan->key, QUEUE_KEY_PROPERTIES))
        return OK;
    struct str name = arena_copy(list->arena, str_from(scan->partition, head_n));
    if (list->count == list->count_max) {
        list->next = name;
        return OK;
    }
    TRY(properties_decode(scan->value, &p));
    list->queues[list->count++] = (struct queue_listed){
        .name = name,
        .metadata = arena_copy(list->arena, p.metadata),
    };
    return OK;
}

/* Moves to the first row of the next partition, which is the queue's properties row. */
static struct err scan_past(struct cursor *scan, struct buf *partition)
{
    buf_putc(partition, '\0');
    return cursor_seek_across(scan, buf_str(partition), STR(""));
}

static struct err list_rows(struct queue_list *list, struct cursor *scan)
{
    struct str head = queue_partition(list->arena, list->account, STR(""));
    struct buf at = buf_in(list->arena);
    if (str_given(list->from)) {
        buf_put(&at, head);
        buf_put(&at, list->from);
        TRY(cursor_seek_across(scan, buf_str(&at), STR("")));
    }
    while (scan->valid && !str_given(list->next)) {
        TRY(list_take(list, head.n, scan));
        buf_clear(&at);
        buf_put(&at, scan->partition);
        TRY(scan_past(scan, &at));
    }
    return OK;
}

struct err queue_list(struct txn *t, void *arg)
{
    struct queue_list *list = arg;
    struct str prefix = queue_partition(list->arena, list->account, list->prefix);
    struct cursor *scan = NULL;
    list->queues = ARENA_ARRAY(list->arena, struct queue_listed, list->count_max);
    list->count = 0;
    list->next = STR_NONE;
    struct err error = cursor_open_across(t, prefix, STR(""), STR(""), &scan);
    if (!err_is(error))
        error = list_rows(list, scan);
    cursor_close(scan);
    return error;
}
