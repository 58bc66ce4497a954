/* SPDX-License-Identifier: Apache-2.0 */
/* Access control lists and permissions of paths: a list and its mode read back the same after they
 * are set, whatever changes are made in between. */
#include <assert.h>

#include "service/blob/path/acl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct str text_of(struct arena *a, const struct blob_path *path)
{
    struct buf text = buf_in(a);
    acl_put_text(&text, path);
    return buf_str(&text);
}

static void round_trips(struct arena *a, const struct blob_path *path)
{
    struct path_acl entries;
    struct blob_path again = {.directory = path->directory};
    struct str text = text_of(a, path);
    struct acl_request set = {.how = ACL_SET, .entries = &entries};
    assert(acl_is_sound(path->acl));
    assert(!err_is(acl_parse(text, false, &entries)));
    assert(!err_is(acl_apply(a, &set, &again)));
    assert(str_eq(text_of(a, &again), text));
    struct buf mode = buf_in(a);
    unsigned bits;
    acl_put_mode(&mode, path);
    struct str nine = str_head(buf_str(&mode), 9);
    assert(mode.n >= 9 && acl_parse_mode(nine, &bits));
}

static void try_list(struct arena *a, struct str text, bool directory)
{
    struct path_acl entries, gone;
    struct blob_path path = {.directory = directory, .mode = 0750}, child;
    struct acl_birth birth = {.mode = 0666, .umask = 0027};
    const struct acl_caller caller = {.id = STR("u")};
    if (err_is(acl_parse(text, false, &entries)))
        return;
    for (int how = ACL_SET; how <= ACL_MODIFY; how++) {
        struct acl_request change = {
            .how = (enum acl_change)how, .entries = &entries, .skip_defaults = true};
        if (err_is(acl_apply(a, &change, &path)))
            continue;
        round_trips(a, &path);
        (void)acl_allows(&path, &caller, ACL_READ | ACL_EXECUTE);
        if (directory && !err_is(acl_inherit(a, &path, &birth, &child)))
            round_trips(a, &child);
        if (!err_is(acl_set_mode(a, 01751, &path)))
            round_trips(a, &path);
    }
    if (err_is(acl_parse(text, true, &gone)))
        return;
    struct acl_request removal = {.how = ACL_REMOVE, .entries = &gone, .skip_defaults = true};
    if (!err_is(acl_apply(a, &removal, &path)))
        round_trips(a, &path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a;
    struct str text = {(const char *)data, size};
    unsigned mode;
    arena_init(&a, 1 << 26);
    if (acl_parse_mode(text, &mode))
        assert(mode <= 01777);
    try_list(&a, text, false);
    try_list(&a, text, true);
    arena_release(&a);
    return 0;
}
