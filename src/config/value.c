/* SPDX-License-Identifier: Apache-2.0 */
/* Values of flags: from text into struct config, and back. */
#include <string.h>

#include "config/flags.h"

#define MIB (1ULL << 20)

static void *member_of(const struct config *config, const struct flag *flag)
{
    return (char *)(uintptr_t)config + flag->offset;
}

void flag_variable(const struct flag *flag, char *out)
{
    size_t n = (size_t)snprintf(out, FLAG_VARIABLE_BYTES, "LAZULI_%s", flag->name + 2);
    for (size_t i = 0; i < n && i < FLAG_VARIABLE_BYTES; i++) {
        if (out[i] == '-')
            out[i] = '_';
        else if (out[i] >= 'a' && out[i] <= 'z')
            out[i] = (char)(out[i] - 32);
    }
}

/* ---- from text ---- */

static bool read_bool(struct str value, bool *out)
{
    static const struct {
        struct str word;
        bool means;
    } WORDS[] = {
        {STR_INIT("true"), true}, {STR_INIT("1"), true},      {STR_INIT("yes"), true},
        {STR_INIT("on"), true},   {STR_INIT("false"), false}, {STR_INIT("0"), false},
        {STR_INIT("no"), false},  {STR_INIT("off"), false},
    };
    for (size_t i = 0; i < sizeof WORDS / sizeof WORDS[0]; i++) {
        if (str_ieq(value, WORDS[i].word)) {
            *out = WORDS[i].means;
            return true;
        }
    }
    return false;
}

static bool read_word(const struct flag *flag, struct str value, unsigned *out)
{
    for (unsigned i = 0; flag->words[i] != NULL; i++) {
        if (str_ieq(value, str_of(flag->words[i]))) {
            *out = i;
            return true;
        }
    }
    return false;
}

static bool set_number(const struct flag *flag, struct str value, uint64_t *out)
{
    uint64_t number;
    if (!str_to_u64(value, &number) || number > flag->max)
        return false;
    *out = number;
    return true;
}

/* "64", "64.5", "64.000000": the first six digits of a fraction count. */
static bool set_mib(const struct flag *flag, struct str value, uint64_t *out)
{
    struct str fraction = value;
    struct str whole = str_cut(&fraction, '.');
    uint64_t mib, parts = 0, digits = 1;
    if (!str_to_u64(whole, &mib) || mib > flag->max)
        return false;
    for (size_t i = 0; i < fraction.n; i++) {
        if (!ascii_digit(fraction.p[i]))
            return false;
        if (i < 6) {
            parts = parts * 10 + (uint64_t)(fraction.p[i] - '0');
            digits *= 10;
        }
    }
    *out = mib * MIB + parts * MIB / digits;
    return *out > 0;
}

static bool set_choice(const struct flag *flag, struct str value, void *member)
{
    unsigned word;
    if (!read_word(flag, value, &word))
        return false;
    if (flag->kind == FLAG_EITHER)
        *(bool *)member = word == 1;
    else
        *(unsigned *)member = word;
    return true;
}

static bool set_hosts(struct config *config, const char *host)
{
    for (size_t i = 0; i < CONFIG_SERVICES; i++)
        config->host[i] = host;
    config->smb_host = host;
    config->dfs_host = host;
    return true;
}

bool value_set(struct config *config, const struct flag *flag, struct str value)
{
    void *member = member_of(config, flag);
    if (flag->kind == FLAG_BOOL && !str_given(value))
        return *(bool *)member = true;
    if (!str_given(value))
        return flag->kind == FLAG_NOTHING;
    switch (flag->kind) {
    case FLAG_BOOL:
        return read_bool(value, member);
    case FLAG_TEXT:
        *(const char **)member = value.p;
        return true;
    case FLAG_NUMBER:
        return set_number(flag, value, member);
    case FLAG_MIB:
        return set_mib(flag, value, member);
    case FLAG_PORT:
        if (!str_ieq(value, STR("off")))
            return set_number(flag, value, member);
        *(uint64_t *)member = CONFIG_PORT_OFF;
        return true;
    case FLAG_HOST:
        return set_hosts(config, value.p);
    case FLAG_CHOICE:
    case FLAG_EITHER:
        return set_choice(flag, value, member);
    case FLAG_NOTHING:
        break;
    }
    return true;
}

const char *value_wanted(const struct flag *flag)
{
    switch (flag->kind) {
    case FLAG_BOOL:
        return "true or false is wanted";
    case FLAG_NUMBER:
    case FLAG_MIB:
        return "a number in range is wanted";
    case FLAG_PORT:
        return "a port, 0 for a free one, or off is wanted";
    case FLAG_CHOICE:
    case FLAG_EITHER:
        return "not a value it knows (see --help)";
    case FLAG_TEXT:
    case FLAG_HOST:
    case FLAG_NOTHING:
        break;
    }
    return "a value is wanted";
}

/* ---- to text ---- */

static void put_port(struct buf *out, uint64_t port)
{
    if (port == CONFIG_PORT_OFF)
        buf_put(out, STR("off"));
    else
        buf_put_u64(out, port & ~(uint64_t)CONFIG_PORT_UNSET);
}

void value_put(struct buf *out, const struct config *config, const struct flag *flag)
{
    const void *member = member_of(config, flag);
    switch (flag->kind) {
    case FLAG_BOOL:
        buf_put(out, *(const bool *)member ? STR("true") : STR("false"));
        return;
    case FLAG_TEXT:
        if (*(const char *const *)member != NULL)
            buf_put(out, str_of(*(const char *const *)member));
        return;
    case FLAG_NUMBER:
        buf_put_u64(out, *(const uint64_t *)member);
        return;
    case FLAG_MIB:
        buf_printf(out, "%.6g", (double)*(const uint64_t *)member / (double)MIB);
        return;
    case FLAG_PORT:
        put_port(out, *(const uint64_t *)member);
        return;
    case FLAG_CHOICE:
        buf_put(out, str_of(flag->words[*(const unsigned *)member]));
        return;
    case FLAG_EITHER:
        buf_put(out, str_of(flag->words[*(const bool *)member ? 1 : 0]));
        return;
    case FLAG_HOST:
    case FLAG_NOTHING:
        return;
    }
}

/* ---- comparing ---- */

static size_t size_of(const struct flag *flag)
{
    switch (flag->kind) {
    case FLAG_BOOL:
    case FLAG_EITHER:
        return sizeof(bool);
    case FLAG_TEXT:
        return sizeof(const char *);
    case FLAG_NUMBER:
    case FLAG_MIB:
    case FLAG_PORT:
        return sizeof(uint64_t);
    case FLAG_CHOICE:
        return sizeof(unsigned);
    case FLAG_HOST:
    case FLAG_NOTHING:
        break;
    }
    return 0;
}

bool value_same(const struct config *a, const struct config *b, const struct flag *flag)
{
    if (flag->kind != FLAG_TEXT)
        return memcmp(member_of(a, flag), member_of(b, flag), size_of(flag)) == 0;
    const char *one = *(const char *const *)member_of(a, flag);
    const char *two = *(const char *const *)member_of(b, flag);
    return one == two || (one != NULL && two != NULL && strcmp(one, two) == 0);
}

void value_copy(struct config *to, const struct config *from, const struct flag *flag)
{
    memcpy(member_of(to, flag), member_of(from, flag), size_of(flag));
    to->origins[flag_index(flag)] = from->origins[flag_index(flag)];
}

bool value_is_shared(const struct flag *set, const struct flag *other)
{
    if (set == other)
        return true;
    if (set->kind == FLAG_NOTHING || other->kind == FLAG_NOTHING || other->kind == FLAG_HOST)
        return false;
    if (set->kind != FLAG_HOST)
        return set->offset == other->offset;
    size_t first = offsetof(struct config, host);
    return other->offset == offsetof(struct config, smb_host) ||
           (other->offset >= first &&
            other->offset < first + sizeof(const char *) * CONFIG_SERVICES);
}
