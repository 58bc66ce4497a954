/* SPDX-License-Identifier: Apache-2.0 */
/* The data folder. LAZULI is its marker: it names the owner and the format, and a running server
 * locks it. rows/ belongs to RocksDB; journal/ and segments/ are the engine's own files. */
#ifndef ENGINE_LOCAL_FOLDER_H
#define ENGINE_LOCAL_FOLDER_H

#include <stdint.h>

#include "core/err.h"

enum folder_use {
    FOLDER_MAKE,
    FOLDER_WRITE, /* opens an existing store only */
    FOLDER_READ,  /* creates and changes nothing */
};

/* Creates a new folder or recognises an existing store, locks it, and returns the lock's
 * descriptor and the store's format. Changes nothing if it returns an error. FOLDER_READ creates
 * nothing. ERR_FOREIGN_STORE, ERR_STORE_IN_USE, ERR_NO_SPACE, ERR_IO. */
struct err folder_open(const char *folder, enum folder_use use, int *lock_fd, uint64_t *format);
/* Raises the format, so that older programs refuse the store from now on. */
struct err folder_raise_format(const char *folder, uint64_t format);
/* True if programs that wrote this format let RocksDB append to its MANIFEST. */
bool folder_grew_manifests(uint64_t format);

/* A path within the folder, on the heap. */
char *folder_path(const char *folder, const char *name);
/* Makes the folder's entries (file names) durable. */
struct err folder_sync(const char *folder);
/* Writes the marker that makes a folder a store. It must be the last step. */
struct err folder_mark(const char *folder);

#endif
