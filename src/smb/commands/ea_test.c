/* SPDX-License-Identifier: Apache-2.0 */
/* Extended attributes as clients set, list and query them. */
#include "smb/smb_fixture.h"

enum {
    CLASS_EA = 7,
    CLASS_FULL_EA = 15,
    RESTART = 1,
    SINGLE = 2,
    INDEX = 4,
    NEEDED = 0x80,
};

static void put_entry(struct buf *b, bool last, uint8_t flags, const char *name, const char *value)
{
    size_t bytes = 8 + strlen(name) + 1 + strlen(value);
    size_t padded = (bytes + 3) / 4 * 4;
    buf_put_le32(b, last ? 0 : (uint32_t)padded);
    buf_put_u8(b, flags);
    buf_put_u8(b, (uint8_t)strlen(name));
    buf_put_le16(b, (uint16_t)strlen(value));
    buf_put(b, str_of(name));
    buf_putc(b, 0);
    buf_put(b, str_of(value));
    for (size_t i = bytes; i < padded; i++)
        buf_putc(b, 0);
}

static struct str two(struct smb_fixture *f)
{
    struct buf b = buf_in(&f->arena);
    put_entry(&b, false, 0, "ONE", "1");
    put_entry(&b, true, 0, "SECOND", "two");
    return buf_str(&b);
}

static struct str one(struct smb_fixture *f, uint8_t flags, const char *name, const char *value)
{
    struct buf b = buf_in(&f->arena);
    put_entry(&b, true, flags, name, value);
    return buf_str(&b);
}

static struct smb_answer ask(struct smb_peer *p, struct smb_file_id id, struct smb_asked what)
{
    if (what.class == 0)
        what.class = CLASS_FULL_EA;
    if (what.room == 0)
        what.room = 4096;
    return smb_peer_ask(p, SMB_QUERY_INFO, smb_body_query(p->f, id, &what));
}

/* "name=value " and so on. */
static struct str told(struct smb_fixture *f, const struct smb_answer *a)
{
    struct buf b = buf_in(&f->arena);
    struct str left = str_from(a->body, 8);
    for (uint32_t next = 1; next != 0; left = str_from(left, next)) {
        struct reader r = reader_of(left);
        next = read_le32(&r);
        (void)read_u8(&r);
        uint8_t name = read_u8(&r);
        uint16_t value = read_le16(&r);
        buf_put(&b, read_raw(&r, name));
        CHECK_INT(read_u8(&r), 0);
        buf_putc(&b, '=');
        buf_put(&b, read_raw(&r, value));
        buf_putc(&b, ' ');
        CHECK(reader_ok(&r));
    }
    return buf_str(&b);
}

static uint32_t set(struct smb_peer *p, struct smb_file_id id, struct str list)
{
    struct str body = smb_body_set(p->f, id, CLASS_FULL_EA, list);
    return smb_peer_ask(p, SMB_SET_INFO, body).header.status;
}

static struct smb_answer create(struct smb_peer *p, struct smb_wanted w, struct str eas)
{
    w.name = "file";
    w.sharing = SMB_ALL_SHARED;
    if (str_given(eas))
        w.contexts = smb_body_context(p->f, "ExtA", eas);
    return smb_peer_ask(p, SMB_CREATE, smb_body_create(p->f, &w));
}

void test_smb_ea_are_kept_and_told(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f);
    struct smb_answer a = create(&p, (struct smb_wanted){.disposition = SMB_CREATE_NEW}, two(&f));
    struct smb_file_id id = smb_created(&a);
    a = ask(&p, id, (struct smb_asked){.flags = RESTART});
    CHECK_INT(a.header.status, STATUS_SUCCESS);
    CHECK_STR(told(&f, &a), STR("ONE=1 SECOND=two "));
    a = ask(&p, id, (struct smb_asked){.class = CLASS_EA});
    CHECK_STR(str_head(str_from(a.body, 8), 4), ((struct str){"\x1B\0\0\0", 4}));
    CHECK_INT(set(&p, id, one(&f, 0, "one", "")), STATUS_SUCCESS);
    a = ask(&p, id, (struct smb_asked){.flags = RESTART});
    CHECK_STR(told(&f, &a), STR("SECOND=two "));
    CHECK_INT(set(&p, id, one(&f, 0, "second", "")), STATUS_SUCCESS);
    a = ask(&p, id, (struct smb_asked){.flags = RESTART});
    CHECK_INT(a.header.status, STATUS_NO_EAS_ON_FILE);
    smb_fixture_end(&f);
}

void test_smb_ea_are_told_in_parts(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f);
    struct smb_file_id id = smb_peer_open(&p, "file");
    CHECK_INT(set(&p, id, two(&f)), STATUS_SUCCESS);
    struct smb_answer a = ask(&p, id, (struct smb_asked){.flags = SINGLE});
    CHECK_STR(told(&f, &a), STR("ONE=1 "));
    a = ask(&p, id, (struct smb_asked){.flags = SINGLE});
    CHECK_STR(told(&f, &a), STR("SECOND=two "));
    a = ask(&p, id, (struct smb_asked){0});
    CHECK_INT(a.header.status, STATUS_NO_MORE_EAS);
    a = ask(&p, id, (struct smb_asked){.flags = RESTART, .room = 20});
    CHECK_INT(a.header.status, STATUS_BUFFER_OVERFLOW);
    CHECK_STR(told(&f, &a), STR("ONE=1 "));
    a = ask(&p, id, (struct smb_asked){.flags = RESTART, .room = 12});
    CHECK_INT(a.header.status, STATUS_BUFFER_TOO_SMALL);
    a = ask(&p, id, (struct smb_asked){.flags = INDEX, .parts = 2});
    CHECK_STR(told(&f, &a), STR("SECOND=two "));
    a = ask(&p, id, (struct smb_asked){.flags = INDEX, .parts = 3});
    CHECK_INT(a.header.status, STATUS_NO_MORE_EAS);
    a = ask(&p, id, (struct smb_asked){.flags = INDEX, .parts = 4});
    CHECK_INT(a.header.status, STATUS_NONEXISTENT_EA_ENTRY);
    struct str names = {"\x0C\0\0\0\x06second\0\0\0\0\0\x04none", 21};
    a = ask(&p, id, (struct smb_asked){.input = names});
    CHECK_STR(told(&f, &a), STR("SECOND=two none= "));
    smb_fixture_end(&f);
}

void test_smb_ea_that_cannot_be(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f);
    struct smb_file_id id = smb_peer_open(&p, "file");
    CHECK_INT(set(&p, id, one(&f, 0, "a:b", "1")), STATUS_INVALID_EA_NAME);
    CHECK_INT(set(&p, id, str_head(two(&f), 30)), STATUS_EA_LIST_INCONSISTENT);
    char *large = arena_bytes(&f.arena, 40001);
    memset(large, 'x', 40000);
    large[40000] = 0;
    CHECK_INT(set(&p, id, one(&f, 0, "A", large)), STATUS_SUCCESS);
    CHECK_INT(set(&p, id, one(&f, 0, "B", large)), STATUS_EA_TOO_LARGE);
    struct smb_answer a = create(
        &p,
        (struct smb_wanted){.disposition = SMB_OPEN_IF, .access = SMB_READ_DATA | SMB_WRITE_DATA},
        STR_NONE);
    struct smb_file_id weak = smb_created(&a);
    CHECK_INT(ask(&p, weak, (struct smb_asked){0}).header.status, STATUS_ACCESS_DENIED);
    CHECK_INT(set(&p, weak, two(&f)), STATUS_ACCESS_DENIED);
    smb_fixture_end(&f);
}

/* A client that does not understand them gets no file that needs them, and cannot set any. */
void test_smb_ea_that_are_needed(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f);
    struct smb_wanted unknowing = {.disposition = SMB_OPEN_IF, .options = SMB_OPTION_NO_EA};
    CHECK_INT(create(&p, unknowing, two(&f)).header.status, STATUS_ACCESS_DENIED);
    struct smb_answer a = create(&p, unknowing, STR_NONE);
    CHECK_INT(set(&p, smb_created(&a), one(&f, NEEDED, "N", "1")), STATUS_SUCCESS);
    CHECK_INT(create(&p, unknowing, STR_NONE).header.status, STATUS_ACCESS_DENIED);
    unknowing.options = 0;
    CHECK_INT(create(&p, unknowing, STR_NONE).header.status, STATUS_SUCCESS);
    smb_fixture_end(&f);
}
