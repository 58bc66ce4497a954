/* SPDX-License-Identifier: Apache-2.0 */
/* Large writes, part of which is stored before the rest has arrived. They begin shortly before the
 * end of an extent, so that this part completes one, which the engine reports. */
#include "smb/commands/write.h"

#include "service/common/content/interval.h"
#include "smb/smb_fixture.h"

enum {
    LENGTH = 1 << 20,
    FIRST = LENGTH / 2, /* of the message, sent first */
    IN_EXTENT = 200000,
    CHARGE = LENGTH / 65536,
};

#define OFFSET (INTERVAL_CHUNK_BYTES - IN_EXTENT)

static uint64_t extents_of(struct smb_fixture *f)
{
    struct engine_usage usage;
    engine_usage(f->store.engine, &usage);
    return usage.segments;
}

static void wait_for_extents(struct smb_fixture *f, uint64_t count)
{
    WAIT_UNTIL(extents_of(f) == count);
}

static struct str some_bytes(struct smb_fixture *f)
{
    char *bytes = arena_bytes(&f->arena, LENGTH);
    for (size_t i = 0; i < LENGTH; i++)
        bytes[i] = (char)(i * 2654435761U >> 13);
    return (struct str){bytes, LENGTH};
}

/* The message, preceded by its length. */
static struct str framed_write(struct smb_peer *p, struct smb_file_id id, struct str bytes)
{
    struct smb_header like = {
        .command = SMB_WRITE, .tree_id = SMB_TREE_DISK, .credit_charge = CHARGE};
    struct buf message = buf_in(&p->f->arena);
    struct buf framed = buf_in(&p->f->arena);
    smb_peer_add(p, &message, &like, smb_body_write(p->f, id, OFFSET, bytes));
    buf_put_be32(&framed, (uint32_t)message.n);
    buf_put(&framed, buf_str(&message));
    return buf_str(&framed);
}

/* Returns the answer to the write. The rest is sent when the first part is stored. */
static uint32_t write_in_two(struct smb_peer *p, struct smb_file_id id, struct str bytes)
{
    uint64_t before = extents_of(p->f);
    struct str framed = framed_write(p, id, bytes);
    smb_peer_send_raw(p, str_head(framed, FIRST));
    wait_for_extents(p->f, before + 1);
    smb_peer_send_raw(p, str_from(framed, FIRST));
    return smb_peer_receive(p).header.status;
}

static void check_file_has(struct smb_peer *p, struct smb_file_id id, struct str bytes)
{
    struct smb_header like = {
        .command = SMB_READ, .tree_id = SMB_TREE_DISK, .credit_charge = CHARGE};
    struct buf message = buf_in(&p->f->arena);
    smb_peer_add(p, &message, &like, smb_body_read(p->f, id, OFFSET, LENGTH));
    smb_peer_send(p, buf_str(&message));
    struct smb_answer a = smb_peer_receive(p);
    CHECK_INT(a.header.status, bytes.n == 0 ? STATUS_END_OF_FILE : STATUS_SUCCESS);
    if (bytes.n > 0)
        CHECK_STR(str_from(a.body, 16), bytes);
}

void test_smb_write_is_stored_while_it_comes(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f);
    struct smb_file_id id = smb_peer_open(&p, "file");
    struct str bytes = some_bytes(&f);
    CHECK_INT(write_in_two(&p, id, bytes), STATUS_SUCCESS);
    check_file_has(&p, id, bytes);
    wait_for_extents(&f, 2);
    smb_fixture_end(&f);
}

/* Data stored early is not visible before the write ends, and is removed if the write fails. */
void test_smb_write_that_is_cut_off_leaves_nothing(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f);
    struct smb_peer other = smb_peer_in_session(&f);
    struct smb_file_id id = smb_peer_open(&p, "file");
    struct smb_file_id theirs = smb_peer_open(&other, "file");
    smb_peer_send_raw(&p, str_head(framed_write(&p, id, some_bytes(&f)), FIRST));
    wait_for_extents(&f, 1);
    check_file_has(&other, theirs, STR(""));
    smb_peer_cut(&p);
    wait_for_extents(&f, 0);
    check_file_has(&other, theirs, STR(""));
    smb_fixture_end(&f);
}

/* Conflicts are checked when the message is complete. */
void test_smb_write_that_is_refused_leaves_nothing(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f);
    struct smb_peer other = smb_peer_in_session(&f);
    struct smb_file_id id = smb_peer_open(&p, "file");
    struct smb_file_id theirs = smb_peer_open(&other, "file");
    struct str framed = framed_write(&p, id, some_bytes(&f));
    smb_peer_send_raw(&p, str_head(framed, FIRST));
    wait_for_extents(&f, 1);
    struct smb_range range = {.offset = OFFSET, .length = 1, .flags = 2 | 16};
    CHECK_INT(smb_peer_ask(&other, SMB_LOCK, smb_body_lock(&f, theirs, &range, 1)).header.status,
              STATUS_SUCCESS);
    smb_peer_send_raw(&p, str_from(framed, FIRST));
    CHECK_INT(smb_peer_receive(&p).header.status, STATUS_FILE_LOCK_CONFLICT);
    wait_for_extents(&f, 0);
    check_file_has(&other, theirs, STR(""));
    smb_fixture_end(&f);
}

/* Through a handle that is invalid or may not write, nothing is stored early either: the answer
 * arrives, and no extent was ever made. */
void test_smb_write_without_the_right_is_not_begun(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f);
    (void)smb_peer_open(&p, "file");
    struct smb_wanted reading = {.name = "file",
                                 .access = SMB_READ_DATA,
                                 .sharing = SMB_ALL_SHARED,
                                 .disposition = SMB_OPEN};
    struct smb_answer a = smb_peer_ask(&p, SMB_CREATE, smb_body_create(&f, &reading));
    struct smb_file_id none = {.persistent = 1, .fleeting = 12345};
    struct smb_file_id ids[] = {smb_created(&a), none};
    uint32_t wanted[] = {STATUS_ACCESS_DENIED, STATUS_FILE_CLOSED};
    for (unsigned i = 0; i < 2; i++) {
        smb_peer_send_raw(&p, framed_write(&p, ids[i], some_bytes(&f)));
        CHECK_INT(smb_peer_receive(&p).header.status, wanted[i]);
        wait_for_extents(&f, 0);
    }
    smb_fixture_end(&f);
}
