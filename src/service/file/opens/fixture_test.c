/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/opens/fixture.h"

static void on_break(void *owner, const struct opens_notice *notice)
{
    struct fixture *f = owner;
    CHECK(f->notice_count < NOTICES_MAX);
    f->notices[f->notice_count++] = *notice;
}

static void on_close(void *owner, uint64_t id)
{
    struct fixture *f = owner;
    f->closed[f->closed_count++] = id;
}

static const struct opens_owner CALLS = {on_break, on_close};
void on_done(struct opens_wait *w)
{
    ((struct waiter *)w)->woken++;
}

void opens_start(struct fixture *f)
{
    *f = (struct fixture){.table = opens_new()};
}

struct opens_request smb_open(struct fixture *f, unsigned access, unsigned sharing)
{
    return (struct opens_request){.key = KEY,
                                  .path = STR("dir/file"),
                                  .access = access,
                                  .sharing = sharing,
                                  .calls = &CALLS,
                                  .owner = f,
                                  .session = 5,
                                  .client = STR("127.0.0.1:99")};
}

struct opens_handle *must_open(struct fixture *f, const struct opens_request *request)
{
    struct waiter w = {.wait.done = on_done};
    struct opens_handle *h = NULL;
    unsigned granted;
    CHECK_OK(opens_open(f->table, request, &w.wait, &h, &granted));
    return h;
}

struct err open_result(struct fixture *f, const struct opens_request *request)
{
    struct waiter w = {.wait.done = on_done};
    struct opens_handle *h = NULL;
    unsigned granted;
    bool remove;
    struct err error = opens_open(f->table, request, &w.wait, &h, &granted);
    if (!err_is(error))
        opens_close(f->table, h, &remove);
    if (error.code == ERR_OTHERS_FIRST)
        CHECK(opens_wait_cancel(f->table, &w.wait));
    return error;
}

struct err rest_result(struct fixture *f, enum opens_rest op)
{
    struct waiter w = {.wait.done = on_done};
    struct opens_handle *claim = NULL;
    struct opens_rest_request request = {.key = KEY, .op = op};
    struct err error = opens_claim(f->table, &request, &w.wait, &claim);
    if (!err_is(error))
        opens_unclaim(f->table, claim);
    if (error.code == ERR_OTHERS_FIRST)
        CHECK(opens_wait_cancel(f->table, &w.wait));
    return error;
}

struct opens_request leased_open(struct fixture *f, unsigned cache, char key)
{
    struct opens_request request = smb_open(f, OPENS_READ | OPENS_WRITE, OPENS_ALL);
    request.cache = cache;
    request.lease = true;
    request.lease_key[0] = (unsigned char)key;
    return request;
}

struct err lock_result(struct fixture *f, struct opens_handle *h, const struct opens_lock *range)
{
    struct waiter w = {.wait.done = on_done};
    return opens_lock(f->table, h, range, false, &w.wait);
}
