/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON document as a tree in an arena: for documents whose members come in any order. */
#ifndef IMPORT_DOCUMENT_H
#define IMPORT_DOCUMENT_H

#include "core/text/json.h"

struct node {
    struct str name; /* of a member; absent in an array */
    struct json_value value;
    struct str source;  /* the value as it was written */
    struct node *child; /* the first of an object or array */
    struct node *next;
};

/* NULL when the text is not one well-formed value. */
const struct node *document_parse(struct arena *a, struct str text);

/* The member of that name; NULL when there is none, or `object` is none. */
const struct node *node_member(const struct node *object, const char *name);
/* Its text; absent when there is none or it is no string. */
struct str node_text(const struct node *object, const char *name);
/* False when there is none, or it is no integer of that range. */
bool node_u64(const struct node *object, const char *name, uint64_t *out);
bool node_true(const struct node *object, const char *name);
/* The elements or members. */
const struct node *node_first(const struct node *parent);

#endif
