/* SPDX-License-Identifier: Apache-2.0 */
/* A container over the memory engine, with a clock that tests move. For tests only. */
#ifndef SERVICE_BLOB_BLOB_FIXTURE_H
#define SERVICE_BLOB_BLOB_FIXTURE_H

#include "core/test.h"
#include "service/blob/block/block.h"
#include "service/blob/list.h"
#include "service/blob/sweep.h"
#include "service/common/content/upload.h"

struct blob_fixture {
    struct clock clock;
    struct store store;
    struct arena arena;
    struct str partition;
    bool versioning;     /* of requests made from now on */
    struct str settings; /* the same; see bf_retain */
};

/* 2024-05-06T07:08:09Z */
#define BLOB_FIXTURE_NOW (1714979289LL * TICKS_PER_SECOND)

/* With the container c of the account a. */
void bf_init(struct blob_fixture *f);
/* The same over an engine with injected faults. */
void bf_init_fault(struct blob_fixture *f);
void bf_release(struct blob_fixture *f);
/* The same, but deletes the container and sweeps first: nothing may be left. */
void bf_end(struct blob_fixture *f);
void bf_seconds(struct blob_fixture *f, int64_t seconds);
struct err bf_update(struct blob_fixture *f, engine_fn *fn, void *arg);
struct err bf_view(struct blob_fixture *f, engine_fn *fn, void *arg);
/* The same without waiting. */
struct err bf_view_on_loop(struct blob_fixture *f, engine_fn *fn, void *arg);

/* ---- what a client says ---- */

struct blob_request bf_blob(struct blob_fixture *f, const char *name);
struct blob_request bf_version(struct blob_fixture *f, const char *name, int64_t id);
struct blob_request bf_snapshot(struct blob_fixture *f, const char *name, int64_t time);
/* With If-Match: "etag". */
struct blob_request bf_if_match(struct blob_fixture *f, const char *name, int64_t etag);
struct blob_request bf_with_lease(struct blob_fixture *f, const char *name, char id);
/* A GUID of that letter: A, B, … */
struct guid bf_guid(char letter);
struct str bf_etag(struct blob_fixture *f, int64_t etag);
/* Bytes that differ by position and seed. */
struct str bf_bytes(struct blob_fixture *f, size_t n, unsigned seed);

/* Sets the account's soft-delete retention to this many days; 0: off. */
void bf_retain(struct blob_fixture *f, unsigned days, bool permanent_delete);

/* ---- operations; what they give lives in the fixture's arena ---- */

struct err bf_put(struct blob_fixture *f, struct blob_request request, struct str content,
                  struct blob_head *head);
struct err bf_get(struct blob_fixture *f, struct blob_request request, struct str *content);
struct err bf_properties(struct blob_fixture *f, struct blob_request request,
                         struct blob_head *head);
struct err bf_set_metadata(struct blob_fixture *f, struct blob_request request, const char *value,
                           struct blob_head *head);
struct err bf_take_snapshot(struct blob_fixture *f, struct blob_request request, int64_t *time);
struct err bf_delete(struct blob_fixture *f, struct blob_request request,
                     enum blob_delete_snapshots snapshots);
struct err bf_delete_permanently(struct blob_fixture *f, struct blob_request request);
struct err bf_undelete(struct blob_fixture *f, const char *name);
/* Any lease action; *left may be NULL. */
struct err bf_lease(struct blob_fixture *f, struct blob_request request, struct lease_request lease,
                    int *left);
struct err bf_acquire(struct blob_fixture *f, const char *name, char id, int seconds);
struct err bf_stage(struct blob_fixture *f, struct blob_request request, const char *id,
                    struct str content);
/* "u1 c2 l3": from the uncommitted, the committed, the latest; ids are the letters after. */
struct err bf_commit(struct blob_fixture *f, struct blob_request request, const char *list,
                     struct blob_head *head);
/* Names (with "@" for snapshots, "~" for previous versions, "!" for soft-deleted, "?" for
 * uncommitted, "%" where there are only versions, "/" prefixes as they are), each followed by a
 * blank. */
struct str bf_list(struct blob_fixture *f, struct blob_list_args args);
/* One page of the listing, which may be refused. */
struct err bf_try_list(struct blob_fixture *f, struct blob_list_args args);
/* "id=size " of both lists, "|" between them. */
struct str bf_blocks(struct blob_fixture *f, struct blob_request request);

/* ---- looking behind ---- */

/* The blob's content; fails the test if there is none. */
struct str bf_content(struct blob_fixture *f, const char *name);
/* One operation of a fault loop. */
typedef struct err bf_operation(struct blob_fixture *f);
/* Fails each engine call of the operation in turn (fault_fixture.h). Returns the number of runs. */
uint64_t bf_fail_each_call(struct blob_fixture *f, bf_operation *run);
/* The same; checks besides that the operation changed something in the end, and that nothing is
 * left once the container is gone. */
void bf_fail_and_end(struct blob_fixture *f, bf_operation *run);
/* All rows of all partitions, keys and values. */
struct str bf_dump(struct blob_fixture *f);
size_t bf_rows(struct blob_fixture *f);
/* All heads of the blob, in the form of bf_list, without the names. */
struct str bf_kinds(struct blob_fixture *f, const char *name);
/* Deletes expired items until none is left. */
void bf_expire(struct blob_fixture *f);
/* Sweeps until there is nothing left to do. */
void bf_sweep(struct blob_fixture *f);
uint64_t bf_extent_bytes(struct blob_fixture *f);

#endif
