/* SPDX-License-Identifier: Apache-2.0 */
/* Test control: the routes below /control/v1/. Off unless --test-control was given. */
#ifndef ADMIN_CONTROL_H
#define ADMIN_CONTROL_H

#include "core/arena.h"
#include "core/clock.h"
#include "core/err.h"
#include "service/common/saved.h"

struct admin_call;
struct registry;
struct script;

/* The objects that test control changes; all zero: it is off. */
struct admin_control {
    struct script *script;
    struct registry *registry;
    struct clock_control *clock;
    saved_refs *refs; /* reports the extents that a row names */
    struct saved *saved;
    /* Creates what a manifest (docs/admin-api.md) describes. ERR_INVALID_INPUT with a sentence in
     * the arena. Blocks. */
    struct err (*seed)(void *arg, struct str manifest, struct arena *arena);
    void *seed_arg;
    const char *token; /* NULL: none; then only this machine has access */
};

void control_get_accounts(struct admin_call *call);
void control_post_account(struct admin_call *call);
void control_delete_account(struct admin_call *call);
void control_post_reset(struct admin_call *call);
void control_post_seed(struct admin_call *call);
void control_get_clock(struct admin_call *call);
void control_post_clock(struct admin_call *call);
void control_get_snapshots(struct admin_call *call);
void control_put_snapshot(struct admin_call *call);
void control_post_snapshot(struct admin_call *call);
void control_delete_snapshot(struct admin_call *call);

/* ---- control_script.c ---- */
void control_get_faults(struct admin_call *call);
void control_post_fault(struct admin_call *call);
void control_put_faults(struct admin_call *call);
void control_delete_fault(struct admin_call *call);
void control_get_holds(struct admin_call *call);
void control_get_hold(struct admin_call *call);
void control_post_hold(struct admin_call *call);
void control_post_release(struct admin_call *call);
void control_delete_hold(struct admin_call *call);

/* ---- control_requests.c ---- */
void control_get_requests(struct admin_call *call);
void control_delete_requests(struct admin_call *call);

#endif
