/* SPDX-License-Identifier: Apache-2.0 */
/* The meaning of a signed text is fixed: no other reading of the same text permits more. */
#include "auth/auth_fixture.h"
#include "auth/sas.h"

#define ACCOUNT ACCOUNT_WELL_KNOWN_NAME
#define TERMS   "st=1994-11-06&se=1994-11-07&sp=r"
#define SIGNED  "r\n1994-11-06\n1994-11-07\n"

/* The request's target is the given one, signed by the account's key as the text says. */
static void set_signed(struct auth_fixture *f, const char *target, struct str text)
{
    struct buf signed_target = buf_in(&f->arena);
    buf_put(&signed_target, str_of(target));
    fixture_sign(f, &signed_target, text);
    buf_putc(&signed_target, '\0');
    fixture_target(f, "GET", signed_target.p);
}

static enum err_code check_signed(enum service_kind service, const char *target, const char *text)
{
    struct auth_fixture f;
    fixture_init(&f);
    f.input.service = service;
    set_signed(&f, target, str_of(text));
    enum err_code code = fixture_check(&f).code;
    fixture_release(&f);
    return code;
}

/* The text that is signed for a resource before sr was part of it, by sv. */
static struct str text_without_sr(struct arena *arena, const char *sv, const char *resource)
{
    bool limits = strcmp(sv, "2015-04-05") >= 0, overrides = strcmp(sv, "2013-08-15") >= 0;
    const char *service = strcmp(sv, "2015-02-21") >= 0 ? "/blob" : "";
    return arena_printf(arena, SIGNED "%s/" ACCOUNT "/%s\n%s\n%s%s", service, resource,
                        limits ? "\n\n" : "", sv, overrides ? "\n\n\n\n\n" : "");
}

/* A SAS of blob c/d or of container c, from before its text contained sr: with another sr it is
 * invalid. */
void test_sas_resource_kind_is_not_widened_before_it_was_signed(void)
{
    static const char *const VERSIONS[] = {"2012-02-12", "2013-08-15", "2014-02-14", "2015-02-21",
                                           "2015-04-05", "2017-11-09", "2018-03-28"};
    static const struct {
        const char *path, *resource, *sr;
        bool good;
    } CASES[] = {
        {"c/d", "c/d", "b", true},
        {"c/d", "c", "c", true},
        {"c/d", "c/d", "c", false},
        {"c/d/secret", "c/d", "d&sdd=1", false},
        {"c/d/secret", "c", "d&sdd=0", false},
        {"c/d", "c/d", "bs&snapshot=1994-11-06T00:00:00.0000000Z", false},
        {"c/d", "c/d", "bv&versionid=1994-11-06T00:00:00.0000000Z", false},
    };
    for (size_t v = 0; v < sizeof VERSIONS / sizeof VERSIONS[0]; v++) {
        for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
            struct auth_fixture f;
            fixture_init(&f);
            char target[256];
            snprintf(target, sizeof target, "/" ACCOUNT "/%s?" TERMS "&sv=%s&sr=%s", CASES[i].path,
                     VERSIONS[v], CASES[i].sr);
            set_signed(&f, target, text_without_sr(&f.arena, VERSIONS[v], CASES[i].resource));
            bool good = !err_is(fixture_check(&f));
            if (good != CASES[i].good)
                test_fail(__FILE__, __LINE__, "%s", target);
            fixture_release(&f);
        }
    }
}

/* Before 2015-02-21 the text did not name the container's service, and there was no SAS for
 * files. */
void test_sas_of_a_container_is_none_of_a_share(void)
{
    static const char *const VERSIONS[] = {"2012-02-12", "2013-08-15", "2014-02-14"};
    for (size_t v = 0; v < sizeof VERSIONS / sizeof VERSIONS[0]; v++) {
        for (int of_file = 0; of_file < 2; of_file++) {
            struct auth_fixture f;
            fixture_init(&f);
            f.input.service = SERVICE_FILE;
            char target[256];
            snprintf(target, sizeof target, "/" ACCOUNT "/c/d?" TERMS "&sv=%s&sr=%s", VERSIONS[v],
                     of_file ? "f" : "s");
            set_signed(&f, target, text_without_sr(&f.arena, VERSIONS[v], of_file ? "c/d" : "c"));
            CHECK_ERR(fixture_check(&f), ERR_AUTHENTICATION_FAILED);
            fixture_release(&f);
        }
    }
}

void test_sas_resource_kind_of_each_version(void)
{
    static const struct {
        enum service_kind service;
        const char *target, *text;
        bool good;
    } CASES[] = {
        {SERVICE_BLOB, "/" ACCOUNT "/c/b?" TERMS "&sv=2018-11-09&sr=bv&versionid=v",
         SIGNED "/blob/" ACCOUNT "/c/b\n\n\n\n2018-11-09\nbv\nv\n\n\n\n\n", false},
        {SERVICE_BLOB, "/" ACCOUNT "/c/b?" TERMS "&sv=2019-12-12&sr=bv&versionid=v",
         SIGNED "/blob/" ACCOUNT "/c/b\n\n\n\n2019-12-12\nbv\nv\n\n\n\n\n", true},
        {SERVICE_BLOB, "/" ACCOUNT "/c/d/b?" TERMS "&sv=2019-12-12&sr=d&sdd=1",
         SIGNED "/blob/" ACCOUNT "/c/d\n\n\n\n2019-12-12\nd\n\n\n\n\n\n", false},
        {SERVICE_BLOB, "/" ACCOUNT "/c/d/b?" TERMS "&sv=2020-02-10&sr=d&sdd=1",
         SIGNED "/blob/" ACCOUNT "/c/d\n\n\n\n2020-02-10\nd\n\n\n\n\n\n", true},
        {SERVICE_FILE, "/" ACCOUNT "/s/f?" TERMS "&sv=2015-02-21&sr=f",
         SIGNED "/file/" ACCOUNT "/s/f\n\n2015-02-21\n\n\n\n\n", true},
        {SERVICE_QUEUE, "/" ACCOUNT "/q?" TERMS "&sv=2024-11-04",
         SIGNED "/queue/" ACCOUNT "/q\n\n\n\n2024-11-04", true},
        {SERVICE_QUEUE, "/" ACCOUNT "/q?" TERMS "&sv=2024-11-04&sr=q",
         SIGNED "/queue/" ACCOUNT "/q\n\n\n\n2024-11-04", false},
        {SERVICE_QUEUE, "/" ACCOUNT "/q?" TERMS "&sv=2024-11-04&sr=c",
         SIGNED "/queue/" ACCOUNT "/q\n\n\n\n2024-11-04", false},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        enum err_code code = check_signed(CASES[i].service, CASES[i].target, CASES[i].text);
        if ((code == ERR_OK) != CASES[i].good)
            test_fail(__FILE__, __LINE__, "%s: %s", CASES[i].target, err_azure_code(code));
    }
}

/* ---- values that move the lines of the text ---- */

static void sign_delegated(struct auth_fixture *f, const char *target, const char *text)
{
    struct account *account = accounts_get(f->accounts, f->input.account);
    struct delegation d = {.object_id = STR("oid"),
                           .tenant_id = STR("tid"),
                           .start = STR("1994-11-06"),
                           .expiry = STR("1994-11-07"),
                           .service = STR("b"),
                           .version = STR("2026-04-06")};
    unsigned char secret[SHA256_BYTES], mac[SHA256_BYTES];
    CHECK(delegation_derive(&account->keys[0], &d, secret));
    account_put(account);
    struct hmac_key key;
    hmac_key_init(&key, (struct str){(const char *)secret, sizeof secret});
    hmac_sign(&key, str_of(text), mac);
    hmac_key_wipe(&key);
    struct buf query = buf_in(&f->arena);
    buf_printf(&query, "%s&sig=", target);
    uri_encode(&query, base64_encode(&f->arena, (struct str){(const char *)mac, sizeof mac}),
               URI_KEEP_NONE);
    buf_putc(&query, '\0');
    fixture_target(f, "GET", query.p);
}

#define DELEGATED             \
    "/" ACCOUNT "/c/b?" TERMS \
    "&sr=b&skoid=oid&sktid=tid&skt=1994-11-06&ske=1994-11-07&sks=b&skv=2026-04-06"
#define DELEGATED_TEXT \
    SIGNED "/blob/" ACCOUNT "/c/b\noid\ntid\n1994-11-06\n1994-11-07\nb\n2026-04-06\n"

/* A user delegation SAS that is restricted to a user, a header or a parameter, and the same text
 * with the restriction hidden in the lines of other values. */
void test_sas_restrictions_are_not_hidden_by_newlines(void)
{
    static const struct {
        const char *query, *text;
        bool good;
    } CASES[] = {
        {"&sv=2026-04-06", DELEGATED_TEXT "\n\n\n\n\n\n\n2026-04-06\nb\n\n\n\n\n\n\n\n\n", true},
        {"&sv=2026-04-06&srh=x-ms-a&srq=q&q=v%20w",
         DELEGATED_TEXT "\n\n\n\n\n\n\n2026-04-06\nb\n\n\nx-ms-a:one\n\n\nq:v w\n\n\n\n\n", true},
        /* sduoid=me, in the lines of an older layout. */
        {"&sv=2020-12-06&scid=%0A%0Ame",
         DELEGATED_TEXT "\n\n\n\nme\n\n\n2020-12-06\nb\n\n\n\n\n\n\n", false},
        /* srh=x-ms-b, in the encryption scope's line. */
        {"&sv=2026-04-06&ses=%0Ax-ms-b:one%0A",
         DELEGATED_TEXT "\n\n\n\n\n\n\n2026-04-06\nb\n\n\nx-ms-b:one\n\n\n\n\n\n\n", false},
        /* srq=q, in an override's line. */
        {"&sv=2026-04-06&rscc=q:v%0A",
         DELEGATED_TEXT "\n\n\n\n\n\n\n2026-04-06\nb\n\n\n\n\nq:v\n\n\n\n\n\n", false},
        /* srq=q of v:w, as the name q:v with w. */
        {"&sv=2026-04-06&srq=q:v&q:v=w",
         DELEGATED_TEXT "\n\n\n\n\n\n\n2026-04-06\nb\n\n\n\n\nq:v:w\n\n\n\n\n", false},
        {"&sv=2026-04-06&srh=x-ms-a:one&a=1",
         DELEGATED_TEXT "\n\n\n\n\n\n\n2026-04-06\nb\n\n\nx-ms-a:one:\n\n\n\n\n\n\n", false},
        /* A parameter's own value that hides the one after it. */
        {"&sv=2026-04-06&srq=q&q=v%0Ar:w",
         DELEGATED_TEXT "\n\n\n\n\n\n\n2026-04-06\nb\n\n\n\n\nq:v\nr:w\n\n\n\n\n", false},
        /* A second value beside the one that was signed, which some operations read too. */
        {"&sv=2026-04-06&srq=include&include=tags&Include=deleted",
         DELEGATED_TEXT "\n\n\n\n\n\n\n2026-04-06\nb\n\n\n\n\ninclude:tags\n\n\n\n\n", false},
        {"&sv=2026-04-06&srh=x-ms-b",
         DELEGATED_TEXT "\n\n\n\n\n\n\n2026-04-06\nb\n\n\nx-ms-b:one\n\n\n\n\n\n\n", false},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct auth_fixture f;
        char target[512];
        fixture_init(&f);
        fixture_header(&f, "x-ms-a", "one");
        fixture_header(&f, "x-ms-b", "one");
        fixture_header(&f, "X-Ms-B", "two");
        snprintf(target, sizeof target, DELEGATED "%s", CASES[i].query);
        sign_delegated(&f, target, CASES[i].text);
        struct err error = fixture_check(&f);
        if (err_is(error) == CASES[i].good)
            test_fail(__FILE__, __LINE__, "%s: %s", CASES[i].query,
                      error.detail == NULL ? "" : error.detail);
        fixture_release(&f);
    }
}

/* A control character is refused in every value and kind of SAS, even if it is signed. */
void test_sas_values_with_control_characters(void)
{
    static const char *const FIELDS[] = {
        "st",    "se",    "sip",     "spr",    "si",  "rscc", "rscd",     "rsce",
        "rscl",  "rsct",  "ses",     "sdd",    "tn",  "spk",  "srk",      "epk",
        "erk",   "skoid", "sktid",   "skt",    "ske", "sks",  "skv",      "saoid",
        "suoid", "scid",  "skdutid", "sduoid", "srh", "srq",  "snapshot", "versionid",
        "sv",    "sr",    "sp",      "ss",     "srt"};
    static const char *const ESCAPES[] = {"%0A", "%0D", "%00", "%09", "%1F", "%7F"};
    for (int service = 0; service < SERVICE_KIND_COUNT; service++) {
        for (size_t i = 0; i < sizeof FIELDS / sizeof FIELDS[0]; i++) {
            for (size_t k = 0; k < sizeof ESCAPES / sizeof ESCAPES[0]; k++) {
                struct auth_fixture f;
                struct sas sas;
                char target[256];
                fixture_init(&f);
                f.input.service = (enum service_kind)service;
                snprintf(target, sizeof target, "/" ACCOUNT "/c/b?sig=x&%s=a%sb%s", FIELDS[i],
                         ESCAPES[k], strcmp(FIELDS[i], "sv") == 0 ? "" : "&sv=2026-04-06");
                fixture_target(&f, "GET", target);
                CHECK(!sas_read(&sas, &f.input, &f.arena));
                CHECK(sas.malformed);
                fixture_release(&f);
            }
        }
    }
}

/* The resource's name is also part of the text. Other characters that some programs end lines with
 * (U+0085, U+2028) are none in it. */
void test_sas_names_with_control_characters(void)
{
    static const struct {
        const char *path, *resource;
        bool good;
    } CASES[] = {
        {"c/a%0Ab", "c/a\nb", false},
        {"c/a%0Db", "c/a\rb", false},
        {"c%0Ad/b", "c\nd/b", false},
        {"c/a%C2%85b",
         "c/a\xC2\x85"
         "b",
         true},
        {"c/a%E2%80%A8b",
         "c/a\xE2\x80\xA8"
         "b",
         true},
        {"c/a%250Ab", "c/a%0Ab", true},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        char target[256], text[256];
        snprintf(target, sizeof target, "/" ACCOUNT "/%s?" TERMS "&sr=b&sv=2020-12-06",
                 CASES[i].path);
        snprintf(text, sizeof text,
                 SIGNED "/blob/" ACCOUNT "/%s\n\n\n\n2020-12-06\nb\n\n\n\n\n\n\n",
                 CASES[i].resource);
        CHECK_INT(check_signed(SERVICE_BLOB, target, text) == ERR_OK, CASES[i].good);
    }
    /* A container's SAS does not sign the name within it. */
    CHECK_INT(check_signed(SERVICE_BLOB, "/" ACCOUNT "/c/a%0Ab?" TERMS "&sr=c&sv=2020-12-06",
                           SIGNED "/blob/" ACCOUNT "/c\n\n\n\n2020-12-06\nc\n\n\n\n\n\n\n"),
              ERR_OK);
}

void test_delegation_of_texts_with_control_characters(void)
{
    struct auth_fixture f;
    fixture_init(&f);
    struct delegation good = {.object_id = STR("oid"),
                              .tenant_id = STR("tid"),
                              .start = STR("1994-11-06"),
                              .expiry = STR("1994-11-07"),
                              .service = STR("b"),
                              .version = STR("2026-04-06"),
                              .user_tenant_id = STR("u")};
    struct str value;
    CHECK_OK(auth_delegate(&f.server, STR(ACCOUNT), &good, &f.arena, &value));
    struct str *const TEXTS[] = {&good.object_id, &good.tenant_id, &good.service, &good.version,
                                 &good.user_tenant_id};
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        struct str kept = *TEXTS[i];
        *TEXTS[i] = STR("a\nb");
        CHECK_ERR(auth_delegate(&f.server, STR(ACCOUNT), &good, &f.arena, &value),
                  ERR_INVALID_INPUT);
        *TEXTS[i] = kept;
    }
    fixture_release(&f);
}
