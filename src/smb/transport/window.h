/* SPDX-License-Identifier: Apache-2.0 */
/* Credits: which message ids a client may use. Ids are granted in order; each may be used once, in
 * any order within the window. */
#ifndef SMB_TRANSPORT_WINDOW_H
#define SMB_TRANSPORT_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

enum { SMB_CREDITS_MAX = 8192 };

struct smb_window {
    uint64_t low;     /* the lowest id not used yet */
    uint64_t granted; /* ids below low + granted may be used */
    uint64_t used[SMB_CREDITS_MAX / 64];
};

void smb_window_init(struct smb_window *w);
/* Takes `charge` ids from id on. False if one is outside the window or already used: the client
 * violated the protocol. */
bool smb_window_take(struct smb_window *w, uint64_t id, uint16_t charge);
/* Grants as many of the wanted ids as fit, and at least one if the client would have none left. */
uint16_t smb_window_grant(struct smb_window *w, uint16_t wanted);

#endif
