/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/tags/tags.h"

#include "service/blob/append.h"
#include "service/blob/blob_fixture.h"
#include "service/blob/page/page.h"
#include "service/blob/protect.h"
#include "service/blob/tags/find.h"

/* "a=1,b=2" */
static struct str tags_of(struct blob_fixture *f, const char *text)
{
    struct pair items[BLOB_TAGS_MAX + 1];
    struct pairs tags = {.items = items};
    struct str rest = text[0] == '\0' ? STR_NONE : str_of(text);
    while (str_given(rest)) {
        struct str value = str_cut(&rest, ',');
        struct str name = str_cut(&value, '=');
        items[tags.count++] = (struct pair){name, value};
    }
    return pairs_encode(&f->arena, &tags);
}

static struct str text_of(struct blob_fixture *f, struct str tags)
{
    struct buf out = buf_in(&f->arena);
    struct reader r = reader_of(tags);
    struct pair tag;
    while (pairs_next(&r, &tag))
        buf_printf(&out, "%.*s=%.*s,", STR_ARG(tag.name), STR_ARG(tag.value));
    return buf_str(&out);
}

static struct err set_tags(struct blob_fixture *f, struct blob_request request, const char *tags)
{
    struct blob_tags_args args = {.request = request, .tags = tags_of(f, tags)};
    return bf_update(f, blob_set_blob_tags, &args);
}

static struct err get_tags(struct blob_fixture *f, struct blob_request request, struct str *out)
{
    struct blob_tags_args args = {.request = request};
    TRY(bf_view(f, blob_get_blob_tags, &args));
    *out = text_of(f, args.tags);
    return OK;
}

static void check_tags(struct blob_fixture *f, struct blob_request request, const char *want)
{
    struct str got;
    CHECK_OK(get_tags(f, request, &got));
    CHECK(str_eq(got, str_of(want)));
}

static void put_tagged(struct blob_fixture *f, const char *name, const char *tags)
{
    CHECK_OK(bf_put(f, bf_blob(f, name), STR("x"), NULL));
    CHECK_OK(set_tags(f, bf_blob(f, name), tags));
}

static void make_container(struct blob_fixture *f, const char *name)
{
    struct container_args args = {.request = {.arena = &f->arena}};
    f->partition = blob_partition(&f->arena, STR("a"), str_of(name));
    CHECK_OK(bf_update(f, blob_create_container, &args));
}

/* ---- finding ---- */

struct hits {
    struct blob_fixture *f;
    struct buf text;
};

static void begin(void *sink)
{
    buf_clear(&((struct hits *)sink)->text);
}

static void found(void *sink, const struct blob_found *blob)
{
    struct hits *hits = sink;
    buf_printf(&hits->text, "%.*s/%.*s%s ", STR_ARG(blob->container), STR_ARG(blob->name),
               blob->version == 0 ? ""
               : blob->is_current ? "!"
                                  : "~");
}

static struct blob_find_args query(struct blob_fixture *f, struct hits *hits, const char *where)
{
    *hits = (struct hits){f, buf_in(&f->arena)};
    struct blob_find_args args = {.arena = &f->arena,
                                  .account = STR("a"),
                                  .max = FIND_RESULTS_MAX,
                                  .sink = hits,
                                  .begin = begin,
                                  .found = found};
    args.where = tag_expression_compile(&f->arena, TAG_WHERE, str_of(where), NULL);
    CHECK(args.where != NULL && blob_find_can(args.where));
    return args;
}

static void check_found(struct blob_fixture *f, const char *where, const char *want)
{
    struct hits hits;
    struct blob_find_args args = query(f, &hits, where);
    CHECK_OK(bf_view(f, blob_find_blobs, &args));
    if (!str_eq(buf_str(&hits.text), str_of(want)))
        test_fail(__FILE__, __LINE__, "%s: %.*s, want %s", where, STR_ARG(buf_str(&hits.text)),
                  want);
}

static struct err count_rows(struct txn *t, void *arg)
{
    struct cursor *c;
    TRY(cursor_open(t, STR("t"), &c));
    for (*(size_t *)arg = 0; c->valid; ++*(size_t *)arg)
        TRY(cursor_next(c));
    cursor_close(c);
    return OK;
}

static size_t index_rows(struct blob_fixture *f)
{
    size_t count = 0;
    CHECK_OK(bf_view(f, count_rows, &count));
    return count;
}

/* ---- Set Blob Tags, Get Blob Tags ---- */

void test_set_blob_tags_replaces_all_and_is_no_write(void)
{
    struct blob_fixture f;
    struct blob_head before, after;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("x"), &before));
    bf_seconds(&f, 5);
    CHECK_OK(set_tags(&f, bf_blob(&f, "b"), "k=1,l="));
    check_tags(&f, bf_blob(&f, "b"), "k=1,l=,");
    CHECK_OK(set_tags(&f, bf_blob(&f, "b"), "m=3"));
    check_tags(&f, bf_blob(&f, "b"), "m=3,");
    CHECK_OK(bf_properties(&f, bf_blob(&f, "b"), &after));
    CHECK(after.etag == before.etag && after.last_modified == before.last_modified);
    CHECK(index_rows(&f) == 1);
    CHECK_OK(set_tags(&f, bf_blob(&f, "b"), ""));
    check_tags(&f, bf_blob(&f, "b"), "");
    CHECK(index_rows(&f) == 0);
    bf_release(&f);
}

void test_set_blob_tags_conditions_lease_and_absence(void)
{
    struct blob_fixture f;
    struct str got;
    bf_init(&f);
    CHECK_ERR(set_tags(&f, bf_blob(&f, "none"), "k=1"), ERR_BLOB_NOT_FOUND);
    put_tagged(&f, "b", "k=1");
    struct blob_request request = bf_blob(&f, "b");
    request.conditions.if_tags =
        tag_expression_compile(&f.arena, TAG_CONDITION, STR("k = '2'"), NULL);
    CHECK_ERR(set_tags(&f, request, "k=9"), ERR_CONDITION_NOT_MET);
    CHECK_ERR(set_tags(&f, bf_if_match(&f, "b", 1), "k=9"), ERR_CONDITION_NOT_MET);
    CHECK_OK(bf_acquire(&f, "b", 'A', LEASE_INFINITE));
    CHECK_ERR(set_tags(&f, bf_blob(&f, "b"), "k=9"), ERR_LEASE_ID_MISSING);
    check_tags(&f, bf_blob(&f, "b"), "k=1,");
    CHECK_OK(set_tags(&f, bf_with_lease(&f, "b", 'A'), "k=2"));
    CHECK_ERR(get_tags(&f, bf_with_lease(&f, "b", 'B'), &got),
              ERR_LEASE_ID_MISMATCH_WITH_BLOB_OPERATION);
    check_tags(&f, bf_blob(&f, "b"), "k=2,");
    bf_release(&f);
}

void test_get_blob_tags_of_a_snapshot_keep(void)
{
    struct blob_fixture f;
    int64_t time;
    bf_init(&f);
    put_tagged(&f, "b", "k=1");
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "b"), &time));
    CHECK_OK(set_tags(&f, bf_blob(&f, "b"), "k=2"));
    check_tags(&f, bf_snapshot(&f, "b", time), "k=1,");
    check_found(&f, "k > ''", "c/b ");
    check_found(&f, "k = '1'", "");
    CHECK_OK(bf_delete(&f, bf_snapshot(&f, "b", time), BLOB_SNAPSHOTS_KEEP));
    check_found(&f, "k = '2'", "c/b ");
    bf_release(&f);
}

static enum err_code checked(struct pair *items, size_t count)
{
    struct pairs tags = {items, count};
    return blob_tags_check(&tags).code;
}

void test_set_blob_tags_limits(void)
{
    char text[300];
    memset(text, 'a', sizeof text);
    struct pair longest = {{text, 128}, {text, 256}};
    CHECK(checked(&longest, 1) == ERR_OK);
    struct pair name = {{text, 129}, STR("")}, value = {STR("k"), {text, 257}};
    CHECK(checked(&name, 1) == ERR_TAGS_TOO_LARGE && checked(&value, 1) == ERR_TAGS_TOO_LARGE);
    struct pair odd = {STR("k"), STR("a&b")}, empty = {STR(""), STR("v")};
    CHECK(checked(&odd, 1) == ERR_INVALID_TAG && checked(&empty, 1) == ERR_EMPTY_TAG_NAME);
    struct pair all = {STR("aZ09 +-./:=_"), STR("aZ09 +-./:=_")};
    CHECK(checked(&all, 1) == ERR_OK);
    struct pair same[] = {{STR("k"), STR("1")}, {STR("K"), STR("1")}, {STR("k"), STR("2")}};
    CHECK(checked(same, 2) == ERR_OK && checked(same, 3) == ERR_DUPLICATE_TAG_NAMES);
    struct pair many[BLOB_TAGS_MAX + 1];
    for (size_t i = 0; i <= BLOB_TAGS_MAX; i++)
        many[i] = (struct pair){{text, i + 1}, STR("")};
    CHECK(checked(many, BLOB_TAGS_MAX) == ERR_OK);
    CHECK(checked(many, BLOB_TAGS_MAX + 1) == ERR_TAGS_TOO_LARGE);
}

/* ---- the index follows ---- */

void test_find_blobs_by_tags_follows_every_write(void)
{
    struct blob_fixture f;
    struct blob_head head;
    bf_init(&f);
    put_tagged(&f, "b", "k=1,l=2");
    check_found(&f, "k = '1' AND l = '2'", "c/b ");
    CHECK_OK(bf_set_metadata(&f, bf_blob(&f, "b"), "m", &head));
    CHECK(index_rows(&f) == 2);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("y"), NULL));
    CHECK(index_rows(&f) == 0);
    CHECK_OK(set_tags(&f, bf_blob(&f, "b"), "k=1"));
    CHECK_OK(bf_stage(&f, bf_blob(&f, "b"), "1", STR("z")));
    check_found(&f, "k = '1'", "c/b ");
    CHECK_OK(bf_commit(&f, bf_blob(&f, "b"), "u1", NULL));
    CHECK(index_rows(&f) == 0);
    CHECK_OK(set_tags(&f, bf_blob(&f, "b"), "k=1"));
    CHECK_OK(bf_delete(&f, bf_blob(&f, "b"), BLOB_SNAPSHOTS_INCLUDE));
    CHECK(index_rows(&f) == 0);
    bf_release(&f);
}

void test_find_blobs_by_tags_of_every_type(void)
{
    struct blob_fixture f;
    bf_init(&f);
    struct blob_create_append_args append = {.request = bf_blob(&f, "append"),
                                             .properties = {.tags = tags_of(&f, "k=1")}};
    struct blob_create_page_args page = {
        .request = bf_blob(&f, "page"), .properties = {.tags = tags_of(&f, "k=1")}, .size = 512};
    CHECK_OK(bf_update(&f, blob_create_append_blob, &append));
    CHECK_OK(bf_update(&f, blob_create_page_blob, &page));
    check_found(&f, "k = '1'", "c/append c/page ");
    append.properties.tags = STR_NONE;
    CHECK_OK(bf_update(&f, blob_create_append_blob, &append));
    check_found(&f, "k = '1'", "c/page ");
    bf_release(&f);
}

void test_find_blobs_by_tags_forgets_a_deleted_container(void)
{
    struct blob_fixture f;
    struct container_args args = {.request = {.arena = &f.arena}};
    bf_init(&f);
    put_tagged(&f, "b", "k=1");
    CHECK_OK(bf_update(&f, blob_delete_container, &args));
    check_found(&f, "k = '1'", "");
    CHECK_OK(bf_update(&f, blob_create_container, &args));
    check_found(&f, "k = '1'", "");
    bf_sweep(&f);
    CHECK(index_rows(&f) == 0);
    bf_release(&f);
}

/* ---- previous versions ---- */

static size_t tags_in_row(struct str key, struct str row)
{
    struct blob_head head;
    struct blob_at at;
    struct str name;
    CHECK(blob_key_parse_head(key, &name, &at));
    CHECK_OK(blob_head_decode(row, &head));
    return head.deleted != 0 || at.item == BLOB_SNAPSHOT ? 0 : pairs_count(head.tags);
}

/* The rows in the indexes minus the expected ones: 0. */
static struct err compare_index(struct txn *t, void *arg)
{
    static const char *const KINDS[] = {"t", "v", "h"};
    long *surplus = arg;
    *surplus = 0;
    for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++) {
        struct cursor *c;
        TRY(cursor_open(t, str_of(KINDS[i]), &c));
        while (c->valid) {
            *surplus += KINDS[i][0] != 'h' ? 1 : -(long)tags_in_row(c->key, c->value);
            TRY(cursor_next(c));
        }
        cursor_close(c);
    }
    return OK;
}

static void check_found_of_versions(struct blob_fixture *f, const char *where, const char *want)
{
    struct hits hits;
    long surplus;
    struct blob_find_args args = query(f, &hits, where);
    args.versions = true;
    CHECK_OK(bf_view(f, blob_find_blobs, &args));
    CHECK_STR(buf_str(&hits.text), str_of(want));
    CHECK_OK(bf_view(f, compare_index, &surplus));
    CHECK(surplus == 0);
}

/* A version that is written, overwritten, given other tags, soft-deleted, restored, removed. */
void test_find_blobs_by_tags_finds_versions(void)
{
    struct blob_fixture f;
    struct blob_head first;
    bf_init(&f);
    put_tagged(&f, "a", "k=1");
    f.versioning = true;
    bf_retain(&f, 7, true);
    put_tagged(&f, "b", "k=1,l=2");
    CHECK_OK(bf_properties(&f, bf_blob(&f, "b"), &first));
    check_found_of_versions(&f, "k = '1'", "c/a c/b! ");
    put_tagged(&f, "b", "k=2,l=2");
    check_found_of_versions(&f, "k = '1'", "c/a c/b~ ");
    check_found(&f, "k = '1'", "c/a ");
    check_found_of_versions(&f, "k >= '1' AND l = '2'", "c/b! c/b~ ");
    check_found_of_versions(&f, "k = '2' AND l = '2'", "c/b! ");
    CHECK_OK(set_tags(&f, bf_version(&f, "b", first.version), "k=3,l=2"));
    check_found_of_versions(&f, "k = '3' AND l = '2'", "c/b~ ");
    CHECK_OK(bf_delete(&f, bf_version(&f, "b", first.version), BLOB_SNAPSHOTS_KEEP));
    check_found_of_versions(&f, "l = '2'", "c/b! ");
    CHECK_OK(bf_undelete(&f, "b"));
    check_found_of_versions(&f, "l = '2'", "c/b! c/b~ ");
    CHECK_OK(bf_delete(&f, bf_blob(&f, "b"), BLOB_SNAPSHOTS_INCLUDE));
    check_found_of_versions(&f, "l = '2'", "c/b~ c/b~ ");
    check_found(&f, "l = '2'", "");
    bf_end(&f);
}

void test_find_blobs_by_tags_pages_over_versions(void)
{
    struct blob_fixture f;
    struct hits hits;
    bf_init(&f);
    f.versioning = true;
    make_container(&f, "cc");
    for (unsigned i = 0; i < 12; i++) {
        f.partition = blob_partition(&f.arena, STR("a"), i % 2 == 0 ? STR("c") : STR("cc"));
        put_tagged(&f, i % 3 == 0 ? "a" : "b", "k=1");
    }
    for (size_t max = 1; max < 14; max++) {
        struct buf all = buf_in(&f.arena);
        struct blob_find_args args = query(&f, &hits, "k = '1'");
        args.versions = true;
        args.max = max;
        do {
            args.marker = args.next;
            CHECK_OK(bf_view(&f, blob_find_blobs, &args));
            buf_put(&all, buf_str(&hits.text));
        } while (str_given(args.next));
        CHECK_STR(buf_str(&all), STR("c/a! c/b! c/a~ c/b~ c/b~ c/b~ "
                                     "cc/a! cc/b! cc/a~ cc/b~ cc/b~ cc/b~ "));
    }
    bf_release(&f);
}

/* Expired blobs are not listed, even before the sweeper has run; those after them are. */
void test_find_blobs_by_tags_passes_over_the_expired(void)
{
    struct blob_fixture f;
    bf_init(&f);
    put_tagged(&f, "a", "k=1");
    put_tagged(&f, "b", "k=1");
    put_tagged(&f, "c", "k=1");
    struct blob_expiry_args args = {
        .request = bf_blob(&f, "b"), .option = BLOB_EXPIRY_FROM_NOW, .ticks = TICKS_PER_SECOND};
    CHECK_OK(bf_update(&f, blob_set_blob_expiry, &args));
    check_found(&f, "k = '1'", "c/a c/b c/c ");
    bf_seconds(&f, 2);
    check_found(&f, "k = '1'", "c/a c/c ");
    bf_expire(&f);
    check_found(&f, "k = '1'", "c/a c/c ");
    bf_end(&f);
}

/* ---- expressions ---- */

void test_find_blobs_by_tags_comparisons(void)
{
    struct blob_fixture f;
    bf_init(&f);
    put_tagged(&f, "z", "k=1,p=x");
    put_tagged(&f, "y", "k=2,p=x");
    put_tagged(&f, "x", "k=3,p=y");
    put_tagged(&f, "w", "k=30,q=1");
    put_tagged(&f, "v", "kk=2");
    check_found(&f, "k >= '2'", "c/y c/x c/w ");
    check_found(&f, "k > '2' AND k < '30'", "c/x ");
    check_found(&f, "k <= '2'", "c/z c/y ");
    check_found(&f, "k < '3' AND p = 'x'", "c/y c/z ");
    check_found(&f, "p = 'x' AND k = '2'", "c/y ");
    check_found(&f, "k = '2' AND k = '3'", "");
    check_found(&f, "k > '5' AND k < '2'", "");
    check_found(&f, "\"kk\" = '2'", "c/v ");
    check_found(&f, "@container = 'c' AND k = '1'", "c/z ");
    check_found(&f, "@container > 'c' AND k = '1'", "");
    check_found(&f, "@container = 'none' AND k = '1'", "");
    bf_release(&f);
}

/* Equalities that each match many blobs, together few: the query skips ahead. */
void test_find_blobs_by_tags_jumps_between_equalities(void)
{
    struct blob_fixture f;
    char name[16], tags[32];
    bf_init(&f);
    for (int i = 0; i < 300; i++) {
        (void)snprintf(name, sizeof name, "n%03d", i);
        (void)snprintf(tags, sizeof tags, "a=%d,b=%d", i % 2, i % 50 == 4);
        put_tagged(&f, name, tags);
    }
    check_found(&f, "a = '0' AND b = '1'", "c/n004 c/n054 c/n104 c/n154 c/n204 c/n254 ");
    check_found(&f, "b = '1' AND a = '1'", "");
    bf_release(&f);
}

void test_find_blobs_by_tags_refuses_what_no_tag_can_be(void)
{
    static const char *const BAD[] = {"@container = 'c'", "\"a&b\" = '1'", "a = '(1)'"};
    struct arena a;
    arena_init(&a, 1 << 20);
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        const struct tag_expression *where =
            tag_expression_compile(&a, TAG_WHERE, str_of(BAD[i]), NULL);
        CHECK(where == NULL || !blob_find_can(where));
    }
    CHECK(tag_expression_compile(&a, TAG_WHERE, STR("a = '1' OR b = '2'"), NULL) == NULL);
    CHECK(tag_expression_compile(&a, TAG_WHERE, STR("a <> '1'"), NULL) == NULL);
    arena_release(&a);
}

/* ---- pages and places ---- */

static void make_three(struct blob_fixture *f)
{
    bf_init(f);
    put_tagged(f, "2", "k=1");
    put_tagged(f, "1", "k=1");
    make_container(f, "cc");
    put_tagged(f, "3", "k=1");
    make_container(f, "empty");
    make_container(f, "zz");
    put_tagged(f, "4", "k=1");
    put_tagged(f, "5", "k=2");
}

void test_find_blobs_by_tags_pages_over_containers(void)
{
    struct blob_fixture f;
    struct hits hits;
    struct buf all;
    make_three(&f);
    for (size_t max = 1; max <= 6; max++) {
        struct blob_find_args args = query(&f, &hits, "k >= '1'");
        size_t pages = 0;
        args.max = max;
        all = buf_in(&f.arena);
        do {
            CHECK_OK(bf_view(&f, blob_find_blobs, &args));
            buf_put(&all, buf_str(&hits.text));
            args.marker = args.next;
            pages++;
        } while (str_given(args.next));
        CHECK(str_eq(buf_str(&all), STR("c/1 c/2 cc/3 zz/4 zz/5 ")));
        CHECK(pages == (5 + max - 1) / max);
    }
    bf_release(&f);
}

void test_find_blobs_by_tags_in_container_sees_it_alone(void)
{
    struct blob_fixture f;
    struct hits hits;
    make_three(&f);
    struct blob_find_args args = query(&f, &hits, "k = '1'");
    args.container = STR("c");
    args.max = 1;
    CHECK_OK(bf_view(&f, blob_find_blobs, &args));
    CHECK(str_eq(buf_str(&hits.text), STR("c/1 ")));
    args.marker = args.next;
    CHECK_OK(bf_view(&f, blob_find_blobs, &args));
    CHECK(str_eq(buf_str(&hits.text), STR("c/2 ")) && !str_given(args.next));
    args.container = STR("none");
    CHECK_ERR(bf_view(&f, blob_find_blobs, &args), ERR_CONTAINER_NOT_FOUND);
    bf_release(&f);
}

/* ---- against a scan ---- */

enum { MODEL_BLOBS = 40 };

/* Blob i is in the container "c" or "cc" by its parity; tags are "" when it is not there. */
struct model {
    struct blob_fixture f;
    uint64_t random;
    char tags[MODEL_BLOBS][32];
    uint64_t seen;        /* a bit for each blob found */
    uint64_t seen_before; /* on the pages before this one */
};

static unsigned draw(struct model *m, unsigned below)
{
    m->random ^= m->random << 13;
    m->random ^= m->random >> 7;
    m->random ^= m->random << 17;
    return (unsigned)(m->random % below);
}

static const char *container_of(unsigned i)
{
    return i % 2 == 0 ? "c" : "cc";
}

static void change_one(struct model *m)
{
    unsigned i = draw(m, MODEL_BLOBS);
    char name[8];
    (void)snprintf(name, sizeof name, "n%02u", i);
    m->f.partition = blob_partition(&m->f.arena, STR("a"), str_of(container_of(i)));
    if (m->tags[i][0] != '\0' && draw(m, 4) == 0) {
        CHECK_OK(bf_delete(&m->f, bf_blob(&m->f, name), BLOB_SNAPSHOTS_INCLUDE));
        m->tags[i][0] = '\0';
        return;
    }
    (void)snprintf(m->tags[i], sizeof m->tags[i], "x=%u,y=%u,z%u=%u", draw(m, 3), draw(m, 4),
                   draw(m, 2), draw(m, 12));
    put_tagged(&m->f, name, m->tags[i]);
}

static struct str random_where(struct model *m)
{
    static const char *const NAMES[] = {"x", "y", "z0", "z1", "@container"};
    static const char *const OPERATORS[] = {"=", "=", ">", ">=", "<", "<="};
    struct buf text = buf_in(&m->f.arena);
    unsigned count = 1 + draw(m, 4);
    for (unsigned i = 0; i < count; i++) {
        unsigned name = draw(m, i == 0 ? 4 : 5);
        buf_printf(&text, "%s%s %s '", i == 0 ? "" : " AND ", NAMES[name], OPERATORS[draw(m, 6)]);
        if (name == 4)
            buf_printf(&text, "%s'", container_of(draw(m, 2)));
        else
            buf_printf(&text, "%u'", draw(m, 12));
    }
    return buf_str(&text);
}

static void begin_page(void *sink)
{
    struct model *m = sink;
    m->seen = m->seen_before;
}

static void see(void *sink, const struct blob_found *blob)
{
    struct model *m = sink;
    uint64_t i;
    CHECK(str_to_u64(str_from(blob->name, 1), &i));
    CHECK(str_eq(blob->container, str_of(container_of((unsigned)i))));
    CHECK((m->seen >> i & 1) == 0);
    m->seen |= 1ULL << i;
}

static void compare_with_scan(struct model *m)
{
    struct str text = random_where(m);
    struct blob_find_args args = {.arena = &m->f.arena,
                                  .account = STR("a"),
                                  .max = 1 + draw(m, 5),
                                  .sink = m,
                                  .begin = begin_page,
                                  .found = see};
    args.where = tag_expression_compile(&m->f.arena, TAG_WHERE, text, NULL);
    m->seen_before = 0;
    do {
        args.marker = args.next;
        CHECK_OK(bf_view(&m->f, blob_find_blobs, &args));
        m->seen_before = m->seen;
    } while (str_given(args.next));
    for (unsigned i = 0; i < MODEL_BLOBS; i++) {
        bool want =
            m->tags[i][0] != '\0' &&
            tag_expression_holds(args.where, tags_of(&m->f, m->tags[i]), str_of(container_of(i)));
        if (want != (m->seen >> i & 1))
            test_fail(__FILE__, __LINE__, "%.*s: blob %u with %s", STR_ARG(text), i, m->tags[i]);
    }
}

void test_find_blobs_by_tags_agrees_with_a_scan(void)
{
    struct model m = {.random = 88172645463325252ULL};
    bf_init(&m.f);
    make_container(&m.f, "cc");
    for (int round = 0; round < 60; round++) {
        for (int i = 0; i < 20; i++)
            change_one(&m);
        for (int i = 0; i < 30; i++)
            compare_with_scan(&m);
    }
    bf_release(&m.f);
}
