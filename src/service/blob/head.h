/* SPDX-License-Identifier: Apache-2.0 */
/* A blob's head: everything except its content. Small, and read by every operation and by listings.
 * Rows store it as a record (service/common/record.h), so new fields need no new format. */
#ifndef SERVICE_BLOB_HEAD_H
#define SERVICE_BLOB_HEAD_H

#include "core/arena.h"
#include "core/clock.h"
#include "core/err.h"
#include "service/common/lease.h"

/* Uncommitted blocks are removed after a week. */
#define BLOCKS_LIFETIME_TICKS (7 * TICKS_PER_DAY)

enum { BLOB_PAGE_HAS_CHUNKS = 1, BLOB_PAGE_HAS_BLOCKS = 2 };

enum blob_type { BLOB_BLOCK = 1, BLOB_PAGE = 2, BLOB_APPEND = 3 };

enum blob_tier {
    BLOB_TIER_NONE, /* not set: Hot by inference */
    BLOB_TIER_HOT,
    BLOB_TIER_COOL,
    BLOB_TIER_COLD,
    BLOB_TIER_ARCHIVE,
    /* Of page blobs, the smaller first. */
    BLOB_TIER_P4,
    BLOB_TIER_P6,
    BLOB_TIER_P10,
    BLOB_TIER_P15,
    BLOB_TIER_P20,
    BLOB_TIER_P30,
    BLOB_TIER_P40,
    BLOB_TIER_P50,
    BLOB_TIER_P60,
    BLOB_TIER_P70,
    BLOB_TIER_P80,
    /* Of block blobs too: the service moves them between Hot, Cool and Cold by use. */
    BLOB_TIER_SMART,
};

/* The properties that a client sets and receives as headers. Absent if not set. */
struct blob_http {
    struct str content_type;
    struct str content_encoding;
    struct str content_language;
    struct str content_disposition;
    struct str cache_control;
    struct str content_md5; /* 16 bytes, unless a client has set another value */
};

/* Protection from change and deletion: see protect.h. */
struct blob_protection {
    int64_t until; /* 0: no policy */
    bool locked;   /* the policy can only be made longer */
    bool hold;     /* a legal hold, which has no end */
};

/* Additional members of a path in a hierarchical container; all zero elsewhere. See tree.h, acl.h.
 */
struct blob_path {
    bool directory;
    uint64_t id;     /* of a directory: what its entries' keys begin with; 0: the root */
    unsigned levels; /* of a directory: at most so many levels of directories are below it; it never
                        falls (tree.h) */
    unsigned mode;   /* owner, group, other and the sticky bit, as in octal modes */
    struct str owner, group; /* absent: $superuser */
    struct str acl;          /* the entries beyond the mode, as acl.h encodes them */
    struct str encryption_context;
    struct str deleted_path; /* of a soft-deleted one: its former path (path_trash.h) */
    int64_t deletion_id;
};

struct blob_head {
    enum blob_type type;
    bool committed;        /* false: only uncommitted blocks exist, the blob is not visible */
    int64_t etag;          /* the stamp of the last write */
    int64_t last_modified; /* ticks */
    int64_t created;
    uint64_t size;
    uint64_t content;      /* its id; 0 when the blob is empty */
    uint64_t content_rows; /* number of chunks of its map */
    bool content_inline;   /* its map is one row that names no extent */
    bool content_beside;   /* it has no map: its bytes are the body of the head's row. Only for a
                              base: see blob_settle_content */
    bool content_shared;   /* another head names it too: see blob_key_shares */
    uint64_t block_count;  /* committed blocks, whose list is stored beside the content */
    uint64_t blocks;       /* the id of the set of uncommitted blocks; 0 if there is none */
    bool blocks_appended;  /* they are appends by position (path_append.h), not blocks with ids */
    int64_t appended; /* ticks of the last append to an empty file whose appends are the body of the
                         head's row; 0: none. Discarded after a week, like uncommitted blocks
                         (blob_head_settle). */
    struct str appends; /* which they are, as path_append.c encodes them; absent in older rows,
                           whose body tells */
    enum blob_tier tier;
    int64_t tier_changed;
    enum blob_tier rehydrate; /* of an archived blob: the target tier; NONE when it stays */
    int64_t rehydrate_at;     /* when it will have become that: see blob_head_settle */
    bool rehydrate_high;      /* its priority */
    struct blob_http http;
    uint64_t sequence;  /* of a page blob */
    unsigned page_rows; /* which kinds of rows its pages have: BLOB_PAGE_HAS_… */
    struct str page_voids;
    struct str page_clears; /* as page_clears.h encodes them; absent when none */
    int64_t pages_at;    /* of a version: the last stamp whose pages belong to it; 0: see page.h */
    bool sealed;         /* an append blob that is sealed */
    struct str metadata; /* as pairs.h encodes them; absent when none */
    struct str tags;
    struct str copy; /* as copy_state.h encodes it; absent unless a copy created the blob */
    struct lease lease;
    int64_t version;  /* its version id; 0 if it was written while versioning was off */
    int64_t deleted;  /* when it was soft-deleted; 0: it was not */
    int64_t purge_at; /* when a soft-deleted blob is deleted permanently */
    struct blob_protection protection;
    int64_t expires;             /* 0: never */
    int64_t accessed;            /* when it was last read or written, where that is tracked */
    struct str encryption_scope; /* absent: the account's */
    struct blob_path path;
};

void blob_head_encode(struct buf *b, const struct blob_head *head);
/* Slices are borrowed from the row. ERR_CORRUPT. */
struct err blob_head_decode(struct str row, struct blob_head *out);
/* Returns true if the head's row has a body: the content, or the appends to an empty file. */
static inline bool blob_head_has_body(const struct blob_head *head)
{
    return head->content_beside || head->appended != 0;
}
/* Returns true if there are appends that were not flushed. */
static inline bool blob_head_has_appends(const struct blob_head *head)
{
    return head->blocks_appended || head->appended != 0;
}
/* Forgets those that are the body of the head's row. */
static inline void blob_head_drop_appends(struct blob_head *head)
{
    head->appended = 0;
    head->appends = STR_NONE;
}
/* Returns true if the row is a directory's, and its id, without decoding the rest: for path walks.
 */
bool blob_head_is_directory(struct str row, uint64_t *id);
/* Copies the head, with its slices in the arena. */
void blob_head_copy(struct arena *a, const struct blob_head *head, struct blob_head *out);

struct str blob_type_text(enum blob_type type);
/* BLOB_TIER_NONE reads as Hot, which is then inferred. */
struct str blob_tier_text(enum blob_tier tier);
/* Ignores case; false if it is no tier. */
bool blob_tier_parse(struct str text, enum blob_tier *out);
/* Block blobs have the one kind, page blobs the other. */
bool blob_tier_is_for_pages(enum blob_tier tier);
/* The largest size of a blob of that tier. */
uint64_t blob_tier_size_max(enum blob_tier tier);
/* Applies a rehydration that is due, and forgets abandoned appends. It needs no write: every reader
 * of the head applies it, and the next save stores it. */
void blob_head_settle(struct blob_head *head, int64_t now);
/* ERR_BLOB_ARCHIVED, ERR_BLOB_BEING_REHYDRATED: the content cannot be read or replaced. */
struct err blob_head_check_online(const struct blob_head *head);
/* "rehydrate-pending-to-hot" and the like; absent if it is not being rehydrated. */
struct str blob_archive_status_text(const struct blob_head *head);
struct str blob_rehydrate_priority_text(const struct blob_head *head);

#endif
