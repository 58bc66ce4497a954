/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of the open-file table: a table that records its callbacks, and
 * shorthands. */
#ifndef SERVICE_FILE_OPENS_FIXTURE_H
#define SERVICE_FILE_OPENS_FIXTURE_H

#include "core/test.h"
#include "service/file/opens/opens.h"

enum { NOTICES_MAX = 16 };

struct fixture {
    struct opens *table;
    struct opens_notice notices[NOTICES_MAX];
    size_t notice_count;
    uint64_t closed[NOTICES_MAX];
    size_t closed_count;
};

struct waiter {
    struct opens_wait wait;
    int woken;
};

static const struct opens_key KEY = {7, 42};

#define RWH (OPENS_CACHE_R | OPENS_CACHE_W | OPENS_CACHE_H)
#define RH  (OPENS_CACHE_R | OPENS_CACHE_H)
#define RW  (OPENS_CACHE_R | OPENS_CACHE_W)

/* Counts how often it is woken. */
void on_done(struct opens_wait *w);
void opens_start(struct fixture *f);
struct opens_request smb_open(struct fixture *f, unsigned access, unsigned sharing);
/* For reading and writing, sharing all, with a lease under the key. */
struct opens_request leased_open(struct fixture *f, unsigned cache, char key);
struct opens_handle *must_open(struct fixture *f, const struct opens_request *request);
/* Returns the result of opening, claiming or locking; leaves nothing behind but the lock. */
struct err open_result(struct fixture *f, const struct opens_request *request);
struct err rest_result(struct fixture *f, enum opens_rest op);
struct err lock_result(struct fixture *f, struct opens_handle *h, const struct opens_lock *range);

#endif
