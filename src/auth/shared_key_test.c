/* SPDX-License-Identifier: Apache-2.0 */
/* The signatures were made with Python's hmac module over the texts that docs/protocol/facts.md §3
 * prescribes. */
#include "auth/auth_fixture.h"

#define ACCOUNT ACCOUNT_WELL_KNOWN_NAME

static void begin(struct auth_fixture *f, const char *method, const char *target)
{
    fixture_init(f);
    fixture_target(f, method, target);
    fixture_header(f, "X-Ms-Version", "2021-08-06");
    fixture_header(f, "x-ms-date", FIXTURE_DATE);
}

static struct err sign(struct auth_fixture *f, const char *signature)
{
    struct str value =
        arena_printf(&f->arena, "SharedKey %s:%s", ACCOUNT_WELL_KNOWN_NAME, signature);
    fixture_header(f, "Authorization", value.p);
    return fixture_check(f);
}

static void check_signed(struct auth_fixture *f, const char *signature)
{
    CHECK_OK(sign(f, signature));
    CHECK_INT(f->result.kind, AUTH_SHARED_KEY);
    fixture_release(f);
}

void test_shared_key_signs_the_query_sorted(void)
{
    struct auth_fixture f;
    begin(&f, "GET",
          "/" ACCOUNT
          "/c?restype=container&Comp=list&prefix=a%20b&include=snapshots&include=metadata");
    check_signed(&f, "C6tgOJes39H5fX5bcta/vxf8nsjaD/kI457Fw3rvfEc=");
}

void test_shared_key_signs_standard_headers(void)
{
    struct auth_fixture f;
    begin(&f, "PUT", "/" ACCOUNT "/c/a%20b");
    f.input.content_length = 11;
    fixture_header(&f, "content-length", "11");
    fixture_header(&f, "Content-MD5", "XrY7u+Ae7tCTyyK7j1rNww==");
    fixture_header(&f, "Content-Type", "text/plain");
    fixture_header(&f, "Range", "bytes=0-10");
    fixture_header(&f, "If-Match", "\"0x1\"");
    fixture_header(&f, "Date", "not signed beside x-ms-date");
    fixture_header(&f, "User-Agent", "not signed");
    fixture_header(&f, "x-ms-meta-empty", "");
    fixture_header(&f, "x-ms-blob-type", "BlockBlob");
    check_signed(&f, "fo1BjH6FZrfwYt9uTWJrNsEkPJzZuOEIwuFqsRAORHQ=");
}

void test_shared_key_signs_date_when_alone(void)
{
    struct auth_fixture f;
    fixture_init(&f);
    fixture_target(&f, "GET", "/" ACCOUNT "/c/b");
    fixture_header(&f, "x-ms-version", "2021-08-06");
    fixture_header(&f, "Date", FIXTURE_DATE);
    check_signed(&f, "7O4MCZScsi67th6I3vIIbt7gs2m7NyQBkPs/lX+FX/Q=");
}

void test_shared_key_takes_both_header_orders(void)
{
    static const char *const SIGNATURES[] = {"faPrudFh2MoBOp8tRWvbaBK+xGSF5DuhIqftaC6pdkA=",
                                             "Hd+pcuJF8bYvDJTYclfZcEKstN0CZzEOt6uAxIwFDrM="};
    for (size_t i = 0; i < 2; i++) {
        struct auth_fixture f;
        begin(&f, "PUT", "/" ACCOUNT "/c/b");
        fixture_header(&f, "x-ms-meta-a-c", "2");
        fixture_header(&f, "x-ms-meta-ab", "1");
        check_signed(&f, SIGNATURES[i]);
    }
}

void test_shared_key_takes_white_space_raw_and_folded(void)
{
    static const char *const SIGNATURES[] = {"1/Joe1dxSSGkQD/B24iUpBPDOSZ9OItj2X+gi0utImc=",
                                             "QtRzOiDo6D0KQVnBbLF4JmOJSRU8xJRCVTqimZAEWws="};
    for (size_t i = 0; i < 2; i++) {
        struct auth_fixture f;
        begin(&f, "PUT", "/" ACCOUNT "/c/b");
        fixture_header(&f, "x-ms-meta-a", "one  two\t\"three  four\"");
        check_signed(&f, SIGNATURES[i]);
    }
}

void test_shared_key_takes_the_secondary_path_both_ways(void)
{
    static const char *const SIGNATURES[] = {"2JLAt3nAoQP95TkKHptrCGaazGfjqHfoq1YunrdFgLU=",
                                             "psAMxwrmVF2CSvx1POZRAK0hGLSYb6ZW2hdzqGlSf1k="};
    for (size_t i = 0; i < 2; i++) {
        struct auth_fixture f;
        begin(&f, "GET", "/" ACCOUNT "-secondary/c/b");
        check_signed(&f, SIGNATURES[i]);
    }
}

void test_shared_key_writes_zero_length_by_version(void)
{
    static const struct {
        const char *version, *signature;
        int number;
    } CASES[] = {
        {"2014-02-14", "OYZ4L6bTMZx43cGHJ8mAsI9Ve72UKM8DNpGgRWsi5+g=", 20140214},
        {"2015-02-21", "xb3NQpBYpD7pBdus4FksW6HJEJCGy3svftVOwGi2fXw=", 20150221},
    };
    for (size_t i = 0; i < 2; i++) {
        struct auth_fixture f;
        fixture_init(&f);
        fixture_target(&f, "PUT", "/" ACCOUNT "/c");
        f.input.version = CASES[i].number;
        f.input.content_length = 0;
        fixture_header(&f, "x-ms-version", CASES[i].version);
        fixture_header(&f, "x-ms-date", FIXTURE_DATE);
        fixture_header(&f, "Content-Length", "0");
        /* Empty x-ms-* headers are signed from 2016-05-31 on only. */
        fixture_header(&f, "x-ms-meta-empty", "");
        check_signed(&f, CASES[i].signature);
    }
}

void test_shared_key_lite(void)
{
    struct auth_fixture f;
    begin(&f, "PUT", "/" ACCOUNT "/c?restype=container&comp=metadata");
    fixture_header(&f, "Content-MD5", "md5==");
    fixture_header(&f, "Content-Type", "text/plain");
    fixture_header(&f, "Authorization",
                   "SharedKeyLite " ACCOUNT ":UO6Ugdhod/mr2A+ViuXcaEYSI4yvVK8yUSbmhWfQW4g=");
    CHECK_OK(fixture_check(&f));
    fixture_release(&f);
}

void test_shared_key_of_tables(void)
{
    struct auth_fixture f;
    begin(&f, "POST", "/" ACCOUNT "/Tables");
    f.input.service = SERVICE_TABLE;
    fixture_header(&f, "Content-Type", "application/json");
    check_signed(&f, "LGQUMUKesZITSNz/kLs7/rW73FZ1oSluXcoKSLIpTu0=");

    begin(&f, "GET", "/" ACCOUNT "/mytable()?comp=acl&timeout=3");
    f.input.service = SERVICE_TABLE;
    fixture_header(&f, "Authorization",
                   "SharedKeyLite " ACCOUNT ":7h3e5oWxEISd4SNJpV42TA0xaPzpGjD3yEnlB1LnsgA=");
    CHECK_OK(fixture_check(&f));
    fixture_release(&f);
}

/* The second key signs as well as the first. */
/* Signs the text with the account's key. */
static struct err sign_text(struct auth_fixture *f, const char *scheme, const char *text)
{
    unsigned char mac[SHA256_BYTES];
    struct account *account = accounts_get(f->accounts, f->input.account);
    hmac_sign(&account->keys[0], str_of(text), mac);
    account_put(account);
    struct str sig = base64_encode(&f->arena, (struct str){(const char *)mac, sizeof mac});
    struct str value = arena_printf(&f->arena, "%s " ACCOUNT ":%.*s", scheme, STR_ARG(sig));
    fixture_header(f, "Authorization", value.p);
    return fixture_check(f);
}

#define FULL_TEXT(resource)                                                                     \
    "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:" FIXTURE_DATE "\nx-ms-version:2021-08-06\n/" ACCOUNT \
    "/" ACCOUNT resource

/* One text, several requests: only the one whose parameters were signed is accepted. */
void test_shared_key_text_is_of_one_query(void)
{
    static const struct {
        const char *query, *text;
        bool good;
    } CASES[] = {
        {"peekonly=true&timeout=30", FULL_TEXT("/c\npeekonly:true\ntimeout:30"), true},
        {"peekonly:true%0Atimeout=30", FULL_TEXT("/c\npeekonly:true\ntimeout:30"), false},
        {"peekonly=true%0Atimeout:30", FULL_TEXT("/c\npeekonly:true\ntimeout:30"), false},
        {"snapshot=2020-01-01T00:00:00Z", FULL_TEXT("/c\nsnapshot:2020-01-01T00:00:00Z"), true},
        {"snapshot:2020-01-01T00=00:00Z", FULL_TEXT("/c\nsnapshot:2020-01-01T00:00:00Z"), false},
        {"prefix=a,b", FULL_TEXT("/c\nprefix:a,b"), true},
        {"prefix=a&prefix=b", FULL_TEXT("/c\nprefix:a,b"), false},
        {"prefix=a&Prefix=b", FULL_TEXT("/c\nprefix:a,b"), false},
        {"prefix=a&prefix=a", FULL_TEXT("/c\nprefix:a,a"), false},
        {"include=b&include=a", FULL_TEXT("/c\ninclude:a,b"), true},
        {"a=%0D", FULL_TEXT("/c\na:\r"), false},
        {"a=%09", FULL_TEXT("/c\na:\t"), false},
        {"a=%7F", FULL_TEXT("/c\na:\x7F"), false},
        {"a=%C2%85%E2%80%A8", FULL_TEXT("/c\na:\xC2\x85\xE2\x80\xA8"), true},
        {"a=%250A", FULL_TEXT("/c\na:%0A"), true},
        {"a=", FULL_TEXT("/c\na:"), true},
        {"a", FULL_TEXT("/c\na:"), true},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct auth_fixture f;
        char target[128];
        snprintf(target, sizeof target, "/" ACCOUNT "/c?%s", CASES[i].query);
        begin(&f, "GET", target);
        struct err error = sign_text(&f, "SharedKey", CASES[i].text);
        if (err_is(error) == CASES[i].good)
            test_fail(__FILE__, __LINE__, "%s: %s", CASES[i].query,
                      error.detail == NULL ? "" : error.detail);
        fixture_release(&f);
    }
}

/* Where only comp is signed, only comp is looked at: a table's filter may hold a newline. */
void test_shared_key_refuses_control_characters_in_comp(void)
{
    static const struct {
        enum service_kind service;
        const char *scheme, *query, *text;
        bool good;
    } CASES[] = {
        {SERVICE_BLOB, "SharedKeyLite", "comp=list%0Ax",
         "GET\n\n\n\nx-ms-date:" FIXTURE_DATE "\nx-ms-version:2021-08-06\n/" ACCOUNT "/" ACCOUNT
         "/c?comp=list\nx",
         false},
        {SERVICE_BLOB, "SharedKeyLite", "comp=list&prefix=%0A",
         "GET\n\n\n\nx-ms-date:" FIXTURE_DATE "\nx-ms-version:2021-08-06\n/" ACCOUNT "/" ACCOUNT
         "/c?comp=list",
         true},
        {SERVICE_TABLE, "SharedKey", "$filter=a%20eq%20'%0A'",
         "GET\n\n\n" FIXTURE_DATE "\n/" ACCOUNT "/" ACCOUNT "/c", true},
        {SERVICE_TABLE, "SharedKey", "comp=%0A",
         "GET\n\n\n" FIXTURE_DATE "\n/" ACCOUNT "/" ACCOUNT "/c?comp=\n", false},
        {SERVICE_TABLE, "SharedKeyLite", "comp=%0A",
         FIXTURE_DATE "\n/" ACCOUNT "/" ACCOUNT "/c?comp=\n", false},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct auth_fixture f;
        char target[128];
        snprintf(target, sizeof target, "/" ACCOUNT "/c?%s", CASES[i].query);
        begin(&f, "GET", target);
        f.input.service = CASES[i].service;
        struct err error = sign_text(&f, CASES[i].scheme, CASES[i].text);
        if (err_is(error) == CASES[i].good)
            test_fail(__FILE__, __LINE__, "%s %s: %s", CASES[i].scheme, CASES[i].query,
                      error.detail == NULL ? "" : error.detail);
        fixture_release(&f);
    }
}

/* The HTTP parser never passes them in headers; values from other front ends are checked too. */
void test_shared_key_refuses_control_characters_in_headers(void)
{
    static const char *const NAMES[] = {"x-ms-meta-a", "Content-Type", "If-Match", "Date"};
    static const char *const VALUES[] = {"a\nb", "a\rb",
                                         "a\x01"
                                         "b",
                                         "a\x7F"
                                         "b",
                                         "a\tb"};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        for (size_t k = 0; k < sizeof VALUES / sizeof VALUES[0]; k++) {
            struct auth_fixture f;
            begin(&f, "GET", "/" ACCOUNT "/c");
            fixture_header(&f, NAMES[i], VALUES[k]);
            struct err error = sign(&f, "AAAA");
            CHECK_ERR(error, ERR_AUTHENTICATION_FAILED);
            bool refused = strstr(error.detail, "control characters") != NULL;
            CHECK_INT(refused, VALUES[k][1] != '\t');
            fixture_release(&f);
        }
    }
}

void test_shared_key_takes_either_key(void)
{
    struct auth_fixture f;
    begin(&f, "GET", "/" ACCOUNT "-secondary/c/b");
    CHECK_OK(
        accounts_put(f.accounts, STR(ACCOUNT), STR(FIXTURE_KEY_2), STR(ACCOUNT_WELL_KNOWN_KEY)));
    check_signed(&f, "2JLAt3nAoQP95TkKHptrCGaazGfjqHfoq1YunrdFgLU=");
}

void test_shared_key_refuses_wrong_signatures(void)
{
    static const char *const SIGNATURES[] = {
        "2JLAt3nAoQP95TkKHptrCGaazGfjqHfoq1YunrdFgLV=",  /* other unused bits */
        "2JLAt3nAoQP95TkKHptrCGaazGfjqHfoq1YunrdFgLU",   /* truncated */
        "2JLAt3nAoQP95TkKHptrCGaazGfjqHfoq1YunrdFgLU==", /* overlong */
        "2JLAt3nAoQP95TkKHptrCGaazGfjqHfoq1YunrdFgLU=2JLAt3nAoQP95TkKHptrCGaazGfjqHfoq1YunrdFgLU=",
        "2jLAt3nAoQP95TkKHptrCGaazGfjqHfoq1YunrdFgLU=", /* other case */
        "AAAA",
        "?",
    };
    for (size_t i = 0; i < sizeof SIGNATURES / sizeof SIGNATURES[0]; i++) {
        struct auth_fixture f;
        begin(&f, "GET", "/" ACCOUNT "-secondary/c/b");
        CHECK_ERR(sign(&f, SIGNATURES[i]), ERR_AUTHENTICATION_FAILED);
        fixture_release(&f);
    }
}

/* The answer shows what the server signed, and neither key nor the right signature. */
void test_shared_key_mismatch_shows_the_text(void)
{
    struct auth_fixture f;
    begin(&f, "GET", "/" ACCOUNT "-secondary/c/b");
    struct err error = sign(&f, "AAAA");
    CHECK_ERR(error, ERR_AUTHENTICATION_FAILED);
    CHECK_STR(
        str_of(error.detail),
        STR("AuthenticationErrorDetail\tThe MAC signature found in the HTTP request 'AAAA' is "
            "not the same as any computed signature. Server used following string to sign: "
            "'GET\r\r\r\r\r\r\r\r\r\r\r\rx-ms-date:" FIXTURE_DATE "\rx-ms-version:2021-08-06\r"
            "/" ACCOUNT "/" ACCOUNT "-secondary/c/b'."));
    fixture_release(&f);
}

void test_shared_key_refuses_skewed_dates(void)
{
    static const struct {
        int seconds;
        enum err_code code;
    } CASES[] = {{900, ERR_OK},
                 {-900, ERR_OK},
                 {901, ERR_AUTHENTICATION_FAILED},
                 {-901, ERR_AUTHENTICATION_FAILED},
                 {86400 * 365, ERR_AUTHENTICATION_FAILED}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct auth_fixture f;
        begin(&f, "GET", "/" ACCOUNT "-secondary/c/b");
        clock_advance(&f.clock, CASES[i].seconds * TICKS_PER_SECOND);
        CHECK_ERR(sign(&f, "2JLAt3nAoQP95TkKHptrCGaazGfjqHfoq1YunrdFgLU="), CASES[i].code);
        fixture_release(&f);
    }
}

void test_shared_key_needs_a_date(void)
{
    static const char *const DATES[] = {NULL, "", "yesterday", "1994-11-06T08:49:37Z"};
    for (size_t i = 0; i < sizeof DATES / sizeof DATES[0]; i++) {
        struct auth_fixture f;
        fixture_init(&f);
        fixture_target(&f, "GET", "/" ACCOUNT "/c/b");
        if (DATES[i] != NULL)
            fixture_header(&f, "x-ms-date", DATES[i]);
        CHECK_ERR(sign(&f, "AAAA"), ERR_AUTHENTICATION_FAILED);
        fixture_release(&f);
    }
}

void test_shared_key_refuses_repeated_signed_headers(void)
{
    static const char *const NAMES[] = {"content-type", "Range", "x-ms-date", "X-MS-VERSION"};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        struct auth_fixture f;
        begin(&f, "GET", "/" ACCOUNT "/c/b");
        fixture_header(&f, "Content-Type", FIXTURE_DATE);
        fixture_header(&f, "range", "bytes=0-1");
        fixture_header(&f, NAMES[i], FIXTURE_DATE);
        CHECK_ERR(sign(&f, "AAAA"), ERR_INVALID_HEADER_VALUE);
        fixture_release(&f);
    }
}

void test_shared_key_refuses_other_accounts(void)
{
    static const char *const VALUES[] = {
        "SharedKey other:2JLAt3nAoQP95TkKHptrCGaazGfjqHfoq1YunrdFgLU=",
        "SharedKey DEVSTOREACCOUNT1:2JLAt3nAoQP95TkKHptrCGaazGfjqHfoq1YunrdFgLU=",
    };
    for (size_t i = 0; i < 2; i++) {
        struct auth_fixture f;
        begin(&f, "GET", "/" ACCOUNT "-secondary/c/b");
        fixture_header(&f, "Authorization", VALUES[i]);
        CHECK_ERR(fixture_check(&f), ERR_AUTHENTICATION_FAILED);
        fixture_release(&f);
    }
}

void test_authorization_malformed(void)
{
    static const char *const VALUES[] = {"SharedKey",
                                         "SharedKey ",
                                         "SharedKey a",
                                         "SharedKey :sig",
                                         "SharedKey " ACCOUNT ":",
                                         "Basic abc",
                                         "SharedKeyX " ACCOUNT ":AAAA"};
    for (size_t i = 0; i < sizeof VALUES / sizeof VALUES[0]; i++) {
        struct auth_fixture f;
        begin(&f, "GET", "/" ACCOUNT "/c/b");
        fixture_header(&f, "Authorization", VALUES[i]);
        CHECK_ERR(fixture_check(&f), ERR_INVALID_AUTHENTICATION_INFO);
        fixture_release(&f);
    }
    struct auth_fixture f;
    begin(&f, "GET", "/" ACCOUNT "-secondary/c/b");
    fixture_header(&f, "authorization", "SharedKey " ACCOUNT ":AAAA");
    CHECK_ERR(sign(&f, "2JLAt3nAoQP95TkKHptrCGaazGfjqHfoq1YunrdFgLU="),
              ERR_INVALID_AUTHENTICATION_INFO);
    fixture_release(&f);
}
