/* SPDX-License-Identifier: Apache-2.0 */
/* Rules S1-S4 and every cell of docs/protocol/smb.md's two tables, through the C interface. */
#include "service/file/opens/fixture.h"

/* ---- S2: share modes against REST ---- */

static const enum opens_rest OPERATIONS[] = {OPENS_REST_CREATE, OPENS_REST_GET, OPENS_REST_WRITE,
                                             OPENS_REST_DELETE, OPENS_REST_LEASE};

/* In the order of OPERATIONS: does it fail while an SMB handle with this share mode is open? */
static const struct {
    unsigned sharing;
    bool fails[5];
} SHARE_TABLE[] = {
    {0, {true, true, true, true, true}},
    {OPENS_READ, {true, false, true, true, true}},
    {OPENS_WRITE, {true, true, false, true, true}},
    {OPENS_DELETE, {true, true, true, true, true}},
    {OPENS_READ | OPENS_WRITE, {true, false, false, true, true}},
    {OPENS_READ | OPENS_DELETE, {true, false, true, true, true}},
    {OPENS_WRITE | OPENS_DELETE, {false, true, false, true, true}},
    {OPENS_ALL, {false, false, false, true, false}},
};

void test_rule_S2_share_modes_against_every_rest_operation(void)
{
    struct fixture f;
    opens_start(&f);
    for (size_t row = 0; row < sizeof SHARE_TABLE / sizeof SHARE_TABLE[0]; row++) {
        struct opens_request request = smb_open(&f, OPENS_READ, SHARE_TABLE[row].sharing);
        struct opens_handle *h = must_open(&f, &request);
        bool remove;
        for (size_t i = 0; i < 5; i++) {
            struct err error = rest_result(&f, OPERATIONS[i]);
            enum err_code want = SHARE_TABLE[row].fails[i] ? ERR_SHARING_VIOLATION : ERR_OK;
            if (error.code != want)
                test_fail(__FILE__, __LINE__, "sharing %u, operation %zu: %s",
                          SHARE_TABLE[row].sharing, i, err_azure_code(error.code));
        }
        CHECK_OK(rest_result(&f, OPENS_REST_LIST));
        CHECK_OK(rest_result(&f, OPENS_REST_GET_PROPERTIES));
        opens_close(f.table, h, &remove);
        CHECK(!remove);
        for (size_t i = 0; i < 5; i++)
            CHECK_OK(rest_result(&f, OPERATIONS[i]));
    }
    opens_free(f.table);
}

void test_rule_S2_lease_needs_handles_without_write(void)
{
    struct fixture f;
    opens_start(&f);
    struct opens_request request = smb_open(&f, OPENS_READ | OPENS_WRITE, OPENS_ALL);
    struct opens_handle *h = must_open(&f, &request);
    bool remove;
    CHECK_ERR(rest_result(&f, OPENS_REST_LEASE), ERR_SHARING_VIOLATION);
    CHECK_OK(rest_result(&f, OPENS_REST_WRITE));
    opens_close(f.table, h, &remove);
    request = smb_open(&f, OPENS_WRITE, OPENS_ALL);
    request.rest_leased = true;
    CHECK_ERR(open_result(&f, &request), ERR_SHARING_VIOLATION);
    request.access = OPENS_DELETE;
    CHECK_ERR(open_result(&f, &request), ERR_SHARING_VIOLATION);
    request.access = OPENS_READ;
    CHECK_OK(open_result(&f, &request));
    opens_free(f.table);
}

/* ---- SMB against SMB ---- */

void test_opens_share_modes_among_smb(void)
{
    struct fixture f;
    opens_start(&f);
    for (unsigned access = 0; access <= OPENS_ALL; access++) {
        for (unsigned sharing = 0; sharing <= OPENS_ALL; sharing++) {
            struct opens_request first = smb_open(&f, access, sharing);
            struct opens_handle *h = must_open(&f, &first);
            for (unsigned a = 0; a <= OPENS_ALL; a++) {
                for (unsigned s = 0; s <= OPENS_ALL; s++) {
                    struct opens_request second = smb_open(&f, a, s);
                    bool fits =
                        a == 0 || access == 0 || ((a & ~sharing) == 0 && (access & ~s) == 0);
                    CHECK_ERR(open_result(&f, &second), fits ? ERR_OK : ERR_SHARING_VIOLATION);
                }
            }
            bool remove;
            opens_close(f.table, h, &remove);
        }
    }
    opens_free(f.table);
}

/* ---- S3: delete pending ---- */

void test_rule_S3_pending_until_the_last_handle_closes(void)
{
    struct fixture f;
    opens_start(&f);
    struct opens_request request = smb_open(&f, OPENS_READ | OPENS_DELETE, OPENS_ALL);
    struct opens_handle *a = must_open(&f, &request);
    struct opens_handle *b = must_open(&f, &request);
    bool remove;
    CHECK_OK(opens_set_delete(f.table, a, true));
    CHECK(opens_delete_pending(f.table, KEY));
    for (int op = OPENS_REST_GET_PROPERTIES; op <= OPENS_REST_RENAME; op++)
        CHECK_ERR(rest_result(&f, (enum opens_rest)op), ERR_SMB_DELETE_PENDING);
    CHECK_ERR(open_result(&f, &request), ERR_SMB_DELETE_PENDING);
    CHECK_OK(
        rest_result(&f, OPENS_REST_LIST)); /* List Handles and Force Close Handles still work */
    opens_close(f.table, a, &remove);
    CHECK(!remove);
    opens_close(f.table, b, &remove);
    CHECK(remove);
    CHECK_ERR(rest_result(&f, OPENS_REST_GET), ERR_SMB_DELETE_PENDING);
    opens_removed(f.table, KEY);
    CHECK_OK(rest_result(&f, OPENS_REST_GET)); /* the caller's lookup answers 404 now */
    opens_free(f.table);
}

void test_rule_S3_pending_can_be_taken_back(void)
{
    struct fixture f;
    opens_start(&f);
    struct opens_request request = smb_open(&f, OPENS_DELETE, OPENS_ALL);
    struct opens_handle *h = must_open(&f, &request);
    bool remove;
    CHECK_OK(opens_set_delete(f.table, h, true));
    CHECK_ERR(rest_result(&f, OPENS_REST_GET), ERR_SMB_DELETE_PENDING);
    CHECK_OK(opens_set_delete(f.table, h, false));
    CHECK_OK(rest_result(&f, OPENS_REST_GET));
    opens_close(f.table, h, &remove);
    CHECK(!remove);
    opens_free(f.table);
}

void test_rule_S3_delete_on_close_is_pending_for_rest(void)
{
    struct fixture f;
    opens_start(&f);
    struct opens_request request = smb_open(&f, OPENS_DELETE, OPENS_ALL);
    request.delete_on_close = true;
    struct opens_handle *h = must_open(&f, &request);
    struct opens_request other = smb_open(&f, OPENS_READ, OPENS_ALL);
    bool remove;
    CHECK_ERR(rest_result(&f, OPENS_REST_GET), ERR_SMB_DELETE_PENDING);
    CHECK_OK(open_result(&f, &other)); /* for SMB it is not pending before the close */
    opens_close(f.table, h, &remove);
    CHECK(remove);
    opens_removed(f.table, KEY);
    opens_free(f.table);
}

/* ---- claims ---- */

void test_opens_claim_holds_off_a_clashing_open(void)
{
    struct fixture f;
    opens_start(&f);
    struct opens_handle *claim = NULL;
    struct waiter w = {.wait.done = on_done};
    struct opens_rest_request write = {.key = KEY, .op = OPENS_REST_WRITE};
    CHECK_OK(opens_claim(f.table, &write, &w.wait, &claim));
    struct opens_request alone = smb_open(&f, OPENS_READ, OPENS_READ);
    struct opens_request shared = smb_open(&f, OPENS_READ, OPENS_ALL);
    struct opens_handle *h = NULL;
    unsigned granted;
    bool remove;
    CHECK_OK(open_result(&f, &shared));
    CHECK_ERR(opens_open(f.table, &alone, &w.wait, &h, &granted), ERR_OTHERS_FIRST);
    CHECK_INT(w.woken, 0);
    opens_unclaim(f.table, claim);
    CHECK_INT(w.woken, 1);
    CHECK_OK(opens_open(f.table, &alone, &w.wait, &h, &granted));
    CHECK_ERR(rest_result(&f, OPENS_REST_WRITE), ERR_SHARING_VIOLATION);
    opens_close(f.table, h, &remove);
    opens_free(f.table);
}

/* ---- caches ---- */

/* docs/protocol/smb.md's last column: what REST does to each lease, and whether it waits. */
static const struct {
    enum opens_rest op;
    unsigned before, after;
    bool waits;
} BREAK_TABLE[] = {
    {OPENS_REST_LIST, RWH, RWH, false},
    {OPENS_REST_GET_PROPERTIES, RWH, RH, true},
    {OPENS_REST_GET_PROPERTIES, RH, RH, false},
    {OPENS_REST_GET_PROPERTIES, RW, OPENS_CACHE_R, true},
    {OPENS_REST_GET, RWH, RH, true},
    {OPENS_REST_GET, RH, RH, false},
    {OPENS_REST_GET, RW, OPENS_CACHE_R, true},
    {OPENS_REST_WRITE, RWH, 0, true},
    {OPENS_REST_WRITE, RH, 0, false},
    {OPENS_REST_WRITE, RW, 0, true},
};

void test_opens_rest_breaks_leases(void)
{
    for (size_t i = 0; i < sizeof BREAK_TABLE / sizeof BREAK_TABLE[0]; i++) {
        struct fixture f;
        opens_start(&f);
        struct opens_request request = leased_open(&f, BREAK_TABLE[i].before, 'a');
        struct waiter w = {.wait.done = on_done};
        struct opens_handle *h = NULL;
        struct opens_handle *claim = NULL;
        struct opens_rest_request op = {.key = KEY, .op = BREAK_TABLE[i].op};
        unsigned granted = 0;
        bool remove;
        CHECK_OK(opens_open(f.table, &request, &w.wait, &h, &granted));
        CHECK_INT(granted, BREAK_TABLE[i].before);
        struct err error = opens_claim(f.table, &op, &w.wait, &claim);
        CHECK_ERR(error, BREAK_TABLE[i].waits ? ERR_OTHERS_FIRST : ERR_OK);
        bool broken = BREAK_TABLE[i].before != BREAK_TABLE[i].after;
        CHECK_INT(f.notice_count, broken ? 1 : 0);
        if (broken) {
            CHECK_INT(f.notices[0].to, BREAK_TABLE[i].after);
            CHECK(f.notices[0].ack_needed);
            CHECK_OK(opens_cache_ack(f.table, h, BREAK_TABLE[i].after));
        }
        if (BREAK_TABLE[i].waits) {
            CHECK_INT(w.woken, 1);
            CHECK_OK(opens_claim(f.table, &op, &w.wait, &claim));
        }
        opens_unclaim(f.table, claim);
        opens_close(f.table, h, &remove);
        opens_free(f.table);
    }
}

/* Delete: the handle lease is broken first, and only a handle that stays open is a violation. */
void test_opens_rest_delete_asks_the_handle_lease(void)
{
    struct fixture f;
    opens_start(&f);
    struct opens_request request = leased_open(&f, RH, 'a');
    struct waiter w = {.wait.done = on_done};
    struct opens_handle *h = NULL;
    struct opens_handle *claim = NULL;
    struct opens_rest_request op = {.key = KEY, .op = OPENS_REST_DELETE};
    unsigned granted;
    bool remove;
    CHECK_OK(opens_open(f.table, &request, &w.wait, &h, &granted));
    CHECK_ERR(opens_claim(f.table, &op, &w.wait, &claim), ERR_OTHERS_FIRST);
    CHECK_INT(f.notices[0].to, OPENS_CACHE_R);
    CHECK_OK(opens_cache_ack(f.table, h, OPENS_CACHE_R));
    CHECK_INT(w.woken, 1);
    CHECK_ERR(opens_claim(f.table, &op, &w.wait, &claim), ERR_SHARING_VIOLATION);
    opens_close(f.table, h, &remove);
    CHECK_OK(opens_claim(f.table, &op, &w.wait, &claim));
    opens_unclaim(f.table, claim);
    opens_free(f.table);
}

void test_opens_second_open_breaks_the_first_lease(void)
{
    struct fixture f;
    opens_start(&f);
    struct opens_request a = leased_open(&f, RWH, 'a');
    struct opens_request b = leased_open(&f, RWH, 'b');
    struct waiter w = {.wait.done = on_done};
    struct opens_handle *ha = NULL;
    struct opens_handle *hb = NULL;
    unsigned granted = 0;
    bool remove;
    CHECK_OK(opens_open(f.table, &a, &w.wait, &ha, &granted));
    CHECK_OK(open_result(&f, &a)); /* its own key breaks nothing */
    CHECK_INT(f.notice_count, 0);
    CHECK_ERR(opens_open(f.table, &b, &w.wait, &hb, &granted), ERR_OTHERS_FIRST);
    CHECK_INT(f.notices[0].to, RH);
    CHECK_ERR(opens_cache_ack(f.table, ha, RWH), ERR_RESOURCE_TYPE_MISMATCH);
    CHECK_OK(opens_cache_ack(f.table, ha, RH));
    CHECK_INT(w.woken, 1);
    CHECK_OK(opens_open(f.table, &b, &w.wait, &hb, &granted));
    CHECK_INT(granted, RH);
    CHECK_ERR(opens_cache_ack(f.table, ha, RH), ERR_INVALID_INPUT);
    opens_close(f.table, ha, &remove);
    opens_close(f.table, hb, &remove);
    opens_free(f.table);
}

/* A client that never answers loses its cache when the waiter's time is over. */
void test_opens_wait_over_takes_the_cache(void)
{
    struct fixture f;
    opens_start(&f);
    struct opens_request a = smb_open(&f, OPENS_READ | OPENS_WRITE, OPENS_ALL);
    a.cache = RWH; /* a batch oplock */
    struct opens_request b = smb_open(&f, OPENS_READ, OPENS_ALL);
    struct waiter w = {.wait.done = on_done};
    struct opens_handle *ha = NULL;
    struct opens_handle *hb = NULL;
    unsigned granted = 0;
    bool remove;
    CHECK_OK(opens_open(f.table, &a, &w.wait, &ha, &granted));
    CHECK_INT(granted, RWH);
    CHECK_ERR(opens_open(f.table, &b, &w.wait, &hb, &granted), ERR_OTHERS_FIRST);
    CHECK_INT(f.notices[0].to, OPENS_CACHE_R);
    CHECK(!f.notices[0].lease);
    opens_wait_over(f.table, &w.wait);
    CHECK_INT(w.woken, 1);
    CHECK_OK(opens_open(f.table, &b, &w.wait, &hb, &granted));
    CHECK_INT(opens_cache_of(f.table, ha), OPENS_CACHE_NONE);
    opens_close(f.table, ha, &remove);
    opens_close(f.table, hb, &remove);
    opens_free(f.table);
}

/* ---- locks ---- */

void test_opens_locks(void)
{
    struct fixture f;
    opens_start(&f);
    struct opens_request request = smb_open(&f, OPENS_READ | OPENS_WRITE, OPENS_ALL);
    struct opens_handle *a = must_open(&f, &request);
    struct opens_handle *b = must_open(&f, &request);
    struct opens_lock shared = {0, 10, false};
    struct opens_lock exclusive = {5, 10, true};
    bool remove;
    CHECK_OK(lock_result(&f, a, &shared));
    CHECK_OK(lock_result(&f, b, &shared));
    CHECK_ERR(lock_result(&f, b, &exclusive), ERR_FILE_LOCK_CONFLICT);
    CHECK_ERR(opens_lock_check(f.table, a, 0, 1, true), ERR_FILE_LOCK_CONFLICT);
    CHECK_OK(opens_lock_check(f.table, a, 0, 1, false));
    CHECK_ERR(rest_result(&f, OPENS_REST_WRITE), ERR_FILE_LOCK_CONFLICT);
    CHECK_OK(rest_result(&f, OPENS_REST_GET));
    CHECK_OK(opens_unlock(f.table, a, 0, 10));
    CHECK_ERR(opens_unlock(f.table, a, 0, 10), ERR_RESOURCE_NOT_FOUND);
    CHECK_OK(opens_unlock(f.table, b, 0, 10));
    CHECK_OK(lock_result(&f, b, &exclusive));
    CHECK_OK(opens_lock_check(f.table, b, 5, 1, true));
    CHECK_ERR(opens_lock_check(f.table, a, 5, 1, false), ERR_FILE_LOCK_CONFLICT);
    CHECK_OK(opens_lock_check(f.table, a, 15, 1, true));
    CHECK_ERR(rest_result(&f, OPENS_REST_GET), ERR_FILE_LOCK_CONFLICT);
    opens_close(f.table, b, &remove);
    CHECK_OK(rest_result(&f, OPENS_REST_WRITE));
    opens_close(f.table, a, &remove);
    opens_free(f.table);
}

void test_opens_lock_waits_and_edges(void)
{
    struct fixture f;
    opens_start(&f);
    struct opens_request request = smb_open(&f, OPENS_READ | OPENS_WRITE, OPENS_ALL);
    struct opens_handle *a = must_open(&f, &request);
    struct opens_handle *b = must_open(&f, &request);
    struct waiter w = {.wait.done = on_done};
    struct opens_lock top = {UINT64_MAX, 1, true};
    struct opens_lock empty_edge = {UINT64_MAX, 0, true};
    bool remove;
    CHECK_OK(lock_result(&f, a, &top));
    CHECK_OK(lock_result(&f, b, &empty_edge));
    CHECK_ERR(opens_lock(f.table, b, &top, true, &w.wait), ERR_OTHERS_FIRST);
    CHECK_OK(opens_unlock(f.table, a, UINT64_MAX, 1));
    CHECK_INT(w.woken, 1);
    CHECK_OK(opens_lock(f.table, b, &top, true, &w.wait));
    opens_close(f.table, a, &remove);
    opens_close(f.table, b, &remove);
    opens_free(f.table);
}

/* ---- listing and closing ---- */

static bool count_visit(void *arg, const struct opens_info *info)
{
    size_t *count = arg;
    CHECK_STR(info->path, STR("dir/file"));
    CHECK_STR(info->client, STR("127.0.0.1:99"));
    (*count)++;
    return true;
}

void test_opens_handles_are_listed_and_closed(void)
{
    struct fixture f;
    opens_start(&f);
    struct opens_request request = smb_open(&f, OPENS_READ, OPENS_ALL);
    request.tag = 70;
    struct opens_handle *a = must_open(&f, &request);
    request.tag = 71;
    struct opens_handle *b = must_open(&f, &request);
    struct opens_select one = {.share = KEY.share, .node = KEY.node};
    struct opens_select tree = {.share = KEY.share, .path = STR("dir"), .recursive = true};
    struct opens_select flat = {.share = KEY.share, .path = STR("dir")};
    size_t count = 0;
    bool remove;
    opens_list(f.table, &one, count_visit, &count);
    CHECK_INT(count, 2);
    opens_list(f.table, &tree, count_visit, &count);
    CHECK_INT(count, 4);
    opens_list(f.table, &flat, count_visit, &count);
    CHECK_INT(count, 4);
    one.after = opens_id_of(a);
    opens_list(f.table, &one, count_visit, &count);
    CHECK_INT(count, 5);
    CHECK(opens_any_below(f.table, KEY.share, STR("dir")));
    CHECK(!opens_any_below(f.table, KEY.share, STR("dir/file")));
    CHECK(!opens_any_below(f.table, KEY.share, STR("di")));
    uint64_t next;
    CHECK_INT(opens_force_close(f.table, &tree, opens_id_of(b), 10, &next), 1);
    CHECK_INT(f.closed[0], 71);
    CHECK_INT(opens_force_close(f.table, &tree, 0, 10, &next), 1);
    CHECK_INT(next, 0);
    opens_close(f.table, a, &remove);
    opens_close(f.table, b, &remove);
    CHECK(!opens_any_in_share(f.table, KEY.share));
    opens_free(f.table);
}
