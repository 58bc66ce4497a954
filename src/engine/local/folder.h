/* SPDX-License-Identifier: Apache-2.0 */
/* The data folder: LAZULI says whose it is and in which format, and is what a running server locks;
 * rows/ is RocksDB's; journal/ and segments/ are the engine's own files. */
#ifndef ENGINE_LOCAL_FOLDER_H
#define ENGINE_LOCAL_FOLDER_H

#include <stdint.h>

#include "core/err.h"

enum folder_use {
    FOLDER_MAKE,
    FOLDER_WRITE, /* only one that is there */
    FOLDER_READ,  /* makes and changes nothing */
};

/* Makes a new folder, or finds that an old one is ours; locks it, and hands back the lock's
 * descriptor and the store's format. Nothing is changed when it returns an error. read_only makes
 * nothing. ERR_FOREIGN_STORE, ERR_STORE_IN_USE, ERR_NO_SPACE, ERR_IO. */
struct err folder_open(const char *folder, enum folder_use use, int *lock_fd, uint64_t *format);
/* A program that knows less must not open what is written from now on. */
struct err folder_raise_format(const char *folder, uint64_t format);
/* Whether programs that wrote this format let RocksDB add to its MANIFEST. */
bool folder_grew_manifests(uint64_t format);

/* A path within the folder, on the heap. */
char *folder_path(const char *folder, const char *name);
/* Makes what is in the folder itself durable: names of files. */
struct err folder_sync(const char *folder);
/* Writes the marker that makes a folder a store, as the last step. */
struct err folder_mark(const char *folder);

#endif
