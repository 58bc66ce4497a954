/* SPDX-License-Identifier: Apache-2.0 */
/* Updates whose outcome the calling thread waits for: at start-up, in sweepers and in tests. They
 * are made of engine_submit, so no engine implements them. */
#ifndef ENGINE_WAIT_H
#define ENGINE_WAIT_H

#include "engine/engine.h"

/* Submits the update and waits for its outcome. */
struct err engine_update_wait(struct engine *e, struct str partition, engine_fn *fn, void *arg);

/* One of several updates that are waited for together. */
struct grouped_update {
    struct engine_update update; /* all but `done` is the caller's */
    struct update_group *group;  /* of engine_updates_wait */
};
/* Submits them all, so that they share a commit or a few, and returns when the last is done. */
void engine_updates_wait(struct engine *e, struct grouped_update **updates, size_t count);

#endif
