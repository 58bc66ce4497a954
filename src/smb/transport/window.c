/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/transport/window.h"

#include <assert.h>
#include <string.h>

void smb_window_init(struct smb_window *w)
{
    memset(w, 0, sizeof *w);
    w->granted = 1;
}

static uint64_t *word_of(struct smb_window *w, uint64_t id)
{
    return &w->used[id % SMB_CREDITS_MAX / 64];
}

static uint64_t bit_of(uint64_t id)
{
    return 1ULL << (id % 64);
}

/* Removes used ids from the window's low end. */
static void slide(struct smb_window *w)
{
    assert(w->granted <= SMB_CREDITS_MAX);
    while (w->granted > 0 && (*word_of(w, w->low) & bit_of(w->low)) != 0) {
        *word_of(w, w->low) &= ~bit_of(w->low);
        w->low++;
        w->granted--;
    }
}

bool smb_window_take(struct smb_window *w, uint64_t id, uint16_t charge)
{
    uint64_t count = charge == 0 ? 1 : charge;
    if (id < w->low || id - w->low > w->granted || count > w->granted - (id - w->low))
        return false;
    for (uint64_t i = id; i < id + count; i++)
        if ((*word_of(w, i) & bit_of(i)) != 0)
            return false;
    for (uint64_t i = id; i < id + count; i++)
        *word_of(w, i) |= bit_of(i);
    slide(w);
    return true;
}

uint16_t smb_window_grant(struct smb_window *w, uint16_t wanted)
{
    uint64_t room = SMB_CREDITS_MAX - w->granted;
    uint64_t grant = wanted < room ? wanted : room;
    if (grant == 0 && w->granted == 0)
        grant = 1;
    w->granted += grant;
    return (uint16_t)grant;
}
