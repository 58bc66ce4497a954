/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/head.h"

#include <assert.h>

#include "service/common/records.h"

/* A directory's id comes first, so that blob_head_is_directory finds it at once. */
enum { FIELD_DIRECTORY = 80 };

#define HEAD(number, member)      RECORD_MEMBER(struct blob_head, number, member)
#define HEAD_TIER(number, member) RECORD_ENUM(struct blob_head, number, member, BLOB_TIER_SMART)
static const struct record_member MEMBERS[] = {
    RECORD_MEMBER_OPTIONAL(struct blob_head, FIELD_DIRECTORY, path.id, path.directory),
    RECORD_ENUM(struct blob_head, 1, type, BLOB_APPEND),
    RECORD_MEMBER_NOT(struct blob_head, 2, committed),
    HEAD(3, etag),
    HEAD(4, last_modified),
    HEAD(5, created),
    HEAD(6, size),
    HEAD(7, content),
    HEAD(8, content_rows),
    HEAD(9, content_shared),
    HEAD(10, block_count),
    HEAD(11, blocks),
    HEAD_TIER(12, tier),
    HEAD(13, tier_changed),
    HEAD_TIER(28, rehydrate),
    HEAD(29, rehydrate_at),
    HEAD(30, rehydrate_high),
    HEAD(23, sealed),
    HEAD(25, sequence),
    HEAD(26, page_rows),
    HEAD(24, content_inline),
    HEAD(66, content_beside),
    HEAD(40, version),
    HEAD(41, deleted),
    HEAD(42, purge_at),
    HEAD(43, pages_at),
    HEAD(60, protection.until),
    HEAD(61, protection.locked),
    HEAD(62, protection.hold),
    HEAD(63, expires),
    HEAD(64, accessed),
    HEAD(81, path.mode),
    HEAD(90, path.levels),
    HEAD(86, blocks_appended),
    HEAD(89, appended),
    HEAD(88, path.deletion_id),
    HEAD(14, http.content_type),
    HEAD(15, http.content_encoding),
    HEAD(16, http.content_language),
    HEAD(17, http.content_disposition),
    HEAD(18, http.cache_control),
    HEAD(19, http.content_md5),
    HEAD(20, metadata),
    HEAD(21, tags),
    HEAD(27, page_voids),
    HEAD(67, page_clears),
    HEAD(65, encryption_scope),
    HEAD(31, copy),
    HEAD(82, path.owner),
    HEAD(83, path.group),
    HEAD(84, path.acl),
    HEAD(87, path.deleted_path),
    HEAD(91, appends),
    HEAD(85, path.encryption_context),
    RECORD_MEMBER_CODED(struct blob_head, 22, lease, &LEASE_CODEC),
};
#undef HEAD
#undef HEAD_TIER
const struct record_type BLOB_HEAD_RECORD = RECORD_TYPE(struct blob_head, MEMBERS);

void blob_head_encode(struct buf *b, const struct blob_head *head)
{
    assert(head->type >= BLOB_BLOCK);
    record_write(b, &BLOB_HEAD_RECORD, head);
}

void blob_head_copy(struct arena *a, const struct blob_head *head, struct blob_head *out)
{
    assert(out != NULL);
    *out = *head;
    record_own(a, &BLOB_HEAD_RECORD, out);
}

struct err blob_head_decode(struct str row, struct blob_head *out)
{
    assert(out != NULL);
    *out = (struct blob_head){.committed = true};
    bool good = record_read(row, &BLOB_HEAD_RECORD, out) && out->type >= BLOB_BLOCK &&
                (out->rehydrate < BLOB_TIER_ARCHIVE || out->rehydrate == BLOB_TIER_SMART);
    return good ? OK : err_new(ERR_CORRUPT);
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
    if (head->appended != 0 && now - head->appended >= BLOCKS_LIFETIME_TICKS)
        blob_head_drop_appends(head);
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

bool blob_head_is_directory(struct str row, uint64_t *id)
{
    struct reader r = reader_of(row);
    struct record_field field;
    /* Nearly always at the beginning: these two bytes start a number of that field. */
    if (row.n > 2 && (unsigned char)row.p[0] == (FIELD_DIRECTORY << 1 | 0x80) && row.p[1] == 1) {
        (void)read_raw(&r, 2);
        *id = read_varint(&r) - 1;
        return reader_ok(&r);
    }
    while (record_next(&r, &field))
        if (field.number == FIELD_DIRECTORY) {
            *id = field.value - 1;
            return true;
        }
    return false;
}
