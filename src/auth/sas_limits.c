/* SPDX-License-Identifier: Apache-2.0 */
/* The limits that a SAS sets beside its permissions: when, from where, and how. */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "auth/sas.h"
#include "core/time.h"

static struct err not_well_formed(const struct sas *sas)
{
    return auth_failed(sas->arena, STR("Signature fields not well formed."));
}

/* A SAS without a start begins now. If it ended before that, the error says so, as in Azure. */
static struct err expired(const struct sas *sas, int64_t expiry, int64_t now)
{
    struct buf text = buf_in(sas->arena);
    buf_put(&text, STR("Signed expiry time ["));
    time_put_rfc1123(&text, expiry);
    buf_put(&text, STR("] has to be after signed start time ["));
    time_put_rfc1123(&text, now);
    buf_put(&text, STR("]"));
    return auth_failed(sas->arena, buf_str(&text));
}

struct err sas_check_times(const struct sas *sas, const struct sas_terms *terms, int64_t now)
{
    int64_t start = INT64_MIN, expiry;
    if (terms->expiry.n == 0)
        return auth_failed(sas->arena, STR("se is mandatory. Cannot be empty"));
    if (!time_parse_iso(terms->expiry, &expiry) ||
        (terms->start.n > 0 && !time_parse_iso(terms->start, &start)))
        return not_well_formed(sas);
    if (now >= start && now < expiry)
        return OK;
    struct buf text = buf_in(sas->arena);
    if (terms->start.n == 0)
        return expired(sas, expiry, now);
    buf_put(&text, STR("Signature not valid in the specified time frame: Start ["));
    buf_put(&text, terms->start);
    buf_put(&text, STR("] - Expiry ["));
    buf_put(&text, terms->expiry);
    buf_put(&text, STR("] - Current ["));
    time_put_rfc1123(&text, now);
    buf_put(&text, STR("]"));
    return auth_failed(sas->arena, buf_str(&text));
}

/* An address as 16 bytes; IPv4 in its mapped form, so that both families compare alike. */
struct address {
    unsigned char bytes[16];
};

static struct address mapped(const void *v4)
{
    struct address a = {{[10] = 0xFF, [11] = 0xFF}};
    memcpy(a.bytes + 12, v4, 4);
    return a;
}

static bool parse_address(struct str text, struct address *out)
{
    char z[INET6_ADDRSTRLEN];
    struct in_addr v4;
    if (text.n == 0 || text.n >= sizeof z)
        return false;
    memcpy(z, text.p, text.n);
    z[text.n] = '\0';
    if (inet_pton(AF_INET6, z, out->bytes) == 1)
        return true;
    if (inet_pton(AF_INET, z, &v4) != 1)
        return false;
    *out = mapped(&v4);
    return true;
}

static bool peer_address(const struct sockaddr_storage *peer, struct address *out)
{
    if (peer == NULL)
        return false;
    if (peer->ss_family == AF_INET) {
        *out = mapped(&((const struct sockaddr_in *)peer)->sin_addr);
        return true;
    }
    if (peer->ss_family != AF_INET6)
        return false;
    memcpy(out->bytes, &((const struct sockaddr_in6 *)peer)->sin6_addr, sizeof out->bytes);
    return true;
}

struct err sas_check_address(const struct sas *sas)
{
    struct str range = sas->value[SAS_SIP];
    if (range.n == 0)
        return OK;
    struct str first = str_cut(&range, '-');
    struct str last = str_given(range) ? range : first;
    struct address low, high, peer;
    if (!parse_address(first, &low) || !parse_address(last, &high))
        return not_well_formed(sas);
    if (!peer_address(sas->input->peer, &peer) || memcmp(peer.bytes, low.bytes, 16) < 0 ||
        memcmp(peer.bytes, high.bytes, 16) > 0)
        return err_new(ERR_AUTHORIZATION_SOURCE_IP_MISMATCH);
    return OK;
}

struct err sas_check_protocol(const struct sas *sas)
{
    struct str protocols = sas->value[SAS_SPR];
    if (protocols.n == 0 || str_eq(protocols, STR("https,http")) ||
        str_eq(protocols, STR("http,https")))
        return OK;
    if (!str_eq(protocols, STR("https")))
        return not_well_formed(sas);
    return sas->input->secure ? OK : err_new(ERR_AUTHORIZATION_PROTOCOL_MISMATCH);
}
