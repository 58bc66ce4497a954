/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/waiting.h"

#include "smb/message.h"
#include "smb/open.h"

/* On any thread. */
static void wait_done(struct opens_wait *wait)
{
    struct smb_waiting *w =
        (struct smb_waiting *)((char *)wait - offsetof(struct smb_waiting, wait));
    loop_post(w->q->conn->loop, &w->wake);
}

static void on_wake(struct loop_task *task)
{
    struct smb_waiting *w =
        (struct smb_waiting *)((char *)task - offsetof(struct smb_waiting, wake));
    loop_timer_cancel(w->q->conn->loop, &w->timer);
    if (w->cancelled || w->q->conn->closed)
        smb_complete(w->q, STATUS_CANCELLED);
    else
        w->then(w->q);
}

static void on_patience_over(struct loop_timer *timer)
{
    struct smb_waiting *w =
        (struct smb_waiting *)((char *)timer - offsetof(struct smb_waiting, timer));
    opens_wait_over(smb_opens_table(w->q), &w->wait);
}

static void on_cancel(struct smb_request *q)
{
    struct smb_waiting *w = q->waiting;
    w->cancelled = true;
    smb_leave_waiting(q);
    if (!opens_wait_cancel(smb_opens_table(q), &w->wait))
        return; /* it has just ended: on_wake comes */
    loop_timer_cancel(q->conn->loop, &w->timer);
    smb_complete(q, STATUS_CANCELLED);
}

void smb_waiting_init(struct smb_waiting *w, struct smb_request *q,
                      void (*then)(struct smb_request *q))
{
    *w = (struct smb_waiting){.q = q, .then = then};
    w->wait.done = wait_done;
    w->wake.run = on_wake;
    w->timer.fire = on_patience_over;
    q->waiting = w;
}

void smb_waiting_begin(struct smb_waiting *w)
{
    loop_timer_set(w->q->conn->loop, &w->timer, OPENS_SMB_BREAK_MS);
    if (!w->q->pending)
        (void)smb_pending(w->q, on_cancel);
}
