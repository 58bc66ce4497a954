/* SPDX-License-Identifier: Apache-2.0 */
/* An account's static website: what a path of it is in the container $web. */
#ifndef SERVICE_BLOB_WEBSITE_H
#define SERVICE_BLOB_WEBSITE_H

#include "service/blob/blob.h"

#define BLOB_WEBSITE_CONTAINER STR("$web")

struct blob_website_args {
    struct blob_get_args *get; /* its request is without a name; what is found is there */
    struct str path;           /* decoded, without the first '/' */
    struct str settings; /* the partition of the service's properties, which name the documents */
    /* out */
    bool missing; /* `get` has the error document */
};
/* The blob of the path; for a path that is empty, ends with '/' or names none, the index document
 * there; else the error document, whatever conditions and range say.
 * ERR_WEB_CONTENT_NOT_FOUND when there is no such document, or no website. */
engine_fn blob_get_website_document;

#endif
