/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/touch.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/mem.h"
#include "engine/wait.h"
#include "service/blob/access.h"

enum { STEP_MAX = 128 }; /* blobs of one container in one update */

/* A note, in a slot that depends on its blob. If the slot is in use, a later read tries again. */
struct note {
    char *bytes; /* partition and name, one after the other; NULL: the slot is free */
    size_t partition_n, name_n;
    int64_t at;
};

struct blob_touches {
    pthread_mutex_t lock;
    struct note notes[BLOB_TOUCHES_MAX];
    size_t count;
};

struct blob_touches *blob_touches_new(void)
{
    struct blob_touches *touches = MEM_NEW(struct blob_touches);
    (void)pthread_mutex_init(&touches->lock, NULL);
    return touches;
}

void blob_touches_free(struct blob_touches *touches)
{
    if (touches == NULL)
        return;
    for (size_t i = 0; i < BLOB_TOUCHES_MAX; i++)
        free(touches->notes[i].bytes);
    (void)pthread_mutex_destroy(&touches->lock);
    free(touches);
}

/* FNV-1a. */
static size_t slot_of(const struct blob_touch *touch)
{
    uint64_t hash = 0xCBF29CE484222325ULL;
    const struct str parts[] = {touch->partition, touch->name};
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < parts[k].n; i++)
            hash = (hash ^ (unsigned char)parts[k].p[i]) * 0x100000001B3ULL;
    return (size_t)((hash ^ hash >> 32) % BLOB_TOUCHES_MAX);
}

void blob_touch(struct blob_touches *touches, const struct blob_touch *touch,
                const struct blob_head *head)
{
    if (touches == NULL || head->accessed + BLOB_TOUCH_TICKS > touch->at)
        return;
    struct note *note = &touches->notes[slot_of(touch)];
    (void)pthread_mutex_lock(&touches->lock);
    if (note->bytes == NULL) {
        *note = (struct note){mem_alloc(touch->partition.n + touch->name.n), touch->partition.n,
                              touch->name.n, touch->at};
        memcpy(note->bytes, touch->partition.p, touch->partition.n);
        memcpy(note->bytes + touch->partition.n, touch->name.p, touch->name.n);
        touches->count++;
    }
    (void)pthread_mutex_unlock(&touches->lock);
}

/* ---- writing down ---- */

struct step {
    struct note notes[STEP_MAX]; /* all of one partition */
    size_t count;
};

static struct str partition_of(const struct note *note)
{
    return (struct str){note->bytes, note->partition_n};
}

/* Takes the notes of one container out. */
static void take_notes(struct blob_touches *touches, struct step *step, bool *more)
{
    (void)pthread_mutex_lock(&touches->lock);
    for (size_t i = 0; touches->count > 0 && i < BLOB_TOUCHES_MAX && step->count < STEP_MAX; i++) {
        struct note *note = &touches->notes[i];
        if (note->bytes == NULL ||
            (step->count > 0 && !str_eq(partition_of(note), partition_of(&step->notes[0]))))
            continue;
        step->notes[step->count++] = *note;
        note->bytes = NULL;
        touches->count--;
    }
    *more = touches->count > 0;
    (void)pthread_mutex_unlock(&touches->lock);
}

static struct err write_note(struct txn *t, const struct container *container,
                             const struct note *note)
{
    static const struct blob_at base = {.item = BLOB_BASE};
    struct blob blob = {.container = *container};
    struct str row;
    blob.key = blob_key_head(txn_arena(t), container->incarnation,
                             (struct str){note->bytes + note->partition_n, note->name_n}, &base);
    TRY(txn_get(t, blob.key, &row));
    TRY(blob_take_row(&blob, row));
    if (!blob.exists || blob.head.accessed >= note->at)
        return OK;
    blob.head.accessed = note->at;
    return blob_save_unchanged(t, &blob);
}

/* A deleted container or blob needs no access time. */
static struct err write_notes(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    const struct step *step = arg;
    struct container container;
    struct err e = container_load(t, &container);
    if (e.code == ERR_CONTAINER_NOT_FOUND)
        return OK;
    for (size_t i = 0; i < step->count && !err_is(e); i++)
        e = write_note(t, &container, &step->notes[i]);
    return e;
}

struct err blob_touch_sweep(struct store *store, void *context, struct sweep_report *report)
{
    struct step step = {.count = 0};
    (void)context;
    if (store->touches == NULL)
        return OK;
    take_notes(store->touches, &step, &report->more);
    if (step.count == 0)
        return OK;
    struct err e =
        engine_update_wait(store->engine, partition_of(&step.notes[0]), write_notes, &step);
    for (size_t i = 0; i < step.count; i++)
        free(step.notes[i].bytes);
    return e;
}
