/* SPDX-License-Identifier: Apache-2.0 */
/* Named states, for tests. Saving one costs nothing: after that, every update that changes a row
 * first saves the old row, in the same commit ("s/NAME/" + partition; a row that did not exist, in
 * "s/NAME/-" + partition). Restoring writes these rows back. So the cost depends on what has
 * changed, not on the size of the store. Extents are shared, not copied. One update restores each
 * partition; concurrent updates may be lost.
 *
 * Accounts and their keys are not part of a state. States survive a restart. The functions wait for
 * the store: never call them on an event loop. */
#ifndef SERVICE_COMMON_SAVED_H
#define SERVICE_COMMON_SAVED_H

#include "service/account/account.h"
#include "service/common/store.h"

enum {
    SAVED_NAME_MAX = 40,
    SAVED_STATES_MAX = 32, /* each costs a read for every row that is written */
    SAVED_ROWS_MAX = 1000000,
    SAVED_BYTES_MAX = 1 << 30,
};

/* Reports the extents that a row names; false for a row that it cannot decode. */
typedef bool saved_refs(struct str partition, struct str key, struct str value,
                        void (*named)(void *sink, const struct extent *x), void *sink);

struct saved;
/* Continues recording for existing states. Call it before the first update. *out is NULL if there
 * is nothing to record: no state exists and none is `wanted`, or the engine does not record. */
struct err saved_open(struct store *store, saved_refs *refs, bool wanted, struct saved **out);
void saved_close(struct saved *s); /* NULL is fine; after the last update */

struct saved_scope {
    struct store *store;
    struct saved *saved;
    saved_refs *refs;
    struct str account; /* absent: of all */
    bool has_service;
    enum service_kind service;
};

/* Lower-case letters, digits and '-'. */
bool saved_name_ok(struct str name);
/* Deletes everything in the scope. */
struct err saved_reset(const struct saved_scope *scope);
/* Saves the scope under the name, replacing an older state. ERR_INVALID_INPUT: too many. */
struct err saved_keep(const struct saved_scope *scope, struct str name);
/* Restores a saved state. ERR_RESOURCE_NOT_FOUND. Writes to the saved scope since then are lost. */
struct err saved_restore(const struct saved_scope *scope, struct str name);
/* ERR_RESOURCE_NOT_FOUND. */
struct err saved_forget(const struct saved_scope *scope, struct str name);
/* Returns the names, separated by commas, in the arena. */
struct err saved_names(struct store *store, struct arena *arena, struct str *out);

#endif
