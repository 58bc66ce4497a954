/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/opens/pass.h"

#include <assert.h>

int64_t file_pass_patience_ms(uint64_t timeout_seconds)
{
    return timeout_seconds < OPENS_WAIT_MS / 1000 ? (int64_t)timeout_seconds * 1000 : OPENS_WAIT_MS;
}

void file_pass_end(struct file_pass *pass)
{
    while (pass->claim_count > 0)
        opens_unclaim(pass->opens, pass->claims[--pass->claim_count]);
}

bool file_pass_take_back(struct file_pass *pass)
{
    if (!opens_wait_cancel(pass->opens, &pass->wait))
        return false;
    pass->owed = pass->waiting = false;
    return true;
}

void file_pass_begin(struct file_pass *pass, struct arena *arena)
{
    if (pass->opens == NULL)
        return;
    pass->changes.watches = opens_watches(pass->opens);
    file_changes_begin(&pass->changes, arena);
    file_pass_end(pass);
    if (pass->owed)
        (void)file_pass_take_back(pass);
    pass->waiting = false;
}

void file_pass_committed(struct file_pass *pass)
{
    file_changes_tell(&pass->changes);
}

struct err file_pass_claim(struct file_pass *pass, const struct opens_rest_request *request)
{
    if (pass->opens == NULL)
        return request->read_only &&
                       (request->op == OPENS_REST_WRITE || request->op == OPENS_REST_CREATE)
                   ? err_new(ERR_READ_ONLY_ATTRIBUTE)
                   : OK;
    assert(pass->claim_count < FILE_CLAIMS_MAX);
    struct opens_handle *claim;
    /* An earlier run's wait has just ended, and its callback is pending: so another run follows. */
    struct err error = pass->owed ? err_new(ERR_OTHERS_FIRST)
                                  : opens_claim(pass->opens, request, &pass->wait, &claim);
    if (err_is(error) && error.code != ERR_OTHERS_FIRST)
        pass->refused = request->key;
    if (error.code == ERR_OTHERS_FIRST) {
        /* Hold nothing while waiting, so that two operations cannot wait for each other. */
        file_pass_end(pass);
        pass->waiting = pass->owed = true;
        return err_new(ERR_CLIENT_CACHE_FLUSH_DELAY);
    }
    if (!err_is(error))
        pass->claims[pass->claim_count++] = claim;
    return error;
}

void file_pass_read_begin(struct file_pass *pass)
{
    pass->key = (struct opens_key){0};
    pass->waiting = false;
    if (pass->opens != NULL)
        pass->epoch = opens_epoch(pass->opens);
}

static bool is_claimed(const struct file_pass *pass)
{
    return pass->claim_count > 0 && pass->claimed.share == pass->key.share &&
           pass->claimed.node == pass->key.node;
}

bool file_pass_read_end(struct file_pass *pass, struct err *error)
{
    if (pass->opens == NULL || pass->key.share == 0 || is_claimed(pass) ||
        opens_quiet_since(pass->opens, pass->epoch))
        return true;
    file_pass_end(pass);
    if (++pass->tries > FILE_READ_TRIES) {
        *error = err_new(ERR_SERVER_BUSY);
        return true;
    }
    struct opens_rest_request request = {.key = pass->key, .op = pass->op};
    pass->claimed = pass->key;
    struct err claim = file_pass_claim(pass, &request);
    if (!err_is(claim) || pass->waiting)
        return false;
    *error = claim;
    return true;
}
