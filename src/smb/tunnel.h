/* SPDX-License-Identifier: Apache-2.0 */
/* Recently used pairs of short and long names. If a program knows a file by its short name, deletes
 * it and creates it again under that name, it means the file with the long name: Windows remembers
 * the pair for 15 seconds, and so does this server. */
#ifndef SMB_TUNNEL_H
#define SMB_TUNNEL_H

#include "core/arena.h"

enum { SMB_TUNNEL_ENTRIES = 64, SMB_TUNNEL_SECONDS = 15 };

struct smb_tunnel;
struct smb_tunnel *smb_tunnel_new(void);
void smb_tunnel_free(struct smb_tunnel *t);

/* Stores the short and the long path of a file in a share's incarnation; replaces the oldest pair.
 * From any thread. */
void smb_tunnel_keep(struct smb_tunnel *t, uint64_t share, struct str short_path,
                     struct str long_path, int64_t now_ticks);
/* Returns the long path, in the arena; absent: unknown. */
struct str smb_tunnel_find(struct smb_tunnel *t, struct arena *a, uint64_t share,
                           struct str short_path, int64_t now_ticks);

#endif
