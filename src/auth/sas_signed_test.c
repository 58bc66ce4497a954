/* SPDX-License-Identifier: Apache-2.0 */
/* What a signature covers stays what it was: no other reading of the same text lets more in. */
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

/* A SAS of blob c/d or of container c, before its text held sr: with another sr it is none. */
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

/* Before 2015-02-21 the text did not say whose container it was, and there was no SAS for files. */
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
