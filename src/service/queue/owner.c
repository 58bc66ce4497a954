/* SPDX-License-Identifier: Apache-2.0 */
#include "service/common/owner.h"
#include "service/queue/page.h"

/* "message ID of queue account/name"; a page that cannot be read may hold more than that. */
static void tell_message(const struct owner_search *s, size_t index, uint64_t incarnation,
                         uint64_t number, bool page)
{
    struct buf b = buf_heap();
    struct queue_state state = {.incarnation = incarnation};
    struct guid id = queue_id_make(&state, number);
    buf_put(&b, STR("message "));
    guid_put(&b, &id);
    buf_printf(&b, " of queue %.*s%s", STR_ARG(owner_container(s->partition)),
               page ? " (and those put in one burst after it)" : "");
    owner_tell(s, index, buf_str(&b));
    buf_release(&b);
}

static bool tell_key(const struct owner_search *s, size_t index)
{
    struct str key = s->keys[index];
    if (key.n < KEY_NUMBERED_BYTES || key.p[0] != 'd')
        return false;
    struct reader r = reader_of(str_from(key, 1));
    uint64_t incarnation = read_be64(&r);
    char kind = (char)read_u8(&r);
    uint64_t number = read_be64(&r);
    if (kind == KEY_VISIBLE || kind == KEY_EXPIRES)
        number = read_be64(&r);
    if (!reader_done(&r))
        return false;
    bool page = kind != KEY_TEXT;
    tell_message(s, index, incarnation, page ? number_of(number, 0) : number, page);
    return true;
}

struct err queue_row_owners(struct txn *t, void *arg)
{
    const struct owner_search *s = arg;
    (void)t;
    for (size_t i = 0; i < s->count; i++) {
        if (!tell_key(s, i))
            owner_tell_container(s, i, "queue");
    }
    return OK;
}
