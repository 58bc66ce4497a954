/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of statements in PostgreSQL's binary format. */
#ifndef ENGINE_CLUSTER_PARAM_H
#define ENGINE_CLUSTER_PARAM_H

#include "core/buf.h"

enum { PARAMS_MAX = 9 };

/* The parameters of one statement, in an arena. */
struct params {
    struct arena *arena;
    int count;
    const char *values[PARAMS_MAX];
    int lengths[PARAMS_MAX];
};

struct params params_in(struct arena *arena);
/* Borrowed. */
void param_bytes(struct params *p, struct str bytes);
void param_number(struct params *p, int64_t number);
void param_bool(struct params *p, bool value);

/* An array under construction: begin, any number of elements of one kind, then param_array. */
struct array {
    struct buf bytes;
    uint32_t count;
};
/* Types by PostgreSQL's numbers. */
enum array_kind { ARRAY_BYTES = 17, ARRAY_NUMBERS = 20 };
struct array array_begin(struct arena *arena, enum array_kind kind);
/* An absent slice is NULL. */
void array_bytes(struct array *a, struct str bytes);
void array_number(struct array *a, int64_t number);
void param_array(struct params *p, struct array *a);

/* No first bytes of a key are larger: see sql.h. */
struct str largest_head(struct arena *arena);

/* A bigint of a result. */
int64_t number_of(struct str field);

#endif
