/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/jwt.h"

#include <assert.h>

#include "core/text/base64.h"
#include "core/text/json.h"

bool base64url_decode(struct arena *arena, struct str text, struct str *out)
{
    static const char PADDING[] = "==";
    size_t padding = (4 - text.n % 4) % 4;
    if (padding == 3)
        return false;
    char *standard = arena_bytes(arena, text.n + padding + 1);
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '+' || c == '/' || c == '=')
            return false;
        standard[i] = c == '-' ? '+' : c == '_' ? '/' : c;
    }
    memcpy(standard + text.n, PADDING, padding);
    return base64_decode(arena, (struct str){standard, text.n + padding}, out);
}

/* ---- header ---- */

static bool set_once(struct str *field, struct json_value value)
{
    if (value.kind != JSON_STRING || str_given(*field))
        return false;
    *field = value.text;
    return true;
}

static bool read_header(struct arena *arena, struct str text, struct jwt *out)
{
    struct json_reader r = json_reader_of(arena, text);
    struct json_value header = json_value(&r);
    struct str name, algorithm = STR_NONE;
    while (header.kind == JSON_OBJECT && json_member(&r, &name)) {
        struct json_value value = json_value(&r);
        bool good = true;
        if (str_eq(name, STR("alg")))
            good = set_once(&algorithm, value);
        else if (str_eq(name, STR("kid")))
            good = set_once(&out->key_id, value);
        else if (str_eq(name, STR("crit")))
            out->critical = true;
        if (!good)
            return false;
        json_skip(&r, value);
    }
    if (str_eq(algorithm, STR("RS256")))
        out->algorithm = JWT_RS256;
    else if (str_eq(algorithm, STR("ES256")))
        out->algorithm = JWT_ES256;
    return json_done(&r) && header.kind == JSON_OBJECT;
}

/* ---- claims ---- */

struct claims {
    struct json_reader reader;
    struct arena *arena;
    struct jwt *out;
    bool has_audience, has_groups;
    bool has_not_before, has_expiry, has_issued;
};

/* One string, or an array of them. */
static bool read_audiences(struct claims *c, struct json_value value)
{
    struct jwt *out = c->out;
    if (c->has_audience)
        return false;
    c->has_audience = true;
    if (value.kind == JSON_STRING) {
        out->audiences[out->audience_count++] = value.text;
        return true;
    }
    if (value.kind != JSON_ARRAY)
        return false;
    while (json_element(&c->reader)) {
        struct json_value element = json_value(&c->reader);
        if (element.kind != JSON_STRING || out->audience_count == JWT_AUDIENCES_MAX)
            return false;
        out->audiences[out->audience_count++] = element.text;
    }
    return true;
}

static bool read_groups(struct claims *c, struct json_value value)
{
    struct jwt *out = c->out;
    if (c->has_groups || value.kind != JSON_ARRAY)
        return false;
    c->has_groups = true;
    out->groups = ARENA_ARRAY(c->arena, struct str, JWT_GROUPS_MAX);
    while (json_element(&c->reader)) {
        struct json_value element = json_value(&c->reader);
        if (element.kind != JSON_STRING || out->group_count == JWT_GROUPS_MAX)
            return false;
        out->groups[out->group_count++] = element.text;
    }
    return true;
}

/* Whole seconds; a fraction is dropped. */
static bool read_time(struct json_value value, bool *given, int64_t *seconds)
{
    struct str whole = str_head(value.text, str_find(value.text, '.', 0));
    if (*given || (value.kind != JSON_INTEGER && value.kind != JSON_REAL))
        return false;
    *given = true;
    return str_to_i64(whole, seconds) && *seconds >= 0 && *seconds < (1LL << 40);
}

static bool read_claim(struct claims *c, struct str name, struct json_value value)
{
    struct jwt *out = c->out;
    const struct {
        struct str name;
        struct str *to;
    } texts[] = {
        {STR("iss"), &out->issuer},    {STR("sub"), &out->subject},  {STR("oid"), &out->object_id},
        {STR("tid"), &out->tenant_id}, {STR("appid"), &out->app_id},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (str_eq(name, texts[i].name))
            return set_once(texts[i].to, value);
    int64_t issued;
    if (str_eq(name, STR("aud")))
        return read_audiences(c, value);
    if (str_eq(name, STR("groups")))
        return read_groups(c, value);
    if (str_eq(name, STR("nbf")))
        return read_time(value, &c->has_not_before, &out->not_before);
    if (str_eq(name, STR("exp")))
        return read_time(value, &c->has_expiry, &out->expiry);
    if (str_eq(name, STR("iat")))
        return read_time(value, &c->has_issued, &issued);
    json_skip(&c->reader, value);
    return true;
}

static bool read_claims(struct arena *arena, struct str text, struct jwt *out)
{
    struct claims c = {.reader = json_reader_of(arena, text), .arena = arena, .out = out};
    struct json_value object = json_value(&c.reader);
    struct str name;
    while (object.kind == JSON_OBJECT && json_member(&c.reader, &name))
        if (!read_claim(&c, name, json_value(&c.reader)))
            return false;
    out->timed = c.has_not_before && c.has_expiry && c.has_issued;
    return json_done(&c.reader) && object.kind == JSON_OBJECT;
}

bool jwt_parse(struct arena *arena, struct str token, struct jwt *out)
{
    assert(out != NULL);
    *out = (struct jwt){0};
    struct str rest = token, header, claims;
    struct str first = str_cut(&rest, '.');
    struct str second = str_cut(&rest, '.');
    if (token.n > JWT_BYTES_MAX || !str_given(rest) || str_find(rest, '.', 0) < rest.n)
        return false;
    out->signed_part = str_head(token, first.n + 1 + second.n);
    return base64url_decode(arena, first, &header) && base64url_decode(arena, second, &claims) &&
           base64url_decode(arena, rest, &out->signature) && read_header(arena, header, out) &&
           read_claims(arena, claims, out);
}
