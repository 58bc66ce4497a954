/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/tier.h"

#include "service/blob/append.h"
#include "service/blob/blob_fixture.h"
#include "service/blob/page/page.h"

enum { HOUR = 3600 };

static struct err set_tier(struct blob_fixture *f, struct blob_request request,
                           struct blob_tier_args args)
{
    args.request = request;
    args.rehydrate_ticks = HOUR * TICKS_PER_SECOND;
    TRY(bf_update(f, blob_set_blob_tier, &args));
    CHECK(!args.rehydrates);
    return OK;
}

static struct err to(struct blob_fixture *f, const char *name, enum blob_tier tier)
{
    return set_tier(f, bf_blob(f, name), (struct blob_tier_args){.tier = tier});
}

/* Out of the archive, in an hour. */
static void bring_back(struct blob_fixture *f, const char *name, struct blob_tier_args args)
{
    args.request = bf_blob(f, name);
    args.rehydrate_ticks = HOUR * TICKS_PER_SECOND;
    CHECK_OK(bf_update(f, blob_set_blob_tier, &args));
    CHECK(args.rehydrates);
}

static void check_tier(struct blob_fixture *f, struct blob_request request, enum blob_tier tier,
                       const char *status)
{
    struct blob_head head;
    CHECK_OK(bf_properties(f, request, &head));
    CHECK_INT(head.tier, tier);
    CHECK(str_eq(blob_archive_status_text(&head), str_of(status)));
}

void test_set_blob_tier_is_no_write(void)
{
    struct blob_fixture f;
    struct blob_head before, after;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("x"), &before));
    bf_seconds(&f, 10);
    CHECK_OK(to(&f, "b", BLOB_TIER_COOL));
    CHECK_OK(bf_properties(&f, bf_blob(&f, "b"), &after));
    CHECK(after.tier == BLOB_TIER_COOL && after.tier_changed > after.last_modified);
    CHECK(after.etag == before.etag && after.last_modified == before.last_modified);
    bf_seconds(&f, 10);
    CHECK_OK(to(&f, "b", BLOB_TIER_COOL));
    CHECK_OK(bf_properties(&f, bf_blob(&f, "b"), &before));
    CHECK(before.tier_changed == after.tier_changed);
    bf_release(&f);
}

void test_set_blob_tier_archive_and_back(void)
{
    struct blob_fixture f;
    struct blob_tier_args cold = {.tier = BLOB_TIER_COLD};
    struct str content;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("x"), NULL));
    CHECK_OK(to(&f, "b", BLOB_TIER_ARCHIVE));
    CHECK_OK(to(&f, "b", BLOB_TIER_ARCHIVE));
    CHECK_ERR(bf_get(&f, bf_blob(&f, "b"), &content), ERR_BLOB_ARCHIVED);
    CHECK_ERR(bf_put(&f, bf_blob(&f, "b"), STR("y"), NULL), ERR_BLOB_ARCHIVED);
    bring_back(&f, "b", cold);
    check_tier(&f, bf_blob(&f, "b"), BLOB_TIER_ARCHIVE, "rehydrate-pending-to-cold");
    CHECK_ERR(bf_get(&f, bf_blob(&f, "b"), &content), ERR_BLOB_BEING_REHYDRATED);
    CHECK_ERR(to(&f, "b", BLOB_TIER_HOT), ERR_BLOB_BEING_REHYDRATED);
    CHECK_ERR(to(&f, "b", BLOB_TIER_ARCHIVE), ERR_BLOB_BEING_REHYDRATED);
    bf_seconds(&f, HOUR - 1);
    bring_back(&f, "b", cold);
    bf_seconds(&f, 1);
    check_tier(&f, bf_blob(&f, "b"), BLOB_TIER_COLD, "");
    CHECK_OK(bf_get(&f, bf_blob(&f, "b"), &content));
    CHECK(str_eq(content, STR("x")));
    CHECK_OK(to(&f, "b", BLOB_TIER_ARCHIVE));
    bf_release(&f);
}

void test_set_blob_tier_back_to_smart(void)
{
    struct blob_fixture f;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("x"), NULL));
    CHECK_OK(to(&f, "b", BLOB_TIER_ARCHIVE));
    bring_back(&f, "b", (struct blob_tier_args){.tier = BLOB_TIER_SMART});
    check_tier(&f, bf_blob(&f, "b"), BLOB_TIER_ARCHIVE, "rehydrate-pending-to-smart");
    bf_seconds(&f, HOUR);
    check_tier(&f, bf_blob(&f, "b"), BLOB_TIER_SMART, "");
    bf_release(&f);
}

void test_set_blob_tier_at_once_and_priority(void)
{
    struct blob_fixture f;
    struct blob_head head;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("x"), NULL));
    CHECK_OK(to(&f, "b", BLOB_TIER_ARCHIVE));
    bring_back(&f, "b", (struct blob_tier_args){.tier = BLOB_TIER_HOT});
    CHECK_OK(bf_properties(&f, bf_blob(&f, "b"), &head));
    CHECK(str_eq(blob_rehydrate_priority_text(&head), STR("Standard")));
    struct blob_tier_args high = {.tier = BLOB_TIER_HOT, .high_priority = true};
    bring_back(&f, "b", high);
    CHECK_OK(bf_properties(&f, bf_blob(&f, "b"), &head));
    CHECK(str_eq(blob_rehydrate_priority_text(&head), STR("High")));
    CHECK_OK(bf_put(&f, bf_blob(&f, "now"), STR("x"), NULL));
    CHECK_OK(to(&f, "now", BLOB_TIER_ARCHIVE));
    struct blob_tier_args args = {.request = bf_blob(&f, "now"), .tier = BLOB_TIER_HOT};
    CHECK_OK(bf_update(&f, blob_set_blob_tier, &args));
    CHECK(args.rehydrates);
    check_tier(&f, bf_blob(&f, "now"), BLOB_TIER_HOT, "");
    bf_release(&f);
}

void test_set_blob_tier_of_a_snapshot_alone(void)
{
    struct blob_fixture f;
    int64_t time;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("x"), NULL));
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "b"), &time));
    struct blob_tier_args cool = {.tier = BLOB_TIER_COOL};
    CHECK_OK(set_tier(&f, bf_snapshot(&f, "b", time), cool));
    check_tier(&f, bf_snapshot(&f, "b", time), BLOB_TIER_COOL, "");
    check_tier(&f, bf_blob(&f, "b"), BLOB_TIER_NONE, "");
    bf_release(&f);
}

void test_set_blob_tier_conditions_and_leases(void)
{
    struct blob_fixture f;
    bf_init(&f);
    CHECK_ERR(to(&f, "none", BLOB_TIER_HOT), ERR_BLOB_NOT_FOUND);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("x"), NULL));
    struct blob_tier_args cool = {.tier = BLOB_TIER_COOL};
    struct blob_request request = bf_blob(&f, "b");
    request.conditions.if_tags =
        tag_expression_compile(&f.arena, TAG_CONDITION, STR("k = '2'"), NULL);
    CHECK_ERR(set_tier(&f, request, cool), ERR_CONDITION_NOT_MET);
    CHECK_OK(bf_acquire(&f, "b", 'A', LEASE_INFINITE));
    CHECK_ERR(to(&f, "b", BLOB_TIER_COOL), ERR_LEASE_ID_MISSING);
    check_tier(&f, bf_blob(&f, "b"), BLOB_TIER_NONE, "");
    CHECK_OK(set_tier(&f, bf_with_lease(&f, "b", 'A'), cool));
    bf_release(&f);
}

static struct err create_page(struct blob_fixture *f, uint64_t gib, enum blob_tier tier)
{
    struct blob_create_page_args args = {
        .request = bf_blob(f, "page"), .properties = {.tier = tier}, .size = gib << 30};
    return bf_update(f, blob_create_page_blob, &args);
}

void test_set_blob_tier_of_pages_goes_up_and_holds_the_size(void)
{
    struct blob_fixture f;
    bf_init(&f);
    CHECK_ERR(create_page(&f, 33, BLOB_TIER_P4), ERR_BLOB_TIER_INADEQUATE_FOR_CONTENT_LENGTH);
    CHECK_OK(create_page(&f, 64, BLOB_TIER_NONE));
    CHECK_ERR(to(&f, "page", BLOB_TIER_HOT), ERR_INVALID_BLOB_TIER);
    CHECK_ERR(to(&f, "page", BLOB_TIER_P4), ERR_BLOB_TIER_INADEQUATE_FOR_CONTENT_LENGTH);
    CHECK_OK(to(&f, "page", BLOB_TIER_P6));
    CHECK_OK(to(&f, "page", BLOB_TIER_P20));
    CHECK_ERR(to(&f, "page", BLOB_TIER_P10), ERR_CANNOT_CHANGE_TO_LOWER_TIER);
    check_tier(&f, bf_blob(&f, "page"), BLOB_TIER_P20, "");
    struct blob_page_change larger = {.resize = true, .size = 513ULL << 30};
    struct blob_set_args set = {
        .request = bf_blob(&f, "page"), .keep_http = true, .pages = &larger};
    CHECK_ERR(bf_update(&f, blob_set_blob_properties, &set),
              ERR_BLOB_TIER_INADEQUATE_FOR_CONTENT_LENGTH);
    larger.size = 512ULL << 30;
    CHECK_OK(bf_update(&f, blob_set_blob_properties, &set));
    bf_release(&f);
}

void test_set_blob_tier_by_type(void)
{
    struct blob_fixture f;
    bf_init(&f);
    struct blob_create_append_args append = {.request = bf_blob(&f, "append")};
    CHECK_OK(bf_update(&f, blob_create_append_blob, &append));
    CHECK_ERR(to(&f, "append", BLOB_TIER_COOL), ERR_INVALID_BLOB_TYPE);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("x"), NULL));
    CHECK_ERR(to(&f, "b", BLOB_TIER_P10), ERR_INVALID_BLOB_TIER);
    bf_release(&f);
}
