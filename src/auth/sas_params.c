/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/sas.h"

#include "core/time.h"
#include "core/word.h"

enum { LONGEST_NAME = 9, NAME_WORDS = 2 };

/* As words of eight letters, filled up with zeros, so that a name is found without comparing
 * letters. */
union name {
    char text[NAME_WORDS * WORD_BYTES];
    uint64_t words[NAME_WORDS];
};
static const union name NAMES[SAS_FIELD_COUNT] = {
#define X(constant, name) {name},
    SAS_PARAMETERS(X)
#undef X
};

bool sas_present(const struct auth_input *input)
{
    return input->known != NULL || str_given(auth_query(input, STR("sig")));
}

/* Names are compared without case, as the operations compare theirs: what is signed is what is
 * acted on. One that ends in NUL is none of ours, though it would fill up alike. */
enum sas_field sas_field_of(struct str given)
{
    union name name = {.words = {0}};
    if (given.n == 0 || given.n > LONGEST_NAME || given.p[given.n - 1] == '\0')
        return SAS_FIELD_COUNT;
    for (size_t i = 0; i < given.n; i++)
        name.text[i] = ascii_lower(given.p[i]);
    for (size_t i = 0; i < SAS_FIELD_COUNT; i++)
        if (name.words[0] == NAMES[i].words[0] && name.words[1] == NAMES[i].words[1])
            return (enum sas_field)i;
    return SAS_FIELD_COUNT;
}

static void take(struct sas *sas, const struct auth_pair *parameter)
{
    enum sas_field field = sas_field_of(parameter->name);
    if (field == SAS_FIELD_COUNT)
        return;
    sas->repeated |= str_given(sas->value[field]);
    sas->value[field] = parameter->value;
}

static enum sas_scope blob_scope(struct str sr)
{
    static const struct {
        struct str sr;
        enum sas_scope scope;
    } SCOPES[] = {
        {STR_INIT("b"), SAS_SCOPE_OBJECT},    {STR_INIT("c"), SAS_SCOPE_CONTAINER},
        {STR_INIT("bs"), SAS_SCOPE_SNAPSHOT}, {STR_INIT("bv"), SAS_SCOPE_VERSION},
        {STR_INIT("d"), SAS_SCOPE_DIRECTORY},
    };
    for (size_t i = 0; i < sizeof SCOPES / sizeof SCOPES[0]; i++)
        if (str_eq(sr, SCOPES[i].sr))
            return SCOPES[i].scope;
    return SAS_SCOPE_NONE;
}

/* Queues and tables have one kind, and need no sr (a queue's user delegation SAS says "q"). */
static enum sas_scope scope_of(const struct sas *sas)
{
    struct str sr = sas->value[SAS_SR];
    switch (sas->input->service) {
    case SERVICE_BLOB:
        return blob_scope(sr);
    case SERVICE_FILE:
        if (str_eq(sr, STR("s")))
            return SAS_SCOPE_CONTAINER;
        return str_eq(sr, STR("f")) ? SAS_SCOPE_OBJECT : SAS_SCOPE_NONE;
    case SERVICE_QUEUE:
        return !str_given(sr) || str_eq(sr, STR("q")) ? SAS_SCOPE_CONTAINER : SAS_SCOPE_NONE;
    case SERVICE_TABLE:
        return str_given(sr) ? SAS_SCOPE_NONE : SAS_SCOPE_CONTAINER;
    case SERVICE_KIND_COUNT:
        break;
    }
    return SAS_SCOPE_NONE;
}

static enum auth_kind kind_of(const struct sas *sas)
{
    if (str_given(sas->value[SAS_SS]) || str_given(sas->value[SAS_SRT]))
        return AUTH_ACCOUNT_SAS;
    return str_given(sas->value[SAS_SKOID]) ? AUTH_DELEGATION_SAS : AUTH_SERVICE_SAS;
}

bool sas_read(struct sas *sas, const struct auth_input *input, struct arena *arena)
{
    *sas = (struct sas){.input = input, .arena = arena, .text = buf_in(arena)};
    for (size_t i = 0; i < input->query_count; i++)
        take(sas, &input->query[i]);
    if (sas->repeated || !time_parse_day(sas->value[SAS_SV], &sas->version))
        return false;
    sas->kind = kind_of(sas);
    if (sas->kind == AUTH_ACCOUNT_SAS)
        return true;
    sas->scope = scope_of(sas);
    return sas->scope != SAS_SCOPE_NONE;
}
