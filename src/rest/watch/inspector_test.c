/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/watch/inspector.h"

#include "core/test.h"
#include "rest/head/match.h"

struct fixture {
    struct inspector *in;
    struct arena arena;
    struct loop *loop;
    struct http_exchange x;
    struct rest_call call;
};

static const struct op *op_named(const char *name)
{
    const struct op_table *table = match_table(SERVICE_BLOB);
    for (size_t i = 0; i < table->count; i++)
        if (str_eq(str_of(table->rows[i].name), str_of(name)))
            return &table->rows[i];
    test_fail(__FILE__, __LINE__, "no operation %s", name);
}

static void init(struct fixture *f)
{
    *f = (struct fixture){.in = inspector_new(false)};
    arena_init(&f->arena, 1 << 20);
    CHECK_OK(loop_new(&f->loop));
    f->x.loop = f->loop;
    f->call = (struct rest_call){.x = &f->x,
                                 .arena = &f->arena,
                                 .service = SERVICE_BLOB,
                                 .account = STR("account"),
                                 .container = STR("box"),
                                 .object = STR("thing"),
                                 .op = op_named("PutBlob"),
                                 .now = 1000,
                                 .request_id = "00000000-0000-0000-0000-000000000001"};
}

static void release(struct fixture *f)
{
    inspector_free(f->in);
    arena_release(&f->arena);
    loop_free(f->loop);
}

static size_t find(struct fixture *f, struct inspector_filter filter, struct inspector_event *out)
{
    uint64_t next;
    filter.account = str_given(filter.account) ? filter.account : STR("account");
    filter.kinds = filter.kinds != 0 ? filter.kinds : 1U << INSPECTOR_REFUSED;
    return inspector_find(f->in, &filter, out, &next);
}

void test_inspector_rule_of_each_refusal(void)
{
    static const struct {
        enum err_code code;
        const char *op;
        bool container;
        enum inspector_rule rule;
    } CASES[] = {
        {ERR_CONDITION_NOT_MET, "PutBlob", false, RULE_B3},
        {ERR_NOT_MODIFIED, "GetBlob", false, RULE_B3},
        {ERR_SOURCE_CONDITION_NOT_MET, "CopyBlob", false, RULE_B6},
        {ERR_LEASE_ALREADY_PRESENT, "LeaseBlob", false, RULE_L2},
        {ERR_LEASE_ID_MISSING, "PutBlob", false, RULE_L3},
        {ERR_LEASE_ID_MISMATCH_WITH_BLOB_OPERATION, "GetBlob", false, RULE_L5},
        {ERR_LEASE_ID_MISSING, "DeleteContainer", true, RULE_L7},
        {ERR_LEASE_LOST, "PutBlob", false, RULE_L4},
        {ERR_LEASE_ID_MISMATCH_WITH_LEASE_OPERATION, "LeaseBlob", false, RULE_L1},
        {ERR_UPDATE_CONDITION_NOT_SATISFIED, "PutBlob", false, RULE_T2},
        {ERR_SHARING_VIOLATION, "PutBlob", false, RULE_S2},
        {ERR_SMB_DELETE_PENDING, "PutBlob", false, RULE_S3},
        {ERR_CONTAINER_ALREADY_EXISTS, "CreateContainer", true, RULE_NONE},
    };
    struct fixture f;
    struct inspector_event event;
    init(&f);
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        f.call.op = op_named(CASES[i].op);
        f.call.object = CASES[i].container ? STR_NONE : STR("thing");
        inspector_refused(f.in, &f.call, err_new(CASES[i].code));
        CHECK_INT(find(&f, (struct inspector_filter){.count_max = 1}, &event), 1);
        CHECK_INT(event.rule, CASES[i].rule);
        CHECK_INT(event.error, CASES[i].code);
        CHECK_INT(event.sequence, i + 1);
    }
    /* What is refused for other reasons is of no concern here. */
    inspector_refused(f.in, &f.call, err_new(ERR_AUTHENTICATION_FAILED));
    inspector_refused(f.in, &f.call, err_new(ERR_BLOB_NOT_FOUND));
    inspector_refused(NULL, &f.call, err_new(ERR_CONDITION_NOT_MET));
    CHECK_INT(find(&f, (struct inspector_filter){.count_max = 1}, &event), 1);
    CHECK_INT(event.sequence, sizeof CASES / sizeof CASES[0]);
    release(&f);
}

void test_inspector_is_bounded_and_keeps_the_newest(void)
{
    enum { MORE = 7 };
    static struct inspector_event events[INSPECTOR_REFUSALS + MORE];
    struct fixture f;
    init(&f);
    for (int i = 0; i < INSPECTOR_REFUSALS + MORE; i++)
        inspector_refused(f.in, &f.call, err_new(ERR_CONDITION_NOT_MET));
    struct inspector_filter all = {.count_max = INSPECTOR_REFUSALS + MORE};
    CHECK_INT(find(&f, all, events), INSPECTOR_REFUSALS);
    CHECK_INT(events[0].sequence, MORE + 1);
    CHECK_INT(events[INSPECTOR_REFUSALS - 1].sequence, INSPECTOR_REFUSALS + MORE);
    all.after = INSPECTOR_REFUSALS + MORE - 2;
    CHECK_INT(find(&f, all, events), 2);
    all.account = STR("another");
    CHECK_INT(find(&f, all, events), 0);
    CHECK_INT(inspector_conflicts(f.in, SERVICE_BLOB, RULE_B3), INSPECTOR_REFUSALS + MORE);
    inspector_forget(f.in, STR("account"));
    all.account = STR("account");
    CHECK_INT(find(&f, all, events), 0);
    release(&f);
}

/* In a race the loser may be answered before the winner. */
void test_inspector_writer_that_is_told_of_late(void)
{
    struct fixture f;
    struct inspector_event event;
    init(&f);
    f.call.verdict = (struct verdict){.check = VERDICT_IF_MATCH, .exists = true, .etag = 78};
    inspector_refused(f.in, &f.call, err_new(ERR_CONDITION_NOT_MET));
    f.call.etag = 77; /* another write does not answer for it */
    inspector_succeeded(f.in, &f.call);
    CHECK_INT(find(&f, (struct inspector_filter){.count_max = 1}, &event), 1);
    CHECK(!event.maker.current);
    f.call.etag = 78;
    inspector_succeeded(f.in, &f.call);
    CHECK_INT(find(&f, (struct inspector_filter){.count_max = 1}, &event), 1);
    CHECK(event.maker.known && event.maker.current);
    CHECK_INT(event.maker.etag, 78);
    release(&f);
}

void test_inspector_maker_is_current_by_its_etag(void)
{
    struct fixture f;
    struct inspector_event event;
    init(&f);
    f.call.etag = 77;
    inspector_succeeded(f.in, &f.call);
    f.call.verdict = (struct verdict){.check = VERDICT_IF_MATCH, .exists = true, .etag = 77};
    inspector_refused(f.in, &f.call, err_new(ERR_CONDITION_NOT_MET));
    CHECK_INT(find(&f, (struct inspector_filter){.count_max = 1}, &event), 1);
    CHECK(event.maker.known && event.maker.current);
    CHECK_INT(event.rule, RULE_B2);
    f.call.verdict.etag = 78; /* written meanwhile by somebody who is not known */
    inspector_refused(f.in, &f.call, err_new(ERR_CONDITION_NOT_MET));
    CHECK_INT(find(&f, (struct inspector_filter){.count_max = 1}, &event), 1);
    CHECK(event.maker.known && !event.maker.current);
    f.call.object = STR("another");
    inspector_refused(f.in, &f.call, err_new(ERR_CONDITION_NOT_MET));
    CHECK_INT(find(&f, (struct inspector_filter){.count_max = 1}, &event), 1);
    CHECK(!event.maker.known);
    release(&f);
}

/* The second name has the same hash as the first: writers of one account are not shown to another,
 * and ending a lease there does not remove this one's record. */
void test_inspector_names_of_one_hash_are_told_apart_by_account(void)
{
    const struct inspector_name ours = {SERVICE_BLOB, STR("account"), STR("box"),
                                        STR("thing"), STR_NONE,       STR_NONE};
    const struct inspector_name theirs = {
        SERVICE_BLOB, STR("other"), STR("box"), STR("aaaacmcbQ)$c9X!H"), STR_NONE, STR_NONE};
    struct fixture f;
    struct inspector_event event;
    CHECK(inspector_hash(&ours) == inspector_hash(&theirs));
    init(&f);
    inspector_succeeded(f.in, &f.call);
    f.call.op = op_named("LeaseBlob");
    inspector_succeeded(f.in, &f.call);
    CHECK(inspector_lease_holder(f.in, &ours).known);
    CHECK(!inspector_lease_holder(f.in, &theirs).known);
    f.call.account = theirs.account;
    f.call.object = theirs.object;
    f.call.op = op_named("DeleteBlob");
    f.call.verdict = (struct verdict){.check = VERDICT_IF_MATCH, .exists = true, .etag = 77};
    inspector_refused(f.in, &f.call, err_new(ERR_CONDITION_NOT_MET));
    struct inspector_filter filter = {.account = theirs.account, .count_max = 1};
    CHECK_INT(find(&f, filter, &event), 1);
    CHECK(!event.maker.known);
    inspector_succeeded(f.in, &f.call);
    CHECK(inspector_lease_holder(f.in, &ours).known);
    release(&f);
}

void test_inspector_names_are_cut_between_characters(void)
{
    struct fixture f;
    struct inspector_event event;
    char name[INSPECTOR_NAME_MAX + 2];
    init(&f);
    memset(name, 'x', sizeof name);
    memcpy(name + INSPECTOR_NAME_MAX - 1, "\xC3\xA4", 2);
    f.call.object = (struct str){name, sizeof name - 1};
    inspector_refused(f.in, &f.call, err_new(ERR_CONDITION_NOT_MET));
    CHECK_INT(find(&f, (struct inspector_filter){.count_max = 1}, &event), 1);
    CHECK_INT(strlen(event.object), INSPECTOR_NAME_MAX - 1);
    CHECK(str_is_utf8(str_of(event.object)));
    release(&f);
}

/* Texts of any length are kept, cut where they are too long, and come back as they were sent. */
void test_inspector_shows_a_write_as_it_was_sent(void)
{
    static struct http_header headers[] = {
        {STR_INIT("x-ms-client-request-id"), {NULL, 0}},
        {STR_INIT("User-Agent"), {NULL, 0}},
    };
    const struct inspector_filter writes = {.kinds = 1U << INSPECTOR_WROTE, .count_max = 1};
    struct fixture f;
    struct inspector_event event;
    char text[400];
    memset(text, 'x', sizeof text);
    init(&f);
    f.x.request.headers = headers;
    f.x.request.header_count = 2;
    for (size_t n = 1; n <= 400; n += n < 10 ? 1 : 13) {
        headers[0].value = headers[1].value = (struct str){text, n};
        f.call.key_pk = (struct str){text, n / 2};
        f.call.key_rk = (struct str){text, n};
        f.call.status = 204;
        inspector_succeeded(f.in, &f.call);
        CHECK_INT(find(&f, writes, &event), 1);
        size_t name = n / 2 + 1 + n;
        CHECK_INT(strlen(event.object), name < INSPECTOR_NAME_MAX ? name : INSPECTOR_NAME_MAX);
        CHECK(n / 2 >= INSPECTOR_NAME_MAX || event.object[n / 2] == '/');
        CHECK_INT(strlen(event.who.client_request_id), n < 47 ? n : 47);
        CHECK_INT(strlen(event.who.agent), n < 63 ? n : 63);
        CHECK_STR(str_of(event.who.request_id), STR("00000000-0000-0000-0000-000000000001"));
        CHECK_STR(str_of(event.container), STR("box"));
        CHECK_INT(event.status, 204);
    }
    release(&f);
}
