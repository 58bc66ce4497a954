/* SPDX-License-Identifier: Apache-2.0 */
/* Lists a hierarchical container in the order of its full paths, as if it were flat: a prefix is a
 * range, and a page can begin at any name. Private to list.h. */
#ifndef SERVICE_BLOB_PATH_LIST_TREE_H
#define SERVICE_BLOB_PATH_LIST_TREE_H

#include "service/blob/list.h"

/* ERR_INVALID_QUERY_PARAMETER_VALUE for a delimiter that is no slash. */
struct err blob_list_tree(struct txn *t, const struct container *container,
                          struct blob_list_args *args);

/* Return true if the listing includes snapshots or versions at all, heads of that kind, and this
 * item. */
bool list_wants_items(const struct blob_list_args *args);
bool list_wants_kind(const struct blob_list_args *args, const struct blob_at *at);
bool list_is_wanted(const struct blob_list_args *args, const struct blob_list_item *item,
                    int64_t now);

#endif
