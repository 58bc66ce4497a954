/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a request's host and path into account and resource. */
#ifndef REST_HEAD_TARGET_H
#define REST_HEAD_TARGET_H

#include "core/arena.h"
#include "core/err.h"
#include "rest/op.h"

struct target {
    enum op_resource resource;
    struct str account;
    bool secondary;
    bool path_style;
    struct str container;
    struct str object;
    struct str key_pk, key_rk;
};

/* host as sent, with or without a port; path as sent, percent-encoded. product_style: hosts such as
 * account.blob.localhost name the account. names_container distinguishes, for a blob path of one
 * segment, a container from a blob in $root. rename_source: the header x-ms-file-rename-source or
 * STR_NONE. ERR_INVALID_URI and the like. */
struct target_request {
    enum service_kind service;
    struct str host;
    struct str path;
    bool product_style;
    bool names_container;
    bool dfs;                /* of the Data Lake API: a container without a path is its root */
    struct str lost_account; /* of a path without it, see dfs_lost_account; else absent */
    struct str rename_source;
};
struct err target_parse(struct arena *arena, const struct target_request *request,
                        struct target *out);

/* The table service's part: the path after the account, decoded. Public for its tests. */
struct err target_parse_table(struct arena *arena, struct str path, struct target *out);

#endif
