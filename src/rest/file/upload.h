/* SPDX-License-Identifier: Apache-2.0 */
/* A body that becomes bytes of a file: of Put Range, and of Create File. */
#ifndef REST_FILE_UPLOAD_H
#define REST_FILE_UPLOAD_H

#include "rest/call.h"
#include "service/common/content/interval_upload.h"

enum { FILE_RANGE_MAX = 4 << 20 };

struct file_upload {
    struct rest_sink sink;
    struct interval_upload upload;
    bool has_md5;
    struct arena *arena;
    unsigned char md5[MD5_BYTES];
    const struct pieces **to; /* NULL: not begun */
};

/* For exactly `length` bytes at `offset`; *to is set to the pieces when all have arrived. Reads
 * Content-MD5, and sets the call's sink. */
struct err rest_file_upload_begin(struct rest_call *call, struct file_upload *u, uint64_t offset,
                                  uint64_t length, const struct pieces **to);
/* Content-MD5 of the received bytes, so that the client can check it; nothing if there was no
 * body. */
void rest_file_upload_put_md5(struct rest_call *call, const struct file_upload *u);

#endif
