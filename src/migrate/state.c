/* SPDX-License-Identifier: Apache-2.0 */
/* The row with the progress of a migration. */
#include <assert.h>

#include "engine/wait.h"
#include "migrate/migrate_internal.h"

#define STATE_KEY STR("state")

enum { STATE_FORMAT = 1 };

static void state_encode(struct buf *b, const struct migrate_state *s)
{
    buf_put_u8(b, STATE_FORMAT);
    buf_put_u8(b, (uint8_t)s->phase);
    buf_put_bytes(b, s->source);
    buf_put_u8(b, str_given(s->partition));
    buf_put_bytes(b, s->partition);
    buf_put_bytes(b, s->key);
    buf_put_varint(b, s->copied_rows);
    buf_put_varint(b, s->copied_bytes);
    buf_put_varint(b, s->total_rows);
    buf_put_varint(b, s->total_bytes);
    buf_put_varint(b, s->of_extents);
}

static bool state_decode(struct str value, struct arena *a, struct migrate_state *s)
{
    struct reader r = reader_of(value);
    uint8_t format = read_u8(&r);
    *s = (struct migrate_state){.phase = (enum migrate_phase)read_u8(&r)};
    s->source = arena_copy(a, read_bytes(&r));
    bool begun = read_u8(&r) != 0;
    struct str partition = arena_copy(a, read_bytes(&r));
    struct str key = arena_copy(a, read_bytes(&r));
    if (begun) {
        s->partition = partition;
        s->key = key;
    }
    s->copied_rows = read_varint(&r);
    s->copied_bytes = read_varint(&r);
    s->total_rows = read_varint(&r);
    s->total_bytes = read_varint(&r);
    s->of_extents = read_varint(&r);
    return format == STATE_FORMAT && reader_done(&r) &&
           (s->phase == PHASE_COPY || s->phase == PHASE_CLEAR);
}

struct loading {
    struct arena *arena;
    struct migrate_state *out;
    bool found;
};

static struct err load(struct txn *t, void *arg)
{
    struct loading *l = arg;
    struct str value;
    TRY(txn_get(t, STATE_KEY, &value));
    l->found = str_given(value);
    if (l->found && !state_decode(value, l->arena, l->out))
        return migrate_failed("the row that tells how far the migration is cannot be read");
    return OK;
}

struct err migrate_state_load(struct engine *e, struct arena *a, struct migrate_state *out,
                              bool *found)
{
    assert(found != NULL);
    struct loading l = {.arena = a, .out = out};
    TRY(engine_view(e, MIGRATE_PARTITION, ENGINE_WAIT, load, &l));
    *found = l.found;
    return OK;
}

static struct err save(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    const struct migrate_state *state = arg;
    struct buf b = buf_in(txn_arena(t));
    if (state == NULL)
        return txn_del(t, STATE_KEY);
    state_encode(&b, state);
    return txn_put(t, STATE_KEY, buf_str(&b));
}

struct err migrate_state_save(struct engine *e, const struct migrate_state *state)
{
    struct migrate_state copy;
    if (state == NULL)
        return engine_update_wait(e, MIGRATE_PARTITION, save, NULL);
    copy = *state;
    return engine_update_wait(e, MIGRATE_PARTITION, save, &copy);
}

struct err migrate_unfinished(struct engine *e, bool *unfinished)
{
    struct arena arena;
    struct migrate_state state;
    arena_init(&arena, SIZE_MAX);
    struct err error = migrate_state_load(e, &arena, &state, unfinished);
    arena_release(&arena);
    return error;
}
