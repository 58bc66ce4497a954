/* SPDX-License-Identifier: Apache-2.0 */
/* Locks, leases and durable handles as clients see them. */
#include "smb/smb_fixture.h"

enum {
    SHARED = 1,
    EXCLUSIVE = 2,
    UNLOCK = 4,
    AT_ONCE = 16,
    LEASE_R = 1,
    LEASE_H = 2,
    LEASE_W = 4,
    LEASE_BYTES = 32,
};

static uint32_t lock(struct smb_peer *p, struct smb_file_id id, struct smb_range range)
{
    struct smb_answer a = smb_peer_ask(p, SMB_LOCK, smb_body_lock(p->f, id, &range, 1));
    return a.header.status;
}

/* ---- locks ---- */

void test_smb_locks_stand_in_the_way_of_others(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f);
    struct smb_peer other = smb_peer_in_session(&f);
    struct smb_file_id mine = smb_peer_open(&p, "file");
    struct smb_file_id theirs = smb_peer_open(&other, "file");
    struct smb_range low = {.length = 10, .flags = EXCLUSIVE | AT_ONCE};
    struct smb_range high = {.offset = 10, .length = 10, .flags = SHARED | AT_ONCE};
    CHECK_INT(lock(&p, mine, low), STATUS_SUCCESS);
    CHECK_INT(lock(&p, mine, high), STATUS_SUCCESS);
    CHECK_INT(lock(&other, theirs, low), STATUS_LOCK_NOT_GRANTED);
    CHECK_INT(lock(&other, theirs, high), STATUS_SUCCESS);
    struct smb_answer a = smb_peer_ask(&other, SMB_WRITE, smb_body_write(&f, theirs, 5, STR("x")));
    CHECK_INT(a.header.status, STATUS_FILE_LOCK_CONFLICT);
    a = smb_peer_ask(&other, SMB_READ, smb_body_read(&f, theirs, 5, 1));
    CHECK_INT(a.header.status, STATUS_FILE_LOCK_CONFLICT);
    a = smb_peer_ask(&p, SMB_WRITE, smb_body_write(&f, mine, 5, STR("x")));
    CHECK_INT(a.header.status, STATUS_SUCCESS);
    low.flags = UNLOCK;
    CHECK_INT(lock(&p, mine, low), STATUS_SUCCESS);
    CHECK_INT(lock(&p, mine, low), STATUS_RANGE_NOT_LOCKED);
    a = smb_peer_ask(&other, SMB_WRITE, smb_body_write(&f, theirs, 5, STR("y")));
    CHECK_INT(a.header.status, STATUS_SUCCESS);
    smb_fixture_end(&f);
}

void test_smb_locks_that_cannot_be(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f);
    struct smb_file_id id = smb_peer_open(&p, "file");
    struct smb_range past = {.offset = UINT64_MAX, .length = 2, .flags = EXCLUSIVE | AT_ONCE};
    CHECK_INT(lock(&p, id, past), STATUS_INVALID_LOCK_RANGE);
    struct smb_range both = {.length = 2, .flags = EXCLUSIVE | SHARED | AT_ONCE};
    CHECK_INT(lock(&p, id, both), STATUS_INVALID_PARAMETER);
    struct smb_answer a = smb_peer_ask(&p, SMB_LOCK, smb_body_lock(&f, id, NULL, 0));
    CHECK_INT(a.header.status, STATUS_INVALID_PARAMETER);
    smb_fixture_end(&f);
}

/* The interim answer, and the final one after the other client unlocks. */
void test_smb_locks_are_waited_for(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f);
    struct smb_peer other = smb_peer_in_session(&f);
    struct smb_file_id mine = smb_peer_open(&p, "file");
    struct smb_file_id theirs = smb_peer_open(&other, "file");
    struct smb_range range = {.length = 10, .flags = EXCLUSIVE};
    CHECK_INT(lock(&p, mine, range), STATUS_SUCCESS);
    struct smb_answer interim =
        smb_peer_ask(&other, SMB_LOCK, smb_body_lock(&f, theirs, &range, 1));
    CHECK_INT(interim.header.status, STATUS_PENDING);
    CHECK((interim.header.flags & SMB_FLAG_ASYNC) != 0);
    CHECK_INT(smb_peer_ask(&p, SMB_CLOSE, smb_body_close(&f, mine)).header.status, STATUS_SUCCESS);
    struct smb_answer last = smb_peer_receive(&other);
    CHECK_INT(last.header.status, STATUS_SUCCESS);
    CHECK(smb_async_id(&last.header) == smb_async_id(&interim.header));
    smb_fixture_end(&f);
}

void test_smb_locks_waited_for_are_cancelled(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f);
    struct smb_peer other = smb_peer_in_session(&f);
    struct smb_range range = {.length = 10, .flags = EXCLUSIVE};
    CHECK_INT(lock(&p, smb_peer_open(&p, "file"), range), STATUS_SUCCESS);
    struct smb_file_id theirs = smb_peer_open(&other, "file");
    struct smb_answer a = smb_peer_ask(&other, SMB_LOCK, smb_body_lock(&f, theirs, &range, 1));
    CHECK_INT(a.header.status, STATUS_PENDING);
    struct smb_header h = a.header;
    h.command = SMB_CANCEL;
    h.flags = SMB_FLAG_ASYNC;
    h.status = 0;
    struct buf m = buf_in(&f.arena);
    smb_peer_add(&other, &m, &h, (struct str){"\4\0\0\0", 4});
    smb_peer_send(&other, buf_str(&m));
    other.message_id--; /* a CANCEL uses no message id */
    CHECK_INT(smb_peer_receive(&other).header.status, STATUS_CANCELLED);
    a = smb_peer_ask(&other, SMB_LOCK, smb_body_lock(&f, theirs, &range, 1));
    CHECK_INT(a.header.status, STATUS_PENDING);
    smb_peer_cut(&other); /* a waiting request ends with its connection */
    smb_fixture_end(&f);
}

/* ---- leases ---- */

static struct str body_leased(struct smb_fixture *f, const char *key, uint32_t state)
{
    struct buf lease = buf_in(&f->arena);
    buf_put(&lease, (struct str){key, SMB_LEASE_KEY_BYTES});
    buf_put_le32(&lease, state);
    while (lease.n < LEASE_BYTES)
        buf_put_u8(&lease, 0);
    struct smb_wanted w = {.name = "leased",
                           .sharing = SMB_ALL_SHARED,
                           .disposition = SMB_OPEN_IF,
                           .oplock = SMB_OPLOCK_LEASE,
                           .contexts = smb_body_context(f, "RqLs", buf_str(&lease))};
    return smb_body_create(f, &w);
}

static struct smb_answer open_leased(struct smb_peer *p, const char *key, uint32_t state)
{
    return smb_peer_ask(p, SMB_CREATE, body_leased(p->f, key, state));
}

/* The lease state in CREATE's answer. */
static uint32_t granted(const struct smb_answer *a)
{
    enum { CONTEXT_DATA = 24 };
    (void)smb_created(a);
    size_t at = str_find_str(a->body, STR("RqLs"));
    CHECK(at < a->body.n);
    struct reader r = reader_of(str_from(a->body, at - 16 + CONTEXT_DATA + SMB_LEASE_KEY_BYTES));
    uint32_t state = read_le32(&r);
    CHECK(reader_ok(&r));
    return state;
}

struct notice {
    uint32_t flags, now, then;
};

static struct notice read_notice(const struct smb_answer *a, const char *key)
{
    struct reader r = reader_of(str_from(a->body, 4));
    struct notice n = {.flags = read_le32(&r)};
    CHECK(a->header.command == SMB_OPLOCK_BREAK && a->header.message_id == UINT64_MAX);
    CHECK(memcmp(read_raw(&r, SMB_LEASE_KEY_BYTES).p, key, SMB_LEASE_KEY_BYTES) == 0);
    n.now = read_le32(&r);
    n.then = read_le32(&r);
    CHECK(reader_ok(&r));
    return n;
}

static uint32_t acknowledge(struct smb_peer *p, const char *key, uint32_t state)
{
    struct buf b = buf_in(&p->f->arena);
    buf_put_le16(&b, 36);
    buf_put_le16(&b, 0);
    buf_put_le32(&b, 0);
    buf_put(&b, (struct str){key, SMB_LEASE_KEY_BYTES});
    buf_put_le32(&b, state);
    buf_put_le64(&b, 0);
    return smb_peer_ask(p, SMB_OPLOCK_BREAK, buf_str(&b)).header.status;
}

void test_smb_lease_is_broken_for_another_client(void)
{
    static const char mine[] = "the first client";
    static const char theirs[] = "the other client";
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f);
    struct smb_peer other = smb_peer_in_session(&f);
    struct smb_answer a = open_leased(&p, mine, LEASE_R | LEASE_H | LEASE_W);
    CHECK_INT(granted(&a), LEASE_R | LEASE_H | LEASE_W);
    /* The other client waits until the first has written its cached data. */
    a = open_leased(&other, theirs, LEASE_R | LEASE_H | LEASE_W);
    CHECK_INT(a.header.status, STATUS_PENDING);
    a = smb_peer_receive(&p);
    struct notice n = read_notice(&a, mine);
    CHECK(n.flags == 1 && n.now == 7 && n.then == (LEASE_R | LEASE_H));
    CHECK_INT(acknowledge(&p, mine, LEASE_R | LEASE_H | LEASE_W), STATUS_REQUEST_NOT_ACCEPTED);
    CHECK_INT(acknowledge(&p, mine, LEASE_R | LEASE_H), STATUS_SUCCESS);
    a = smb_peer_receive(&other);
    CHECK_INT(granted(&a), LEASE_R | LEASE_H);
    CHECK_INT(acknowledge(&p, mine, LEASE_R), STATUS_UNSUCCESSFUL); /* no break is pending now */
    /* A write by one client removes the other's cache; that client is told, without a wait. */
    struct smb_file_id id = smb_created(&a);
    a = smb_peer_ask(&other, SMB_WRITE, smb_body_write(&f, id, 0, STR("new")));
    CHECK_INT(a.header.status, STATUS_SUCCESS);
    a = smb_peer_receive(&p);
    n = read_notice(&a, mine);
    CHECK(n.now == (LEASE_R | LEASE_H) && n.then == 0);
    smb_fixture_end(&f);
}

void test_smb_lease_grows_for_its_own_client(void)
{
    static const char key[] = "the first client";
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f);
    struct smb_answer a = open_leased(&p, key, LEASE_R);
    CHECK_INT(granted(&a), LEASE_R);
    a = open_leased(&p, key, LEASE_R | LEASE_H | LEASE_W);
    CHECK_INT(granted(&a), LEASE_R | LEASE_H | LEASE_W);
    a = open_leased(&p, key, LEASE_R); /* the lease does not shrink */
    CHECK_INT(granted(&a), LEASE_R | LEASE_H | LEASE_W);
    CHECK_INT(acknowledge(&p, "no such lease...", 0), STATUS_OBJECT_NAME_NOT_FOUND);
    smb_fixture_end(&f);
}

static void add_framed(struct smb_peer *p, struct buf *bytes, uint16_t command, struct str body)
{
    struct buf m = buf_in(&p->f->arena);
    struct smb_header h = {.command = command, .tree_id = SMB_TREE_DISK};
    smb_peer_add(p, &m, &h, body);
    buf_put_be32(bytes, (uint32_t)m.n);
    buf_put(bytes, buf_str(&m));
}

/* Both messages arrive at once. The break caused by the first is sent before the second is
 * answered: a client that has that answer assumes that it has received all breaks until then. */
void test_smb_break_is_told_before_the_next_message_is_answered(void)
{
    static const char first[] = "the first lease.";
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f);
    struct smb_answer a = open_leased(&p, first, LEASE_R | LEASE_H | LEASE_W);
    CHECK_INT(granted(&a), LEASE_R | LEASE_H | LEASE_W);
    struct buf both = buf_in(&f.arena);
    add_framed(&p, &both, SMB_CREATE, body_leased(&f, "the second lease", LEASE_R));
    add_framed(&p, &both, SMB_ECHO, (struct str){"\4\0\0\0", 4});
    smb_peer_send_raw(&p, buf_str(&both));
    bool told = false;
    do {
        a = smb_peer_receive(&p);
        told |= a.header.command == SMB_OPLOCK_BREAK;
    } while (a.header.command != SMB_ECHO);
    CHECK(told);
    CHECK_INT(acknowledge(&p, first, LEASE_R | LEASE_H), STATUS_SUCCESS);
    smb_fixture_end(&f);
}

/* ---- durable handles ---- */

static struct smb_answer open_durable(struct smb_peer *p, const char *context, struct str data)
{
    struct smb_wanted w = {.name = "durable",
                           .sharing = SMB_ALL_SHARED,
                           .disposition = SMB_OPEN_IF,
                           .oplock = SMB_OPLOCK_BATCH,
                           .contexts = smb_body_context(p->f, context, data)};
    return smb_peer_ask(p, SMB_CREATE, smb_body_create(p->f, &w));
}

static struct smb_answer come_back(struct smb_peer *p, struct smb_file_id id)
{
    struct buf data = buf_in(&p->f->arena);
    buf_put_le64(&data, id.persistent);
    buf_put_le64(&data, id.fleeting);
    return open_durable(p, "DHnC", buf_str(&data));
}

void test_smb_durable_handle_is_come_back_for(void)
{
    static const char nothing[16] = {0};
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f);
    struct smb_answer a = open_durable(&p, "DHnQ", (struct str){nothing, sizeof nothing});
    struct smb_file_id id = smb_created(&a);
    CHECK(str_find_str(a.body, STR("DHnQ")) < a.body.n);
    a = smb_peer_ask(&p, SMB_WRITE, smb_body_write(&f, id, 0, STR("kept")));
    CHECK_INT(a.header.status, STATUS_SUCCESS);
    struct smb_range range = {.length = 4, .flags = EXCLUSIVE | AT_ONCE};
    CHECK_INT(lock(&p, id, range), STATUS_SUCCESS);
    smb_peer_cut(&p);

    struct smb_peer again = smb_peer_in_session(&f);
    a = come_back(&again, id);
    struct smb_file_id back = smb_created(&a);
    CHECK(back.persistent == id.persistent);
    a = smb_peer_ask(&again, SMB_READ, smb_body_read(&f, back, 0, 10));
    CHECK_STR(str_head(str_from(a.body, 16), 4), STR("kept"));
    range.flags = UNLOCK; /* its lock was kept with it */
    CHECK_INT(lock(&again, back, range), STATUS_SUCCESS);
    a = come_back(&again, id); /* it is in use */
    CHECK_INT(a.header.status, STATUS_OBJECT_NAME_NOT_FOUND);
    smb_fixture_end(&f);
}

void test_smb_durable_handle_gives_way_to_another_client(void)
{
    static const char nothing[16] = {0};
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f);
    struct smb_answer a = open_durable(&p, "DHnQ", (struct str){nothing, sizeof nothing});
    struct smb_file_id id = smb_created(&a);
    smb_peer_cut(&p);
    struct smb_peer other = smb_peer_in_session(&f);
    struct smb_wanted w = {.name = "durable", .disposition = SMB_OPEN};
    a = smb_peer_ask(&other, SMB_CREATE, smb_body_create(&f, &w));
    if (a.header.status == STATUS_PENDING)
        a = smb_peer_receive(&other);
    (void)smb_created(&a);
    a = come_back(&other, id);
    CHECK_INT(a.header.status, STATUS_OBJECT_NAME_NOT_FOUND);
    smb_fixture_end(&f);
}

void test_smb_handles_that_are_not_durable_end_with_their_connection(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f);
    struct smb_file_id id = smb_peer_open(&p, "durable");
    smb_peer_cut(&p);
    struct smb_peer again = smb_peer_in_session(&f);
    CHECK_INT(come_back(&again, id).header.status, STATUS_OBJECT_NAME_NOT_FOUND);
    smb_fixture_end(&f);
}
