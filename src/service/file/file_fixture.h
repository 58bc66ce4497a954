/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of the file service: a store in memory with a fixed clock, an open-file
 * table, and short forms of the operations. */
#ifndef SERVICE_FILE_FILE_FIXTURE_H
#define SERVICE_FILE_FILE_FIXTURE_H

#include "core/test.h"
#include "service/common/store.h"
#include "service/file/copy/copy.h"
#include "service/file/directory.h"
#include "service/file/file.h"
#include "service/file/keys.h"
#include "service/file/link.h"
#include "service/file/list.h"
#include "service/file/range.h"
#include "service/file/rename.h"
#include "service/file/sweep.h"

struct world {
    struct clock clock;
    struct store store;
    struct opens *opens;
    struct arena arena;
    struct str partition; /* of the share "share" */
};

void world_begin(struct world *w);
/* The same over an engine with injected faults (engine/fault.h). */
void world_begin_fault(struct world *w);
/* Sweeps until nothing is left to do, and checks that extents and rows match. */
void world_end(struct world *w);
/* Creates a share of that name; w->partition remains that of "share". */
struct str world_share(struct world *w, const char *name, enum share_protocol protocol);
void world_sweep(struct world *w);

/* Runs an update or a view of the share, like the front end. */
struct err world_update(struct world *w, engine_fn *fn, void *args);
/* A write by path, which releases its claim. */
struct err world_write(struct world *w, engine_fn *fn, void *args);
/* A read on a path: passes the open-file table. */
struct err world_read(struct world *w, engine_fn *fn, void *args);

struct file_request request_of(struct world *w, const char *path);

struct err create_directory(struct world *w, const char *path);
struct err create_file(struct world *w, const char *path, uint64_t size);
struct err delete_file(struct world *w, const char *path);
struct err put_range(struct world *w, const char *path, uint64_t offset, struct str bytes);
struct err clear_range(struct world *w, const char *path, uint64_t offset, uint64_t length);
/* The bytes, in the arena; snapshot 0: the current ones. */
struct str read_file(struct world *w, const char *path, int64_t snapshot);
struct err get_properties(struct world *w, const char *path, struct file_outcome *out);
int64_t snapshot_share(struct world *w);
/* "0-511 !1024-1535 " and so on; '!' for cleared. */
struct str list_ranges(struct world *w, const char *path, int64_t snapshot, int64_t previous);
/* The names, each followed by a space. */
struct str list_directory(struct world *w, const char *path, int64_t snapshot);
uint64_t share_usage(struct world *w);

/* Makes the pieces of a write, as an upload does; and frees those that no update adopted. */
struct err make_pieces(struct world *w, uint64_t offset, struct str bytes, struct pieces *out);
void discard_pieces(struct world *w, const struct pieces *pieces);

#endif
