/* SPDX-License-Identifier: Apache-2.0 */
/* Every parameter of a SAS by every kind, service and version: it is signed or the SAS is refused.
 * The holder of the SAS could remove a restriction that is not signed.
 */
#include "auth/auth_fixture.h"
#include "auth/sas.h"

#define ACCOUNT ACCOUNT_WELL_KNOWN_NAME
enum { NEVER = 99999999, VERSION_COUNT = 16 };

static const char *const VERSIONS[VERSION_COUNT] = {
    "2012-02-12", "2013-08-15", "2014-02-14", "2015-02-21", "2015-04-05", "2018-03-28",
    "2018-11-09", "2019-12-12", "2020-02-10", "2020-10-02", "2020-12-06", "2025-05-05",
    "2025-07-05", "2026-02-06", "2026-04-06", "2026-10-06"};

/* The kinds and services, each with its first version and the parameters that make it. */
static const struct kind {
    const char *name;
    enum service_kind service;
    int since;
    const char *path, *query;
} KINDS[] = {
    {"blob", SERVICE_BLOB, 20120212, "c/b", "&sr=b"},
    {"file", SERVICE_FILE, 20150221, "c/b", "&sr=f"},
    {"queue", SERVICE_QUEUE, 20120212, "c/messages", ""},
    {"table", SERVICE_TABLE, 20120212, "c", "&tn=c"},
    {"account", SERVICE_BLOB, 20150405, "c/b", "&ss=b&srt=o"},
#define KEY "&skoid=o&sktid=t&skt=1994-11-06&ske=1994-11-07&skv=2020-02-10"
    {"delegated blob", SERVICE_BLOB, 20181109, "c/b", "&sr=b&sks=b" KEY},
    {"delegated file", SERVICE_FILE, 20250705, "c/b", "&sr=f&sks=f" KEY},
    {"delegated queue", SERVICE_QUEUE, 20250705, "c/messages", "&sr=q&sks=q" KEY},
#undef KEY
};
enum { KIND_COUNT = sizeof KINDS / sizeof KINDS[0] };

/* The first version that signs the parameter, in the order of KINDS. */
static const struct parameter {
    const char *text;
    int since[KIND_COUNT];
} PARAMETERS[] = {
#define N NEVER
    {"sip=127.0.0.1",
     {20150405, 20150405, 20150405, 20150405, 20150405, 20181109, 20250705, 20250705}},
    {"spr=https,http",
     {20150405, 20150405, 20150405, 20150405, 20150405, 20181109, 20250705, 20250705}},
    {"si=policy", {20120212, 20150221, 20120212, 20120212, N, N, N, N}},
    {"ses=scope", {20201206, N, N, N, 20201206, 20201206, N, N}},
    {"saoid=x", {N, N, N, N, N, 20200210, N, N}},
    {"suoid=x", {N, N, N, N, N, 20200210, N, N}},
    {"scid=x", {N, N, N, N, N, 20200210, N, N}},
    {"skdutid=x", {N, N, N, N, N, 20250705, 20250705, 20250705}},
    {"sduoid=x", {N, N, N, N, N, 20250705, 20250705, 20250705}},
    {"srh=x-ms-a", {N, N, N, N, N, 20260406, N, N}},
    {"srq=a", {N, N, N, N, N, 20260406, N, N}},
    {"spk=a", {N, N, N, 20120212, N, N, N, N}},
    {"srk=a", {N, N, N, 20120212, N, N, N, N}},
    {"epk=a", {N, N, N, 20120212, N, N, N, N}},
    {"erk=a", {N, N, N, 20120212, N, N, N, N}},
    /* Signed with the key that they name; with another key they have no meaning. */
    {"sktid=x", {N, N, N, N, N, 0, 0, 0}},
    {"skt=1994-11-06", {N, N, N, N, N, 0, 0, 0}},
    {"ske=1994-11-07", {N, N, N, N, N, 0, 0, 0}},
    {"sks=b", {N, N, N, N, N, 0, 0, 0}},
    {"skv=x", {N, N, N, N, N, 0, 0, 0}},
    /* Of a table's SAS alone; its table is part of the text under another name. */
    {"tn=c", {N, N, N, 0, N, N, N, N}},
#undef N
};

static int number_of(const char *version)
{
    int number = 0;
    CHECK(time_parse_day(str_of(version), &number));
    return number;
}

/* The signing key: the account's, or the delegated one. */
static void sign(struct auth_fixture *f, const struct sas *sas, struct str text,
                 unsigned char mac[SHA256_BYTES])
{
    struct account *account = accounts_get(f->accounts, f->input.account);
    struct hmac_key key = account->keys[0];
    if (sas->kind == AUTH_DELEGATION_SAS) {
        const struct str *value = sas->value;
        struct delegation d = {value[SAS_SKOID],  value[SAS_SKTID], value[SAS_SKT],
                               value[SAS_SKE],    value[SAS_SKS],   value[SAS_SKV],
                               value[SAS_SKDUTID]};
        unsigned char secret[SHA256_BYTES];
        CHECK(delegation_derive(&account->keys[0], &d, secret));
        hmac_key_init(&key, (struct str){(const char *)secret, sizeof secret});
    }
    hmac_sign(&key, text, mac);
    account_put(account);
}

static void set_target(struct auth_fixture *f, const struct kind *kind, const char *query)
{
    char target[1024];
    snprintf(target, sizeof target, "/" ACCOUNT "/%s?%s", kind->path, query);
    fixture_target(f, "GET", arena_cstr(&f->arena, str_of(target)));
    f->input.service = kind->service;
    f->demand.service_sas = f->demand.account_sas = "r";
}

/* The signature of the query's text; false if there is none. */
static bool signature_of(struct auth_fixture *f, const struct kind *kind, const char *query,
                         struct buf *out)
{
    struct sas sas;
    struct str text;
    unsigned char mac[SHA256_BYTES];
    set_target(f, kind, query);
    if (!sas_read(&sas, &f->input, &f->arena))
        return false;
    if (sas.kind != AUTH_ACCOUNT_SAS)
        CHECK_OK(sas_name_resource(&sas));
    if (!sas_text(&sas, 0, &text))
        return false;
    sign(f, &sas, text, mac);
    uri_encode(out, base64_encode(&f->arena, (struct str){(const char *)mac, sizeof mac}),
               URI_KEEP_NONE);
    buf_putc(out, '\0');
    return true;
}

/* True if the query, with the signature of `signed_query`, passes the check of the signature.
 * Policies and user tokens are checked later. */
static bool is_taken(const struct kind *kind, const char *signed_query, const char *query)
{
    struct auth_fixture f;
    fixture_init(&f);
    fixture_header(&f, "x-ms-a", "one");
    struct buf signature = buf_in(&f.arena);
    bool taken = false;
    if (signature_of(&f, kind, signed_query, &signature)) {
        char whole[1024];
        snprintf(whole, sizeof whole, "%s&sig=%s", query, signature.p);
        set_target(&f, kind, whole);
        struct err error = fixture_check(&f);
        taken = error.code != ERR_AUTHENTICATION_FAILED ||
                (error.detail != NULL && strstr(error.detail, "sduoid needs the token") != NULL);
    }
    fixture_release(&f);
    return taken;
}

static bool names_a_parameter_of(const struct kind *kind, const struct parameter *parameter)
{
    char name[32];
    snprintf(name, sizeof name, "&%.*s=", (int)strcspn(parameter->text, "="), parameter->text);
    return strstr(kind->query, name) != NULL;
}

static void check_parameter(size_t k, const struct parameter *parameter, const char *version)
{
    const struct kind *kind = &KINDS[k];
    char bare[512], full[1024];
    snprintf(bare, sizeof bare, "sp=r&st=1994-11-06&se=1994-11-07&sv=%s%s", version, kind->query);
    snprintf(full, sizeof full, "%s&%s", bare, parameter->text);
    bool known = number_of(version) >= kind->since;
    if (is_taken(kind, bare, bare) != known)
        test_fail(__FILE__, __LINE__, "%s %s by itself", kind->name, version);
    if (names_a_parameter_of(kind, parameter))
        return;
    if (is_taken(kind, bare, full))
        test_fail(__FILE__, __LINE__, "%s %s with an added %s", kind->name, version,
                  parameter->text);
    bool wanted = known && number_of(version) >= parameter->since[k];
    if (is_taken(kind, full, full) != wanted)
        test_fail(__FILE__, __LINE__, "%s %s with %s is %s", kind->name, version, parameter->text,
                  wanted ? "refused" : "taken");
}

void test_sas_parameters_since_they_are_signed(void)
{
    for (size_t k = 0; k < KIND_COUNT; k++)
        for (size_t p = 0; p < sizeof PARAMETERS / sizeof PARAMETERS[0]; p++)
            for (size_t v = 0; v < VERSION_COUNT; v++)
                check_parameter(k, &PARAMETERS[p], VERSIONS[v]);
}

/* A parameter that is added to sas.h has to be added here, too. */
void test_sas_parameters_are_all_in_the_table(void)
{
    /* Not checked here: parameters in every text; parameters that name the resource, which other
     * tests cover; and header overrides, which take effect only where they are signed and restrict
     * nothing. */
    static const char *const OTHERS[] = {"sig",  "sv",   "sr",   "sp",       "st",       "se",
                                         "ss",   "srt",  "sdd",  "skoid",    "rscc",     "rscd",
                                         "rsce", "rscl", "rsct", "snapshot", "versionid"};
    bool found[SAS_FIELD_COUNT] = {false};
    for (size_t i = 0; i < sizeof OTHERS / sizeof OTHERS[0]; i++)
        found[sas_field_of(str_of(OTHERS[i]))] = true;
    for (size_t i = 0; i < sizeof PARAMETERS / sizeof PARAMETERS[0]; i++) {
        struct str text = str_of(PARAMETERS[i].text);
        found[sas_field_of(str_cut(&text, '='))] = true;
    }
    for (size_t i = 0; i < SAS_FIELD_COUNT; i++)
        CHECK(found[i]);
}
