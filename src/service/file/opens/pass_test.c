/* SPDX-License-Identifier: Apache-2.0 */
/* Rules S1-S4 through the transactions themselves: every REST operation against files that are
 * really open in the table. */
#include "service/file/opens/pass.h"

#include "core/container.h"
#include "service/file/file_fixture.h"
#include "service/file/opens/handles.h"

/* ---- an SMB client ---- */

struct client {
    struct world world;
    struct opens_key key; /* of dir/file */
    struct opens_notice notice;
    int notices;
    int woken;
};

static void on_break(void *owner, const struct opens_notice *notice)
{
    struct client *c = owner;
    c->notice = *notice;
    c->notices++;
}

static void on_close(void *owner, uint64_t id)
{
    (void)owner;
    (void)id;
}

static const struct opens_owner CALLS = {on_break, on_close};

static void client_begin(struct client *c)
{
    struct file_outcome outcome;
    *c = (struct client){0};
    world_begin(&c->world);
    CHECK_OK(create_directory(&c->world, "dir"));
    CHECK_OK(create_file(&c->world, "dir/file", 1024));
    CHECK_OK(get_properties(&c->world, "dir/file", &outcome));
    c->key = (struct opens_key){outcome.incarnation, outcome.id};
}

static struct opens_request request(struct client *c, unsigned access, unsigned sharing)
{
    return (struct opens_request){.key = c->key,
                                  .path = STR("dir/file"),
                                  .access = access,
                                  .sharing = sharing,
                                  .calls = &CALLS,
                                  .owner = c};
}

static struct err try_open(struct client *c, const struct opens_request *r,
                           struct opens_handle **out)
{
    struct opens_wait wait = {0};
    unsigned granted;
    struct err error = opens_open(c->world.opens, r, &wait, out, &granted);
    if (error.code == ERR_OTHERS_FIRST)
        CHECK(opens_wait_cancel(c->world.opens, &wait));
    return error;
}

static struct opens_handle *smb_opens(struct client *c, unsigned access, unsigned sharing)
{
    struct opens_request r = request(c, access, sharing);
    struct opens_handle *h = NULL;
    CHECK_OK(try_open(c, &r, &h));
    return h;
}

static struct opens_handle *smb_caches(struct client *c, unsigned cache)
{
    struct opens_request r = request(c, OPENS_READ | OPENS_WRITE, OPENS_ALL);
    struct opens_handle *h = NULL;
    r.cache = cache;
    r.lease = true;
    r.lease_key[0] = 1;
    CHECK_OK(try_open(c, &r, &h));
    return h;
}

static void smb_closes(struct client *c, struct opens_handle *h)
{
    bool remove;
    opens_close(c->world.opens, h, &remove);
    CHECK(!remove);
}

/* ---- the operations ---- */

static struct err op_create(struct world *w)
{
    return create_file(w, "dir/file", 1024);
}

static struct err op_get(struct world *w)
{
    struct file_read_args args = {.request = request_of(w, "dir/file")};
    return world_read(w, file_get_file, &args);
}

static struct err op_list_ranges(struct world *w)
{
    struct file_ranges_args args = {.request = request_of(w, "dir/file"), .max = 10};
    return world_read(w, file_list_ranges, &args);
}

static struct err op_get_properties(struct world *w)
{
    struct file_outcome outcome;
    return get_properties(w, "dir/file", &outcome);
}

static struct err op_set_properties(struct world *w)
{
    struct file_args args = {.request = request_of(w, "dir/file")};
    return world_write(w, file_set_file_properties, &args);
}

static struct err op_set_metadata(struct world *w)
{
    struct file_args args = {.request = request_of(w, "dir/file")};
    return world_write(w, file_set_file_metadata, &args);
}

static struct err op_put_range(struct world *w)
{
    return put_range(w, "dir/file", 0, STR("bytes"));
}

static struct err op_clear_range(struct world *w)
{
    return clear_range(w, "dir/file", 0, 512);
}

static struct err change_lease(struct world *w, enum lease_action action)
{
    struct file_args args = {.request = request_of(w, "dir/file")};
    args.lease = (struct lease_request){.action = action, .seconds = LEASE_INFINITE};
    args.lease.proposed.bytes[0] = 1;
    args.lease.id.bytes[0] = 1;
    return world_write(w, file_lease_file, &args);
}

/* Releases an acquired lease. */
static struct err op_lease(struct world *w)
{
    struct err error = change_lease(w, LEASE_ACQUIRE);
    if (!err_is(error))
        CHECK_OK(change_lease(w, LEASE_RELEASE));
    return error;
}

/* Recreates a deleted file, and the key of its opens. */
static struct err op_delete(struct world *w)
{
    struct err error = delete_file(w, "dir/file");
    if (!err_is(error))
        CHECK_OK(create_file(w, "dir/file", 1024));
    return error;
}

static struct err op_rename(struct world *w)
{
    struct rename_args args = {
        .request = request_of(w, "dir/other"), .kind = FILE_FILE, .source = STR("dir/file")};
    return world_write(w, file_rename, &args);
}

typedef struct err operation(struct world *w);

/* In the order of docs/protocol/smb.md's table; the last two answer whatever is shared. */
static operation *const OPERATIONS[] = {
    op_create,      op_get,    op_list_ranges, op_set_properties, op_set_metadata,  op_put_range,
    op_clear_range, op_delete, op_lease,       op_rename,         op_get_properties};
enum { OPERATION_COUNT = sizeof OPERATIONS / sizeof OPERATIONS[0] };

/* ---- S2 ---- */

#define FAILS_ALL      "xxxxxxxxxx."
#define FAILS_NO_READ  "x..xxxxxxx."
#define FAILS_NO_WRITE "xxx....xxx."

static const struct {
    unsigned sharing;
    const char *fails; /* a letter per operation */
} SHARE_MODES[] = {
    {0, FAILS_ALL},
    {OPENS_READ, FAILS_NO_READ},
    {OPENS_WRITE, FAILS_NO_WRITE},
    {OPENS_DELETE, FAILS_ALL},
    {OPENS_READ | OPENS_WRITE, "x......xxx."},
    {OPENS_READ | OPENS_DELETE, FAILS_NO_READ},
    {OPENS_WRITE | OPENS_DELETE, ".xx....xxx."},
    {OPENS_ALL, ".......x.x."},
};

void test_rule_S2_every_share_mode_against_every_transaction(void)
{
    for (size_t row = 0; row < sizeof SHARE_MODES / sizeof SHARE_MODES[0]; row++) {
        struct client c;
        client_begin(&c);
        struct opens_handle *h = smb_opens(&c, OPENS_READ, SHARE_MODES[row].sharing);
        for (size_t i = 0; i < OPERATION_COUNT; i++) {
            bool fails = SHARE_MODES[row].fails[i] == 'x';
            struct err error = OPERATIONS[i](&c.world);
            if (error.code != (fails ? ERR_SHARING_VIOLATION : ERR_OK))
                test_fail(__FILE__, __LINE__, "sharing %u, operation %zu: %s",
                          SHARE_MODES[row].sharing, i, err_azure_code(error.code));
        }
        CHECK_STR(list_directory(&c.world, "dir", 0), STR("file "));
        smb_closes(&c, h);
        for (size_t i = 0; i < OPERATION_COUNT - 2; i++)
            CHECK_OK(OPERATIONS[i](&c.world));
        world_end(&c.world);
    }
}

void test_rule_S2_rest_lease_against_handles_and_back(void)
{
    static const unsigned ACCESS[] = {OPENS_WRITE, OPENS_DELETE, OPENS_READ | OPENS_WRITE};
    struct client c;
    client_begin(&c);
    for (size_t i = 0; i < 3; i++) {
        struct opens_handle *h = smb_opens(&c, ACCESS[i], OPENS_ALL);
        CHECK_ERR(change_lease(&c.world, LEASE_ACQUIRE), ERR_SHARING_VIOLATION);
        smb_closes(&c, h);
    }
    struct opens_handle *reader = smb_opens(&c, OPENS_READ, OPENS_ALL);
    CHECK_OK(change_lease(&c.world, LEASE_ACQUIRE));
    smb_closes(&c, reader);
    for (size_t i = 0; i < 3; i++) {
        struct opens_request r = request(&c, ACCESS[i], OPENS_ALL);
        struct opens_handle *h = NULL;
        r.rest_leased = true;
        CHECK_ERR(try_open(&c, &r, &h), ERR_SHARING_VIOLATION);
    }
    CHECK_OK(change_lease(&c.world, LEASE_RELEASE));
    world_end(&c.world);
}

void test_rule_S2_byte_range_lock_is_in_the_way(void)
{
    struct client c;
    client_begin(&c);
    struct opens_handle *h = smb_opens(&c, OPENS_READ | OPENS_WRITE, OPENS_ALL);
    struct opens_lock shared = {4000, 1, false};
    struct opens_lock exclusive = {5000, 1, true};
    struct opens_wait wait = {0};
    CHECK_OK(opens_lock(c.world.opens, h, &shared, false, &wait));
    CHECK_ERR(op_put_range(&c.world), ERR_FILE_LOCK_CONFLICT);
    CHECK_ERR(op_set_properties(&c.world), ERR_FILE_LOCK_CONFLICT);
    CHECK_ERR(op_create(&c.world), ERR_FILE_LOCK_CONFLICT);
    CHECK_OK(op_get(&c.world));
    CHECK_OK(opens_lock(c.world.opens, h, &exclusive, false, &wait));
    CHECK_ERR(op_get(&c.world), ERR_FILE_LOCK_CONFLICT);
    CHECK_OK(op_get_properties(&c.world));
    smb_closes(&c, h);
    CHECK_OK(op_put_range(&c.world));
    world_end(&c.world);
}

void test_read_only_attribute_refuses_writes(void)
{
    struct client c;
    client_begin(&c);
    struct file_args args = {.request = request_of(&c.world, "dir/file")};
    args.settings.has_attributes = true;
    args.settings.attributes = NODE_READ_ONLY;
    CHECK_OK(world_write(&c.world, file_set_file_properties, &args));
    CHECK_ERR(op_create(&c.world), ERR_READ_ONLY_ATTRIBUTE);
    CHECK_ERR(op_set_properties(&c.world), ERR_READ_ONLY_ATTRIBUTE);
    CHECK_ERR(op_set_metadata(&c.world), ERR_READ_ONLY_ATTRIBUTE);
    CHECK_ERR(op_put_range(&c.world), ERR_READ_ONLY_ATTRIBUTE);
    CHECK_OK(op_get(&c.world));
    struct opens_request writes = request(&c, OPENS_WRITE, OPENS_ALL);
    struct opens_handle *h = NULL;
    writes.read_only = true;
    CHECK_ERR(try_open(&c, &writes, &h), ERR_READ_ONLY_ATTRIBUTE);
    world_end(&c.world);
}

/* ---- S3 and S4 ---- */

static void check_pending(struct client *c)
{
    for (size_t i = 0; i < OPERATION_COUNT; i++)
        CHECK_ERR(OPERATIONS[i](&c->world), ERR_SMB_DELETE_PENDING);
    CHECK_STR(list_directory(&c->world, "dir", 0), STR(""));
    struct file_handles_args handles = {.request = request_of(&c->world, "dir/file")};
    CHECK_OK(world_read(&c->world, file_select_handles, &handles));
    CHECK_INT(handles.select.node, c->key.node);
}

void test_rule_S3_pending_file_answers_nothing_but_handles(void)
{
    struct client c;
    client_begin(&c);
    struct opens_handle *h = smb_opens(&c, OPENS_DELETE, OPENS_ALL);
    CHECK_OK(opens_set_delete(c.world.opens, h, true));
    check_pending(&c);
    CHECK_OK(opens_set_delete(c.world.opens, h, false));
    CHECK_STR(list_directory(&c.world, "dir", 0), STR("file "));
    CHECK_OK(op_put_range(&c.world));
    smb_closes(&c, h);
    CHECK_OK(op_get(&c.world));
    world_end(&c.world);
}

void test_rule_S3_gone_only_when_the_last_handle_is(void)
{
    struct client c;
    client_begin(&c);
    struct opens_request r = request(&c, OPENS_DELETE, OPENS_ALL);
    struct opens_handle *h = NULL;
    bool remove;
    r.delete_on_close = true;
    CHECK_OK(try_open(&c, &r, &h));
    struct opens_handle *other = smb_opens(&c, OPENS_READ, OPENS_ALL);
    check_pending(&c);
    opens_close(c.world.opens, h, &remove);
    CHECK(!remove);
    check_pending(&c);
    opens_close(c.world.opens, other, &remove);
    CHECK(remove);
    check_pending(&c); /* until the row is gone */
    opens_removed(c.world.opens, c.key);
    CHECK_OK(delete_file(&c.world, "dir/file"));
    CHECK_ERR(op_get(&c.world), ERR_RESOURCE_NOT_FOUND);
    world_end(&c.world);
}

void test_rule_S3_nothing_new_in_a_pending_directory(void)
{
    struct client c;
    client_begin(&c);
    CHECK_OK(create_directory(&c.world, "dir/sub"));
    struct directory_args args = {.request = request_of(&c.world, "dir/sub")};
    CHECK_OK(world_read(&c.world, file_get_directory, &args));
    c.key.node = args.outcome.id;
    struct opens_handle *h = smb_opens(&c, OPENS_DELETE, OPENS_ALL);
    CHECK_OK(opens_set_delete(c.world.opens, h, true));
    CHECK_ERR(create_file(&c.world, "dir/sub/new", 1), ERR_SMB_DELETE_PENDING);
    CHECK_ERR(create_directory(&c.world, "dir/sub/new"), ERR_SMB_DELETE_PENDING);
    CHECK_ERR(create_directory(&c.world, "dir/sub"), ERR_SMB_DELETE_PENDING);
    CHECK_OK(opens_set_delete(c.world.opens, h, false));
    CHECK_OK(create_file(&c.world, "dir/sub/new", 1));
    smb_closes(&c, h);
    world_end(&c.world);
}

void test_rule_S4_rest_delete_is_there_or_gone(void)
{
    struct client c;
    client_begin(&c);
    struct opens_handle *h = smb_opens(&c, OPENS_READ, OPENS_ALL);
    CHECK_ERR(delete_file(&c.world, "dir/file"), ERR_SHARING_VIOLATION);
    CHECK(!opens_delete_pending(c.world.opens, c.key));
    CHECK_OK(op_get(&c.world));
    smb_closes(&c, h);
    CHECK_OK(delete_file(&c.world, "dir/file"));
    CHECK(!opens_delete_pending(c.world.opens, c.key));
    CHECK_ERR(op_get(&c.world), ERR_RESOURCE_NOT_FOUND);
    world_end(&c.world);
}

/* ---- waiting for caches ---- */

static void on_done(struct opens_wait *wait)
{
    struct file_pass *pass = CONTAINER_OF(wait, struct file_pass, wait);
    pass->owed = false;
    ++*(int *)pass->front;
}

static const unsigned RWH = OPENS_CACHE_R | OPENS_CACHE_W | OPENS_CACHE_H;

void test_rule_S2_write_waits_for_the_lease_and_goes_on(void)
{
    struct client c;
    client_begin(&c);
    struct opens_handle *h = smb_caches(&c, RWH);
    struct file_args args = {.request = request_of(&c.world, "dir/file")};
    args.request.pass.wait.done = on_done;
    args.request.pass.front = &c.woken;
    args.has_size = true;
    args.size = 5;
    CHECK_ERR(world_update(&c.world, file_set_file_properties, &args),
              ERR_CLIENT_CACHE_FLUSH_DELAY);
    CHECK(args.request.pass.waiting);
    CHECK_INT(c.notices, 1);
    CHECK_INT(c.notice.to, OPENS_CACHE_NONE);
    CHECK_INT(c.woken, 0);
    CHECK_OK(opens_cache_ack(c.world.opens, h, OPENS_CACHE_NONE));
    CHECK_INT(c.woken, 1);
    CHECK_OK(world_write(&c.world, file_set_file_properties, &args));
    CHECK_INT(args.outcome.node.size, 5);
    smb_closes(&c, h);
    world_end(&c.world);
}

static void on_done_unheard(struct opens_wait *wait)
{
    struct file_pass *pass = CONTAINER_OF(wait, struct file_pass, wait);
    ++*(int *)pass->front;
}

/* A transaction function may be run again while the table's call for its first run is on its way:
 * the one wait is not queued a second time, and the operation does not end before the call. */
void test_rule_S2_run_again_before_the_call_is_heard(void)
{
    struct client c;
    client_begin(&c);
    struct opens_handle *h = smb_caches(&c, RWH);
    struct file_args args = {.request = request_of(&c.world, "dir/file")};
    struct file_pass *pass = &args.request.pass;
    pass->wait.done = on_done_unheard;
    pass->front = &c.woken;
    CHECK_ERR(world_update(&c.world, file_set_file_metadata, &args), ERR_CLIENT_CACHE_FLUSH_DELAY);
    CHECK_OK(opens_cache_ack(c.world.opens, h, OPENS_CACHE_NONE));
    CHECK_INT(c.woken, 1);
    CHECK_ERR(world_update(&c.world, file_set_file_metadata, &args), ERR_CLIENT_CACHE_FLUSH_DELAY);
    CHECK(pass->waiting && pass->owed && !file_pass_take_back(pass));
    pass->owed = false;
    CHECK_OK(world_write(&c.world, file_set_file_metadata, &args));
    CHECK(!pass->waiting && !pass->owed);
    CHECK_INT(c.woken, 1);
    smb_closes(&c, h);
    world_end(&c.world);
}

void test_rule_S2_read_waits_for_the_lease_and_is_taken_anew(void)
{
    struct client c;
    client_begin(&c);
    CHECK_OK(put_range(&c.world, "dir/file", 0, STR("old")));
    struct opens_handle *h = smb_caches(&c, RWH);
    struct file_read_args args = {.request = request_of(&c.world, "dir/file")};
    struct file_pass *pass = &args.request.pass;
    struct err error;
    pass->wait.done = on_done;
    pass->front = &c.woken;
    file_pass_read_begin(pass);
    error = engine_view(c.world.store.engine, c.world.partition, ENGINE_WAIT, file_get_file, &args);
    CHECK(!file_pass_read_end(pass, &error));
    CHECK(pass->waiting);
    CHECK_INT(c.notice.to, OPENS_CACHE_R | OPENS_CACHE_H);
    /* The client sends what it had cached, then answers. */
    struct file_range_args written = {
        .request = request_of(&c.world, "dir/file"), .offset = 0, .length = 512};
    written.request.pass.opens = NULL;
    CHECK_OK(world_update(&c.world, file_put_range, &written));
    CHECK_OK(opens_cache_ack(c.world.opens, h, OPENS_CACHE_R | OPENS_CACHE_H));
    CHECK_INT(c.woken, 1);
    CHECK_OK(world_read(&c.world, file_get_file, &args));
    CHECK_INT(args.pieces.items[0].kind, PIECE_HOLE); /* what it wrote, not what was there */
    smb_closes(&c, h);
    world_end(&c.world);
}

/* If the time ends first, the wait is withdrawn and nobody is notified. */
void test_rule_S2_wait_ends_with_the_patience(void)
{
    struct client c;
    client_begin(&c);
    struct opens_handle *h = smb_caches(&c, RWH);
    struct file_args args = {.request = request_of(&c.world, "dir/file")};
    args.request.pass.wait.done = on_done;
    args.request.pass.front = &c.woken;
    CHECK_ERR(world_update(&c.world, file_set_file_metadata, &args), ERR_CLIENT_CACHE_FLUSH_DELAY);
    CHECK(opens_wait_cancel(c.world.opens, &args.request.pass.wait));
    CHECK_OK(opens_cache_ack(c.world.opens, h, OPENS_CACHE_NONE));
    CHECK_INT(c.woken, 0);
    smb_closes(&c, h);
    CHECK_INT(file_pass_patience_ms(0), 0);
    CHECK_INT(file_pass_patience_ms(3), 3000);
    CHECK_INT(file_pass_patience_ms(30), 30000);
    CHECK_INT(file_pass_patience_ms(UINT64_MAX), 30000);
    world_end(&c.world);
}

/* A handle is opened during a read: the read is checked against it. */
void test_rule_S2_read_meets_an_open_that_came_meanwhile(void)
{
    struct client c;
    client_begin(&c);
    struct file_read_args args = {.request = request_of(&c.world, "dir/file")};
    struct file_pass *pass = &args.request.pass;
    file_pass_read_begin(pass);
    struct err error =
        engine_view(c.world.store.engine, c.world.partition, ENGINE_WAIT, file_get_file, &args);
    CHECK_OK(error);
    struct opens_handle *h = smb_opens(&c, OPENS_WRITE, 0);
    CHECK(file_pass_read_end(pass, &error));
    CHECK_ERR(error, ERR_SHARING_VIOLATION);
    smb_closes(&c, h);
    world_end(&c.world);
}
