/* SPDX-License-Identifier: Apache-2.0 */
/* Shared Key and Shared Key Lite: docs/protocol/facts.md §3.1 to §3.3. The server writes the text
 * that the client should have signed and compares signatures. Clients are known to differ in that
 * text, so there are variants of it: the first is the documented one. The others are tried if it
 * does not match and they differ from it. */
#include <assert.h>
#include <stdlib.h>

#include "auth/auth_internal.h"
#include "auth/collate.h"
#include "core/clock_control.h"
#include "core/time.h"
#include "core/word.h"

enum scheme { SCHEME_KEY, SCHEME_LITE };

/* The standard headers that are signed, in their order in the text. */
enum {
    H_CONTENT_ENCODING,
    H_CONTENT_LANGUAGE,
    H_CONTENT_LENGTH,
    H_CONTENT_MD5,
    H_CONTENT_TYPE,
    H_DATE,
    H_IF_MODIFIED_SINCE,
    H_IF_MATCH,
    H_IF_NONE_MATCH,
    H_IF_UNMODIFIED_SINCE,
    H_RANGE,
    H_COUNT
};
static const struct str STANDARD[H_COUNT] = {
    STR_INIT("content-encoding"),
    STR_INIT("content-language"),
    STR_INIT("content-length"),
    STR_INIT("content-md5"),
    STR_INIT("content-type"),
    STR_INIT("date"),
    STR_INIT("if-modified-since"),
    STR_INIT("if-match"),
    STR_INIT("if-none-match"),
    STR_INIT("if-unmodified-since"),
    STR_INIT("range"),
};

enum variant {
    /* Names in byte order, as older SDKs sort them. */
    VARIANT_ORDINAL = 1,
    /* Collapses white space within a value to one space. The documentation requires it, but no SDK
       does it. */
    VARIANT_FOLD = 2,
    /* "/account-secondary/…" in the path signed as "/account/…": some SDKs sign the path they send,
     * some that of the primary. */
    VARIANT_PRIMARY_PATH = 4,
    /* A '+' in the query signed as it is, and not as the space that it stands for. */
    VARIANT_PLUS = 8,
    VARIANT_ALL = 15
};

struct signing {
    const struct auth_input *input;
    struct arena *arena;
    enum scheme scheme;
    struct str standard[H_COUNT];
    struct auth_pair *ms; /* x-ms-* headers, names in lower case */
    size_t ms_count;
    struct str ms_date;
    /* Sorted, names in lower case; NULL where it is not signed. */
    struct auth_pair *query, *query_plus; /* by how '+' is read, see auth_input */
    unsigned variants;                    /* those that differ for this request */
    struct buf text;
};

static struct str lower(struct arena *arena, struct str s)
{
    char *to = arena_bytes(arena, s.n);
    str_lower(s, to);
    return (struct str){to, s.n};
}

/* ---- gathering ---- */

static struct err repeated_header(struct arena *arena, struct str name)
{
    struct str detail = arena_printf(arena, "HeaderName\t%.*s", STR_ARG(name));
    return err_detail(ERR_INVALID_HEADER_VALUE, detail.p);
}

static struct err take_standard(struct signing *s, const struct auth_pair *header)
{
    for (size_t i = 0; i < H_COUNT; i++) {
        if (!str_ieq(header->name, STANDARD[i]))
            continue;
        if (str_given(s->standard[i]))
            return repeated_header(s->arena, header->name);
        s->standard[i] = header->value;
        break;
    }
    return OK;
}

static struct err gather(struct signing *s)
{
    s->ms = ARENA_ARRAY(s->arena, struct auth_pair, s->input->header_count);
    for (size_t i = 0; i < s->input->header_count; i++) {
        const struct auth_pair *header = &s->input->headers[i];
        if (!str_istarts(header->name, STR("x-ms-"))) {
            TRY(take_standard(s, header));
            continue;
        }
        struct str name = lower(s->arena, header->name);
        s->ms[s->ms_count++] = (struct auth_pair){name, str_trim(header->value)};
        if (header->value.n > 0 && str_eq(name, STR("x-ms-date")))
            s->ms_date = header->value;
    }
    return OK;
}

static int by_collation(const void *a, const void *b)
{
    return collate_header_names(((const struct auth_pair *)a)->name,
                                ((const struct auth_pair *)b)->name);
}

static int by_bytes(const void *a, const void *b)
{
    return str_cmp(((const struct auth_pair *)a)->name, ((const struct auth_pair *)b)->name);
}

/* Insertion sort: there are usually few, and qsort's setup costs more. */
static void sort_pairs(struct auth_pair *pairs, size_t count,
                       int (*compare)(const void *a, const void *b))
{
    enum { FEW = 12 };
    if (count > FEW) {
        qsort(pairs, count, sizeof pairs[0], compare);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        struct auth_pair pair = pairs[i];
        size_t at = i;
        for (; at > 0 && compare(&pairs[at - 1], &pair) > 0; at--)
            pairs[at] = pairs[at - 1];
        pairs[at] = pair;
    }
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

/* Returns true if there is a tab or two adjacent spaces. */
static bool word_folds(uint64_t word)
{
    uint64_t spaces = word_zeros(word ^ word_all(' '));
    return ((spaces & spaces >> 8) | word_zeros(word ^ word_all('\t'))) != 0;
}

/* Checks words that overlap by a byte. A false positive is harmless: the same text is tried again.
 */
static bool folds(struct str value)
{
    size_t i = 0;
    for (; i + WORD_BYTES <= value.n; i += WORD_BYTES - 1)
        if (word_folds(word_load(value.p + i)))
            return true;
    char rest[WORD_BYTES] = {0};
    if (i < value.n)
        memcpy(rest, value.p + i, value.n - i);
    return word_folds(word_load(rest));
}

/* Sorts, refuses duplicate names, and finds which variants differ. */
static struct err order(struct signing *s)
{
    sort_pairs(s->ms, s->ms_count, by_collation);
    for (size_t i = 0; i < s->ms_count; i++) {
        if (i > 0) {
            int before = str_cmp(s->ms[i - 1].name, s->ms[i].name);
            if (before == 0)
                return repeated_header(s->arena, s->ms[i].name);
            if (before > 0)
                s->variants |= VARIANT_ORDINAL;
        }
        if (folds(s->ms[i].value))
            s->variants |= VARIANT_FOLD;
    }
    return OK;
}

static struct err not_signable(struct arena *arena)
{
    return auth_failed(arena, STR("What is signed has control characters, a colon in a parameter's "
                                  "name or a parameter with several values."));
}

static int by_name_and_value(const void *a, const void *b)
{
    const struct auth_pair *left = a, *right = b;
    int by_name = str_cmp(left->name, right->name);
    return by_name != 0 ? by_name : str_cmp(left->value, right->value);
}

/* The text joins several values by commas, as if they were one; only the parameter that is read as
 * such a list may have them. */
static bool may_follow(const struct auth_pair *before, const struct auth_pair *pair)
{
    return !str_eq(before->name, pair->name) || str_eq(pair->name, STR("include"));
}

static struct err order_query(const struct signing *s, const struct auth_pair *query,
                              struct auth_pair **out)
{
    size_t count = s->input->query_count;
    struct auth_pair *sorted = ARENA_ARRAY(s->arena, struct auth_pair, count);
    for (size_t i = 0; i < count; i++) {
        if (!auth_is_signable_name(query[i].name) || !auth_is_signable(query[i].value))
            return not_signable(s->arena);
        sorted[i] = (struct auth_pair){lower(s->arena, query[i].name), query[i].value};
    }
    sort_pairs(sorted, count, by_name_and_value);
    for (size_t i = 1; i < count; i++)
        if (!may_follow(&sorted[i - 1], &sorted[i]))
            return not_signable(s->arena);
    *out = sorted;
    return OK;
}

static struct err order_queries(struct signing *s)
{
    TRY(order_query(s, s->input->query, &s->query));
    if (s->input->query_plus == NULL)
        return OK;
    s->variants |= VARIANT_PLUS;
    return order_query(s, s->input->query_plus, &s->query_plus);
}

/* The values that become part of the text. */
static struct err check_values(struct signing *s)
{
    for (size_t i = 0; i < H_COUNT; i++)
        if (s->standard[i].n > 0 && !auth_is_signable_header(s->standard[i]))
            return not_signable(s->arena);
    for (size_t i = 0; i < s->ms_count; i++)
        if (!auth_is_signable_header(s->ms[i].value))
            return not_signable(s->arena);
    if (s->scheme == SCHEME_KEY && s->input->service != SERVICE_TABLE)
        return order_queries(s);
    return auth_is_signable(auth_query(s->input, STR("comp"))) ? OK : not_signable(s->arena);
}

/* ---- the text ---- */

static void put_line(struct signing *s, struct str value)
{
    buf_put(&s->text, value);
    buf_putc(&s->text, '\n');
}

/* Outside quoted strings, each run of white space becomes one space. */
static void put_folded(struct buf *text, struct str value)
{
    bool quoted = false;
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] == '"')
            quoted = !quoted;
        bool space = !quoted && is_space(value.p[i]);
        if (space && i + 1 < value.n && is_space(value.p[i + 1]))
            continue;
        buf_putc(text, space ? ' ' : value.p[i]);
    }
}

static bool signs_empty(const struct signing *s)
{
    return s->input->version >= 20160531;
}

static void put_ms_headers(struct signing *s, unsigned variant)
{
    for (size_t i = 0; i < s->ms_count; i++) {
        const struct auth_pair *header = &s->ms[i];
        if (header->value.n == 0 && !signs_empty(s))
            continue;
        buf_put(&s->text, header->name);
        buf_putc(&s->text, ':');
        if (variant & VARIANT_FOLD)
            put_folded(&s->text, header->value);
        else
            buf_put(&s->text, header->value);
        buf_putc(&s->text, '\n');
    }
}

/* Length of "/account-secondary" at the start of the path, 0 when it is not there. */
static size_t secondary_prefix(const struct auth_input *input)
{
    struct str path = input->path, suffix = STR("-secondary");
    size_t end = 1 + input->account.n + suffix.n;
    bool is_there = path.n >= end && path.p[0] == '/' &&
                    str_starts(str_from(path, 1), input->account) &&
                    str_starts(str_from(path, 1 + input->account.n), suffix) &&
                    (path.n == end || path.p[end] == '/');
    return is_there ? end : 0;
}

static void put_path(struct signing *s, unsigned variant)
{
    buf_putc(&s->text, '/');
    buf_put(&s->text, s->input->account);
    struct str path = s->input->path;
    if (variant & VARIANT_PRIMARY_PATH) {
        buf_putc(&s->text, '/');
        buf_put(&s->text, s->input->account);
        path = str_from(path, secondary_prefix(s->input));
    }
    buf_put(&s->text, path);
}

static void put_query(struct signing *s, unsigned variant)
{
    const struct auth_pair *query = variant & VARIANT_PLUS ? s->query_plus : s->query;
    for (size_t i = 0; i < s->input->query_count; i++) {
        if (i > 0 && str_eq(query[i].name, query[i - 1].name)) {
            buf_putc(&s->text, ',');
        } else {
            buf_putc(&s->text, '\n');
            buf_put(&s->text, query[i].name);
            buf_putc(&s->text, ':');
        }
        buf_put(&s->text, query[i].value);
    }
}

static void put_comp(struct signing *s)
{
    struct str comp = auth_query(s->input, STR("comp"));
    if (!str_given(comp))
        return;
    buf_put(&s->text, STR("?comp="));
    buf_put(&s->text, comp);
}

/* Zero is not written from 2015-02-21 on. */
static struct str content_length(const struct signing *s)
{
    if (s->input->content_length < 0)
        return STR_NONE;
    if (s->input->content_length == 0)
        return s->input->version >= 20150221 ? STR_NONE : STR("0");
    return s->standard[H_CONTENT_LENGTH];
}

static struct str date_line(const struct signing *s)
{
    return str_given(s->ms_date) ? STR_NONE : s->standard[H_DATE];
}

static void put_full(struct signing *s, unsigned variant)
{
    put_line(s, s->input->method);
    for (size_t i = 0; i < H_COUNT; i++) {
        if (i == H_CONTENT_LENGTH)
            put_line(s, content_length(s));
        else
            put_line(s, i == H_DATE ? date_line(s) : s->standard[i]);
    }
    put_ms_headers(s, variant);
    put_path(s, variant);
    put_query(s, variant);
}

static void put_lite(struct signing *s, unsigned variant)
{
    put_line(s, s->input->method);
    put_line(s, s->standard[H_CONTENT_MD5]);
    put_line(s, s->standard[H_CONTENT_TYPE]);
    put_line(s, date_line(s));
    put_ms_headers(s, variant);
    put_path(s, variant);
    put_comp(s);
}

/* Tables sign no x-ms-* header; x-ms-date stands in the date's line. */
static void put_table(struct signing *s, unsigned variant)
{
    if (s->scheme == SCHEME_KEY) {
        put_line(s, s->input->method);
        put_line(s, s->standard[H_CONTENT_MD5]);
        put_line(s, s->standard[H_CONTENT_TYPE]);
    }
    put_line(s, str_given(s->ms_date) ? s->ms_date : s->standard[H_DATE]);
    put_path(s, variant);
    put_comp(s);
}

static struct str text_to_sign(struct signing *s, unsigned variant)
{
    buf_clear(&s->text);
    buf_reserve(&s->text, 1024);
    if (variant & VARIANT_ORDINAL)
        sort_pairs(s->ms, s->ms_count, by_bytes);
    if (s->input->service == SERVICE_TABLE)
        put_table(s, variant);
    else if (s->scheme == SCHEME_KEY)
        put_full(s, variant);
    else
        put_lite(s, variant);
    return buf_str(&s->text);
}

/* ---- the check ---- */

/* A request is valid for a quarter of an hour before and after its date. */
static struct err check_date(const struct signing *s, int64_t now)
{
    struct str date = str_given(s->ms_date) ? s->ms_date : s->standard[H_DATE];
    int64_t ticks;
    if (!str_given(date) || !time_parse_http(date, &ticks))
        return auth_failed(s->arena, STR("The Date header in the request is incorrect."));
    int64_t off = now - ticks;
    if (off > AUTH_CLOCK_SKEW_SECONDS * TICKS_PER_SECOND ||
        off < -AUTH_CLOCK_SKEW_SECONDS * TICKS_PER_SECOND)
        return auth_failed(
            s->arena, arena_printf(s->arena, "Request date header too old: '%.*s'", STR_ARG(date)));
    return OK;
}

/* The client sees the string that the server signed, never the correct signature. */
static struct err mismatch(struct signing *s, struct str signature)
{
    sort_pairs(s->ms, s->ms_count, by_collation);
    struct str text = text_to_sign(s, 0);
    return auth_failed(
        s->arena,
        arena_printf(s->arena,
                     "The MAC signature found in the HTTP request '%.*s' is not the same as any "
                     "computed signature. Server used following string to sign: '%.*s'.",
                     STR_ARG(signature), STR_ARG(text)));
}

/* Numbers 0 to VARIANT_ALL are sets of variants, the documented form first; odd ones may need
 * another order of the names. */
static struct err check_signature(struct signing *s, const struct account *account,
                                  struct str signature, struct auth_result *result)
{
    if (secondary_prefix(s->input) > 0)
        s->variants |= VARIANT_PRIMARY_PATH;
    for (unsigned variant = 0; variant <= VARIANT_ALL; variant++) {
        if (variant & ~s->variants)
            continue;
        if (variant != 0 && !(variant & VARIANT_ORDINAL))
            sort_pairs(s->ms, s->ms_count, by_collation);
        if (auth_signature_matches(account, text_to_sign(s, variant), signature)) {
            result->plus_is_plus = (variant & VARIANT_PLUS) != 0;
            return OK;
        }
    }
    return mismatch(s, signature);
}

/* "SharedKey account:signature". */
static bool parse(struct str authorization, struct signing *s, struct str *account,
                  struct str *signature)
{
    struct str scheme = str_cut(&authorization, ' ');
    s->scheme = str_ieq(scheme, STR("SharedKeyLite")) ? SCHEME_LITE : SCHEME_KEY;
    *signature = str_trim(authorization);
    *account = str_cut(signature, ':');
    return account->n > 0 && str_given(*signature) && signature->n > 0;
}

struct err shared_key_check(const struct auth_server *server, const struct auth_input *input,
                            struct str authorization, struct arena *arena,
                            struct auth_result *result)
{
    assert(result != NULL);
    struct signing s = {.input = input, .arena = arena, .text = buf_in(arena)};
    struct str name, signature;
    if (!parse(authorization, &s, &name, &signature))
        return err_new(ERR_INVALID_AUTHENTICATION_INFO);
    TRY(gather(&s));
    TRY(order(&s));
    TRY(check_values(&s));
    struct err date = check_date(&s, auth_now(server, input));
    if (err_is(date) && server->real != NULL)
        date = check_date(&s, clock_control_real(server->real));
    TRY(date);
    struct account *account =
        str_eq(name, input->account) ? accounts_get(server->accounts, name) : NULL;
    struct err error = account != NULL ? check_signature(&s, account, signature, result)
                       : str_eq(name, input->account)
                           ? auth_no_account(arena, name)
                           : auth_failed(arena, STR("The account in the Authorization header is "
                                                    "not the one that the request names."));
    account_put(account);
    result->kind = AUTH_SHARED_KEY;
    result->empty_is_unsigned = !signs_empty(&s);
    result->reach = auth_reach_new(input, arena);
    return error;
}
