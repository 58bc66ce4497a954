/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/roles.h"

#include "core/test.h"

static bool may(const struct roles *roles, const char *who, const char *container,
                enum role_need need)
{
    struct str identities[] = {STR_NONE, str_of(who)};
    struct role_request request = {identities, 2, STR("account"), str_of(container), need};
    return roles_permit(roles, &request);
}

void test_roles_permit(void)
{
    struct roles *roles = NULL;
    CHECK_OK(roles_parse(STR("# who account container role\n"
                             "Reader-1 account * reader\r\n"
                             "  writer account  one\tcontributor  # here only\n"
                             "\n"
                             "owner * * owner\n"
                             "maker account * delegator\n"
                             "stranger other * owner\n"
                             "* account public reader"),
                         &roles));
    CHECK(may(roles, "reader-1", "one", NEED_READ));
    CHECK(may(roles, "reader-1", NULL, NEED_READ));
    CHECK(may(roles, "reader-1", NULL, NEED_DELEGATION));
    CHECK(!may(roles, "reader-1", "one", NEED_WRITE));
    CHECK(may(roles, "writer", "one", NEED_WRITE));
    CHECK(may(roles, "writer", "one", NEED_READ));
    CHECK(!may(roles, "writer", "two", NEED_READ));
    CHECK(!may(roles, "writer", NULL, NEED_READ));
    CHECK(!may(roles, "writer", NULL, NEED_DELEGATION));
    CHECK(!may(roles, "writer", "one", NEED_OWNERSHIP));
    CHECK(may(roles, "owner", "one", NEED_OWNERSHIP));
    CHECK(may(roles, "maker", NULL, NEED_DELEGATION));
    CHECK(!may(roles, "maker", "one", NEED_READ));
    CHECK(!may(roles, "stranger", "one", NEED_READ));
    CHECK(may(roles, "anybody", "public", NEED_READ));
    CHECK(may(roles, NULL, "public", NEED_READ));
    CHECK(!may(roles, NULL, "public", NEED_WRITE));
    roles_free(roles);
}

void test_roles_malformed(void)
{
    static const char *const TEXTS[] = {"a b c", "a b c king", "a b c reader more", "a"};
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        struct roles *roles = NULL;
        struct err error = roles_parse(str_of(TEXTS[i]), &roles);
        CHECK_ERR(error, ERR_INVALID_INPUT);
        CHECK_INT(error.cause, 1);
    }
    struct roles *roles = NULL;
    CHECK_OK(roles_parse(STR(""), &roles));
    CHECK(!may(roles, "a", "b", NEED_READ));
    roles_free(roles);
}
