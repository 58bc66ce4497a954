/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/sas_memory.h"

#include <assert.h>
#include <stdlib.h>

#include "auth/sas.h"
#include "core/mem.h"
#include "core/time.h"

/* Where a parameter's decoded name and value stand in known.text. */
struct known_pair {
    uint16_t name_at, name_n;
    uint16_t value_at, value_n;
    enum sas_field field;
};

struct sas_known {
    size_t raw_n;
    enum service_kind service;
    enum auth_kind kind;
    int version;
    enum sas_scope scope;
    uint64_t changes;              /* of the accounts, when the signature was checked */
    int64_t good_from, good_until; /* see struct sas */
    size_t account_n, resource_n, text_n, pair_count;
    char account[ACCOUNT_NAME_MAX];
    char resource[SAS_MEMORY_RESOURCE_BYTES_MAX]; /* what a service SAS was signed for */
    struct known_pair pairs[SAS_MEMORY_PAIRS_MAX];
    char raw[SAS_MEMORY_TOKEN_BYTES_MAX];
    char text[SAS_MEMORY_TOKEN_BYTES_MAX]; /* never longer than what it was decoded from */
};

struct sas_memory {
    size_t count;
    size_t next; /* the place that is taken next: the oldest, once all are taken */
    struct sas_known known[SAS_MEMORY_TOKENS_MAX];
};

struct sas_memory *sas_memory_new(void)
{
    return MEM_NEW(struct sas_memory);
}

void sas_memory_free(struct sas_memory *memory)
{
    if (memory == NULL)
        return;
    explicit_bzero(memory, sizeof *memory);
    free(memory);
}

/* ---- finding ---- */

struct sas_sighting sas_memory_find(const struct sas_memory *memory, enum service_kind service,
                                    struct str raw_query)
{
    size_t count = memory == NULL ? 0 : memory->count;
    for (size_t i = 0; i < count; i++) {
        const struct sas_known *known = &memory->known[i];
        struct str raw = {known->raw, known->raw_n};
        if (raw.n > raw_query.n || known->service != service)
            continue;
        size_t more = raw_query.n - raw.n;
        if (more == 0 || raw_query.p[more - 1] == '&') {
            if (str_eq_secret(str_from(raw_query, more), raw))
                return (struct sas_sighting){
                    known, more == 0 ? STR_NONE : str_head(raw_query, more - 1), STR_NONE};
        }
        if (more > 0 && raw_query.p[raw.n] == '&' && str_eq_secret(str_head(raw_query, raw.n), raw))
            return (struct sas_sighting){known, STR_NONE, str_from(raw_query, raw.n + 1)};
    }
    return (struct sas_sighting){.before = raw_query};
}

size_t sas_known_pairs(const struct sas_known *known, struct arena *arena, struct auth_pair *out,
                       size_t room)
{
    if (known->pair_count > room)
        return known->pair_count;
    const char *text = arena_copy(arena, (struct str){known->text, known->text_n}).p;
    for (size_t i = 0; i < known->pair_count; i++) {
        const struct known_pair *pair = &known->pairs[i];
        out[i] = (struct auth_pair){{text + pair->name_at, pair->name_n},
                                    {text + pair->value_at, pair->value_n}};
    }
    return known->pair_count;
}

/* ---- recalling ---- */

/* A parameter of a SAS beside the known ones would be one that was not signed with them. */
static bool has_others(const struct auth_input *input)
{
    size_t end = input->known_at + input->known->pair_count;
    for (size_t i = 0; i < input->query_count; i++)
        if ((i < input->known_at || i >= end) &&
            sas_field_of(input->query[i].name) != SAS_FIELD_COUNT)
            return true;
    return false;
}

bool sas_recall(struct sas *sas, const struct auth_server *server, const struct auth_input *input,
                struct arena *arena)
{
    const struct sas_known *known = input->known;
    if (known == NULL || known->changes != accounts_changes(server->accounts) ||
        !str_eq((struct str){known->account, known->account_n}, input->account) ||
        has_others(input))
        return false;
    *sas = (struct sas){.input = input,
                        .arena = arena,
                        .kind = known->kind,
                        .version = known->version,
                        .scope = known->scope,
                        .good_from = known->good_from,
                        .good_until = known->good_until,
                        .text = buf_in(arena)};
    for (size_t i = 0; i < known->pair_count; i++)
        sas->value[known->pairs[i].field] = input->query[input->known_at + i].value;
    if (known->kind == AUTH_ACCOUNT_SAS)
        return true;
    /* An error here is found again, and told, by who reads it all. */
    return !err_is(sas_name_resource(sas)) &&
           str_eq(sas->resource, (struct str){known->resource, known->resource_n});
}

/* ---- remembering ---- */

/* The part of the query as sent in which the SAS stands, and where its parameters begin among the
 * decoded ones. */
struct run {
    struct str raw;
    size_t first, count;
};

/* False when it does not stand in one piece. */
static bool find_run(const struct auth_input *input, struct run *run)
{
    struct str rest = input->raw_query;
    bool ended = false;
    size_t i = 0;
    for (; str_given(rest) && i < input->query_count; i++) {
        struct str part = str_cut(&rest, '&');
        bool field = sas_field_of(input->query[i].name) != SAS_FIELD_COUNT;
        if (part.n == 0 || (field && ended))
            return false;
        ended = run->count > 0 && !field;
        if (!field)
            continue;
        if (run->count++ == 0)
            *run = (struct run){part, i, 1};
        run->raw.n = (size_t)(part.p + part.n - run->raw.p);
    }
    return i == input->query_count && !str_given(rest) && run->count > 0;
}

static void keep_text(struct sas_known *known, struct str s, uint16_t *at, uint16_t *n)
{
    assert(s.n <= sizeof known->text - known->text_n); /* decoding makes nothing longer */
    *at = (uint16_t)known->text_n;
    *n = (uint16_t)s.n;
    if (s.n > 0)
        memcpy(known->text + known->text_n, s.p, s.n);
    known->text_n += s.n;
}

static void keep_pairs(struct sas_known *known, const struct auth_pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct known_pair *pair = &known->pairs[i];
        keep_text(known, pairs[i].name, &pair->name_at, &pair->name_n);
        keep_text(known, pairs[i].value, &pair->value_at, &pair->value_n);
        pair->field = sas_field_of(pairs[i].name);
    }
    known->pair_count = count;
}

/* When the URL alone tells the times. A stored policy may tell other ones with each request. */
static void keep_times(struct sas_known *known, const struct sas *sas)
{
    int64_t start = INT64_MIN, expiry;
    struct str st = sas->value[SAS_ST];
    if (sas->value[SAS_SI].n > 0 || !time_parse_iso(sas->value[SAS_SE], &expiry) ||
        (st.n > 0 && !time_parse_iso(st, &start)))
        return;
    known->good_from = start;
    known->good_until = expiry;
}

/* One that is there already but was of no use (the accounts have changed, or it was signed for
 * something else) makes way for itself. */
static struct sas_known *take_place(struct sas_memory *memory, const struct sas_known *present)
{
    if (present != NULL)
        return &memory->known[present - memory->known];
    size_t place = memory->next;
    memory->next = (place + 1) % SAS_MEMORY_TOKENS_MAX;
    if (place == memory->count)
        memory->count++;
    return &memory->known[place];
}

void sas_remember(const struct sas *sas, uint64_t changes)
{
    const struct auth_input *input = sas->input;
    struct run run = {0};
    /* What a user delegation SAS signs can be headers of the request, and its key has limits. */
    if (input->memory == NULL || sas->kind == AUTH_DELEGATION_SAS || !find_run(input, &run) ||
        run.raw.n > SAS_MEMORY_TOKEN_BYTES_MAX || run.count > SAS_MEMORY_PAIRS_MAX ||
        input->account.n > ACCOUNT_NAME_MAX || sas->resource.n > SAS_MEMORY_RESOURCE_BYTES_MAX)
        return;
    struct sas_known *known = take_place(input->memory, input->known);
    *known = (struct sas_known){.raw_n = run.raw.n,
                                .service = input->service,
                                .kind = sas->kind,
                                .version = sas->version,
                                .scope = sas->scope,
                                .changes = changes,
                                .account_n = input->account.n,
                                .resource_n = sas->resource.n};
    memcpy(known->raw, run.raw.p, run.raw.n);
    memcpy(known->account, input->account.p, input->account.n);
    if (sas->resource.n > 0)
        memcpy(known->resource, sas->resource.p, sas->resource.n);
    keep_pairs(known, input->query + run.first, run.count);
    keep_times(known, sas);
}
