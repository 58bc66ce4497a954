/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/provision.h"

enum { CREDIT_SECONDS = 3600, BURST_IOPS_MIN = 10000 };

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

bool share_is_provisioned(const struct share_settings *s)
{
    return s->tier == SHARE_TIER_PREMIUM || s->provisioned_iops != 0 || s->provisioned_mibps != 0;
}

struct provision provision_of(const struct share_settings *s)
{
    struct provision p = {
        .iops = least(3000 + s->quota_gib, PROVISION_IOPS_MAX),
        .ingress_mibps = 40 + (s->quota_gib * 4 + 99) / 100,
        .egress_mibps = 60 + (s->quota_gib * 6 + 99) / 100,
    };
    p.mibps = least(p.ingress_mibps + p.egress_mibps, PROVISION_MIBPS_MAX);
    if (s->provisioned_iops != 0)
        p.iops = s->provisioned_iops;
    if (s->provisioned_mibps != 0)
        p.mibps = s->provisioned_mibps;
    p.burst_iops = 3 * p.iops > BURST_IOPS_MIN ? 3 * p.iops : BURST_IOPS_MIN;
    p.burst_iops = least(p.burst_iops, PROVISION_IOPS_MAX);
    p.burst_credits = (p.burst_iops - p.iops) * CREDIT_SECONDS;
    return p;
}

static bool within(uint64_t value, uint64_t min, uint64_t max)
{
    return value == 0 || (value >= min && value <= max);
}

struct err provision_check(const struct share_settings *s)
{
    if (!within(s->provisioned_iops, PROVISION_IOPS_MIN, PROVISION_IOPS_MAX))
        return err_new(ERR_FILE_SHARE_PROVISIONED_IOPS_INVALID);
    if (!within(s->provisioned_mibps, PROVISION_MIBPS_MIN, PROVISION_MIBPS_MAX))
        return err_new(ERR_FILE_SHARE_PROVISIONED_BANDWIDTH_INVALID);
    return OK;
}

struct err provision_change(struct share *s, const struct share_settings *before, int64_t now)
{
    const struct share_settings *after = &s->settings;
    int64_t day = PROVISION_DOWNGRADE_HOURS * 3600 * TICKS_PER_SECOND;
    struct provision then = provision_of(before);
    struct provision next = provision_of(after);
    if (after->quota_gib < before->quota_gib && share_is_provisioned(before) &&
        s->quota_raised != 0 && now < s->quota_raised + day)
        return err_new(ERR_CONTAINER_QUOTA_DOWNGRADE_NOT_ALLOWED);
    if (after->quota_gib > before->quota_gib)
        s->quota_raised = now;
    if (next.iops > then.iops)
        s->iops_raised = now;
    if (next.mibps > then.mibps)
        s->mibps_raised = now;
    return OK;
}
