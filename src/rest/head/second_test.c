/* SPDX-License-Identifier: Apache-2.0 */
/* The rows that name a second resource, and the permissions it needs. WANTED lists them
 * independently of the tables: an unlisted row must name none, and tools/tidy.sh checks that only
 * second.c reads the headers that name one. test/rest/auth_second.test.mjs tests the results by
 * credential.
 */
#include "rest/head/second.h"

#include "core/test.h"
#include "rest/head/match.h"

struct wanted {
    enum service_kind service;
    const char *name;
    enum op_second second;
    bool tree;
};

static const struct wanted WANTED[] = {
    {SERVICE_BLOB, "CopyBlob", SECOND_COPY_SOURCE, false},
    {SERVICE_BLOB, "CopyBlobFromURL", SECOND_COPY_SOURCE, false},
    {SERVICE_BLOB, "IncrementalCopyBlob", SECOND_COPY_SOURCE, false},
    {SERVICE_BLOB, "PutBlobFromURL", SECOND_COPY_SOURCE, false},
    {SERVICE_BLOB, "PutBlockFromURL", SECOND_COPY_SOURCE, false},
    {SERVICE_BLOB, "PutPageFromURL", SECOND_COPY_SOURCE, false},
    {SERVICE_BLOB, "AppendBlockFromURL", SECOND_COPY_SOURCE, false},
    {SERVICE_FILE, "CopyFile", SECOND_COPY_SOURCE, false},
    {SERVICE_FILE, "PutRangeFromURL", SECOND_COPY_SOURCE, false},
    {SERVICE_FILE, "RenameFile", SECOND_RENAMED_FILE, false},
    {SERVICE_FILE, "RenameDirectory", SECOND_RENAMED_DIRECTORY, true},
    {SERVICE_FILE, "CreateHardLink", SECOND_LINKED_FILE, false},
};
enum { WANTED_COUNT = sizeof WANTED / sizeof WANTED[0] };

static const struct wanted *wanted_for(enum service_kind service, const char *name)
{
    for (size_t i = 0; i < WANTED_COUNT; i++)
        if (WANTED[i].service == service && strcmp(WANTED[i].name, name) == 0)
            return &WANTED[i];
    return NULL;
}

/* "name" or "name=value" of a row, against the header that names a second resource. */
static bool selects(const char *header, enum op_second second)
{
    return header != NULL && str_ieq(str_of(header), second_header(second));
}

static void check_row(enum service_kind service, const struct op *op)
{
    const struct wanted *wanted = wanted_for(service, op->name);
    enum op_second second = wanted == NULL ? SECOND_NONE : wanted->second;
    if (op->second != second || op->tree != (wanted != NULL && wanted->tree))
        test_fail(__FILE__, __LINE__, "%s: say in WANTED what it names beside its path", op->name);
    for (int i = SECOND_NONE + 1; i < SECOND_COUNT; i++)
        if ((selects(op->header, (enum op_second)i) ||
             selects(op->header_too, (enum op_second)i)) &&
            op->second == SECOND_NONE)
            test_fail(__FILE__, __LINE__, "%s: is told by a second resource, and names none",
                      op->name);
}

void test_second_rows_say_what_they_name(void)
{
    for (size_t s = 0; s < SERVICE_KIND_COUNT; s++) {
        const struct op_table *table = match_table((enum service_kind)s);
        for (size_t i = 0; i < table->count; i++)
            check_row((enum service_kind)s, &table->rows[i]);
    }
}

static const struct op *row_named(enum service_kind service, const char *name)
{
    const struct op_table *table = match_table(service);
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->rows[i].name, name) == 0)
            return &table->rows[i];
    return NULL;
}

/* A second resource needs what these rows demand: the letters, and for a token the role. Moving
 * uses different letters, which docs/operations.md lists. */
void test_second_needs(void)
{
    static const struct {
        enum op_second second;
        enum service_kind service;
        const char *letters[SECOND_NEEDS_MAX];
        bool write[SECOND_NEEDS_MAX];
        const char *instead;
    } NEEDS[] = {
        {SECOND_COPY_SOURCE, SERVICE_BLOB, {"r"}, {false}, NULL},
        {SECOND_COPY_SOURCE, SERVICE_FILE, {"r"}, {false}, NULL},
        {SECOND_RENAMED_FILE, SERVICE_FILE, {"d"}, {true}, "dr+w"},
        {SECOND_RENAMED_DIRECTORY, SERVICE_FILE, {"d"}, {true}, "dr+w"},
        {SECOND_LINKED_FILE, SERVICE_FILE, {"r", "w"}, {false, true}, NULL},
    };
    for (size_t i = 0; i < sizeof NEEDS / sizeof NEEDS[0]; i++) {
        struct second_needs needs = second_needs_of(NEEDS[i].second, NEEDS[i].service);
        CHECK((needs.letters == NULL) == (NEEDS[i].instead == NULL));
        if (needs.letters != NULL)
            CHECK_STR(str_of(needs.letters), str_of(NEEDS[i].instead));
        for (size_t n = 0; n < SECOND_NEEDS_MAX; n++) {
            CHECK((needs.rows[n] == NULL) == (NEEDS[i].letters[n] == NULL));
            if (needs.rows[n] == NULL)
                continue;
            const struct op *row = row_named(NEEDS[i].service, needs.rows[n]);
            CHECK(row != NULL);
            CHECK_STR(str_of(row->service_sas), str_of(NEEDS[i].letters[n]));
            CHECK_STR(str_of(row->account_sas), str_of(NEEDS[i].letters[n]));
            CHECK(row->account_sas_type == 'o');
            CHECK(op_demand(row).write == NEEDS[i].write[n]);
        }
    }
    CHECK_STR(str_of(second_needs_of(SECOND_RENAMED_PATH, SERVICE_BLOB).letters), STR("md"));
    CHECK(second_needs_of(SECOND_RENAMED_FILE, SERVICE_BLOB).rows[0] == NULL);
}
