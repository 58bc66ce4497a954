/* SPDX-License-Identifier: Apache-2.0 */
/* The OData addresses of the table service: Tables, Tables('t'), t, t(),
 * t(PartitionKey='p',RowKey='r'), $batch. The path is percent-decoded already; a quote inside a key
 * is doubled. */
#include "rest/head/target.h"

#include <assert.h>

/* 'text' with doubled quotes, at the start of *rest; moves *rest past it. */
static struct err take_quoted(struct arena *arena, struct str *rest, struct str *out)
{
    if (rest->n == 0 || rest->p[0] != '\'')
        return err_new(ERR_INVALID_INPUT);
    char *text = arena_bytes(arena, rest->n);
    size_t n = 0;
    for (size_t i = 1; i < rest->n; i++) {
        if (rest->p[i] == '\'') {
            if (i + 1 == rest->n || rest->p[i + 1] != '\'') {
                *out = (struct str){text, n};
                *rest = str_from(*rest, i + 1);
                return OK;
            }
            i++;
        }
        text[n++] = rest->p[i];
    }
    return err_new(ERR_INVALID_INPUT);
}

static struct err take_key(struct arena *arena, struct str *rest, struct target *out)
{
    struct str name = str_cut(rest, '=');
    struct str *value = str_eq(name, STR("PartitionKey")) ? &out->key_pk
                        : str_eq(name, STR("RowKey"))     ? &out->key_rk
                                                          : NULL;
    if (value == NULL || str_given(*value) || !str_given(*rest))
        return err_new(ERR_INVALID_INPUT);
    return take_quoted(arena, rest, value);
}

/* The text between the parentheses: nothing, or both keys in either order. */
static struct err parse_keys(struct arena *arena, struct str inside, struct target *out)
{
    out->resource = R_ENTITIES;
    if (inside.n == 0)
        return OK;
    out->resource = R_ENTITY;
    TRY(take_key(arena, &inside, out));
    inside = str_trim(inside);
    if (inside.n == 0 || inside.p[0] != ',')
        return err_new(ERR_INVALID_INPUT);
    inside = str_trim(str_from(inside, 1));
    TRY(take_key(arena, &inside, out));
    return str_trim(inside).n == 0 ? OK : err_new(ERR_INVALID_INPUT);
}

struct err target_parse_table(struct arena *arena, struct str path, struct target *out)
{
    assert(out != NULL);
    if (path.n > 0 && path.p[path.n - 1] == '/')
        path.n--;
    if (str_ieq(path, STR("$batch"))) {
        out->resource = R_BATCH;
        return OK;
    }
    size_t open = str_find(path, '(', 0);
    struct str name = str_head(path, open);
    bool tables = str_ieq(name, STR("Tables"));
    if (open == path.n) {
        out->resource = tables ? R_TABLES : R_ENTITIES;
        out->container = tables ? STR_NONE : name;
        return OK;
    }
    if (path.p[path.n - 1] != ')')
        return err_new(ERR_INVALID_INPUT);
    struct str inside = {path.p + open + 1, path.n - open - 2};
    if (!tables) {
        out->container = name;
        return parse_keys(arena, inside, out);
    }
    out->resource = inside.n == 0 ? R_TABLES : R_TABLE;
    if (inside.n == 0)
        return OK;
    TRY(take_quoted(arena, &inside, &out->container));
    return inside.n == 0 ? OK : err_new(ERR_INVALID_INPUT);
}
