/* SPDX-License-Identifier: Apache-2.0 */
#include "net/reach.h"

#include <arpa/inet.h>
#include <assert.h>
#include <string.h>

enum { ADDRESS_BITS = 128, V4_OFFSET_BITS = 96, TEXT_MAX = 64 };

/* ---- reading the list ---- */

static void put_v4(const struct in_addr *v4, unsigned char out[16])
{
    memset(out, 0, 10);
    out[10] = out[11] = 0xFF;
    memcpy(out + 12, v4, 4);
}

static bool parse_address(struct str text, unsigned char out[16], unsigned *bits_max)
{
    char z[TEXT_MAX];
    struct in_addr v4;
    if (text.n >= 2 && text.p[0] == '[' && text.p[text.n - 1] == ']')
        text = str_head(str_from(text, 1), text.n - 2);
    if (text.n == 0 || text.n >= sizeof z)
        return false;
    memcpy(z, text.p, text.n);
    z[text.n] = 0;
    *bits_max = 32;
    if (inet_pton(AF_INET, z, &v4) == 1) {
        put_v4(&v4, out);
        return true;
    }
    *bits_max = ADDRESS_BITS;
    return inet_pton(AF_INET6, z, out) == 1;
}

static bool is_name(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (!ascii_alpha(c) && !ascii_digit(c) && c != '-' && c != '.' && c != '_')
            return false;
    }
    return text.n > 0;
}

static bool parse_entry(struct str text, struct reach_entry *out)
{
    struct str bits = text;
    struct str address = str_cut(&bits, '/');
    unsigned bits_max;
    uint64_t given;
    *out = (struct reach_entry){0};
    if (str_eq(text, STR("*"))) {
        out->any = true;
        return true;
    }
    if (parse_address(address, out->net, &bits_max)) {
        given = bits_max;
        if (str_given(bits) && (!str_to_u64(bits, &given) || given > bits_max))
            return false;
        out->bits = (unsigned)given + (bits_max == 32 ? V4_OFFSET_BITS : 0);
        return true;
    }
    out->host = str_starts(text, STR("*.")) ? str_from(text, 1) : text;
    return is_name(out->host);
}

struct err reach_parse(const char *text, struct reach *out)
{
    assert(out != NULL);
    struct str rest = str_of(text);
    *out = (struct reach){0};
    while (rest.n > 0) {
        struct str entry = str_trim(str_cut(&rest, ','));
        if (out->count == REACH_ENTRIES_MAX || !parse_entry(entry, &out->entries[out->count]))
            return err_new(ERR_INVALID_INPUT);
        out->count++;
    }
    return OK;
}

/* ---- deciding ---- */

static bool address_of(const struct sockaddr *address, unsigned char out[16])
{
    if (address->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, address, sizeof v4);
        put_v4(&v4.sin_addr, out);
        return true;
    }
    if (address->sa_family != AF_INET6)
        return false;
    struct sockaddr_in6 v6;
    memcpy(&v6, address, sizeof v6);
    memcpy(out, &v6.sin6_addr, 16);
    return true;
}

static bool in_net(const unsigned char address[16], const unsigned char net[16], unsigned bits)
{
    unsigned whole = bits / 8;
    unsigned rest = bits % 8;
    if (memcmp(address, net, whole) != 0)
        return false;
    unsigned mask = 0xFF00U >> rest & 0xFFU;
    return rest == 0 || (address[whole] & mask) == (net[whole] & mask);
}

/* Addresses of this machine or its network, which must be listed explicitly. */
static bool is_special(const unsigned char address[16])
{
    static const struct {
        unsigned char net[16];
        unsigned bits;
    } nets[] = {
        {{[10] = 0xFF, 0xFF, 127}, 104},      /* 127.0.0.0/8 */
        {{[10] = 0xFF, 0xFF, 169, 254}, 112}, /* 169.254.0.0/16 */
        {{[10] = 0xFF, 0xFF, 0}, 104},        /* 0.0.0.0/8 */
        {{[10] = 0xFF, 0xFF, 224}, 99},       /* 224.0.0.0/3 */
        {{0}, 96},                            /* ::, ::1, and IPv4-compatible addresses */
        {{0xFE, 0x80}, 10},                   /* fe80::/10 */
        {{0xFF}, 8},                          /* ff00::/8 */
        {{0x00, 0x64, 0xFF, 0x9B}, 96},       /* 64:ff9b::/96: IPv4 through NAT64 */
        {{0x20, 0x02}, 16},                   /* 2002::/16: IPv4 through 6to4 */
    };
    for (size_t i = 0; i < sizeof nets / sizeof nets[0]; i++)
        if (in_net(address, nets[i].net, nets[i].bits))
            return true;
    return false;
}

static bool names_host(const struct reach_entry *entry, struct str host)
{
    if (!str_given(entry->host))
        return false;
    if (entry->host.p[0] != '.')
        return str_ieq(entry->host, host);
    return host.n > entry->host.n && str_ieq(str_from(host, host.n - entry->host.n), entry->host);
}

bool reach_allows(const struct reach *r, struct str host, const struct sockaddr *address)
{
    unsigned char bytes[16];
    if (!address_of(address, bytes))
        return false;
    bool special = is_special(bytes);
    for (size_t i = 0; i < r->count; i++) {
        const struct reach_entry *entry = &r->entries[i];
        bool local_name = str_ieq(host, STR("localhost"));
        if (entry->any || str_given(entry->host)) {
            if ((entry->any || names_host(entry, host)) &&
                (!special || (!entry->any && local_name)))
                return true;
        } else if (in_net(bytes, entry->net, entry->bits)) {
            return true;
        }
    }
    return false;
}
