/* SPDX-License-Identifier: Apache-2.0 */
/* Compounds, credits, and malformed bodies. */
#include "smb/message.h"

#include "smb/smb_fixture.h"

enum { RELATED = SMB_FLAG_RELATED };

static struct smb_header header_of(uint16_t command, uint32_t flags)
{
    return (struct smb_header){.command = command, .flags = flags, .tree_id = SMB_TREE_DISK};
}

static void add(struct smb_peer *p, struct buf *message, uint16_t command, struct str body)
{
    struct smb_header h = header_of(command, message->n == 0 ? 0 : RELATED);
    smb_peer_add(p, message, &h, body);
}

static struct str create_body(struct smb_fixture *f, const char *name, uint32_t disposition)
{
    struct smb_wanted w = {.name = name, .sharing = SMB_ALL_SHARED, .disposition = disposition};
    return smb_body_create(f, &w);
}

/* ---- compounds ---- */

void test_smb_compound_works_on_the_file_it_opens(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f);
    struct buf m = buf_in(&f.arena);
    add(&p, &m, SMB_CREATE, create_body(&f, "file", SMB_CREATE_NEW));
    add(&p, &m, SMB_WRITE, smb_body_write(&f, SMB_ID_OF_BEFORE, 3, STR("hello")));
    add(&p, &m, SMB_READ, smb_body_read(&f, SMB_ID_OF_BEFORE, 0, 100));
    add(&p, &m, SMB_CLOSE, smb_body_close(&f, SMB_ID_OF_BEFORE));
    smb_peer_send(&p, buf_str(&m));
    struct smb_answer a = smb_peer_receive(&p);
    struct smb_file_id id = smb_created(&a);
    a = smb_answer_next(&a);
    CHECK(a.header.command == SMB_WRITE && a.header.status == STATUS_SUCCESS);
    a = smb_answer_next(&a);
    CHECK(a.header.command == SMB_READ && a.header.status == STATUS_SUCCESS);
    CHECK_STR(str_head(str_from(a.body, 16), 8), ((struct str){"\0\0\0hello", 8}));
    a = smb_answer_next(&a);
    CHECK(a.header.command == SMB_CLOSE && a.header.status == STATUS_SUCCESS && a.rest.n == 0);
    a = smb_peer_ask(&p, SMB_READ, smb_body_read(&f, id, 0, 1));
    CHECK_INT(a.header.status, STATUS_FILE_CLOSED);
    smb_fixture_end(&f);
}

void test_smb_compound_fails_behind_a_failed_create(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f);
    struct buf m = buf_in(&f.arena);
    add(&p, &m, SMB_CREATE, create_body(&f, "none", SMB_OPEN));
    add(&p, &m, SMB_READ, smb_body_read(&f, SMB_ID_OF_BEFORE, 0, 1));
    add(&p, &m, SMB_CLOSE, smb_body_close(&f, SMB_ID_OF_BEFORE));
    smb_peer_send(&p, buf_str(&m));
    struct smb_answer a = smb_peer_receive(&p);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(a.header.status, STATUS_OBJECT_NAME_NOT_FOUND);
        a = smb_answer_next(&a);
    }
    CHECK_INT(a.header.status, STATUS_OBJECT_NAME_NOT_FOUND);
    smb_fixture_end(&f);
}

void test_smb_compound_that_is_related_to_nothing(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f);
    struct smb_header h = header_of(SMB_READ, RELATED);
    struct buf m = buf_in(&f.arena);
    smb_peer_add(&p, &m, &h, smb_body_read(&f, SMB_ID_OF_BEFORE, 0, 1));
    smb_peer_send(&p, buf_str(&m));
    CHECK_INT(smb_peer_receive(&p).header.status, STATUS_INVALID_PARAMETER);
    smb_fixture_end(&f);
}

static void check_next_cuts(uint32_t next)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f);
    struct smb_header h = header_of(SMB_ECHO, 0);
    h.next = next;
    struct buf m = buf_in(&f.arena);
    smb_peer_add(&p, &m, &h, (struct str){"\4\0\0\0", 4});
    smb_peer_send(&p, buf_str(&m));
    CHECK(smb_peer_is_cut(&p));
    smb_fixture_end(&f);
}

void test_smb_compound_whose_next_lies_wrong_ends_the_connection(void)
{
    check_next_cuts(8);          /* in the header */
    check_next_cuts(66);         /* not at a multiple of eight */
    check_next_cuts(4096);       /* after the end */
    check_next_cuts(0xFFFFFFF8); /* far after it */
}

/* ---- places ---- */

void test_smb_unknown_sessions_trees_and_commands(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f);
    struct str body = create_body(&f, "x", SMB_OPEN_IF);
    struct smb_header h = header_of(SMB_CREATE, 0);
    h.tree_id = 99;
    struct buf m = buf_in(&f.arena);
    smb_peer_add(&p, &m, &h, body);
    smb_peer_send(&p, buf_str(&m));
    CHECK_INT(smb_peer_receive(&p).header.status, STATUS_NETWORK_NAME_DELETED);
    p.session = 4711;
    CHECK_INT(smb_peer_ask(&p, SMB_CREATE, body).header.status, STATUS_USER_SESSION_DELETED);
    p.session = 1;
    CHECK_INT(smb_peer_ask(&p, 19, body).header.status, STATUS_INVALID_PARAMETER);
    CHECK_INT(smb_peer_ask(&p, 0xFFFF, body).header.status, STATUS_INVALID_PARAMETER);
    smb_fixture_end(&f);
}

/* ---- credits ---- */

void test_smb_credits_pay_for_large_reads_and_writes(void)
{
    enum { LENGTH = 128 << 10 };
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f);
    struct smb_file_id id = smb_peer_open(&p, "file");
    char *bytes = arena_bytes(&f.arena, LENGTH);
    memset(bytes, 'x', LENGTH);
    struct str body = smb_body_write(&f, id, 0, (struct str){bytes, LENGTH});
    CHECK_INT(smb_peer_ask(&p, SMB_WRITE, body).header.status, STATUS_INVALID_PARAMETER);
    struct smb_header h = header_of(SMB_WRITE, 0);
    h.credit_charge = 2;
    struct buf m = buf_in(&f.arena);
    smb_peer_add(&p, &m, &h, body);
    smb_peer_send(&p, buf_str(&m));
    CHECK_INT(smb_peer_receive(&p).header.status, STATUS_SUCCESS);
    body = smb_body_read(&f, id, 0, LENGTH);
    CHECK_INT(smb_peer_ask(&p, SMB_READ, body).header.status, STATUS_INVALID_PARAMETER);
    h.command = SMB_READ;
    buf_clear(&m);
    smb_peer_add(&p, &m, &h, body);
    smb_peer_send(&p, buf_str(&m));
    struct smb_answer a = smb_peer_receive(&p);
    CHECK_INT(a.header.status, STATUS_SUCCESS);
    CHECK_STR(str_from(a.body, 16), ((struct str){bytes, LENGTH}));
    smb_fixture_end(&f);
}

void test_smb_credits_used_twice_end_the_connection(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f);
    struct str echo = {"\4\0\0\0", 4};
    CHECK_INT(smb_peer_ask(&p, SMB_ECHO, echo).header.status, STATUS_SUCCESS);
    p.message_id = 0;
    struct buf m = buf_in(&f.arena);
    struct smb_header h = header_of(SMB_ECHO, 0);
    smb_peer_add(&p, &m, &h, echo);
    smb_peer_send(&p, buf_str(&m));
    CHECK(smb_peer_is_cut(&p));
    smb_fixture_end(&f);
}

/* ---- bodies ---- */

struct sample {
    uint16_t command;
    struct str body;
};

static struct str body_of_query(struct smb_fixture *f, struct smb_file_id id, bool directory)
{
    struct buf b = buf_in(&f->arena);
    buf_put_le16(&b, directory ? 33 : 41);
    buf_put_u8(&b, directory ? 37 : 1);
    buf_put_u8(&b, directory ? 1 : 18);
    buf_put_le32(&b, directory ? 0 : 4096);
    if (directory) {
        buf_put_le64(&b, id.persistent);
        buf_put_le64(&b, id.fleeting);
        buf_put_le16(&b, SMB_HEADER_BYTES + 32);
        buf_put_le16(&b, 2);
        buf_put_le32(&b, 4096);
        buf_put_le16(&b, '*');
    } else {
        buf_put_le16(&b, 0);
        buf_put_le16(&b, 0);
        buf_put_le32(&b, 0);
        buf_put_le32(&b, 0);
        buf_put_le32(&b, 0);
        buf_put_le64(&b, id.persistent);
        buf_put_le64(&b, id.fleeting);
    }
    return buf_str(&b);
}

static struct str body_of_set(struct smb_fixture *f, struct smb_file_id id)
{
    struct buf b = buf_in(&f->arena);
    buf_put_le16(&b, 33);
    buf_put_u8(&b, 1);
    buf_put_u8(&b, 10); /* rename */
    buf_put_le32(&b, 24);
    buf_put_le16(&b, SMB_HEADER_BYTES + 32);
    buf_put_le16(&b, 0);
    buf_put_le32(&b, 0);
    buf_put_le64(&b, id.persistent);
    buf_put_le64(&b, id.fleeting);
    buf_put_le64(&b, 1);
    buf_put_le64(&b, 0);
    buf_put_le32(&b, 4);
    buf_put_le16(&b, 'z');
    buf_put_le16(&b, 'y');
    return buf_str(&b);
}

static struct str body_of_ioctl(struct smb_fixture *f, struct smb_file_id id)
{
    struct buf b = buf_in(&f->arena);
    buf_put_le16(&b, 57);
    buf_put_le16(&b, 0);
    buf_put_le32(&b, 0x001980C8); /* set zero data */
    buf_put_le64(&b, id.persistent);
    buf_put_le64(&b, id.fleeting);
    buf_put_le32(&b, SMB_HEADER_BYTES + 56);
    buf_put_le32(&b, 16);
    buf_put_le32(&b, 0);
    buf_put_le32(&b, 0);
    buf_put_le32(&b, 0);
    buf_put_le32(&b, 4096);
    buf_put_le32(&b, 1);
    buf_put_le32(&b, 0);
    buf_put_le64(&b, 0);
    buf_put_le64(&b, 10);
    return buf_str(&b);
}

enum { SAMPLES = 9 };

static void make_samples(struct smb_peer *p, struct sample *out)
{
    struct smb_fixture *f = p->f;
    struct smb_file_id file = smb_peer_open(p, "file");
    struct smb_wanted folder = {.name = "folder",
                                .sharing = SMB_ALL_SHARED,
                                .disposition = SMB_OPEN_IF,
                                .options = SMB_OPTION_DIRECTORY};
    struct smb_answer a = smb_peer_ask(p, SMB_CREATE, smb_body_create(f, &folder));
    struct smb_file_id directory = smb_created(&a);
    struct smb_wanted leased = {.name = "leased",
                                .sharing = SMB_ALL_SHARED,
                                .disposition = SMB_OPEN_IF,
                                .oplock = SMB_OPLOCK_LEASE};
    char lease[32] = "a key of sixteen";
    leased.contexts = smb_body_context(f, "RqLs", (struct str){lease, sizeof lease});
    struct smb_range range = {.offset = 5, .length = 5, .flags = 2 | 16};
    out[0] = (struct sample){SMB_CREATE, smb_body_create(f, &leased)};
    out[1] = (struct sample){SMB_READ, smb_body_read(f, file, 0, 10)};
    out[2] = (struct sample){SMB_WRITE, smb_body_write(f, file, 0, STR("bytes"))};
    out[3] = (struct sample){SMB_LOCK, smb_body_lock(f, file, &range, 1)};
    out[4] = (struct sample){SMB_QUERY_DIRECTORY, body_of_query(f, directory, true)};
    out[5] = (struct sample){SMB_QUERY_INFO, body_of_query(f, file, false)};
    out[6] = (struct sample){SMB_SET_INFO, body_of_set(f, file)};
    out[7] = (struct sample){SMB_IOCTL, body_of_ioctl(f, file)};
    out[8] = (struct sample){SMB_FLUSH, smb_body_close(f, file)};
}

/* Every truncated command is refused, and the connection continues. Each body begins with the size
 * of its fixed part. */
void test_smb_bodies_cut_short_are_refused(void)
{
    struct smb_fixture f;
    struct sample samples[SAMPLES];
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f);
    make_samples(&p, samples);
    for (size_t i = 0; i < SAMPLES; i++) {
        size_t fixed = SMB_COMMANDS[samples[i].command].body_bytes & ~1U;
        for (size_t n = 0; n < fixed; n++) {
            struct smb_answer a =
                smb_peer_ask(&p, samples[i].command, str_head(samples[i].body, n));
            CHECK_INT(a.header.status, STATUS_INVALID_PARAMETER);
        }
        for (size_t n = fixed; n < samples[i].body.n; n++)
            (void)smb_peer_ask(&p, samples[i].command, str_head(samples[i].body, n));
    }
    smb_fixture_end(&f);
}

/* Sets each field in turn to its largest value: some answer must arrive. LOCK is left out, because
 * it could wait. */
void test_smb_bodies_with_fields_overflowing_are_answered(void)
{
    struct smb_fixture f;
    struct sample samples[SAMPLES];
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f);
    make_samples(&p, samples);
    for (size_t i = 0; i < SAMPLES; i++) {
        if (samples[i].command == SMB_LOCK)
            continue;
        for (size_t at = 2; at < samples[i].body.n; at++) {
            for (size_t width = 1; width <= 8 && at + width <= samples[i].body.n; width *= 2) {
                struct buf body = buf_in(&f.arena);
                buf_put(&body, samples[i].body);
                memset(body.p + at, 0xFF, width);
                struct smb_answer a = smb_peer_ask(&p, samples[i].command, buf_str(&body));
                CHECK(a.header.command == samples[i].command);
            }
        }
    }
    CHECK_INT(smb_peer_ask(&p, SMB_ECHO, (struct str){"\4\0\0\0", 4}).header.status,
              STATUS_SUCCESS);
    smb_fixture_end(&f);
}
