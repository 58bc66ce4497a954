/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/short_name.h"

enum {
    BASE_BYTES = 8,
    HASH_BYTES = 6,
    EXTENSION_BYTES = 3,
};

static bool is_letter(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool is_plain(char c)
{
    return is_letter(c) || (c != 0 && strchr("$%'-_@~`!(){}^#&", c) != NULL);
}

static char upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

/* Returns the offset of the extension, after the last dot; the end if there is none. */
static size_t extension_of(struct str name)
{
    for (size_t i = name.n; i > 1; i--)
        if (name.p[i - 1] == '.')
            return i;
    return name.n;
}

static bool all_plain(struct str part)
{
    for (size_t i = 0; i < part.n; i++)
        if (!is_plain(part.p[i]))
            return false;
    return true;
}

bool short_name_fits(struct str name)
{
    if (name.n > SHORT_NAME_BYTES_MAX)
        return false;
    size_t at = extension_of(name);
    bool dot = at < name.n || (at > 0 && name.p[at - 1] == '.');
    struct str base = str_head(name, dot ? at - 1 : at), extension = str_from(name, at);
    return base.n > 0 && base.n <= BASE_BYTES && extension.n <= EXTENSION_BYTES &&
           (!dot || extension.n > 0) && all_plain(base) && all_plain(extension);
}

/* FNV-1a, mixed at the end so that all of its bits count. */
static uint64_t hash_of(struct str key)
{
    uint64_t h = 0xCBF29CE484222325ULL;
    for (size_t i = 0; i < key.n; i++)
        h = (h ^ (unsigned char)key.p[i]) * 0x100000001B3ULL;
    h ^= h >> 33;
    h *= 0xFF51AFD7ED558CCDULL;
    return h ^ h >> 33;
}

struct str short_name_of(struct str key, char out[SHORT_NAME_BYTES_MAX])
{
    static const char DIGITS[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    uint64_t hash = hash_of(key);
    size_t n = 0;
    out[n++] = key.n > 0 && is_letter(key.p[0]) ? upper(key.p[0]) : '_';
    out[n++] = '~';
    for (; n < BASE_BYTES; hash /= sizeof DIGITS - 1)
        out[n++] = DIGITS[hash % (sizeof DIGITS - 1)];
    size_t dot = n;
    for (size_t i = extension_of(key); i < key.n && n < SHORT_NAME_BYTES_MAX; i++) {
        if (!is_plain(key.p[i]))
            continue;
        if (n == dot)
            out[n++] = '.';
        out[n++] = upper(key.p[i]);
    }
    return (struct str){out, n};
}

bool short_name_like(struct str name)
{
    if (name.n < BASE_BYTES || name.n > SHORT_NAME_BYTES_MAX || name.p[1] != '~' ||
        !(is_letter(name.p[0]) || name.p[0] == '_'))
        return false;
    for (size_t i = BASE_BYTES - HASH_BYTES; i < BASE_BYTES; i++)
        if (!is_letter(name.p[i]))
            return false;
    return name.n == BASE_BYTES || (name.n > BASE_BYTES + 1 && name.p[BASE_BYTES] == '.' &&
                                    all_plain(str_from(name, BASE_BYTES + 1)));
}

bool short_name_in_path(struct str path)
{
    if (memchr(path.p, '~', path.n) == NULL)
        return false;
    while (str_given(path))
        if (short_name_like(str_cut(&path, '/')))
            return true;
    return false;
}

struct str short_name_prefix(struct str name, char out[1])
{
    out[0] = name.p[0] >= 'A' && name.p[0] <= 'Z' ? (char)(name.p[0] - 'A' + 'a') : name.p[0];
    return (struct str){out, is_letter(name.p[0]) ? 1 : 0};
}

bool short_name_is_of(struct str short_name, struct str key)
{
    char bytes[SHORT_NAME_BYTES_MAX];
    return !short_name_fits(key) && str_ieq(short_name_of(key, bytes), short_name);
}

/* ---- finding ---- */

struct scan {
    struct str wanted;
    unsigned looked_at;
    struct arena *arena;
    struct str name; /* out; absent: there is none */
};

static struct err look_at(void *arg, const struct dirtree_entry *entry, bool *stop)
{
    struct scan *s = arg;
    if (short_name_is_of(s->wanted, entry->key))
        s->name = arena_copy(s->arena, entry->name);
    *stop = str_given(s->name) || ++s->looked_at >= SHORT_NAME_SCAN_MAX;
    return OK;
}

/* The entry that a name of the path refers to. */
static struct err find_child(struct file_scope *s, uint64_t directory, struct str *name,
                             struct file_found *out)
{
    char first[1];
    TRY(file_find_child(s, directory, *name, out));
    if (out->exists || !short_name_like(*name))
        return OK;
    struct scan scan = {.wanted = *name, .arena = txn_arena(s->txn)};
    TRY(dirtree_list(&s->tree, directory, short_name_prefix(*name, first), STR_NONE, look_at,
                     &scan));
    if (!str_given(scan.name))
        return OK;
    *name = scan.name;
    return file_find_child(s, directory, *name, out);
}

struct err file_long_path(struct txn *t, void *arg)
{
    struct file_long_path_args *args = arg;
    struct file_scope s;
    struct file_found found = {.exists = true, .id = DIRTREE_ROOT, .node.kind = NODE_DIRECTORY};
    struct buf b = buf_in(args->at.arena);
    struct str rest;
    TRY(file_scope_open_incarnation(t, args->at.incarnation, args->at.snapshot, &s));
    TRY(file_check_path(&s, txn_arena(t), args->path, true, &rest));
    while (str_given(rest)) {
        struct str name = str_cut(&rest, '/');
        if (!found.exists || found.node.kind != NODE_DIRECTORY)
            return err_new(ERR_PARENT_NOT_FOUND);
        TRY(find_child(&s, found.id, &name, &found));
        if (b.n > 0)
            buf_putc(&b, '/');
        buf_put(&b, name);
    }
    args->long_path = buf_str(&b);
    args->exists = found.exists;
    return OK;
}
