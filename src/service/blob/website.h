/* SPDX-License-Identifier: Apache-2.0 */
/* An account's static website: maps its paths to blobs of the container $web. */
#ifndef SERVICE_BLOB_WEBSITE_H
#define SERVICE_BLOB_WEBSITE_H

#include "service/blob/blob.h"

#define BLOB_WEBSITE_CONTAINER STR("$web")

struct blob_website_args {
    struct blob_get_args *get; /* its request has no name; the result is in it */
    struct str path;           /* decoded, without the first '/' */
    struct str settings; /* the partition of the service's properties, which name the documents */
    /* out */
    bool missing; /* `get` has the error document */
};
/* Gets the blob of the path. For a path that is empty, ends with '/' or names no blob: the index
 * document there; else the error document, without regard to conditions and range.
 * ERR_WEB_CONTENT_NOT_FOUND if there is no such document, or no website. */
engine_fn blob_get_website_document;

#endif
