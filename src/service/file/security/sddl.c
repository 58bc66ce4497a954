/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/security/sddl.h"

#include <assert.h>

#include "core/wire.h"

/* ---- tables ---- */

struct right {
    const char *letters;
    uint32_t mask;
};

/* Whole sets first: the first that matches is written. */
static const struct right SETS[] = {
    {"FA", 0x1f01ff}, {"FR", 0x120089}, {"FW", 0x120116}, {"FX", 0x1200a0},
    {"KA", 0xf003f},  {"KR", 0x20019},  {"KW", 0x20006},
};
static const struct right BITS[] = {
    {"CC", 0x1},        {"DC", 0x2},        {"LC", 0x4},     {"SW", 0x8},        {"RP", 0x10},
    {"WP", 0x20},       {"DT", 0x40},       {"LO", 0x80},    {"CR", 0x100},      {"SD", 0x10000},
    {"RC", 0x20000},    {"WD", 0x40000},    {"WO", 0x80000}, {"GA", 0x10000000}, {"GX", 0x20000000},
    {"GW", 0x40000000}, {"GR", 0x80000000},
};
/* Of integrity labels, whose masks have separate letters. */
static const struct right LABELS[] = {{"NW", 1}, {"NR", 2}, {"NX", 4}};

struct ace_flag {
    const char *letters;
    uint8_t flag;
};
static const struct ace_flag FLAGS[] = {
    {"OI", ACE_OBJECT_INHERIT}, {"CI", ACE_CONTAINER_INHERIT}, {"NP", ACE_NO_PROPAGATE},
    {"IO", ACE_INHERIT_ONLY},   {"ID", ACE_INHERITED},         {"SA", ACE_SUCCESS},
    {"FA", ACE_FAILURE},
};

struct ace_type {
    const char *letters;
    uint8_t type;
};
static const struct ace_type TYPES[] = {
    {"A", ACE_ALLOW}, {"D", ACE_DENY}, {"AU", ACE_AUDIT}, {"AL", ACE_ALARM}, {"ML", ACE_LABEL},
};

enum { ALIAS_SUBS_MAX = 6, AUTHORITY_BYTES = 6 };

struct alias {
    const char *letters;
    uint8_t authority;
    uint8_t subs;
    uint32_t sub[ALIAS_SUBS_MAX];
};
static const struct alias ALIASES[] = {
    {"AC", 15, 2, {2, 1}},   {"AN", 5, 1, {7}},
    {"AO", 5, 2, {32, 548}}, {"AS", 18, 1, {1}},
    {"AU", 5, 1, {11}},      {"BA", 5, 2, {32, 544}},
    {"BG", 5, 2, {32, 546}}, {"BO", 5, 2, {32, 551}},
    {"BU", 5, 2, {32, 545}}, {"CD", 5, 2, {32, 574}},
    {"CG", 3, 1, {1}},       {"CO", 3, 1, {0}},
    {"CY", 5, 2, {32, 569}}, {"ED", 5, 1, {9}},
    {"ER", 5, 2, {32, 573}}, {"ES", 5, 2, {32, 576}},
    {"HA", 5, 2, {32, 578}}, {"HI", 16, 1, {12288}},
    {"IS", 5, 2, {32, 568}}, {"IU", 5, 1, {4}},
    {"LS", 5, 1, {19}},      {"LU", 5, 2, {32, 559}},
    {"LW", 16, 1, {4096}},   {"ME", 16, 1, {8192}},
    {"MP", 16, 1, {8448}},   {"MS", 5, 2, {32, 577}},
    {"MU", 5, 2, {32, 558}}, {"NO", 5, 2, {32, 556}},
    {"NS", 5, 1, {20}},      {"NU", 5, 1, {2}},
    {"OW", 3, 1, {4}},       {"PO", 5, 2, {32, 550}},
    {"PS", 5, 1, {10}},      {"PU", 5, 2, {32, 547}},
    {"RA", 5, 2, {32, 575}}, {"RC", 5, 1, {12}},
    {"RD", 5, 2, {32, 555}}, {"RE", 5, 2, {32, 552}},
    {"RM", 5, 2, {32, 580}}, {"RU", 5, 2, {32, 554}},
    {"SI", 16, 1, {16384}},  {"SO", 5, 2, {32, 549}},
    {"SS", 18, 1, {2}},      {"SU", 5, 1, {6}},
    {"SY", 5, 1, {18}},      {"UD", 5, 6, {84, 0, 0, 0, 0, 0}},
    {"WD", 1, 1, {0}},       {"WR", 5, 1, {33}},
};

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

/* ---- SIDs ---- */

static struct str sid_make(struct arena *a, uint64_t authority, const uint32_t *sub, size_t subs)
{
    struct buf b = buf_in(a);
    buf_put_u8(&b, 1);
    buf_put_u8(&b, (uint8_t)subs);
    buf_put_be16(&b, (uint16_t)(authority >> 32));
    buf_put_be32(&b, (uint32_t)authority);
    for (size_t i = 0; i < subs; i++)
        buf_put_le32(&b, sub[i]);
    return buf_str(&b);
}

static bool parse_number(struct str text, uint64_t max, uint64_t *out)
{
    if (str_istarts(text, STR("0x"))) {
        if (text.n == 2 || text.n > 2 + 16)
            return false;
        *out = 0;
        for (size_t i = 2; i < text.n; i++) {
            int digit = ascii_hex(text.p[i]);
            if (digit < 0)
                return false;
            *out = *out << 4 | (uint64_t)digit;
        }
    } else if (!str_to_u64(text, out)) {
        return false;
    }
    return *out <= max;
}

/* "S-1-5-21-…". */
static bool parse_sid_text(struct arena *a, struct str text, struct str *out)
{
    uint32_t sub[SID_SUBS_MAX];
    uint64_t authority, number;
    size_t subs = 0;
    struct str rest = str_from(text, 2);
    if (!str_to_u64(str_cut(&rest, '-'), &number) || number != 1 || !str_given(rest) ||
        !parse_number(str_cut(&rest, '-'), 0xFFFFFFFFFFFFULL, &authority))
        return false;
    while (str_given(rest)) {
        if (subs == SID_SUBS_MAX || !parse_number(str_cut(&rest, '-'), UINT32_MAX, &number))
            return false;
        sub[subs++] = (uint32_t)number;
    }
    *out = sid_make(a, authority, sub, subs);
    return subs > 0;
}

static bool parse_sid(struct arena *a, struct str text, struct str *out)
{
    if (str_istarts(text, STR("S-")))
        return parse_sid_text(a, text, out);
    for (size_t i = 0; i < COUNT(ALIASES); i++)
        if (str_ieq(text, str_of(ALIASES[i].letters))) {
            *out = sid_make(a, ALIASES[i].authority, ALIASES[i].sub, ALIASES[i].subs);
            return true;
        }
    return false;
}

static bool is_alias(const struct alias *alias, uint64_t authority, struct reader subs)
{
    if (alias->authority != authority || subs.n != 4U * alias->subs)
        return false;
    for (size_t i = 0; i < alias->subs; i++)
        if (read_le32(&subs) != alias->sub[i])
            return false;
    return true;
}

static void put_sid(struct buf *b, struct str sid)
{
    struct reader r = reader_of(str_from(sid, 2));
    uint64_t authority = (uint64_t)read_be16(&r) << 32;
    authority |= read_be32(&r);
    for (size_t i = 0; i < COUNT(ALIASES); i++)
        if (is_alias(&ALIASES[i], authority, r)) {
            buf_put(b, str_of(ALIASES[i].letters));
            return;
        }
    buf_put(b, STR("S-1-"));
    buf_put_u64(b, authority);
    while (r.n > 0) {
        buf_putc(b, '-');
        buf_put_u64(b, read_le32(&r));
    }
}

/* ---- entries ---- */

static bool find_right(const struct right *table, size_t count, struct str letters, uint32_t *mask)
{
    for (size_t i = 0; i < count; i++)
        if (str_ieq(letters, str_of(table[i].letters))) {
            *mask |= table[i].mask;
            return true;
        }
    return false;
}

static bool parse_mask(struct str text, uint8_t type, uint32_t *mask)
{
    uint64_t number;
    *mask = 0;
    if (text.n > 0 && ascii_digit(text.p[0])) {
        bool good = parse_number(text, UINT32_MAX, &number);
        *mask = good ? (uint32_t)number : 0;
        return good;
    }
    for (; text.n >= 2; text = str_from(text, 2)) {
        struct str letters = str_head(text, 2);
        bool known = type == ACE_LABEL ? find_right(LABELS, COUNT(LABELS), letters, mask)
                                       : find_right(SETS, COUNT(SETS), letters, mask) ||
                                             find_right(BITS, COUNT(BITS), letters, mask) ||
                                             (str_ieq(letters, STR("KX")) &&
                                              find_right(SETS, COUNT(SETS), STR("KR"), mask));
        if (!known)
            return false;
    }
    return text.n == 0;
}

static bool parse_ace_flags(struct str text, uint8_t *flags)
{
    *flags = 0;
    for (; text.n >= 2; text = str_from(text, 2)) {
        size_t i = 0;
        while (i < COUNT(FLAGS) && !str_ieq(str_head(text, 2), str_of(FLAGS[i].letters)))
            i++;
        if (i == COUNT(FLAGS))
            return false;
        *flags |= FLAGS[i].flag;
    }
    return text.n == 0;
}

static bool parse_type(struct str text, uint8_t *type)
{
    for (size_t i = 0; i < COUNT(TYPES); i++)
        if (str_ieq(text, str_of(TYPES[i].letters))) {
            *type = TYPES[i].type;
            return true;
        }
    return false;
}

/* The text between the parentheses: type;flags;rights;object;inherited object;account. */
static bool parse_ace(struct arena *a, struct str text, struct ace *out)
{
    struct str part[6];
    for (size_t i = 0; i < 6; i++) {
        if (!str_given(text))
            return false;
        part[i] = str_trim(str_cut(&text, ';'));
    }
    return !str_given(text) && part[3].n == 0 && part[4].n == 0 &&
           parse_type(part[0], &out->type) && parse_ace_flags(part[1], &out->flags) &&
           parse_mask(part[2], out->type, &out->mask) && parse_sid(a, part[5], &out->sid);
}

static void put_mask(struct buf *b, const struct ace *ace)
{
    uint32_t left = ace->mask;
    const struct right *table = ace->type == ACE_LABEL ? LABELS : BITS;
    size_t count = ace->type == ACE_LABEL ? COUNT(LABELS) : COUNT(BITS);
    for (size_t i = 0; i < COUNT(SETS) && ace->type != ACE_LABEL; i++)
        if (SETS[i].mask == ace->mask) {
            buf_put(b, str_of(SETS[i].letters));
            return;
        }
    for (size_t i = 0; i < count; i++)
        left &= ~table[i].mask;
    if (left != 0) {
        buf_printf(b, "0x%x", ace->mask);
        return;
    }
    for (size_t i = 0; i < count; i++)
        if ((ace->mask & table[i].mask) != 0)
            buf_put(b, str_of(table[i].letters));
}

static void put_ace(struct buf *b, const struct ace *ace)
{
    buf_putc(b, '(');
    for (size_t i = 0; i < COUNT(TYPES); i++)
        if (TYPES[i].type == ace->type)
            buf_put(b, str_of(TYPES[i].letters));
    buf_putc(b, ';');
    for (size_t i = 0; i < COUNT(FLAGS); i++)
        if ((ace->flags & FLAGS[i].flag) != 0)
            buf_put(b, str_of(FLAGS[i].letters));
    buf_putc(b, ';');
    put_mask(b, ace);
    buf_put(b, STR(";;;"));
    put_sid(b, ace->sid);
    buf_putc(b, ')');
}

/* ---- lists ---- */

struct list_bits {
    uint16_t present, protected, auto_req, auto_inherited;
};
static const struct list_bits DACL_BITS = {SD_DACL_PRESENT, SD_DACL_PROTECTED, SD_DACL_AUTO_REQ,
                                           SD_DACL_AUTO};
static const struct list_bits SACL_BITS = {SD_SACL_PRESENT, SD_SACL_PROTECTED, SD_SACL_AUTO_REQ,
                                           SD_SACL_AUTO};

static const struct str NULL_LIST = STR_INIT("NO_ACCESS_CONTROL");

static bool cut_prefix(struct str *text, struct str prefix)
{
    if (!str_istarts(*text, prefix))
        return false;
    *text = str_from(*text, prefix.n);
    return true;
}

static bool parse_list_flags(struct str *text, const struct list_bits *bits, struct sd *sd,
                             struct acl *acl)
{
    while (text->n > 0 && text->p[0] != '(') {
        if (cut_prefix(text, NULL_LIST))
            acl->null = true;
        else if (cut_prefix(text, STR("AR")))
            sd->control |= bits->auto_req;
        else if (cut_prefix(text, STR("AI")))
            sd->control |= bits->auto_inherited;
        else if (cut_prefix(text, STR("P")))
            sd->control |= bits->protected;
        else
            return false;
    }
    return true;
}

static bool parse_list(struct arena *a, struct str text, const struct list_bits *bits,
                       struct sd *sd, struct acl *acl)
{
    if ((sd->control & bits->present) != 0)
        return false;
    sd->control |= bits->present;
    if (!parse_list_flags(&text, bits, sd, acl) || (acl->null && text.n > 0))
        return false;
    size_t count = 0;
    for (size_t i = 0; i < text.n; i++)
        count += text.p[i] == '(';
    if (count > SD_ACES_MAX)
        return false;
    acl->items = ARENA_ARRAY(a, struct ace, count + 1);
    while (text.n > 0) {
        size_t end = str_find(text, ')', 0);
        if (text.p[0] != '(' || end == text.n ||
            !parse_ace(a, (struct str){text.p + 1, end - 1}, &acl->items[acl->count++]))
            return false;
        text = str_trim(str_from(text, end + 1));
    }
    return true;
}

static void put_list(struct buf *b, const struct sd *sd, const struct acl *acl,
                     const struct list_bits *bits)
{
    if ((sd->control & bits->protected) != 0)
        buf_putc(b, 'P');
    if ((sd->control & bits->auto_req) != 0)
        buf_put(b, STR("AR"));
    if ((sd->control & bits->auto_inherited) != 0)
        buf_put(b, STR("AI"));
    if (acl->null)
        buf_put(b, NULL_LIST);
    for (size_t i = 0; i < acl->count; i++)
        put_ace(b, &acl->items[i]);
}

/* ---- the whole ---- */

/* The length of what belongs to one letter: up to the next letter with a colon, outside of
 * parentheses. */
static size_t part_length(struct str text)
{
    size_t depth = 0;
    for (size_t i = 0; i < text.n; i++) {
        depth += text.p[i] == '(';
        depth -= text.p[i] == ')' && depth > 0;
        if (depth == 0 && text.p[i] == ':' && i > 0)
            return i - 1;
    }
    return text.n;
}

static bool parse_part(struct arena *a, char letter, struct str part, struct sd *out)
{
    switch (letter) {
    case 'o':
        return !str_given(out->owner) && parse_sid(a, part, &out->owner);
    case 'g':
        return !str_given(out->group) && parse_sid(a, part, &out->group);
    case 'd':
        return parse_list(a, part, &DACL_BITS, out, &out->dacl);
    case 's':
        return parse_list(a, part, &SACL_BITS, out, &out->sacl);
    default:
        return false;
    }
}

struct err sddl_parse(struct arena *a, struct str text, struct sd *out)
{
    assert(out != NULL);
    *out = (struct sd){0};
    text = str_trim(text);
    if (text.n == 0 || text.n > SD_BYTES_MAX)
        return err_new(ERR_INVALID_FILE_PERMISSION);
    while (text.n > 0) {
        char letter = ascii_lower(text.p[0]);
        if (text.n < 2 || text.p[1] != ':')
            return err_new(ERR_INVALID_FILE_PERMISSION);
        struct str rest = str_from(text, 2);
        size_t length = part_length(rest);
        if (!parse_part(a, letter, str_trim(str_head(rest, length)), out))
            return err_new(ERR_INVALID_FILE_PERMISSION);
        text = str_from(rest, length);
    }
    /* The lists' lengths are 16 bits wide in the binary form. */
    return sd_encode(a, out).n <= SD_BYTES_MAX / 2 ? OK : err_new(ERR_INVALID_FILE_PERMISSION);
}

void sddl_put(struct buf *b, const struct sd *sd)
{
    if (str_given(sd->owner)) {
        buf_put(b, STR("O:"));
        put_sid(b, sd->owner);
    }
    if (str_given(sd->group)) {
        buf_put(b, STR("G:"));
        put_sid(b, sd->group);
    }
    if ((sd->control & SD_DACL_PRESENT) != 0) {
        buf_put(b, STR("D:"));
        put_list(b, sd, &sd->dacl, &DACL_BITS);
    }
    if ((sd->control & SD_SACL_PRESENT) != 0) {
        buf_put(b, STR("S:"));
        put_list(b, sd, &sd->sacl, &SACL_BITS);
    }
}
