/* SPDX-License-Identifier: Apache-2.0 */
/* auth_permit for resources other than that of the request's path: an identity authenticated for
 * one resource is checked for another. */
#include "auth/auth_fixture.h"
#include "auth/auth_internal.h"

#define ACCOUNT ACCOUNT_WELL_KNOWN_NAME

/* "container/object", or a container alone. */
static struct auth_resource resource(enum service_kind service, const char *name)
{
    struct str object = str_of(name);
    struct str container = str_cut(&object, '/');
    return (struct auth_resource){
        .service = service, .account = STR(ACCOUNT), .container = container, .object = object};
}

static enum err_code ask(struct auth_fixture *f, const struct auth_result *who,
                         const struct auth_resource *what)
{
    return auth_permit(&f->server, who, what, &f->demand, &f->arena).code;
}

void test_permit_by_scope_of_sas(void)
{
    static const struct {
        enum sas_scope scope;
        const char *path, *name;
        bool reaches;
    } CASES[] = {
        {SAS_SCOPE_OBJECT, "a", "c/a", true},      {SAS_SCOPE_OBJECT, "a", "c/A", false},
        {SAS_SCOPE_OBJECT, "a", "c/a/", false},    {SAS_SCOPE_OBJECT, "a", "c/a/b", false},
        {SAS_SCOPE_OBJECT, "a", "c", false},       {SAS_SCOPE_OBJECT, "a", "d/a", false},
        {SAS_SCOPE_DIRECTORY, "a", "c/a", true},   {SAS_SCOPE_DIRECTORY, "a", "c/a/b", true},
        {SAS_SCOPE_DIRECTORY, "a", "c/ab", false}, {SAS_SCOPE_DIRECTORY, "a", "c/b/a/b", false},
        {SAS_SCOPE_DIRECTORY, "a", "c", false},    {SAS_SCOPE_DIRECTORY, "a", "d/a/b", false},
        {SAS_SCOPE_DIRECTORY, "", "c/b", true},    {SAS_SCOPE_CONTAINER, "", "c/a", true},
        {SAS_SCOPE_CONTAINER, "", "d/a", false},   {SAS_SCOPE_SNAPSHOT, "a", "c/a", false},
        {SAS_SCOPE_VERSION, "a", "c/a", false},    {SAS_SCOPE_NONE, "a", "c/a", false},
    };
    struct auth_fixture f;
    fixture_init(&f);
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct auth_reach reach = {.account = STR(ACCOUNT),
                                   .service = SERVICE_BLOB,
                                   .scope = CASES[i].scope,
                                   .container = STR("c"),
                                   .path = str_of(CASES[i].path)};
        struct auth_result who = {
            .kind = AUTH_SERVICE_SAS, .permissions = STR("r"), .reach = &reach};
        struct auth_resource what = resource(SERVICE_BLOB, CASES[i].name);
        if (ask(&f, &who, &what) != (CASES[i].reaches ? ERR_OK : ERR_AUTHORIZATION_FAILURE))
            test_fail(__FILE__, __LINE__, "scope %d of %s: %s", CASES[i].scope, CASES[i].path,
                      CASES[i].name);
        what.service = SERVICE_FILE;
        CHECK_INT(ask(&f, &who, &what), ERR_AUTHORIZATION_FAILURE);
        what.service = SERVICE_BLOB;
        what.account = STR("another");
        CHECK_INT(ask(&f, &who, &what), ERR_AUTHORIZATION_FAILURE);
    }
    fixture_release(&f);
}

void test_permit_one_snapshot_or_version(void)
{
    struct auth_fixture f;
    fixture_init(&f);
    for (int version = 0; version < 2; version++) {
        struct auth_reach reach = {.account = STR(ACCOUNT),
                                   .service = SERVICE_BLOB,
                                   .scope = version ? SAS_SCOPE_VERSION : SAS_SCOPE_SNAPSHOT,
                                   .container = STR("c"),
                                   .path = STR("a"),
                                   .moment = STR("1994-11-06T08:49:37.0000000Z")};
        struct auth_result who = {
            .kind = AUTH_SERVICE_SAS, .permissions = STR("r"), .reach = &reach};
        struct auth_pair query[] = {{version ? STR("VersionId") : STR("Snapshot"), reach.moment}};
        struct auth_resource what = resource(SERVICE_BLOB, "c/a");
        what.query = query;
        what.query_count = 1;
        CHECK_INT(ask(&f, &who, &what), ERR_OK);
        query[0].value = STR("1994-11-06T08:49:38.0000000Z");
        CHECK_INT(ask(&f, &who, &what), ERR_AUTHORIZATION_FAILURE);
        query[0] = (struct auth_pair){version ? STR("snapshot") : STR("versionid"), reach.moment};
        CHECK_INT(ask(&f, &who, &what), ERR_AUTHORIZATION_FAILURE);
        /* One that names neither a snapshot nor a version is refused. */
        reach.moment = STR("");
        query[0] = (struct auth_pair){version ? STR("versionid") : STR("snapshot"), STR("")};
        CHECK_INT(ask(&f, &who, &what), ERR_AUTHORIZATION_FAILURE);
    }
    fixture_release(&f);
}

/* A key gives access only to its account; an anonymous request has access only to public
 * resources. */
void test_permit_by_key_and_nobody(void)
{
    struct auth_fixture f;
    fixture_init(&f);
    struct auth_reach reach = {.account = STR(ACCOUNT), .service = SERVICE_BLOB};
    struct auth_result who = {.kind = AUTH_SHARED_KEY, .reach = &reach};
    struct auth_resource what = resource(SERVICE_FILE, "c/a");
    CHECK_INT(ask(&f, &who, &what), ERR_OK);
    what.account = STR("another");
    CHECK_INT(ask(&f, &who, &what), ERR_AUTHORIZATION_FAILURE);
    who = (struct auth_result){.kind = AUTH_ANONYMOUS};
    CHECK_INT(ask(&f, &who, &what), ERR_NO_AUTHENTICATION_INFORMATION);
    fixture_release(&f);
}

/* Moving everything below a path needs more than a SAS for the path. */
void test_permit_trees(void)
{
    struct auth_fixture f;
    fixture_init(&f);
    f.demand.tree = true;
    struct auth_reach reach = {.account = STR(ACCOUNT),
                               .service = SERVICE_FILE,
                               .scope = SAS_SCOPE_OBJECT,
                               .container = STR("c"),
                               .path = STR("a")};
    struct auth_result who = {.kind = AUTH_SERVICE_SAS, .permissions = STR("r"), .reach = &reach};
    struct auth_resource what = resource(SERVICE_FILE, "c/a");
    CHECK_INT(ask(&f, &who, &what), ERR_AUTHORIZATION_RESOURCE_TYPE_MISMATCH);
    reach.scope = SAS_SCOPE_CONTAINER;
    CHECK_INT(ask(&f, &who, &what), ERR_OK);
    fixture_release(&f);
}
