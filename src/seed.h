/* SPDX-License-Identifier: Apache-2.0 */
/* Creates initial data for tests, with requests like those of any client: from a manifest (JSON) or
 * a folder, whose subfolders are containers and whose files are blobs. Existing objects stay;
 * existing queues get no messages again. docs/admin-api.md has the manifest's format. */
#ifndef SEED_H
#define SEED_H

#include "service/account/account.h"

struct seed_target {
    const char *host; /* where the services listen */
    uint16_t ports[SERVICE_KIND_COUNT];
    struct accounts *accounts;
};

/* ERR_INVALID_INPUT with "Reason\t" and a sentence in the arena. Waits for the server. */
struct err seed_manifest(const struct seed_target *target, struct str text, struct arena *arena);
/* A manifest's file, or a folder. */
struct err seed_path(const struct seed_target *target, const char *path, struct arena *arena);

#endif
