/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/blob_fixture.h"

#include "service/common/pairs.h"

void test_put_blob_keeps_properties_and_content(void)
{
    struct blob_fixture f;
    struct blob_head head;
    bf_init(&f);
    struct pair pair = {STR("Key"), STR("value")};
    struct pairs pairs = {&pair, 1};
    struct piece piece = {.kind = PIECE_INLINE, .length = 5, .bytes = "hello"};
    struct pieces pieces = {&piece, 1, 1};
    struct blob_put_args args = {.request = bf_blob(&f, "dir/b"),
                                 .properties = {.http = {.content_type = STR("text/plain"),
                                                         .content_md5 = STR("0123456789abcdef")},
                                                .metadata = pairs_encode(&f.arena, &pairs),
                                                .tier = BLOB_TIER_COOL},
                                 .pieces = &pieces,
                                 .size = 5};
    CHECK_OK(bf_update(&f, blob_put_blob, &args));
    CHECK_OK(bf_properties(&f, bf_blob(&f, "dir/b"), &head));
    CHECK(head.type == BLOB_BLOCK && head.committed && head.size == 5);
    CHECK_STR(head.http.content_type, STR("text/plain"));
    CHECK_STR(head.http.content_md5, STR("0123456789abcdef"));
    CHECK(!str_given(head.http.cache_control));
    CHECK_STR(pairs_find(head.metadata, STR("Key")), STR("value"));
    CHECK_INT(head.tier, BLOB_TIER_COOL);
    CHECK_STR(bf_content(&f, "dir/b"), STR("hello"));
    bf_release(&f);
}

void test_put_blob_over_another(void)
{
    struct blob_fixture f;
    struct blob_head first, second;
    int64_t snapshot;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), bf_bytes(&f, 100000, 1), &first));
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "b"), &snapshot));
    CHECK_OK(bf_stage(&f, bf_blob(&f, "b"), "1", bf_bytes(&f, 1000, 2)));
    CHECK_OK(bf_set_metadata(&f, bf_blob(&f, "b"), "v", NULL));
    bf_seconds(&f, 10);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("new"), &second));
    CHECK(second.created == first.created && second.last_modified > first.last_modified);
    CHECK(!str_given(second.metadata));
    CHECK_STR(bf_blocks(&f, bf_blob(&f, "b")), STR("|"));
    /* The snapshot is what it was. */
    struct str content;
    CHECK_OK(bf_get(&f, bf_snapshot(&f, "b", snapshot), &content));
    CHECK_STR(content, bf_bytes(&f, 100000, 1));
    CHECK_OK(bf_delete(&f, bf_blob(&f, "b"), BLOB_SNAPSHOTS_INCLUDE));
    bf_sweep(&f);
    CHECK_INT(bf_extent_bytes(&f), 0);
    CHECK_INT(bf_rows(&f), 1);
    bf_release(&f);
}

/* A small content is stored with its head; if a snapshot shares it, in a separate row. */
void test_put_blob_over_a_small_one(void)
{
    struct blob_fixture f;
    struct blob_head first, second, third, large;
    int64_t snapshot;
    struct str content;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("one"), &first));
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("two"), &second));
    CHECK(second.content_beside && second.content != first.content && second.etag != first.etag);
    CHECK_INT(bf_rows(&f), 2);
    CHECK_STR(bf_content(&f, "b"), STR("two"));
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "b"), &snapshot));
    CHECK_INT(bf_rows(&f), 5); /* the container, two heads, the content, how many share it */
    CHECK_STR(bf_content(&f, "b"), STR("two"));
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("three"), &third));
    CHECK(third.content != second.content && third.content_beside && !third.content_shared);
    CHECK_OK(bf_get(&f, bf_snapshot(&f, "b", snapshot), &content));
    CHECK_STR(content, STR("two"));
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), bf_bytes(&f, 100000, 1), &large));
    CHECK(str_eq(bf_content(&f, "b"), bf_bytes(&f, 100000, 1)) && !large.content_beside);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("four"), NULL));
    CHECK_STR(bf_content(&f, "b"), STR("four"));
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR(""), NULL));
    CHECK_STR(bf_content(&f, "b"), STR(""));
    CHECK_OK(bf_delete(&f, bf_blob(&f, "b"), BLOB_SNAPSHOTS_INCLUDE));
    bf_sweep(&f);
    CHECK_INT(bf_extent_bytes(&f), 0);
    CHECK_INT(bf_rows(&f), 1);
    bf_release(&f);
}

/* Operations that change, move or copy the head leave the content unchanged. */
void test_put_blob_small_content_stays_with_its_head(void)
{
    struct blob_fixture f;
    struct blob_head head;
    int64_t snapshot;
    struct str content;
    bf_init(&f);
    struct str small = bf_bytes(&f, BLOB_BESIDE_MAX, 1);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), small, NULL));
    CHECK_OK(bf_set_metadata(&f, bf_blob(&f, "b"), "v", &head));
    CHECK(head.content_beside && str_eq(bf_content(&f, "b"), small));
    CHECK_OK(bf_stage(&f, bf_blob(&f, "b"), "1", STR("block")));
    CHECK_STR(bf_content(&f, "b"), small);
    CHECK_OK(bf_acquire(&f, "b", 'A', 60));
    CHECK_STR(bf_content(&f, "b"), small);
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "b"), &snapshot));
    CHECK_OK(bf_set_metadata(&f, bf_with_lease(&f, "b", 'A'), "w", &head));
    CHECK(!head.content_beside && str_eq(bf_content(&f, "b"), small));
    CHECK_OK(bf_get(&f, bf_snapshot(&f, "b", snapshot), &content));
    CHECK_STR(content, small);

    f.versioning = true;
    CHECK_OK(bf_put(&f, bf_blob(&f, "v"), STR("first"), &head));
    CHECK_OK(bf_put(&f, bf_blob(&f, "v"), STR("second"), NULL));
    CHECK_OK(bf_get(&f, bf_version(&f, "v", head.version), &content));
    CHECK_STR(content, STR("first"));
    CHECK_OK(bf_set_metadata(&f, bf_blob(&f, "v"), "v", NULL));
    CHECK_STR(bf_content(&f, "v"), STR("second"));
    f.versioning = false;

    bf_retain(&f, 7, false);
    CHECK_OK(bf_put(&f, bf_blob(&f, "d"), STR("buried"), NULL));
    CHECK_OK(bf_delete(&f, bf_blob(&f, "d"), BLOB_SNAPSHOTS_KEEP));
    CHECK_OK(bf_undelete(&f, "d"));
    CHECK_STR(bf_content(&f, "d"), STR("buried"));
    CHECK_OK(bf_delete(&f, bf_blob(&f, "d"), BLOB_SNAPSHOTS_KEEP));
    CHECK_OK(bf_put(&f, bf_blob(&f, "d"), STR("over a grave"), NULL));
    CHECK_STR(bf_content(&f, "d"), STR("over a grave"));
    CHECK_OK(bf_put(&f, bf_blob(&f, "d"), STR("once more"), NULL));
    CHECK_STR(bf_content(&f, "d"), STR("once more"));
    bf_retain(&f, 0, false);
    bf_end(&f);
}

void test_put_blob_of_every_size(void)
{
    static const size_t SIZES[] = {0,
                                   1,
                                   UPLOAD_INLINE_MAX,
                                   UPLOAD_INLINE_MAX + 1,
                                   EXTENT_BYTES_MAX,
                                   EXTENT_BYTES_MAX + 1,
                                   3 * EXTENT_BYTES_MAX + 5};
    struct blob_fixture f;
    bf_init(&f);
    for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++) {
        struct str content = bf_bytes(&f, SIZES[i], (unsigned)i);
        CHECK_OK(bf_put(&f, bf_blob(&f, "b"), content, NULL));
        struct str back = bf_content(&f, "b");
        CHECK(str_eq(back, content));
    }
    CHECK_OK(bf_delete(&f, bf_blob(&f, "b"), BLOB_SNAPSHOTS_KEEP));
    bf_sweep(&f);
    CHECK_INT(bf_extent_bytes(&f), 0);
    bf_release(&f);
}

void test_put_blob_by_a_caller_who_may_only_create(void)
{
    struct blob_fixture f;
    bf_init(&f);
    struct blob_request request = bf_blob(&f, "b");
    request.create_only = true;
    CHECK_OK(bf_put(&f, request, STR("1"), NULL));
    CHECK_ERR(bf_put(&f, request, STR("2"), NULL), ERR_UNAUTHORIZED_BLOB_OVERWRITE);
    CHECK_ERR(bf_commit(&f, request, "", NULL), ERR_UNAUTHORIZED_BLOB_OVERWRITE);
    CHECK_STR(bf_content(&f, "b"), STR("1"));
    bf_release(&f);
}

void test_put_blob_with_a_lease_id_where_there_is_none(void)
{
    struct blob_fixture f;
    bf_init(&f);
    CHECK_ERR(bf_put(&f, bf_with_lease(&f, "b", 'A'), STR("1"), NULL),
              ERR_LEASE_NOT_PRESENT_WITH_BLOB_OPERATION);
    bf_release(&f);
}

static struct blob_get_args range(struct blob_fixture *f, uint64_t offset, uint64_t length)
{
    return (struct blob_get_args){.request = bf_blob(f, "b"),
                                  .store = &f->store,
                                  .wants_content = true,
                                  .has_range = true,
                                  .range_offset = offset,
                                  .range_length = length};
}

void test_get_blob_ranges(void)
{
    struct blob_fixture f;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), bf_bytes(&f, 100000, 7), NULL));
    struct blob_get_args args = range(&f, 99990, 100);
    CHECK_OK(bf_view(&f, blob_get_blob, &args));
    CHECK(args.offset == 99990 && args.length == 10);
    args = range(&f, 100000, 1);
    CHECK_ERR(bf_view(&f, blob_get_blob, &args), ERR_INVALID_RANGE);
    args = range(&f, 5, UINT64_MAX);
    CHECK_OK(bf_view(&f, blob_get_blob, &args));
    CHECK(args.offset == 5 && args.length == 99995);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR(""), NULL));
    args = range(&f, 0, 1);
    CHECK_ERR(bf_view(&f, blob_get_blob, &args), ERR_INVALID_RANGE);
    bf_release(&f);
}

/* Reading extents for a checksum may block, so the first run asks to be rerun where blocking is
 * allowed. */
void test_get_blob_bytes_for_a_checksum(void)
{
    struct blob_fixture f;
    bf_init(&f);
    struct str content = bf_bytes(&f, 20000, 3);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), content, NULL));
    struct blob_get_args args = range(&f, 100, 1000);
    args.wants_bytes = true;
    CHECK_ERR(bf_view_on_loop(&f, blob_get_blob, &args), ERR_LONG_WORK);
    CHECK_OK(bf_view(&f, blob_get_blob, &args));
    CHECK(str_eq(args.bytes, (struct str){content.p + 100, 1000}));
    bf_release(&f);
}

void test_get_blob_properties_of_what_is_not_there(void)
{
    struct blob_fixture f;
    struct blob_head head;
    bf_init(&f);
    CHECK_ERR(bf_properties(&f, bf_blob(&f, "b"), &head), ERR_BLOB_NOT_FOUND);
    CHECK_OK(bf_stage(&f, bf_blob(&f, "b"), "1", STR("x")));
    CHECK_ERR(bf_properties(&f, bf_blob(&f, "b"), &head), ERR_BLOB_NOT_FOUND);
    CHECK_OK(bf_commit(&f, bf_blob(&f, "b"), "l1", NULL));
    CHECK_ERR(bf_properties(&f, bf_snapshot(&f, "b", 5), &head), ERR_BLOB_NOT_FOUND);
    f.partition = blob_partition(&f.arena, STR("a"), STR("none"));
    CHECK_ERR(bf_properties(&f, bf_blob(&f, "b"), &head), ERR_CONTAINER_NOT_FOUND);
    bf_release(&f);
}

void test_get_blob_metadata_is_what_set_blob_metadata_set(void)
{
    struct blob_fixture f;
    struct blob_head head;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("x"), NULL));
    CHECK_OK(bf_set_metadata(&f, bf_blob(&f, "b"), "one", NULL));
    CHECK_OK(bf_properties(&f, bf_blob(&f, "b"), &head));
    CHECK_STR(pairs_find(head.metadata, STR("k")), STR("one"));
    struct blob_set_args none = {.request = bf_blob(&f, "b")};
    CHECK_OK(bf_update(&f, blob_set_blob_metadata, &none));
    CHECK_OK(bf_properties(&f, bf_blob(&f, "b"), &head));
    CHECK(!str_given(head.metadata));
    CHECK_STR(bf_content(&f, "b"), STR("x"));
    bf_release(&f);
}

void test_set_blob_properties_replaces_them_all(void)
{
    struct blob_fixture f;
    struct blob_head head;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("x"), NULL));
    struct blob_set_args args = {
        .request = bf_blob(&f, "b"),
        .http = {.content_type = STR("a/b"), .cache_control = STR("no-cache")}};
    CHECK_OK(bf_update(&f, blob_set_blob_properties, &args));
    args.http = (struct blob_http){.content_language = STR("de")};
    CHECK_OK(bf_update(&f, blob_set_blob_properties, &args));
    CHECK_OK(bf_properties(&f, bf_blob(&f, "b"), &head));
    CHECK_STR(head.http.content_language, STR("de"));
    CHECK(!str_given(head.http.content_type) && !str_given(head.http.cache_control));
    bf_release(&f);
}

void test_lease_blob_on_what_is_not_there(void)
{
    struct blob_fixture f;
    bf_init(&f);
    CHECK_ERR(bf_acquire(&f, "b", 'A', 15), ERR_BLOB_NOT_FOUND);
    CHECK_OK(bf_stage(&f, bf_blob(&f, "b"), "1", STR("x")));
    CHECK_ERR(bf_acquire(&f, "b", 'A', 15), ERR_BLOB_NOT_FOUND);
    bf_release(&f);
}

void test_lease_blob_takes_conditions(void)
{
    struct blob_fixture f;
    struct blob_head head;
    bf_init(&f);
    struct lease_request acquire = {
        .action = LEASE_ACQUIRE, .proposed = bf_guid('A'), .seconds = 15};
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("x"), &head));
    CHECK_ERR(bf_lease(&f, bf_if_match(&f, "b", head.etag + 1), acquire, NULL),
              ERR_CONDITION_NOT_MET);
    CHECK_OK(bf_lease(&f, bf_if_match(&f, "b", head.etag), acquire, NULL));
    bf_release(&f);
}

void test_snapshot_blob_is_the_blob_as_it_was(void)
{
    struct blob_fixture f;
    struct blob_head base, head;
    int64_t first, second;
    struct str content;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("one"), &base));
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "b"), &first));
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "b"), &second));
    CHECK(second > first);
    CHECK_OK(bf_properties(&f, bf_snapshot(&f, "b", first), &head));
    CHECK(head.etag == base.etag && head.last_modified == base.last_modified);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("two"), NULL));
    CHECK_OK(bf_get(&f, bf_snapshot(&f, "b", first), &content));
    CHECK_STR(content, STR("one"));
    CHECK_STR(bf_content(&f, "b"), STR("two"));
    CHECK_STR(bf_list(&f, (struct blob_list_args){.wants_snapshots = true}), STR("b@ b@ b "));
    CHECK_STR(bf_list(&f, (struct blob_list_args){0}), STR("b "));
    bf_release(&f);
}

void test_snapshot_blob_with_metadata_has_an_etag_of_its_own(void)
{
    struct blob_fixture f;
    struct blob_head base;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("one"), &base));
    struct pair pair = {STR("s"), STR("1")};
    struct pairs pairs = {&pair, 1};
    struct blob_set_args args = {.request = bf_blob(&f, "b"),
                                 .metadata = pairs_encode(&f.arena, &pairs),
                                 .has_metadata = true};
    CHECK_OK(bf_update(&f, blob_snapshot_blob, &args));
    CHECK(args.head.etag != base.etag);
    CHECK_OK(bf_properties(&f, bf_blob(&f, "b"), &base));
    CHECK(!str_given(base.metadata));
    bf_release(&f);
}

/* Extents are shared by all snapshots and freed with the last that names them. */
void test_snapshot_blob_shares_its_content(void)
{
    struct blob_fixture f;
    int64_t first, second;
    struct str content, want;
    bf_init(&f);
    want = bf_bytes(&f, 200000, 1);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), want, NULL));
    uint64_t bytes = bf_extent_bytes(&f);
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "b"), &first));
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "b"), &second));
    CHECK_INT(bf_extent_bytes(&f), bytes);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("small"), NULL));
    CHECK_OK(bf_delete(&f, bf_snapshot(&f, "b", first), BLOB_SNAPSHOTS_KEEP));
    bf_sweep(&f);
    CHECK_OK(bf_get(&f, bf_snapshot(&f, "b", second), &content));
    CHECK(str_eq(content, want));
    CHECK_OK(bf_delete(&f, bf_snapshot(&f, "b", second), BLOB_SNAPSHOTS_KEEP));
    bf_sweep(&f);
    CHECK_INT(bf_extent_bytes(&f), 0);
    CHECK_STR(bf_content(&f, "b"), STR("small"));
    bf_release(&f);
}

void test_delete_blob_and_its_snapshots(void)
{
    struct blob_fixture f;
    int64_t snapshot;
    bf_init(&f);
    CHECK_ERR(bf_delete(&f, bf_blob(&f, "b"), BLOB_SNAPSHOTS_KEEP), ERR_BLOB_NOT_FOUND);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), bf_bytes(&f, 50000, 1), NULL));
    CHECK_OK(bf_put(&f, bf_blob(&f, "b2"), STR("beside"), NULL));
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "b"), &snapshot));
    CHECK_ERR(bf_delete(&f, bf_blob(&f, "b"), BLOB_SNAPSHOTS_KEEP), ERR_SNAPSHOTS_PRESENT);
    CHECK_OK(bf_delete(&f, bf_blob(&f, "b"), BLOB_SNAPSHOTS_ONLY));
    CHECK_STR(bf_list(&f, (struct blob_list_args){.wants_snapshots = true}), STR("b b2 "));
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "b"), &snapshot));
    CHECK_OK(bf_delete(&f, bf_blob(&f, "b"), BLOB_SNAPSHOTS_INCLUDE));
    CHECK_STR(bf_list(&f, (struct blob_list_args){.wants_snapshots = true}), STR("b2 "));
    bf_sweep(&f);
    CHECK_INT(bf_extent_bytes(&f), 0);
    bf_release(&f);
}

void test_delete_blob_that_is_not_committed(void)
{
    struct blob_fixture f;
    bf_init(&f);
    CHECK_OK(bf_stage(&f, bf_blob(&f, "b"), "1", bf_bytes(&f, 5000, 1)));
    CHECK_OK(bf_delete(&f, bf_blob(&f, "b"), BLOB_SNAPSHOTS_KEEP));
    bf_sweep(&f);
    CHECK_INT(bf_extent_bytes(&f), 0);
    CHECK_INT(bf_rows(&f), 1);
    bf_release(&f);
}

void test_delete_blob_with_many_snapshots(void)
{
    struct blob_fixture f;
    int64_t time;
    bf_init(&f);
    for (unsigned i = 0; i < 300; i++) {
        CHECK_OK(bf_put(&f, bf_blob(&f, "b"), bf_bytes(&f, 9000, i), NULL));
        CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "b"), &time));
    }
    CHECK_OK(bf_delete(&f, bf_blob(&f, "b"), BLOB_SNAPSHOTS_INCLUDE));
    CHECK_STR(bf_list(&f, (struct blob_list_args){.wants_snapshots = true}), STR(""));
    bf_sweep(&f);
    CHECK_INT(bf_extent_bytes(&f), 0);
    CHECK_INT(bf_rows(&f), 1);
    bf_release(&f);
}
