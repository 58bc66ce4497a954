/* SPDX-License-Identifier: Apache-2.0 */
#include "service/common/lease.h"

#include <assert.h>

#include "core/clock.h"

enum lease_state lease_state(const struct lease *l, int64_t now)
{
    switch (l->state) {
    case LEASE_LEASED:
        return l->seconds == LEASE_INFINITE || now < l->ends ? LEASE_LEASED : LEASE_EXPIRED;
    case LEASE_BREAKING:
        return now < l->ends ? LEASE_BREAKING : LEASE_BROKEN;
    case LEASE_AVAILABLE:
    case LEASE_BROKEN:
    case LEASE_EXPIRED:
        break;
    }
    return LEASE_AVAILABLE;
}

bool lease_locked(enum lease_state state)
{
    return state == LEASE_LEASED || state == LEASE_BREAKING;
}

static bool holds(const struct lease *l, const struct guid *id)
{
    return guid_eq(&l->id, id);
}

static void take(struct lease *l, const struct guid *id, int seconds, int64_t now)
{
    l->state = LEASE_LEASED;
    l->id = *id;
    l->seconds = seconds;
    l->ends = seconds == LEASE_INFINITE ? 0 : now + seconds * TICKS_PER_SECOND;
}

static struct err acquire(struct lease *l, const struct lease_request *r, int64_t now)
{
    enum lease_state state = lease_state(l, now);
    if (state == LEASE_BREAKING && holds(l, &r->proposed))
        return err_new(ERR_LEASE_IS_BREAKING_AND_CANNOT_BE_ACQUIRED);
    if (lease_locked(state) && !(state == LEASE_LEASED && holds(l, &r->proposed)))
        return err_new(ERR_LEASE_ALREADY_PRESENT);
    take(l, &r->proposed, r->seconds, now);
    return OK;
}

/* An expired lease can be renewed until someone writes to the object or leases it: a write makes
 * it Available (lease_after_write), and a new lease has another id. */
static struct err renew(struct lease *l, const struct lease_request *r, int64_t now)
{
    enum lease_state state = lease_state(l, now);
    if (state == LEASE_AVAILABLE || !holds(l, &r->id))
        return err_new(ERR_LEASE_ID_MISMATCH_WITH_LEASE_OPERATION);
    if (state == LEASE_BREAKING || state == LEASE_BROKEN)
        return err_new(ERR_LEASE_IS_BROKEN_AND_CANNOT_BE_RENEWED);
    take(l, &r->id, l->seconds, now);
    return OK;
}

/* A repeated change (the proposed id is already the held one) succeeds, so that a client can
 * retry after a lost answer. */
static struct err change(struct lease *l, const struct lease_request *r, int64_t now)
{
    enum lease_state state = lease_state(l, now);
    if (!lease_locked(state))
        return err_new(ERR_LEASE_NOT_PRESENT_WITH_LEASE_OPERATION);
    if (state == LEASE_BREAKING)
        return err_new(holds(l, &r->id) ? ERR_LEASE_IS_BREAKING_AND_CANNOT_BE_CHANGED
                                        : ERR_LEASE_ID_MISMATCH_WITH_LEASE_OPERATION);
    if (!holds(l, &r->id) && !holds(l, &r->proposed))
        return err_new(ERR_LEASE_ID_MISMATCH_WITH_LEASE_OPERATION);
    l->id = r->proposed;
    return OK;
}

static struct err release(struct lease *l, const struct lease_request *r, int64_t now)
{
    if (lease_state(l, now) == LEASE_AVAILABLE || !holds(l, &r->id))
        return err_new(ERR_LEASE_ID_MISMATCH_WITH_LEASE_OPERATION);
    *l = (struct lease){0};
    return OK;
}

/* Returns when the lease would end without a break: its own end, or never. */
static int64_t end_of(const struct lease *l, enum lease_state state, int64_t now)
{
    if (state == LEASE_LEASED && l->seconds == LEASE_INFINITE)
        return INT64_MAX;
    return lease_locked(state) ? l->ends : now;
}

/* A break can shorten the rest of a lease and never extends it. Without a period a fixed lease
 * runs to its end, and an infinite lease ends at once. */
static struct err break_lease(struct lease *l, const struct lease_request *r, int64_t now,
                              int *left_seconds)
{
    enum lease_state state = lease_state(l, now);
    if (state == LEASE_AVAILABLE)
        return err_new(ERR_LEASE_NOT_PRESENT_WITH_LEASE_OPERATION);
    int64_t end = end_of(l, state, now);
    if (r->break_seconds >= 0) {
        int64_t asked = now + r->break_seconds * TICKS_PER_SECOND;
        end = asked < end ? asked : end;
    } else if (end == INT64_MAX) {
        end = now;
    }
    l->state = LEASE_BREAKING;
    l->ends = end;
    /* Rounded to the nearest second, so that a client that waits this long plus half a second
     * finds it broken. */
    *left_seconds = (int)((end - now + TICKS_PER_SECOND / 2) / TICKS_PER_SECOND);
    return OK;
}

/* id: the id that was sent; NULL if none was. */
COLD static struct err refuse(struct verdict *verdict, const struct lease *l, const struct guid *id,
                              int64_t now, struct err error)
{
    enum lease_state state = lease_state(l, now);
    if (verdict == NULL)
        return error;
    *verdict = (struct verdict){
        .check = VERDICT_LEASE,
        .lease_state = (int)state,
        .lease_ends = state == LEASE_AVAILABLE || l->seconds == LEASE_INFINITE ? 0 : l->ends,
        .lease_id = id == NULL     ? VERDICT_ID_MISSING
                    : holds(l, id) ? VERDICT_ID_SAME
                                   : VERDICT_ID_OTHER,
    };
    return error;
}

static struct err apply(struct lease *l, const struct lease_request *request, int64_t now,
                        int *left_seconds)
{
    switch (request->action) {
    case LEASE_ACQUIRE:
        return acquire(l, request, now);
    case LEASE_RENEW:
        return renew(l, request, now);
    case LEASE_CHANGE:
        return change(l, request, now);
    case LEASE_RELEASE:
        return release(l, request, now);
    case LEASE_BREAK:
        break;
    }
    return break_lease(l, request, now, left_seconds);
}

struct err lease_apply(struct lease *l, const struct lease_request *request, int64_t now,
                       int *left_seconds)
{
    assert(l->state != LEASE_BROKEN && l->state != LEASE_EXPIRED);
    struct err error = apply(l, request, now, left_seconds);
    if (!err_is(error))
        return OK;
    bool acquires = request->action == LEASE_ACQUIRE;
    return refuse(request->verdict, l, acquires ? &request->proposed : &request->id, now, error);
}

/* ---- using a leased object ---- */

struct kind_codes {
    enum err_code mismatch;
    enum err_code not_present;
    enum err_code lost; /* for an id whose lease has expired or was broken */
};

/* The cloud answers LeaseLost for a lease that has expired or was broken: documented for blobs
 * (docs/protocol/facts.md §2.3), recorded for containers and shares, too (§2.4 leaves it open). */
static const struct kind_codes CODES[] = {
    [LEASE_BLOB] = {ERR_LEASE_ID_MISMATCH_WITH_BLOB_OPERATION,
                    ERR_LEASE_NOT_PRESENT_WITH_BLOB_OPERATION, ERR_LEASE_LOST},
    [LEASE_CONTAINER] = {ERR_LEASE_ID_MISMATCH_WITH_CONTAINER_OPERATION,
                         ERR_LEASE_NOT_PRESENT_WITH_CONTAINER_OPERATION, ERR_LEASE_LOST},
    [LEASE_SHARE] = {ERR_LEASE_ID_MISMATCH_WITH_SHARE_OPERATION,
                     ERR_LEASE_NOT_PRESENT_WITH_SHARE_OPERATION, ERR_LEASE_LOST},
    [LEASE_FILE] = {ERR_LEASE_ID_MISMATCH_WITH_FILE_OPERATION,
                    ERR_LEASE_NOT_PRESENT_WITH_FILE_OPERATION, ERR_LEASE_LOST},
};

struct err lease_check_read(const struct lease *l, enum lease_kind kind,
                            const struct lease_id *given, int64_t now)
{
    if (!given->given)
        return OK;
    enum lease_state state = lease_state(l, now);
    if (lease_locked(state) && holds(l, &given->id))
        return OK;
    enum err_code code = state == LEASE_AVAILABLE ? CODES[kind].not_present
                         : lease_locked(state)    ? CODES[kind].mismatch
                                                  : CODES[kind].lost;
    return refuse(given->verdict, l, &given->id, now, err_new(code));
}

struct err lease_check_write(const struct lease *l, enum lease_kind kind,
                             const struct lease_id *given, int64_t now)
{
    if (!given->given && lease_locked(lease_state(l, now)))
        return refuse(given->verdict, l, NULL, now, err_new(ERR_LEASE_ID_MISSING));
    return lease_check_read(l, kind, given, now);
}

struct err lease_check_absent(enum lease_kind kind, const struct lease_id *given)
{
    static const struct lease none;
    return given->given
               ? refuse(given->verdict, &none, &given->id, 0, err_new(CODES[kind].not_present))
               : OK;
}

void lease_after_write(struct lease *l, int64_t now)
{
    if (!lease_locked(lease_state(l, now)))
        *l = (struct lease){0};
}

/* ---- as text and in rows ---- */

struct str lease_state_text(enum lease_state state)
{
    static const struct str TEXTS[] = {STR_INIT("available"), STR_INIT("leased"),
                                       STR_INIT("breaking"), STR_INIT("broken"),
                                       STR_INIT("expired")};
    return TEXTS[state];
}

struct str lease_status_text(enum lease_state state)
{
    return lease_locked(state) ? STR("locked") : STR("unlocked");
}

struct str lease_duration_text(const struct lease *l, int64_t now)
{
    if (lease_state(l, now) != LEASE_LEASED)
        return STR_NONE;
    return l->seconds == LEASE_INFINITE ? STR("infinite") : STR("fixed");
}

static void lease_put(struct buf *b, const void *member)
{
    const struct lease *l = member;
    if (l->state == LEASE_AVAILABLE)
        return;
    assert(l->state == LEASE_LEASED || l->state == LEASE_BREAKING);
    buf_put_u8(b, (uint8_t)l->state);
    buf_put_u8(b, (uint8_t)(l->seconds + 1));
    buf_put_le64(b, (uint64_t)l->ends);
    buf_put(b, (struct str){(const char *)l->id.bytes, GUID_BYTES});
}

static bool lease_take(struct str bytes, void *member)
{
    struct lease *l = member;
    struct reader r = reader_of(bytes);
    *l = (struct lease){0};
    uint8_t state = read_u8(&r);
    l->seconds = read_u8(&r) - 1;
    l->ends = (int64_t)read_le64(&r);
    struct str id = read_raw(&r, GUID_BYTES);
    if (!reader_done(&r) || (state != LEASE_LEASED && state != LEASE_BREAKING))
        return false;
    l->state = (enum lease_state)state;
    memcpy(l->id.bytes, id.p, GUID_BYTES);
    return true;
}

const struct record_codec LEASE_CODEC = {lease_put, lease_take};
