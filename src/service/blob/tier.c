/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/tier.h"

#include <assert.h>

struct err blob_check_tier_size(const struct blob_head *head)
{
    return head->size <= blob_tier_size_max(head->tier)
               ? OK
               : err_new(ERR_BLOB_TIER_INADEQUATE_FOR_CONTENT_LENGTH);
}

static void change(struct txn *t, struct blob_head *head, enum blob_tier tier)
{
    if (head->tier == tier)
        return;
    head->tier = tier;
    head->tier_changed = txn_now(t);
}

static struct err set_of_pages(struct txn *t, struct blob_head *head, enum blob_tier tier)
{
    if (!blob_tier_is_for_pages(tier))
        return err_new(ERR_INVALID_BLOB_TIER);
    if (tier < head->tier)
        return err_new(ERR_CANNOT_CHANGE_TO_LOWER_TIER);
    change(t, head, tier);
    return blob_check_tier_size(head);
}

/* The rehydration of a blob can be requested again with the same target tier, also with a higher
 * priority; another target is refused. */
static struct err rehydrate(struct txn *t, struct blob_head *head, struct blob_tier_args *args)
{
    bool under_way = head->rehydrate != BLOB_TIER_NONE;
    if (under_way && head->rehydrate != args->tier)
        return err_new(ERR_BLOB_BEING_REHYDRATED);
    args->rehydrates = true;
    head->rehydrate_high = head->rehydrate_high || args->high_priority;
    if (!under_way) {
        head->rehydrate = args->tier;
        head->rehydrate_at = txn_now(t) + args->rehydrate_ticks;
    }
    blob_head_settle(head, txn_now(t));
    return OK;
}

static struct err set_of_block(struct txn *t, struct blob_head *head, struct blob_tier_args *args)
{
    if (blob_tier_is_for_pages(args->tier))
        return err_new(ERR_INVALID_BLOB_TIER);
    if (head->rehydrate != BLOB_TIER_NONE ||
        (head->tier == BLOB_TIER_ARCHIVE && args->tier != BLOB_TIER_ARCHIVE)) {
        /* A snapshot can leave the archive only by a copy: the service was recorded so. */
        if (args->request.at.item == BLOB_SNAPSHOT)
            return err_new(ERR_BLOB_OPERATION_NOT_SUPPORTED);
        return rehydrate(t, head, args);
    }
    change(t, head, args->tier);
    return OK;
}

struct err blob_set_blob_tier(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct blob_tier_args *args = arg;
    struct blob blob;
    args->rehydrates = false;
    TRY(blob_open(t, &args->request, BLOB_CHANGE, &blob));
    if (blob.head.type == BLOB_APPEND)
        return err_new(ERR_INVALID_BLOB_TYPE);
    if (blob.head.type == BLOB_PAGE)
        TRY(set_of_pages(t, &blob.head, args->tier));
    else
        TRY(set_of_block(t, &blob.head, args));
    return blob_save_unchanged(t, &blob);
}
