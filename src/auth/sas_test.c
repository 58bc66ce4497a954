/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/auth_fixture.h"
#include "auth/sas.h"

#define ACCOUNT ACCOUNT_WELL_KNOWN_NAME

/* ---- tokens of the official SDKs ---- */

static const struct vector {
    const char *name;
    enum service_kind service;
    const char *target;
} VECTORS[] = {
#include "auth/sas_vectors.h"
#include "auth/sas_vectors_python.h"
};
enum { VECTOR_COUNT = sizeof VECTORS / sizeof VECTORS[0] };

static void begin_vector(struct auth_fixture *f, const struct vector *vector, const char *target)
{
    fixture_init(f);
    f->input.service = vector->service;
    fixture_target(f, "GET", target);
    if (vector->service == SERVICE_TABLE)
        f->input.container = STR("MyTable");
    if (vector->service == SERVICE_QUEUE)
        f->demand.service_sas = "rp";
    fixture_header(f, "x-ms-test", "one");
}

void test_sas_of_every_sdk_and_version(void)
{
    for (size_t i = 0; i < VECTOR_COUNT; i++) {
        struct auth_fixture f;
        begin_vector(&f, &VECTORS[i], VECTORS[i].target);
        struct err error = fixture_check(&f);
        if (err_is(error))
            test_fail(__FILE__, __LINE__, "%s: %s %s", VECTORS[i].name, err_azure_code(error.code),
                      error.detail == NULL ? "" : error.detail);
        fixture_release(&f);
    }
}

/* No byte of a token can be changed: a letter of any value, one after the other, is replaced. A
 * token must then fail, whatever the parameter (an unsigned one may only fail or mean the same). */
static bool is_unsigned(const char *name)
{
    static const char *const NAMES[] = {"tn=", "sdd=", "zone="};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        if (strncmp(name, NAMES[i], strlen(NAMES[i])) == 0)
            return true;
    return false;
}

static void check_tampered(const struct vector *vector, size_t at)
{
    char target[1024];
    struct auth_fixture f;
    size_t n = strlen(vector->target);
    CHECK(n < sizeof target);
    memcpy(target, vector->target, n + 1);
    target[at] = target[at] == 'a' ? 'b' : 'a';
    begin_vector(&f, vector, target);
    struct err error = fixture_check(&f);
    if (!err_is(error))
        test_fail(__FILE__, __LINE__, "%s was let in as %s", vector->name, target);
    fixture_release(&f);
}

void test_sas_values_are_all_signed(void)
{
    for (size_t i = 0; i < VECTOR_COUNT; i++) {
        /* Old layouts of files and queues do not sign sr. */
        bool signs_sr = VECTORS[i].service == SERVICE_BLOB;
        const char *at = strchr(VECTORS[i].target, '?') + 1;
        while (at != NULL && *at != '\0') {
            const char *value = strchr(at, '=') + 1;
            bool skip = is_unsigned(at) || (!signs_sr && strncmp(at, "sr=", 3) == 0);
            if (!skip && value[0] != '%')
                check_tampered(&VECTORS[i], (size_t)(value - VECTORS[i].target));
            at = strchr(at, '&');
            at = at == NULL ? NULL : at + 1;
        }
    }
}

void test_sas_of_the_same_blob_only(void)
{
    static const char *const PATHS[] = {"/" ACCOUNT "/c/dir/a%20c", "/" ACCOUNT "/c/dir",
                                        "/" ACCOUNT "/c", "/" ACCOUNT "/d/dir/a%20b", "/" ACCOUNT};
    for (size_t i = 0; i < VECTOR_COUNT; i++) {
        if (strncmp(VECTORS[i].name, "blob 20", 7) != 0)
            continue;
        for (size_t k = 0; k < sizeof PATHS / sizeof PATHS[0]; k++) {
            char target[1024];
            snprintf(target, sizeof target, "%s%s", PATHS[k], strchr(VECTORS[i].target, '?'));
            struct auth_fixture f;
            begin_vector(&f, &VECTORS[i], target);
            CHECK_ERR(fixture_check(&f), ERR_AUTHENTICATION_FAILED);
            fixture_release(&f);
        }
    }
}

/* ---- tokens made here, to reach every refusal ---- */

struct token {
    const char *sv, *sr, *sp, *st, *se, *sip, *spr, *si, *extra;
};
static const struct token GOOD = {
    .sv = "2020-12-06", .sr = "b", .sp = "r", .st = "1994-11-06", .se = "1994-11-07"};

static const char *or_empty(const char *z)
{
    return z == NULL ? "" : z;
}

static void put_parameter(struct buf *query, const char *name, const char *value)
{
    if (value == NULL)
        return;
    buf_printf(query, "&%s=", name);
    uri_encode(query, str_of(value), URI_KEEP_NONE);
}

/* A service SAS of blob c/b (or of container c), set as the request's target. */
static void set_blob_token(struct auth_fixture *f, const struct token *t)
{
    struct buf query = buf_in(&f->arena);
    struct str resource =
        str_of(strcmp(t->sr, "c") == 0 ? "/blob/" ACCOUNT "/c" : "/blob/" ACCOUNT "/c/b");
    struct str text =
        arena_printf(&f->arena, "%s\n%s\n%s\n%s\n%s\n%s\n%s\n%s\n%s\n\n\n\n\n\n\n", or_empty(t->sp),
                     or_empty(t->st), or_empty(t->se), resource.p, or_empty(t->si),
                     or_empty(t->sip), or_empty(t->spr), or_empty(t->sv), or_empty(t->sr));
    buf_put(&query, STR("/" ACCOUNT "/c/b?x=1"));
    put_parameter(&query, "sv", t->sv);
    put_parameter(&query, "sr", t->sr);
    put_parameter(&query, "sp", t->sp);
    put_parameter(&query, "st", t->st);
    put_parameter(&query, "se", t->se);
    put_parameter(&query, "sip", t->sip);
    put_parameter(&query, "spr", t->spr);
    put_parameter(&query, "si", t->si);
    fixture_sign(f, &query, text);
    buf_put(&query, str_of(or_empty(t->extra)));
    buf_putc(&query, '\0');
    fixture_target(f, "GET", query.p);
}

static struct err check_token(struct auth_fixture *f, const struct token *t)
{
    fixture_init(f);
    set_blob_token(f, t);
    return fixture_check(f);
}

static void expect_token(const struct token *t, enum err_code code)
{
    struct auth_fixture f;
    CHECK_ERR(check_token(&f, t), code);
    fixture_release(&f);
}

void test_sas_times(void)
{
    struct token t = GOOD;
    expect_token(&t, ERR_OK);
    t.st = NULL;
    expect_token(&t, ERR_OK);
    t.st = "1994-11-06T08:49:38Z"; /* a second from now */
    expect_token(&t, ERR_AUTHENTICATION_FAILED);
    t.st = "1994-11-06T08:49:37Z";
    expect_token(&t, ERR_OK);
    t.se = "1994-11-06T08:49:37Z"; /* now */
    expect_token(&t, ERR_AUTHENTICATION_FAILED);
    t.se = "1994-11-06T08:49:37.1Z";
    expect_token(&t, ERR_OK);
    t.se = "soon";
    expect_token(&t, ERR_AUTHENTICATION_FAILED);
    t.se = NULL;
    expect_token(&t, ERR_AUTHENTICATION_FAILED);
    t = GOOD;
    t.sp = NULL;
    expect_token(&t, ERR_AUTHENTICATION_FAILED);
}

void test_sas_addresses(void)
{
    static const struct {
        const char *sip;
        enum err_code code;
    } CASES[] = {
        {"127.0.0.1", ERR_OK},
        {"127.0.0.2", ERR_AUTHORIZATION_SOURCE_IP_MISMATCH},
        {"127.0.0.0-127.0.0.1", ERR_OK},
        {"127.0.0.1-127.0.0.1", ERR_OK},
        {"127.0.0.2-127.0.0.9", ERR_AUTHORIZATION_SOURCE_IP_MISMATCH},
        {"10.0.0.1-126.255.255.255", ERR_AUTHORIZATION_SOURCE_IP_MISMATCH},
        {"9.0.0.0-200.0.0.0", ERR_OK},
        {"::1", ERR_AUTHORIZATION_SOURCE_IP_MISMATCH},
        {"::ffff:127.0.0.1", ERR_OK},
        {"127.0.0.1-", ERR_AUTHENTICATION_FAILED},
        {"localhost", ERR_AUTHENTICATION_FAILED},
        {"127.0.0.1/8", ERR_AUTHENTICATION_FAILED},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct token t = GOOD;
        t.sip = CASES[i].sip;
        expect_token(&t, CASES[i].code);
    }
}

void test_sas_addresses_of_ipv6(void)
{
    struct auth_fixture f;
    fixture_init(&f);
    struct token t = GOOD;
    t.sip = "::1-::2";
    set_blob_token(&f, &t);
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&f.peer;
    *v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
    CHECK_OK(fixture_check(&f));
    f.peer.ss_family = AF_UNIX;
    CHECK_ERR(fixture_check(&f), ERR_AUTHORIZATION_SOURCE_IP_MISMATCH);
    fixture_release(&f);
}

void test_sas_protocols(void)
{
    struct token t = GOOD;
    t.spr = "https,http";
    expect_token(&t, ERR_OK);
    t.spr = "http";
    expect_token(&t, ERR_AUTHENTICATION_FAILED);
    t.spr = "https";
    expect_token(&t, ERR_AUTHORIZATION_PROTOCOL_MISMATCH);
    struct auth_fixture f;
    fixture_init(&f);
    set_blob_token(&f, &t);
    f.input.secure = true;
    CHECK_OK(fixture_check(&f));
    fixture_release(&f);
}

/* The first failed check decides the code. */
void test_sas_order_of_checks(void)
{
    struct token t = {.sv = "2020-12-06",
                      .sr = "b",
                      .sp = "w",
                      .st = "1994-11-07",
                      .se = "1994-11-08",
                      .sip = "1.2.3.4",
                      .spr = "https"};
    expect_token(&t, ERR_AUTHENTICATION_FAILED);
    t.st = NULL;
    expect_token(&t, ERR_AUTHORIZATION_SOURCE_IP_MISMATCH);
    t.sip = NULL;
    expect_token(&t, ERR_AUTHORIZATION_PROTOCOL_MISMATCH);
    t.spr = NULL;
    expect_token(&t, ERR_AUTHORIZATION_PERMISSION_MISMATCH);
}

void test_sas_malformed(void)
{
    static const char *const VERSIONS[] = {NULL,         "",         "2020",       "2020-12-6",
                                           "2020/12/06", "20201206", "2020-12-0x", "2011-08-18"};
    static const char *const RESOURCES[] = {"", "B", "x", "s", "cc"};
    for (size_t i = 0; i < sizeof VERSIONS / sizeof VERSIONS[0]; i++) {
        struct token t = GOOD;
        t.sv = VERSIONS[i];
        expect_token(&t, ERR_AUTHENTICATION_FAILED);
    }
    for (size_t i = 0; i < sizeof RESOURCES / sizeof RESOURCES[0]; i++) {
        struct token t = GOOD;
        t.sr = RESOURCES[i];
        expect_token(&t, ERR_AUTHENTICATION_FAILED);
    }
}

/* A duplicate parameter could be read differently in two places. */
void test_sas_repeated_parameters(void)
{
    static const char *const EXTRA[] = {
        "&sp=rw", "&SP=r", "&sig=x", "&Se=1994-11-07", "&snapshot=1&snapshot=2", "&sr=c"};
    for (size_t i = 0; i < sizeof EXTRA / sizeof EXTRA[0]; i++) {
        struct token t = GOOD;
        t.extra = EXTRA[i];
        expect_token(&t, ERR_AUTHENTICATION_FAILED);
    }
    struct token t = GOOD;
    t.extra = "&SNAPSHOT=1";
    expect_token(&t, ERR_OK);
    /* A name that only begins like one of them is another's. */
    t.extra = "&sp%00=rw&sp%00%00%00%00%00%00=rw&=x&spp=rw&versionids=1";
    expect_token(&t, ERR_OK);
}

/* A parameter name with an extra NUL does not count as the parameter. */
void test_sas_names_are_whole(void)
{
    struct auth_fixture f;
    fixture_init(&f);
    set_blob_token(&f, &GOOD);
    for (size_t i = 1; i < f.input.query_count; i++) { /* the first is none of its own */
        struct str name = f.query[i].name;
        f.query[i].name = (struct str){arena_cstr(&f.arena, name), name.n + 1};
        CHECK_ERR(fixture_check(&f), str_eq(name, STR("sig")) ? ERR_NO_AUTHENTICATION_INFORMATION
                                                              : ERR_AUTHENTICATION_FAILED);
        f.query[i].name = name;
    }
    CHECK_OK(fixture_check(&f));
    fixture_release(&f);
}

void test_sas_names_in_any_case(void)
{
    struct auth_fixture f;
    fixture_init(&f);
    set_blob_token(&f, &GOOD);
    for (size_t i = 0; i < f.input.query_count; i++) {
        char *name = arena_cstr(&f.arena, f.query[i].name);
        name[0] = (char)(name[0] - 32);
        f.query[i].name.p = name;
    }
    CHECK_OK(fixture_check(&f));
    fixture_release(&f);
}

void test_sas_create_only(void)
{
    static const struct {
        const char *sp, *demanded;
        enum err_code code;
        bool create_only;
    } CASES[] = {
        {"c", "cw", ERR_OK, true},
        {"w", "cw", ERR_OK, false},
        {"cw", "cw", ERR_OK, false},
        {"rc", "r", ERR_OK, false},
        {"r", "cw", ERR_AUTHORIZATION_PERMISSION_MISMATCH, false},
        {"a", "a+u", ERR_AUTHORIZATION_PERMISSION_MISMATCH, false},
        {"f", "f", ERR_AUTHORIZATION_PERMISSION_MISMATCH, false}, /* f is for containers */
        {"wt", "w+t", ERR_OK, false},
        {"r", NULL, ERR_AUTHORIZATION_FAILURE, false},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct auth_fixture f;
        struct token t = GOOD;
        t.sp = CASES[i].sp;
        fixture_init(&f);
        f.demand.service_sas = CASES[i].demanded;
        set_blob_token(&f, &t);
        CHECK_ERR(fixture_check(&f), CASES[i].code);
        CHECK_INT(f.result.create_only, CASES[i].create_only);
        fixture_release(&f);
    }
}

/* ---- stored policies ---- */

static struct err policy_by_id(struct store *store, const struct auth_container *place,
                               struct str id, struct arena *arena, struct auth_policy *out)
{
    (void)store, (void)arena;
    CHECK_STR(place->container, STR("c"));
    out->found = !str_eq(id, STR("unknown"));
    if (str_eq(id, STR("all")))
        *out = (struct auth_policy){true, STR("1994-11-06"), STR("1994-11-07"), STR("rw")};
    if (str_eq(id, STR("over")))
        *out = (struct auth_policy){true, STR_NONE, STR("1994-11-06"), STR("r")};
    if (str_eq(id, STR("letters")))
        *out = (struct auth_policy){.found = true, .permission = STR("r")};
    return OK;
}

void test_sas_stored_policies(void)
{
    static const struct {
        struct token token;
        enum err_code code;
    } CASES[] = {
        {{.si = "all"}, ERR_OK},
        {{.si = "unknown"}, ERR_AUTHORIZATION_FAILURE},
        {{.si = "over"}, ERR_AUTHENTICATION_FAILED},
        {{.si = "letters"}, ERR_AUTHENTICATION_FAILED}, /* no expiry anywhere */
        {{.si = "letters", .se = "1994-11-07"}, ERR_OK},
        {{.si = "empty", .se = "1994-11-07"}, ERR_AUTHENTICATION_FAILED}, /* no letters */
        {{.si = "empty", .se = "1994-11-07", .sp = "r"}, ERR_OK},
        {{.si = "all", .sp = "r"}, ERR_AUTHENTICATION_FAILED}, /* letters twice */
        {{.si = "all", .se = "1994-11-07"}, ERR_AUTHENTICATION_FAILED},
        {{.si = "all", .st = "1994-11-05"}, ERR_AUTHENTICATION_FAILED},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct auth_fixture f;
        struct token t = CASES[i].token;
        t.sv = "2020-12-06";
        t.sr = "c";
        fixture_init(&f);
        f.server.lookup.stored_policy = policy_by_id;
        set_blob_token(&f, &t);
        CHECK_ERR(fixture_check(&f), CASES[i].code);
        fixture_release(&f);
    }
}

/* ---- results ---- */

static const struct vector *vector_named(const char *name)
{
    for (size_t i = 0; i < VECTOR_COUNT; i++)
        if (strcmp(VECTORS[i].name, name) == 0)
            return &VECTORS[i];
    test_fail(__FILE__, __LINE__, "no vector %s", name);
}

void test_sas_results(void)
{
    struct auth_fixture f;
    const struct vector *v = vector_named("blob scope 2020-12-06");
    begin_vector(&f, v, v->target);
    CHECK_OK(fixture_check(&f));
    CHECK_INT(f.result.kind, AUTH_SERVICE_SAS);
    CHECK_INT(f.result.sas_version, 20201206);
    CHECK_STR(f.result.permissions, STR("rcw"));
    CHECK_STR(f.result.cache_control, STR("no-cache"));
    CHECK_STR(f.result.content_disposition, STR("inline"));
    CHECK_STR(f.result.content_encoding, STR("gzip"));
    CHECK_STR(f.result.content_language, STR("en"));
    CHECK_STR(f.result.content_type, STR("text/plain"));
    CHECK_STR(f.result.encryption_scope, STR("scope1"));
    CHECK(auth_permits(&f.result, "w") && !auth_permits(&f.result, "t"));
    fixture_header(&f, "x-ms-encryption-scope", "scope2");
    CHECK_ERR(fixture_check(&f), ERR_REQUEST_FORBIDDEN_BY_CONTAINER_ENCRYPTION_POLICY);
    fixture_release(&f);

    v = vector_named("table 2020-12-06");
    begin_vector(&f, v, v->target);
    CHECK_OK(fixture_check(&f));
    CHECK_STR(f.result.reach->container, STR("MyTable"));
    CHECK_STR(f.result.start_pk, STR("a"));
    CHECK_STR(f.result.start_rk, STR("1"));
    CHECK_STR(f.result.end_pk, STR("m"));
    CHECK_STR(f.result.end_rk, STR("9"));
    /* A batch names no table; another table is refused. */
    f.input.container = STR_NONE;
    CHECK_OK(fixture_check(&f));
    f.input.container = STR("other");
    CHECK_ERR(fixture_check(&f), ERR_AUTHENTICATION_FAILED);
    fixture_release(&f);
}

void test_sas_of_an_account_reaches_as_far_as_it_says(void)
{
    struct auth_fixture f;
    const struct vector *v = vector_named("account scope 2020-12-06");
    begin_vector(&f, v, v->target);
    CHECK_OK(fixture_check(&f));
    CHECK_INT(f.result.kind, AUTH_ACCOUNT_SAS);
    CHECK(!str_given(f.result.cache_control));
    f.input.service = SERVICE_BLOB;
    CHECK_ERR(fixture_check(&f), ERR_AUTHORIZATION_SERVICE_MISMATCH);
    f.input.service = SERVICE_FILE;
    f.demand.account_sas_type = 'c';
    CHECK_ERR(fixture_check(&f), ERR_AUTHORIZATION_RESOURCE_TYPE_MISMATCH);
    f.demand.account_sas_type = 'o';
    f.demand.account_sas = "w";
    CHECK_ERR(fixture_check(&f), ERR_AUTHORIZATION_PERMISSION_MISMATCH);
    f.demand.account_sas = NULL;
    CHECK_ERR(fixture_check(&f), ERR_AUTHORIZATION_FAILURE);
    fixture_release(&f);
}

void test_sas_of_a_directory(void)
{
    static const struct {
        const char *path, *depth;
        enum err_code code;
    } CASES[] = {
        {"c/d1/d2", "&sdd=2", ERR_OK},
        {"c/d1/d2/d3/file", "&sdd=2", ERR_OK},
        {"c/d1/d22", "&sdd=2", ERR_AUTHENTICATION_FAILED},
        {"c/d1", "&sdd=2", ERR_QUERY_PARAMETER_SDD_INVALID},
        {"c/d1", "&sdd=1", ERR_AUTHENTICATION_FAILED},
        {"c", "&sdd=0", ERR_AUTHENTICATION_FAILED},
        {"c/d1/d2", "&sdd=-1", ERR_QUERY_PARAMETER_SDD_INVALID},
        {"c/d1/d2", "&sdd=99999999999999999999", ERR_QUERY_PARAMETER_SDD_INVALID},
        {"c/d1/d2", "", ERR_QUERY_PARAMETER_SAS_MANDATORY},
    };
    const struct vector *v = vector_named("directory 2020-12-06");
    const char *query = strchr(v->target, '?');
    size_t n = (size_t)(strstr(query, "&sdd=") - query);
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        char target[1024];
        snprintf(target, sizeof target, "/" ACCOUNT "/%s%.*s%s", CASES[i].path, (int)n, query,
                 CASES[i].depth);
        struct auth_fixture f;
        begin_vector(&f, v, target);
        CHECK_ERR(fixture_check(&f), CASES[i].code);
        fixture_release(&f);
    }
}

void test_sas_delegated(void)
{
    struct auth_fixture f;
    const struct vector *v = vector_named("delegated to a request 2026-10-06");
    begin_vector(&f, v, v->target);
    CHECK_OK(fixture_check(&f));
    CHECK_INT(f.result.kind, AUTH_DELEGATION_SAS);
    CHECK_STR(f.result.identity, STR("oid"));
    /* Signed for a request with this header only. */
    f.headers[0].value = STR("another");
    CHECK_ERR(fixture_check(&f), ERR_AUTHENTICATION_FAILED);
    f.headers[0].value = STR("one");
    /* The delegation went with the account's key. */
    CHECK_OK(accounts_put(f.accounts, STR(ACCOUNT), STR(FIXTURE_KEY_2), STR_NONE));
    CHECK_ERR(fixture_check(&f), ERR_AUTHENTICATION_FAILED);
    fixture_release(&f);
}

/* Nobody can add to a signature what an older layout did not sign. */
void test_sas_delegated_takes_no_unsigned_additions(void)
{
    static const char *const EXTRA[] = {"&ses=mine", "&sduoid=me", "&scid=x",        "&saoid=x",
                                        "&suoid=x",  "&skdutid=x", "&srh=x-ms-test", "&srq=zone"};
    const struct vector *v = vector_named("delegated directory 2026-10-06");
    for (size_t i = 0; i < sizeof EXTRA / sizeof EXTRA[0]; i++) {
        char target[1024];
        snprintf(target, sizeof target, "%s%s", v->target, EXTRA[i]);
        struct auth_fixture f;
        begin_vector(&f, v, target);
        CHECK_ERR(fixture_check(&f), ERR_AUTHENTICATION_FAILED);
        fixture_release(&f);
    }
}

void test_permit_letters(void)
{
    CHECK(permit_letters("r", STR("r")));
    CHECK(permit_letters("cw", STR("aw")));
    CHECK(!permit_letters("cw", STR("ra")));
    CHECK(!permit_letters("", STR("r")));
    CHECK(!permit_letters(NULL, STR("r")));
    CHECK(permit_letters("a+u", STR("ua")));
    CHECK(!permit_letters("a+u", STR("u")));
    CHECK(permit_letters("a+uw", STR("w")));
    CHECK(permit_letters("wa+u", STR("ua")));
    CHECK(!permit_letters("r", STR("")));
}
