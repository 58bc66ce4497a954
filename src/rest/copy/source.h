/* SPDX-License-Identifier: Apache-2.0 */
/* The source of a copy: x-ms-copy-source and its related headers, for the operations of the blob
 * and the file service that take one. A source on this server is never fetched over a connection:
 * it is read from the store, with the permissions of the credentials in its URL. */
#ifndef REST_COPY_SOURCE_H
#define REST_COPY_SOURCE_H

#include "core/text/uri.h"
#include "rest/head/second.h"
#include "service/blob/copy/source.h"

struct source_url {
    struct str url;   /* as sent */
    struct str shown; /* for later display: without signatures and tokens */
    struct uri uri;
    bool here;            /* of this server; the rest is only for such a source */
    bool cloud;           /* named as in the cloud: by the host, regardless of the options */
    struct second second; /* its place, and the credentials that were accepted; its query and
                             authorization (x-ms-copy-source-authorization) are always set */
    int64_t snapshot;     /* 0: not of one */
    int64_t version;      /* the same */
    /* Set before reading: the account's key that signs the request also applies to the source. */
    bool key_signs;
};

/* Reads the headers and checks that a source of this server may be read.
 * ERR_MISSING_REQUIRED_HEADER, ERR_INVALID_HEADER_VALUE, and refusals as copy_source_refused
 * reports them. */
struct err copy_source_read(struct rest_call *call, struct source_url *out);

/* Returns true if it is a file on this server. */
bool copy_source_is_file(const struct source_url *source);
/* ERR_CONDITION_HEADERS_NOT_SUPPORTED if there are x-ms-source-if-*. */
struct err copy_source_no_conditions(struct rest_call *call);
/* x-ms-source-if-*; with_tags: x-ms-source-if-tags too, which needs the permission to read the
 * source's tags. */
struct err copy_source_conditions(struct rest_call *call, const struct source_url *source,
                                  bool with_tags, struct conditions *out);
/* ERR_COPY_SOURCE_FORBIDDEN unless the source's tags may be read. */
struct err copy_source_need_tags(struct rest_call *call, const struct source_url *source);

/* The blob to find; ERR_INVALID_HEADER_VALUE if the source is not a blob. */
struct err copy_source_blob(struct rest_call *call, const struct source_url *source,
                            struct blob_source *out);

/* Maps a failure at the source to the error of the copy: CannotVerifyCopySource with the source's
 * status, code and message if only the source can know the reason, else the error itself. */
struct err copy_source_refused(struct rest_call *call, struct err error);
/* The same for another server's answer; code may be absent. */
struct err copy_source_answered(struct rest_call *call, int status, struct str code);

#endif
