/* SPDX-License-Identifier: Apache-2.0 */
/* Caches and locks during REST operations, breaks in steps, disconnected clients. */
#include "service/file/opens/fixture.h"

static struct opens_handle *claim(struct fixture *f, enum opens_rest op)
{
    struct waiter w = {.wait.done = on_done};
    struct opens_handle *c = NULL;
    struct opens_rest_request request = {.key = KEY, .op = op};
    CHECK_OK(opens_claim(f->table, &request, &w.wait, &c));
    return c;
}

static void close_handle(struct fixture *f, struct opens_handle *h)
{
    bool remove;
    opens_close(f->table, h, &remove);
    CHECK(!remove);
}

/* ---- claims: nothing slips between a check and its commit ---- */

void test_opens_lock_waits_for_a_rest_write(void)
{
    struct fixture f;
    opens_start(&f);
    struct opens_request request = smb_open(&f, OPENS_READ | OPENS_WRITE, OPENS_ALL);
    struct opens_handle *h = must_open(&f, &request);
    struct waiter w = {.wait.done = on_done};
    struct opens_lock shared = {0, 1, false};
    struct opens_handle *write = claim(&f, OPENS_REST_WRITE);
    CHECK_ERR(opens_lock(f.table, h, &shared, false, &w.wait), ERR_OTHERS_FIRST);
    CHECK_ERR(rest_result(&f, OPENS_REST_WRITE), ERR_OTHERS_FIRST); /* the lock goes first */
    CHECK_INT(w.woken, 0);
    opens_unclaim(f.table, write);
    CHECK_INT(w.woken, 1);
    CHECK_OK(opens_lock(f.table, h, &shared, false, &w.wait));
    CHECK_ERR(rest_result(&f, OPENS_REST_WRITE), ERR_FILE_LOCK_CONFLICT);
    close_handle(&f, h);
    opens_free(f.table);
}

void test_opens_exclusive_lock_waits_for_a_rest_read(void)
{
    struct fixture f;
    opens_start(&f);
    struct opens_request request = smb_open(&f, OPENS_READ | OPENS_WRITE, OPENS_ALL);
    struct opens_handle *h = must_open(&f, &request);
    struct waiter w = {.wait.done = on_done};
    struct opens_lock exclusive = {0, 1, true};
    struct opens_lock shared = {5, 1, false};
    struct opens_handle *read = claim(&f, OPENS_REST_GET);
    CHECK_OK(opens_lock(f.table, h, &shared, false, &w.wait));
    CHECK_ERR(opens_lock(f.table, h, &exclusive, false, &w.wait), ERR_OTHERS_FIRST);
    CHECK(opens_wait_cancel(f.table, &w.wait));
    opens_unclaim(f.table, read);
    CHECK_OK(opens_lock(f.table, h, &exclusive, false, &w.wait));
    close_handle(&f, h);
    opens_free(f.table);
}

void test_opens_cache_is_not_granted_beside_a_rest_write(void)
{
    struct fixture f;
    opens_start(&f);
    struct opens_request plain = smb_open(&f, OPENS_READ, OPENS_ALL);
    struct opens_request caches = leased_open(&f, OPENS_CACHE_R, 'a');
    struct waiter w = {.wait.done = on_done};
    struct opens_handle *h = NULL;
    unsigned granted = 0;
    struct opens_handle *write = claim(&f, OPENS_REST_WRITE);
    CHECK_OK(open_result(&f, &plain));
    CHECK_ERR(opens_open(f.table, &caches, &w.wait, &h, &granted), ERR_OTHERS_FIRST);
    opens_unclaim(f.table, write);
    CHECK_INT(w.woken, 1);
    CHECK_OK(opens_open(f.table, &caches, &w.wait, &h, &granted));
    CHECK_INT(granted, OPENS_CACHE_R);
    close_handle(&f, h);
    opens_free(f.table);
}

/* ---- breaks ---- */

/* RWH, a second open wants W, a third overwrites: RWH -> RH -> R -> none, each step sent
 * separately. */
void test_opens_breaks_go_down_in_steps(void)
{
    struct fixture f;
    opens_start(&f);
    struct opens_request a = leased_open(&f, RWH, 'a');
    struct opens_request b = smb_open(&f, OPENS_READ, OPENS_ALL);
    struct opens_request c = smb_open(&f, OPENS_READ | OPENS_WRITE, OPENS_ALL);
    struct waiter wb = {.wait.done = on_done};
    struct waiter wc = {.wait.done = on_done};
    struct opens_handle *h = must_open(&f, &a);
    struct opens_handle *hb = NULL;
    unsigned granted;
    c.overwrites = true;
    CHECK_ERR(opens_open(f.table, &b, &wb.wait, &hb, &granted), ERR_OTHERS_FIRST);
    CHECK_ERR(opens_open(f.table, &c, &wc.wait, &hb, &granted), ERR_OTHERS_FIRST);
    CHECK_INT(f.notice_count, 1);
    CHECK_INT(f.notices[0].to, RH);
    CHECK_OK(opens_lease_ack(f.table, a.lease_key, RH));
    CHECK_INT(f.notice_count, 2);
    CHECK_INT(f.notices[1].from, RH);
    CHECK_INT(f.notices[1].to, OPENS_CACHE_R);
    CHECK_ERR(opens_open(f.table, &c, &wc.wait, &hb, &granted), ERR_OTHERS_FIRST);
    CHECK(opens_cache_info(f.table, h).breaking);
    CHECK_OK(opens_lease_ack(f.table, a.lease_key, OPENS_CACHE_R));
    CHECK_INT(f.notice_count, 3);
    CHECK_INT(f.notices[2].to, OPENS_CACHE_NONE);
    CHECK(!f.notices[2].ack_needed);
    CHECK_ERR(opens_lease_ack(f.table, a.lease_key, OPENS_CACHE_NONE), ERR_INVALID_INPUT);
    CHECK_OK(opens_open(f.table, &c, &wc.wait, &hb, &granted));
    close_handle(&f, hb);
    CHECK_OK(opens_open(f.table, &b, &wb.wait, &hb, &granted));
    close_handle(&f, hb);
    close_handle(&f, h);
    CHECK_ERR(opens_lease_ack(f.table, a.lease_key, OPENS_CACHE_NONE), ERR_RESOURCE_NOT_FOUND);
    opens_free(f.table);
}

void test_opens_lease_grows_only_to_what_is_asked(void)
{
    struct fixture f;
    opens_start(&f);
    struct opens_request r = leased_open(&f, OPENS_CACHE_R, 'a');
    struct opens_request rwh = leased_open(&f, RWH, 'a');
    struct opens_request rh = leased_open(&f, RH, 'a');
    r.lease_epoch = 4;
    struct opens_handle *h1 = must_open(&f, &r);
    CHECK_INT(opens_cache_info(f.table, h1).epoch, 5);
    struct opens_handle *h2 = must_open(&f, &rwh);
    CHECK_INT(opens_cache_of(f.table, h1), RWH);
    CHECK_INT(opens_cache_info(f.table, h1).epoch, 6);
    struct opens_handle *h3 = must_open(&f, &rh); /* asks for less: it stays */
    CHECK_INT(opens_cache_of(f.table, h3), RWH);
    rh.key.node++;
    CHECK_ERR(open_result(&f, &rh), ERR_INVALID_INPUT); /* one key, one file */
    close_handle(&f, h1);
    close_handle(&f, h2);
    close_handle(&f, h3);
    CHECK_OK(open_result(&f, &rh));
    opens_free(f.table);
}

void test_opens_looking_breaks_nothing(void)
{
    struct fixture f;
    opens_start(&f);
    struct opens_request a = leased_open(&f, RWH, 'a');
    struct opens_request looks = smb_open(&f, 0, OPENS_ALL);
    struct opens_handle *h = must_open(&f, &a);
    looks.access_mask = 0x100080;
    CHECK_OK(open_result(&f, &looks));
    looks.access_mask = 0x120080; /* the security descriptor too */
    CHECK_OK(open_result(&f, &looks));
    CHECK_INT(f.notice_count, 0);
    close_handle(&f, h);
    opens_free(f.table);
}

/* ---- clients that are away ---- */

void test_opens_durable_handle_gives_way_when_away(void)
{
    struct fixture f;
    opens_start(&f);
    struct opens_request a = leased_open(&f, RWH, 'a');
    struct opens_request b = smb_open(&f, OPENS_READ, OPENS_ALL);
    struct waiter w = {.wait.done = on_done};
    struct opens_return back = {.session = 9, .client = STR("x"), .now_ticks = 3};
    struct opens_handle *h = must_open(&f, &a);
    struct opens_handle *hb = NULL;
    unsigned granted;
    CHECK(!opens_reconnect(f.table, h, &back));
    CHECK(opens_disconnect(f.table, h));
    CHECK(opens_reconnect(f.table, h, &back));
    CHECK(opens_disconnect(f.table, h));
    CHECK_ERR(opens_open(f.table, &b, &w.wait, &hb, &granted), ERR_OTHERS_FIRST);
    CHECK_INT(f.closed_count, 1);
    CHECK_INT(f.notice_count, 0);
    CHECK(!opens_reconnect(f.table, h, &back));
    close_handle(&f, h);
    CHECK_INT(w.woken, 1);
    CHECK_OK(opens_open(f.table, &b, &w.wait, &hb, &granted));
    CHECK(!opens_disconnect(f.table, hb)); /* it caches no handle */
    close_handle(&f, hb);
    opens_free(f.table);
}

void test_opens_persistent_handle_is_kept(void)
{
    struct fixture f;
    opens_start(&f);
    struct opens_request a = smb_open(&f, OPENS_READ | OPENS_WRITE, OPENS_READ);
    struct opens_request reads = smb_open(&f, OPENS_READ, OPENS_ALL);
    struct opens_request writes = smb_open(&f, OPENS_WRITE, OPENS_ALL);
    a.persistent = true;
    struct opens_handle *h = must_open(&f, &a);
    CHECK(opens_disconnect(f.table, h));
    CHECK_OK(open_result(&f, &reads));
    CHECK_ERR(open_result(&f, &writes), ERR_HANDLE_UNAVAILABLE);
    CHECK_ERR(rest_result(&f, OPENS_REST_WRITE), ERR_HANDLE_UNAVAILABLE);
    CHECK_OK(rest_result(&f, OPENS_REST_GET));
    CHECK_INT(f.closed_count, 0);
    close_handle(&f, h);
    opens_free(f.table);
}

void test_opens_force_close_goes_page_by_page(void)
{
    struct fixture f;
    opens_start(&f);
    struct opens_request request = smb_open(&f, OPENS_READ, OPENS_ALL);
    struct opens_select one = {.share = KEY.share, .node = KEY.node};
    struct opens_handle *handles[5];
    uint64_t next;
    for (size_t i = 0; i < 5; i++)
        handles[i] = must_open(&f, &request);
    CHECK_INT(opens_force_close(f.table, &one, 0, 2, &next), 2);
    CHECK_INT(next, opens_id_of(handles[1]));
    one.after = next;
    CHECK_INT(opens_force_close(f.table, &one, 0, 3, &next), 3);
    CHECK_INT(next, 0);
    CHECK_INT(f.closed_count, 5);
    for (size_t i = 0; i < 5; i++)
        close_handle(&f, handles[i]);
    opens_free(f.table);
}

void test_opens_break_that_nobody_answers_ends_by_itself(void)
{
    struct fixture f;
    opens_start(&f);
    struct opens_request a = leased_open(&f, RH, 'a');
    struct opens_handle *h = must_open(&f, &a);
    struct opens_request other = smb_open(&f, OPENS_WRITE, OPENS_ALL);
    struct opens_handle *writer = must_open(&f, &other);
    opens_io(f.table, writer, true);
    CHECK_INT(f.notice_count, 1);
    CHECK(f.notices[0].ack_needed);
    opens_break_over(f.table, h, (uint16_t)(f.notices[0].epoch - 1)); /* of an earlier break */
    CHECK(opens_cache_info(f.table, h).breaking);
    opens_break_over(f.table, h, f.notices[0].epoch);
    CHECK(!opens_cache_info(f.table, h).breaking);
    CHECK_INT(opens_cache_of(f.table, h), OPENS_CACHE_NONE);
    CHECK_ERR(opens_cache_ack(f.table, h, OPENS_CACHE_NONE), ERR_INVALID_INPUT);
    opens_free(f.table);
}
