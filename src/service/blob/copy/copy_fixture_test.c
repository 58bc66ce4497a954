/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/copy/copy_fixture.h"

#include "service/blob/append.h"
#include "service/blob/page/page.h"

struct blob_source cf_source(struct blob_fixture *f, const char *name)
{
    return (struct blob_source){.arena = &f->arena,
                                .partition = f->partition,
                                .name = str_of(name),
                                .length = UINT64_MAX,
                                .pieces_max = BLOB_SOURCE_PIECES,
                                .archived_too = true};
}

struct err cf_find(struct blob_fixture *f, struct blob_source *source)
{
    return engine_view(f->store.engine, source->partition, ENGINE_WAIT, blob_read_source, source);
}

struct blob_copy_args cf_args(struct blob_request to, const struct blob_source *source)
{
    return (struct blob_copy_args){.request = to,
                                   .id = bf_guid('I'),
                                   .url = STR("http://here/a/c/from"),
                                   .from = &source->head,
                                   .source = source,
                                   .pieces = &source->pieces,
                                   .claim = PIECE_HOLD,
                                   .needs_infinite_lease = true};
}

struct err cf_copy_to(struct blob_fixture *f, struct blob_source *source, struct blob_request to,
                      struct blob_copy_wishes wishes)
{
    TRY(cf_find(f, source));
    struct blob_copy_args args = cf_args(to, source);
    args.wishes = wishes;
    return bf_update(f, blob_copy_blob, &args);
}

struct err cf_copy(struct blob_fixture *f, const char *from, const char *to)
{
    struct blob_source source = cf_source(f, from);
    return cf_copy_to(f, &source, bf_blob(f, to), (struct blob_copy_wishes){0});
}

struct blob_copy_state cf_state(struct blob_fixture *f, const char *name)
{
    struct blob_head head;
    struct blob_copy_state state;
    CHECK_OK(bf_properties(f, bf_blob(f, name), &head));
    CHECK_OK(blob_copy_decode(head.copy, &state));
    return state;
}

void cf_append_blob(struct blob_fixture *f, const char *name, unsigned blocks)
{
    struct blob_create_append_args create = {.request = bf_blob(f, name)};
    CHECK_OK(bf_update(f, blob_create_append_blob, &create));
    for (unsigned i = 0; i < blocks; i++) {
        char *byte = arena_bytes(&f->arena, 1);
        *byte = (char)('a' + i % 26);
        struct piece piece = {.kind = PIECE_INLINE, .length = 1, .bytes = byte};
        struct pieces pieces = {&piece, 1, 1};
        struct blob_append_args append = {
            .request = bf_blob(f, name), .pieces = &pieces, .size = 1};
        CHECK_OK(bf_update(f, blob_append_block, &append));
    }
}

void cf_page_blob(struct blob_fixture *f, const char *name, unsigned pages)
{
    struct blob_create_page_args create = {
        .request = bf_blob(f, name), .size = 1 << 30, .sequence = 7};
    CHECK_OK(bf_update(f, blob_create_page_blob, &create));
    for (unsigned i = 0; i < pages; i++) {
        struct str bytes = bf_bytes(f, 512, i);
        struct piece piece = {.kind = PIECE_INLINE, .length = 512, .bytes = bytes.p};
        struct pieces pieces = {&piece, 1, 1};
        struct blob_page_args put = {.request = bf_blob(f, name),
                                     .offset = (uint64_t)i * 8192,
                                     .length = 512,
                                     .pieces = &pieces};
        CHECK_OK(bf_update(f, blob_put_page, &put));
    }
}

unsigned cf_advance(struct blob_fixture *f, const char *name)
{
    struct blob_copy_state state = cf_state(f, name);
    struct copy_jobs_args list = {.arena = &f->arena, .max = 10};
    bool ended = false;
    unsigned steps = 0;
    CHECK_OK(bf_view(f, copy_jobs_list, &list));
    CHECK_INT(list.count, 1);
    CHECK(list.jobs[0].id == state.job);
    while (!ended) {
        struct copy_job_ref place = {f->partition, list.jobs[0].incarnation, list.jobs[0].id,
                                     blob_step_copy};
        CHECK_OK(copy_job_advance(&f->store, &place, &ended));
        steps++;
    }
    CHECK_OK(bf_view(f, copy_jobs_list, &list));
    CHECK_INT(list.count, 0);
    return steps;
}
