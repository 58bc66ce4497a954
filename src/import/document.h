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

/* NULL if the text is not one well-formed value. */
const struct node *document_parse(struct arena *a, struct str text);

/* The member of that name; NULL if there is none, or `object` is not an object. */
const struct node *document_member(const struct node *object, const char *name);
/* The member's text; absent if there is no such member or it is not a string. */
struct str document_text(const struct node *object, const char *name);
/* False if there is no such member, or it is not an integer in that range. */
bool document_u64(const struct node *object, const char *name, uint64_t *out);
bool document_true(const struct node *object, const char *name);
/* The elements or members. */
const struct node *document_first(const struct node *parent);

#endif
