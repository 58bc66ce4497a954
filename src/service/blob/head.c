/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/head.h"

#include <assert.h>

#include "service/common/record.h"

/* Numbers of fields are for ever; new ones are added at the end. */
enum field {
    FIELD_TYPE = 1,
    FIELD_UNCOMMITTED,
    FIELD_ETAG,
    FIELD_LAST_MODIFIED,
    FIELD_CREATED,
    FIELD_SIZE,
    FIELD_CONTENT,
    FIELD_CONTENT_ROWS,
    FIELD_CONTENT_SHARED,
    FIELD_BLOCK_COUNT,
    FIELD_BLOCKS,
    FIELD_TIER,
    FIELD_TIER_CHANGED,
    FIELD_CONTENT_TYPE,
    FIELD_CONTENT_ENCODING,
    FIELD_CONTENT_LANGUAGE,
    FIELD_CONTENT_DISPOSITION,
    FIELD_CACHE_CONTROL,
    FIELD_CONTENT_MD5,
    FIELD_METADATA,
    FIELD_TAGS,
    FIELD_LEASE,
    FIELD_SEALED,
    FIELD_CONTENT_INLINE,
    FIELD_SEQUENCE,
    FIELD_PAGE_ROWS,
    FIELD_PAGE_VOIDS,
    FIELD_REHYDRATE,
    FIELD_REHYDRATE_AT,
    FIELD_REHYDRATE_HIGH,
    FIELD_COPY,
    FIELD_VERSION = 40,
    FIELD_DELETED,
    FIELD_PURGE_AT,
    FIELD_PAGES_AT,
    FIELD_IMMUTABLE_UNTIL = 60,
    FIELD_IMMUTABLE_LOCKED,
    FIELD_LEGAL_HOLD,
    FIELD_EXPIRES,
    FIELD_ACCESSED,
    FIELD_ENCRYPTION_SCOPE,
    FIELD_CONTENT_BESIDE,
    FIELD_PAGE_CLEARS,
    FIELD_DIRECTORY = 80, /* its id + 1 */
    FIELD_MODE,
    FIELD_OWNER,
    FIELD_GROUP,
    FIELD_PATH_ACL,
    FIELD_ENCRYPTION_CONTEXT,
    FIELD_BLOCKS_APPENDED,
    FIELD_DELETED_PATH,
    FIELD_DELETION_ID,
};

/* The fields that are bytes, and where they are. */
static const struct {
    enum field field;
    size_t at;
} BYTES[] = {
    {FIELD_CONTENT_TYPE, offsetof(struct blob_head, http.content_type)},
    {FIELD_CONTENT_ENCODING, offsetof(struct blob_head, http.content_encoding)},
    {FIELD_CONTENT_LANGUAGE, offsetof(struct blob_head, http.content_language)},
    {FIELD_CONTENT_DISPOSITION, offsetof(struct blob_head, http.content_disposition)},
    {FIELD_CACHE_CONTROL, offsetof(struct blob_head, http.cache_control)},
    {FIELD_CONTENT_MD5, offsetof(struct blob_head, http.content_md5)},
    {FIELD_METADATA, offsetof(struct blob_head, metadata)},
    {FIELD_TAGS, offsetof(struct blob_head, tags)},
    {FIELD_PAGE_VOIDS, offsetof(struct blob_head, page_voids)},
    {FIELD_PAGE_CLEARS, offsetof(struct blob_head, page_clears)},
    {FIELD_ENCRYPTION_SCOPE, offsetof(struct blob_head, encryption_scope)},
    {FIELD_COPY, offsetof(struct blob_head, copy)},
    {FIELD_OWNER, offsetof(struct blob_head, path.owner)},
    {FIELD_GROUP, offsetof(struct blob_head, path.group)},
    {FIELD_PATH_ACL, offsetof(struct blob_head, path.acl)},
    {FIELD_DELETED_PATH, offsetof(struct blob_head, path.deleted_path)},
    {FIELD_ENCRYPTION_CONTEXT, offsetof(struct blob_head, path.encryption_context)},
};
enum { BYTES_COUNT = sizeof BYTES / sizeof BYTES[0] };

static struct str *bytes_field(struct blob_head *head, size_t i)
{
    return (struct str *)(void *)((char *)head + BYTES[i].at);
}

static struct str bytes_of(const struct blob_head *head, size_t i)
{
    return *(const struct str *)(const void *)((const char *)head + BYTES[i].at);
}

static void put_lease(struct buf *b, const struct lease *lease)
{
    if (lease->state == LEASE_AVAILABLE)
        return;
    char bytes[64];
    struct buf inner = {.p = bytes, .capacity = sizeof bytes};
    lease_encode(&inner, lease);
    assert(inner.p == bytes);
    record_put_bytes(b, FIELD_LEASE, buf_str(&inner));
}

void blob_head_encode(struct buf *b, const struct blob_head *head)
{
    assert(head->type >= BLOB_BLOCK && head->type <= BLOB_APPEND);
    record_put(b, FIELD_DIRECTORY, head->path.directory ? head->path.id + 1 : 0);
    record_put(b, FIELD_TYPE, head->type);
    record_put(b, FIELD_UNCOMMITTED, !head->committed);
    record_put(b, FIELD_ETAG, (uint64_t)head->etag);
    record_put(b, FIELD_LAST_MODIFIED, (uint64_t)head->last_modified);
    record_put(b, FIELD_CREATED, (uint64_t)head->created);
    record_put(b, FIELD_SIZE, head->size);
    record_put(b, FIELD_CONTENT, head->content);
    record_put(b, FIELD_CONTENT_ROWS, head->content_rows);
    record_put(b, FIELD_CONTENT_SHARED, head->content_shared);
    record_put(b, FIELD_BLOCK_COUNT, head->block_count);
    record_put(b, FIELD_BLOCKS, head->blocks);
    record_put(b, FIELD_TIER, head->tier);
    record_put(b, FIELD_TIER_CHANGED, (uint64_t)head->tier_changed);
    record_put(b, FIELD_REHYDRATE, head->rehydrate);
    record_put(b, FIELD_REHYDRATE_AT, (uint64_t)head->rehydrate_at);
    record_put(b, FIELD_REHYDRATE_HIGH, head->rehydrate_high);
    record_put(b, FIELD_SEALED, head->sealed);
    record_put(b, FIELD_SEQUENCE, head->sequence);
    record_put(b, FIELD_PAGE_ROWS, head->page_rows);
    record_put(b, FIELD_CONTENT_INLINE, head->content_inline);
    record_put(b, FIELD_CONTENT_BESIDE, head->content_beside);
    record_put(b, FIELD_VERSION, (uint64_t)head->version);
    record_put(b, FIELD_DELETED, (uint64_t)head->deleted);
    record_put(b, FIELD_PURGE_AT, (uint64_t)head->purge_at);
    record_put(b, FIELD_PAGES_AT, (uint64_t)head->pages_at);
    record_put(b, FIELD_IMMUTABLE_UNTIL, (uint64_t)head->protection.until);
    record_put(b, FIELD_IMMUTABLE_LOCKED, head->protection.locked);
    record_put(b, FIELD_LEGAL_HOLD, head->protection.hold);
    record_put(b, FIELD_EXPIRES, (uint64_t)head->expires);
    record_put(b, FIELD_ACCESSED, (uint64_t)head->accessed);
    record_put(b, FIELD_MODE, head->path.mode);
    record_put(b, FIELD_BLOCKS_APPENDED, head->blocks_appended);
    record_put(b, FIELD_DELETION_ID, (uint64_t)head->path.deletion_id);
    for (size_t i = 0; i < BYTES_COUNT; i++)
        record_put_bytes(b, BYTES[i].field, bytes_of(head, i));
    put_lease(b, &head->lease);
}

static bool take_path(struct blob_head *h, unsigned field, uint64_t value)
{
    switch (field) {
    case FIELD_DIRECTORY:
        h->path.directory = true;
        h->path.id = value - 1;
        return true;
    case FIELD_MODE:
        h->path.mode = (unsigned)value;
        return true;
    case FIELD_DELETION_ID:
        h->path.deletion_id = (int64_t)value;
        return true;
    case FIELD_BLOCKS_APPENDED:
        h->blocks_appended = value != 0;
        return true;
    default:
        return false;
    }
}

static bool take_protection(struct blob_head *h, unsigned field, uint64_t value)
{
    switch (field) {
    case FIELD_IMMUTABLE_UNTIL:
        h->protection.until = (int64_t)value;
        return true;
    case FIELD_IMMUTABLE_LOCKED:
        h->protection.locked = value != 0;
        return true;
    case FIELD_LEGAL_HOLD:
        h->protection.hold = value != 0;
        return true;
    case FIELD_EXPIRES:
        h->expires = (int64_t)value;
        return true;
    case FIELD_ACCESSED:
        h->accessed = (int64_t)value;
        return true;
    default:
        return take_path(h, field, value);
    }
}

static bool take_tier(struct blob_head *h, unsigned field, uint64_t value)
{
    switch (field) {
    case FIELD_TIER:
        h->tier = (enum blob_tier)value;
        return true;
    case FIELD_TIER_CHANGED:
        h->tier_changed = (int64_t)value;
        return true;
    case FIELD_REHYDRATE:
        h->rehydrate = (enum blob_tier)value;
        return true;
    case FIELD_REHYDRATE_AT:
        h->rehydrate_at = (int64_t)value;
        return true;
    case FIELD_REHYDRATE_HIGH:
        h->rehydrate_high = value != 0;
        return true;
    default:
        return take_protection(h, field, value);
    }
}

static bool take_kept(struct blob_head *h, unsigned field, uint64_t value)
{
    switch (field) {
    case FIELD_VERSION:
        h->version = (int64_t)value;
        return true;
    case FIELD_DELETED:
        h->deleted = (int64_t)value;
        return true;
    case FIELD_PURGE_AT:
        h->purge_at = (int64_t)value;
        return true;
    case FIELD_PAGES_AT:
        h->pages_at = (int64_t)value;
        return true;
    default:
        return take_tier(h, field, value);
    }
}

static bool take_number(struct blob_head *h, unsigned field, uint64_t value)
{
    switch (field) {
    case FIELD_TYPE:
        h->type = (enum blob_type)value;
        return true;
    case FIELD_CONTENT_INLINE:
        h->content_inline = value != 0;
        return true;
    case FIELD_CONTENT_BESIDE:
        h->content_beside = value != 0;
        return true;
    case FIELD_SEQUENCE:
        h->sequence = value;
        return true;
    case FIELD_PAGE_ROWS:
        h->page_rows = (unsigned)value;
        return true;
    case FIELD_SEALED:
        h->sealed = value != 0;
        return true;
    case FIELD_UNCOMMITTED:
        h->committed = value == 0;
        return true;
    case FIELD_ETAG:
        h->etag = (int64_t)value;
        return true;
    case FIELD_LAST_MODIFIED:
        h->last_modified = (int64_t)value;
        return true;
    case FIELD_CREATED:
        h->created = (int64_t)value;
        return true;
    case FIELD_SIZE:
        h->size = value;
        return true;
    case FIELD_CONTENT:
        h->content = value;
        return true;
    case FIELD_CONTENT_ROWS:
        h->content_rows = value;
        return true;
    case FIELD_CONTENT_SHARED:
        h->content_shared = value != 0;
        return true;
    case FIELD_BLOCK_COUNT:
        h->block_count = value;
        return true;
    case FIELD_BLOCKS:
        h->blocks = value;
        return true;
    default:
        return take_kept(h, field, value);
    }
}

static void take_bytes(struct blob_head *h, unsigned field, struct str bytes)
{
    for (size_t i = 0; i < BYTES_COUNT; i++)
        if (BYTES[i].field == field)
            *bytes_field(h, i) = bytes;
}

void blob_head_copy(struct arena *a, const struct blob_head *head, struct blob_head *out)
{
    *out = *head;
    for (size_t i = 0; i < BYTES_COUNT; i++)
        *bytes_field(out, i) = arena_copy(a, bytes_of(head, i));
}

struct err blob_head_decode(struct str row, struct blob_head *out)
{
    struct reader r = reader_of(row);
    struct record_field field;
    *out = (struct blob_head){.committed = true};
    while (record_next(&r, &field)) {
        if (take_number(out, field.number, field.value))
            continue;
        if (field.number == FIELD_LEASE && !lease_decode(field.bytes, &out->lease))
            return err_new(ERR_CORRUPT);
        take_bytes(out, field.number, field.bytes);
    }
    bool known = out->type >= BLOB_BLOCK && out->type <= BLOB_APPEND &&
                 out->tier <= BLOB_TIER_SMART &&
                 (out->rehydrate < BLOB_TIER_ARCHIVE || out->rehydrate == BLOB_TIER_SMART);
    return reader_ok(&r) && known ? OK : err_new(ERR_CORRUPT);
}

struct str blob_type_text(enum blob_type type)
{
    static const struct str TEXTS[] = {STR_INIT(""), STR_INIT("BlockBlob"), STR_INIT("PageBlob"),
                                       STR_INIT("AppendBlob")};
    return TEXTS[type];
}

static const struct str TIERS[] = {
    STR_INIT("Hot"), STR_INIT("Hot"),  STR_INIT("Cool"), STR_INIT("Cold"), STR_INIT("Archive"),
    STR_INIT("P4"),  STR_INIT("P6"),   STR_INIT("P10"),  STR_INIT("P15"),  STR_INIT("P20"),
    STR_INIT("P30"), STR_INIT("P40"),  STR_INIT("P50"),  STR_INIT("P60"),  STR_INIT("P70"),
    STR_INIT("P80"), STR_INIT("Smart")};

struct str blob_tier_text(enum blob_tier tier)
{
    return TIERS[tier];
}

bool blob_tier_parse(struct str text, enum blob_tier *out)
{
    for (unsigned i = BLOB_TIER_HOT; i <= BLOB_TIER_SMART; i++)
        if (str_ieq(text, TIERS[i])) {
            *out = (enum blob_tier)i;
            return true;
        }
    return false;
}

bool blob_tier_is_for_pages(enum blob_tier tier)
{
    return tier >= BLOB_TIER_P4 && tier <= BLOB_TIER_P80;
}

/* Each is twice as large as the one before it: 32 GiB, 64 GiB, … */
uint64_t blob_tier_size_max(enum blob_tier tier)
{
    return blob_tier_is_for_pages(tier) ? (32ULL << 30) << (tier - BLOB_TIER_P4) : UINT64_MAX;
}

void blob_head_settle(struct blob_head *head, int64_t now)
{
    if (head->rehydrate == BLOB_TIER_NONE || now < head->rehydrate_at)
        return;
    head->tier = head->rehydrate;
    head->tier_changed = head->rehydrate_at;
    head->rehydrate = BLOB_TIER_NONE;
    head->rehydrate_at = 0;
    head->rehydrate_high = false;
}

struct err blob_head_check_online(const struct blob_head *head)
{
    if (head->tier != BLOB_TIER_ARCHIVE)
        return OK;
    return err_new(head->rehydrate == BLOB_TIER_NONE ? ERR_BLOB_ARCHIVED
                                                     : ERR_BLOB_BEING_REHYDRATED);
}

struct str blob_archive_status_text(const struct blob_head *head)
{
    static const struct str TEXTS[BLOB_TIER_SMART + 1] = {
        [BLOB_TIER_HOT] = STR_INIT("rehydrate-pending-to-hot"),
        [BLOB_TIER_COOL] = STR_INIT("rehydrate-pending-to-cool"),
        [BLOB_TIER_COLD] = STR_INIT("rehydrate-pending-to-cold"),
        [BLOB_TIER_SMART] = STR_INIT("rehydrate-pending-to-smart"),
    };
    return TEXTS[head->rehydrate];
}

struct str blob_rehydrate_priority_text(const struct blob_head *head)
{
    if (head->rehydrate == BLOB_TIER_NONE)
        return STR_NONE;
    return head->rehydrate_high ? STR("High") : STR("Standard");
}

/* A directory's id stands first in rows that are written now. */
bool blob_head_is_directory(struct str row, uint64_t *id)
{
    struct reader r = reader_of(row);
    struct record_field field;
    while (record_next(&r, &field))
        if (field.number == FIELD_DIRECTORY) {
            *id = field.value - 1;
            return true;
        }
    return false;
}
