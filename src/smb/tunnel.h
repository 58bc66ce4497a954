/* SPDX-License-Identifier: Apache-2.0 */
/* Which long names were found by their short ones lately. A program that knows a file by its short
 * name, deletes it and makes it anew under that name, means the file of the long name: Windows
 * remembers the pair for a quarter of a minute, and so do we. */
#ifndef SMB_TUNNEL_H
#define SMB_TUNNEL_H

#include "core/arena.h"

enum { SMB_TUNNEL_ENTRIES = 64, SMB_TUNNEL_SECONDS = 15 };

struct smb_tunnel;
struct smb_tunnel *smb_tunnel_new(void);
void smb_tunnel_free(struct smb_tunnel *t);

/* From any thread. A pair of paths that differ in names alone, of a share's incarnation; the
 * oldest makes way. */
void smb_tunnel_keep(struct smb_tunnel *t, uint64_t share, struct str short_path,
                     struct str long_path, int64_t now_ticks);
/* The long path, in the arena; absent: not known. */
struct str smb_tunnel_find(struct smb_tunnel *t, struct arena *a, uint64_t share,
                           struct str short_path, int64_t now_ticks);

#endif
