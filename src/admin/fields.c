/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/fields.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct err fields_wrong(struct json_reader *r, const char *name, const char *why)
{
    return err_detail(ERR_INVALID_INPUT, arena_printf(r->arena, "Reason\t%s: %s.", name, why).p);
}

static struct err read_text(struct json_reader *r, const struct field *f, struct json_value v,
                            char *to)
{
    if (v.kind != JSON_STRING)
        return fields_wrong(r, f->name, "is to be a text");
    if (v.text.n >= f->max)
        return fields_wrong(r, f->name, "is too long");
    if (str_has_control(v.text))
        return fields_wrong(r, f->name, "has control characters");
    memcpy(to, v.text.p, v.text.n);
    to[v.text.n] = '\0';
    return OK;
}

static struct err read_number(struct json_reader *r, const struct field *f, struct json_value v,
                              void *to)
{
    uint64_t number;
    if (v.kind != JSON_INTEGER || !str_to_u64(v.text, &number) || number > f->max)
        return fields_wrong(r, f->name,
                            arena_printf(r->arena, "is to be a whole number from 0 to %llu",
                                         (unsigned long long)f->max)
                                .p);
    if (f->kind == FIELD_U32)
        *(uint32_t *)to = (uint32_t)number;
    else
        *(uint64_t *)to = number;
    return OK;
}

static struct err read_real(struct json_reader *r, const struct field *f, struct json_value v,
                            double *to)
{
    bool number = v.kind == JSON_REAL || v.kind == JSON_INTEGER;
    double value = number ? strtod(arena_cstr(r->arena, v.text), NULL) : -1;
    if (!number || !isfinite(value) || value < 0 || value > 1)
        return fields_wrong(r, f->name, "is to be a number from 0 to 1");
    *to = value;
    return OK;
}

static struct err read_field(struct json_reader *r, const struct field *f, void *into)
{
    struct json_value v = json_value(r);
    void *to = (char *)into + f->offset;
    switch (f->kind) {
    case FIELD_TEXT:
        return read_text(r, f, v, to);
    case FIELD_U32:
    case FIELD_U64:
        return read_number(r, f, v, to);
    case FIELD_I64:
        if (v.kind != JSON_INTEGER || !str_to_i64(v.text, to))
            return fields_wrong(r, f->name, "is to be a whole number");
        return OK;
    case FIELD_REAL:
        return read_real(r, f, v, to);
    case FIELD_BOOL:
        if (v.kind != JSON_BOOL)
            return fields_wrong(r, f->name, "is to be true or false");
        *(bool *)to = v.boolean;
        return OK;
    case FIELD_OTHER:
        break;
    }
    return f->read(r, v, to);
}

struct err fields_read(struct json_reader *r, const struct field *fields, size_t count, void *into)
{
    struct str name;
    uint32_t seen = 0;
    assert(count <= 32);
    while (json_member(r, &name)) {
        size_t i = 0;
        while (i < count && !str_eq(name, str_of(fields[i].name)))
            i++;
        if (i == count)
            return fields_wrong(r, arena_cstr(r->arena, str_head(name, 64)), "is not known here");
        if ((seen & 1U << i) != 0)
            return fields_wrong(r, fields[i].name, "is there twice");
        seen |= 1U << i;
        TRY(read_field(r, &fields[i], into));
    }
    return OK;
}

struct err fields_parse(struct arena *arena, struct str text, const struct field *fields,
                        size_t count, void *into)
{
    struct json_reader r = json_reader_of(arena, text.n == 0 ? STR("{}") : text);
    if (json_value(&r).kind != JSON_OBJECT)
        return fields_wrong(&r, "the body", "is to be a JSON object");
    TRY(fields_read(&r, fields, count, into));
    return json_done(&r) ? OK : fields_wrong(&r, "the body", "is not well-formed JSON");
}
