/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/file/drive.h"

#include "service/file/access.h"

/* On any thread. */
static void wait_done(struct opens_wait *wait)
{
    run_wake(CONTAINER_OF(wait, struct file_pass, wait)->front);
}

struct err rest_file_drive(struct rest_call *call, struct around around)
{
    struct file_request *request = call->args;
    uint64_t seconds = OPENS_WAIT_MS / 1000;
    TRY(call_query_u64(call, STR("timeout"), 0, INT32_MAX, &seconds));
    around.pass = &request->pass;
    around.pass->opens = call->store->opens;
    around.pass->front = &call->run;
    around.pass->wait.done = wait_done;
    around.patience_ms = file_pass_patience_ms(seconds);
    return rest_around(call, around);
}

struct err rest_file_start_write(struct rest_call *call)
{
    return rest_file_drive(call, (struct around){.reads = false});
}

struct err rest_file_start_read(struct rest_call *call)
{
    return rest_file_drive(call, (struct around){.reads = true});
}
