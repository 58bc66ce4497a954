/* SPDX-License-Identifier: Apache-2.0 */
/* The console page: files that tools/embed.sh has compiled into the program. */
#ifndef ADMIN_PAGE_H
#define ADMIN_PAGE_H

#include "core/str.h"

struct page_file {
    const char *path;           /* "/app.js" */
    const char *type;           /* Content-Type */
    const char *etag;           /* with its quotes */
    bool hashed;                /* the name contains a hash of the content, which never changes */
    const unsigned char *bytes; /* gzip */
    size_t length;
};

/* Empty if the program was built without the page. Generated. */
extern const struct page_file PAGE_FILES[];
extern const size_t PAGE_FILE_COUNT;

#endif
