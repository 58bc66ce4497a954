/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/commands/tree.h"

#include <stdlib.h>

#include "core/mem.h"
#include "core/text/utf16.h"
#include "service/common/home.h"
#include "service/file/by_id.h"
#include "service/file/keys.h"
#include "smb/drive.h"
#include "smb/open.h"

enum { ACCESS_ALL = 0x001F01FF };

struct smb_tree *smb_tree_find(struct smb_session *s, uint32_t id)
{
    for (struct smb_tree *t = s->trees; t != NULL; t = t->next)
        if (t->id == id)
            return t;
    return NULL;
}

void smb_tree_get(struct smb_tree *t)
{
    if (t != NULL)
        t->refs++;
}

void smb_tree_put(struct smb_tree *t)
{
    if (t == NULL || --t->refs > 0)
        return;
    free((void *)(uintptr_t)t->partition.p);
    free(t);
}

static void tree_end(struct smb_tree *t, bool keeps_durable)
{
    struct smb_tree **link = &t->session->trees;
    while (*link != t)
        link = &(*link)->next;
    *link = t->next;
    t->session->tree_count--;
    t->ended = true;
    smb_opens_end(t, keeps_durable);
    smb_tree_put(t);
}

void smb_trees_end(struct smb_session *s, bool keeps_durable)
{
    while (s->trees != NULL)
        tree_end(s->trees, keeps_durable);
}

/* Takes the share's name from \\server\share, in UTF-8. */
static bool read_path(const struct smb_request *q, struct str *share)
{
    struct reader r = reader_of(q->body);
    (void)read_le16(&r);
    (void)read_le16(&r);
    uint16_t offset = read_le16(&r);
    uint16_t length = read_le16(&r);
    struct str path;
    if (!reader_ok(&r) || offset < SMB_HEADER_BYTES || offset > q->packet.n ||
        length > q->packet.n - offset ||
        !utf16_decode(q->arena, (struct str){q->packet.p + offset, length}, &path))
        return false;
    if (!str_starts(path, STR("\\\\")))
        return false;
    struct str rest = str_from(path, 2);
    (void)str_cut(&rest, '\\');
    *share = rest;
    return str_given(rest) && rest.n > 0;
}

/* Clients of 3.x can get persistent handles on every share (persist.h). */
static uint32_t share_capabilities(const struct smb_conn *c, const struct smb_tree *t)
{
    return c->dialect >= SMB_DIALECT_300 && !t->pipe ? SMB_SHARECAP_CONTINUOUS_AVAILABILITY : 0;
}

static void put_answer(struct smb_request *q, const struct smb_tree *t)
{
    buf_put_le16(&q->out, 16);
    buf_put_u8(&q->out, t->pipe ? SMB_SHARE_PIPE : SMB_SHARE_DISK);
    buf_put_u8(&q->out, 0);
    buf_put_le32(&q->out, 0);
    buf_put_le32(&q->out, share_capabilities(q->conn, t));
    buf_put_le32(&q->out, ACCESS_ALL);
}

/* Trees are looked up only within their session, so an id need not be secret, only unique there. */
static uint32_t new_tree_id(struct smb_session *s)
{
    do
        s->last_tree_id++;
    while (s->last_tree_id == 0 || s->last_tree_id == UINT32_MAX ||
           smb_tree_find(s, s->last_tree_id) != NULL);
    return s->last_tree_id;
}

static struct smb_tree *new_tree(struct smb_session *s, struct str share)
{
    struct smb_tree *t = MEM_NEW(struct smb_tree);
    t->session = s;
    t->refs = 1;
    t->id = new_tree_id(s);
    for (size_t i = 0; i < share.n; i++)
        t->share[i] = ascii_lower(share.p[i]);
    t->next = s->trees;
    s->trees = t;
    s->tree_count++;
    return t;
}

static void connected(struct smb_request *q, struct smb_tree *t)
{
    q->answer_tree_id = t->id;
    put_answer(q, t);
    smb_complete(q, STATUS_SUCCESS);
}

struct connect {
    struct file_share_args args; /* first */
    struct str share, partition;
    struct home *home;
};

/* From now on this gateway has the share's open files. */
static struct err look_and_mark(struct txn *t, void *arg)
{
    struct connect *c = arg;
    TRY(file_look_share(t, &c->args));
    return home_mark(t, c->home);
}

static void share_found(struct smb_request *q, struct err outcome)
{
    struct connect *c = q->work;
    if (q->session->ended) {
        smb_complete(q, STATUS_USER_SESSION_DELETED);
        return;
    }
    /* NFS shares have names that differ only in case, and other permissions. */
    if (!err_is(outcome) && !c->args.is_smb)
        outcome = err_new(ERR_SHARE_NOT_FOUND);
    if (err_is(outcome)) {
        smb_complete_err(q, outcome);
        return;
    }
    struct smb_tree *t = new_tree(q->session, c->share);
    char *partition = mem_alloc(c->partition.n);
    memcpy(partition, c->partition.p, c->partition.n);
    t->partition = (struct str){partition, c->partition.n};
    t->incarnation = c->args.incarnation;
    connected(q, t);
}

static void connect_share(struct smb_request *q, struct str share)
{
    struct connect *c = ARENA_NEW(q->arena, struct connect);
    char name[SMB_SHARE_NAME_MAX + 1];
    for (size_t i = 0; i < share.n; i++)
        name[i] = ascii_lower(share.p[i]);
    c->share = share;
    c->partition =
        file_partition(q->arena, str_of(q->session->account), (struct str){name, share.n});
    c->args.at.arena = q->arena;
    q->work = c;
    c->home = smb_store(q)->home;
    if (c->home != NULL)
        smb_update_of(q, c->partition, look_and_mark, c, share_found);
    else
        smb_view_of(q, c->partition, file_look_share, c, share_found);
}

void smb_tree_connect(struct smb_request *q)
{
    struct str share;
    if (!read_path(q, &share)) {
        smb_complete(q, STATUS_INVALID_PARAMETER);
        return;
    }
    if (q->session->anonymous) {
        smb_complete(q, STATUS_ACCESS_DENIED);
        return;
    }
    if (q->session->tree_count >= SMB_TREES_PER_SESSION) {
        smb_complete(q, STATUS_INSUFFICIENT_RESOURCES);
        return;
    }
    if (str_ieq(share, STR("IPC$"))) {
        struct smb_tree *t = new_tree(q->session, share);
        t->pipe = true;
        connected(q, t);
        return;
    }
    if (share.n > SMB_SHARE_NAME_MAX || memchr(share.p, '/', share.n) != NULL)
        smb_complete(q, STATUS_BAD_NETWORK_NAME);
    else
        connect_share(q, share);
}

void smb_tree_disconnect(struct smb_request *q)
{
    tree_end(q->tree, false);
    buf_put_le16(&q->out, 4);
    buf_put_le16(&q->out, 0);
    smb_complete(q, STATUS_SUCCESS);
}
