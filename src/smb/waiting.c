/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/waiting.h"

#include "smb/open.h"

/* On any thread. */
static void wait_done(struct opens_wait *wait)
{
    run_wake(&CONTAINER_OF(wait, struct smb_waiting, wait)->q->run);
}

static bool take_back(struct smb_request *q)
{
    return opens_wait_cancel(smb_opens_table(q), &q->waiting->wait);
}

static void patience_over(struct smb_request *q)
{
    opens_wait_over(smb_opens_table(q), &q->waiting->wait);
}

void smb_waiting_init(struct smb_waiting *w, struct smb_request *q)
{
    *w = (struct smb_waiting){.wait.done = wait_done, .q = q};
}

void smb_wait_for_caches(struct smb_waiting *w, smb_then *then)
{
    static const struct smb_wait CACHES = {
        .patience_ms = OPENS_SMB_BREAK_MS, .take_back = take_back, .over = patience_over};
    w->q->waiting = w;
    smb_wait_for(w->q, &CACHES, then);
}

void smb_wait_for_lock(struct smb_waiting *w, bool patient, smb_then *then)
{
    static const struct smb_wait LOCK = {.take_back = take_back};
    static const struct smb_wait CLAIM = {.take_back = take_back, .quiet = true};
    w->q->waiting = w;
    smb_wait_for(w->q, patient ? &LOCK : &CLAIM, then);
}
