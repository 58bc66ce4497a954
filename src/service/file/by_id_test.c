/* SPDX-License-Identifier: Apache-2.0 */
/* The transactions by id, as a front end with handles drives them. */
#include "service/file/by_id.h"

#include "service/file/copy/copy_range.h"
#include "service/file/file_fixture.h"
#include "service/file/security/rights.h"
#include "service/file/security/sddl.h"

static struct file_at at_path(struct world *w, const char *path)
{
    struct file_share_args share = {.at.arena = &w->arena};
    CHECK_OK(world_update(w, file_look_share, &share));
    struct file_look_args look = {.at = {.arena = &w->arena, .incarnation = share.incarnation},
                                  .by_path = true,
                                  .path = str_of(path)};
    CHECK_OK(world_update(w, file_look, &look));
    look.at.id = look.seen.id;
    return look.at;
}

static struct err nothing_to_register(struct txn *t, void *front, const struct file_seen *seen)
{
    (void)t;
    *(uint64_t *)front = seen->id;
    return OK;
}

static uint64_t make(struct world *w, const char *path, enum node_kind kind)
{
    uint64_t id = 0;
    struct file_make_args args = {.at = at_path(w, ""),
                                  .opens = w->opens,
                                  .path = str_of(path),
                                  .kind = kind,
                                  .made = nothing_to_register,
                                  .front = &id};
    CHECK_OK(world_update(w, file_make, &args));
    CHECK_INT(id, args.seen.id);
    CHECK_ERR(world_update(w, file_make, &args), ERR_RESOURCE_ALREADY_EXISTS);
    return id;
}

static struct err write_at(struct world *w, const char *path, uint64_t offset, struct str bytes)
{
    struct pieces pieces;
    CHECK_OK(make_pieces(w, offset, bytes, &pieces));
    struct file_write_args args = {
        .at = at_path(w, path), .offset = offset, .length = bytes.n, .pieces = &pieces};
    return world_update(w, file_write_at, &args);
}

void test_file_by_id_make_write_remove(void)
{
    struct world w;
    world_begin(&w);
    uint64_t id = make(&w, "f", NODE_FILE);
    CHECK_INT(at_path(&w, "F").id, id);
    CHECK_OK(write_at(&w, "f", 3, STR("hello")));
    CHECK_STR(read_file(&w, "f", 0), ((struct str){"\0\0\0hello", 8}));
    CHECK_INT(share_usage(&w), 8);
    struct file_overwrite_args over = {.at = at_path(&w, "f"), .attributes = NODE_ARCHIVE};
    CHECK_OK(world_update(&w, file_overwrite, &over));
    CHECK_INT(over.seen.id, id);
    CHECK_INT(share_usage(&w), 0);
    struct file_remove_args remove = {.at = at_path(&w, "f")};
    CHECK_OK(world_update(&w, file_remove_at, &remove));
    CHECK_OK(world_update(&w, file_remove_at, &remove)); /* gone already */
    CHECK_ERR(write_at(&w, "f", 0, STR("x")), ERR_FILE_IS_A_DIRECTORY);
    world_end(&w);
}

void test_file_by_id_rename(void)
{
    struct world w;
    world_begin(&w);
    (void)make(&w, "d", NODE_DIRECTORY);
    uint64_t id = make(&w, "d/f", NODE_FILE);
    (void)make(&w, "g", NODE_FILE);
    struct file_rename_args args = {.at = at_path(&w, "d/f"), .path = STR("g")};
    args.pass.opens = w.opens;
    CHECK_ERR(world_update(&w, file_rename_at, &args), ERR_RESOURCE_ALREADY_EXISTS);
    args.replace = true;
    CHECK_OK(world_update(&w, file_rename_at, &args));
    file_pass_end(&args.pass);
    CHECK_STR(args.new_path, STR("g"));
    CHECK_INT(at_path(&w, "g").id, id);
    struct file_remove_args remove = {.at = at_path(&w, "d")};
    CHECK_OK(world_update(&w, file_remove_at, &remove));
    world_end(&w);
}

/* The copy names the same extents, and outlives its source. */
void test_file_by_id_copy_range(void)
{
    enum { BYTES = 100000 };
    struct world w;
    world_begin(&w);
    (void)make(&w, "from", NODE_FILE);
    (void)make(&w, "to", NODE_FILE);
    char *bytes = arena_bytes(&w.arena, BYTES);
    memset(bytes, 'x', BYTES);
    CHECK_OK(write_at(&w, "from", 0, (struct str){bytes, BYTES}));
    CHECK_OK(write_at(&w, "from", BYTES, STR("end")));
    struct file_copy_part parts[] = {{.from = 10, .to = 5, .length = BYTES - 10 + 3},
                                     {.from = BYTES, .to = 0, .length = 100}};
    struct file_copy_range_args copy = {
        .at = at_path(&w, "to"), .source = at_path(&w, "from").id, .parts = parts, .count = 2};
    CHECK_OK(world_update(&w, file_copy_range, &copy));
    CHECK_INT(copy.done, 1); /* the second reaches past the end */
    struct file_remove_args remove = {.at = at_path(&w, "from")};
    CHECK_OK(world_update(&w, file_remove_at, &remove));
    struct str copied = read_file(&w, "to", 0);
    CHECK_INT(copied.n, 5 + BYTES - 10 + 3);
    CHECK_STR(str_head(copied, 7), ((struct str){"\0\0\0\0\0xx", 7}));
    CHECK_STR(str_from(copied, copied.n - 5), STR("xxend"));
    world_end(&w);
}

void test_file_by_id_zero_and_extents(void)
{
    struct world w;
    world_begin(&w);
    (void)make(&w, "f", NODE_FILE);
    CHECK_OK(write_at(&w, "f", 8192, STR("data")));
    struct file_extents_args extents = {.at = at_path(&w, "f"), .to = 1 << 20, .max = 10};
    CHECK_OK(world_update(&w, file_extents_at, &extents));
    CHECK_INT(extents.count, 1); /* not sparse: all of it */
    CHECK_INT(extents.ranges[0].end, 8196);
    struct file_change_args change = {.at = at_path(&w, "f"), .has_sparse = true, .sparse = true};
    CHECK_OK(world_update(&w, file_change, &change));
    CHECK_OK(world_update(&w, file_extents_at, &extents));
    CHECK_INT(extents.count, 1);
    CHECK_INT(extents.ranges[0].start, 8192);
    struct file_zero_args zero = {.at = at_path(&w, "f"), .to = 1 << 20};
    CHECK_OK(world_update(&w, file_zero_at, &zero));
    CHECK_OK(world_update(&w, file_extents_at, &extents));
    CHECK_INT(extents.count, 0);
    CHECK_INT(read_file(&w, "f", 0).n, 8196);
    world_end(&w);
}

static int64_t last_write_of(struct world *w, const char *path)
{
    struct file_look_args look = {.at = at_path(w, path)};
    CHECK_OK(world_update(w, file_look, &look));
    return look.seen.node.last_write;
}

/* As with Windows Server 2022: a write changes the time at once, and so does setting the end of
 * file, even to the same value; setting the allocation size does not, and a handle that freezes the
 * time keeps it. */
void test_file_by_id_write_time_is_true_at_once(void)
{
    struct world w;
    world_begin(&w);
    (void)make(&w, "f", NODE_FILE);
    for (unsigned i = 0; i < 2; i++) {
        clock_advance(&w.clock, TICKS_PER_SECOND);
        CHECK_OK(write_at(&w, "f", 0, STR("x")));
        CHECK_INT(last_write_of(&w, "f"), clock_now(&w.clock));
    }
    clock_advance(&w.clock, TICKS_PER_SECOND);
    struct file_change_args end = {.at = at_path(&w, "f"), .has_size = true, .size = 1};
    CHECK_OK(world_update(&w, file_change, &end));
    int64_t written = last_write_of(&w, "f");
    CHECK_INT(written, clock_now(&w.clock));
    clock_advance(&w.clock, TICKS_PER_SECOND);
    struct file_change_args aside = {
        .at = at_path(&w, "f"), .has_size = true, .size = 4096, .only_shrinks = true};
    CHECK_OK(world_update(&w, file_change, &aside));
    end.keep_times = true;
    CHECK_OK(world_update(&w, file_change, &end));
    CHECK_INT(last_write_of(&w, "f"), written);
    aside.size = 0;
    CHECK_OK(world_update(&w, file_change, &aside));
    CHECK_INT(last_write_of(&w, "f"), clock_now(&w.clock));
    world_end(&w);
}

static uint32_t rights_in(struct world *w, const char *text)
{
    struct sd sd;
    CHECK_OK(sddl_parse(&w->arena, str_of(text), &sd));
    return rights_of(&sd);
}

/* The order of entries matters; the owner may always read and change the list, unless the list says
 * otherwise. */
void test_file_rights(void)
{
    struct world w;
    world_begin(&w);
    CHECK_INT(rights_in(&w, "O:BAD:(A;;FA;;;BA)"), RIGHTS_ALL);
    CHECK_INT(rights_in(&w, "O:BAD:(D;;0x2;;;WD)(A;;FA;;;WD)"), RIGHTS_ALL & ~2);
    CHECK_INT(rights_in(&w, "O:BAD:(A;;FA;;;WD)(D;;0x2;;;WD)"), RIGHTS_ALL);
    CHECK_INT(rights_in(&w, "O:BAD:"), RIGHT_READ_CONTROL | RIGHT_WRITE_DAC);
    CHECK_INT(rights_in(&w, "O:BAD:(A;;0x1;;;OW)"), 1);
    CHECK_INT(rights_in(&w, "O:S-1-5-21-1-2-3-4D:(A;;FA;;;S-1-5-21-1-2-3-4)"), 0);
    CHECK_INT(rights_in(&w, "O:S-1-5-21-1-2-3-4D:(A;IO;FA;;;WD)(A;;GR;;;WD)"), 0x120089);
    world_end(&w);
}
