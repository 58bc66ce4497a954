/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/path/acl.h"

#include "core/wire.h"

enum { BITS_ALL = 7 };

struct str acl_owner(const struct blob_path *path)
{
    return str_given(path->owner) ? path->owner : ACL_SUPERUSER;
}

struct str acl_group(const struct blob_path *path)
{
    return str_given(path->group) ? path->group : ACL_SUPERUSER;
}

/* ---- rows ---- */

static void encode_entry(struct buf *b, const struct acl_entry *e)
{
    buf_put_u8(b, (uint8_t)((unsigned)e->is_default << 7 | (unsigned)e->kind << 4 | e->bits));
    buf_put_bytes(b, e->id);
}

static bool decode_entry(struct reader *r, struct acl_entry *out)
{
    if (r->n == 0)
        return false;
    uint8_t head = read_u8(r);
    *out = (struct acl_entry){.is_default = (head & 0x80) != 0,
                              .kind = (enum acl_kind)((head >> 4) & 3),
                              .bits = head & BITS_ALL,
                              .id = read_bytes(r)};
    return reader_ok(r);
}

bool acl_is_sound(struct str encoded)
{
    struct reader r = reader_of(encoded);
    struct acl_entry e;
    while (decode_entry(&r, &e))
        ;
    return reader_ok(&r);
}

static bool is_base(const struct acl_entry *e)
{
    return !e->is_default && e->id.n == 0 && e->kind != ACL_MASK;
}

/* The positions of the base entries' bits in a mode. */
static unsigned shift_of(enum acl_kind kind)
{
    return kind == ACL_USER ? 6 : kind == ACL_GROUP ? 3 : 0;
}

static void add(struct path_acl *list, const struct acl_entry *e)
{
    if (list->count < sizeof list->items / sizeof list->items[0])
        list->items[list->count++] = *e;
}

/* All entries, the base ones too. */
static void entries_of(const struct blob_path *path, struct path_acl *out)
{
    static const enum acl_kind BASE[] = {ACL_USER, ACL_GROUP, ACL_OTHER};
    struct reader r = reader_of(path->acl);
    struct acl_entry e;
    out->count = 0;
    for (size_t i = 0; i < sizeof BASE / sizeof BASE[0]; i++)
        add(out, &(struct acl_entry){.kind = BASE[i],
                                     .id = STR(""),
                                     .bits = path->mode >> shift_of(BASE[i]) & BITS_ALL});
    while (decode_entry(&r, &e))
        add(out, &e);
}

static struct acl_entry *find(struct path_acl *list, const struct acl_entry *like)
{
    for (size_t i = 0; i < list->count; i++) {
        struct acl_entry *e = &list->items[i];
        if (e->is_default == like->is_default && e->kind == like->kind && str_eq(e->id, like->id))
            return e;
    }
    return NULL;
}

static struct acl_entry *find_mask(struct path_acl *list, bool is_default)
{
    return find(list,
                &(struct acl_entry){.is_default = is_default, .kind = ACL_MASK, .id = STR("")});
}

static void store(struct arena *a, const struct path_acl *list, struct blob_path *path)
{
    struct buf b = buf_in(a);
    unsigned mode = path->mode & ACL_STICKY;
    for (size_t i = 0; i < list->count; i++) {
        const struct acl_entry *e = &list->items[i];
        if (is_base(e))
            mode |= e->bits << shift_of(e->kind);
        else
            encode_entry(&b, e);
    }
    path->mode = mode;
    path->acl = b.n == 0 ? STR_NONE : buf_str(&b);
}

/* ---- text ---- */

static bool parse_bits(struct str text, unsigned *out)
{
    static const char LETTERS[] = "rwx";
    *out = 0;
    if (text.n != 3)
        return false;
    for (unsigned i = 0; i < 3; i++) {
        if (text.p[i] == LETTERS[i])
            *out |= (unsigned)ACL_READ >> i;
        else if (text.p[i] != '-')
            return false;
    }
    return true;
}

static bool parse_kind(struct str text, enum acl_kind *out)
{
    static const struct str NAMES[] = {STR_INIT("user"), STR_INIT("group"), STR_INIT("mask"),
                                       STR_INIT("other")};
    for (unsigned i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        *out = (enum acl_kind)i;
        if (str_ieq(text, NAMES[i]))
            return true;
    }
    return false;
}

bool acl_is_id(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if (c < ' ' || c == 0x7F || c == ',' || c == ':')
            return false;
    }
    return text.n > 0 && text.n <= ACL_ID_MAX && str_is_utf8(text);
}

static bool parse_entry(struct str text, bool removes, struct acl_entry *out)
{
    struct str rest = text;
    struct str word = str_cut(&rest, ':');
    *out = (struct acl_entry){.is_default = str_ieq(word, STR("default")), .id = STR("")};
    if (out->is_default)
        word = str_cut(&rest, ':');
    if (!parse_kind(word, &out->kind))
        return false;
    struct str id = str_cut(&rest, ':');
    if (str_given(id))
        out->id = id;
    bool named = out->id.n > 0;
    if (named && (out->kind > ACL_GROUP || !acl_is_id(out->id)))
        return false;
    if (removes)
        return !str_given(rest) || rest.n == 0;
    return str_given(rest) && parse_bits(rest, &out->bits);
}

static size_t count_of(const struct path_acl *list, bool is_default)
{
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        count += list->items[i].is_default == is_default;
    return count;
}

static bool is_full(const struct path_acl *list, bool is_default)
{
    return count_of(list, is_default) >= ACL_ENTRIES_MAX;
}

struct err acl_parse(struct str text, bool removes, struct path_acl *out)
{
    out->count = 0;
    while (str_given(text)) {
        struct acl_entry e;
        if (!parse_entry(str_trim(str_cut(&text, ',')), removes, &e) || find(out, &e) != NULL ||
            is_full(out, e.is_default))
            return err_new(ERR_INVALID_INPUT);
        add(out, &e);
    }
    return OK;
}

static bool parse_octal(struct str text, unsigned *out)
{
    *out = 0;
    if (text.n < 3 || text.n > 4)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '7')
            return false;
        *out = *out << 3 | (unsigned)(text.p[i] - '0');
    }
    return *out <= (ACL_STICKY | 0777);
}

bool acl_parse_mode(struct str text, unsigned *out)
{
    unsigned owner, group, other;
    if (parse_octal(text, out))
        return true;
    if (text.n == 10 && text.p[9] == '+') /* as it is shown for an extended list */
        text.n--;
    if (text.n != 9)
        return false;
    char last[3] = {text.p[6], text.p[7], text.p[8]};
    bool sticky = last[2] == 't' || last[2] == 'T';
    if (sticky)
        last[2] = last[2] == 't' ? 'x' : '-';
    if (!parse_bits(str_head(text, 3), &owner) ||
        !parse_bits(str_head(str_from(text, 3), 3), &group) ||
        !parse_bits((struct str){last, sizeof last}, &other))
        return false;
    *out = (sticky ? ACL_STICKY : 0) | owner << 6 | group << 3 | other;
    return true;
}

static void put_bits(struct buf *b, unsigned bits)
{
    buf_putc(b, (bits & ACL_READ) != 0 ? 'r' : '-');
    buf_putc(b, (bits & ACL_WRITE) != 0 ? 'w' : '-');
    buf_putc(b, (bits & ACL_EXECUTE) != 0 ? 'x' : '-');
}

static void put_entry(struct buf *b, const struct acl_entry *e)
{
    static const struct str NAMES[] = {STR_INIT("user"), STR_INIT("group"), STR_INIT("mask"),
                                       STR_INIT("other")};
    if (b->n > 0)
        buf_putc(b, ',');
    if (e->is_default)
        buf_put(b, STR("default:"));
    buf_put(b, NAMES[e->kind]);
    buf_putc(b, ':');
    buf_put(b, e->id);
    buf_putc(b, ':');
    put_bits(b, e->bits);
}

/* user::, named users, group::, named groups, mask::, other::; then the default entries. */
void acl_put_text(struct buf *b, const struct blob_path *path)
{
    struct path_acl all;
    struct buf text = buf_in(b->arena);
    entries_of(path, &all);
    for (unsigned round = 0; round < 2 * (ACL_OTHER + 1) * 2; round++) {
        bool is_default = round >= (ACL_OTHER + 1) * 2;
        enum acl_kind kind = (enum acl_kind)(round / 2 % (ACL_OTHER + 1));
        for (size_t i = 0; i < all.count; i++) {
            const struct acl_entry *e = &all.items[i];
            if (e->is_default == is_default && e->kind == kind && (e->id.n > 0) == (round % 2 != 0))
                put_entry(&text, e);
        }
    }
    buf_put(b, buf_str(&text));
}

void acl_put_mode(struct buf *b, const struct blob_path *path)
{
    unsigned group = path->mode >> 3 & BITS_ALL, other = path->mode & BITS_ALL;
    bool sticky = (path->mode & ACL_STICKY) != 0;
    if (str_given(path->acl)) {
        struct path_acl all;
        entries_of(path, &all);
        const struct acl_entry *mask = find_mask(&all, false);
        group = mask != NULL ? mask->bits : group;
    }
    put_bits(b, path->mode >> 6 & BITS_ALL);
    put_bits(b, group);
    put_bits(b, other);
    if (sticky)
        b->p[b->n - 1] = (other & ACL_EXECUTE) != 0 ? 't' : 'T';
    if (str_given(path->acl))
        buf_putc(b, '+');
}

/* ---- changing ---- */

static bool has_named(const struct path_acl *list, bool is_default)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].is_default == is_default && list->items[i].id.n > 0)
            return true;
    return false;
}

/* Named entries need a mask. If the request gives none, the mask is the union of all entries that
 * it limits, as setfacl computes it. */
static void complete_mask(struct path_acl *list, const struct acl_request *request, bool is_default)
{
    struct acl_entry mask = {.is_default = is_default, .kind = ACL_MASK, .id = STR("")};
    bool changes = false, given = false;
    for (size_t i = 0; i < request->entries->count; i++) {
        const struct acl_entry *e = &request->entries->items[i];
        changes = changes || e->is_default == is_default;
        given = given || (e->is_default == is_default && e->kind == ACL_MASK);
    }
    struct acl_entry *there = find(list, &mask);
    bool kept = there != NULL && (!changes || (given && request->how != ACL_REMOVE));
    if (!has_named(list, is_default) || kept)
        return;
    if (there != NULL)
        *there = list->items[--list->count];
    for (size_t i = 0; i < list->count; i++) {
        const struct acl_entry *e = &list->items[i];
        if (e->is_default == is_default && (e->id.n > 0 || e->kind == ACL_GROUP))
            mask.bits |= e->bits;
    }
    add(list, &mask);
}

/* Default entries need base entries too: those of the access entries are copied. */
static void complete_default(struct path_acl *list)
{
    bool any = false;
    for (size_t i = 0; i < list->count; i++)
        any = any || list->items[i].is_default;
    for (unsigned kind = ACL_USER; any && kind <= ACL_OTHER; kind++) {
        struct acl_entry base = {.kind = (enum acl_kind)kind, .id = STR("")};
        const struct acl_entry *access = find(list, &base);
        base.is_default = true;
        if (kind == ACL_MASK || access == NULL || find(list, &base) != NULL)
            continue;
        base.bits = access->bits;
        add(list, &base);
    }
}

static struct err put_entries(struct path_acl *list, const struct acl_request *request,
                              bool directory)
{
    for (size_t i = 0; i < request->entries->count; i++) {
        const struct acl_entry *e = &request->entries->items[i];
        if (e->is_default && !directory) {
            if (!request->skip_defaults)
                return err_new(ERR_INVALID_INPUT);
            continue;
        }
        struct acl_entry *there = find(list, e);
        if (there == NULL && is_full(list, e->is_default))
            return err_new(ERR_INVALID_INPUT);
        if (there == NULL)
            add(list, e);
        else
            there->bits = e->bits;
    }
    return OK;
}

/* Of the base entries only the defaults can be removed, together; a mask only if nothing needs it.
 */
static struct err remove_entries(struct path_acl *list, const struct acl_request *request)
{
    for (size_t i = 0; i < request->entries->count; i++) {
        const struct acl_entry *e = &request->entries->items[i];
        if (is_base(e))
            return err_new(ERR_INVALID_INPUT);
        struct acl_entry *there = find(list, e);
        if (there != NULL)
            *there = list->items[--list->count];
    }
    return OK;
}

/* A set starts with the base entries only: those that it does not name stay. */
static void keep_base(struct path_acl *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++)
        if (is_base(&list->items[i]))
            list->items[kept++] = list->items[i];
    list->count = kept;
}

struct err acl_apply(struct arena *a, const struct acl_request *request, struct blob_path *path)
{
    struct path_acl list;
    entries_of(path, &list);
    if (request->how == ACL_SET)
        keep_base(&list);
    if (request->how == ACL_REMOVE)
        TRY(remove_entries(&list, request));
    else
        TRY(put_entries(&list, request, path->directory));
    if (request->how != ACL_REMOVE)
        complete_default(&list);
    complete_mask(&list, request, false);
    complete_mask(&list, request, true);
    if (count_of(&list, false) > ACL_ENTRIES_MAX || count_of(&list, true) > ACL_ENTRIES_MAX)
        return err_new(ERR_INVALID_INPUT);
    store(a, &list, path);
    return OK;
}

struct err acl_set_mode(struct arena *a, unsigned mode, struct blob_path *path)
{
    struct path_acl list;
    entries_of(path, &list);
    struct acl_entry *mask = find_mask(&list, false);
    unsigned group = mask != NULL ? path->mode >> 3 & BITS_ALL : mode >> 3 & BITS_ALL;
    if (mask != NULL)
        mask->bits = mode >> 3 & BITS_ALL;
    for (size_t i = 0; i < list.count; i++)
        if (is_base(&list.items[i]))
            list.items[i].bits = list.items[i].kind == ACL_GROUP
                                     ? group
                                     : mode >> shift_of(list.items[i].kind) & BITS_ALL;
    path->mode = mode & ACL_STICKY;
    store(a, &list, path);
    return OK;
}

/* ---- inheriting ---- */

static bool has_default(const struct blob_path *path)
{
    struct reader r = reader_of(path->acl);
    struct acl_entry e;
    while (decode_entry(&r, &e))
        if (e.is_default)
            return true;
    return false;
}

/* The default entries become the access entries; a directory also keeps them as its own defaults.
 * The requested mode limits the owner, the mask (or the group) and the others, as in POSIX. */
static void take_defaults(const struct path_acl *from, bool directory, unsigned mode,
                          struct path_acl *to)
{
    bool masked = false;
    for (size_t i = 0; i < from->count; i++)
        masked = masked || (from->items[i].is_default && from->items[i].kind == ACL_MASK);
    to->count = 0;
    for (size_t i = 0; i < from->count; i++) {
        struct acl_entry e = from->items[i];
        if (!e.is_default)
            continue;
        if (directory)
            add(to, &e);
        e.is_default = false;
        if (e.id.n == 0 && (e.kind == ACL_USER || e.kind == ACL_OTHER))
            e.bits &= mode >> shift_of(e.kind);
        if (e.id.n == 0 && e.kind == (masked ? ACL_MASK : ACL_GROUP))
            e.bits &= mode >> 3;
        e.bits &= BITS_ALL;
        add(to, &e);
    }
}

struct err acl_inherit(struct arena *a, const struct blob_path *parent,
                       const struct acl_birth *birth, struct blob_path *path)
{
    *path = (struct blob_path){.directory = birth->directory, .group = parent->group};
    if (!has_default(parent)) {
        path->mode = birth->mode & ~birth->umask;
        return OK;
    }
    struct path_acl from, to;
    entries_of(parent, &from);
    take_defaults(&from, birth->directory, birth->mode, &to);
    path->mode = birth->mode & ACL_STICKY;
    store(a, &to, path);
    return OK;
}

/* ---- who may ---- */

/* Paths created with the account's key belong to the superuser; no identity can have that name. */
static bool is_named(const struct acl_caller *caller, struct str id)
{
    return str_ieq(caller->id, id) && !str_ieq(id, ACL_SUPERUSER);
}

bool acl_is_member(const struct acl_caller *caller, struct str group)
{
    bool found = is_named(caller, group);
    for (size_t i = 0; i < caller->group_count; i++)
        found = found || (str_ieq(caller->groups[i], group) && !str_ieq(group, ACL_SUPERUSER));
    return found;
}

bool acl_is_owner(const struct blob_path *path, const struct acl_caller *caller)
{
    return caller == NULL || is_named(caller, acl_owner(path));
}

/* The algorithm of the page "Access control lists in Azure Data Lake Storage": the owner, then a
 * named user behind the mask, then any group that grants all, then everybody, behind the mask too.
 */
bool acl_allows(const struct blob_path *path, const struct acl_caller *caller, unsigned bits)
{
    struct path_acl list;
    if (caller == NULL)
        return true;
    if (acl_is_owner(path, caller))
        return (path->mode >> 6 & bits) == bits;
    entries_of(path, &list);
    const struct acl_entry *masking = find_mask(&list, false);
    unsigned mask = masking != NULL ? masking->bits : BITS_ALL;
    for (size_t i = 0; i < list.count; i++) {
        const struct acl_entry *e = &list.items[i];
        if (!e->is_default && e->kind == ACL_USER && e->id.n > 0 && str_ieq(e->id, caller->id))
            return (e->bits & mask & bits) == bits;
    }
    for (size_t i = 0; i < list.count; i++) {
        const struct acl_entry *e = &list.items[i];
        if (!e->is_default && e->kind == ACL_GROUP && (e->bits & mask & bits) == bits &&
            acl_is_member(caller, e->id.n > 0 ? e->id : acl_group(path)))
            return true;
    }
    return (path->mode & mask & bits) == bits;
}

bool acl_may_unlink(const struct blob_path *directory, const struct blob_path *entry,
                    const struct acl_caller *caller)
{
    if (!acl_allows(directory, caller, ACL_WRITE | ACL_EXECUTE))
        return false;
    return (directory->mode & ACL_STICKY) == 0 || acl_is_owner(directory, caller) ||
           acl_is_owner(entry, caller);
}

struct err acl_check_flat(const struct acl_caller *caller)
{
    return caller == NULL ? OK : err_new(ERR_AUTHORIZATION_PERMISSION_MISMATCH);
}
