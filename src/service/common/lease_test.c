/* SPDX-License-Identifier: Apache-2.0 */
/* Every cell of docs/protocol/facts.md §2.2 (lease action × state) and §2.3/§2.4 (use × state) by
 * its name. A is the id held, B and C are others, X is one that the server made up. */
#include "service/common/lease.h"

#include "core/clock.h"
#include "core/test.h"

static const struct guid A = {{0xAA}}, B = {{0xBB}}, C = {{0xCC}}, X = {{0xDD}};
static const struct lease_id WITH_A = {.given = true, .id = {{0xAA}}},
                             WITH_B = {.given = true, .id = {{0xBB}}}, WITHOUT = {0};

enum { START_SECONDS = 1000000 };
static const int64_t NOW = START_SECONDS * TICKS_PER_SECOND;

static int64_t after(int64_t seconds)
{
    return NOW + seconds * TICKS_PER_SECOND;
}

static struct lease_request acquire(struct guid proposed, int seconds)
{
    return (struct lease_request){
        .action = LEASE_ACQUIRE, .proposed = proposed, .seconds = seconds};
}

static struct lease_request renew(struct guid id)
{
    return (struct lease_request){.action = LEASE_RENEW, .id = id};
}

static struct lease_request change(struct guid from, struct guid to)
{
    return (struct lease_request){.action = LEASE_CHANGE, .id = from, .proposed = to};
}

static struct lease_request release(struct guid id)
{
    return (struct lease_request){.action = LEASE_RELEASE, .id = id};
}

static struct lease_request break_in(int seconds)
{
    return (struct lease_request){.action = LEASE_BREAK, .break_seconds = seconds};
}

static int apply(struct lease *l, struct lease_request request, int64_t now)
{
    int left = -1;
    CHECK_OK(lease_apply(l, &request, now, &left));
    return left;
}

/* A lease that is in the state wanted at NOW, held by A for 60 seconds where it is. */
static struct lease lease_in(enum lease_state state)
{
    struct lease l = {0};
    switch (state) {
    case LEASE_AVAILABLE:
        break;
    case LEASE_LEASED:
        apply(&l, acquire(A, 60), after(-10));
        break;
    case LEASE_BREAKING:
        apply(&l, acquire(A, 60), after(-10));
        apply(&l, break_in(30), after(-10));
        break;
    case LEASE_BROKEN:
        apply(&l, acquire(A, 60), after(-30));
        apply(&l, break_in(10), after(-30));
        break;
    case LEASE_EXPIRED:
        apply(&l, acquire(A, 15), after(-30));
        break;
    }
    CHECK_INT(lease_state(&l, NOW), state);
    return l;
}

static enum lease_state state_named(const char *name)
{
    for (int s = LEASE_AVAILABLE; s <= LEASE_EXPIRED; s++)
        if (str_eq(lease_state_text((enum lease_state)s), str_of(name)))
            return (enum lease_state)s;
    test_fail(__FILE__, __LINE__, "no state %s", name);
}

static void cell_gives(const char *from, struct lease_request request, enum lease_state to,
                       struct guid id)
{
    struct lease l = lease_in(state_named(from));
    apply(&l, request, NOW);
    CHECK_INT(lease_state(&l, NOW), to);
    if (to != LEASE_AVAILABLE)
        CHECK(guid_eq(&l.id, &id));
}

static void cell_refused(const char *from, struct lease_request request, enum err_code code)
{
    struct lease l = lease_in(state_named(from));
    struct lease before = l;
    int left = -1;
    CHECK_ERR(lease_apply(&l, &request, NOW, &left), code);
    CHECK_INT(err_http_status(code), 409);
    CHECK(memcmp(&l, &before, sizeof l) == 0);
}

static void cell_use(enum lease_kind kind, const char *from, bool write,
                     const struct lease_id *given, enum err_code code)
{
    struct lease l = lease_in(state_named(from));
    CHECK_ERR(write ? lease_check_write(&l, kind, given, NOW)
                    : lease_check_read(&l, kind, given, NOW),
              code);
    if (code != ERR_OK)
        CHECK_INT(err_http_status(code), 412);
}

#define GIVES(action, state, request, to, id)        \
    void test_lease_cell_##action##_in_##state(void) \
    {                                                \
        cell_gives(#state, request, LEASE_##to, id); \
    }
#define REFUSED(action, state, request, code)        \
    void test_lease_cell_##action##_in_##state(void) \
    {                                                \
        cell_refused(#state, request, ERR_##code);   \
    }
#define USE(kind, use, state, way, given, code)                                            \
    void test_lease_cell_##kind##_##use##_in_##state(void)                                 \
    {                                                                                      \
        cell_use(KIND_##kind, #state, str_eq(STR(#way), STR("write")), given, ERR_##code); \
    }
#define KIND_blob      LEASE_BLOB
#define KIND_container LEASE_CONTAINER

// clang-format off
GIVES(acquire_no_id, available, acquire(X, 30), LEASED, X)
REFUSED(acquire_no_id, leased, acquire(X, 30), LEASE_ALREADY_PRESENT)
REFUSED(acquire_no_id, breaking, acquire(X, 30), LEASE_ALREADY_PRESENT)
GIVES(acquire_no_id, broken, acquire(X, 30), LEASED, X)
GIVES(acquire_no_id, expired, acquire(X, 30), LEASED, X)
GIVES(acquire_A, available, acquire(A, 30), LEASED, A)
GIVES(acquire_A, leased, acquire(A, 30), LEASED, A)
REFUSED(acquire_A, breaking, acquire(A, 30), LEASE_IS_BREAKING_AND_CANNOT_BE_ACQUIRED)
GIVES(acquire_A, broken, acquire(A, 30), LEASED, A)
GIVES(acquire_A, expired, acquire(A, 30), LEASED, A)
GIVES(acquire_B, available, acquire(B, 30), LEASED, B)
REFUSED(acquire_B, leased, acquire(B, 30), LEASE_ALREADY_PRESENT)
REFUSED(acquire_B, breaking, acquire(B, 30), LEASE_ALREADY_PRESENT)
GIVES(acquire_B, broken, acquire(B, 30), LEASED, B)
GIVES(acquire_B, expired, acquire(B, 30), LEASED, B)
REFUSED(break_0, available, break_in(0), LEASE_NOT_PRESENT_WITH_LEASE_OPERATION)
GIVES(break_0, leased, break_in(0), BROKEN, A)
GIVES(break_0, breaking, break_in(0), BROKEN, A)
GIVES(break_0, broken, break_in(0), BROKEN, A)
GIVES(break_0, expired, break_in(0), BROKEN, A)
REFUSED(break_10, available, break_in(10), LEASE_NOT_PRESENT_WITH_LEASE_OPERATION)
GIVES(break_10, leased, break_in(10), BREAKING, A)
GIVES(break_10, breaking, break_in(10), BREAKING, A)
GIVES(break_10, broken, break_in(10), BROKEN, A)
GIVES(break_10, expired, break_in(10), BROKEN, A)
REFUSED(break_no_period, available, break_in(-1), LEASE_NOT_PRESENT_WITH_LEASE_OPERATION)
GIVES(break_no_period, leased, break_in(-1), BREAKING, A)
GIVES(break_no_period, breaking, break_in(-1), BREAKING, A)
GIVES(break_no_period, broken, break_in(-1), BROKEN, A)
GIVES(break_no_period, expired, break_in(-1), BROKEN, A)
REFUSED(change_A_to_B, available, change(A, B), LEASE_NOT_PRESENT_WITH_LEASE_OPERATION)
GIVES(change_A_to_B, leased, change(A, B), LEASED, B)
REFUSED(change_A_to_B, breaking, change(A, B), LEASE_IS_BREAKING_AND_CANNOT_BE_CHANGED)
REFUSED(change_A_to_B, broken, change(A, B), LEASE_NOT_PRESENT_WITH_LEASE_OPERATION)
REFUSED(change_A_to_B, expired, change(A, B), LEASE_NOT_PRESENT_WITH_LEASE_OPERATION)
REFUSED(change_B_to_A, available, change(B, A), LEASE_NOT_PRESENT_WITH_LEASE_OPERATION)
GIVES(change_B_to_A, leased, change(B, A), LEASED, A)
REFUSED(change_B_to_A, breaking, change(B, A), LEASE_ID_MISMATCH_WITH_LEASE_OPERATION)
REFUSED(change_B_to_A, broken, change(B, A), LEASE_NOT_PRESENT_WITH_LEASE_OPERATION)
REFUSED(change_B_to_A, expired, change(B, A), LEASE_NOT_PRESENT_WITH_LEASE_OPERATION)
REFUSED(change_B_to_C, available, change(B, C), LEASE_NOT_PRESENT_WITH_LEASE_OPERATION)
REFUSED(change_B_to_C, leased, change(B, C), LEASE_ID_MISMATCH_WITH_LEASE_OPERATION)
REFUSED(change_B_to_C, breaking, change(B, C), LEASE_ID_MISMATCH_WITH_LEASE_OPERATION)
REFUSED(change_B_to_C, broken, change(B, C), LEASE_NOT_PRESENT_WITH_LEASE_OPERATION)
REFUSED(change_B_to_C, expired, change(B, C), LEASE_NOT_PRESENT_WITH_LEASE_OPERATION)
REFUSED(renew_A, available, renew(A), LEASE_ID_MISMATCH_WITH_LEASE_OPERATION)
GIVES(renew_A, leased, renew(A), LEASED, A)
REFUSED(renew_A, breaking, renew(A), LEASE_IS_BROKEN_AND_CANNOT_BE_RENEWED)
REFUSED(renew_A, broken, renew(A), LEASE_IS_BROKEN_AND_CANNOT_BE_RENEWED)
GIVES(renew_A, expired, renew(A), LEASED, A)
REFUSED(renew_B, available, renew(B), LEASE_ID_MISMATCH_WITH_LEASE_OPERATION)
REFUSED(renew_B, leased, renew(B), LEASE_ID_MISMATCH_WITH_LEASE_OPERATION)
REFUSED(renew_B, breaking, renew(B), LEASE_ID_MISMATCH_WITH_LEASE_OPERATION)
REFUSED(renew_B, broken, renew(B), LEASE_ID_MISMATCH_WITH_LEASE_OPERATION)
REFUSED(renew_B, expired, renew(B), LEASE_ID_MISMATCH_WITH_LEASE_OPERATION)
REFUSED(release_A, available, release(A), LEASE_ID_MISMATCH_WITH_LEASE_OPERATION)
GIVES(release_A, leased, release(A), AVAILABLE, A)
GIVES(release_A, breaking, release(A), AVAILABLE, A)
GIVES(release_A, broken, release(A), AVAILABLE, A)
GIVES(release_A, expired, release(A), AVAILABLE, A)
REFUSED(release_B, available, release(B), LEASE_ID_MISMATCH_WITH_LEASE_OPERATION)
REFUSED(release_B, leased, release(B), LEASE_ID_MISMATCH_WITH_LEASE_OPERATION)
REFUSED(release_B, breaking, release(B), LEASE_ID_MISMATCH_WITH_LEASE_OPERATION)
REFUSED(release_B, broken, release(B), LEASE_ID_MISMATCH_WITH_LEASE_OPERATION)
REFUSED(release_B, expired, release(B), LEASE_ID_MISMATCH_WITH_LEASE_OPERATION)

USE(blob, write_with_A, available, write, &WITH_A, LEASE_NOT_PRESENT_WITH_BLOB_OPERATION)
USE(blob, write_with_A, leased, write, &WITH_A, OK)
USE(blob, write_with_A, breaking, write, &WITH_A, OK)
USE(blob, write_with_A, broken, write, &WITH_A, LEASE_LOST)
USE(blob, write_with_A, expired, write, &WITH_A, LEASE_LOST)
USE(blob, write_with_B, available, write, &WITH_B, LEASE_NOT_PRESENT_WITH_BLOB_OPERATION)
USE(blob, write_with_B, leased, write, &WITH_B, LEASE_ID_MISMATCH_WITH_BLOB_OPERATION)
USE(blob, write_with_B, breaking, write, &WITH_B, LEASE_ID_MISMATCH_WITH_BLOB_OPERATION)
USE(blob, write_with_B, broken, write, &WITH_B, LEASE_LOST)
USE(blob, write_with_B, expired, write, &WITH_B, LEASE_LOST)
USE(blob, write_without_id, available, write, &WITHOUT, OK)
USE(blob, write_without_id, leased, write, &WITHOUT, LEASE_ID_MISSING)
USE(blob, write_without_id, breaking, write, &WITHOUT, LEASE_ID_MISSING)
USE(blob, write_without_id, broken, write, &WITHOUT, OK)
USE(blob, write_without_id, expired, write, &WITHOUT, OK)
USE(blob, read_with_A, available, read, &WITH_A, LEASE_NOT_PRESENT_WITH_BLOB_OPERATION)
USE(blob, read_with_A, leased, read, &WITH_A, OK)
USE(blob, read_with_A, breaking, read, &WITH_A, OK)
USE(blob, read_with_A, broken, read, &WITH_A, LEASE_LOST)
USE(blob, read_with_A, expired, read, &WITH_A, LEASE_LOST)
USE(blob, read_with_B, available, read, &WITH_B, LEASE_NOT_PRESENT_WITH_BLOB_OPERATION)
USE(blob, read_with_B, leased, read, &WITH_B, LEASE_ID_MISMATCH_WITH_BLOB_OPERATION)
USE(blob, read_with_B, breaking, read, &WITH_B, LEASE_ID_MISMATCH_WITH_BLOB_OPERATION)
USE(blob, read_with_B, broken, read, &WITH_B, LEASE_LOST)
USE(blob, read_with_B, expired, read, &WITH_B, LEASE_LOST)
USE(blob, read_without_id, available, read, &WITHOUT, OK)
USE(blob, read_without_id, leased, read, &WITHOUT, OK)
USE(blob, read_without_id, breaking, read, &WITHOUT, OK)
USE(blob, read_without_id, broken, read, &WITHOUT, OK)
USE(blob, read_without_id, expired, read, &WITHOUT, OK)
USE(container, write_with_A, available, write, &WITH_A, LEASE_NOT_PRESENT_WITH_CONTAINER_OPERATION)
USE(container, write_with_A, leased, write, &WITH_A, OK)
USE(container, write_with_A, breaking, write, &WITH_A, OK)
USE(container, write_with_A, broken, write, &WITH_A, LEASE_LOST)
USE(container, write_with_A, expired, write, &WITH_A, LEASE_LOST)
USE(container, write_with_B, available, write, &WITH_B, LEASE_NOT_PRESENT_WITH_CONTAINER_OPERATION)
USE(container, write_with_B, leased, write, &WITH_B, LEASE_ID_MISMATCH_WITH_CONTAINER_OPERATION)
USE(container, write_with_B, breaking, write, &WITH_B, LEASE_ID_MISMATCH_WITH_CONTAINER_OPERATION)
USE(container, write_with_B, broken, write, &WITH_B, LEASE_LOST)
USE(container, write_with_B, expired, write, &WITH_B, LEASE_LOST)
USE(container, write_without_id, available, write, &WITHOUT, OK)
USE(container, write_without_id, leased, write, &WITHOUT, LEASE_ID_MISSING)
USE(container, write_without_id, breaking, write, &WITHOUT, LEASE_ID_MISSING)
USE(container, write_without_id, broken, write, &WITHOUT, OK)
USE(container, write_without_id, expired, write, &WITHOUT, OK)
USE(container, read_with_A, available, read, &WITH_A, LEASE_NOT_PRESENT_WITH_CONTAINER_OPERATION)
USE(container, read_with_A, leased, read, &WITH_A, OK)
USE(container, read_with_A, breaking, read, &WITH_A, OK)
USE(container, read_with_A, broken, read, &WITH_A, LEASE_LOST)
USE(container, read_with_A, expired, read, &WITH_A, LEASE_LOST)
USE(container, read_with_B, available, read, &WITH_B, LEASE_NOT_PRESENT_WITH_CONTAINER_OPERATION)
USE(container, read_with_B, leased, read, &WITH_B, LEASE_ID_MISMATCH_WITH_CONTAINER_OPERATION)
USE(container, read_with_B, breaking, read, &WITH_B, LEASE_ID_MISMATCH_WITH_CONTAINER_OPERATION)
USE(container, read_with_B, broken, read, &WITH_B, LEASE_LOST)
USE(container, read_with_B, expired, read, &WITH_B, LEASE_LOST)
USE(container, read_without_id, available, read, &WITHOUT, OK)
USE(container, read_without_id, leased, read, &WITHOUT, OK)
USE(container, read_without_id, breaking, read, &WITHOUT, OK)
USE(container, read_without_id, broken, read, &WITHOUT, OK)
USE(container, read_without_id, expired, read, &WITHOUT, OK)
// clang-format on

void test_lease_cell_acquire_A_in_leased_sets_new_duration(void)
{
    struct lease l = lease_in(LEASE_LEASED);
    apply(&l, acquire(A, LEASE_INFINITE), NOW);
    CHECK_INT(lease_state(&l, after(100000)), LEASE_LEASED);
    apply(&l, acquire(A, 15), NOW);
    CHECK_INT(lease_state(&l, after(15)), LEASE_EXPIRED);
}

void test_lease_cell_renew_A_in_leased_resets_the_clock(void)
{
    struct lease l = lease_in(LEASE_LEASED);
    apply(&l, renew(A), after(40));
    CHECK_INT(lease_state(&l, after(99)), LEASE_LEASED);
    CHECK_INT(lease_state(&l, after(100)), LEASE_EXPIRED);
}

void test_lease_cell_renew_A_in_expired_modified(void)
{
    struct lease l = lease_in(LEASE_EXPIRED);
    lease_after_write(&l, NOW);
    struct lease_request request = renew(A);
    int left;
    CHECK_ERR(lease_apply(&l, &request, NOW, &left), ERR_LEASE_ID_MISMATCH_WITH_LEASE_OPERATION);
}

void test_lease_cell_renew_A_in_expired_released_to_another(void)
{
    struct lease l = lease_in(LEASE_EXPIRED);
    apply(&l, acquire(B, 15), NOW);
    struct lease_request request = renew(A);
    int left;
    CHECK_ERR(lease_apply(&l, &request, after(20), &left),
              ERR_LEASE_ID_MISMATCH_WITH_LEASE_OPERATION);
}

void test_lease_write_without_id_on_expired_makes_available(void)
{
    struct lease l = lease_in(LEASE_EXPIRED);
    lease_after_write(&l, NOW);
    CHECK_INT(lease_state(&l, NOW), LEASE_AVAILABLE);
    l = lease_in(LEASE_BROKEN);
    lease_after_write(&l, NOW);
    CHECK_INT(lease_state(&l, NOW), LEASE_AVAILABLE);
}

void test_lease_write_with_id_keeps_the_lease(void)
{
    struct lease l = lease_in(LEASE_LEASED);
    lease_after_write(&l, NOW);
    CHECK_INT(lease_state(&l, NOW), LEASE_LEASED);
    l = lease_in(LEASE_BREAKING);
    lease_after_write(&l, NOW);
    CHECK_INT(lease_state(&l, NOW), LEASE_BREAKING);
}

void test_lease_cell_time_passes_in_leased(void)
{
    struct lease l = lease_in(LEASE_LEASED);
    CHECK_INT(lease_state(&l, after(50) - 1), LEASE_LEASED);
    CHECK_INT(lease_state(&l, after(50)), LEASE_EXPIRED);
}

void test_lease_cell_time_passes_in_breaking(void)
{
    struct lease l = lease_in(LEASE_BREAKING);
    CHECK_INT(lease_state(&l, after(20) - 1), LEASE_BREAKING);
    CHECK_INT(lease_state(&l, after(20)), LEASE_BROKEN);
}

void test_lease_cell_break_of_infinite_without_period_is_at_once(void)
{
    struct lease l = {0};
    apply(&l, acquire(A, LEASE_INFINITE), NOW);
    CHECK_INT(apply(&l, break_in(-1), NOW), 0);
    CHECK_INT(lease_state(&l, NOW), LEASE_BROKEN);
}

void test_lease_cell_break_of_infinite_with_period_waits_for_it(void)
{
    struct lease l = {0};
    apply(&l, acquire(A, LEASE_INFINITE), NOW);
    CHECK_INT(apply(&l, break_in(25), NOW), 25);
    CHECK_INT(lease_state(&l, after(24)), LEASE_BREAKING);
    CHECK_INT(lease_state(&l, after(25)), LEASE_BROKEN);
}

void test_lease_break_only_shortens(void)
{
    struct lease l = lease_in(LEASE_LEASED);
    CHECK_INT(apply(&l, break_in(60), NOW), 50);
    CHECK_INT(apply(&l, break_in(-1), after(10)), 40);
    CHECK_INT(apply(&l, break_in(45), after(10)), 40);
    CHECK_INT(apply(&l, break_in(5), after(10)), 5);
    CHECK_INT(lease_state(&l, after(15)), LEASE_BROKEN);
    CHECK_INT(apply(&l, break_in(60), after(16)), 0);
}

void test_lease_break_of_expired_is_broken_at_once(void)
{
    struct lease l = lease_in(LEASE_EXPIRED);
    CHECK_INT(apply(&l, break_in(30), NOW), 0);
    CHECK_INT(lease_state(&l, NOW), LEASE_BROKEN);
}

void test_lease_left_seconds_are_rounded_up(void)
{
    struct lease l = lease_in(LEASE_LEASED);
    CHECK_INT(apply(&l, break_in(-1), NOW + TICKS_PER_SECOND / 2), 50);
}

void test_lease_id_for_an_absent_object_is_refused(void)
{
    CHECK_ERR(lease_check_absent(LEASE_BLOB, &WITH_A), ERR_LEASE_NOT_PRESENT_WITH_BLOB_OPERATION);
    CHECK_OK(lease_check_absent(LEASE_BLOB, &WITHOUT));
}

void test_lease_codes_of_share_and_file(void)
{
    struct lease l = lease_in(LEASE_LEASED);
    CHECK_ERR(lease_check_write(&l, LEASE_SHARE, &WITH_B, NOW),
              ERR_LEASE_ID_MISMATCH_WITH_SHARE_OPERATION);
    CHECK_ERR(lease_check_write(&l, LEASE_FILE, &WITH_B, NOW),
              ERR_LEASE_ID_MISMATCH_WITH_FILE_OPERATION);
    l = lease_in(LEASE_AVAILABLE);
    CHECK_ERR(lease_check_read(&l, LEASE_SHARE, &WITH_A, NOW),
              ERR_LEASE_NOT_PRESENT_WITH_SHARE_OPERATION);
    CHECK_ERR(lease_check_read(&l, LEASE_FILE, &WITH_A, NOW),
              ERR_LEASE_NOT_PRESENT_WITH_FILE_OPERATION);
}

void test_lease_texts(void)
{
    struct lease l = lease_in(LEASE_LEASED);
    CHECK_STR(lease_status_text(LEASE_LEASED), STR("locked"));
    CHECK_STR(lease_status_text(LEASE_BREAKING), STR("locked"));
    CHECK_STR(lease_status_text(LEASE_BROKEN), STR("unlocked"));
    CHECK_STR(lease_duration_text(&l, NOW), STR("fixed"));
    CHECK(!str_given(lease_duration_text(&l, after(60))));
    apply(&l, acquire(A, LEASE_INFINITE), NOW);
    CHECK_STR(lease_duration_text(&l, NOW), STR("infinite"));
}

void test_lease_rows_hold_it_whole(void)
{
    struct arena a;
    arena_init(&a, 1 << 20);
    static const enum lease_state STATES[] = {LEASE_LEASED, LEASE_BREAKING, LEASE_BROKEN,
                                              LEASE_EXPIRED};
    for (size_t i = 0; i < sizeof STATES / sizeof STATES[0]; i++) {
        struct lease l = lease_in(STATES[i]), back;
        struct buf b = buf_in(&a);
        LEASE_CODEC.put(&b, &l);
        CHECK(LEASE_CODEC.take(buf_str(&b), &back));
        CHECK(back.state == l.state && back.ends == l.ends && back.seconds == l.seconds);
        CHECK(guid_eq(&back.id, &l.id));
        CHECK(!LEASE_CODEC.take(str_from(buf_str(&b), 1), &back));
    }
    arena_release(&a);
}
