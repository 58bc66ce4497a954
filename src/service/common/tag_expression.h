/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions on tags: x-ms-if-tags, x-ms-source-if-tags and the `where` of Find Blobs. Facts §1.3.
 *
 *     expression = term {("AND" | "OR") term}        AND binds closer
 *     term       = "(" expression ")" | name operator 'value'
 *     operator   = "=" | "<>" | ">" | ">=" | "<" | "<="
 *     name       = an identifier, "anything in double quotes", or @container
 * A quote inside quotes is doubled. Values are compared as bytes. Any comparison with a missing tag
 * is false. */
#ifndef SERVICE_COMMON_TAG_EXPRESSION_H
#define SERVICE_COMMON_TAG_EXPRESSION_H

#include "core/arena.h"
#include "core/str.h"

enum {
    TAG_EXPRESSION_BYTES_MAX = 32 << 10,
    TAG_CONDITION_LOGICAL_MAX = 1000,
    TAG_WHERE_LOGICAL_MAX = 10,
    TAG_DEPTH_MAX = 16,
    TAG_WHERE_NAME_MAX = 128,
    TAG_WHERE_VALUE_MAX = 256,
};

enum tag_dialect {
    TAG_CONDITION, /* the headers: no @container */
    TAG_WHERE,     /* Find Blobs: no OR and no <>, but @container */
};

enum tag_op { TAG_EQ, TAG_NE, TAG_GT, TAG_GE, TAG_LT, TAG_LE, TAG_AND, TAG_OR };

/* In postfix order: a comparison pushes its result, AND and OR pop two. */
struct tag_step {
    enum tag_op op;
    bool container; /* the name is @container */
    struct str name;
    struct str value;
};

struct tag_expression {
    struct tag_step *steps;
    size_t count;
};

/* Where and why an expression is invalid, for the user. */
struct tag_fault {
    size_t position; /* from 1 */
    const char *reason;
};

/* Compiles an expression, once per request, in the arena. NULL if it is not valid in that
 * dialect or exceeds a limit; then *fault (may be NULL) tells why. */
const struct tag_expression *tag_expression_compile(struct arena *a, enum tag_dialect dialect,
                                                    struct str text, struct tag_fault *fault);
/* tags are as pairs.h encodes them; container is what @container is compared with. */
bool tag_expression_holds(const struct tag_expression *expression, struct str tags,
                          struct str container);

#endif
