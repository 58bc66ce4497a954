/* SPDX-License-Identifier: Apache-2.0 */
#include "service/table/edm.h"

#include <assert.h>
#include <math.h>

#include "core/guid.h"
#include "core/text/base64.h"
#include "core/time.h"

static const struct {
    struct str name;
    size_t size;
} EDM_TYPES[] = {
    [EDM_STRING] = {STR_INIT("Edm.String"), 0},   [EDM_BINARY] = {STR_INIT("Edm.Binary"), 0},
    [EDM_BOOLEAN] = {STR_INIT("Edm.Boolean"), 1}, [EDM_DATETIME] = {STR_INIT("Edm.DateTime"), 8},
    [EDM_DOUBLE] = {STR_INIT("Edm.Double"), 8},   [EDM_GUID] = {STR_INIT("Edm.Guid"), GUID_BYTES},
    [EDM_INT32] = {STR_INIT("Edm.Int32"), 4},     [EDM_INT64] = {STR_INIT("Edm.Int64"), 8},
};

enum { EDM_TYPE_END = sizeof EDM_TYPES / sizeof EDM_TYPES[0] };

struct str edm_type_name(enum edm_type type)
{
    return EDM_TYPES[type].name;
}

bool edm_type_named(struct str name, enum edm_type *out)
{
    for (unsigned i = EDM_STRING; i < EDM_TYPE_END; i++) {
        if (str_eq(name, EDM_TYPES[i].name)) {
            *out = (enum edm_type)i;
            return true;
        }
    }
    return false;
}

size_t edm_type_size(enum edm_type type)
{
    return EDM_TYPES[type].size;
}

bool edm_valid(struct edm_value v)
{
    unsigned type = v.type;
    if (type < EDM_STRING || type >= EDM_TYPE_END)
        return false;
    return EDM_TYPES[type].size == 0 || EDM_TYPES[type].size == v.bytes.n;
}

/* ---- numbers as bytes ---- */

/* Compilers turn it into one load. */
static uint64_t load_le(const char *p, size_t n)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++)
        value |= (uint64_t)(unsigned char)p[i] << (8 * i);
    return value;
}

static struct edm_value store_le(struct arena *a, enum edm_type type, uint64_t value)
{
    size_t n = EDM_TYPES[type].size;
    char *p = arena_bytes(a, n);
    for (size_t i = 0; i < n; i++)
        p[i] = (char)(value >> (8 * i));
    return (struct edm_value){type, {p, n}};
}

bool edm_boolean(struct edm_value v)
{
    return v.bytes.p[0] != 0;
}

int32_t edm_int32(struct edm_value v)
{
    return (int32_t)load_le(v.bytes.p, 4);
}

int64_t edm_int64(struct edm_value v)
{
    return (int64_t)load_le(v.bytes.p, 8);
}

double edm_double(struct edm_value v)
{
    uint64_t bits = load_le(v.bytes.p, 8);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

struct edm_value edm_from_boolean(struct arena *a, bool value)
{
    return store_le(a, EDM_BOOLEAN, value);
}

struct edm_value edm_from_int32(struct arena *a, int32_t value)
{
    return store_le(a, EDM_INT32, (uint32_t)value);
}

struct edm_value edm_from_int64(struct arena *a, enum edm_type type, int64_t value)
{
    assert(type == EDM_INT64 || type == EDM_DATETIME);
    return store_le(a, type, (uint64_t)value);
}

struct edm_value edm_from_double(struct arena *a, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return store_le(a, EDM_DOUBLE, bits);
}

/* ---- text ---- */

/* strtod accepts more than OData does (hexadecimal, "inf", leading space), and needs a NUL at the
 * end. */
bool edm_parse_double(struct str text, double *out)
{
    assert(out != NULL);
    char small[64];
    enum { DOUBLE_TEXT_MAX = 512 };
    char large[DOUBLE_TEXT_MAX];
    if (text.n == 0 || text.n >= sizeof large)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (!ascii_digit(c) && c != '-' && c != '+' && c != '.' && c != 'e' && c != 'E')
            return false;
    }
    char *copy = text.n < sizeof small ? small : large;
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    char *end;
    double value = strtod(copy, &end);
    if (end != copy + text.n || !isfinite(value))
        return false;
    *out = value;
    return true;
}

/* Edm.DateTime of OData version 3 has no zone; the service stores UTC. Clients usually send a Z. */
bool edm_parse_datetime(struct str text, int64_t *ticks)
{
    char with_zone[40];
    if (time_parse_iso(text, ticks))
        return true;
    if (text.n + 1 > sizeof with_zone || text.n == 0)
        return false;
    memcpy(with_zone, text.p, text.n);
    with_zone[text.n] = 'Z';
    return time_parse_iso((struct str){with_zone, text.n + 1}, ticks);
}

static struct err parse_datetime(struct arena *a, struct str text, struct edm_value *out)
{
    int64_t ticks;
    if (!edm_parse_datetime(text, &ticks))
        return err_new(ERR_INVALID_INPUT);
    if (ticks < EDM_DATETIME_MIN || ticks > EDM_DATETIME_MAX)
        return err_new(ERR_OUT_OF_RANGE_INPUT);
    *out = edm_from_int64(a, EDM_DATETIME, ticks);
    return OK;
}

static struct err parse_double(struct arena *a, struct str text, struct edm_value *out)
{
    double value;
    if (str_eq(text, STR("NaN")))
        value = NAN;
    else if (str_eq(text, STR("Infinity")))
        value = INFINITY;
    else if (str_eq(text, STR("-Infinity")))
        value = -INFINITY;
    else if (!edm_parse_double(text, &value))
        return err_new(ERR_INVALID_INPUT);
    *out = edm_from_double(a, value);
    return OK;
}

static struct err parse_guid(struct arena *a, struct str text, struct edm_value *out)
{
    struct guid guid;
    if (!guid_parse(text, &guid))
        return err_new(ERR_INVALID_INPUT);
    struct str bytes = {(const char *)guid.bytes, GUID_BYTES};
    *out = (struct edm_value){EDM_GUID, arena_copy(a, bytes)};
    return OK;
}

static struct err parse_integer(struct arena *a, enum edm_type type, struct str text,
                                struct edm_value *out)
{
    int64_t value;
    if (!str_to_i64(text, &value))
        return err_new(ERR_INVALID_INPUT);
    if (type == EDM_INT64) {
        *out = edm_from_int64(a, EDM_INT64, value);
        return OK;
    }
    if (value < INT32_MIN || value > INT32_MAX)
        return err_new(ERR_INVALID_INPUT);
    *out = edm_from_int32(a, (int32_t)value);
    return OK;
}

struct err edm_parse(struct arena *a, enum edm_type type, struct str text, struct edm_value *out)
{
    bool truth;
    switch (type) {
    case EDM_STRING:
        *out = (struct edm_value){EDM_STRING, text};
        return OK;
    case EDM_BINARY:
        out->type = EDM_BINARY;
        return base64_decode(a, text, &out->bytes) ? OK : err_new(ERR_INVALID_INPUT);
    case EDM_BOOLEAN:
        if (!str_to_bool(text, &truth))
            return err_new(ERR_INVALID_INPUT);
        *out = edm_from_boolean(a, truth);
        return OK;
    case EDM_DATETIME:
        return parse_datetime(a, text, out);
    case EDM_DOUBLE:
        return parse_double(a, text, out);
    case EDM_GUID:
        return parse_guid(a, text, out);
    case EDM_INT32:
    case EDM_INT64:
        return parse_integer(a, type, text, out);
    }
    return err_new(ERR_INVALID_INPUT);
}

void edm_put_datetime(struct buf *out, int64_t ticks)
{
    char text[TIME_ISO_BYTES];
    time_iso(ticks, text);
    size_t n = TIME_ISO_BYTES - 1; /* without the Z */
    enum { FRACTION_AT = 20 };
    while (n > FRACTION_AT && text[n - 1] == '0')
        n--;
    if (text[n - 1] == '.')
        n--;
    text[n] = 'Z';
    buf_put(out, (struct str){text, n + 1});
}

/* ---- order ---- */

static int sign(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

/* By UTF-16 units: characters past U+FFFF (four bytes, from F0 on) are surrogates there and sort
 * before U+E000 to U+FFFF (from EE on). All others sort like their bytes. */
static int compare_strings(struct str a, struct str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    size_t i = 0;
    int difference = n == 0 ? 0 : memcmp(a.p, b.p, n);
    if (difference == 0)
        return a.n < b.n ? -1 : a.n > b.n;
    while (a.p[i] == b.p[i])
        i++;
    unsigned char x = (unsigned char)a.p[i];
    unsigned char y = (unsigned char)b.p[i];
    if (x >= 0xEE && y >= 0xEE && (x >= 0xF0) != (y >= 0xF0))
        return x >= 0xF0 ? -1 : 1;
    return x < y ? -1 : 1;
}

static bool is_number(enum edm_type type)
{
    return type == EDM_INT32 || type == EDM_INT64 || type == EDM_DOUBLE;
}

static int64_t integer_of(struct edm_value v)
{
    return v.type == EDM_INT32 ? edm_int32(v) : edm_int64(v);
}

/* The service promotes numbers; long double holds every Int64 and every Double exactly. */
static bool compare_numbers(struct edm_value a, struct edm_value b, int *out)
{
    if (a.type != EDM_DOUBLE && b.type != EDM_DOUBLE) {
        *out = sign(integer_of(a), integer_of(b));
        return true;
    }
    long double x = a.type == EDM_DOUBLE ? (long double)edm_double(a) : (long double)integer_of(a);
    long double y = b.type == EDM_DOUBLE ? (long double)edm_double(b) : (long double)integer_of(b);
    if (isnan(x) || isnan(y))
        *out = EDM_UNORDERED;
    else
        *out = x < y ? -1 : x > y;
    return true;
}

bool edm_compare(struct edm_value a, struct edm_value b, int *out)
{
    if (is_number(a.type) && is_number(b.type))
        return compare_numbers(a, b, out);
    if (a.type != b.type)
        return false;
    if (a.type == EDM_DATETIME)
        *out = sign(edm_int64(a), edm_int64(b));
    else if (a.type == EDM_STRING)
        *out = compare_strings(a.bytes, b.bytes);
    else
        *out = sign(str_cmp(a.bytes, b.bytes), 0);
    return true;
}
