/* SPDX-License-Identifier: Apache-2.0 */
#include "migrate/migrate.h"

#include <stdlib.h>

#include "core/mem.h"
#include "engine/wait.h"
#include "migrate/migrate_internal.h"

void migrate_tell(const struct migrate *m, const char *doing, uint64_t done, uint64_t of)
{
    if (m->progress != NULL)
        m->progress(m->arg, doing, done < of ? done : of, of);
}

struct err migrate_failed(const char *sentence)
{
    return err_detail(ERR_MIGRATION, sentence);
}

static size_t rows_of_page(const struct migrate *m)
{
    return m->page_rows == 0 ? PAGE_ROWS : m->page_rows;
}

/* ---- how much there is ---- */

static struct err count_source(struct migrate *m, struct migrate_state *state)
{
    struct page page;
    struct err e;
    struct str partition = {0};
    struct str key = {0};
    migrate_page_init(&page, rows_of_page(m), true);
    do {
        e = migrate_page_read(&page, m, m->from, partition, key);
        if (err_is(e))
            break;
        state->total_rows += page.count;
        state->total_bytes += page.bytes;
        state->of_extents += page.extent_bytes;
        if (page.count > 0) {
            partition = page.rows[page.count - 1].partition;
            key = page.rows[page.count - 1].key;
        }
        migrate_tell(m, "counting", 0, state->total_bytes + state->of_extents);
    } while (!page.last);
    migrate_page_release(&page);
    return e;
}

/* ---- rows ---- */

/* Rows of one partition, which one update writes. */
struct portion {
    struct grouped_update grouped;
    const struct migrate *migrate;
    struct page *page;
    const struct extent_map *map;
    const struct str *values; /* rewritten; of all rows of the page */
    size_t first, count;
};

static struct err write_row(struct txn *t, const struct portion *p, size_t i)
{
    const struct page_row *row = &p->page->rows[i];
    struct engine_row put = {.key = row->key, .value = p->values[i], .body = row->body};
    TRY(txn_insert(t, &put));
    for (size_t k = 0; k < row->extent_count; k++) {
        const struct extent *old = &p->page->extents[row->extent_first + k];
        TRY(txn_extent(t, EXTENT_HOLD, migrate_map_find(p->map, old)));
    }
    return OK;
}

/* An existing row was written before the process was killed, and holds its extents. */
static struct err write_portion(struct txn *t, void *arg)
{
    const struct portion *p = arg;
    struct engine_read *reads = ARENA_ARRAY(txn_arena(t), struct engine_read, p->count);
    for (size_t i = 0; i < p->count; i++)
        reads[i].key = p->page->rows[p->first + i].key;
    TRY(txn_get_many(t, reads, p->count));
    for (size_t i = 0; i < p->count; i++)
        if (!str_given(reads[i].value))
            TRY(write_row(t, p, p->first + i));
    return OK;
}

/* One portion for each partition of the page. */
static size_t cut_portions(const struct portion *common, struct portion *portions,
                           struct grouped_update **updates)
{
    const struct page *p = common->page;
    size_t count = 0;
    for (size_t i = 0; i < p->count; i++) {
        if (i > 0 && str_eq(p->rows[i].partition, p->rows[i - 1].partition)) {
            portions[count - 1].count++;
            continue;
        }
        struct portion *one = &portions[count];
        *one = *common;
        one->first = i;
        one->count = 1;
        one->grouped.update = (struct engine_update){
            .partition = p->rows[i].partition, .fn = write_portion, .arg = one};
        updates[count++] = &one->grouped;
    }
    return count;
}

static struct err write_rows(const struct migrate *m, struct page *p, const struct extent_map *map)
{
    struct str *values = ARENA_ARRAY(&p->arena, struct str, p->count + 1);
    struct portion *portions = ARENA_ARRAY(&p->arena, struct portion, p->count + 1);
    struct grouped_update **updates = ARENA_ARRAY(&p->arena, struct grouped_update *, p->count + 1);
    for (size_t i = 0; i < p->count; i++)
        TRY(migrate_row_rewrite(m, p, &p->rows[i], map, &values[i]));
    struct portion common = {.migrate = m, .page = p, .map = map, .values = values};
    size_t count = cut_portions(&common, portions, updates);
    engine_updates_wait(m->to, updates, count);
    for (size_t i = 0; i < count; i++)
        TRY(updates[i]->update.result);
    return OK;
}

static struct err copy_page(const struct migrate *m, struct page *p, struct migrate_state *state)
{
    struct extent_map map;
    TRY(migrate_map_load(&map, m, p));
    TRY(migrate_map_complete(&map, m, state));
    TRY(write_rows(m, p, &map));
    if (p->count > 0) {
        state->partition = p->rows[p->count - 1].partition;
        state->key = p->rows[p->count - 1].key;
    }
    state->copied_rows += p->count;
    state->copied_bytes += p->bytes + p->extent_bytes;
    TRY(migrate_state_save(m->to, state));
    migrate_tell(m, "copying", state->copied_bytes, state->total_bytes + state->of_extents);
    return OK;
}

static struct err copy_all(const struct migrate *m, struct migrate_state *state)
{
    struct page page;
    struct err e;
    migrate_page_init(&page, rows_of_page(m), true);
    do {
        e = migrate_page_read(&page, m, m->from, state->partition, state->key);
        if (!err_is(e))
            e = copy_page(m, &page, state);
    } while (!err_is(e) && !page.last);
    /* The place lies in the page. */
    state->partition = (struct str){0};
    state->key = (struct str){0};
    migrate_page_release(&page);
    return e;
}

/* ---- the whole ---- */

/* A destination without an unfinished migration must be empty. */
static struct err begin(struct migrate *m, struct migrate_state *state)
{
    struct page page;
    migrate_page_init(&page, 1, false);
    struct err e = migrate_page_read(&page, m, m->to, (struct str){0}, (struct str){0});
    bool empty = page.count == 0;
    migrate_page_release(&page);
    TRY(e);
    if (!empty)
        return migrate_failed("the destination is not empty");
    *state = (struct migrate_state){.phase = PHASE_COPY, .source = str_of(m->source)};
    TRY(count_source(m, state));
    return migrate_state_save(m->to, state);
}

static struct err resume(struct migrate *m, const struct migrate_state *state)
{
    m->resumed = true;
    if (!str_eq(state->source, str_of(m->source)))
        return migrate_failed("a migration from another source into this destination has not "
                              "ended");
    return OK;
}

static struct err run_phases(struct migrate *m, struct migrate_state *state)
{
    if (state->phase == PHASE_COPY) {
        TRY(copy_all(m, state));
        TRY(migrate_verify(m, state));
        state->phase = PHASE_CLEAR;
        TRY(migrate_state_save(m->to, state));
    }
    TRY(migrate_pairs_clear(m));
    m->rows = state->total_rows;
    m->bytes = state->total_bytes + state->of_extents;
    return migrate_state_save(m->to, NULL);
}

struct err migrate_run(struct migrate *m)
{
    struct arena arena;
    struct migrate_state state;
    bool found = false, half = false;
    arena_init(&arena, SIZE_MAX);
    struct err e = migrate_unfinished(m->from, &half);
    if (!err_is(e) && half)
        e = migrate_failed("a migration into the source has not ended");
    if (!err_is(e))
        e = migrate_state_load(m->to, &arena, &state, &found);
    if (!err_is(e))
        e = found ? resume(m, &state) : begin(m, &state);
    if (!err_is(e))
        e = run_phases(m, &state);
    arena_release(&arena);
    return e;
}
