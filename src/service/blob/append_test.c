/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/append.h"

#include "service/blob/blob_fixture.h"

static struct err create(struct blob_fixture *f, struct blob_request request)
{
    struct blob_create_append_args args = {.request = request};
    return bf_update(f, blob_create_append_blob, &args);
}

static struct err append(struct blob_fixture *f, struct blob_append_args *args, struct str bytes)
{
    struct upload upload;
    struct upload_options options = {.inline_max = UPLOAD_INLINE_MAX, .expected = -1};
    upload_init(&upload, &f->store, &f->arena, &options);
    CHECK_OK(upload_take(&upload, bytes));
    CHECK_OK(upload_end(&upload));
    args->pieces = &upload.pieces;
    args->size = upload.size;
    struct err error = bf_update(f, blob_append_block, args);
    if (err_is(error))
        upload_discard(&upload);
    return error;
}

static struct err append_plain(struct blob_fixture *f, const char *name, struct str bytes)
{
    struct blob_append_args args = {.request = bf_blob(f, name)};
    return append(f, &args, bytes);
}

void test_append_block(void)
{
    struct blob_fixture f;
    bf_init(&f);
    CHECK_OK(create(&f, bf_blob(&f, "log")));
    CHECK_STR(bf_content(&f, "log"), STR(""));
    struct blob_append_args args = {.request = bf_blob(&f, "log")};
    CHECK_OK(append(&f, &args, STR("one,")));
    CHECK_INT(args.offset, 0);
    int64_t etag = args.head.etag;
    CHECK_OK(append(&f, &args, STR("two")));
    CHECK_INT(args.offset, 4);
    CHECK_INT(args.head.block_count, 2);
    CHECK(args.head.etag > etag);
    CHECK_STR(bf_content(&f, "log"), STR("one,two"));
    struct str large = bf_bytes(&f, 100000, 3);
    CHECK_OK(append_plain(&f, "log", large));
    struct str all = bf_content(&f, "log");
    CHECK_STR(str_from(all, 7), large);
    CHECK_ERR(append_plain(&f, "none", STR("x")), ERR_BLOB_NOT_FOUND);
    bf_release(&f);
}

void test_append_block_conditions(void)
{
    struct blob_fixture f;
    bf_init(&f);
    CHECK_OK(create(&f, bf_blob(&f, "log")));
    struct blob_append_args at = {.request = bf_blob(&f, "log"), .has_position = true};
    CHECK_OK(append(&f, &at, STR("12345")));
    CHECK_ERR(append(&f, &at, STR("6")), ERR_APPEND_POSITION_CONDITION_NOT_MET);
    at.position = 5;
    CHECK_OK(append(&f, &at, STR("6")));
    struct blob_append_args max = {
        .request = bf_blob(&f, "log"), .has_size_max = true, .size_max = 7};
    CHECK_OK(append(&f, &max, STR("7")));
    CHECK_ERR(append(&f, &max, STR("8")), ERR_MAX_BLOB_SIZE_CONDITION_NOT_MET);
    max.size_max = 3;
    CHECK_ERR(append(&f, &max, STR("8")), ERR_MAX_BLOB_SIZE_CONDITION_NOT_MET);
    struct blob_append_args match = {.request = bf_if_match(&f, "log", 1)};
    CHECK_ERR(append(&f, &match, STR("8")), ERR_CONDITION_NOT_MET);
    CHECK_OK(bf_acquire(&f, "log", 'A', 60));
    CHECK_ERR(append_plain(&f, "log", STR("8")), ERR_LEASE_ID_MISSING);
    struct blob_append_args leased = {.request = bf_with_lease(&f, "log", 'A')};
    CHECK_OK(append(&f, &leased, STR("8")));
    CHECK_STR(bf_content(&f, "log"), STR("12345678"));
    bf_release(&f);
}

void test_append_blob_types_do_not_mix(void)
{
    struct blob_fixture f;
    struct blob_head head;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "block"), STR("x"), &head));
    CHECK_ERR(append_plain(&f, "block", STR("y")), ERR_INVALID_BLOB_TYPE);
    CHECK_ERR(create(&f, bf_blob(&f, "block")), ERR_INVALID_BLOB_TYPE);
    CHECK_OK(create(&f, bf_blob(&f, "log")));
    CHECK_ERR(bf_stage(&f, bf_blob(&f, "log"), "a", STR("y")), ERR_INVALID_BLOB_TYPE);
    bf_release(&f);
}

void test_append_blob_snapshot_keeps_its_size(void)
{
    struct blob_fixture f;
    int64_t time = 0;
    struct str content;
    bf_init(&f);
    CHECK_OK(create(&f, bf_blob(&f, "log")));
    CHECK_OK(append_plain(&f, "log", STR("old")));
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "log"), &time));
    CHECK_OK(append_plain(&f, "log", STR("new")));
    CHECK_OK(bf_get(&f, bf_snapshot(&f, "log", time), &content));
    CHECK_STR(content, STR("old"));
    CHECK_STR(bf_content(&f, "log"), STR("oldnew"));
    CHECK_OK(bf_delete(&f, bf_snapshot(&f, "log", time), BLOB_SNAPSHOTS_KEEP));
    CHECK_STR(bf_content(&f, "log"), STR("oldnew"));
    bf_release(&f);
}

void test_append_blob_seal(void)
{
    struct blob_fixture f;
    bf_init(&f);
    CHECK_OK(create(&f, bf_blob(&f, "log")));
    CHECK_OK(append_plain(&f, "log", STR("old")));
    struct blob_append_args seal = {
        .request = bf_blob(&f, "log"), .has_position = true, .position = 2};
    CHECK_ERR(bf_update(&f, blob_seal_append_blob, &seal), ERR_APPEND_POSITION_CONDITION_NOT_MET);
    seal.position = 3;
    CHECK_OK(bf_update(&f, blob_seal_append_blob, &seal));
    CHECK(seal.head.sealed);
    CHECK_OK(bf_update(&f, blob_seal_append_blob, &seal));
    CHECK_ERR(append_plain(&f, "log", STR("x")), ERR_BLOB_IS_SEALED);
    CHECK_OK(create(&f, bf_blob(&f, "log")));
    CHECK_OK(append_plain(&f, "log", STR("x")));
    CHECK_STR(bf_content(&f, "log"), STR("x"));
    bf_release(&f);
}

/* A version has the length that the blob had when it stopped being current; appending makes no
 * version. */
void test_append_blob_versions(void)
{
    struct blob_fixture f;
    struct blob_head first, second;
    struct str content;
    bf_init(&f);
    f.versioning = true;
    CHECK_OK(create(&f, bf_blob(&f, "log")));
    CHECK_OK(append_plain(&f, "log", STR("one,")));
    CHECK_OK(bf_properties(&f, bf_blob(&f, "log"), &first));
    CHECK_OK(bf_set_metadata(&f, bf_blob(&f, "log"), "v", &second));
    CHECK_OK(append_plain(&f, "log", STR("two")));
    CHECK_STR(bf_kinds(&f, "log"), STR("V B "));
    CHECK_OK(bf_get(&f, bf_version(&f, "log", first.version), &content));
    CHECK_STR(content, STR("one,"));
    CHECK_OK(bf_get(&f, bf_version(&f, "log", second.version), &content));
    CHECK_STR(content, STR("one,two"));
    CHECK_OK(create(&f, bf_blob(&f, "log")));
    CHECK_OK(append_plain(&f, "log", STR("new")));
    CHECK_OK(bf_get(&f, bf_version(&f, "log", second.version), &content));
    CHECK_STR(content, STR("one,two"));
    CHECK_STR(bf_content(&f, "log"), STR("new"));
    bf_release(&f);
}
