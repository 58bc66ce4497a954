/* SPDX-License-Identifier: Apache-2.0 */
/* Blobs are written, deleted and restored at random, with versions and soft delete turned on and
 * off in between. The blobs and their contents must equal a simple model, and nothing may be left
 * at the end. */
#include "service/blob/blob_fixture.h"
#include "service/blob/page/page.h"
#include "service/common/content/interval_upload.h"

enum { NAMES = 3, ITEMS_MAX = 400, CONTENT_BYTES = 9216, DAY = 86400 };

/* A snapshot or a previous version. */
struct item {
    enum blob_item kind;
    int64_t time;
    unsigned seed; /* of its content; 0: nothing but zeros */
    int64_t purge_at;
    bool deleted;
};

struct name {
    const char *text;
    bool exists, buried;
    unsigned seed;
    int64_t version, etag, purge_at;
    struct item items[ITEMS_MAX];
    size_t count;
};

struct model {
    struct blob_fixture f;
    bool pages;
    uint64_t random;
    unsigned seeds;
    unsigned days; /* of the retention; 0: none */
    struct name names[NAMES];
};

static unsigned draw(struct model *m, unsigned below)
{
    m->random ^= m->random << 13;
    m->random ^= m->random >> 7;
    m->random ^= m->random << 17;
    return (unsigned)(m->random % below);
}

/* ---- the model's side ---- */

static struct item *add(struct name *n, enum blob_item kind, int64_t time, unsigned seed)
{
    CHECK(n->count < ITEMS_MAX);
    n->items[n->count] = (struct item){.kind = kind, .time = time, .seed = seed};
    return &n->items[n->count++];
}

static void remove_item(struct name *n, size_t i)
{
    n->items[i] = n->items[--n->count];
}

static int64_t purge_time(struct model *m)
{
    return clock_now(&m->f.clock) + (int64_t)m->days * TICKS_PER_DAY;
}

static void keep_version(struct name *n)
{
    (void)add(n, BLOB_VERSION, n->version != 0 ? n->version : n->etag, n->seed);
}

/* The current blob, for values that the model cannot know. */
static void look(struct model *m, struct name *n)
{
    struct blob_head head;
    CHECK_OK(bf_properties(&m->f, bf_blob(&m->f, n->text), &head));
    n->version = head.version;
    n->etag = head.etag;
    n->exists = true;
}

/* Deletes an item: it is kept for a while or removed. */
static void delete_item(struct model *m, struct name *n, size_t i)
{
    if (m->days == 0) {
        remove_item(n, i);
        return;
    }
    n->items[i].deleted = true;
    n->items[i].purge_at = purge_time(m);
}

static bool pick(struct model *m, struct name *n, enum blob_item kind, size_t *out)
{
    size_t start = n->count == 0 ? 0 : draw(m, (unsigned)n->count);
    for (size_t k = 0; k < n->count; k++) {
        *out = (start + k) % n->count;
        if (n->items[*out].kind == kind && !n->items[*out].deleted)
            return true;
    }
    return false;
}

/* ---- operations ---- */

static struct err write_content(struct model *m, struct name *n, unsigned seed)
{
    struct blob_fixture *f = &m->f;
    struct blob_page_args args = {.request = bf_blob(f, n->text)};
    struct interval_upload upload;
    struct str bytes = bf_bytes(f, CONTENT_BYTES, seed);
    if (!m->pages)
        return bf_put(f, bf_blob(f, n->text), bytes, NULL);
    interval_upload_init(&upload, f->store.engine, &f->arena, 0, bytes.n);
    CHECK_OK(interval_upload_take(&upload, bytes));
    CHECK_OK(interval_upload_end(&upload));
    args.length = bytes.n;
    args.pieces = &upload.pieces;
    struct err error = bf_update(f, blob_put_page, &args);
    if (err_is(error))
        interval_upload_discard(&upload);
    return error;
}

static void put(struct model *m, struct name *n)
{
    struct name before = {.exists = n->exists, .version = n->version};
    if (before.exists && (m->f.versioning || n->version != 0))
        keep_version(n);
    bool snapshot = n->buried || (n->exists && !m->f.versioning && n->version == 0 && m->days > 0);
    int64_t purge_at = n->buried ? n->purge_at : purge_time(m);
    unsigned old = n->seed;
    n->seed = m->pages ? 0 : ++m->seeds;
    if (m->pages) {
        struct blob_create_page_args args = {.request = bf_blob(&m->f, n->text),
                                             .size = CONTENT_BYTES};
        CHECK_OK(bf_update(&m->f, blob_create_page_blob, &args));
    } else {
        CHECK_OK(write_content(m, n, n->seed));
    }
    n->buried = false;
    look(m, n);
    if (!snapshot)
        return;
    struct item *kept = add(n, BLOB_SNAPSHOT, n->etag, old);
    kept->deleted = true;
    kept->purge_at = purge_at;
}

/* Changes it in place, which makes no version. */
static void write_pages(struct model *m, struct name *n)
{
    unsigned seed = ++m->seeds;
    if (!m->pages)
        return;
    struct err error = write_content(m, n, seed);
    CHECK(err_is(error) == !n->exists);
    if (n->exists) {
        n->seed = seed;
        look(m, n);
    }
}

static void set_metadata(struct model *m, struct name *n)
{
    struct err error = bf_set_metadata(&m->f, bf_blob(&m->f, n->text), "v", NULL);
    CHECK(err_is(error) == !n->exists);
    if (!n->exists)
        return;
    if (m->f.versioning || n->version != 0)
        keep_version(n);
    look(m, n);
}

static void snapshot(struct model *m, struct name *n)
{
    int64_t time;
    struct err error = bf_take_snapshot(&m->f, bf_blob(&m->f, n->text), &time);
    CHECK(err_is(error) == !n->exists);
    if (!n->exists)
        return;
    (void)add(n, BLOB_SNAPSHOT, time, n->seed);
    if (m->f.versioning)
        keep_version(n);
    look(m, n);
}

static void delete_blob(struct model *m, struct name *n)
{
    enum blob_delete_snapshots which = (enum blob_delete_snapshots)draw(m, 3);
    struct err error = bf_delete(&m->f, bf_blob(&m->f, n->text), which);
    size_t i;
    bool blocked = which == BLOB_SNAPSHOTS_KEEP && pick(m, n, BLOB_SNAPSHOT, &i);
    CHECK(err_is(error) == (!n->exists || blocked));
    if (err_is(error))
        return;
    while (which != BLOB_SNAPSHOTS_KEEP && pick(m, n, BLOB_SNAPSHOT, &i))
        delete_item(m, n, i);
    if (which == BLOB_SNAPSHOTS_ONLY)
        return;
    n->exists = false;
    n->buried = !m->f.versioning && m->days > 0;
    n->purge_at = purge_time(m);
    if (m->f.versioning)
        keep_version(n);
}

static void delete_kept(struct model *m, struct name *n)
{
    enum blob_item kind = draw(m, 2) == 0 ? BLOB_SNAPSHOT : BLOB_VERSION;
    size_t i;
    if (!pick(m, n, kind, &i))
        return;
    struct blob_request request = kind == BLOB_SNAPSHOT
                                      ? bf_snapshot(&m->f, n->text, n->items[i].time)
                                      : bf_version(&m->f, n->text, n->items[i].time);
    CHECK_OK(bf_delete(&m->f, request, BLOB_SNAPSHOTS_KEEP));
    delete_item(m, n, i);
}

static void undelete(struct model *m, struct name *n)
{
    struct err error = bf_undelete(&m->f, n->text);
    CHECK(err_is(error) == (!n->exists && !n->buried && n->count == 0));
    for (size_t i = 0; i < n->count; i++)
        n->items[i].deleted = false;
    if (n->buried)
        look(m, n);
    n->buried = false;
}

static void pass_time(struct model *m)
{
    bf_seconds(&m->f, draw(m, 2 * DAY));
    bf_expire(&m->f);
    int64_t now = clock_now(&m->f.clock);
    for (size_t k = 0; k < NAMES; k++) {
        struct name *n = &m->names[k];
        n->buried = n->buried && n->purge_at > now;
        for (size_t i = n->count; i-- > 0;)
            if (n->items[i].deleted && n->items[i].purge_at <= now)
                remove_item(n, i);
    }
}

static void change_settings(struct model *m)
{
    static const unsigned DAYS[] = {0, 1, 4};
    m->f.versioning = draw(m, 2) == 0;
    m->days = DAYS[draw(m, 3)];
    bf_retain(&m->f, m->days, false);
}

/* ---- comparing ---- */

static void put_kinds(const struct name *n, enum blob_item kind, bool deleted, struct buf *out)
{
    for (size_t i = 0; i < n->count; i++)
        if (n->items[i].kind == kind && n->items[i].deleted == deleted)
            buf_printf(out, "%c%s ", kind == BLOB_SNAPSHOT ? 'S' : 'V', deleted ? "!" : "");
}

static void check_content(struct model *m, struct blob_request request, unsigned seed)
{
    struct str content;
    struct str want = bf_bytes(&m->f, CONTENT_BYTES, seed);
    if (seed == 0) {
        char *zeros = arena_bytes(&m->f.arena, CONTENT_BYTES);
        memset(zeros, 0, CONTENT_BYTES);
        want.p = zeros;
    }
    CHECK_OK(bf_get(&m->f, request, &content));
    CHECK(str_eq(content, want));
}

static void compare(struct model *m, const struct name *n)
{
    struct buf want = buf_in(&m->f.arena);
    put_kinds(n, BLOB_SNAPSHOT, false, &want);
    put_kinds(n, BLOB_VERSION, false, &want);
    put_kinds(n, BLOB_SNAPSHOT, true, &want);
    put_kinds(n, BLOB_VERSION, true, &want);
    if (n->exists || n->buried)
        buf_put(&want, n->exists ? STR("B ") : STR("B! "));
    CHECK_STR(bf_kinds(&m->f, n->text), buf_str(&want));
    if (n->exists)
        check_content(m, bf_blob(&m->f, n->text), n->seed);
    for (size_t i = 0; i < n->count; i++) {
        const struct item *item = &n->items[i];
        if (item->deleted)
            continue;
        check_content(m,
                      item->kind == BLOB_SNAPSHOT ? bf_snapshot(&m->f, n->text, item->time)
                                                  : bf_version(&m->f, n->text, item->time),
                      item->seed);
    }
}

static void change(struct model *m)
{
    struct name *n = &m->names[draw(m, NAMES)];
    static void (*const OPERATIONS[])(struct model *, struct name *) = {
        put,      put,         write_pages, write_pages, set_metadata,
        snapshot, delete_blob, delete_kept, delete_kept, undelete};
    unsigned which = draw(m, 13);
    bf_seconds(&m->f, 1);
    if (which < sizeof OPERATIONS / sizeof OPERATIONS[0])
        OPERATIONS[which](m, n);
    else if (which == 10)
        change_settings(m);
    else
        pass_time(m);
}

static void run_model(bool pages, uint64_t random)
{
    static struct model m;
    m = (struct model){.pages = pages, .random = random};
    bf_init(&m.f);
    for (size_t i = 0; i < NAMES; i++)
        m.names[i].text = i == 0 ? "a" : i == 1 ? "b" : "c";
    for (int i = 0; i < 600; i++) {
        change(&m);
        if (i % 10 == 0)
            bf_sweep(&m.f);
        if (i % 5 == 0)
            for (size_t k = 0; k < NAMES; k++)
                compare(&m, &m.names[k]);
    }
    bf_end(&m.f);
}

void test_kept_blobs_agree_with_a_model(void)
{
    for (uint64_t seed = 1; seed <= TEST_TIMES(2); seed++)
        run_model(false, seed * 88172645463325252ULL);
}

void test_kept_page_blobs_agree_with_a_model(void)
{
    for (uint64_t seed = 1; seed <= TEST_TIMES(2); seed++)
        run_model(true, seed * 88172645463325252ULL);
}
