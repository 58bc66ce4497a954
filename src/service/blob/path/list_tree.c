/* SPDX-License-Identifier: Apache-2.0 */
/* Directory `a` sorts at "a", its entries at "a/". Siblings such as "a-b" may sort between the two,
 * as '-' comes before '/'. So a directory that was found waits on a stack until the cursor has
 * passed its slash. Any name found meanwhile begins with the waiting directory's name, so the
 * directories it adds to the stack are entered first. */
#include "service/blob/path/list_tree.h"

#include "service/blob/path/path_trash.h"
#include "service/common/name.h"

/* Earlier versions moved a directory to any depth. Its listing must not exhaust the stack. */
enum { LEVELS_MAX = 10 * TREE_DEPTH_MAX };

struct waiting {
    struct str leaf; /* its last name, in key form */
    struct blob_path path;
};

struct tree_listing {
    struct txn *txn;
    const struct container *container;
    struct blob_list_args *args;
    struct buf path; /* the path of the listed directory, with a slash at its end, in key form */
    struct str end;  /* in key form; absent: none */
    unsigned levels; /* of directories that are being listed, each in the one before */
    size_t found;
    size_t looked_at, look_max;
    bool full; /* args->next is set */
};

/* One directory. */
struct level {
    struct tree_listing *l;
    struct cursor *cursor;
    size_t head_bytes; /* of a key before the last name */
    struct waiting *stack;
    size_t count, capacity;
};

static struct err list_directory(struct tree_listing *l, const struct blob_path *directory,
                                 struct str prefix, struct str from);

/* ---- what comes out ---- */

/* Ends the page before this position. */
static void end_page(struct tree_listing *l, struct str leaf, bool inside)
{
    struct buf next = buf_in(l->args->arena);
    buf_put(&next, buf_str(&l->path));
    buf_put(&next, leaf);
    if (inside)
        buf_putc(&next, '/');
    l->args->next = buf_str(&next);
    l->full = true;
}

static bool is_past_end(struct tree_listing *l, struct str leaf, bool inside)
{
    if (!str_given(l->end))
        return false;
    size_t base = l->path.n;
    buf_put(&l->path, leaf);
    if (inside)
        buf_putc(&l->path, '/');
    bool past = str_cmp(buf_str(&l->path), l->end) >= 0;
    l->path.n = base;
    return past;
}

/* Passes one item to the caller, or ends the page. */
static void emit(struct tree_listing *l, struct str leaf, struct blob_list_item *item)
{
    struct blob_list_args *args = l->args;
    if (l->found == args->max) {
        end_page(l, leaf, item == NULL);
        return;
    }
    size_t base = l->path.n;
    l->found++;
    buf_put(&l->path, leaf);
    if (item == NULL) {
        buf_putc(&l->path, '/');
        args->prefix_found(args->sink, name_from_key(args->arena, buf_str(&l->path)));
    } else {
        item->name = name_from_key(args->arena, buf_str(&l->path));
        args->item(args->sink, item);
    }
    l->path.n = base;
}

static bool shows(const struct blob_list_args *args, bool directory)
{
    return args->only == LIST_ALL || args->only == (directory ? LIST_DIRECTORIES : LIST_FILES);
}

/* Lists a directory, or emits the one prefix that represents it. `from`: where in it to start. */
static struct err enter(struct tree_listing *l, const struct waiting *w, struct str from)
{
    bool groups = l->args->delimiter.n > 0;
    if (l->args->entries_only)
        return OK;
    if (is_past_end(l, w->leaf, true)) {
        l->full = true;
        return OK;
    }
    if (groups) {
        if (shows(l->args, true))
            emit(l, w->leaf, NULL);
        return OK;
    }
    size_t base = l->path.n;
    buf_put(&l->path, w->leaf);
    buf_putc(&l->path, '/');
    struct err e = list_directory(l, &w->path, STR(""), from);
    l->path.n = base;
    return e;
}

/* ---- one directory ---- */

static void push(struct level *v, struct str leaf, const struct blob_path *path)
{
    struct arena *a = txn_arena(v->l->txn);
    if (v->count == v->capacity) {
        size_t capacity = v->capacity == 0 ? 4 : v->capacity * 2;
        struct waiting *more = ARENA_ARRAY(a, struct waiting, capacity);
        if (v->count > 0)
            memcpy(more, v->stack, v->count * sizeof *more);
        v->stack = more;
        v->capacity = capacity;
    }
    struct waiting *w = &v->stack[v->count++];
    w->leaf = arena_copy(a, leaf);
    w->path = *path;
    w->path.owner = arena_copy(a, path->owner);
    w->path.group = arena_copy(a, path->group);
    w->path.acl = arena_copy(a, path->acl);
}

/* Returns true if "waiting/" sorts before that name. */
static bool is_due(struct str waiting, struct str leaf)
{
    if (!str_starts(leaf, waiting))
        return true;
    return leaf.n > waiting.n && (unsigned char)leaf.p[waiting.n] > '/';
}

/* Enters the waiting directories that sort before the name; absent: all of them. */
static struct err enter_due(struct level *v, struct str leaf)
{
    while (v->count > 0 && !v->l->full) {
        const struct waiting *w = &v->stack[v->count - 1];
        if (str_given(leaf) && !is_due(w->leaf, leaf))
            return OK;
        v->count--;
        TRY(enter(v->l, w, STR("")));
    }
    return OK;
}

static struct err take_head(struct level *v, struct str leaf, struct blob_list_item *item)
{
    struct tree_listing *l = v->l;
    struct blob_list_args *args = l->args;
    TRY(blob_head_decode(v->cursor->value, &item->head));
    blob_head_settle(&item->head, txn_now(l->txn));
    bool directory = item->head.path.directory;
    bool own = !directory || args->delimiter.n == 0; /* else its prefix represents it */
    if (own && shows(args, directory) && list_is_wanted(args, item, txn_now(l->txn)))
        emit(l, leaf, item);
    if (directory && !l->full && !args->entries_only)
        push(v, leaf, &item->head.path);
    return OK;
}

static struct err take_row(struct level *v)
{
    struct tree_listing *l = v->l;
    struct blob_list_item item = {0};
    struct str key = v->cursor->key, name;
    if (!blob_key_parse_head(key, &name, &item.at))
        return err_new(ERR_CORRUPT);
    struct str leaf = str_from(str_head(key, blob_key_to_name(key).n), v->head_bytes);
    TRY(enter_due(v, leaf));
    if (!l->full && is_past_end(l, leaf, false))
        l->full = true;
    if (!l->full && l->looked_at++ >= l->look_max)
        end_page(l, leaf, false);
    if (l->full)
        return OK;
    if (item.at.item != BLOB_BASE && !list_wants_kind(l->args, &item.at)) {
        struct arena *a = txn_arena(l->txn);
        struct str to_name = arena_copy(a, blob_key_to_name(key));
        if (!list_wants_items(l->args))
            return cursor_seek(v->cursor,
                               blob_key_of_items(a, to_name, &(struct blob_at){.item = BLOB_BASE}));
        return cursor_skip(v->cursor,
                           blob_key_of_items_of(a, to_name, item.at.item, item.at.deleted));
    }
    if (!container_hides(l->container, key))
        TRY(take_head(v, leaf, &item));
    return l->full ? OK : cursor_next(v->cursor);
}

/* ---- beginning in the middle ---- */

static struct err find_entry(struct tree_listing *l, uint64_t directory, struct str leaf,
                             struct blob_head *head, bool *found)
{
    static const struct blob_at base = {.item = BLOB_BASE};
    struct arena *a = txn_arena(l->txn);
    struct str row;
    *found = false;
    if (leaf.n > BLOB_NAME_KEY_MAX)
        return OK;
    struct str name = path_tree_entry_name(a, directory, name_from_key(a, leaf));
    struct str key = blob_key_head(a, l->container->incarnation, name, &base);
    TRY(txn_get(l->txn, key, &row));
    *found = str_given(row) && !container_hides(l->container, key);
    return *found ? blob_head_decode(row, head) : OK;
}

/* Directories that sort before the start themselves, but whose slash does not. */
static struct err push_passed(struct level *v, uint64_t directory, struct str leaf)
{
    for (size_t i = 1; i < leaf.n; i++) {
        struct blob_head head;
        bool found;
        if ((unsigned char)leaf.p[i] >= '/')
            continue;
        TRY(find_entry(v->l, directory, str_head(leaf, i), &head, &found));
        if (found && head.path.directory)
            push(v, str_head(leaf, i), &head.path);
    }
    return OK;
}

/* Seeks to `from`, and lists the rest of the directory that contains it. */
static struct err begin_at(struct level *v, uint64_t directory, struct str keys, struct str from)
{
    struct tree_listing *l = v->l;
    struct str rest = from;
    struct str leaf = str_cut(&rest, '/');
    struct blob_head head;
    bool found = false;
    /* A client may make a position up. No name is longer, so the rest of it changes nothing. */
    leaf = str_head(leaf, leaf.n < BLOB_NAME_KEY_MAX + 1 ? leaf.n : BLOB_NAME_KEY_MAX + 1);
    if (!l->args->entries_only)
        TRY(push_passed(v, directory, leaf));
    struct buf key = buf_in(txn_arena(l->txn));
    buf_put(&key, str_head(keys, v->head_bytes));
    buf_put(&key, leaf);
    if (str_given(rest))
        buf_putc(&key, '/');
    if (str_cmp(buf_str(&key), keys) > 0)
        TRY(cursor_seek(v->cursor, buf_str(&key)));
    if (str_given(rest))
        TRY(find_entry(l, directory, leaf, &head, &found));
    if (!found || !head.path.directory)
        return OK;
    struct waiting w = {arena_copy(txn_arena(l->txn), leaf), head.path};
    return enter(l, &w, rest);
}

static struct err walk(struct level *v)
{
    while (!v->l->full && v->cursor->valid)
        TRY(take_row(v));
    return v->l->full ? OK : enter_due(v, STR_NONE);
}

static struct err pass_over_closed(const struct tree_listing *l)
{
    struct blob_list_args *args = l->args;
    if (args->closed == NULL)
        return err_new(ERR_AUTHORIZATION_PERMISSION_MISMATCH);
    struct str path = buf_str(&l->path);
    args->closed(args->sink,
                 name_from_key(args->arena, str_head(path, path.n > 0 ? path.n - 1 : 0)));
    return OK;
}

/* Its entries with the prefix, from a position on. */
static struct err list_directory(struct tree_listing *l, const struct blob_path *directory,
                                 struct str prefix, struct str from)
{
    struct arena *a = txn_arena(l->txn);
    struct level v = {.l = l};
    if (!acl_allows(directory, l->args->caller, ACL_READ | ACL_EXECUTE))
        return pass_over_closed(l);
    if (l->levels == LEVELS_MAX)
        return err_new(ERR_PATH_IS_TOO_DEEP);
    struct str in = path_tree_entry_name(a, directory->id, STR(""));
    struct buf keys = buf_in(a);
    buf_put(&keys, blob_key_heads(a, l->container->incarnation, in));
    v.head_bytes = keys.n;
    buf_put(&keys, prefix);
    TRY(cursor_open(l->txn, buf_str(&keys), &v.cursor));
    struct err e = OK;
    l->levels++;
    if (from.n > 0)
        e = begin_at(&v, directory->id, buf_str(&keys), from);
    if (!err_is(e))
        e = walk(&v);
    l->levels--;
    cursor_close(v.cursor);
    return e;
}

/* ---- the whole ---- */

/* The directory that all names with the prefix are in. */
static struct err find_directory(struct tree_listing *l, struct str path, struct blob_path *out,
                                 bool *found)
{
    struct tree_request request = {.caller = l->args->caller};
    struct arena *a = txn_arena(l->txn);
    struct tree_way way;
    struct str row;
    struct blob_head head;
    *found = false;
    TRY(path_tree_resolve(l->txn, l->container, &request, path, false, &way));
    if (!str_given(way.name))
        return OK;
    struct str key =
        blob_key_head(a, l->container->incarnation, way.name, &(struct blob_at){.item = BLOB_BASE});
    TRY(txn_get(l->txn, key, &row));
    if (!str_given(row) || container_hides(l->container, key))
        return OK;
    TRY(blob_head_decode(row, &head));
    *found = head.path.directory;
    *out = head.path;
    return OK;
}

static size_t last_slash(struct str s)
{
    while (s.n > 0 && s.p[s.n - 1] != '/')
        s.n--;
    return s.n;
}

/* The start: the marker, or startFrom if that is later. In key form. */
static struct str beginning(struct tree_listing *l)
{
    struct str from = str_given(l->args->marker) ? l->args->marker : STR("");
    if (!str_given(l->args->start_from))
        return from;
    struct str start = name_to_key(txn_arena(l->txn), l->args->start_from);
    return str_cmp(start, from) > 0 ? start : from;
}

/* Returns true if no path begins with it: it has a name that is empty, or too long. */
static bool is_no_prefix(struct str prefix)
{
    size_t name = 0;
    for (size_t i = 0; i < prefix.n; i++) {
        bool slash = prefix.p[i] == '/';
        if (slash && name == 0)
            return true;
        name = slash ? 0 : name + 1;
        if (name > BLOB_NAME_KEY_MAX)
            return true;
    }
    return false;
}

static struct err list_under(struct tree_listing *l, struct str prefix, struct str from)
{
    size_t cut = last_slash(prefix);
    struct blob_path directory;
    bool found = false;
    if (!is_no_prefix(prefix))
        TRY(find_directory(l, name_from_key(txn_arena(l->txn), str_head(prefix, cut)), &directory,
                           &found));
    if (!found)
        return l->args->directory_exists ? err_new(ERR_BLOB_NOT_FOUND) : OK;
    buf_put(&l->path, str_head(prefix, cut));
    if (str_starts(from, str_head(prefix, cut)))
        from = str_from(from, cut);
    else if (str_cmp(from, str_head(prefix, cut)) > 0)
        return OK;
    else
        from = STR("");
    return list_directory(l, &directory, str_from(prefix, cut), from);
}

struct err blob_list_tree(struct txn *t, const struct container *container,
                          struct blob_list_args *args)
{
    struct arena *a = txn_arena(t);
    struct tree_listing l = {.txn = t, .container = container, .args = args, .path = buf_in(a)};
    if (args->entries_only)
        args->delimiter = STR_NONE;
    l.look_max = args->look_max > 0 ? args->look_max : LIST_SCAN_MAX;
    if (args->delimiter.n > 0 && !str_eq(args->delimiter, STR("/")))
        return err_new(ERR_INVALID_QUERY_PARAMETER_VALUE);
    if (str_given(args->end_before))
        l.end = name_to_key(a, args->end_before);
    args->next = STR_NONE;
    args->begin(args->sink);
    if (args->marker.n > 0)
        txn_hint(t, HINT_ONCE);
    if (args->only == LIST_DELETED)
        return path_list_deleted(t, container, args);
    return list_under(&l, name_to_key(a, str_given(args->prefix) ? args->prefix : STR("")),
                      beginning(&l));
}
