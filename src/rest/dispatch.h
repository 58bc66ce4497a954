/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a request that dispatch.c, body.c and scripted.c share. */
#ifndef REST_DISPATCH_H
#define REST_DISPATCH_H

#include "rest/body/bulk.h"
#include "rest/body/digest.h"
#include "rest/call.h"
#include "rest/watch/script.h"

struct dispatch {
    struct rest_call call;
    struct err outcome;
    bool replied;
    bool handed; /* another gateway answers it */
    /* The body: body.c. */
    struct buf small_body;
    struct digest digest;
    struct bulk_body bulk; /* of a large streamed body */
    bool sink_open;        /* take or end may still be called, drop is owed */
    bool body_ended;
    /* Test control: scripted.c. */
    struct script_stop stop;
    struct script_deed deed;
    enum script_point point;
    bool scripted; /* the point after the commit was passed */
};

static inline struct dispatch *dispatch_of(const struct http_exchange *x)
{
    return x->user;
}

/* ---- dispatch.c ---- */

/* The body is complete, or has failed; the row's decode was called. Starts to run it. */
void dispatch_begin(struct dispatch *d, struct err error);
/* Runs the row's transaction, or `start`. */
void dispatch_run(struct dispatch *d);
/* Encodes and answers, or answers the error. */
void dispatch_finish(struct dispatch *d, struct err error);
COLD void dispatch_fail(struct dispatch *d, struct err error);
/* Sends no answer; committed changes stay. */
COLD void dispatch_cut(struct dispatch *d);

/* ---- body.c ---- */

/* The head is accepted: where the body will go is known. */
void body_begin(struct dispatch *d);
void body_take(struct dispatch *d, struct str bytes);
/* Ends in dispatch_begin, now or later. */
void body_end(struct dispatch *d);
/* Frees what was stored of the body, unless the store owns it now. */
void body_give_back(struct dispatch *d);
/* It does. */
static inline void body_is_kept(struct dispatch *d)
{
    d->sink_open = false;
}

/* ---- scripted.c ---- */

/* A point at which test control may stop the call or make it fail; continues with dispatch_run or
 * dispatch_finish. */
void scripted_meet(struct dispatch *d, enum script_point point);

#endif
