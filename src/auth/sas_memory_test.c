/* SPDX-License-Identifier: Apache-2.0 */
/* A loop that remembers a SAS decides as one that does not: each test has a good one remembered,
 * changes one thing that a decision depends on, and looks at what becomes of it. */
#include "auth/auth_fixture.h"
#include "auth/sas.h"

#define ACCOUNT ACCOUNT_WELL_KNOWN_NAME
#define QUEUE   "/" ACCOUNT "/q/messages"

static void begin(struct auth_fixture *f)
{
    fixture_init(f);
    f->input.memory = sas_memory_new();
    f->input.service = SERVICE_QUEUE;
    f->demand.service_sas = "r";
}

struct token {
    const char *sp, *ss, *srt, *st, *se, *sip, *spr;
};
static const struct token GOOD = {"ra", "q", "so", "1994-11-06", "1994-11-07T01:02:03Z", "", ""};

/* The query of an account SAS. */
static struct str account_token(struct auth_fixture *f, const struct token *t)
{
    struct buf query = buf_in(&f->arena);
    struct str text =
        arena_printf(&f->arena, "%.*s\n%s\n%s\n%s\n%s\n%s\n%s\n%s\n2020-12-06\n\n",
                     STR_ARG(f->input.account), t->sp, t->ss, t->srt, t->st, t->se, t->sip, t->spr);
    buf_printf(&query, "sv=2020-12-06&ss=%s&srt=%s&sp=%s&st=%s&se=%s", t->ss, t->srt, t->sp, t->st,
               t->se);
    buf_printf(&query, "&sip=%s&spr=%s", t->sip, t->spr);
    fixture_sign(f, &query, text);
    return buf_str(&query);
}

/* The query of a SAS of the queue q; sp and si may be empty. */
static struct str queue_token(struct auth_fixture *f, const char *sp, const char *si)
{
    struct buf query = buf_in(&f->arena);
    struct str text = arena_printf(
        &f->arena, "%s\n\n1994-11-07\n/queue/" ACCOUNT "/q\n%s\n\n\n2020-12-06", sp, si);
    buf_printf(&query, "sv=2020-12-06&sp=%s&se=1994-11-07&si=%s", sp, si);
    fixture_sign(f, &query, text);
    return buf_str(&query);
}

static struct err ask_at(struct auth_fixture *f, const char *path, struct str query)
{
    struct str target = arena_printf(&f->arena, "%s?%.*s", path, STR_ARG(query));
    fixture_target(f, "GET", target.p);
    return fixture_check(f);
}

static struct err ask(struct auth_fixture *f, struct str query)
{
    return ask_at(f, QUEUE, query);
}

static bool is_recalled(struct auth_fixture *f)
{
    struct sas sas;
    return sas_recall(&sas, &f->server, &f->input, &f->arena);
}

/* A good one was remembered, and is what the next request finds. */
static struct str begin_with(struct auth_fixture *f, const struct token *t)
{
    begin(f);
    struct str query = account_token(f, t);
    CHECK_OK(ask(f, query));
    CHECK(!is_recalled(f));
    CHECK_OK(ask(f, query));
    CHECK(is_recalled(f));
    return query;
}

void test_sas_memory_gives_the_same_answer(void)
{
    struct auth_fixture f;
    struct str query = begin_with(&f, &GOOD);
    CHECK_INT(f.result.kind, AUTH_ACCOUNT_SAS);
    CHECK_STR(f.result.permissions, STR("ra"));
    CHECK_INT(f.result.sas_version, 20201206);
    CHECK_INT(f.input.query_count, 9);
    CHECK_STR(auth_query(&f.input, STR("se")), STR("1994-11-07T01:02:03Z"));
    CHECK_STR(auth_query(&f.input, STR("sip")), STR(""));
    CHECK_STR(auth_query(&f.input, STR("sig")), f.query[8].value);
    CHECK_INT(f.query[8].value.n, 44);
    /* Before it or after it there may be others, and they are there. */
    CHECK_OK(ask(&f, arena_printf(&f.arena, "peekonly=true&x=%%20&%.*s", STR_ARG(query))));
    CHECK(is_recalled(&f));
    CHECK_INT(f.input.query_count, 11);
    CHECK_STR(auth_query(&f.input, STR("x")), STR(" "));
    CHECK_OK(ask(&f, arena_printf(&f.arena, "%.*s&x=1&&y", STR_ARG(query))));
    CHECK(is_recalled(&f));
    CHECK_INT(f.input.query_count, 11);
    CHECK_STR(f.query[10].name, STR("y"));
    /* In the middle it is found all the same, by reading it. */
    CHECK_OK(ask(&f, arena_printf(&f.arena, "x=1&%.*s&y=2", STR_ARG(query))));
    CHECK(f.input.known == NULL);
    CHECK_INT(f.input.query_count, 11);
    fixture_release(&f);
}

/* Whatever byte is put wherever: the outcome is that of a server without a memory, and when it is a
 * byte of a value, the request is refused. */
void test_sas_memory_lets_no_byte_be_changed(void)
{
    static const char BYTES[] = "az09AZ%&=+";
    struct auth_fixture with, without;
    struct str query = begin_with(&with, &GOOD);
    begin(&without);
    sas_memory_free(without.input.memory);
    without.input.memory = NULL;
    bool in_value = false;
    for (size_t i = 0; i < query.n; i++) {
        bool changes_value = in_value && query.p[i] != '&';
        in_value = query.p[i] == '=' || changes_value;
        for (size_t k = 0; k < sizeof BYTES - 1; k++) {
            char *changed = arena_cstr(&with.arena, query);
            if (changed[i] == BYTES[k])
                continue;
            changed[i] = BYTES[k];
            struct err error = ask(&with, str_of(changed));
            CHECK_ERR(ask(&without, str_of(changed)), error.code);
            CHECK(!is_recalled(&with));
            CHECK(!changes_value || err_is(error));
            CHECK_OK(ask(&with, query));
        }
    }
    fixture_release(&with);
    fixture_release(&without);
}

static uint32_t random_below(uint64_t *seed, size_t n)
{
    *seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)((*seed >> 33) % n);
}

/* A part of the query is left out, put in once more, or put elsewhere; what ends or begins with an
 * ampersand most of the time, so that whole parameters are moved. */
static struct str rearrange(struct auth_fixture *f, struct str query, uint64_t *seed)
{
    size_t cut[3];
    for (size_t i = 0; i < 3; i++) {
        cut[i] = random_below(seed, query.n + 1);
        if (random_below(seed, 4) > 0)
            cut[i] = str_find(query, '&', cut[i]);
    }
    size_t from = cut[0] < cut[1] ? cut[0] : cut[1], to = cut[0] < cut[1] ? cut[1] : cut[0];
    struct str part = str_from(str_head(query, to), from);
    struct buf out = buf_in(&f->arena);
    bool stays = random_below(seed, 2) == 0, goes = random_below(seed, 3) > 0;
    for (size_t i = 0; i <= query.n; i++) {
        if (i == cut[2] && goes)
            buf_put(&out, part);
        if (i < query.n && (stays || i < from || i >= to))
            buf_putc(&out, query.p[i]);
    }
    return buf_str(&out);
}

/* The memory holds all that was good so far, of one account and one queue; it makes no difference.
 */
void test_sas_memory_makes_no_difference(void)
{
    struct auth_fixture with, without;
    uint64_t seed = 1;
    begin(&with);
    begin(&without);
    sas_memory_free(without.input.memory);
    without.input.memory = NULL;
    struct str good[] = {account_token(&with, &GOOD), queue_token(&with, "r", "")};
    for (int i = 0; i < TEST_TIMES(4000); i++) {
        struct str query = good[i % 2];
        arena_reset(&without.arena);
        for (uint32_t times = random_below(&seed, 4); times > 0; times--)
            query = rearrange(&with, query, &seed);
        struct err error = ask(&with, query);
        CHECK_ERR(ask(&without, query), error.code);
        CHECK_INT(with.input.query_count, without.input.query_count);
        for (size_t k = 0; k < with.input.query_count; k++) {
            CHECK_STR(with.query[k].name, without.query[k].name);
            CHECK_STR(with.query[k].value, without.query[k].value);
        }
    }
    fixture_release(&with);
    fixture_release(&without);
}

void test_sas_memory_lets_nothing_be_added(void)
{
    static const char *const MORE[] = {"sp=rw", "SP=ra",      "sig=x",    "se=1995-01-01",
                                       "sip=",  "snapshot=1", "%73p=rwd", "ses=mine"};
    struct auth_fixture f;
    struct str query = begin_with(&f, &GOOD);
    for (size_t i = 0; i < sizeof MORE / sizeof MORE[0]; i++) {
        bool fresh = strcmp(MORE[i], "snapshot=1") == 0; /* not one of an account's */
        enum err_code code = fresh ? ERR_OK : ERR_AUTHENTICATION_FAILED;
        CHECK_ERR(ask(&f, arena_printf(&f.arena, "%s&%.*s", MORE[i], STR_ARG(query))), code);
        CHECK_ERR(ask(&f, arena_printf(&f.arena, "%.*s&%s", STR_ARG(query), MORE[i])), code);
        CHECK_OK(ask(&f, query));
    }
    fixture_release(&f);
}

void test_sas_memory_demands_letters_anew(void)
{
    struct auth_fixture f;
    struct str query = begin_with(&f, &GOOD);
    f.demand.account_sas = "d";
    CHECK_ERR(ask(&f, query), ERR_AUTHORIZATION_PERMISSION_MISMATCH);
    CHECK(is_recalled(&f));
    f.demand.account_sas = NULL;
    CHECK_ERR(ask(&f, query), ERR_AUTHORIZATION_FAILURE);
    f.demand.account_sas = "a";
    f.demand.account_sas_type = 'c';
    CHECK_ERR(ask(&f, query), ERR_AUTHORIZATION_RESOURCE_TYPE_MISMATCH);
    f.demand.account_sas_type = 's';
    CHECK_OK(ask(&f, query));
    f.input.service = SERVICE_BLOB;
    CHECK_ERR(ask(&f, query), ERR_AUTHORIZATION_SERVICE_MISMATCH);
    fixture_release(&f);
}

void test_sas_memory_looks_at_the_clock(void)
{
    struct auth_fixture f;
    struct str query = begin_with(&f, &GOOD);
    int64_t start, expiry;
    CHECK(time_parse_iso(STR("1994-11-06T00:00:00Z"), &start));
    CHECK(time_parse_iso(STR("1994-11-07T01:02:03Z"), &expiry));
    f.input.now = expiry - 1;
    CHECK_OK(ask(&f, query));
    f.input.now = expiry;
    CHECK_ERR(ask(&f, query), ERR_AUTHENTICATION_FAILED);
    CHECK(is_recalled(&f));
    f.input.now = start;
    CHECK_OK(ask(&f, query));
    f.input.now = start - 1;
    CHECK_ERR(ask(&f, query), ERR_AUTHENTICATION_FAILED);
    CHECK(is_recalled(&f));
    fixture_release(&f);
}

/* One that is signed but not in time, or tells no time at all, does not become good. */
void test_sas_memory_of_a_bad_time(void)
{
    static const struct token BAD[] = {
        {"r", "q", "o", "1994-11-07", "1994-11-08", "", ""}, /* begins tomorrow */
        {"r", "q", "o", "", "1994-11-06", "", ""},           /* has ended this night */
        {"r", "q", "o", "", "", "", ""},
        {"r", "q", "o", "soon", "1994-11-07", "", ""},
        {"r", "q", "o", "", "never", "", ""},
    };
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        struct auth_fixture f;
        begin(&f);
        struct str query = account_token(&f, &BAD[i]);
        for (int times = 0; times < 3; times++)
            CHECK_ERR(ask(&f, query), ERR_AUTHENTICATION_FAILED);
        CHECK(is_recalled(&f));
        fixture_release(&f);
    }
}

void test_sas_memory_looks_at_the_client(void)
{
    struct auth_fixture f;
    struct token t = GOOD;
    t.sip = "127.0.0.1";
    struct str query = begin_with(&f, &t);
    struct sockaddr_in *peer = (struct sockaddr_in *)&f.peer;
    peer->sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
    CHECK_ERR(ask(&f, query), ERR_AUTHORIZATION_SOURCE_IP_MISMATCH);
    CHECK(is_recalled(&f));
    fixture_release(&f);
    t = GOOD;
    t.spr = "https";
    begin(&f);
    query = account_token(&f, &t);
    f.input.secure = true;
    CHECK_OK(ask(&f, query));
    f.input.secure = false;
    CHECK_ERR(ask(&f, query), ERR_AUTHORIZATION_PROTOCOL_MISMATCH);
    CHECK(is_recalled(&f));
    fixture_release(&f);
}

void test_sas_memory_ends_with_the_key(void)
{
    struct auth_fixture f;
    struct str query = begin_with(&f, &GOOD);
    /* The key that signed is now the second: still good, and remembered again. */
    CHECK_OK(
        accounts_put(f.accounts, STR(ACCOUNT), STR(FIXTURE_KEY_2), STR(ACCOUNT_WELL_KNOWN_KEY)));
    CHECK(!is_recalled(&f));
    CHECK_OK(ask(&f, query));
    CHECK(is_recalled(&f));
    /* It is gone. */
    CHECK_OK(accounts_put(f.accounts, STR(ACCOUNT), STR(FIXTURE_KEY_2), STR_NONE));
    CHECK_ERR(ask(&f, query), ERR_AUTHENTICATION_FAILED);
    CHECK_ERR(ask(&f, query), ERR_AUTHENTICATION_FAILED);
    CHECK_OK(accounts_put(f.accounts, STR(ACCOUNT), STR(ACCOUNT_WELL_KNOWN_KEY), STR_NONE));
    CHECK_OK(ask(&f, query));
    CHECK_OK(accounts_remove(f.accounts, STR(ACCOUNT)));
    CHECK_ERR(ask(&f, query), ERR_AUTHENTICATION_FAILED);
    fixture_release(&f);
}

/* Even with the same key: the account's name is signed too. */
void test_sas_memory_is_of_one_account(void)
{
    struct auth_fixture f;
    begin(&f);
    CHECK_OK(accounts_put(f.accounts, STR("another"), STR(ACCOUNT_WELL_KNOWN_KEY), STR_NONE));
    struct str query = account_token(&f, &GOOD);
    CHECK_OK(ask(&f, query));
    f.input.account = STR("another");
    CHECK_ERR(ask(&f, query), ERR_AUTHENTICATION_FAILED);
    CHECK(f.input.known != NULL);
    f.input.account = STR(ACCOUNT);
    CHECK_OK(ask(&f, query));
    CHECK(is_recalled(&f));
    fixture_release(&f);
}

void test_sas_memory_is_of_one_resource(void)
{
    struct auth_fixture f;
    begin(&f);
    struct str query = queue_token(&f, "r", "");
    CHECK_OK(ask(&f, query));
    CHECK_OK(ask_at(&f, QUEUE "/id", query));
    CHECK(is_recalled(&f));
    CHECK_INT(f.result.kind, AUTH_SERVICE_SAS);
    CHECK_ERR(ask_at(&f, "/" ACCOUNT "/p/messages", query), ERR_AUTHENTICATION_FAILED);
    CHECK(f.input.known != NULL && !is_recalled(&f));
    CHECK_ERR(ask_at(&f, "/" ACCOUNT "/Q/messages", query), ERR_AUTHENTICATION_FAILED);
    CHECK_ERR(ask_at(&f, "/" ACCOUNT "/", query), ERR_AUTHENTICATION_FAILED);
    f.demand.service_sas = "p";
    CHECK_ERR(ask(&f, query), ERR_AUTHORIZATION_PERMISSION_MISMATCH);
    f.demand.service_sas = "r";
    CHECK_OK(ask(&f, query));
    CHECK(is_recalled(&f));
    /* Tables sign other lines. */
    f.input.service = SERVICE_TABLE;
    CHECK_ERR(ask(&f, query), ERR_AUTHENTICATION_FAILED);
    fixture_release(&f);
}

/* The policy of the queue q, and how often it was asked for. */
static struct auth_policy policy;
static int policy_asked;

static struct err policy_of_queue(struct store *store, const struct auth_place *place,
                                  struct str id, struct arena *arena, struct auth_policy *out)
{
    (void)store, (void)arena;
    CHECK_STR(place->container, STR("q"));
    CHECK_STR(id, STR("mine"));
    policy_asked++;
    *out = policy;
    return OK;
}

void test_sas_memory_asks_for_the_policy(void)
{
    struct auth_fixture f;
    begin(&f);
    f.server.lookup.stored_policy = policy_of_queue;
    struct str query = queue_token(&f, "", "mine");
    policy = (struct auth_policy){.found = true, .permission = STR("r")};
    CHECK_OK(ask(&f, query));
    CHECK_OK(ask(&f, query));
    CHECK(is_recalled(&f));
    policy.start = STR("1994-11-07"); /* tomorrow */
    CHECK_ERR(ask(&f, query), ERR_AUTHENTICATION_FAILED);
    policy.start = STR("1994-11-06");
    CHECK_OK(ask(&f, query));
    policy.permission = STR("a");
    CHECK_ERR(ask(&f, query), ERR_AUTHORIZATION_PERMISSION_MISMATCH);
    policy.found = false;
    CHECK_ERR(ask(&f, query), ERR_AUTHORIZATION_FAILURE);
    CHECK(is_recalled(&f));
    CHECK_INT(policy_asked, 6);
    fixture_release(&f);
}

/* More than it holds, in any order, and again: each is good, whoever had to make way. */
void test_sas_memory_is_bounded(void)
{
    enum { TOKENS = SAS_MEMORY_TOKENS_MAX * 3 };
    struct auth_fixture f;
    struct str queries[TOKENS];
    begin(&f);
    for (int i = 0; i < TOKENS; i++) {
        struct token t = GOOD;
        t.st = arena_printf(&f.arena, "1994-11-06T00:00:%02dZ", i).p;
        queries[i] = account_token(&f, &t);
    }
    for (int i = 0; i < TOKENS * 5; i++)
        CHECK_OK(ask(&f, queries[i * 7 % TOKENS]));
    CHECK_OK(ask(&f, queries[0]));
    CHECK_OK(ask(&f, queries[0]));
    CHECK(is_recalled(&f));
    fixture_release(&f);
}

void test_sas_memory_leaves_out_what_is_too_long(void)
{
    struct auth_fixture f;
    struct token t = GOOD;
    char letters[SAS_MEMORY_TOKEN_BYTES_MAX];
    memset(letters, 'r', sizeof letters - 1);
    letters[sizeof letters - 1] = '\0';
    t.sp = letters;
    begin(&f);
    struct str query = account_token(&f, &t);
    CHECK_OK(ask(&f, query));
    CHECK_OK(ask(&f, query));
    CHECK(f.input.known == NULL);
    fixture_release(&f);
}

/* ---- tokens of the official SDKs ---- */

static const struct vector {
    const char *name;
    enum service_kind service;
    const char *target;
} VECTORS[] = {
#include "auth/sas_vectors.h"
#include "auth/sas_vectors_python.h"
};

/* All through one memory; what was signed for the request itself is never taken from it. */
void test_sas_memory_of_every_sdk(void)
{
    struct auth_fixture f;
    begin(&f);
    f.demand.service_sas = "rp";
    fixture_header(&f, "x-ms-test", "one");
    for (size_t i = 0; i < sizeof VECTORS / sizeof VECTORS[0]; i++) {
        for (int times = 0; times < 3; times++) {
            f.input.service = VECTORS[i].service;
            fixture_target(&f, "GET", VECTORS[i].target);
            if (VECTORS[i].service == SERVICE_TABLE)
                f.input.container = STR("MyTable");
            struct err error = fixture_check(&f);
            if (err_is(error))
                test_fail(__FILE__, __LINE__, "%s: %s", VECTORS[i].name,
                          err_azure_code(error.code));
            bool delegated = f.result.kind == AUTH_DELEGATION_SAS;
            CHECK(!delegated || f.input.known == NULL);
        }
    }
    fixture_release(&f);
}
