/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/sas.h"

#include "core/time.h"
#include "core/word.h"

enum { LONGEST_NAME = 9, NAME_WORDS = 2 };

/* Words of eight letters, padded with zeros, so that a lookup compares no letters. */
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
    return str_given(auth_query(input, STR("sig")));
}

/* Names are compared ignoring case, like the operations' parameters: what is signed is what takes
 * effect. A name that ends in NUL is rejected, because the padding would make it equal. */
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
    sas->malformed |= str_given(sas->value[field]) || !auth_is_signable(parameter->value);
    sas->value[field] = parameter->value;
}

/* The values of sr, each with the first sv that knew it. Before 2018-11-09 the text does not sign
 * sr, so a newer value with an older sv would widen what was signed: a blob's SAS would be good for
 * a directory of that name. Before 2015-02-21 the text does not name the service either, so a
 * container's SAS would be good for a share of that name; files had no SAS then. */
static const struct signed_resource {
    enum service_kind service;
    struct str sr; /* absent: sent without one */
    int since;
    enum sas_scope scope;
} SIGNED_RESOURCES[] = {
    {SERVICE_BLOB, STR_INIT("b"), 20120212, SAS_SCOPE_OBJECT},
    {SERVICE_BLOB, STR_INIT("c"), 20120212, SAS_SCOPE_CONTAINER},
    {SERVICE_BLOB, STR_INIT("bs"), 20181109, SAS_SCOPE_SNAPSHOT},
    {SERVICE_BLOB, STR_INIT("bv"), 20191212, SAS_SCOPE_VERSION},
    {SERVICE_BLOB, STR_INIT("d"), 20200210, SAS_SCOPE_DIRECTORY},
    {SERVICE_FILE, STR_INIT("s"), 20150221, SAS_SCOPE_CONTAINER},
    {SERVICE_FILE, STR_INIT("f"), 20150221, SAS_SCOPE_OBJECT},
    /* Queues and tables have one kind, and need no sr; a queue's user delegation SAS says "q". */
    {SERVICE_QUEUE, {0}, 20120212, SAS_SCOPE_CONTAINER},
    {SERVICE_QUEUE, STR_INIT("q"), 20250705, SAS_SCOPE_CONTAINER},
    {SERVICE_TABLE, {0}, 20120212, SAS_SCOPE_CONTAINER},
};

static enum sas_scope scope_of(const struct sas *sas)
{
    struct str sr = sas->value[SAS_SR];
    for (size_t i = 0; i < sizeof SIGNED_RESOURCES / sizeof SIGNED_RESOURCES[0]; i++) {
        const struct signed_resource *row = &SIGNED_RESOURCES[i];
        if (row->service == sas->input->service && str_given(sr) == str_given(row->sr) &&
            str_eq(sr, row->sr))
            return sas->version >= row->since ? row->scope : SAS_SCOPE_NONE;
    }
    return SAS_SCOPE_NONE;
}

static enum auth_kind kind_of(const struct sas *sas)
{
    if (str_given(sas->value[SAS_SS]) || str_given(sas->value[SAS_SRT]))
        return AUTH_ACCOUNT_SAS;
    return str_given(sas->value[SAS_SKOID]) ? AUTH_DELEGATION_SAS : AUTH_SERVICE_SAS;
}

/* tn and sdd are not signed themselves: they tell how the resource is named, and its name is
 * signed. So they are accepted only where they name the resource; elsewhere they would look like a
 * restriction. */
static bool unsigned_ones_fit(const struct sas *sas)
{
    bool of_table = sas->kind == AUTH_SERVICE_SAS && sas->input->service == SERVICE_TABLE;
    bool of_directory = sas->scope == SAS_SCOPE_DIRECTORY;
    return (of_table || !str_given(sas->value[SAS_TN])) &&
           (of_directory || !str_given(sas->value[SAS_SDD]));
}

/* An empty line of the text can mean an empty parameter or a missing one, and the holder of the SAS
 * could turn one into the other. */
static void forget_empty(struct sas *sas)
{
    for (size_t i = 0; i < SAS_FIELD_COUNT; i++)
        if (sas->value[i].n == 0)
            sas->value[i] = STR_NONE;
}

bool sas_read(struct sas *sas, const struct auth_input *input, struct arena *arena)
{
    *sas = (struct sas){.input = input, .arena = arena, .text = buf_in(arena)};
    for (size_t i = 0; i < input->query_count; i++)
        take(sas, &input->query[i]);
    forget_empty(sas);
    if (sas->malformed || !time_parse_day(sas->value[SAS_SV], &sas->version))
        return false;
    sas->kind = kind_of(sas);
    if (sas->kind != AUTH_ACCOUNT_SAS && (sas->scope = scope_of(sas)) == SAS_SCOPE_NONE)
        return false;
    return unsigned_ones_fit(sas);
}
