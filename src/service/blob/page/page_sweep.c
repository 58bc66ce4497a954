/* SPDX-License-Identifier: Apache-2.0 */
/* Background work on a blob's pages: removes what was cut out in bulk, and folds chunks fragmented
 * by small writes into one extent again. */
#include <assert.h>

#include "service/blob/page/page.h"
#include "service/blob/sweep.h"
#include "service/common/content/interval_fold.h"

enum { VOID_ROWS_MAX = 500 }; /* per step */

/* ---- notes ---- */

struct err blob_pages_keep(struct txn *t, const struct blob_request *request, struct blob *blob,
                           const struct interval_map *m)
{
    struct blob_head *head = &blob->head;
    struct sweep_item item = {SWEEP_PAGES_VOIDS, blob->container.incarnation, head->content};
    struct buf voids = buf_in(txn_arena(t));
    head->page_rows =
        (m->has_chunks ? BLOB_PAGE_HAS_CHUNKS : 0) | (m->has_blocks ? BLOB_PAGE_HAS_BLOCKS : 0);
    head->page_voids = STR_NONE;
    if (m->void_count > 0) {
        interval_voids_encode(&voids, m);
        head->page_voids = buf_str(&voids);
        TRY(blob_sweep_add_once(t, &item, 0, request->name));
    }
    if (!m->fold_wanted)
        return OK;
    item.kind = SWEEP_PAGES_FOLD;
    return blob_sweep_add_once(t, &item, m->fold_chunk, request->name);
}

/* Finds the blob of the note; *found is false if it was deleted or has other pages now. */
static struct err find_blob(struct txn *t, const struct sweep_item *item,
                            const struct blob_request *request, struct blob *blob, bool *found)
{
    *found = false;
    struct err e = blob_load(t, request, blob);
    if (e.code == ERR_CONTAINER_NOT_FOUND)
        return OK;
    TRY(e);
    *found = blob->exists && blob->container.incarnation == item->incarnation &&
             blob->head.type == BLOB_PAGE && blob->head.content == item->id;
    return OK;
}

/* ---- voids ---- */

struct err blob_pages_sweep_voids(struct txn *t, const struct sweep_item *item, struct str name,
                                  bool *done)
{
    assert(done != NULL);
    struct blob_request request = {.arena = txn_arena(t), .name = name};
    struct blob blob;
    struct blob_pages pages;
    bool found;
    *done = true;
    TRY(find_blob(t, item, &request, &blob, &found));
    if (!found || blob.head.page_voids.n == 0)
        return OK;
    TRY(blob_pages_open(t, &request, &blob, &pages));
    TRY(interval_sweep_voids(&pages.map, VOID_ROWS_MAX, done));
    TRY(blob_pages_keep(t, &request, &blob, &pages.map));
    return blob_save_unchanged(t, &blob);
}

/* ---- folding ---- */

struct fold_step {
    struct sweep_item item;
    struct str name; /* of the blob */
    struct str note; /* its key */
    struct blob_request request;
    struct blob blob;
    struct blob_pages pages;
};

static struct err open_fold(struct txn *t, void *arg, struct interval_map **map)
{
    struct fold_step *f = arg;
    bool found;
    *map = NULL;
    f->request = (struct blob_request){.arena = txn_arena(t), .name = f->name};
    TRY(find_blob(t, &f->item, &f->request, &f->blob, &found));
    if (!found)
        return OK;
    TRY(blob_pages_open(t, &f->request, &f->blob, &f->pages));
    *map = &f->pages.map;
    return OK;
}

static struct err drop_fold_note(struct txn *t, void *arg)
{
    const struct fold_step *f = arg;
    return txn_del(t, f->note);
}

static struct err keep_fold(struct txn *t, void *arg)
{
    struct fold_step *f = arg;
    TRY(blob_pages_keep(t, &f->request, &f->blob, &f->pages.map));
    return blob_save_unchanged(t, &f->blob);
}

struct err blob_pages_fold(struct store *store, struct str partition, const struct blob_fold *what)
{
    struct fold_step step = {.item = what->item, .name = what->name, .note = what->note};
    struct interval_folding folding = {.partition = partition,
                                       .chunk = what->chunk,
                                       .arg = &step,
                                       .open = open_fold,
                                       .drop_note = drop_fold_note,
                                       .keep = keep_fold};
    return interval_fold_run(store->engine, &folding);
}
