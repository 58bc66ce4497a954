/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "auth/auth_fixture.h"
#include "auth/oauth.h"
#include "auth/token_fixture.h"

#define ACCOUNT ACCOUNT_WELL_KNOWN_NAME
/* The fixture's now is 784111777. */
#define TIMES "\"nbf\":784111700,\"exp\":784111800,\"iat\":784111700"
#define WHO   "\"oid\":\"someone\",\"tid\":\"tenant\""
#define ISS   "\"iss\":\"https://sts.windows.net/tenant/\""
#define AUD   "\"aud\":\"https://storage.azure.com\""

static void begin(struct auth_fixture *f, const char *setting)
{
    fixture_init(f);
    fixture_target(f, "GET", "/" ACCOUNT "/c/b");
    f->input.secure = true;
    CHECK_OK(oauth_new(setting, &f->server.oauth));
}

static void end(struct auth_fixture *f)
{
    oauth_free(f->server.oauth);
    fixture_release(f);
}

static struct err send_token(struct auth_fixture *f, struct str token)
{
    f->input.header_count = 0;
    fixture_header(f, "Authorization", arena_printf(&f->arena, "Bearer %.*s", STR_ARG(token)).p);
    return fixture_check(f);
}

/* ---- basic ---- */

void test_bearer_basic_claims(void)
{
    static const struct {
        const char *claims;
        const char *refusal;
    } CASES[] = {
        {"{" TIMES "," ISS "," AUD "," WHO "}", NULL},
        {"{" TIMES "," ISS ",\"aud\":\"https://storage.azure.com/\"}", NULL},
        {"{" TIMES "," ISS ",\"aud\":\"e406a681-f3d4-42a8-90b6-c2b029497af1\"}", NULL},
        {"{" TIMES "," ISS ",\"aud\":\"https://" ACCOUNT ".blob.core.windows.net\"}", NULL},
        {"{" TIMES "," ISS ",\"aud\":\"https://" ACCOUNT ".blob.core.chinacloudapi.cn/\"}", NULL},
        {"{" TIMES ",\"iss\":\"https://sts.windows-ppe.net/x\"," AUD "}", NULL},
        {"{" TIMES "," ISS ",\"aud\":\"https://other.blob.core.windows.net\"}",
         "Invalid token audience."},
        {"{" TIMES "," ISS ",\"aud\":\"https://" ACCOUNT ".queue.core.windows.net\"}",
         "Invalid token audience."},
        {"{" TIMES "," ISS ",\"aud\":\"https://" ACCOUNT ".blob.core.windows.net.evil.org\"}",
         "Invalid token audience."},
        {"{" TIMES ",\"iss\":\"https://sts.evil.org/\"," AUD "}", "Invalid token issuer."},
        {"{" ISS "," AUD "}", "Authentication scheme Bearer is not supported."},
        {"{" TIMES "," AUD "}", "Authentication scheme Bearer is not supported."},
        {"{" TIMES "," ISS "}", "Authentication scheme Bearer is not supported."},
        {"{\"nbf\":784111778,\"exp\":784111800,\"iat\":1," ISS "," AUD "}",
         "Lifetime validation failed."},
        {"{\"nbf\":1,\"exp\":784111777,\"iat\":1," ISS "," AUD "}",
         "Lifetime validation failed. The token is expired."},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct auth_fixture f;
        begin(&f, "basic");
        struct err error =
            send_token(&f, make_token(&f.arena, NULL, "{\"alg\":\"x\"}", CASES[i].claims));
        if (CASES[i].refusal == NULL) {
            CHECK_OK(error);
            CHECK_INT(f.result.kind, AUTH_BEARER);
        } else {
            CHECK_ERR(error, ERR_TOKEN_REFUSED);
            CHECK_STR(str_from(str_of(error.detail), STR("AuthenticationErrorDetail\t").n),
                      str_of(CASES[i].refusal));
            CHECK(str_given(f.challenge));
        }
        end(&f);
    }
}

void test_bearer_needs_tls_version_and_setting(void)
{
    struct auth_fixture f;
    begin(&f, "basic");
    struct str token =
        make_token(&f.arena, NULL, "{\"alg\":\"x\"}", "{" TIMES "," ISS "," AUD "," WHO "}");
    CHECK_OK(send_token(&f, token));
    CHECK_STR(f.result.identity, STR("someone"));
    CHECK_STR(f.result.tenant, STR("tenant"));
    f.input.secure = false;
    CHECK_ERR(send_token(&f, token), ERR_AUTHENTICATION_FAILED);
    f.input.secure = true;
    f.input.version = 20170729;
    CHECK_ERR(send_token(&f, token), ERR_AUTHENTICATION_FAILED);
    f.input.version = 20210806;
    CHECK_ERR(send_token(&f, STR("")), ERR_TOKEN_REFUSED);
    CHECK_ERR(send_token(&f, STR("a.b.c")), ERR_TOKEN_REFUSED);
    f.demand.account_sas = f.demand.service_sas = NULL;
    CHECK_ERR(send_token(&f, token), ERR_AUTHORIZATION_FAILURE);
    f.demand.operation = "GetUserDelegationKey";
    CHECK_OK(send_token(&f, token));
    f.input.account = STR("nobody");
    CHECK_ERR(send_token(&f, token), ERR_RESOURCE_NOT_FOUND);
    f.input.account = STR(ACCOUNT);
    struct oauth *oauth = f.server.oauth;
    f.server.oauth = NULL;
    CHECK_ERR(send_token(&f, token), ERR_AUTHENTICATION_FAILED);
    f.server.oauth = oauth;
    end(&f);
}

/* ---- jwks ---- */

static const char *write_file(const char *name, struct str text)
{
    static char paths[4][256];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", test_folder(), name);
    FILE *file = fopen(path, "we");
    CHECK(file != NULL && fwrite(text.p, 1, text.n, file) == text.n && fclose(file) == 0);
    return path;
}

static void begin_jwks(struct auth_fixture *f, EVP_PKEY *key, const char *roles)
{
    struct arena arena;
    arena_init(&arena, 1 << 16);
    struct buf json = buf_in(&arena);
    buf_put(&json, STR("{\"keys\":["));
    put_ec_key(&arena, &json, key, "k");
    buf_put(&json, STR("]}"));
    struct str setting = arena_printf(
        &arena,
        "jwks=%s,issuer=https://issuer.test/,audience=first,audience=https://second/,roles=%s",
        write_file("keys.json", buf_str(&json)), write_file("roles", str_of(roles)));
    begin(f, setting.p);
    arena_release(&arena);
}

#define HEADER "{\"alg\":\"ES256\",\"kid\":\"k\"}"
#define ISSUER "\"iss\":\"https://issuer.test\""

void test_bearer_jwks_checks_signature_and_claims(void)
{
    static const struct {
        const char *header, *claims;
        enum err_code code;
    } CASES[] = {
        {HEADER, "{" TIMES "," ISSUER ",\"aud\":\"first\"," WHO "}", ERR_OK},
        {HEADER, "{" TIMES "," ISSUER ",\"aud\":[\"x\",\"https://second\"]," WHO "}", ERR_OK},
        {HEADER, "{" TIMES "," ISSUER ",\"aud\":\"third\"," WHO "}", ERR_TOKEN_REFUSED},
        {HEADER, "{" TIMES "," ISS ",\"aud\":\"first\"," WHO "}", ERR_TOKEN_REFUSED},
        {HEADER, "{" TIMES "," ISSUER "," AUD "," WHO "}", ERR_TOKEN_REFUSED},
        {HEADER, "{" TIMES "," ISSUER ",\"aud\":\"first\",\"oid\":\"nobody\"}",
         ERR_AUTHORIZATION_PERMISSION_MISMATCH},
        {HEADER, "{" TIMES "," ISSUER ",\"aud\":\"first\",\"groups\":[\"someone\"]}", ERR_OK},
        {"{\"alg\":\"ES256\",\"kid\":\"z\"}", "{" TIMES "," ISSUER ",\"aud\":\"first\"," WHO "}",
         ERR_TOKEN_REFUSED},
        {"{\"alg\":\"none\"}", "{" TIMES "," ISSUER ",\"aud\":\"first\"," WHO "}",
         ERR_TOKEN_REFUSED},
    };
    EVP_PKEY *key = EVP_EC_gen("P-256"), *other = EVP_EC_gen("P-256");
    struct auth_fixture f;
    begin_jwks(&f, key, "someone " ACCOUNT " c reader");
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        CHECK_ERR(send_token(&f, make_token(&f.arena, key, CASES[i].header, CASES[i].claims)),
                  CASES[i].code);
        CHECK_ERR(send_token(&f, make_token(&f.arena, other, CASES[i].header, CASES[i].claims)),
                  ERR_TOKEN_REFUSED);
    }
    end(&f);
    EVP_PKEY_free(key);
    EVP_PKEY_free(other);
}

void test_bearer_roles_by_operation(void)
{
    static const struct {
        enum service_kind service;
        const char *method, *letters, *operation;
        enum err_code as_reader;
    } CASES[] = {
        {SERVICE_BLOB, "GET", "r", "GetBlob", ERR_OK},
        {SERVICE_BLOB, "HEAD", "r", "GetBlobProperties", ERR_OK},
        {SERVICE_BLOB, "POST", "r", "QueryBlobContents", ERR_OK},
        {SERVICE_BLOB, "GET", "t", "GetBlobTags", ERR_OK},
        {SERVICE_BLOB, "PUT", "cw", "PutBlob", ERR_AUTHORIZATION_PERMISSION_MISMATCH},
        {SERVICE_BLOB, "DELETE", "d", "DeleteBlob", ERR_AUTHORIZATION_PERMISSION_MISMATCH},
        {SERVICE_BLOB, "PUT", "t", "SetBlobTags", ERR_AUTHORIZATION_PERMISSION_MISMATCH},
        {SERVICE_QUEUE, "GET", "r", "PeekMessages", ERR_OK},
        {SERVICE_QUEUE, "GET", "p", "GetMessages", ERR_AUTHORIZATION_PERMISSION_MISMATCH},
        {SERVICE_TABLE, "PUT", "a+u", "UpsertEntity", ERR_AUTHORIZATION_PERMISSION_MISMATCH},
        {SERVICE_BLOB, "POST", "", "GetUserDelegationKey", ERR_AUTHORIZATION_PERMISSION_MISMATCH},
    };
    EVP_PKEY *key = EVP_EC_gen("P-256");
    for (int writer = 0; writer < 2; writer++) {
        struct auth_fixture f;
        begin_jwks(&f, key,
                   writer ? "someone " ACCOUNT " c contributor" : "someone " ACCOUNT " c reader");
        struct str token =
            make_token(&f.arena, key, HEADER, "{" TIMES "," ISSUER ",\"aud\":\"first\"," WHO "}");
        for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
            f.input.service = CASES[i].service;
            f.input.method = str_of(CASES[i].method);
            f.demand.write = strcmp(CASES[i].method, "GET") != 0 ||
                             strcmp(CASES[i].operation, "GetMessages") == 0;
            f.demand.service_sas = f.demand.account_sas = CASES[i].letters;
            f.demand.operation = CASES[i].operation;
            bool delegates = strcmp(CASES[i].operation, "GetUserDelegationKey") == 0;
            f.input.container = delegates ? STR_NONE : STR("c");
            CHECK_ERR(send_token(&f, token), writer && !delegates ? ERR_OK : CASES[i].as_reader);
        }
        end(&f);
    }
    EVP_PKEY_free(key);
}

/* The cloud's data owner reaches the stored policies of containers, queues and tables; a share's
 * are among its properties. No SAS does, so the rows have no letters. */
void test_bearer_roles_for_acl(void)
{
    static const struct {
        enum service_kind service;
        const char *method, *operation, *needs;
    } CASES[] = {
        {SERVICE_BLOB, "GET", "GetContainerACL", "owner"},
        {SERVICE_BLOB, "PUT", "SetContainerACL", "owner"},
        {SERVICE_QUEUE, "PUT", "SetQueueACL", "owner"},
        {SERVICE_TABLE, "GET", "GetTableACL", "owner"},
        {SERVICE_FILE, "GET", "GetShareACL", "reader"},
        {SERVICE_FILE, "PUT", "SetShareACL", "contributor"},
    };
    static const char *const ROLES[] = {"reader", "contributor", "owner"};
    EVP_PKEY *key = EVP_EC_gen("P-256");
    for (size_t r = 0; r < sizeof ROLES / sizeof ROLES[0]; r++) {
        struct auth_fixture f;
        char line[100];
        snprintf(line, sizeof line, "someone " ACCOUNT " c %s", ROLES[r]);
        begin_jwks(&f, key, line);
        f.input.container = STR("c");
        f.demand.service_sas = f.demand.account_sas = NULL;
        struct str token =
            make_token(&f.arena, key, HEADER, "{" TIMES "," ISSUER ",\"aud\":\"first\"," WHO "}");
        for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
            f.input.service = CASES[i].service;
            f.input.method = str_of(CASES[i].method);
            f.demand.write = strcmp(CASES[i].method, "GET") != 0 ||
                             strcmp(CASES[i].operation, "GetMessages") == 0;
            f.demand.operation = CASES[i].operation;
            bool enough = strcmp(CASES[i].needs, "reader") == 0 || strcmp(ROLES[r], "owner") == 0 ||
                          strcmp(CASES[i].needs, ROLES[r]) == 0;
            CHECK_ERR(send_token(&f, token),
                      enough ? ERR_OK : ERR_AUTHORIZATION_PERMISSION_MISMATCH);
        }
        end(&f);
    }
    EVP_PKEY_free(key);
}

void test_oauth_settings(void)
{
    static const char *const SETTINGS[] = {
        "",
        "advanced",
        "jwks=/nowhere",
        "jwks=/nowhere,issuer=i,audience=a,roles=/nowhere",
        "jwks=/dev/null,issuer=i,audience=a,roles=/dev/null",
        "issuer=i,audience=a,roles=/dev/null",
        "jwks=/dev/null,issuer=i,audience=a",
        "jwks=/dev/null,issuer=i,audience=a,color=red",
    };
    for (size_t i = 0; i < sizeof SETTINGS / sizeof SETTINGS[0]; i++) {
        struct oauth *oauth = NULL;
        struct err error = oauth_new(SETTINGS[i], &oauth);
        CHECK_ERR(error, ERR_INVALID_INPUT);
        CHECK(error.detail != NULL && oauth == NULL);
    }
}

void test_oauth_challenge_names_the_tenant(void)
{
    struct oauth *oauth = NULL;
    CHECK_OK(oauth_new("basic", &oauth));
    CHECK(str_find_str(oauth_challenge(oauth), STR("00000000-0000")) < oauth_challenge(oauth).n);
    oauth_free(oauth);
}

/* ---- delegation ---- */

void test_auth_delegate(void)
{
    struct auth_fixture f;
    fixture_init(&f);
    struct delegation d = {STR("oid"),
                           STR("tid"),
                           STR("1994-11-06T08:00:00Z"),
                           STR("1994-11-06T10:00:00Z"),
                           STR("b"),
                           STR("2020-12-06"),
                           STR_NONE};
    struct str value, again;
    CHECK_OK(auth_delegate(&f.server, STR(ACCOUNT), &d, &f.arena, &value));
    /* However the times are written. */
    d.start = STR("1994-11-06T08:00:00.0000000Z");
    CHECK_OK(auth_delegate(&f.server, STR(ACCOUNT), &d, &f.arena, &again));
    CHECK_STR(value, again);
    d.object_id = STR("oie");
    CHECK_OK(auth_delegate(&f.server, STR(ACCOUNT), &d, &f.arena, &again));
    CHECK(!str_eq(value, again));
    d.start = STR("now");
    CHECK_ERR(auth_delegate(&f.server, STR(ACCOUNT), &d, &f.arena, &again), ERR_INVALID_INPUT);
    CHECK_ERR(auth_delegate(&f.server, STR("nobody"), &d, &f.arena, &again),
              ERR_RESOURCE_NOT_FOUND);
    fixture_release(&f);
}
