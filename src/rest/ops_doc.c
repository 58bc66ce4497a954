/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/ops_doc.h"

#include <stdio.h>

#include "rest/head/match.h"
#include "rest/head/second.h"

static const char *resource_name(enum op_resource resource)
{
    static const char *const names[] = {
        [R_SERVICE] = "account",      [R_CONTAINER] = "container", [R_OBJECT] = "object",
        [R_MESSAGES] = "messages",    [R_MESSAGE] = "message",     [R_TABLES] = "Tables",
        [R_TABLE] = "Tables('name')", [R_ENTITIES] = "table()",    [R_ENTITY] = "table(key)",
        [R_BATCH] = "$batch",         [R_WEBSITE] = "website",     [R_ANY] = "any",
    };
    return names[resource];
}

static void print_methods(unsigned methods)
{
    const char *comma = "";
    for (int m = HTTP_GET; m < HTTP_METHOD_OTHER; m++) {
        if ((methods & 1U << m) == 0)
            continue;
        struct str name = http_method_name((enum http_method)m);
        printf("%s%.*s", comma, STR_ARG(name));
        comma = " ";
    }
}

static void print_selector(const struct op *op)
{
    const char *space = "";
    const struct {
        const char *name;
        const char *value;
    } parts[] = {{"restype=", op->restype}, {"comp=", op->comp}, {"", op->query}, {"", op->header}};
    for (size_t i = 0; i < 4; i++) {
        if (parts[i].value == NULL)
            continue;
        printf("%s`%s%s`", space, parts[i].name, parts[i].value);
        space = " ";
    }
}

static void print_conditions(unsigned conditions)
{
    static const char letters[] = "MNSUT";
    for (unsigned i = 0; i < 5; i++)
        if ((conditions & 1U << i) != 0)
            putchar(letters[i]);
}

/* "`header` as GetBlob or GetFile", "`header` as DeleteFile, by a SAS with dr+w" */
static void print_second(enum op_second second)
{
    static const enum service_kind SERVICES[] = {SERVICE_BLOB, SERVICE_FILE};
    const char *joint = "";
    if (second == SECOND_NONE)
        return;
    printf("`%.*s` as ", STR_ARG(second_header(second)));
    for (size_t i = 0; i < sizeof SERVICES / sizeof SERVICES[0]; i++) {
        struct second_needs needs = second_needs_of(second, SERVICES[i]);
        for (size_t n = 0; n < SECOND_NEEDS_MAX && needs.rows[n] != NULL; n++)
            printf("%s%s", n > 0 ? " and " : joint, needs.rows[n]);
        if (needs.letters != NULL)
            printf(", by a SAS with %s", needs.letters);
        joint = needs.rows[0] != NULL ? " or " : "";
    }
}

static void print_row(const struct op *op)
{
    static const char *const anonymous[] = {"", "blob", "container", "always"};
    static const char *const modes[] = {
        [MODE_READ] = "read",
        [MODE_WRITE] = "write",
        [MODE_DIRECT] = "direct",
        [MODE_START] = "started",
        [MODE_START_READ] = "started read",
    };
    static const char *const bodies[] = {"", "small", "streamed"};
    printf("| %s | ", op->name);
    print_methods(op->methods);
    printf(" | %s | ", resource_name(op->resource));
    print_selector(op);
    printf(" | ");
    if (op->account_sas != NULL)
        printf("%c: %s", op->account_sas_type, op->account_sas);
    printf(" | %s | %s | ", op->service_sas == NULL ? "" : op->service_sas,
           anonymous[op->anonymous]);
    print_second(op->second);
    printf(" | ");
    print_conditions(op->conditions);
    printf(" | %s | %s |\n", bodies[op->body], modes[op->mode]);
}

void ops_doc_print(void)
{
    static const struct {
        const char *title;
        const struct op_table *table;
    } services[] = {{"Blob", &OPS_BLOB},
                    {"Queue", &OPS_QUEUE},
                    {"Table", &OPS_TABLE},
                    {"File", &OPS_FILE},
                    {"Data Lake Storage", &OPS_DFS}};
    puts(
        "# Operations\n\nMade by `lazuli --ops`; do not edit. Conditions: M If-Match, N If-None-Match, "
        "S If-Modified-Since,\nU If-Unmodified-Since, T x-ms-if-tags. SAS letters: any one of them "
        "suffices,\nthose that a + joins only together: dr+w is d, or r and w.\n"
        "What a request names beside its path needs the leave for the operations named with it.");
    for (size_t service = 0; service < sizeof services / sizeof services[0]; service++) {
        const struct op_table *table = services[service].table;
        printf("\n## %s\n\n| operation | method | resource | told by | account SAS | service SAS | "
               "anonymous | names too | conditions | body | mode |\n"
               "|---|---|---|---|---|---|---|---|---|---|---|\n",
               services[service].title);
        for (size_t i = 0; i < table->count; i++)
            if (!table->rows[i].unserved)
                print_row(&table->rows[i]);
    }
}
