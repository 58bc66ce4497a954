/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/opens/handles.h"

struct err file_select_handles(struct txn *t, void *arg)
{
    struct file_handles_args *args = arg;
    struct file_scope s;
    struct file_found found;
    struct str path;
    TRY(file_open(t, &args->request, FILE_ANY, FILE_LIST, &s, &found));
    TRY(file_path(&s, &found, args->request.arena, &path));
    args->select = (struct opens_select){
        .share = s.share.incarnation,
        .node = found.id,
        .path = path,
        .recursive = args->recursive && found.node.kind == NODE_DIRECTORY,
        .after = args->after,
    };
    return OK;
}
