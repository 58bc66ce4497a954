/* SPDX-License-Identifier: Apache-2.0 */
/* Permissions of every operation. WANTED repeats them from docs/protocol/facts.md §3.8,
 * independently of the tables: an operation without a line here, or with a different row, fails.
 * Then every row is tried with every kind of SAS and every letter, really signed, and must permit
 * the request or give the exact refusal. */
#include "auth/auth_fixture.h"
#include "auth/sas.h"
#include "core/text/base64.h"
#include "rest/head/match.h"
#include "rest/op.h"

#define ACCOUNT ACCOUNT_WELL_KNOWN_NAME
#define ALL     "racwdxyltfmeopiu"

struct wanted {
    enum service_kind service;
    const char *name;
    const char *account; /* NULL: no account SAS */
    char type;           /* '*': any */
    const char *service_sas;
    enum auth_anonymous anonymous;
};

// clang-format off
#define BLOB  SERVICE_BLOB
#define QUEUE SERVICE_QUEUE
#define TABLE SERVICE_TABLE
#define FILES SERVICE_FILE
#define NEVER AUTH_ANONYMOUS_NEVER
#define LEVEL_BLOB AUTH_ANONYMOUS_BLOB
#define LEVEL_CONTAINER AUTH_ANONYMOUS_CONTAINER
/* An operation that has several rows (told apart by a header) has a line for each, in their order. */
static const struct wanted WANTED[] = {
    {BLOB, "ListContainers", "l", 's', NULL, NEVER},
    {BLOB, "GetBlobServiceProperties", "r", 's', NULL, NEVER},
    {BLOB, "SetBlobServiceProperties", "w", 's', NULL, NEVER},
    {BLOB, "GetBlobServiceStats", "r", 's', NULL, NEVER},
    {BLOB, "GetAccountInformation", ALL, '*', ALL, NEVER},
    {BLOB, "GetUserDelegationKey", NULL, 0, NULL, NEVER},
    {BLOB, "SubmitBatch", ALL, '*', NULL, NEVER},
    {BLOB, "SubmitBatch", ALL, '*', NULL, NEVER}, /* with the account in the path */
    {BLOB, "SubmitBatchInContainer", ALL, '*', ALL, NEVER},
    {BLOB, "CreateContainer", "cw", 'c', NULL, NEVER},
    {BLOB, "GetContainerProperties", "r", 'c', NULL, LEVEL_CONTAINER},
    {BLOB, "GetContainerMetadata", "r", 'c', NULL, LEVEL_CONTAINER},
    {BLOB, "SetContainerMetadata", "w", 'c', NULL, NEVER},
    {BLOB, "GetContainerACL", NULL, 0, NULL, NEVER},
    {BLOB, "SetContainerACL", NULL, 0, NULL, NEVER},
    {BLOB, "DeleteContainer", "d", 'c', NULL, NEVER},
    {BLOB, "RestoreContainer", "w", 'c', NULL, NEVER},
    {BLOB, "LeaseContainer", "wd", 'c', NULL, NEVER}, /* break */
    {BLOB, "LeaseContainer", "w", 'c', NULL, NEVER},
    {BLOB, "ListBlobs", "l", 'c', "l", LEVEL_CONTAINER},
    {BLOB, "FindBlobsByTags", "f", 's', NULL, NEVER},
    {BLOB, "FindBlobsByTagsInContainer", "f", 'c', "f", NEVER},
    {BLOB, "AbortCopyBlob", "w", 'o', "w", NEVER},
    {BLOB, "IncrementalCopyBlob", "cw", 'o', "cw", NEVER},
    {BLOB, "PutBlobFromURL", "cw", 'o', "cw", NEVER},
    {BLOB, "CopyBlobFromURL", "cw", 'o', "cw", NEVER},
    {BLOB, "PutBlockFromURL", "cw", 'o', "cw", NEVER},
    {BLOB, "PutPageFromURL", "w", 'o', "w", NEVER},
    {BLOB, "AppendBlockFromURL", "aw", 'o', "aw", NEVER},
    {BLOB, "CopyBlob", "cw", 'o', "cw", NEVER},
    {BLOB, "PutBlob", "cw", 'o', "cw", NEVER},
    {BLOB, "PutBlob", "cw", 'o', "cw", NEVER}, /* of an append blob */
    {BLOB, "PutBlob", "cw", 'o', "cw", NEVER}, /* of a page blob */
    {BLOB, "PutPage", "w", 'o', "w", NEVER},
    {BLOB, "GetPageRanges", "r", 'o', "r", LEVEL_BLOB},
    {BLOB, "AppendBlock", "aw", 'o', "aw", NEVER},
    {BLOB, "AppendBlobSeal", "w", 'o', "w", NEVER},
    {BLOB, "GetBlob", "r", 'o', "r", LEVEL_BLOB},
    {BLOB, "GetBlobProperties", "r", 'o', "r", LEVEL_BLOB},
    {BLOB, "GetBlobMetadata", "r", 'o', "r", LEVEL_BLOB},
    {BLOB, "SetBlobProperties", "w", 'o', "w", NEVER},
    {BLOB, "SetBlobMetadata", "w", 'o', "w", NEVER},
    {BLOB, "SetBlobTags", "t", 'o', "t", NEVER},
    {BLOB, "GetBlobTags", "t", 'o', "t", NEVER},
    {BLOB, "SetBlobTier", "w", 'o', "w", NEVER},
    {BLOB, "LeaseBlob", "wd", 'o', "wd", NEVER}, /* break */
    {BLOB, "LeaseBlob", "w", 'o', "w", NEVER},
    {BLOB, "SnapshotBlob", "cw", 'o', "cw", NEVER},
    {BLOB, "DeleteBlob", "y", 'o', "y", NEVER}, /* permanently */
    {BLOB, "DeleteBlob", "x", 'o', "x", NEVER}, /* of a version */
    {BLOB, "DeleteBlob", "d", 'o', "d", NEVER},
    {BLOB, "PutBlock", "cw", 'o', "cw", NEVER},
    {BLOB, "PutBlockList", "cw", 'o', "cw", NEVER},
    {BLOB, "GetBlockList", "r", 'o', "r", LEVEL_BLOB},
    {BLOB, "UndeleteBlob", "w", 'o', "w", NEVER},
    {BLOB, "SetBlobTier", "w", 'o', "w", NEVER},
    {BLOB, "GetBlobTags", "t", 'o', "t", NEVER},
    {BLOB, "SetBlobTags", "t", 'o', "t", NEVER},
    {BLOB, "SetBlobExpiry", "w", 'o', "w", NEVER},
    {BLOB, "SetBlobImmutabilityPolicy", "i", 'o', "i", NEVER},
    {BLOB, "DeleteBlobImmutabilityPolicy", "i", 'o', "i", NEVER},
    {BLOB, "SetBlobLegalHold", "i", 'o', "i", NEVER},
    {BLOB, "CopyBlob", "cw", 'o', "cw", NEVER},
    {BLOB, "CopyBlobFromURL", "cw", 'o', "cw", NEVER},
    {BLOB, "IncrementalCopyBlob", "cw", 'o', "cw", NEVER},
    {BLOB, "PutBlobFromURL", "cw", 'o', "cw", NEVER},
    {BLOB, "AbortCopyBlob", "w", 'o', "w", NEVER},
    {BLOB, "IncrementalCopyBlob", "cw", 'o', "cw", NEVER},
    {BLOB, "PutPageFromURL", "w", 'o', "w", NEVER},
    {BLOB, "AppendBlockFromURL", "aw", 'o', "aw", NEVER},
    {BLOB, "SealAppendBlob", "aw", 'o', "aw", NEVER},
    {BLOB, "QueryBlobContents", "r", 'o', "r", NEVER},
    {BLOB, "PutBlockFromURL", "cw", 'o', "cw", NEVER},

    {QUEUE, "ListQueues", "l", 's', NULL, NEVER},
    {QUEUE, "GetQueueServiceProperties", "r", 's', NULL, NEVER},
    {QUEUE, "SetQueueServiceProperties", "w", 's', NULL, NEVER},
    {QUEUE, "GetQueueServiceStats", "r", 's', NULL, NEVER},
    {QUEUE, "GetUserDelegationKey", NULL, 0, NULL, NEVER},
    {QUEUE, "CreateQueue", "cw", 'c', NULL, NEVER},
    {QUEUE, "DeleteQueue", "d", 'c', NULL, NEVER},
    {QUEUE, "GetQueueMetadata", "r", 'c', "r", NEVER},
    {QUEUE, "SetQueueMetadata", "w", 'c', NULL, NEVER},
    {QUEUE, "GetQueueACL", NULL, 0, NULL, NEVER},
    {QUEUE, "SetQueueACL", NULL, 0, NULL, NEVER},
    {QUEUE, "PutMessage", "a", 'o', "a", NEVER},
    {QUEUE, "GetMessages", "p", 'o', "p", NEVER},
    {QUEUE, "PeekMessages", "r", 'o', "r", NEVER},
    {QUEUE, "ListMessages", "r", 'o', NULL, NEVER},
    {QUEUE, "DeleteMessage", "p", 'o', "p", NEVER},
    {QUEUE, "ClearMessages", "d", 'o', NULL, NEVER},
    {QUEUE, "UpdateMessage", "u", 'o', "u", NEVER},

    {TABLE, "GetTableServiceProperties", "r", 's', NULL, NEVER},
    {TABLE, "SetTableServiceProperties", "w", 's', NULL, NEVER},
    {TABLE, "GetTableServiceStats", "r", 's', NULL, NEVER},
    {TABLE, "QueryTables", "l", 'c', NULL, NEVER},
    {TABLE, "GetTable", "l", 'c', NULL, NEVER},
    {TABLE, "CreateTable", "cw", 'c', NULL, NEVER},
    {TABLE, "DeleteTable", "d", 'c', NULL, NEVER},
    {TABLE, "GetTableACL", NULL, 0, NULL, NEVER},
    {TABLE, "SetTableACL", NULL, 0, NULL, NEVER},
    {TABLE, "QueryEntities", "r", 'o', "r", NEVER},
    {TABLE, "QueryEntity", "r", 'o', "r", NEVER},
    {TABLE, "InsertEntity", "a", 'o', "a", NEVER},
    {TABLE, "UpdateEntity", "u", 'o', "u", NEVER},
    {TABLE, "MergeEntity", "u", 'o', "u", NEVER},
    {TABLE, "InsertOrReplaceEntity", "a+u", 'o', "a+u", NEVER},
    {TABLE, "InsertOrMergeEntity", "a+u", 'o', "a+u", NEVER},
    {TABLE, "DeleteEntity", "d", 'o', "d", NEVER},
    {TABLE, "EntityGroupTransaction", "raud", 'o', "raud", NEVER}, /* and each part its own */

    {FILES, "ListShares", "l", 's', NULL, NEVER},
    {FILES, "GetFileServiceProperties", "r", 's', NULL, NEVER},
    {FILES, "SetFileServiceProperties", "w", 's', NULL, NEVER},
    {FILES, "GetUserDelegationKey", NULL, 0, NULL, NEVER},
    {FILES, "CreateShare", "cw", 'c', NULL, NEVER},
    {FILES, "SnapshotShare", "cw", 'c', NULL, NEVER},
    {FILES, "GetShareProperties", "r", 'c', NULL, NEVER},
    {FILES, "SetShareProperties", "w", 'c', NULL, NEVER},
    {FILES, "GetShareMetadata", "r", 'c', NULL, NEVER},
    {FILES, "SetShareMetadata", "w", 'c', NULL, NEVER},
    {FILES, "GetShareStats", "r", 'c', NULL, NEVER},
    {FILES, "DeleteShare", "d", 'c', NULL, NEVER},
    {FILES, "RestoreShare", "w", 'c', NULL, NEVER},
    {FILES, "GetShareACL", NULL, 0, NULL, NEVER},
    {FILES, "SetShareACL", NULL, 0, NULL, NEVER},
    {FILES, "LeaseShare", "wd", 'c', NULL, NEVER}, /* break */
    {FILES, "LeaseShare", "w", 'c', NULL, NEVER},
    {FILES, "ListDirectoriesAndFiles", "l", 'c', "l", NEVER},
    {FILES, "CreateDirectory", "cw", 'o', "cw", NEVER},
    {FILES, "GetDirectoryProperties", "r", 'o', "r", NEVER},
    {FILES, "SetDirectoryProperties", "w", 'o', "w", NEVER},
    {FILES, "GetDirectoryMetadata", "r", 'o', "r", NEVER},
    {FILES, "SetDirectoryMetadata", "w", 'o', "w", NEVER},
    {FILES, "DeleteDirectory", "d", 'o', "d", NEVER},
    {FILES, "CreateFile", "cw", 'o', "cw", NEVER},
    {FILES, "GetFile", "r", 'o', "r", NEVER},
    {FILES, "GetFileProperties", "r", 'o', "r", NEVER},
    {FILES, "SetFileProperties", "w", 'o', "w", NEVER},
    {FILES, "GetFileMetadata", "r", 'o', "r", NEVER},
    {FILES, "SetFileMetadata", "w", 'o', "w", NEVER},
    {FILES, "DeleteFile", "d", 'o', "d", NEVER},
    {FILES, "PutRange", "w", 'o', "w", NEVER},
    {FILES, "PutRangeFromURL", "w", 'o', "w", NEVER},
    {FILES, "ListRanges", "r", 'o', "r", NEVER},
    {FILES, "CopyFile", "w", 'o', "w", NEVER},
    {FILES, "AbortCopyFile", "w", 'o', "w", NEVER},
    {FILES, "LeaseFile", "w", 'o', "w", NEVER},
    {FILES, "CreatePermission", "w", 'c', "w", NEVER},
    {FILES, "GetPermission", "r", 'c', "r", NEVER},
    /* Those of a share's root have rows of their own. */
    {FILES, "CreateDirectory", "cw", 'o', "cw", NEVER},
    {FILES, "GetDirectoryProperties", "r", 'o', "r", NEVER},
    {FILES, "SetDirectoryProperties", "w", 'o', "w", NEVER},
    {FILES, "GetDirectoryMetadata", "r", 'o', "r", NEVER},
    {FILES, "SetDirectoryMetadata", "w", 'o', "w", NEVER},
    {FILES, "DeleteDirectory", "d", 'o', "d", NEVER},
    {FILES, "ListDirectoriesAndFiles", "l", 'c', "l", NEVER},
    {FILES, "ListHandles", "r", 'o', "r", NEVER},
    {FILES, "ListHandles", "r", 'o', "r", NEVER},
    {FILES, "ForceCloseHandles", "w", 'o', "w", NEVER},
    {FILES, "ForceCloseHandles", "w", 'o', "w", NEVER},
    {FILES, "RenameDirectory", "w", 'o', "w", NEVER},
    {FILES, "RenameFile", "w", 'o', "w", NEVER},
    {FILES, "CreateSymbolicLink", "cw", 'o', "cw", NEVER},
    {FILES, "GetSymbolicLink", "r", 'o', "r", NEVER},
    {FILES, "CreateHardLink", "cw", 'o', "cw", NEVER},
};
// clang-format on
enum { WANTED_COUNT = sizeof WANTED / sizeof WANTED[0] };

/* ---- what the rows say ---- */

static bool same_letters(const char *a, const char *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return strlen(a) == strlen(b) && strspn(a, b) == strlen(a) && strspn(b, a) == strlen(b);
}

/* The line of the table's i-th row; ends the test if there is none. */
static const struct wanted *wanted_for(enum service_kind service, const struct op_table *table,
                                       size_t i)
{
    const struct op *op = &table->rows[i];
    size_t before = 0;
    for (size_t k = 0; k < i; k++)
        before += strcmp(table->rows[k].name, op->name) == 0;
    for (size_t k = 0; k < WANTED_COUNT; k++)
        if (WANTED[k].service == service && strcmp(WANTED[k].name, op->name) == 0 && before-- == 0)
            return &WANTED[k];
    test_fail(__FILE__, __LINE__, "%s: say in WANTED who may call it", op->name);
}

void test_permission_rows_say_what_is_wanted(void)
{
    for (size_t s = 0; s < SERVICE_KIND_COUNT; s++) {
        const struct op_table *table = match_table((enum service_kind)s);
        for (size_t i = 0; i < table->count; i++) {
            const struct op *op = &table->rows[i];
            const struct wanted *wanted = wanted_for((enum service_kind)s, table, i);
            if (!same_letters(op->account_sas, wanted->account) ||
                !same_letters(op->service_sas, wanted->service_sas) ||
                op->anonymous != wanted->anonymous ||
                (op->account_sas != NULL && op->account_sas_type != wanted->type))
                test_fail(__FILE__, __LINE__, "%s: the row has account %s (%c), service %s",
                          op->name, op->account_sas, op->account_sas_type, op->service_sas);
        }
    }
}

/* The row's mode decides a token's role: an operation that changes nothing is a read. A GET that
 * changes something counts as a write, and a POST or PUT that does not is listed here. */
void test_permission_rows_tell_reads_from_writes(void)
{
    for (size_t s = 0; s < SERVICE_KIND_COUNT; s++) {
        const struct op_table *table = match_table((enum service_kind)s);
        for (size_t i = 0; i < table->count; i++) {
            const struct op *op = &table->rows[i];
            bool gets = (op->methods & ~(unsigned)(M_GET | M_HEAD)) == 0;
            bool takes = strcmp(op->name, "GetMessages") == 0;
            bool asks = strcmp(op->name, "QueryBlobContents") == 0 ||
                        strcmp(op->name, "GetUserDelegationKey") == 0;
            if (op_demand(op).write != (takes || (!gets && !asks)))
                test_fail(__FILE__, __LINE__, "%s: its mode is not that of its methods", op->name);
        }
    }
}

/* ---- what really happens ---- */

enum kind { KIND_ACCOUNT, KIND_CONTAINER, KIND_OBJECT, KIND_DELEGATED, KIND_COUNT };

/* sp, and for an account SAS ss and srt. */
struct grant {
    enum kind kind;
    const char *sp, *ss, *srt;
};

static void set_place(struct auth_fixture *f, enum service_kind service, const struct op *op)
{
    static const char *const NAMES[] = {"GET",    "HEAD",    "PUT",   "POST",
                                        "DELETE", "OPTIONS", "MERGE", "PATCH"};
    unsigned method = 0;
    while ((op->methods >> method & 1) == 0)
        method++;
    bool above = op->resource == R_SERVICE || op->resource == R_TABLES || op->resource == R_BATCH;
    f->input.service = service;
    f->input.method = str_of(NAMES[method]);
    f->input.container = above ? STR_NONE : STR("things");
    f->input.object = op->resource == R_OBJECT ? STR("thing") : STR_NONE;
    f->demand = op_demand(op);
}

static void add(struct auth_fixture *f, const char *name, const char *value)
{
    f->query[f->input.query_count++] = (struct auth_pair){str_of(name), str_of(value)};
}

static void add_delegation(struct auth_fixture *f)
{
    static const char *const SERVICES[] = {"b", "q", "t", "f"};
    add(f, "skoid", "oid");
    add(f, "sktid", "tid");
    add(f, "skt", "1994-11-06");
    add(f, "ske", "1994-11-07");
    add(f, "sks", SERVICES[f->input.service]);
    add(f, "skv", "2025-11-05");
}

static void add_scope(struct auth_fixture *f, enum kind kind)
{
    if (f->input.service == SERVICE_BLOB)
        add(f, "sr", kind == KIND_OBJECT ? "b" : "c");
    if (f->input.service == SERVICE_FILE)
        add(f, "sr", kind == KIND_OBJECT ? "f" : "s");
    if (f->input.service == SERVICE_TABLE)
        add(f, "tn", "things");
}

/* Signs as the issuer would. The tests of sas.c check the signed text. */
static struct str signature(struct auth_fixture *f, struct sas *sas)
{
    unsigned char mac[SHA256_BYTES];
    struct str text;
    struct account *account = accounts_get(f->accounts, STR(ACCOUNT));
    struct hmac_key key = account->keys[0];
    CHECK(sas_text(sas, 0, &text));
    if (sas->kind == AUTH_DELEGATION_SAS) {
        struct str value, secret;
        struct delegation d = {STR("oid"),        STR("tid"),          STR("1994-11-06"),
                               STR("1994-11-07"), sas->value[SAS_SKS], STR("2025-11-05"),
                               STR_NONE};
        CHECK_OK(auth_delegate(&f->server, STR(ACCOUNT), &d, &f->arena, &value));
        CHECK(base64_decode(&f->arena, value, &secret));
        hmac_key_init(&key, secret);
    }
    hmac_sign(&key, text, mac);
    account_put(account);
    return base64_encode(&f->arena, (struct str){(const char *)mac, sizeof mac});
}

static struct err try_grant(struct auth_fixture *f, const struct grant *grant)
{
    struct sas sas;
    f->input.query_count = 0;
    add(f, "sv", "2025-11-05");
    add(f, "sp", grant->sp);
    add(f, "se", "1994-11-07");
    if (grant->kind == KIND_ACCOUNT) {
        add(f, "ss", grant->ss);
        add(f, "srt", grant->srt);
    } else {
        add_scope(f, grant->kind);
    }
    if (grant->kind == KIND_DELEGATED)
        add_delegation(f);
    CHECK(sas_read(&sas, &f->input, &f->arena));
    if (grant->kind != KIND_ACCOUNT)
        TRY(sas_name_resource(&sas));
    f->query[f->input.query_count++] = (struct auth_pair){STR("sig"), signature(f, &sas)};
    return fixture_check(f);
}

static const char *meaningful(enum service_kind service, enum kind kind)
{
    static const char *const WHOLE[] = {"racwdxyltfmeopi", "raup", "raud", "rcwdl"};
    if (kind == KIND_ACCOUNT)
        return ALL;
    if (kind == KIND_OBJECT)
        return service == SERVICE_BLOB ? "racwdxyltmeopi" : "rcwd";
    return WHOLE[service];
}

static enum err_code expected(enum service_kind service, const struct wanted *wanted,
                              enum kind kind, const char *sp)
{
    const char *demanded = kind == KIND_ACCOUNT ? wanted->account : wanted->service_sas;
    char kept[32];
    size_t n = 0;
    if (demanded == NULL)
        return ERR_AUTHORIZATION_FAILURE;
    for (; *sp != '\0'; sp++)
        if (strchr(meaningful(service, kind), *sp) != NULL)
            kept[n++] = *sp;
    return permit_letters(demanded, (struct str){kept, n}) ? ERR_OK
                                                           : ERR_AUTHORIZATION_PERMISSION_MISMATCH;
}

/* The letters that do not suffice, even all together: none that the row accepts alone, and of a
 * combination ("a+u") only the first. */
static const char *insufficient(struct arena *arena, const char *demanded)
{
    struct buf out = buf_in(arena);
    for (const char *c = ALL; *c != '\0'; c++) {
        const char *at = demanded == NULL ? NULL : strchr(demanded, *c);
        if (at == NULL || at[1] == '+')
            buf_putc(&out, *c);
    }
    buf_putc(&out, '\0');
    return out.p;
}

/* An operation only for bearer tokens refuses every SAS before checking it. */
static bool is_for_bearers(const struct op *op)
{
    return strcmp(op->name, "GetUserDelegationKey") == 0;
}

static void check_row_and_kind(struct auth_fixture *f, const struct op *op,
                               const struct wanted *wanted, enum kind kind)
{
    enum service_kind service = f->input.service;
    const char *demanded = kind == KIND_ACCOUNT ? wanted->account : wanted->service_sas;
    const char *sets[sizeof ALL + 2];
    size_t count = 0;
    for (const char *c = ALL; *c != '\0'; c++)
        sets[count++] = arena_printf(&f->arena, "%c", *c).p;
    sets[count++] = ALL;
    const char *too_few = insufficient(&f->arena, demanded);
    if (too_few[0] != '\0')
        sets[count++] = too_few;
    for (size_t i = 0; i < count; i++) {
        struct grant grant = {kind, sets[i], "bqtf", "sco"};
        struct err got = try_grant(f, &grant);
        enum err_code want = is_for_bearers(op) ? ERR_AUTHENTICATION_FAILED
                             : op->tree && kind == KIND_OBJECT
                                 ? ERR_AUTHORIZATION_RESOURCE_TYPE_MISMATCH
                                 : expected(service, wanted, kind, sets[i]);
        if (got.code != want)
            test_fail(__FILE__, __LINE__, "%s by kind %d with sp=%s: %s, want %s", op->name, kind,
                      sets[i], err_azure_code(got.code), err_azure_code(want));
    }
}

/* A container's SAS is not valid above it, an object's not for the container; tables have no user
 * delegation SAS. */
static bool applies(enum service_kind service, const struct op *op, enum kind kind)
{
    bool above = op->resource == R_SERVICE || op->resource == R_TABLES;
    if (kind == KIND_ACCOUNT)
        return true;
    if (kind == KIND_OBJECT)
        return op->resource == R_OBJECT && (service == SERVICE_BLOB || service == SERVICE_FILE);
    return !above && (kind != KIND_DELEGATED || service != SERVICE_TABLE);
}

void test_permission_of_every_row_by_every_letter_and_kind(void)
{
    for (size_t s = 0; s < SERVICE_KIND_COUNT; s++) {
        enum service_kind service = (enum service_kind)s;
        const struct op_table *table = match_table(service);
        for (size_t i = 0; i < table->count; i++) {
            const struct wanted *wanted = wanted_for(service, table, i);
            for (int kind = 0; kind < KIND_COUNT; kind++) {
                struct auth_fixture f;
                fixture_init(&f);
                set_place(&f, service, &table->rows[i]);
                if (applies(service, &table->rows[i], (enum kind)kind))
                    check_row_and_kind(&f, &table->rows[i], wanted, (enum kind)kind);
                fixture_release(&f);
            }
        }
    }
}

/* An account SAS for other services or resource types does not permit the row. */
void test_permission_of_every_row_by_service_and_type(void)
{
    static const char *const OTHER_SERVICES[] = {"qtf", "btf", "bqf", "bqt"};
    for (size_t s = 0; s < SERVICE_KIND_COUNT; s++) {
        const struct op_table *table = match_table((enum service_kind)s);
        for (size_t i = 0; i < table->count; i++) {
            const struct op *op = &table->rows[i];
            struct auth_fixture f;
            fixture_init(&f);
            set_place(&f, (enum service_kind)s, op);
            struct grant grant = {KIND_ACCOUNT, ALL, OTHER_SERVICES[s], "sco"};
            CHECK_ERR(try_grant(&f, &grant), is_for_bearers(op)
                                                 ? ERR_AUTHENTICATION_FAILED
                                                 : ERR_AUTHORIZATION_SERVICE_MISMATCH);
            grant.ss = "bqtf";
            grant.srt = op->account_sas_type == 's'   ? "co"
                        : op->account_sas_type == 'c' ? "so"
                                                      : "sc";
            enum err_code want = is_for_bearers(op)        ? ERR_AUTHENTICATION_FAILED
                                 : op->account_sas == NULL ? ERR_AUTHORIZATION_FAILURE
                                 : op->account_sas_type == '*'
                                     ? ERR_OK
                                     : ERR_AUTHORIZATION_RESOURCE_TYPE_MISMATCH;
            CHECK_ERR(try_grant(&f, &grant), want);
            fixture_release(&f);
        }
    }
}

/* Anonymous requests are served only if the row allows it. */
void test_permission_of_every_row_without_credentials(void)
{
    for (size_t s = 0; s < SERVICE_KIND_COUNT; s++) {
        const struct op_table *table = match_table((enum service_kind)s);
        for (size_t i = 0; i < table->count; i++) {
            struct auth_fixture f;
            fixture_init(&f);
            set_place(&f, (enum service_kind)s, &table->rows[i]);
            CHECK(err_is(fixture_check(&f)));
            CHECK(table->rows[i].anonymous != AUTH_ANONYMOUS_ALWAYS);
            fixture_release(&f);
        }
    }
}
