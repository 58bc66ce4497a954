/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/ea.h"

#include "service/file/by_id.h"
#include "service/file/file_fixture.h"

/* "name=value " and so on, from pairs that end with NULL. */
static struct str list_of(struct arena *a, const char *const *pairs)
{
    struct buf b = buf_in(a);
    for (; pairs[0] != NULL; pairs += 2) {
        struct ea e = {.name = str_of(pairs[0]), .value = str_of(pairs[1])};
        ea_put(&b, &e);
    }
    return buf_str(&b);
}

#define LIST(w, ...) list_of(&(w)->arena, (const char *const[]){__VA_ARGS__, NULL})

static struct str told(struct arena *a, struct str list)
{
    struct reader r = reader_of(list);
    struct buf b = buf_in(a);
    struct ea e;
    while (ea_next(&r, &e)) {
        buf_put(&b, e.name);
        buf_putc(&b, '=');
        buf_put(&b, e.value);
        buf_putc(&b, ' ');
    }
    CHECK(reader_done(&r));
    return buf_str(&b);
}

void test_ea_change(void)
{
    struct world w;
    struct str list = STR_NONE;
    world_begin(&w);
    CHECK_OK(ea_change(&w.arena, list, LIST(&w, "ONE", "1", "TWO", "2", "one", "11"), &list));
    CHECK_STR(told(&w.arena, list), STR("TWO=2 one=11 "));
    CHECK_INT(ea_count(list), 2);
    CHECK_INT(ea_size(list), 4 + (4 + 4 + 1) + (4 + 4 + 2));
    CHECK_OK(ea_change(&w.arena, list, LIST(&w, "two", "", "THREE", "3", "four", ""), &list));
    CHECK_STR(told(&w.arena, list), STR("one=11 THREE=3 "));
    CHECK_OK(ea_change(&w.arena, list, LIST(&w, "ONE", "", "three", ""), &list));
    CHECK(!str_given(list));
    CHECK_INT(ea_size(list), 0);
    CHECK(ea_name_is_good(STR("$LXUID")) && !ea_name_is_good(STR("")) &&
          !ea_name_is_good(STR("a:b")) && !ea_name_is_good(STR("a\x01")));
    world_end(&w);
}

void test_ea_has_limits(void)
{
    struct world w;
    struct str list = STR_NONE;
    world_begin(&w);
    char *bytes = arena_bytes(&w.arena, 40000);
    memset(bytes, 'x', 40000);
    struct buf one = buf_in(&w.arena), other = buf_in(&w.arena), many = buf_in(&w.arena);
    ea_put(&one, &(struct ea){.name = STR("A"), .value = {bytes, 40000}});
    ea_put(&other, &(struct ea){.name = STR("B"), .value = {bytes, 40000}});
    CHECK_OK(ea_change(&w.arena, list, buf_str(&one), &list));
    CHECK_OK(ea_change(&w.arena, list, buf_str(&one), &list));
    struct str both;
    CHECK_ERR(ea_change(&w.arena, list, buf_str(&other), &both), ERR_EXTENDED_ATTRIBUTES_TOO_LARGE);
    for (unsigned i = 0; i <= EA_LIST_NAMES_MAX; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "%u", i);
        ea_put(&many, &(struct ea){.name = str_of(name), .value = STR("x")});
    }
    CHECK_ERR(ea_change(&w.arena, STR_NONE, buf_str(&many), &both),
              ERR_EXTENDED_ATTRIBUTES_TOO_LARGE);
    world_end(&w);
}

/* ---- with the file ---- */

static struct file_look_args look(struct world *w, const char *path, int64_t snapshot)
{
    struct file_share_args share = {.at.arena = &w->arena};
    CHECK_OK(world_update(w, file_look_share, &share));
    struct file_look_args args = {
        .at = {.arena = &w->arena, .incarnation = share.incarnation, .snapshot = snapshot},
        .by_path = true,
        .path = str_of(path)};
    CHECK_OK(world_update(w, file_look, &args));
    CHECK(args.seen.exists);
    args.at.id = args.seen.id;
    return args;
}

static struct str of_file(struct world *w, const char *path, int64_t snapshot)
{
    return told(&w->arena, look(w, path, snapshot).seen.node.eas);
}

static void change_file(struct world *w, const char *path, struct str changes)
{
    struct file_change_args args = {.at = look(w, path, 0).at, .eas = changes};
    CHECK_OK(world_update(w, file_change, &args));
}

static void copy_file(struct world *w, const char *from, const char *to)
{
    struct copy_source source = {
        .arena = &w->arena, .partition = w->partition, .path = str_of(from)};
    CHECK_OK(engine_view(w->store.engine, w->partition, ENGINE_WAIT, file_copy_find, &source));
    struct copy_args args = {.request = request_of(w, to),
                             .source = &source,
                             .url = STR("http://host/share/from"),
                             .id = {.bytes = {7}}};
    CHECK_OK(world_write(w, file_copy_file, &args));
}

void test_ea_stay_with_the_file(void)
{
    struct world w;
    world_begin(&w);
    CHECK_OK(create_file(&w, "f", 10));
    change_file(&w, "f", LIST(&w, "ONE", "1"));
    int64_t snapshot = snapshot_share(&w);
    change_file(&w, "f", LIST(&w, "TWO", "2"));
    CHECK_OK(put_range(&w, "f", 0, STR("0123456789")));
    CHECK_STR(of_file(&w, "f", 0), STR("ONE=1 TWO=2 "));
    CHECK_STR(of_file(&w, "f", snapshot), STR("ONE=1 "));
    copy_file(&w, "f", "copy");
    CHECK_STR(of_file(&w, "copy", 0), STR("ONE=1 TWO=2 "));
    struct file_rename_args rename = {.at = look(&w, "f", 0).at, .path = STR("g")};
    rename.pass.opens = w.opens;
    CHECK_OK(world_update(&w, file_rename_at, &rename));
    CHECK_STR(of_file(&w, "g", 0), STR("ONE=1 TWO=2 "));
    struct file_overwrite_args over = {.at = look(&w, "g", 0).at, .eas = LIST(&w, "NEW", "3")};
    CHECK_OK(world_update(&w, file_overwrite, &over));
    CHECK_STR(of_file(&w, "g", 0), STR("NEW=3 "));
    CHECK_OK(create_file(&w, "g", 0)); /* anew, by REST */
    CHECK_STR(of_file(&w, "g", 0), STR(""));
    world_end(&w);
}
