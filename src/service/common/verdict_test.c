/* SPDX-License-Identifier: Apache-2.0 */
/* A refusal records its reason, and a success records nothing. */
#include "service/common/verdict.h"

#include "core/clock.h"
#include "core/test.h"
#include "service/common/condition.h"
#include "service/common/etag.h"
#include "service/common/lease.h"

static const int64_t NOW = 1000000 * TICKS_PER_SECOND;

void test_verdict_of_conditions(void)
{
    struct verdict v = {0};
    struct condition_target target = {
        .exists = true, .etag = NOW, .last_modified = NOW, .tags = STR_NONE};
    struct conditions c = {.if_match = STR("\"0x1\""), .verdict = &v};
    CHECK_ERR(conditions_check(&c, CONDITION_WRITE, &target), ERR_CONDITION_NOT_MET);
    CHECK_INT(v.check, VERDICT_IF_MATCH);
    CHECK_INT(v.etag, NOW);
    CHECK(v.exists);
    c = (struct conditions){.if_none_match = STR("*"), .verdict = &v};
    CHECK_ERR(conditions_check(&c, CONDITION_CREATE, &target), ERR_BLOB_ALREADY_EXISTS);
    CHECK_INT(v.check, VERDICT_IF_NONE_MATCH);
    c = (struct conditions){
        .has_unmodified_since = true, .unmodified_since = NOW - TICKS_PER_SECOND, .verdict = &v};
    CHECK_ERR(conditions_check(&c, CONDITION_READ, &target), ERR_CONDITION_NOT_MET);
    CHECK_INT(v.check, VERDICT_IF_UNMODIFIED_SINCE);
    c = (struct conditions){.has_modified_since = true, .modified_since = NOW, .verdict = &v};
    CHECK_ERR(conditions_check(&c, CONDITION_READ, &target), ERR_NOT_MODIFIED);
    CHECK_INT(v.check, VERDICT_IF_MODIFIED_SINCE);
    v = (struct verdict){0};
    c = (struct conditions){.if_match = STR("*"), .verdict = &v};
    CHECK_OK(conditions_check(&c, CONDITION_WRITE, &target));
    CHECK_INT(v.check, VERDICT_NONE);
    /* Nobody asks. */
    c = (struct conditions){.if_match = STR("\"0x1\"")};
    CHECK_ERR(conditions_check(&c, CONDITION_WRITE, &target), ERR_CONDITION_NOT_MET);
}

void test_verdict_of_leases(void)
{
    struct verdict v = {0};
    const struct guid a = {{0xAA}}, b = {{0xBB}};
    struct lease l = {.state = LEASE_LEASED, .id = a, .seconds = 30, .ends = NOW + 30};
    struct lease_id given = {.verdict = &v};
    CHECK_ERR(lease_check_write(&l, LEASE_BLOB, &given, NOW), ERR_LEASE_ID_MISSING);
    CHECK_INT(v.check, VERDICT_LEASE);
    CHECK_INT(v.lease_state, LEASE_LEASED);
    CHECK_INT(v.lease_ends, NOW + 30);
    CHECK_INT(v.lease_id, VERDICT_ID_MISSING);
    given = (struct lease_id){.given = true, .id = b, .verdict = &v};
    CHECK_ERR(lease_check_read(&l, LEASE_BLOB, &given, NOW),
              ERR_LEASE_ID_MISMATCH_WITH_BLOB_OPERATION);
    CHECK_INT(v.lease_id, VERDICT_ID_OTHER);
    given.id = a;
    CHECK_ERR(lease_check_write(&l, LEASE_BLOB, &given, NOW + 30), ERR_LEASE_LOST);
    CHECK_INT(v.lease_state, LEASE_EXPIRED);
    CHECK_INT(v.lease_id, VERDICT_ID_SAME);
    CHECK_ERR(lease_check_absent(LEASE_BLOB, &given), ERR_LEASE_NOT_PRESENT_WITH_BLOB_OPERATION);
    CHECK_INT(v.lease_state, LEASE_AVAILABLE);
    struct lease_request request = {
        .action = LEASE_ACQUIRE, .proposed = b, .seconds = 15, .verdict = &v};
    int left;
    CHECK_ERR(lease_apply(&l, &request, NOW, &left), ERR_LEASE_ALREADY_PRESENT);
    CHECK_INT(v.lease_ends, NOW + 30);
    v = (struct verdict){0};
    given.id = a;
    CHECK_OK(lease_check_write(&l, LEASE_BLOB, &given, NOW));
    CHECK_INT(v.check, VERDICT_NONE);
}
