/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/tree.h"

#include <stdlib.h>

#include "core/mem.h"
#include "core/utf16.h"

enum { ACCESS_ALL = 0x001F01FF };

struct smb_tree *smb_tree_find(struct smb_session *s, uint32_t id)
{
    for (struct smb_tree *t = s->trees; t != NULL; t = t->next)
        if (t->id == id)
            return t;
    return NULL;
}

static void tree_end(struct smb_tree *t)
{
    struct smb_tree **link = &t->session->trees;
    while (*link != t)
        link = &(*link)->next;
    *link = t->next;
    t->session->tree_count--;
    free(t);
}

void smb_trees_end(struct smb_session *s)
{
    while (s->trees != NULL)
        tree_end(s->trees);
}

/* The share's name out of \\server\share, in UTF-8. */
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

static void put_answer(struct smb_request *q, const struct smb_tree *t)
{
    buf_put_le16(&q->out, 16);
    buf_put_u8(&q->out, t->pipe ? SMB_SHARE_PIPE : SMB_SHARE_DISK);
    buf_put_u8(&q->out, 0);
    buf_put_le32(&q->out, 0);
    buf_put_le32(&q->out, 0);
    buf_put_le32(&q->out, ACCESS_ALL);
}

static struct smb_tree *new_tree(struct smb_session *s, struct str share)
{
    struct smb_tree *t = MEM_NEW(struct smb_tree);
    t->session = s;
    t->id = ++s->last_tree_id;
    for (size_t i = 0; i < share.n; i++)
        t->share[i] = ascii_lower(share.p[i]);
    t->next = s->trees;
    s->trees = t;
    s->tree_count++;
    return t;
}

void smb_tree_connect(struct smb_request *q)
{
    struct str share;
    if (!read_path(q, &share)) {
        smb_complete(q, STATUS_INVALID_PARAMETER);
        return;
    }
    if (q->session->tree_count >= SMB_TREES_PER_SESSION) {
        smb_complete(q, STATUS_INSUFFICIENT_RESOURCES);
        return;
    }
    if (!str_ieq(share, STR("IPC$"))) {
        smb_complete(q, STATUS_BAD_NETWORK_NAME);
        return;
    }
    struct smb_tree *t = new_tree(q->session, share);
    t->pipe = true;
    q->answer_tree_id = t->id;
    put_answer(q, t);
    smb_complete(q, STATUS_SUCCESS);
}

void smb_tree_disconnect(struct smb_request *q)
{
    tree_end(q->tree);
    q->tree = NULL;
    buf_put_le16(&q->out, 4);
    buf_put_le16(&q->out, 0);
    smb_complete(q, STATUS_SUCCESS);
}
