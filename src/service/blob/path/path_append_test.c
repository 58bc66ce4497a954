/* SPDX-License-Identifier: Apache-2.0 */
/* Random appends and flushes, compared with a model that is an array of bytes. */
#include "service/blob/path/path_append.h"
#include "service/blob/path/path_fixture.h"
#include "service/blob/path/path_merge.h"

enum { FILE_MAX = 60000, APPENDS_MAX = 64, STEPS = 400 };

struct model {
    char bytes[FILE_MAX];
    size_t size;
    struct waiting {
        size_t position, length;
        char letter;
    } appends[APPENDS_MAX];
    size_t count;
};

static uint32_t draw(uint32_t *random, uint32_t below)
{
    *random = *random * 1664525 + 1013904223;
    return (uint32_t)(((uint64_t)*random * below) >> 32);
}

/* The file after a flush at `to`; false if it must be refused. In the order of positions the
 * appends leave no gap and none reaches across. */
static bool model_flush(struct model *m, size_t to, bool retain)
{
    size_t reached = m->size;
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < m->count; i++) {
            const struct waiting *w = &m->appends[i];
            if (w->position < to && w->position + w->length > to)
                return false;
            if (w->position < to && w->position <= reached && w->position + w->length > reached) {
                reached = w->position + w->length;
                more = true;
            }
        }
    }
    for (size_t i = 0; i < m->count; i++)
        if (m->appends[i].position < to && m->appends[i].position > reached)
            return false;
    if (reached != to)
        return false;
    size_t kept = 0;
    for (size_t i = 0; i < m->count; i++) {
        const struct waiting w = m->appends[i];
        if (w.position < to)
            memset(m->bytes + w.position, w.letter, w.length);
        else if (retain)
            m->appends[kept++] = w;
    }
    m->count = kept;
    m->size = to;
    return true;
}

static void check_content(struct blob_fixture *f, const struct model *m)
{
    struct str content = STR("");
    if (m->size > 0)
        CHECK_OK(bf_get(f, bf_blob(f, "d/f"), &content));
    CHECK_STR(content, ((struct str){m->bytes, m->size}));
}

static void append_some(struct blob_fixture *f, struct model *m, uint32_t *random, bool flush)
{
    static const size_t SIZES[] = {1, 10, 300, 4000, 9000};
    struct waiting w = {.position =
                            draw(random, 3) == 0 ? draw(random, (uint32_t)m->size + 1) : m->size,
                        .length = SIZES[draw(random, 5)],
                        .letter = (char)('a' + draw(random, 26))};
    for (size_t i = 0; i < m->count && draw(random, 4) > 0; i++)
        w.position = m->appends[i].position + m->appends[i].length;
    if (w.position + w.length > FILE_MAX || m->count == APPENDS_MAX)
        return;
    char *text = arena_bytes(&f->arena, w.length + 1);
    memset(text, w.letter, w.length);
    text[w.length] = '\0';
    struct model before = *m;
    m->appends[m->count++] = w;
    bool taken = !flush || model_flush(m, w.position + w.length, false);
    struct err error = pf_append(f, bf_blob(f, "d/f"), w.position, text, flush);
    if (taken)
        CHECK_OK(error);
    else
        CHECK_ERR(error, ERR_INVALID_FLUSH_POSITION);
    if (!taken)
        *m = before; /* an append that cannot be flushed is not kept */
}

static void flush_some(struct blob_fixture *f, struct model *m, uint32_t *random)
{
    struct path_write_args args = {.request = bf_blob(f, "d/f"), .retain = draw(random, 2) == 0};
    size_t to = m->size;
    if (m->count > 0) {
        const struct waiting *w = &m->appends[draw(random, (uint32_t)m->count)];
        to = w->position + w->length;
    }
    args.position = to > m->size ? to : m->size;
    if (draw(random, 2) == 0) {
        struct err merged = path_merge_appends(&f->store, f->partition, &args);
        if (merged.code != ERR_INVALID_FLUSH_POSITION)
            CHECK_OK(merged);
    }
    struct err error = bf_update(f, path_flush, &args);
    if (model_flush(m, args.position, args.retain))
        CHECK_OK(error);
    else
        CHECK_ERR(error, ERR_INVALID_FLUSH_POSITION);
}

static void run_model(uint32_t seed)
{
    static struct model m;
    struct blob_fixture f;
    uint32_t random = seed;
    m = (struct model){0};
    pf_init(&f);
    CHECK_OK(pf_make(&f, bf_blob(&f, "d/f"), false));
    for (int i = 0; i < STEPS; i++) {
        uint32_t what = draw(&random, 10);
        if (what < 6)
            append_some(&f, &m, &random, false);
        else if (what < 8)
            append_some(&f, &m, &random, true);
        else
            flush_some(&f, &m, &random);
        check_content(&f, &m);
        if (draw(&random, 60) == 0) {
            CHECK_OK(pf_make(&f, bf_blob(&f, "d/f"), false));
            m = (struct model){0};
        }
    }
    bf_end(&f);
}

void test_path_appends_match_a_model(void)
{
    for (uint32_t seed = 1; seed <= 12; seed++)
        run_model(seed);
}

/* Small appends to an empty file are stored in its row; others in the row of the set, and are
 * removed with it. */
void test_path_small_appends_take_no_rows_of_their_own(void)
{
    struct blob_fixture f;
    pf_init(&f);
    CHECK_OK(pf_make(&f, bf_blob(&f, "f"), false));
    size_t rows = bf_rows(&f);
    CHECK_OK(pf_append(&f, bf_blob(&f, "f"), 0, "abc", false));
    CHECK_OK(pf_append(&f, bf_blob(&f, "f"), 3, "def", false));
    CHECK_INT(bf_rows(&f), rows);
    CHECK_OK(pf_flush(&f, bf_blob(&f, "f"), 6));
    CHECK_INT(bf_rows(&f), rows);
    CHECK_OK(pf_append(&f, bf_blob(&f, "f"), 6, "ghi", false));
    CHECK_OK(pf_append(&f, bf_blob(&f, "f"), 9, "jkl", false));
    CHECK_INT(bf_rows(&f), rows + 1);
    CHECK_OK(pf_flush(&f, bf_blob(&f, "f"), 12));
    CHECK_INT(bf_rows(&f), rows);
    CHECK_OK(pf_append(&f, bf_blob(&f, "f"), 12, "mno", true));
    CHECK_INT(bf_rows(&f), rows);
    bf_end(&f);
}

/* An abandoned set is removed after a week, with its content. */
void test_path_abandoned_appends_go(void)
{
    struct blob_fixture f;
    pf_init(&f);
    CHECK_OK(pf_make(&f, bf_blob(&f, "f"), false));
    bf_sweep(&f);
    size_t rows = bf_rows(&f);
    CHECK_OK(pf_append(&f, bf_blob(&f, "f"), 0, "abc", false));
    CHECK_OK(pf_rename(&f, bf_blob(&f, "f"), bf_blob(&f, "g")));
    bf_seconds(&f, 8 * 86400);
    bf_sweep(&f);
    CHECK_INT(bf_rows(&f), rows);
    CHECK_ERR(pf_flush(&f, bf_blob(&f, "g"), 3), ERR_INVALID_FLUSH_POSITION);
    CHECK_OK(pf_append(&f, bf_blob(&f, "g"), 0, "abc", true));
    bf_end(&f);
}

/* Appends stored in the row of the empty file stay with it through all operations on the file. */
void test_path_small_appends_outlive_changes_of_the_file(void)
{
    struct blob_fixture f;
    int64_t snapshot;
    pf_init(&f);
    CHECK_OK(pf_make(&f, bf_blob(&f, "d/f"), false));
    CHECK_OK(pf_append(&f, bf_blob(&f, "d/f"), 0, "abc", false));
    CHECK_OK(bf_set_metadata(&f, bf_blob(&f, "d/f"), "value", NULL));
    CHECK_OK(bf_acquire(&f, "d/f", 'a', 15));
    bf_seconds(&f, 16);
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "d/f"), &snapshot));
    CHECK_OK(pf_rename(&f, bf_blob(&f, "d"), bf_blob(&f, "e")));
    CHECK_OK(pf_rename(&f, bf_blob(&f, "e/f"), bf_blob(&f, "g")));
    CHECK_ERR(bf_stage(&f, bf_blob(&f, "g"), "x", STR("block")), ERR_BLOB_OPERATION_NOT_SUPPORTED);
    CHECK_STR(bf_content(&f, "g"), STR(""));
    CHECK_OK(pf_append(&f, bf_blob(&f, "g"), 3, "def", false));
    CHECK_OK(pf_flush(&f, bf_blob(&f, "g"), 6));
    CHECK_STR(bf_content(&f, "g"), STR("abcdef"));
    CHECK_OK(pf_delete(&f, bf_blob(&f, "g"), false));
    bf_end(&f);
}

/* They are dropped when the file gets another content, and move to a set when they do not fit. */
void test_path_small_appends_end_and_move(void)
{
    struct blob_fixture f;
    pf_init(&f);
    CHECK_OK(pf_make(&f, bf_blob(&f, "f"), false));
    CHECK_OK(pf_append(&f, bf_blob(&f, "f"), 0, "abc", false));
    CHECK_OK(bf_put(&f, bf_blob(&f, "f"), STR("other"), NULL));
    CHECK_ERR(pf_flush(&f, bf_blob(&f, "f"), 8), ERR_INVALID_FLUSH_POSITION);
    CHECK_STR(bf_content(&f, "f"), STR("other"));
    CHECK_OK(pf_make(&f, bf_blob(&f, "f"), false));
    CHECK_OK(pf_append(&f, bf_blob(&f, "f"), 0, "abc", false));
    CHECK_OK(bf_commit(&f, bf_blob(&f, "f"), "", NULL));
    CHECK_ERR(pf_flush(&f, bf_blob(&f, "f"), 3), ERR_INVALID_FLUSH_POSITION);
    struct str large = bf_bytes(&f, BLOB_BESIDE_MAX, 1);
    char *text = arena_bytes(&f.arena, large.n + 1);
    memset(text, 'x', large.n);
    text[large.n] = '\0';
    CHECK_OK(pf_append(&f, bf_blob(&f, "f"), 0, "abc", false));
    CHECK_OK(pf_append(&f, bf_blob(&f, "f"), 3, text, false));
    CHECK_OK(pf_append(&f, bf_blob(&f, "f"), 3 + large.n, "end", false));
    struct path_write_args some = {.request = bf_blob(&f, "f"), .position = 3, .retain = true};
    CHECK_OK(bf_update(&f, path_flush, &some));
    CHECK_STR(bf_content(&f, "f"), STR("abc"));
    CHECK_OK(pf_flush(&f, bf_blob(&f, "f"), 6 + large.n));
    CHECK_INT(bf_content(&f, "f").n, 6 + large.n);
    bf_end(&f);
}

/* As many as the head lists, and more: those go on in a set. */
void test_path_many_tiny_appends_to_an_empty_file(void)
{
    enum { TINY = 40 };
    struct blob_fixture f;
    pf_init(&f);
    CHECK_OK(pf_make(&f, bf_blob(&f, "f"), false));
    size_t rows = bf_rows(&f);
    for (uint64_t i = 0; i < TINY; i++)
        CHECK_OK(pf_append(&f, bf_blob(&f, "f"), 2 * i, i % 2 == 0 ? "ab" : "cd", false));
    CHECK_INT(bf_rows(&f), rows + 1);
    CHECK_OK(pf_flush(&f, bf_blob(&f, "f"), (uint64_t)2 * TINY));
    CHECK_INT(bf_rows(&f), rows);
    CHECK_INT(bf_content(&f, "f").n, 2 * TINY);
    CHECK(str_starts(bf_content(&f, "f"), STR("abcdabcdab")));
    bf_end(&f);
}

/* Puts appends into the file's row as earlier versions did: the body alone has everything. */
static struct err append_as_before(struct txn *t, void *arg)
{
    const struct blob_request *request = arg;
    struct piece piece = {.kind = PIECE_INLINE, .length = 3, .bytes = "abc"};
    struct pieces pieces = {.items = &piece, .count = 1};
    struct buf body = buf_in(txn_arena(t)), row = buf_in(txn_arena(t));
    struct blob blob;
    TRY(blob_open(t, request, BLOB_ALTER, &blob));
    buf_put_be64(&body, 0);
    buf_put_be64(&body, (uint64_t)txn_stamp(t));
    pieces_encode(&row, &pieces);
    buf_put_bytes(&body, buf_str(&row));
    blob.body = buf_str(&body);
    blob.head.appended = txn_now(t);
    return blob_save_unchanged(t, &blob);
}

void test_path_appends_of_earlier_versions_are_flushed(void)
{
    struct blob_fixture f;
    pf_init(&f);
    for (int more = 0; more < 2; more++) {
        struct blob_request request = bf_blob(&f, "f");
        CHECK_OK(pf_make(&f, request, false));
        CHECK_OK(bf_update(&f, append_as_before, &request));
        CHECK_OK(bf_set_metadata(&f, request, "value", NULL));
        if (more)
            CHECK_OK(pf_append(&f, request, 3, "def", false));
        CHECK_OK(pf_flush(&f, request, more ? 6 : 3));
        CHECK_STR(bf_content(&f, "f"), more ? STR("abcdef") : STR("abc"));
    }
    bf_end(&f);
}

static void append_many(struct blob_fixture *f, size_t count, uint64_t *position)
{
    for (size_t i = 0; i < count; i++) {
        size_t n = i % 100 == 0 ? 20000 : 100 + i % 7;
        char *text = arena_bytes(&f->arena, n + 1);
        memset(text, 'a' + (char)(i % 26), n);
        text[n] = '\0';
        CHECK_OK(pf_append(f, bf_blob(f, "f"), *position, text, false));
        *position += n;
    }
}

/* Many appends are merged before they are flushed, and those beyond are kept or dropped. */
void test_path_flush_of_many_appends(void)
{
    enum { MANY = 1500 };
    struct blob_fixture f;
    uint64_t first = 0;
    pf_init(&f);
    CHECK_OK(pf_make(&f, bf_blob(&f, "f"), false));
    append_many(&f, MANY, &first);
    uint64_t second = first;
    append_many(&f, 10, &second);
    struct path_write_args args = {.request = bf_blob(&f, "f"), .position = first, .retain = true};
    CHECK_ERR(bf_update(&f, path_flush, &args), ERR_STAGE_STALE);
    args.position = first + 1;
    CHECK_ERR(path_merge_appends(&f.store, f.partition, &args), ERR_INVALID_FLUSH_POSITION);
    args.position = first;
    size_t rows = bf_rows(&f);
    CHECK_OK(path_merge_appends(&f.store, f.partition, &args));
    CHECK(bf_rows(&f) < rows - MANY / 2);
    CHECK_OK(bf_update(&f, path_flush, &args));
    CHECK_INT(bf_content(&f, "f").n, first);
    CHECK_OK(pf_append(&f, bf_blob(&f, "f"), second, "end", true));
    struct str content = bf_content(&f, "f");
    CHECK_INT(content.n, second + 3);
    CHECK_STR(str_from(content, second), STR("end"));
    CHECK_INT(content.p[20000], 'b');
    CHECK_OK(pf_delete(&f, bf_blob(&f, "f"), false));
    bf_end(&f);
}

/* A client repeats an append whose answer was lost: the file can still be flushed, also with many
 * appends, and only a flush with too many repetitions is refused. */
void test_path_flush_of_repeated_appends(void)
{
    enum { MANY = 1500 };
    struct blob_fixture f;
    uint64_t end = 0, again;
    pf_init(&f);
    CHECK_OK(pf_make(&f, bf_blob(&f, "f"), false));
    append_many(&f, MANY, &end);
    CHECK_OK(pf_append(&f, bf_blob(&f, "f"), 0, "later", false));
    CHECK_OK(pf_append(&f, bf_blob(&f, "f"), 3, "latest", false));
    CHECK_OK(pf_append(&f, bf_blob(&f, "f"), end - 2, "!!", false));
    struct path_write_args args = {.request = bf_blob(&f, "f"), .position = end};
    size_t rows = bf_rows(&f);
    CHECK_OK(path_merge_appends(&f.store, f.partition, &args));
    CHECK(bf_rows(&f) < rows - MANY / 2);
    CHECK_OK(bf_update(&f, path_flush, &args));
    struct str content = bf_content(&f, "f");
    CHECK_INT(content.n, end);
    CHECK_STR(str_head(content, 9), STR("latlatest"));
    CHECK_STR(str_from(content, end - 2), STR("!!"));
    CHECK_INT(content.p[20000], 'b');
    again = end;
    append_many(&f, PATH_OVERLAPS_MAX, &again);
    again = end;
    append_many(&f, PATH_OVERLAPS_MAX, &again);
    args.position = again;
    CHECK_ERR(path_merge_appends(&f.store, f.partition, &args), ERR_INVALID_FLUSH_POSITION);
    CHECK_OK(pf_delete(&f, bf_blob(&f, "f"), false));
    bf_end(&f);
}
