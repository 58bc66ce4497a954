/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/command_log.h"

#include <stdio.h>

#include "core/clock.h"
#include "core/line_log.h"
#include "core/log.h"
#include "core/time.h"
#include "smb/commands/session.h"
#include "smb/message.h"
#include "smb/server.h"

static const char *name_of(const struct smb_request *q)
{
    const char *name = smb_command_name(q->header.command);
    return name == NULL ? "-" : name;
}

/* Logs the account only if its key was proved; names sent by strangers are not logged. */
static void put_path(struct buf *out, const struct smb_request *q)
{
    if (q->session == NULL || !q->session->established) {
        buf_putc(out, '-');
        return;
    }
    buf_putc(out, '/');
    buf_put(out, str_of(q->session->account));
    if (q->tree != NULL) {
        buf_putc(out, '/');
        line_log_put_visible(out, q->tree->pipe ? STR("IPC$") : str_of(q->tree->share));
    }
}

static void put_identity(struct buf *out, const struct smb_request *q)
{
    buf_put(out, STR(" by="));
    if (q->session == NULL || !q->session->established)
        buf_putc(out, '-');
    else
        buf_put(out, q->session->anonymous ? STR("anonymous") : STR("ntlm"));
}

static void put_line(struct buf *out, const struct smb_request *q)
{
    char status[16], ids[48];
    (void)snprintf(status, sizeof status, " 0x%08X", q->status);
    (void)snprintf(ids, sizeof ids, " %016llx/%llu", (unsigned long long)q->answer_session_id,
                   (unsigned long long)q->header.message_id);
    time_put_iso(out, smb_server_now(q->conn->server));
    buf_put(out, STR(" smb "));
    buf_put(out, str_of(name_of(q)));
    buf_putc(out, ' ');
    put_path(out, q);
    buf_put(out, str_of(status));
    buf_put(out, q->message->sealing != NULL ? STR(" encrypted")
                 : q->verified               ? STR(" signed")
                                             : STR(" plain"));
    buf_put(out, STR(" in="));
    buf_put_u64(out, q->packet.n);
    buf_put(out, STR(" out="));
    buf_put_u64(out, q->out.n);
    buf_put(out, STR(" us="));
    buf_put_i64(out, clock_mono_us() - q->started_us);
    buf_put(out, str_of(ids));
    line_log_put_client(out, &q->conn->peer);
    put_identity(out, q);
    buf_putc(out, '\n');
}

void smb_command_log(const struct smb_request *q)
{
    struct line_log *log = smb_server_world(q->conn->server)->log;
    if (line_log_wants(log)) {
        put_line(line_log_begin(log), q);
        line_log_end(log);
    }
    if (q->status >> 30 == 3 && q->status != STATUS_MORE_PROCESSING_REQUIRED &&
        log_wants(LOG_DEBUG))
        log_line(LOG_DEBUG, "smb %016llx/%llu %s refused: 0x%08X: %s",
                 (unsigned long long)q->answer_session_id, (unsigned long long)q->header.message_id,
                 name_of(q), q->status, q->why == NULL ? "(the command's own reasons)" : q->why);
}
