/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/resume.h"

#include <stdio.h>

#include "import/document.h"

enum { OF_BYTES = 17 };

void resume_open(struct resume *r, const char *path, uint64_t of)
{
    bookmark_open(&r->state, path);
    r->of = of;
}

static struct str of_text(uint64_t of, char out[OF_BYTES])
{
    (void)snprintf(out, OF_BYTES, "%016llx", (unsigned long long)of);
    return str_of(out);
}

void resume_reached(struct resume *r, const struct position *position, uint64_t number)
{
    char of[OF_BYTES];
    struct arena a;
    arena_init(&a, 4 * BOOKMARK_BYTES_MAX);
    struct buf text = buf_in(&a);
    struct json_writer w = json_writer_of(&text);
    json_open(&w, '{');
    item_put_text(&w, "of", of_text(r->of, of));
    if (position != NULL) {
        item_put_u64(&w, "number", number);
        item_put_text(&w, "kind", str_of(ITEM_KIND_NAMES[position->kind]));
        item_put_text(&w, "container", position->container);
        item_put_text(&w, "name", position->name);
    }
    json_close(&w, '}');
    bookmark_set(&r->state, buf_str(&text));
    arena_release(&a);
}

/* NULL: the file belongs to another transfer, or does not exist. */
static const struct node *read_state(const struct resume *r, struct arena *a)
{
    char of[OF_BYTES];
    char *text = arena_bytes(a, BOOKMARK_BYTES_MAX);
    size_t n = bookmark_read(&r->state, text, BOOKMARK_BYTES_MAX);
    const struct node *old = n == 0 ? NULL : document_parse(a, (struct str){text, n});
    return old != NULL && str_eq(document_text(old, "of"), of_text(r->of, of)) ? old : NULL;
}

bool resume_is_same(const struct resume *r)
{
    struct arena a;
    arena_init(&a, ITEM_ARENA_BYTES_MAX);
    bool same = read_state(r, &a) != NULL;
    arena_release(&a);
    return same;
}

/* ---- what was made is still there ---- */

/* The request that asks a server whether it has the container, queue, table or share. */
static const struct {
    enum remote_service service;
    const char *name, *value; /* of the query; NULL: there is no such request for this kind */
} LOOKS[ITEM_KINDS] = {
    [ITEM_CONTAINER] = {REMOTE_BLOB, "restype", "container"},
    [ITEM_BLOB] = {REMOTE_BLOB, "restype", "container"},
    [ITEM_QUEUE] = {REMOTE_QUEUE, "comp", "metadata"},
    [ITEM_MESSAGES] = {REMOTE_QUEUE, "comp", "metadata"},
    [ITEM_TABLE] = {REMOTE_TABLE, "comp", "acl"},
    [ITEM_ENTITIES] = {REMOTE_TABLE, "comp", "acl"},
    [ITEM_SHARE] = {REMOTE_FILE, "restype", "share"},
    [ITEM_FILE] = {REMOTE_FILE, "restype", "share"},
    [ITEM_DIRECTORY] = {REMOTE_FILE, "restype", "share"},
};

/* A server that was emptied meanwhile has the same address as before. */
static bool is_there(struct arena *a, struct remote *target, const struct position *position)
{
    struct session session;
    if (LOOKS[position->kind].name == NULL)
        return position->kind == ITEM_ACCOUNT; /* nothing was created yet; otherwise start again */
    session_init(&session, target);
    struct remote_call c =
        remote_call_of(LOOKS[position->kind].service, "GET", position->container, STR_NONE);
    remote_query(&c, LOOKS[position->kind].name, str_of(LOOKS[position->kind].value));
    struct err error = session_ask(&session, a, &c);
    session_end(&session);
    return err_is(error) || c.answer.status != 404; /* other troubles will be met again */
}

bool resume_find(const struct resume *r, struct arena *a, struct remote *target,
                 struct position *out, uint64_t *number)
{
    const struct node *old = read_state(r, a);
    struct str kind = document_text(old, "kind");
    if (old == NULL || !document_u64(old, "number", number))
        return false;
    for (unsigned i = 0; i < ITEM_KINDS; i++)
        if (str_eq(kind, str_of(ITEM_KIND_NAMES[i]))) {
            *out = (struct position){(enum item_kind)i, document_text(old, "container"),
                                     document_text(old, "name")};
            return target == NULL || is_there(a, target, out);
        }
    return false;
}

void resume_close(struct resume *r, bool done)
{
    if (done)
        bookmark_remove(&r->state);
    bookmark_close(&r->state);
}
