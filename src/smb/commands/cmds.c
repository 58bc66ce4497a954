/* SPDX-License-Identifier: Apache-2.0 */
/* THE TABLE: one row per command. A command without a row is answered STATUS_NOT_SUPPORTED. */
#include <assert.h>

#include "smb/cache.h"
#include "smb/commands/close.h"
#include "smb/commands/create.h"
#include "smb/commands/dir.h"
#include "smb/commands/io.h"
#include "smb/commands/ioctl.h"
#include "smb/commands/lock.h"
#include "smb/commands/negotiate.h"
#include "smb/commands/notify.h"
#include "smb/commands/query.h"
#include "smb/commands/session.h"
#include "smb/commands/tree.h"
#include "smb/commands/write.h"
#include "smb/message.h"
#include "smb/server.h"

static void smb_echo(struct smb_request *q)
{
    buf_put_le16(&q->out, 4);
    buf_put_le16(&q->out, 0);
    smb_complete(q, STATUS_SUCCESS);
}

/* A CANCEL names a pending request by its async id, or an unanswered one by its message id. Samba's
 * client, unless it signs with GMAC, sends 0 before it has read the interim answer; 0 was
 * NEGOTIATE's id, and here means the newest request. */
static bool is_named(const struct smb_request *waiting, const struct smb_header *cancel)
{
    if ((cancel->flags & SMB_FLAG_ASYNC) != 0)
        return waiting->async_id == smb_async_id(cancel);
    return cancel->message_id == 0 || waiting->header.message_id == cancel->message_id;
}

/* Cancels only requests of its session, whose signature or encryption was verified: a CANCEL
 * without a session proves nothing. */
static void smb_cancel(struct smb_request *q)
{
    q->no_answer = true;
    for (struct smb_request *w = q->conn->waiting; w != NULL; w = w->wait_next) {
        if (w->session == q->session && is_named(w, &q->header)) {
            smb_cancel_wait(w);
            break;
        }
    }
    smb_complete(q, STATUS_SUCCESS);
}

// clang-format off
const struct smb_command SMB_COMMANDS[SMB_COMMAND_COUNT] = {
    /*                        name               size session tree   run, other size */
    [SMB_NEGOTIATE]       = {"Negotiate",        36,  false,  false, smb_negotiate, 0},
    [SMB_SESSION_SETUP]   = {"SessionSetup",     25,  false,  false, smb_session_setup, 0},
    [SMB_LOGOFF]          = {"Logoff",           4,   true,   false, smb_logoff, 0},
    [SMB_TREE_CONNECT]    = {"TreeConnect",      9,   true,   false, smb_tree_connect, 0},
    [SMB_TREE_DISCONNECT] = {"TreeDisconnect",   4,   true,   true,  smb_tree_disconnect, 0},
    [SMB_CREATE]          = {"Create",           57,  true,   true,  smb_create, 0},
    [SMB_CLOSE]           = {"Close",            24,  true,   true,  smb_close, 0},
    [SMB_FLUSH]           = {"Flush",            24,  true,   true,  smb_flush, 0},
    [SMB_READ]            = {"Read",             49,  true,   true,  smb_read, 0},
    [SMB_WRITE]           = {"Write",            49,  true,   true,  smb_write, 0},
    [SMB_IOCTL]           = {"Ioctl",            57,  true,   true,  smb_ioctl, 0},
    [SMB_QUERY_DIRECTORY] = {"QueryDirectory",   33,  true,   true,  smb_query_directory, 0},
    [SMB_QUERY_INFO]      = {"QueryInfo",        41,  true,   true,  smb_query_info, 0},
    [SMB_SET_INFO]        = {"SetInfo",          33,  true,   true,  smb_set_info, 0},
    [SMB_LOCK]            = {"Lock",             48,  true,   true,  smb_lock, 0},
    [SMB_CHANGE_NOTIFY]   = {"ChangeNotify",     32,  true,   true,  smb_change_notify, 0},
    [SMB_OPLOCK_BREAK]    = {"OplockBreak",      24,  true,   true,  smb_oplock_break, 36},
    [SMB_CANCEL]          = {"Cancel",           4,   false,  false, smb_cancel, 0},
    [SMB_ECHO]            = {"Echo",             4,   false,  false, smb_echo, 0},
};
// clang-format on

static_assert((int)SMB_COMMAND_COUNT == (int)SMB_USAGE_COMMANDS, "all commands are counted");

const char *smb_command_name(unsigned command)
{
    return command < SMB_COMMAND_COUNT ? SMB_COMMANDS[command].name : NULL;
}
