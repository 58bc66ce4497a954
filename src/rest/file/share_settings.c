/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/file/share_settings.h"

#include <assert.h>

#include "core/time.h"
#include "service/file/provision.h"

/* ---- reading ---- */

static struct err read_number(struct rest_call *call, struct str name, unsigned bit,
                              struct share_args *args, uint64_t *out)
{
    if (str_given(call_header(call, name)))
        args->set |= bit;
    return call_header_u64(call, name, out);
}

static struct err read_bool(struct rest_call *call, struct str name, unsigned bit,
                            struct share_args *args, bool *out)
{
    if (str_given(call_header(call, name)))
        args->set |= bit;
    return call_header_bool(call, name, out);
}

struct err rest_share_word_read(struct rest_call *call, struct str name, const struct str *words,
                                size_t count, unsigned *out)
{
    struct str text = call_header(call, name);
    for (*out = 0; *out < count; ++*out)
        if (str_ieq(text, words[*out]))
            return OK;
    return call_bad_header(call, name);
}

static const struct str TIERS[] = {STR_INIT("TransactionOptimized"), STR_INIT("Hot"),
                                   STR_INIT("Cool"), STR_INIT("Premium")};
static const struct str SQUASHES[] = {STR_INIT("NoRootSquash"), STR_INIT("RootSquash"),
                                      STR_INIT("AllSquash")};
static const struct str PROTOCOLS[] = {STR_INIT("SMB"), STR_INIT("NFS")};

struct err rest_share_protocol_read(struct rest_call *call, enum share_protocol *out)
{
    assert(out != NULL);
    const struct str name = STR("x-ms-enabled-protocols");
    unsigned word = SHARE_SMB;
    if (str_given(call_header(call, name)))
        TRY(rest_share_word_read(call, name, PROTOCOLS, 2, &word));
    *out = (enum share_protocol)word;
    return OK;
}

static struct err read_words(struct rest_call *call, struct share_args *args)
{
    unsigned word;
    if (str_given(call_header(call, STR("x-ms-access-tier")))) {
        TRY(rest_share_word_read(call, STR("x-ms-access-tier"), TIERS, 4, &word));
        args->settings.tier = (enum share_tier)word;
        args->set |= SHARE_SET_TIER;
    }
    if (str_given(call_header(call, STR("x-ms-root-squash")))) {
        TRY(rest_share_word_read(call, STR("x-ms-root-squash"), SQUASHES, 3, &word));
        args->settings.squash = (enum share_squash)word;
        args->set |= SHARE_SET_SQUASH;
    }
    return OK;
}

static struct err read_bursting(struct rest_call *call, struct share_args *args)
{
    const struct str mibps = STR("x-ms-share-paid-bursting-max-bandwidth-mibps");
    const struct str iops = STR("x-ms-share-paid-bursting-max-iops");
    struct share_settings *s = &args->settings;
    TRY(read_bool(call, STR("x-ms-share-paid-bursting-enabled"), SHARE_SET_BURSTING, args,
                  &s->bursting));
    TRY(read_number(call, mibps, SHARE_SET_BURSTING_MIBPS, args, &s->bursting_mibps));
    TRY(read_number(call, iops, SHARE_SET_BURSTING_IOPS, args, &s->bursting_iops));
    if (s->bursting_mibps > PROVISION_MIBPS_MAX)
        return call_bad_header(call, mibps);
    return s->bursting_iops > PROVISION_IOPS_MAX ? call_bad_header(call, iops) : OK;
}

struct err rest_share_settings_read(struct rest_call *call, struct share_args *args)
{
    struct share_settings *s = &args->settings;
    TRY(read_number(call, STR("x-ms-share-quota"), SHARE_SET_QUOTA, args, &s->quota_gib));
    if ((args->set & SHARE_SET_QUOTA) != 0 &&
        (s->quota_gib == 0 || s->quota_gib > SHARE_QUOTA_MAX_GIB))
        return call_bad_header(call, STR("x-ms-share-quota"));
    TRY(read_words(call, args));
    TRY(read_bool(call, STR("x-ms-enable-snapshot-virtual-directory-access"),
                  SHARE_SET_SNAPSHOT_DIRECTORY, args, &s->snapshot_directory));
    TRY(read_bool(call, STR("x-ms-enable-smb-directory-lease"), SHARE_SET_DIRECTORY_LEASE, args,
                  &s->directory_lease));
    TRY(read_bursting(call, args));
    TRY(read_number(call, STR("x-ms-share-provisioned-bandwidth-mibps"), SHARE_SET_MIBPS, args,
                    &s->provisioned_mibps));
    return read_number(call, STR("x-ms-share-provisioned-iops"), SHARE_SET_IOPS, args,
                       &s->provisioned_iops);
}

/* ---- telling ---- */

struct teller {
    struct arena *arena;
    share_property *put;
    void *sink;
};

static void tell_u64(const struct teller *t, struct str header, struct str element, uint64_t value)
{
    t->put(t->sink, header, element, arena_printf(t->arena, "%llu", (unsigned long long)value));
}

static void tell_bool(const struct teller *t, struct str header, struct str element, bool value)
{
    t->put(t->sink, header, element, value ? STR("true") : STR("false"));
}

static void tell_date(const struct teller *t, struct str header, struct str element, int64_t ticks)
{
    struct buf b = buf_in(t->arena);
    time_put_rfc1123(&b, ticks);
    t->put(t->sink, header, element, buf_str(&b));
}

static void tell_provision(const struct teller *t, const struct share_settings *settings)
{
    struct provision p = provision_of(settings);
    tell_u64(t, STR("x-ms-share-quota"), STR("Quota"), settings->quota_gib);
    if (!share_is_provisioned(settings))
        return;
    tell_u64(t, STR("x-ms-share-provisioned-iops"), STR("ProvisionedIops"), p.iops);
    tell_u64(t, STR("x-ms-share-provisioned-bandwidth-mibps"), STR("ProvisionedBandwidthMiBps"),
             p.mibps);
    tell_u64(t, STR("x-ms-share-included-burst-iops"), STR("IncludedBurstIops"), p.burst_iops);
    tell_u64(t, STR("x-ms-share-max-burst-credits-for-iops"), STR("MaxBurstCreditsForIops"),
             p.burst_credits);
}

/* The earliest time to lower a raised value: at once if it was never raised. */
static int64_t next_downgrade(const struct share *s, int64_t raised)
{
    return raised == 0 ? s->created : raised + PROVISION_DOWNGRADE_HOURS * 3600 * TICKS_PER_SECOND;
}

static void tell_times(const struct teller *t, const struct share *s)
{
    if (!share_is_provisioned(&s->settings))
        return;
    tell_date(t, STR("x-ms-share-next-allowed-quota-downgrade-time"),
              STR("NextAllowedQuotaDowngradeTime"), next_downgrade(s, s->quota_raised));
    tell_date(t, STR("x-ms-share-next-allowed-provisioned-iops-downgrade-time"),
              STR("NextAllowedProvisionedIopsDowngradeTime"), next_downgrade(s, s->iops_raised));
    tell_date(t, STR("x-ms-share-next-allowed-provisioned-bandwidth-downgrade-time"),
              STR("NextAllowedProvisionedBandwidthDowngradeTime"),
              next_downgrade(s, s->mibps_raised));
}

/* Both directions are checked where the share's size alone decides. */
static void tell_directions(const struct teller *t, const struct share_settings *settings)
{
    struct provision p = provision_of(settings);
    if (settings->tier != SHARE_TIER_PREMIUM || settings->provisioned_mibps != 0)
        return;
    tell_u64(t, STR("x-ms-share-provisioned-ingress-mbps"), STR("ProvisionedIngressMBps"),
             p.ingress_mibps);
    tell_u64(t, STR("x-ms-share-provisioned-egress-mbps"), STR("ProvisionedEgressMBps"),
             p.egress_mibps);
}

static void tell_bursting(const struct teller *t, const struct share_settings *settings)
{
    if (!settings->bursting)
        return;
    tell_bool(t, STR("x-ms-share-paid-bursting-enabled"), STR("PaidBurstingEnabled"), true);
    tell_u64(t, STR("x-ms-share-paid-bursting-max-iops"), STR("PaidBurstingMaxIops"),
             settings->bursting_iops != 0 ? settings->bursting_iops : PROVISION_IOPS_MAX);
    tell_u64(t, STR("x-ms-share-paid-bursting-max-bandwidth-mibps"),
             STR("PaidBurstingMaxBandwidthMibps"),
             settings->bursting_mibps != 0 ? settings->bursting_mibps : PROVISION_MIBPS_MAX);
}

void rest_share_settings_tell(struct arena *a, const struct share *s,
                              const struct share_settings *settings, share_property *put,
                              void *sink)
{
    const struct teller t = {a, put, sink};
    tell_provision(&t, settings);
    tell_directions(&t, settings);
    tell_times(&t, s);
    tell_bursting(&t, settings);
    put(sink, STR("x-ms-access-tier"), STR("AccessTier"), TIERS[settings->tier]);
    tell_date(&t, STR("x-ms-access-tier-change-time"), STR("AccessTierChangeTime"),
              s->tier_changed);
    put(sink, STR("x-ms-enabled-protocols"), STR("EnabledProtocols"), PROTOCOLS[s->protocol]);
    if (s->protocol == SHARE_SMB) {
        tell_bool(&t, STR("x-ms-enable-smb-directory-lease"), STR("EnableSmbDirectoryLease"),
                  settings->directory_lease);
        return;
    }
    put(sink, STR("x-ms-root-squash"), STR("RootSquash"), SQUASHES[settings->squash]);
    tell_bool(&t, STR("x-ms-enable-snapshot-virtual-directory-access"),
              STR("EnableSnapshotVirtualDirectoryAccess"), settings->snapshot_directory);
}

static void put_header(void *sink, struct str header, struct str element, struct str value)
{
    (void)element;
    call_put(sink, header, value);
}

void rest_share_settings_put(struct rest_call *call, const struct share *s,
                             const struct share_settings *settings)
{
    rest_share_settings_tell(call->arena, s, settings, put_header, call);
}

void rest_share_settings_put_provision(struct rest_call *call, const struct share *s,
                                       bool with_times)
{
    const struct teller t = {call->arena, put_header, call};
    tell_provision(&t, &s->settings);
    if (with_times)
        tell_times(&t, s);
}
