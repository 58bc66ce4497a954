/* SPDX-License-Identifier: Apache-2.0 */
/* States under a name, for tests: all rows of some accounts or of all are copied to partitions of
 * their own ("s/NAME/" and the partition's name) and put back later; extents are shared, not
 * copied. Each partition is put back by one update; the partitions one after the other, so that
 * whoever writes meanwhile may be lost. Costs as much as there is: milliseconds for what a test
 * makes.
 *
 * Accounts and their keys are not part of a state. Open SMB handles are asked to close. The
 * functions wait for the store: never on an event loop. */
#ifndef SERVICE_COMMON_SAVED_H
#define SERVICE_COMMON_SAVED_H

#include "service/account/account.h"
#include "service/common/store.h"

enum { SAVED_NAME_MAX = 40, SAVED_ROWS_MAX = 1000000, SAVED_BYTES_MAX = 1 << 30 };

/* Tells the extents that a row names; false for a row that it does not understand. */
typedef bool saved_refs(struct str partition, struct str key, struct str value,
                        void (*named)(void *sink, const struct extent *x), void *sink);

struct saved_scope {
    struct store *store;
    saved_refs *refs;
    struct str account; /* absent: of all */
    bool has_service;
    enum service_kind service;
};

/* Lower-case letters, digits and '-'. */
bool saved_name_ok(struct str name);
/* Empties what the scope has. */
struct err saved_reset(const struct saved_scope *scope);
/* Keeps it under the name, in place of what was there. ERR_REQUEST_BODY_TOO_LARGE. */
struct err saved_keep(const struct saved_scope *scope, struct str name);
/* Puts back what was kept. ERR_RESOURCE_NOT_FOUND; what was written since within the scope that was
 * kept is gone. */
struct err saved_restore(const struct saved_scope *scope, struct str name);
/* ERR_RESOURCE_NOT_FOUND. */
struct err saved_forget(const struct saved_scope *scope, struct str name);
/* The names, with commas between, in the arena. */
struct err saved_names(struct store *store, struct arena *arena, struct str *out);

#endif
