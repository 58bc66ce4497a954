/* SPDX-License-Identifier: Apache-2.0 */
/* Shares: one test per operation. */
#include "service/file/file_fixture.h"

static struct share_args args_of(struct world *w)
{
    return (struct share_args){.arena = &w->arena};
}

void test_create_share(void)
{
    struct world w;
    world_begin(&w);
    struct share_args args = args_of(&w);
    CHECK_ERR(world_update(&w, file_create_share, &args), ERR_SHARE_ALREADY_EXISTS);
    w.partition = file_partition(&w.arena, STR("acct"), STR("new"));
    CHECK_ERR(create_file(&w, "f", 0), ERR_SHARE_NOT_FOUND);
    args.set = SHARE_SET_QUOTA | SHARE_SET_TIER;
    args.settings = (struct share_settings){.quota_gib = 1, .tier = SHARE_TIER_COOL};
    CHECK_OK(world_update(&w, file_create_share, &args));
    CHECK_INT(args.share.settings.quota_gib, 1);
    CHECK_OK(create_file(&w, "f", 1 << 30));
    CHECK_ERR(create_file(&w, "g", 1), ERR_SHARE_SIZE_LIMIT_REACHED);
    struct share_args squash = args_of(&w);
    squash.set = SHARE_SET_SQUASH;
    CHECK_OK(world_update(&w, file_set_share_properties, &squash));
    squash.settings.squash = SHARE_SQUASH_ROOT;
    CHECK_ERR(world_update(&w, file_set_share_properties, &squash), ERR_INVALID_INPUT);
    world_end(&w);
}

void test_get_share_properties(void)
{
    struct world w;
    world_begin(&w);
    struct share_args args = args_of(&w);
    CHECK_OK(engine_view(w.store.engine, w.partition, ENGINE_WAIT, file_get_share, &args));
    CHECK_INT(args.share.settings.quota_gib, SHARE_QUOTA_DEFAULT_GIB);
    args.snapshot = 5;
    CHECK_ERR(engine_view(w.store.engine, w.partition, ENGINE_WAIT, file_get_share, &args),
              ERR_SHARE_NOT_FOUND);
    world_end(&w);
}

/* Properties, metadata and ACL: each changes the ETag, writes of files do not. */
void test_set_share_properties(void)
{
    struct world w;
    world_begin(&w);
    struct share_args args = args_of(&w);
    CHECK_OK(engine_view(w.store.engine, w.partition, ENGINE_WAIT, file_get_share, &args));
    int64_t etag = args.share.etag;
    CHECK_OK(create_file(&w, "f", 100));
    CHECK_OK(engine_view(w.store.engine, w.partition, ENGINE_WAIT, file_get_share, &args));
    CHECK_INT(args.share.etag, etag);
    CHECK_INT(args.share.usage, 100);
    args.metadata = STR("\1a\1b");
    args.acl = STR("");
    engine_fn *const sets[] = {file_set_share_properties, file_set_share_metadata,
                               file_set_share_acl};
    for (size_t i = 0; i < 3; i++) {
        CHECK_OK(world_update(&w, sets[i], &args));
        CHECK(args.share.etag > etag);
        etag = args.share.etag;
    }
    CHECK_STR(args.share.metadata, STR("\1a\1b"));
    world_end(&w);
}

/* The five states, and the operations that the lease guards: deleting and setting, not getting. */
void test_lease_share(void)
{
    struct world w;
    const struct guid id = {.bytes = {1}};
    world_begin(&w);
    struct share_args args = args_of(&w);
    args.lease_request =
        (struct lease_request){.action = LEASE_ACQUIRE, .proposed = id, .seconds = 15};
    CHECK_OK(world_update(&w, file_lease_share, &args));
    CHECK_ERR(world_update(&w, file_set_share_metadata, &args), ERR_LEASE_ID_MISSING);
    CHECK_ERR(world_update(&w, file_set_share_acl, &args), ERR_LEASE_ID_MISSING);
    CHECK_ERR(world_update(&w, file_set_share_properties, &args), ERR_LEASE_ID_MISSING);
    CHECK_ERR(world_update(&w, file_delete_share, &args), ERR_LEASE_ID_MISSING);
    CHECK_OK(engine_view(w.store.engine, w.partition, ENGINE_WAIT, file_get_share, &args));
    args.lease = (struct lease_id){.given = true, .id = {.bytes = {2}}};
    CHECK_ERR(world_update(&w, file_set_share_acl, &args),
              ERR_LEASE_ID_MISMATCH_WITH_SHARE_OPERATION);
    args.lease.id = id;
    CHECK_OK(world_update(&w, file_set_share_acl, &args));
    clock_advance(&w.clock, 20 * TICKS_PER_SECOND);
    CHECK_ERR(world_update(&w, file_set_share_acl, &args), ERR_LEASE_LOST);
    args.lease_request = (struct lease_request){.action = LEASE_RENEW, .id = id};
    CHECK_OK(world_update(&w, file_lease_share, &args));
    args.lease_request = (struct lease_request){.action = LEASE_BREAK, .break_seconds = 5};
    CHECK_OK(world_update(&w, file_lease_share, &args));
    CHECK_INT(args.lease_left_seconds, 5);
    clock_advance(&w.clock, 6 * TICKS_PER_SECOND);
    args.lease.given = false;
    CHECK_OK(world_update(&w, file_set_share_acl, &args));
    /* A snapshot has a lease of its own. */
    args.snapshot = snapshot_share(&w);
    args.lease_request =
        (struct lease_request){.action = LEASE_ACQUIRE, .proposed = id, .seconds = -1};
    CHECK_OK(world_update(&w, file_lease_share, &args));
    CHECK_ERR(world_update(&w, file_delete_share, &args), ERR_LEASE_ID_MISSING);
    args.snapshot = 0;
    args.delete_snapshots = SHARE_SNAPSHOTS_INCLUDE;
    CHECK_ERR(world_update(&w, file_delete_share, &args), ERR_LEASE_ID_MISSING);
    args.delete_snapshots = SHARE_SNAPSHOTS_INCLUDE_LEASED;
    CHECK_OK(world_update(&w, file_delete_share, &args));
    world_end(&w);
}

static size_t rows_left(struct world *w);

/* Deleting takes no time whatever the size of the share; its name is free at once, and the sweep
 * deletes the rows. */
void test_delete_share(void)
{
    struct world w;
    world_begin(&w);
    CHECK_OK(create_directory(&w, "d"));
    for (int i = 0; i < 300; i++) {
        char name[] = "d/file000";
        name[6] = (char)('0' + i / 100);
        name[7] = (char)('0' + i / 10 % 10);
        name[8] = (char)('0' + i % 10);
        CHECK_OK(create_file(&w, name, 100));
        CHECK_OK(put_range(&w, name, 0, STR("x")));
    }
    struct share_args args = args_of(&w);
    CHECK_OK(world_update(&w, file_delete_share, &args));
    CHECK_ERR(world_update(&w, file_delete_share, &args), ERR_SHARE_NOT_FOUND);
    CHECK_OK(world_update(&w, file_create_share, &args));
    CHECK_STR(list_directory(&w, "", 0), STR(""));
    CHECK_INT(share_usage(&w), 0);
    CHECK_OK(world_update(&w, file_delete_share, &args));
    world_sweep(&w);
    CHECK_INT(rows_left(&w), 0);
    world_end(&w);
}

static struct err count_rows(struct txn *t, void *arg)
{
    struct cursor *c;
    size_t *count = arg;
    *count = 0;
    TRY(cursor_open(t, STR(""), &c));
    while (c->valid) {
        ++*count;
        TRY(cursor_next(c));
    }
    cursor_close(c);
    return OK;
}

static size_t rows_left(struct world *w)
{
    size_t count;
    CHECK_OK(engine_view(w->store.engine, w->partition, ENGINE_WAIT, count_rows, &count));
    return count;
}

struct listed {
    struct buf text;
};

static void begin_shares(void *sink)
{
    struct listed *l = sink;
    buf_clear(&l->text);
}

static void put_share(void *sink, struct str name, const struct share *share,
                      const struct share_snapshot *snapshot)
{
    struct listed *l = sink;
    buf_put(&l->text, name);
    if (snapshot != NULL)
        buf_putc(&l->text, '@');
    if (share->deleted != 0)
        buf_putc(&l->text, '-');
    buf_putc(&l->text, ' ');
}

static struct str list_shares(struct world *w, struct share_list_args args)
{
    struct listed l = {.text = buf_in(&w->arena)};
    args.arena = &w->arena;
    args.account = STR("acct");
    args.max = args.max == 0 ? 5000 : args.max;
    args.sink = &l;
    args.begin = begin_shares;
    args.item = put_share;
    CHECK_OK(engine_view(w->store.engine, w->partition, ENGINE_WAIT, file_list_shares, &args));
    if (str_given(args.next)) {
        buf_putc(&l.text, '>');
        buf_put(&l.text, args.next);
    }
    return buf_str(&l.text);
}

/* A deleted share is kept, listed, and can be restored by its version while the name is free; it is
 * removed when the retention ends. */
void test_restore_share(void)
{
    struct world w;
    world_begin(&w);
    CHECK_OK(create_file(&w, "f", 5));
    CHECK_OK(put_range(&w, "f", 0, STR("hello")));
    struct share_args args = args_of(&w);
    args.retention_ticks = 7 * TICKS_PER_DAY;
    CHECK_OK(world_update(&w, file_delete_share, &args));
    uint64_t version = args.share.incarnation;
    CHECK_STR(list_shares(&w, (struct share_list_args){0}), STR(""));
    CHECK_STR(list_shares(&w, (struct share_list_args){.wants_deleted = true}), STR("share- "));
    struct file_outcome out;
    CHECK_ERR(get_properties(&w, "f", &out), ERR_SHARE_NOT_FOUND);
    CHECK_OK(world_update(&w, file_create_share, &args));
    args.deleted_version = version;
    CHECK_ERR(world_update(&w, file_restore_share, &args), ERR_SHARE_ALREADY_EXISTS);
    CHECK_OK(world_update(&w, file_delete_share, &args));
    args.deleted_version = version + 1;
    CHECK_ERR(world_update(&w, file_restore_share, &args), ERR_SHARE_NOT_FOUND);
    args.deleted_version = version;
    CHECK_OK(world_update(&w, file_restore_share, &args));
    CHECK_STR(read_file(&w, "f", 0), STR("hello"));
    CHECK_STR(list_shares(&w, (struct share_list_args){.wants_deleted = true}),
              STR("share- share "));
    CHECK_OK(world_update(&w, file_delete_share, &args));
    clock_advance(&w.clock, 8 * TICKS_PER_DAY);
    CHECK_ERR(world_update(&w, file_restore_share, &args), ERR_SHARE_NOT_FOUND);
    CHECK_STR(list_shares(&w, (struct share_list_args){.wants_deleted = true}), STR(""));
    struct file_expiry expiry = {0};
    struct sweep_report report = {0};
    CHECK_OK(file_expire(&w.store, &expiry, &report));
    CHECK_INT(report.removed, 2);
    world_sweep(&w);
    CHECK_INT(rows_left(&w), 0);
    world_end(&w);
}

/* The name is blocked for the configured time, with or without soft delete; then no row is left. */
void test_share_being_deleted(void)
{
    struct world w;
    world_begin(&w);
    struct share_args args = args_of(&w);
    struct file_expiry expiry = {0};
    struct sweep_report report = {0};
    args.blocked_ticks = 30 * TICKS_PER_SECOND;
    CHECK_OK(world_update(&w, file_delete_share, &args));
    CHECK_ERR(world_update(&w, file_create_share, &args), ERR_SHARE_BEING_DELETED);
    CHECK_ERR(world_update(&w, file_delete_share, &args), ERR_SHARE_NOT_FOUND);
    CHECK_STR(list_shares(&w, (struct share_list_args){0}), STR(""));
    CHECK_OK(file_expire(&w.store, &expiry, &report));
    CHECK_ERR(world_update(&w, file_create_share, &args), ERR_SHARE_BEING_DELETED);
    clock_advance(&w.clock, 30 * TICKS_PER_SECOND);
    CHECK_OK(world_update(&w, file_create_share, &args));
    args.retention_ticks = TICKS_PER_DAY;
    CHECK_OK(world_update(&w, file_delete_share, &args));
    CHECK_ERR(world_update(&w, file_create_share, &args), ERR_SHARE_BEING_DELETED);
    args.deleted_version = args.share.incarnation;
    CHECK_OK(world_update(&w, file_restore_share, &args));
    args.retention_ticks = 0;
    CHECK_OK(world_update(&w, file_delete_share, &args));
    clock_advance(&w.clock, TICKS_PER_DAY);
    expiry = (struct file_expiry){0};
    CHECK_OK(file_expire(&w.store, &expiry, &report));
    world_sweep(&w);
    CHECK_INT(rows_left(&w), 0);
    world_end(&w);
}

void test_list_shares(void)
{
    struct world w;
    world_begin(&w);
    (void)world_share(&w, "alpha", SHARE_SMB);
    (void)world_share(&w, "shares", SHARE_SMB);
    (void)snapshot_share(&w);
    CHECK_STR(list_shares(&w, (struct share_list_args){0}), STR("alpha share shares "));
    CHECK_STR(list_shares(&w, (struct share_list_args){.wants_snapshots = true}),
              STR("alpha share@ share shares "));
    CHECK_STR(list_shares(&w, (struct share_list_args){.prefix = STR("sh")}), STR("share shares "));
    CHECK_STR(list_shares(&w, (struct share_list_args){.max = 2}), STR("alpha share >shares"));
    CHECK_STR(list_shares(&w, (struct share_list_args){.max = 2, .marker = STR("shares")}),
              STR("shares "));
    world_end(&w);
}

/* Pages of any size, even if they end between the snapshots of a share, make up the complete
 * listing. */
void test_list_shares_page_by_page(void)
{
    struct world w;
    world_begin(&w);
    (void)world_share(&w, "alpha", SHARE_SMB);
    (void)world_share(&w, "zeta", SHARE_SMB);
    struct share_args args = args_of(&w);
    args.retention_ticks = TICKS_PER_DAY;
    for (int i = 0; i < 2; i++) {
        CHECK_OK(world_update(&w, file_delete_share, &args));
        CHECK_OK(world_update(&w, file_create_share, &args));
    }
    for (int i = 0; i < 3; i++)
        (void)snapshot_share(&w);
    struct share_list_args list = {.wants_snapshots = true, .wants_deleted = true};
    struct str whole = list_shares(&w, list);
    CHECK_STR(whole, STR("alpha share- share- share@ share@ share@ share zeta "));
    for (list.max = 1; list.max < 10; list.max++) {
        struct buf pages = buf_in(&w.arena);
        list.marker = STR_NONE;
        do {
            struct str rest = list_shares(&w, list);
            buf_put(&pages, str_cut(&rest, '>'));
            list.marker = rest;
        } while (str_given(list.marker));
        CHECK_STR(buf_str(&pages), whole);
    }
    list.max = 100;
    list.marker = STR("share/nothing of ours");
    CHECK_STR(list_shares(&w, list), str_from(whole, sizeof "alpha"));
    list.marker = STR("tau/z0000000000000000");
    CHECK_STR(list_shares(&w, list), STR("zeta "));
    struct file_expiry expiry = {0};
    struct sweep_report report = {0};
    clock_advance(&w.clock, 2 * TICKS_PER_DAY);
    CHECK_OK(file_expire(&w.store, &expiry, &report));
    world_end(&w);
}

static struct err put_permission(struct txn *t, void *arg)
{
    struct file_scope s;
    struct permission_key *key = arg;
    struct str sd;
    struct sd parts;
    TRY(file_scope_open(t, 0, &s));
    TRY(permission_get(t, s.share.incarnation, key, &sd));
    TRY(sd_decode(txn_arena(t), sd, &parts));
    return permission_put(t, s.share.incarnation, sd, key);
}

/* A descriptor is stored once, under a key that can be written as text and read back. */
void test_create_permission(void)
{
    struct world w;
    struct file_outcome one, two;
    world_begin(&w);
    CHECK_OK(create_file(&w, "f", 0));
    CHECK_OK(create_file(&w, "g", 0));
    CHECK_OK(get_properties(&w, "f", &one));
    CHECK_OK(get_properties(&w, "g", &two));
    CHECK(memcmp(&one.node.permission, &two.node.permission, PERMISSION_KEY_BYTES) == 0);
    struct buf text = buf_in(&w.arena);
    struct permission_key key;
    permission_key_put(&text, &one.node.permission);
    CHECK(permission_key_parse(buf_str(&text), &key));
    CHECK(memcmp(&key, &one.node.permission, sizeof key) == 0);
    CHECK_OK(world_update(&w, put_permission, &key));
    CHECK(memcmp(&key, &one.node.permission, sizeof key) == 0);
    CHECK(!permission_key_parse(STR("12"), &key));
    CHECK(!permission_key_parse(STR("12*"), &key));
    CHECK(!permission_key_parse(STR("99999999999999999999*1"), &key));
    struct file_args args = {.request = request_of(&w, "h"),
                             .settings = {.permission = FILE_PERMISSION_KEY}};
    CHECK_ERR(world_write(&w, file_create_file, &args), ERR_FILE_PERMISSION_NOT_FOUND);
    args.settings = (struct file_settings){.permission = FILE_PERMISSION_SD, .sd = STR("junk")};
    CHECK_ERR(world_write(&w, file_create_file, &args), ERR_INVALID_FILE_PERMISSION);
    CHECK_STR(list_directory(&w, "", 0), STR("f g "));
    world_end(&w);
}
