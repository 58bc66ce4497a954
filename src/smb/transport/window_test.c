/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/transport/window.h"

#include "core/test.h"

void test_smb_window_takes_each_id_once(void)
{
    struct smb_window w;
    smb_window_init(&w);
    CHECK(!smb_window_take(&w, 1, 1));
    CHECK(smb_window_take(&w, 0, 1));
    CHECK(!smb_window_take(&w, 0, 1));
    CHECK_INT(smb_window_grant(&w, 0), 1);
    CHECK_INT(smb_window_grant(&w, 9), 9);
    CHECK(smb_window_take(&w, 10, 1));
    CHECK(!smb_window_take(&w, 10, 1));
    CHECK(!smb_window_take(&w, 11, 1));
    CHECK(smb_window_take(&w, 1, 9));
    CHECK_INT(w.low, 11);
    CHECK_INT(w.granted, 0);
}

void test_smb_window_is_bounded(void)
{
    struct smb_window w;
    smb_window_init(&w);
    CHECK_INT(smb_window_grant(&w, UINT16_MAX), SMB_CREDITS_MAX - 1);
    CHECK_INT(smb_window_grant(&w, 1), 0);
    for (uint64_t id = 0; id < 100000; id++) {
        CHECK(smb_window_take(&w, id, 1));
        CHECK_INT(smb_window_grant(&w, 1), 1);
    }
}
