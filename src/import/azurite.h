/* SPDX-License-Identifier: Apache-2.0 */
/* Import of a folder that Azurite wrote. Existing objects of the store stay, so an interrupted
 * import can be run again and continues. */
#ifndef IMPORT_AZURITE_H
#define IMPORT_AZURITE_H

#include "import/report.h"
#include "service/common/store.h"

struct azurite_import {
    const char *folder; /* Azurite's; only read */
    const char *data; /* the store's own folder, for the note about work in progress; NULL: none */
    /* As engine_progress; or NULL. */
    void (*progress)(void *arg, const char *doing, uint64_t done, uint64_t of);
    bool (*stopped)(void *arg); /* NULL, or called now and then: true ends the import */
    void *arg;
    struct report *report;
};

/* ERR_IO, ERR_INVALID_INPUT with a detail if the folder is not Azurite's, and errors that stop all
 * writing (ERR_NO_SPACE). Damage is no error: the report lists it. */
struct err azurite_import(struct store *store, const struct azurite_import *options);

/* Returns true if there is an Azurite database. */
bool azurite_is_folder(const char *folder);

#endif
