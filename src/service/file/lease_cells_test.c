/* SPDX-License-Identifier: Apache-2.0 */
/* Every cell of the tables of file and share leases (docs/protocol/facts.md §2.5, §2.6): each
 * operation in each state, without an id, with the lease's (A) and with another (B). A refused
 * operation changes nothing; a write without an id removes a file's expired lease. */
#include "service/file/file_fixture.h"

enum state { AVAILABLE, LEASED, BREAKING, BROKEN, EXPIRED };
enum id { NONE, ID_A, ID_B };

static struct guid guid_of(enum id id)
{
    return (struct guid){.bytes = {id == ID_A ? 0xA : 0xB}};
}

static struct lease_id lease_id_of(enum id id)
{
    return (struct lease_id){.given = id != NONE, .id = guid_of(id)};
}

/* The answer to a write, by the table; reads differ in that no id is needed. */
static enum err_code wanted(enum state state, enum id id, bool reads, bool share)
{
    bool locked = state == LEASED || state == BREAKING;
    if (id == NONE)
        return locked && !reads ? ERR_LEASE_ID_MISSING : ERR_OK;
    if (state == AVAILABLE)
        return share ? ERR_LEASE_NOT_PRESENT_WITH_SHARE_OPERATION
                     : ERR_LEASE_NOT_PRESENT_WITH_FILE_OPERATION;
    if (!locked)
        return ERR_LEASE_LOST;
    if (id == ID_A)
        return ERR_OK;
    return share ? ERR_LEASE_ID_MISMATCH_WITH_SHARE_OPERATION
                 : ERR_LEASE_ID_MISMATCH_WITH_FILE_OPERATION;
}

static void check_code(struct err error, enum err_code code, enum state state, enum id id)
{
    if (error.code != code)
        test_fail(__FILE__, __LINE__, "state %d, id %d: %s, not %s", state, id,
                  err_azure_code(error.code), err_azure_code(code));
}

/* ---- files ---- */

static struct err lease_file(struct world *w, struct lease_request request)
{
    struct file_args args = {.request = request_of(w, "f"), .lease = request};
    return world_write(w, file_lease_file, &args);
}

static void bring_file_to(struct world *w, enum state state)
{
    if (state == AVAILABLE)
        return;
    CHECK_OK(lease_file(w, (struct lease_request){.action = LEASE_ACQUIRE,
                                                  .proposed = guid_of(ID_A),
                                                  .seconds = LEASE_INFINITE}));
    if (state == BROKEN)
        CHECK_OK(lease_file(w, (struct lease_request){.action = LEASE_BREAK, .break_seconds = -1}));
}

/* One operation on the file "f" with a lease id. */
typedef struct err file_operation(struct world *w, struct lease_id lease);

struct after {
    bool exists;
    int64_t etag;
    enum lease_state state;
};

static struct after look(struct world *w)
{
    struct file_outcome out;
    struct err error = get_properties(w, "f", &out);
    if (error.code == ERR_RESOURCE_NOT_FOUND)
        return (struct after){0};
    CHECK_OK(error);
    return (struct after){true, out.node.etag, lease_state(&out.node.lease, clock_now(&w->clock))};
}

static void check_file_cell(file_operation *run, enum state state, enum id id, bool reads)
{
    struct world w;
    world_begin(&w);
    CHECK_OK(create_file(&w, "f", 2000));
    CHECK_OK(create_file(&w, "other", 5));
    CHECK_OK(put_range(&w, "other", 0, STR("other")));
    bring_file_to(&w, state);
    struct after before = look(&w);
    enum err_code code = wanted(state, id, reads, false);
    check_code(run(&w, lease_id_of(id)), code, state, id);
    struct after after = look(&w);
    if (code != ERR_OK || reads) {
        CHECK(after.exists && after.etag == before.etag && after.state == before.state);
    } else if (after.exists) {
        CHECK(after.etag > before.etag);
        CHECK_INT(after.state, state == LEASED ? LEASE_LEASED : LEASE_AVAILABLE);
    }
    world_end(&w);
}

static void check_file_cells(file_operation *run, bool reads)
{
    static const enum state STATES[] = {AVAILABLE, LEASED, BROKEN};
    for (size_t i = 0; i < sizeof STATES / sizeof STATES[0]; i++)
        for (enum id id = NONE; id <= ID_B; id++)
            check_file_cell(run, STATES[i], id, reads);
}

static struct err run_create(struct world *w, struct lease_id lease)
{
    struct file_args args = {.request = request_of(w, "F"), .has_size = true, .size = 5};
    args.request.lease = lease;
    return world_write(w, file_create_file, &args);
}

void test_lease_cells_create_file(void)
{
    check_file_cells(run_create, false);
}

static struct err run_set_properties(struct world *w, struct lease_id lease)
{
    struct file_args args = {.request = request_of(w, "f"), .has_size = true, .size = 5};
    args.request.lease = lease;
    return world_write(w, file_set_file_properties, &args);
}

void test_lease_cells_set_file_properties(void)
{
    check_file_cells(run_set_properties, false);
}

static struct err run_set_metadata(struct world *w, struct lease_id lease)
{
    struct file_args args = {.request = request_of(w, "f"), .metadata = STR("\1a\1b")};
    args.request.lease = lease;
    return world_write(w, file_set_file_metadata, &args);
}

void test_lease_cells_set_file_metadata(void)
{
    check_file_cells(run_set_metadata, false);
}

static struct err run_delete(struct world *w, struct lease_id lease)
{
    struct file_args args = {.request = request_of(w, "f")};
    args.request.lease = lease;
    return world_write(w, file_delete_file, &args);
}

void test_lease_cells_delete_file(void)
{
    check_file_cells(run_delete, false);
}

static struct err run_put_range(struct world *w, struct lease_id lease)
{
    struct pieces pieces;
    CHECK_OK(make_pieces(w, 0, STR("hello"), &pieces));
    struct file_range_args args = {.request = request_of(w, "f"), .length = 5, .pieces = &pieces};
    args.request.lease = lease;
    return world_write(w, file_put_range, &args);
}

void test_lease_cells_put_range(void)
{
    check_file_cells(run_put_range, false);
}

static struct err run_clear_range(struct world *w, struct lease_id lease)
{
    struct file_range_args args = {.request = request_of(w, "f"), .length = 1000};
    args.request.lease = lease;
    return world_write(w, file_put_range, &args);
}

void test_lease_cells_clear_range(void)
{
    check_file_cells(run_clear_range, false);
}

static struct err run_copy(struct world *w, struct lease_id lease)
{
    struct copy_source source = {
        .arena = &w->arena, .partition = w->partition, .path = STR("other")};
    CHECK_OK(engine_view(w->store.engine, w->partition, ENGINE_WAIT, file_copy_find, &source));
    struct copy_args args = {
        .request = request_of(w, "f"), .source = &source, .url = STR("http://x/share/other")};
    args.request.lease = lease;
    TRY(world_write(w, file_copy_file, &args));
    world_sweep(w);
    return OK;
}

void test_lease_cells_copy_file_destination(void)
{
    check_file_cells(run_copy, false);
}

static struct err run_rename_source(struct world *w, struct lease_id lease)
{
    struct rename_args args = {.request = request_of(w, "moved"),
                               .kind = FILE_FILE,
                               .source = STR("f"),
                               .source_lease = lease};
    return world_write(w, file_rename, &args);
}

void test_lease_cells_rename_file_source(void)
{
    check_file_cells(run_rename_source, false);
}

static struct err run_rename_destination(struct world *w, struct lease_id lease)
{
    struct rename_args args = {
        .request = request_of(w, "f"), .kind = FILE_FILE, .source = STR("other"), .replace = true};
    args.request.lease = lease;
    return world_write(w, file_rename, &args);
}

/* The replacing file does not inherit the lease: it has none. */
void test_lease_cells_rename_file_destination(void)
{
    static const enum state STATES[] = {AVAILABLE, LEASED, BROKEN};
    for (size_t i = 0; i < 3; i++)
        for (enum id id = NONE; id <= ID_B; id++) {
            struct world w;
            world_begin(&w);
            CHECK_OK(create_file(&w, "f", 5));
            CHECK_OK(create_file(&w, "other", 0));
            bring_file_to(&w, STATES[i]);
            enum err_code code = wanted(STATES[i], id, false, false);
            check_code(run_rename_destination(&w, lease_id_of(id)), code, STATES[i], id);
            CHECK_STR(list_directory(&w, "", 0), code == ERR_OK ? STR("f ") : STR("f other "));
            if (code == ERR_OK)
                CHECK_INT(look(&w).state, LEASE_AVAILABLE);
            world_end(&w);
        }
}

static struct err run_get(struct world *w, struct lease_id lease)
{
    struct file_read_args args = {.request = request_of(w, "f")};
    args.request.lease = lease;
    return world_read(w, file_get_file, &args);
}

void test_lease_cells_get_file(void)
{
    check_file_cells(run_get, true);
}

static struct err run_get_properties(struct world *w, struct lease_id lease)
{
    struct file_args args = {.request = request_of(w, "f")};
    args.request.lease = lease;
    return world_read(w, file_get_file_properties, &args);
}

void test_lease_cells_get_file_properties(void)
{
    check_file_cells(run_get_properties, true);
}

static struct err run_list_ranges(struct world *w, struct lease_id lease)
{
    struct file_ranges_args args = {.request = request_of(w, "f"), .max = FILE_RANGES_MAX};
    args.request.lease = lease;
    return world_read(w, file_list_ranges, &args);
}

void test_lease_cells_list_ranges(void)
{
    check_file_cells(run_list_ranges, true);
}

/* The actions on a file's lease: three states, no renewal. */
static void check_file_action(struct lease_request request, const enum err_code want[3],
                              const enum lease_state then[3])
{
    static const enum state STATES[] = {AVAILABLE, LEASED, BROKEN};
    static const enum lease_state SAME[] = {LEASE_AVAILABLE, LEASE_LEASED, LEASE_BROKEN};
    for (size_t i = 0; i < 3; i++) {
        struct world w;
        world_begin(&w);
        CHECK_OK(create_file(&w, "f", 5));
        bring_file_to(&w, STATES[i]);
        int64_t etag = look(&w).etag;
        check_code(lease_file(&w, request), want[i], STATES[i], NONE);
        CHECK_INT(look(&w).state, want[i] == ERR_OK ? then[i] : SAME[i]);
        CHECK_INT(look(&w).etag, etag);
        world_end(&w);
    }
}

void test_lease_cells_acquire_file(void)
{
    static const enum lease_state THEN[] = {LEASE_LEASED, LEASE_LEASED, LEASE_LEASED};
    struct lease_request request = {.action = LEASE_ACQUIRE, .seconds = LEASE_INFINITE};
    request.proposed = guid_of(ID_A);
    check_file_action(request, (enum err_code[]){ERR_OK, ERR_OK, ERR_OK}, THEN);
    request.proposed = guid_of(ID_B);
    check_file_action(request, (enum err_code[]){ERR_OK, ERR_LEASE_ALREADY_PRESENT, ERR_OK}, THEN);
}

void test_lease_cells_change_file(void)
{
    static const enum lease_state THEN[] = {LEASE_LEASED, LEASE_LEASED, LEASE_LEASED};
    const enum err_code none = ERR_LEASE_NOT_PRESENT_WITH_LEASE_OPERATION;
    struct lease_request request = {
        .action = LEASE_CHANGE, .id = guid_of(ID_A), .proposed = guid_of(ID_B)};
    check_file_action(request, (enum err_code[]){none, ERR_OK, none}, THEN);
    request.id = guid_of(ID_B);
    request.proposed = guid_of(ID_A);
    check_file_action(request, (enum err_code[]){none, ERR_OK, none}, THEN);
    request.proposed = (struct guid){.bytes = {0xC}};
    check_file_action(
        request, (enum err_code[]){none, ERR_LEASE_ID_MISMATCH_WITH_LEASE_OPERATION, none}, THEN);
}

void test_lease_cells_release_file(void)
{
    static const enum lease_state THEN[] = {LEASE_AVAILABLE, LEASE_AVAILABLE, LEASE_AVAILABLE};
    const enum err_code other = ERR_LEASE_ID_MISMATCH_WITH_LEASE_OPERATION;
    struct lease_request request = {.action = LEASE_RELEASE, .id = guid_of(ID_A)};
    check_file_action(request, (enum err_code[]){other, ERR_OK, ERR_OK}, THEN);
    request.id = guid_of(ID_B);
    check_file_action(request, (enum err_code[]){other, other, other}, THEN);
}

void test_lease_cells_break_file(void)
{
    static const enum lease_state THEN[] = {LEASE_AVAILABLE, LEASE_BROKEN, LEASE_BROKEN};
    struct lease_request request = {.action = LEASE_BREAK, .break_seconds = -1};
    check_file_action(request,
                      (enum err_code[]){ERR_LEASE_NOT_PRESENT_WITH_LEASE_OPERATION, ERR_OK, ERR_OK},
                      THEN);
}

/* ---- shares ---- */

static struct err lease_share(struct world *w, struct lease_request request)
{
    struct share_args args = {.arena = &w->arena, .lease_request = request};
    return world_update(w, file_lease_share, &args);
}

static void bring_share_to(struct world *w, enum state state)
{
    if (state == AVAILABLE)
        return;
    CHECK_OK(lease_share(
        w,
        (struct lease_request){.action = LEASE_ACQUIRE, .proposed = guid_of(ID_A), .seconds = 15}));
    if (state == EXPIRED)
        clock_advance(&w->clock, 20 * TICKS_PER_SECOND);
    if (state == BREAKING || state == BROKEN)
        CHECK_OK(lease_share(w, (struct lease_request){.action = LEASE_BREAK,
                                                       .break_seconds = state == BROKEN ? 0 : 9}));
}

/* The share cannot be deleted while it is leased. */
static void end_unleased(struct world *w)
{
    struct err error = lease_share(w, (struct lease_request){.action = LEASE_BREAK});
    CHECK(error.code == ERR_OK || error.code == ERR_SHARE_NOT_FOUND ||
          error.code == ERR_LEASE_NOT_PRESENT_WITH_LEASE_OPERATION);
    world_end(w);
}

static void check_share_cells(engine_fn *fn, bool reads)
{
    for (enum state state = AVAILABLE; state <= EXPIRED; state++)
        for (enum id id = NONE; id <= ID_B; id++) {
            struct world w;
            world_begin(&w);
            bring_share_to(&w, state);
            struct share_args before = {.arena = &w.arena};
            CHECK_OK(
                engine_view(w.store.engine, w.partition, ENGINE_WAIT, file_get_share, &before));
            struct share_args args = {.arena = &w.arena, .lease = lease_id_of(id)};
            enum err_code code = wanted(state, id, reads, true);
            check_code(reads ? engine_view(w.store.engine, w.partition, ENGINE_WAIT, fn, &args)
                             : world_update(&w, fn, &args),
                       code, state, id);
            struct share_args after = {.arena = &w.arena};
            struct err error =
                engine_view(w.store.engine, w.partition, ENGINE_WAIT, file_get_share, &after);
            if (code != ERR_OK || reads)
                CHECK(!err_is(error) && after.share.etag == before.share.etag);
            end_unleased(&w);
        }
}

void test_lease_cells_set_share_properties(void)
{
    check_share_cells(file_set_share_properties, false);
}

void test_lease_cells_set_share_metadata(void)
{
    check_share_cells(file_set_share_metadata, false);
}

void test_lease_cells_set_share_acl(void)
{
    check_share_cells(file_set_share_acl, false);
}

void test_lease_cells_delete_share(void)
{
    check_share_cells(file_delete_share, false);
}

/* Properties, metadata, ACL and statistics are one transaction. */
void test_lease_cells_get_share(void)
{
    check_share_cells(file_get_share, true);
}

/* The actions on a share's lease: five states. */
static void check_share_action(struct lease_request request, const enum err_code want[5],
                               const enum lease_state then[5])
{
    static const enum lease_state SAME[] = {LEASE_AVAILABLE, LEASE_LEASED, LEASE_BREAKING,
                                            LEASE_BROKEN, LEASE_EXPIRED};
    for (enum state state = AVAILABLE; state <= EXPIRED; state++) {
        struct world w;
        world_begin(&w);
        bring_share_to(&w, state);
        check_code(lease_share(&w, request), want[state], state, NONE);
        struct share_args args = {.arena = &w.arena};
        CHECK_OK(engine_view(w.store.engine, w.partition, ENGINE_WAIT, file_get_share, &args));
        CHECK_INT(lease_state(&args.share.lease, clock_now(&w.clock)),
                  want[state] == ERR_OK ? then[state] : SAME[state]);
        end_unleased(&w);
    }
}

#define CODES(...)  ((enum err_code[]){__VA_ARGS__})
#define STATES(...) ((enum lease_state[]){__VA_ARGS__})

void test_lease_cells_acquire_share(void)
{
    const enum err_code present = ERR_LEASE_ALREADY_PRESENT;
    const enum lease_state *leased =
        STATES(LEASE_LEASED, LEASE_LEASED, LEASE_LEASED, LEASE_LEASED, LEASE_LEASED);
    struct lease_request request = {.action = LEASE_ACQUIRE, .seconds = 30};
    request.proposed = guid_of(ID_A);
    check_share_action(
        request,
        CODES(ERR_OK, ERR_OK, ERR_LEASE_IS_BREAKING_AND_CANNOT_BE_ACQUIRED, ERR_OK, ERR_OK),
        leased);
    request.proposed = guid_of(ID_B);
    check_share_action(request, CODES(ERR_OK, present, present, ERR_OK, ERR_OK), leased);
}

void test_lease_cells_renew_share(void)
{
    const enum err_code other = ERR_LEASE_ID_MISMATCH_WITH_LEASE_OPERATION;
    const enum err_code broken = ERR_LEASE_IS_BROKEN_AND_CANNOT_BE_RENEWED;
    const enum lease_state *leased =
        STATES(LEASE_LEASED, LEASE_LEASED, LEASE_LEASED, LEASE_LEASED, LEASE_LEASED);
    struct lease_request request = {.action = LEASE_RENEW, .id = guid_of(ID_A)};
    check_share_action(request, CODES(other, ERR_OK, broken, broken, ERR_OK), leased);
    request.id = guid_of(ID_B);
    check_share_action(request, CODES(other, other, other, other, other), leased);
}

void test_lease_cells_change_share(void)
{
    const enum err_code other = ERR_LEASE_ID_MISMATCH_WITH_LEASE_OPERATION;
    const enum err_code none = ERR_LEASE_NOT_PRESENT_WITH_LEASE_OPERATION;
    const enum lease_state *leased =
        STATES(LEASE_LEASED, LEASE_LEASED, LEASE_LEASED, LEASE_LEASED, LEASE_LEASED);
    struct lease_request request = {
        .action = LEASE_CHANGE, .id = guid_of(ID_A), .proposed = guid_of(ID_B)};
    check_share_action(request,
                       CODES(none, ERR_OK, ERR_LEASE_IS_BREAKING_AND_CANNOT_BE_CHANGED, none, none),
                       leased);
    request.id = guid_of(ID_B);
    request.proposed = guid_of(ID_A);
    check_share_action(request, CODES(none, ERR_OK, other, none, none), leased);
    request.proposed = (struct guid){.bytes = {0xC}};
    check_share_action(request, CODES(none, other, other, none, none), leased);
}

void test_lease_cells_release_share(void)
{
    const enum err_code other = ERR_LEASE_ID_MISMATCH_WITH_LEASE_OPERATION;
    const enum lease_state *available =
        STATES(LEASE_AVAILABLE, LEASE_AVAILABLE, LEASE_AVAILABLE, LEASE_AVAILABLE, LEASE_AVAILABLE);
    struct lease_request request = {.action = LEASE_RELEASE, .id = guid_of(ID_A)};
    check_share_action(request, CODES(other, ERR_OK, ERR_OK, ERR_OK, ERR_OK), available);
    request.id = guid_of(ID_B);
    check_share_action(request, CODES(other, other, other, other, other), available);
}

void test_lease_cells_break_share(void)
{
    const enum err_code none = ERR_LEASE_NOT_PRESENT_WITH_LEASE_OPERATION;
    struct lease_request request = {.action = LEASE_BREAK, .break_seconds = 0};
    check_share_action(
        request, CODES(none, ERR_OK, ERR_OK, ERR_OK, ERR_OK),
        STATES(LEASE_BROKEN, LEASE_BROKEN, LEASE_BROKEN, LEASE_BROKEN, LEASE_BROKEN));
    request.break_seconds = 5;
    check_share_action(
        request, CODES(none, ERR_OK, ERR_OK, ERR_OK, ERR_OK),
        STATES(LEASE_BROKEN, LEASE_BREAKING, LEASE_BREAKING, LEASE_BROKEN, LEASE_BROKEN));
}
