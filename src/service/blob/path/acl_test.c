/* SPDX-License-Identifier: Apache-2.0 */
/* Access control lists: their texts, and the rights they give. */
#include "service/blob/path/path_fixture.h"

static struct str text_of(struct arena *a, const struct blob_path *path)
{
    struct buf b = buf_in(a);
    acl_put_text(&b, path);
    return buf_str(&b);
}

static struct str mode_of(struct arena *a, const struct blob_path *path)
{
    struct buf b = buf_in(a);
    acl_put_mode(&b, path);
    return buf_str(&b);
}

static struct err apply(struct arena *a, enum acl_change how, const char *text,
                        struct blob_path *path)
{
    struct path_acl entries;
    TRY(acl_parse(str_of(text), how == ACL_REMOVE, &entries));
    return acl_apply(a, &(struct acl_request){.how = how, .entries = &entries}, path);
}

void test_acl_texts(void)
{
    struct arena a;
    unsigned mode;
    arena_init(&a, 1 << 16);
    struct blob_path path = {.directory = true, .mode = 0750};
    CHECK_STR(text_of(&a, &path), STR("user::rwx,group::r-x,other::---"));
    CHECK_STR(mode_of(&a, &path), STR("rwxr-x---"));
    CHECK_OK(apply(&a, ACL_SET, "user::rwx,group::r--,other::---,mask::rwx", &path));
    CHECK_STR(text_of(&a, &path), STR("user::rwx,group::r--,mask::rwx,other::---"));
    CHECK_STR(mode_of(&a, &path), STR("rwxrwx---+"));
    CHECK_OK(apply(&a, ACL_MODIFY, "user:me:r-x,default:user:me:rwx", &path));
    CHECK_STR(text_of(&a, &path),
              STR("user::rwx,user:me:r-x,group::r--,mask::r-x,other::---,default:user::rwx,"
                  "default:user:me:rwx,default:group::r--,default:mask::rwx,default:other::---"));
    CHECK_OK(acl_set_mode(&a, 01741, &path));
    CHECK_STR(mode_of(&a, &path), STR("rwxr----t+"));
    CHECK_ERR(apply(&a, ACL_REMOVE, "user", &path), ERR_INVALID_INPUT);
    CHECK_OK(apply(&a, ACL_REMOVE, "user:me,mask:", &path));
    CHECK(acl_parse_mode(STR("rw-r-x-wT"), &mode) && mode == 01652);
    CHECK(acl_parse_mode(STR("1777"), &mode) && mode == 01777);
    CHECK(!acl_parse_mode(STR("888"), &mode) && !acl_parse_mode(STR("rwxrwx"), &mode));
    struct path_acl entries;
    static const char *const BAD[] = {"user::rwz",  "who::rwx", "user::rwx,user::r--",
                                      "mask:x:rwx", "user:me",  "default:default:user::rwx"};
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
        CHECK_ERR(acl_parse(str_of(BAD[i]), false, &entries), ERR_INVALID_INPUT);
    arena_release(&a);
}

void test_acl_inherits_by_default_entries(void)
{
    struct arena a;
    arena_init(&a, 1 << 16);
    struct blob_path parent = {.directory = true, .mode = 0750, .group = STR("team")}, child;
    struct acl_birth file = {.mode = 0666, .umask = 0027};
    CHECK_OK(acl_inherit(&a, &parent, &file, &child));
    CHECK_STR(mode_of(&a, &child), STR("rw-r-----"));
    CHECK_STR(acl_group(&child), STR("team"));
    CHECK_OK(apply(&a, ACL_MODIFY, "default:user:me:rwx", &parent));
    CHECK_OK(acl_inherit(&a, &parent, &file, &child));
    CHECK_STR(text_of(&a, &child), STR("user::rw-,user:me:rwx,group::r-x,mask::rw-,other::---"));
    struct acl_birth directory = {.mode = 0777, .umask = 0027, .directory = true};
    CHECK_OK(acl_inherit(&a, &parent, &directory, &child));
    CHECK_STR(text_of(&a, &child),
              STR("user::rwx,user:me:rwx,group::r-x,mask::rwx,other::---,default:user::rwx,"
                  "default:user:me:rwx,default:group::r-x,default:mask::rwx,default:other::---"));
    arena_release(&a);
}

/* ---- operation × who × where × bits ---- */

#define ME    STR("11111111-0000-4000-8000-000000000001")
#define TEAM  STR("22222222-0000-4000-8000-000000000002")
#define OTHER STR("33333333-0000-4000-8000-000000000003")

static const struct str GROUPS[] = {{"22222222-0000-4000-8000-000000000002", 36}};
static const struct acl_caller CALLER = {{"11111111-0000-4000-8000-000000000001", 36}, GROUPS, 1};

enum place { PLACE_ROOT, PLACE_ABOVE, PLACE_PARENT, PLACE_FILE, PLACE_COUNT };
static const char *const PATHS[PLACE_COUNT] = {"", "d", "d/e", "d/e/f"};
enum who { WHO_OWNER, WHO_NAMED, WHO_GROUP, WHO_OTHER, WHO_COUNT };

static struct blob_request as_me(struct blob_fixture *f, const char *name)
{
    struct blob_request request = bf_blob(f, name);
    request.path.caller = &CALLER;
    request.path.owner = CALLER.id;
    return request;
}

static struct err do_read(struct blob_fixture *f)
{
    struct str content;
    return bf_get(f, as_me(f, "d/e/f"), &content);
}

static struct err do_status(struct blob_fixture *f)
{
    struct path_set_args args = {.request = as_me(f, "d/e/f")};
    return bf_view(f, path_get_status, &args);
}

static struct err do_append(struct blob_fixture *f)
{
    return pf_append(f, as_me(f, "d/e/f"), 0, "x", true);
}

static struct err do_create(struct blob_fixture *f)
{
    return pf_make(f, as_me(f, "d/e/new"), false);
}

static struct err do_overwrite(struct blob_fixture *f)
{
    return bf_put(f, as_me(f, "d/e/f"), STR("x"), NULL);
}

static struct err do_delete(struct blob_fixture *f)
{
    return pf_delete(f, as_me(f, "d/e/f"), false);
}

static struct err do_move_out(struct blob_fixture *f)
{
    return pf_rename(f, as_me(f, "d/e/f"), as_me(f, "open/f"));
}

static struct err do_move_in(struct blob_fixture *f)
{
    return pf_rename(f, as_me(f, "open/x"), as_me(f, "d/e/x"));
}

static struct err do_list(struct blob_fixture *f)
{
    struct blob_list_args args = {.prefix = STR("d/e/"), .caller = &CALLER, .entries_only = true};
    args.max = 10;
    return bf_try_list(f, args);
}

static struct err do_delete_tree(struct blob_fixture *f)
{
    return pf_delete(f, as_me(f, "d/e"), true);
}

static const struct {
    const char *name;
    struct err (*run)(struct blob_fixture *f);
    unsigned needs[PLACE_COUNT]; /* of root, d, d/e, d/e/f */
} OPERATIONS[] = {
    {"read", do_read, {1, 1, 1, 4}},           {"status", do_status, {1, 1, 1, 0}},
    {"append", do_append, {1, 1, 1, 6}},       {"create", do_create, {1, 1, 3, 0}},
    {"overwrite", do_overwrite, {1, 1, 1, 2}}, {"delete", do_delete, {1, 1, 3, 0}},
    {"move out", do_move_out, {1, 1, 3, 0}},   {"move in", do_move_in, {1, 1, 3, 0}},
    {"list", do_list, {1, 1, 5, 0}},           {"delete tree", do_delete_tree, {1, 3, 7, 0}},
};

/* The place gives the bits to the one class that I am in, and all to the classes that do not count
 * then; to everybody only what a group that refuses falls through to. */
static void grant(struct blob_fixture *f, const char *path, enum who who, unsigned bits)
{
    struct path_set_args args = {
        .request = bf_blob(f, path), .group = STR("none"), .has_acl = true};
    static const struct acl_entry ALL[] = {{.kind = ACL_USER, .id = {"", 0}, .bits = 7},
                                           {.kind = ACL_GROUP, .id = {"", 0}, .bits = 7},
                                           {.kind = ACL_OTHER, .id = {"", 0}, .bits = 7},
                                           {.kind = ACL_MASK, .id = {"", 0}, .bits = 7}};
    memcpy(args.acl.items, ALL, sizeof ALL);
    args.acl.count = sizeof ALL / sizeof ALL[0];
    args.owner = who == WHO_OWNER ? ME : OTHER;
    if (who == WHO_OWNER)
        args.acl.items[0].bits = bits;
    if (who == WHO_NAMED || who == WHO_GROUP)
        args.acl.items[args.acl.count++] =
            (struct acl_entry){.kind = who == WHO_NAMED ? ACL_USER : ACL_GROUP,
                               .id = who == WHO_NAMED ? ME : TEAM,
                               .bits = bits};
    if (who == WHO_GROUP)
        args.acl.items[2].bits = 0;
    if (who == WHO_OTHER)
        args.acl.items[2].bits = bits;
    CHECK_OK(bf_update(f, path_set_access_control, &args));
}

static void lay_out(struct blob_fixture *f)
{
    (void)err_is(pf_delete(f, bf_blob(f, "d"), true));
    (void)err_is(pf_delete(f, bf_blob(f, "open"), true));
    CHECK_OK(pf_make(f, bf_blob(f, "d/e/f"), false));
    CHECK_OK(pf_make(f, bf_blob(f, "open/x"), false));
}

static void check_cell(struct blob_fixture *f, size_t operation, enum who who, enum place place)
{
    for (unsigned bits = 0; bits < 8; bits++) {
        lay_out(f);
        grant(f, "open", WHO_OWNER, 7);
        for (int i = 0; i < PLACE_COUNT; i++)
            grant(f, PATHS[i], who, i == (int)place ? bits : 7);
        unsigned needs = OPERATIONS[operation].needs[place];
        bool granted = !err_is(OPERATIONS[operation].run(f));
        if (granted != ((bits & needs) == needs))
            test_fail(__FILE__, __LINE__, "%s by %d with %u at '%s'", OPERATIONS[operation].name,
                      (int)who, bits, PATHS[place]);
    }
}

void test_acl_operation_by_who_by_where_by_bits(void)
{
    struct blob_fixture f;
    for (size_t i = 0; i < sizeof OPERATIONS / sizeof OPERATIONS[0]; i++) {
        for (int who = 0; who < WHO_COUNT; who++) {
            pf_init(&f);
            for (int place = 0; place < PLACE_COUNT; place++)
                check_cell(&f, i, (enum who)who, (enum place)place);
            bf_release(&f);
        }
    }
}

void test_acl_sticky_directories(void)
{
    struct blob_fixture f;
    pf_init(&f);
    lay_out(&f);
    grant(&f, "", WHO_OTHER, 7);
    grant(&f, "d", WHO_OTHER, 7);
    grant(&f, "d/e", WHO_OTHER, 7);
    struct path_set_args sticky = {
        .request = bf_blob(&f, "d/e"), .has_mode = true, .mode = ACL_STICKY | 0777};
    CHECK_OK(bf_update(&f, path_set_access_control, &sticky));
    CHECK_ERR(pf_delete(&f, as_me(&f, "d/e/f"), false), ERR_AUTHORIZATION_PERMISSION_MISMATCH);
    grant(&f, "d/e/f", WHO_OWNER, 0);
    CHECK_OK(pf_delete(&f, as_me(&f, "d/e/f"), false));
    bf_release(&f);
}

void test_acl_only_owners_change_lists(void)
{
    struct blob_fixture f;
    pf_init(&f);
    lay_out(&f);
    for (int i = 0; i < PLACE_COUNT; i++)
        grant(&f, PATHS[i], WHO_OTHER, 7);
    struct path_set_args mine = {.request = as_me(&f, "d/e/f"), .has_mode = true, .mode = 0700};
    CHECK_ERR(bf_update(&f, path_set_access_control, &mine), ERR_AUTHORIZATION_PERMISSION_MISMATCH);
    grant(&f, "d/e/f", WHO_OWNER, 0);
    CHECK_OK(bf_update(&f, path_set_access_control, &mine));
    mine.owner = OTHER;
    CHECK_ERR(bf_update(&f, path_set_access_control, &mine), ERR_AUTHORIZATION_PERMISSION_MISMATCH);
    mine.owner = STR_NONE;
    mine.group = TEAM;
    CHECK_OK(bf_update(&f, path_set_access_control, &mine));
    mine.group = OTHER;
    CHECK_ERR(bf_update(&f, path_set_access_control, &mine), ERR_AUTHORIZATION_PERMISSION_MISMATCH);
    bf_release(&f);
}
