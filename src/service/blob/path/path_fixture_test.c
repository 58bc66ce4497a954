/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/path/path_fixture.h"

void pf_init(struct blob_fixture *f)
{
    bf_init(f);
    pf_make_hierarchical(f);
}

void pf_make_hierarchical(struct blob_fixture *f)
{
    struct container_args gone = {.request = {.arena = &f->arena}};
    CHECK_OK(bf_update(f, blob_delete_container, &gone));
    struct container_args made = {.request = {.arena = &f->arena}, .hierarchical = true};
    CHECK_OK(bf_update(f, blob_create_container, &made));
}

struct err pf_make(struct blob_fixture *f, struct blob_request request, bool directory)
{
    struct path_create_args args = {.request = request};
    args.request.path.directory = directory;
    args.properties.http.content_type = STR("application/octet-stream");
    return bf_update(f, path_create, &args);
}

struct err pf_append(struct blob_fixture *f, struct blob_request request, uint64_t position,
                     const char *text, bool flush)
{
    struct piece piece = {.kind = PIECE_INLINE, .length = str_of(text).n, .bytes = str_of(text).p};
    struct pieces pieces = {0};
    pieces_add(&pieces, &f->arena, &piece);
    struct path_write_args args = {.request = request,
                                   .position = position,
                                   .pieces = &pieces,
                                   .size = piece.length,
                                   .flush = flush};
    return bf_update(f, path_append, &args);
}

struct err pf_flush(struct blob_fixture *f, struct blob_request request, uint64_t position)
{
    struct path_write_args args = {.request = request, .position = position};
    return bf_update(f, path_flush, &args);
}

struct err pf_rename(struct blob_fixture *f, struct blob_request from, struct blob_request to)
{
    struct path_rename_args args = {.source = from, .destination = to, .legacy = true};
    return bf_update(f, path_rename, &args);
}

struct err pf_delete(struct blob_fixture *f, struct blob_request request, bool recursive)
{
    struct path_delete_args args = {.request = request, .recursive = recursive};
    return bf_update(f, path_delete, &args);
}

struct str pf_all(struct blob_fixture *f)
{
    return bf_list(f, (struct blob_list_args){.max = LIST_RESULTS_MAX});
}
