/* SPDX-License-Identifier: Apache-2.0 */
/* The provisioned limits of a share: operations and bytes a second. They are stored and reported as
 * the cloud does, but not enforced here. A share is provisioned if it is of the premium tier or if
 * operations or bandwidth were requested. */
#ifndef SERVICE_FILE_PROVISION_H
#define SERVICE_FILE_PROVISION_H

#include "service/file/share.h"

enum {
    PROVISION_IOPS_MIN = 500,
    PROVISION_IOPS_MAX = 102400,
    PROVISION_MIBPS_MIN = 60,
    PROVISION_MIBPS_MAX = 10340,
    PROVISION_DOWNGRADE_HOURS = 24, /* after the last raise */
};

struct provision {
    uint64_t iops, mibps; /* as requested, or as recommended for the share's size */
    uint64_t burst_iops, burst_credits;
    uint64_t ingress_mibps, egress_mibps;
};

bool share_is_provisioned(const struct share_settings *s);
struct provision provision_of(const struct share_settings *s);
/* Checks that the requested values are possible. ERR_FILE_SHARE_PROVISIONED_IOPS_INVALID,
 * ERR_FILE_SHARE_PROVISIONED_BANDWIDTH_INVALID. */
struct err provision_check(const struct share_settings *s);
/* The settings change from `before` to s->settings: records the time of an increase, and refuses to
 * lower the size of a provisioned share too soon. ERR_CONTAINER_QUOTA_DOWNGRADE_NOT_ALLOWED. */
struct err provision_change(struct share *s, const struct share_settings *before, int64_t now);

#endif
