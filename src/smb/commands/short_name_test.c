/* SPDX-License-Identifier: Apache-2.0 */
/* Short names as clients see and use them. */
#include "service/file/short_name.h"

#include "core/text/utf16.h"
#include "smb/smb_fixture.h"
#include "smb/tunnel.h"

enum {
    CLASS_RENAME = 10,
    CLASS_ALTERNATE_NAME = 21,
    CLASS_BOTH = 3,
    PATTERN_OFFSET = SMB_HEADER_BYTES + 32
};

/* Returns the file's alternate name, NUL-terminated, in the arena. */
static const char *short_name(struct smb_peer *p, struct smb_file_id id)
{
    struct smb_asked what = {.class = CLASS_ALTERNATE_NAME, .room = 100};
    struct smb_answer a = smb_peer_ask(p, SMB_QUERY_INFO, smb_body_query(p->f, id, &what));
    CHECK_INT(a.header.status, STATUS_SUCCESS);
    struct reader r = reader_of(str_from(a.body, 8));
    struct str name;
    CHECK(utf16_decode(&p->f->arena, read_raw(&r, read_le32(&r)), &name));
    char *text = arena_bytes(&p->f->arena, name.n + 1);
    memcpy(text, name.p, name.n);
    text[name.n] = 0;
    return text;
}

static struct smb_answer open_as(struct smb_peer *p, const char *name, uint32_t disposition,
                                 uint32_t options)
{
    struct smb_wanted w = {
        .name = name, .sharing = SMB_ALL_SHARED, .disposition = disposition, .options = options};
    return smb_peer_ask(p, SMB_CREATE, smb_body_create(p->f, &w));
}

static void delete_file(struct smb_peer *p, const char *name)
{
    struct smb_answer a = open_as(p, name, SMB_OPEN, SMB_OPTION_DELETE_ON_CLOSE);
    struct str body = smb_body_close(p->f, smb_created(&a));
    CHECK_INT(smb_peer_ask(p, SMB_CLOSE, body).header.status, STATUS_SUCCESS);
}

void test_smb_short_name_opens_the_file(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f);
    struct smb_answer a = open_as(&p, "a long directory", SMB_CREATE_NEW, SMB_OPTION_DIRECTORY);
    struct smb_file_id directory = smb_created(&a);
    struct smb_file_id id = smb_peer_open(&p, "a long directory\\A long name.text");
    const char *name = short_name(&p, id);
    CHECK(short_name_like(str_of(name)));
    char path[64];
    (void)snprintf(path, sizeof path, "%s\\%s", short_name(&p, directory), name);
    CHECK_INT(open_as(&p, path, SMB_OPEN, 0).header.status, STATUS_SUCCESS);
    CHECK_INT(open_as(&p, path, SMB_CREATE_NEW, 0).header.status, STATUS_OBJECT_NAME_COLLISION);
    path[strlen(path) - 1] ^= 1;
    CHECK_INT(open_as(&p, path, SMB_OPEN, 0).header.status, STATUS_OBJECT_NAME_NOT_FOUND);
    CHECK_STR(str_of(short_name(&p, smb_peer_open(&p, "short.txt"))), STR("short.txt"));
    smb_fixture_end(&f);
}

/* A file deleted and created again by its short name gets its long name again, for a while. */
void test_smb_short_name_is_remembered(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f);
    const char *name = short_name(&p, smb_peer_open(&p, "a long name.text"));
    smb_peer_cut(&p);
    p = smb_peer_in_session(&f);
    delete_file(&p, name);
    struct smb_answer a = open_as(&p, name, SMB_CREATE_NEW, 0);
    CHECK_INT(a.header.status, STATUS_SUCCESS);
    CHECK_INT(open_as(&p, "a long name.text", SMB_OPEN, 0).header.status, STATUS_SUCCESS);
    CHECK_STR(str_of(short_name(&p, smb_created(&a))), str_of(name));
    smb_fixture_end(&f);
}

void test_smb_tunnel_forgets(void)
{
    enum { SECOND = 10000000 };
    struct arena a;
    struct smb_tunnel *t = smb_tunnel_new();
    arena_init(&a, 1 << 16);
    smb_tunnel_keep(t, 1, STR("D/S~1"), STR("d/long"), 0);
    smb_tunnel_keep(t, 1, STR("d/s~1"), STR("d/longer"), SECOND);
    CHECK_STR(smb_tunnel_find(t, &a, 1, STR("d/S~1"), 2 * SECOND), STR("d/longer"));
    CHECK(!str_given(smb_tunnel_find(t, &a, 2, STR("d/S~1"), 2 * SECOND)));
    CHECK(!str_given(smb_tunnel_find(t, &a, 1, STR("d/S~1"), 17LL * SECOND)));
    for (unsigned i = 0; i < SMB_TUNNEL_ENTRIES; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "n~%u", i);
        smb_tunnel_keep(t, 1, str_of(name), STR("other"), 2 * SECOND);
    }
    CHECK(!str_given(smb_tunnel_find(t, &a, 1, STR("d/S~1"), 2 * SECOND)));
    CHECK_STR(smb_tunnel_find(t, &a, 1, STR("n~0"), 2 * SECOND), STR("other"));
    arena_release(&a);
    smb_tunnel_free(t);
}

static struct smb_answer find(struct smb_peer *p, struct smb_file_id id, const char *pattern)
{
    struct buf b = buf_in(&p->f->arena);
    buf_put_le16(&b, 33);
    buf_put_u8(&b, CLASS_BOTH);
    buf_put_u8(&b, 1); /* from the beginning */
    buf_put_le32(&b, 0);
    smb_put_file_id(&b, id);
    buf_put_le16(&b, PATTERN_OFFSET);
    buf_put_le16(&b, (uint16_t)(2 * strlen(pattern)));
    buf_put_le32(&b, 4096);
    utf16_put(&b, str_of(pattern));
    return smb_peer_ask(p, SMB_QUERY_DIRECTORY, buf_str(&b));
}

void test_smb_short_name_is_listed_and_looked_for(void)
{
    enum { SHORT_AT = 8 + 68 }; /* in the answer's first entry */
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f);
    struct smb_answer a = open_as(&p, "", SMB_OPEN, SMB_OPTION_DIRECTORY);
    struct smb_file_id root = smb_created(&a);
    const char *name = short_name(&p, smb_peer_open(&p, "a long name.text"));
    (void)smb_peer_open(&p, "other.txt");
    a = find(&p, root, name);
    CHECK_INT(a.header.status, STATUS_SUCCESS);
    struct str listed;
    struct reader r = reader_of(str_from(a.body, SHORT_AT));
    uint8_t bytes = read_u8(&r);
    (void)read_u8(&r);
    CHECK(utf16_decode(&f.arena, read_raw(&r, bytes), &listed));
    CHECK_STR(listed, str_of(name));
    a = find(&p, root, "other.txt");
    CHECK_INT(a.header.status, STATUS_SUCCESS);
    CHECK_INT(a.body.p[SHORT_AT], 0);
    CHECK_INT(find(&p, root, "a~000000").header.status, STATUS_NO_SUCH_FILE);
    smb_fixture_end(&f);
}

/* Directories in a rename's new path may be short names; the new name is used literally. */
void test_smb_short_name_of_a_directory_to_rename_into(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f);
    struct smb_answer a = open_as(&p, "a long directory", SMB_CREATE_NEW, SMB_OPTION_DIRECTORY);
    char path[64];
    (void)snprintf(path, sizeof path, "%s\\A~000000.TXT", short_name(&p, smb_created(&a)));
    struct smb_file_id id = smb_peer_open(&p, "file");
    struct buf b = buf_in(&f.arena);
    buf_put_le64(&b, 0);
    buf_put_le64(&b, 0);
    buf_put_le32(&b, (uint32_t)(2 * strlen(path)));
    utf16_put(&b, str_of(path));
    CHECK_INT(smb_peer_ask(&p, SMB_CLOSE, smb_body_close(&f, smb_created(&a))).header.status,
              STATUS_SUCCESS);
    struct str body = smb_body_set(&f, id, CLASS_RENAME, buf_str(&b));
    CHECK_INT(smb_peer_ask(&p, SMB_SET_INFO, body).header.status, STATUS_SUCCESS);
    a = open_as(&p, "a long directory\\A~000000.TXT", SMB_OPEN, 0);
    CHECK_INT(a.header.status, STATUS_SUCCESS);
    smb_fixture_end(&f);
}
