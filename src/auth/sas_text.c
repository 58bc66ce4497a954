/* SPDX-License-Identifier: Apache-2.0 */
/* The text that the issuer of a SAS signed, by kind, service and sv: tables of lines. */
#include "auth/sas.h"

/* Lines that are not a parameter's value as it stands. */
enum {
    L_RESOURCE = SAS_FIELD_COUNT,
    L_ACCOUNT,
    L_MOMENT,  /* the snapshot's time or the version's id */
    L_HEADERS, /* the request's headers that srh names, "name:value\n" each */
    L_QUERY,   /* the request's parameters that srq names, "\nname:value" each */
    L_EMPTY,   /* so that the text ends with a newline */
    L_END,
};

#define L_TERMS    SAS_SP, SAS_ST, SAS_SE, L_RESOURCE
#define L_OVERRIDE SAS_RSCC, SAS_RSCD, SAS_RSCE, SAS_RSCL, SAS_RSCT
#define L_LIMITS   SAS_SIP, SAS_SPR, SAS_SV
#define L_KEY      SAS_SKOID, SAS_SKTID, SAS_SKT, SAS_SKE, SAS_SKS, SAS_SKV
#define L_AGENTS   SAS_SAOID, SAS_SUOID, SAS_SCID
#define L_USER     SAS_SKDUTID, SAS_SDUOID
#define L_RANGE    SAS_SPK, SAS_SRK, SAS_EPK, SAS_ERK

struct layout {
    int since;
    const unsigned char *lines;
};
#define LINES(...) ((const unsigned char[]){__VA_ARGS__, L_END})

/* Each list has the newest first. */
static const struct layout ACCOUNT[] = {
    {20201206,
     LINES(L_ACCOUNT, SAS_SP, SAS_SS, SAS_SRT, SAS_ST, SAS_SE, L_LIMITS, SAS_SES, L_EMPTY)},
    {20150405, LINES(L_ACCOUNT, SAS_SP, SAS_SS, SAS_SRT, SAS_ST, SAS_SE, L_LIMITS, L_EMPTY)},
    {0, NULL},
};
static const struct layout BLOB[] = {
    {20201206, LINES(L_TERMS, SAS_SI, L_LIMITS, SAS_SR, L_MOMENT, SAS_SES, L_OVERRIDE)},
    {20181109, LINES(L_TERMS, SAS_SI, L_LIMITS, SAS_SR, L_MOMENT, L_OVERRIDE)},
    {20150405, LINES(L_TERMS, SAS_SI, L_LIMITS, L_OVERRIDE)},
    {20130815, LINES(L_TERMS, SAS_SI, SAS_SV, L_OVERRIDE)},
    {20120212, LINES(L_TERMS, SAS_SI, SAS_SV)},
    {0, NULL},
};
static const struct layout FILES[] = {
    {20150405, LINES(L_TERMS, SAS_SI, L_LIMITS, L_OVERRIDE)},
    {20150221, LINES(L_TERMS, SAS_SI, SAS_SV, L_OVERRIDE)},
    {0, NULL},
};
static const struct layout QUEUE[] = {
    {20150405, LINES(L_TERMS, SAS_SI, L_LIMITS)},
    {20120212, LINES(L_TERMS, SAS_SI, SAS_SV)},
    {0, NULL},
};
static const struct layout TABLE[] = {
    {20150405, LINES(L_TERMS, SAS_SI, L_LIMITS, L_RANGE)},
    {20120212, LINES(L_TERMS, SAS_SI, SAS_SV, L_RANGE)},
    {0, NULL},
};
static const struct layout DELEGATION_BLOB[] = {
    {20260406, LINES(L_TERMS, L_KEY, L_AGENTS, L_USER, L_LIMITS, SAS_SR, L_MOMENT, SAS_SES,
                     L_HEADERS, L_QUERY, L_OVERRIDE)},
    {20250705,
     LINES(L_TERMS, L_KEY, L_AGENTS, L_USER, L_LIMITS, SAS_SR, L_MOMENT, SAS_SES, L_OVERRIDE)},
    {20201206, LINES(L_TERMS, L_KEY, L_AGENTS, L_LIMITS, SAS_SR, L_MOMENT, SAS_SES, L_OVERRIDE)},
    {20200210, LINES(L_TERMS, L_KEY, L_AGENTS, L_LIMITS, SAS_SR, L_MOMENT, L_OVERRIDE)},
    {20181109, LINES(L_TERMS, L_KEY, L_LIMITS, SAS_SR, L_MOMENT, L_OVERRIDE)},
    {0, NULL},
};
static const struct layout DELEGATION_FILE[] = {
    {20250705, LINES(L_TERMS, L_KEY, L_USER, L_LIMITS, L_OVERRIDE)},
    {0, NULL},
};
static const struct layout DELEGATION_QUEUE[] = {
    {20250705, LINES(L_TERMS, L_KEY, L_USER, L_LIMITS)},
    {0, NULL},
};
static const struct layout NOTHING[] = {{0, NULL}};

static const struct layout *layouts_of(const struct sas *sas)
{
    static const struct layout *const SERVICE_SAS[] = {BLOB, QUEUE, TABLE, FILES};
    static const struct layout *const DELEGATION_SAS[] = {DELEGATION_BLOB, DELEGATION_QUEUE,
                                                          NOTHING, DELEGATION_FILE};
    if (sas->kind == AUTH_ACCOUNT_SAS)
        return ACCOUNT;
    return sas->kind == AUTH_SERVICE_SAS ? SERVICE_SAS[sas->input->service]
                                         : DELEGATION_SAS[sas->input->service];
}

/* ---- the resource ---- */

static struct err not_in_scope(const struct sas *sas)
{
    return auth_failed(sas->arena, STR("Signature did not match: the request is for something that "
                                       "the signed resource does not hold."));
}

/* The first sdd segments of the path, or of the directory that is listed; sdd is 0 for the root. */
static struct err directory_of(const struct sas *sas, struct str *out)
{
    uint64_t depth;
    if (!str_given(sas->value[SAS_SDD]))
        return err_new(ERR_QUERY_PARAMETER_SAS_MANDATORY);
    if (!str_to_u64(sas->value[SAS_SDD], &depth))
        return err_new(ERR_QUERY_PARAMETER_SDD_INVALID);
    const struct auth_input *input = sas->input;
    struct str path = str_given(input->object) ? input->object : input->listed;
    size_t end = 0;
    for (uint64_t i = 0; i < depth; i++) {
        if (end == path.n && i > 0)
            return err_new(ERR_QUERY_PARAMETER_SDD_INVALID);
        end = str_find(path, '/', i == 0 ? 0 : end + 1);
    }
    *out = str_head(path, end);
    return OK;
}

/* For tables, whose batches have no table in the path, tn names it; elsewhere both must agree. */
static struct err container_of_table(const struct sas *sas, struct str *out)
{
    struct str given = sas->value[SAS_TN];
    if (!str_given(*out))
        *out = given;
    else if (str_given(given) && !str_ieq(given, *out))
        return not_in_scope(sas);
    return OK;
}

static void put_lower(struct buf *b, struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        buf_putc(b, ascii_lower(s.p[i]));
}

static void put_resource(struct sas *sas, struct str container, struct str object)
{
    static const struct str PREFIX[] = {STR_INIT("/blob"), STR_INIT("/queue"), STR_INIT("/table"),
                                        STR_INIT("/file")};
    struct buf name = buf_in(sas->arena);
    if (sas->version >= 20150221)
        buf_put(&name, PREFIX[sas->input->service]);
    buf_putc(&name, '/');
    buf_put(&name, sas->input->account);
    buf_putc(&name, '/');
    if (sas->input->service == SERVICE_TABLE)
        put_lower(&name, container);
    else
        buf_put(&name, container);
    if (object.n > 0) {
        buf_putc(&name, '/');
        buf_put(&name, object);
    }
    sas->resource = buf_str(&name);
}

struct err sas_name_resource(struct sas *sas)
{
    struct str container = sas->input->container, object = STR_NONE;
    if (sas->input->service == SERVICE_TABLE)
        TRY(container_of_table(sas, &container));
    if (container.n == 0)
        return not_in_scope(sas);
    if (sas->scope == SAS_SCOPE_DIRECTORY) {
        TRY(directory_of(sas, &object));
    } else if (sas->scope != SAS_SCOPE_CONTAINER) {
        object = sas->input->object;
        if (object.n == 0)
            return not_in_scope(sas);
    }
    sas->container = container;
    sas->path = object;
    put_resource(sas, container, object);
    return OK;
}

/* ---- the lines ---- */

struct str sas_moment(const struct sas *sas)
{
    if (sas->scope == SAS_SCOPE_SNAPSHOT)
        return sas->value[SAS_SNAPSHOT];
    return sas->scope == SAS_SCOPE_VERSION ? sas->value[SAS_VERSIONID] : STR_NONE;
}

/* One value at most: the text has only the first, and an operation may read them all. */
static bool is_there_once(const struct auth_pair *pairs, size_t count, struct str name)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += str_ieq(pairs[i].name, name);
    return found <= 1;
}

bool sas_names_are_signable(const struct sas *sas)
{
    const struct auth_input *input = sas->input;
    struct str headers = sas->value[SAS_SRH], parameters = sas->value[SAS_SRQ];
    while (headers.n > 0) {
        struct str name = str_cut(&headers, ',');
        if (!auth_is_signable_name(name) || !auth_is_signable_header(auth_header(input, name)) ||
            !is_there_once(input->headers, input->header_count, name))
            return false;
    }
    while (parameters.n > 0) {
        struct str name = str_cut(&parameters, ',');
        if (!auth_is_signable_name(name) || !auth_is_signable(auth_query(input, name)) ||
            !is_there_once(input->query, input->query_count, name))
            return false;
    }
    return true;
}

/* The request's own values of the signed names: if they differ from what the issuer signed, the
 * signature does not match. */
static void put_request_headers(struct sas *sas)
{
    struct str names = sas->value[SAS_SRH];
    while (names.n > 0) {
        struct str name = str_cut(&names, ',');
        buf_put(&sas->text, name);
        buf_putc(&sas->text, ':');
        buf_put(&sas->text, auth_header(sas->input, name));
        buf_putc(&sas->text, '\n');
    }
}

static void put_request_query(struct sas *sas)
{
    struct str names = sas->value[SAS_SRQ];
    while (names.n > 0) {
        struct str name = str_cut(&names, ',');
        buf_putc(&sas->text, '\n');
        buf_put(&sas->text, name);
        buf_putc(&sas->text, ':');
        buf_put(&sas->text, auth_query(sas->input, name));
    }
}

static void put_line(struct sas *sas, unsigned char line)
{
    if (line < SAS_FIELD_COUNT)
        buf_put(&sas->text, sas->value[line]);
    else if (line == L_RESOURCE)
        buf_put(&sas->text, sas->resource);
    else if (line == L_ACCOUNT)
        buf_put(&sas->text, sas->input->account);
    else if (line == L_MOMENT)
        buf_put(&sas->text, sas_moment(sas));
    else if (line == L_HEADERS)
        put_request_headers(sas);
    else if (line == L_QUERY)
        put_request_query(sas);
}

/* Returns true if the line signs that parameter. */
static bool signs(unsigned char line, enum sas_field field)
{
    return line == field || (line == L_HEADERS && field == SAS_SRH) ||
           (line == L_QUERY && field == SAS_SRQ);
}

/* Parameters that restrict or describe a SAS must be signed, or the SAS is refused: a layout counts
 * only if it signs all of those that were sent. Otherwise the holder could drop a restriction (srh
 * under an sv that did not know it) or add one. Exceptions: sr, which has its own table
 * (sas_params.c); overrides, which take effect only where signed; parameters in every text. */
static bool signs_all_that_is_given(const struct sas *sas, const unsigned char *lines)
{
    static const unsigned char FIELDS[] = {SAS_SIP, SAS_SPR, SAS_SI,  L_KEY,   L_AGENTS,
                                           L_USER,  SAS_SES, SAS_SRH, SAS_SRQ, L_RANGE};
    for (size_t i = 0; i < sizeof FIELDS; i++) {
        if (!str_given(sas->value[FIELDS[i]]))
            continue;
        size_t at = 0;
        while (lines[at] != L_END && !signs(lines[at], FIELDS[i]))
            at++;
        if (lines[at] == L_END)
            return false;
    }
    return true;
}

/* SDKs disagree on the sv from which the newest lines of a user delegation SAS are signed. */
static bool may_be_older(const struct sas *sas)
{
    return sas->kind == AUTH_DELEGATION_SAS && sas->version >= 20250705;
}

static const unsigned char *layout_at(const struct sas *sas, size_t wanted)
{
    size_t found = 0;
    const struct layout *own = NULL;
    for (const struct layout *at = layouts_of(sas); at->lines != NULL; at++) {
        if (at->since > sas->version)
            continue;
        if (own == NULL)
            own = at;
        if (!signs_all_that_is_given(sas, at->lines) ||
            (at != own && (!may_be_older(sas) || at->since < 20201206)))
            continue;
        if (found++ == wanted)
            return at->lines;
    }
    return NULL;
}

bool sas_text(struct sas *sas, size_t i, struct str *text)
{
    const unsigned char *lines = layout_at(sas, i);
    if (lines == NULL)
        return false;
    buf_clear(&sas->text);
    buf_reserve(&sas->text, 512);
    for (; *lines != L_END; lines++) {
        put_line(sas, *lines);
        if (lines[1] != L_END)
            buf_putc(&sas->text, '\n');
    }
    *text = buf_str(&sas->text);
    return true;
}
