/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/tags/tags.h"

#include <assert.h>

bool blob_tag_text(struct str text)
{
    static const struct str OTHERS = STR_INIT(" +-./:=_");
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (!ascii_alpha(c) && !ascii_digit(c) && str_find(OTHERS, c, 0) == OTHERS.n)
            return false;
    }
    return true;
}

static struct err check_tag(const struct pair *tag)
{
    if (tag->name.n == 0)
        return err_new(ERR_EMPTY_TAG_NAME);
    if (tag->name.n > BLOB_TAG_NAME_MAX || tag->value.n > BLOB_TAG_VALUE_MAX)
        return err_new(ERR_TAGS_TOO_LARGE);
    return blob_tag_text(tag->name) && blob_tag_text(tag->value) ? OK : err_new(ERR_INVALID_TAG);
}

struct err blob_tags_check(const struct pairs *tags)
{
    if (tags->count > BLOB_TAGS_MAX)
        return err_new(ERR_TAGS_TOO_LARGE);
    for (size_t i = 0; i < tags->count; i++) {
        TRY(check_tag(&tags->items[i]));
        for (size_t k = 0; k < i; k++)
            if (str_eq(tags->items[i].name, tags->items[k].name))
                return err_new(ERR_DUPLICATE_TAG_NAMES);
    }
    return OK;
}

struct err blob_set_blob_tags(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    const struct blob_tags_args *args = arg;
    struct blob blob;
    TRY(blob_open(t, &args->request, BLOB_CHANGE, &blob));
    blob.head.tags = args->tags;
    return blob_save_unchanged(t, &blob);
}

struct err blob_get_blob_tags(struct txn *t, void *arg)
{
    struct blob_tags_args *args = arg;
    struct blob blob;
    TRY(blob_open(t, &args->request, BLOB_READ, &blob));
    args->tags = arena_copy(args->request.arena, blob.head.tags);
    return OK;
}
