/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/auth_fixture.h"

#define ACCOUNT ACCOUNT_WELL_KNOWN_NAME

static struct err public_by_name(struct store *store, const struct auth_container *place,
                                 struct arena *arena, enum auth_public *out)
{
    (void)store, (void)arena;
    CHECK_INT(place->service, SERVICE_BLOB);
    CHECK_STR(place->account, STR(ACCOUNT));
    if (str_eq(place->container, STR("blobs")))
        *out = AUTH_PUBLIC_BLOB;
    if (str_eq(place->container, STR("all")))
        *out = AUTH_PUBLIC_CONTAINER;
    return OK;
}

void test_anonymous_by_container_level(void)
{
    static const struct {
        const char *target;
        enum auth_anonymous demanded;
        bool allowed;
    } CASES[] = {
        {"/" ACCOUNT "/blobs/b", AUTH_ANONYMOUS_BLOB, true},
        {"/" ACCOUNT "/blobs", AUTH_ANONYMOUS_CONTAINER, false},
        {"/" ACCOUNT "/blobs/b", AUTH_ANONYMOUS_NEVER, false},
        {"/" ACCOUNT "/all/b", AUTH_ANONYMOUS_BLOB, true},
        {"/" ACCOUNT "/all", AUTH_ANONYMOUS_CONTAINER, true},
        {"/" ACCOUNT "/all", AUTH_ANONYMOUS_NEVER, false},
        {"/" ACCOUNT "/private/b", AUTH_ANONYMOUS_BLOB, false},
        {"/" ACCOUNT "/private/b", AUTH_ANONYMOUS_ALWAYS, true},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct auth_fixture f;
        fixture_init(&f);
        f.server.lookup.public_access = public_by_name;
        fixture_target(&f, "GET", CASES[i].target);
        f.demand.anonymous = CASES[i].demanded;
        CHECK_ERR(fixture_check(&f), CASES[i].allowed ? ERR_OK : ERR_NO_AUTHENTICATION_INFORMATION);
        CHECK_INT(str_given(f.challenge), !CASES[i].allowed);
        if (CASES[i].allowed)
            CHECK_INT(f.result.kind, AUTH_ANONYMOUS);
        fixture_release(&f);
    }
}

void test_anonymous_needs_an_account_that_is_served(void)
{
    struct auth_fixture f;
    fixture_init(&f);
    f.server.lookup.public_access = public_by_name;
    fixture_target(&f, "GET", "/" ACCOUNT "/all/b");
    CHECK_OK(fixture_check(&f));
    CHECK_OK(accounts_remove(f.accounts, STR(ACCOUNT)));
    CHECK_ERR(fixture_check(&f), ERR_NO_AUTHENTICATION_INFORMATION);
    fixture_release(&f);
}

/* Refused anonymous requests: the answer says how to get a token or not, depending on version and
 * service.
 */
void test_no_credentials_by_version_and_service(void)
{
    static const struct {
        enum service_kind service;
        int version;
        bool write;
        enum err_code code;
        bool challenged;
    } CASES[] = {
        {SERVICE_BLOB, 20191212, false, ERR_NO_AUTHENTICATION_INFORMATION, true},
        {SERVICE_BLOB, 20190707, false, ERR_RESOURCE_NOT_FOUND, false},
        {SERVICE_BLOB, 0, false, ERR_RESOURCE_NOT_FOUND, false},
        {SERVICE_BLOB, 0, true, ERR_NO_AUTHENTICATION_INFORMATION, false},
        {SERVICE_QUEUE, 20191212, false, ERR_NO_AUTHENTICATION_INFORMATION, true},
        {SERVICE_QUEUE, 20180328, false, ERR_NO_AUTHENTICATION_INFORMATION, false},
        {SERVICE_TABLE, 20190202, false, ERR_NO_AUTHENTICATION_INFORMATION, false},
        {SERVICE_TABLE, 20201206, false, ERR_NO_AUTHENTICATION_INFORMATION, true},
        {SERVICE_FILE, 20210806, true, ERR_NO_AUTHENTICATION_INFORMATION, false},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct auth_fixture f;
        fixture_init(&f);
        fixture_target(&f, "GET", "/" ACCOUNT "/c/b");
        f.input.service = CASES[i].service;
        f.input.version = CASES[i].version;
        f.demand.write = CASES[i].write;
        CHECK_ERR(fixture_check(&f), CASES[i].code);
        CHECK_INT(str_given(f.challenge), CASES[i].challenged);
        fixture_release(&f);
    }
}
