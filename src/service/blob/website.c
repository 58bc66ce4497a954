/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/website.h"

#include "service/blob/protect.h"
#include "service/common/name.h"
#include "service/common/service_properties.h"

/* Returns true if there is a visible blob of that name. */
static struct err is_there(struct txn *t, struct str name, bool *out)
{
    struct blob_request request = {.arena = txn_arena(t), .name = name};
    struct blob blob;
    *out = false;
    if (err_is(name_check_blob(name)))
        return OK;
    struct err e = blob_load(t, &request, &blob);
    if (e.code == ERR_CONTAINER_NOT_FOUND)
        return OK;
    *out = !err_is(e) && blob.exists && !blob_is_expired(&blob.head, txn_now(t));
    return e;
}

/* The index document of a folder. A default path, if set, is the same for all folders. */
static struct str index_of(struct txn *t, const struct service_website *site, struct str folder)
{
    if (site->default_index_path.n > 0)
        return site->default_index_path;
    if (site->index_document.n == 0)
        return STR_NONE;
    struct buf name = buf_in(txn_arena(t));
    buf_put(&name, folder);
    if (folder.n > 0 && folder.p[folder.n - 1] != '/')
        buf_putc(&name, '/');
    buf_put(&name, site->index_document);
    return buf_str(&name);
}

/* The first existing candidate; absent if there is none. */
static struct err choose(struct txn *t, const struct service_website *site,
                         struct blob_website_args *args, struct str *out)
{
    struct str path = args->path;
    bool folder = path.n == 0 || path.p[path.n - 1] == '/';
    const struct str candidates[] = {folder ? STR_NONE : path, index_of(t, site, path),
                                     site->error_document.n > 0 ? site->error_document : STR_NONE};
    *out = STR_NONE;
    for (size_t i = 0; i < 3; i++) {
        bool there = false;
        if (str_given(candidates[i]))
            TRY(is_there(t, candidates[i], &there));
        if (!there)
            continue;
        args->missing = i == 2;
        *out = arena_copy(args->get->request.arena, candidates[i]);
        return OK;
    }
    return OK;
}

struct err blob_get_website_document(struct txn *t, void *arg)
{
    struct blob_website_args *args = arg;
    struct blob_get_args *get = args->get;
    struct service_properties properties;
    struct str name;
    TRY(service_properties_peek(t, args->settings, &properties));
    if (!properties.website.enabled)
        return err_new(ERR_WEB_CONTENT_NOT_FOUND);
    TRY(choose(t, &properties.website, args, &name));
    if (!str_given(name))
        return err_new(ERR_WEB_CONTENT_NOT_FOUND);
    get->request.name = name;
    if (args->missing) {
        get->request.conditions = (struct conditions){.version = get->request.conditions.version};
        get->has_range = false;
    }
    return blob_get_blob(t, get);
}
