/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a filter: filter_lex.c (words), filter_parse.c (tree), filter.c (program). */
#ifndef SERVICE_TABLE_FILTER_INTERNAL_H
#define SERVICE_TABLE_FILTER_INTERNAL_H

#include "service/table/filter.h"

/* ---- words ---- */

enum filter_word_kind {
    WORD_END,
    WORD_OPEN,
    WORD_CLOSE,
    WORD_NAME, /* an identifier or an operator: the parser knows by the place */
    WORD_LITERAL,
};

struct filter_word {
    enum filter_word_kind kind;
    struct str text;        /* of a name */
    struct edm_value value; /* of a literal */
    bool opens;             /* a name directly before '(': a function, or an operator */
};

struct filter_lexer {
    struct str rest;
    struct arena *arena;
};

/* ERR_INVALID_INPUT, ERR_NOT_IMPLEMENTED. */
struct err filter_lex(struct filter_lexer *l, struct filter_word *out);

/* ---- the tree ---- */

enum filter_operator { OP_EQ, OP_NE, OP_GT, OP_GE, OP_LT, OP_LE };

/* The value that a term reads. */
enum filter_operand { OPERAND_PK, OPERAND_RK, OPERAND_TIMESTAMP, OPERAND_PROPERTY };

enum filter_node_kind { NODE_AND, NODE_OR, NODE_NOT, NODE_CONSTANT, NODE_TERM };

struct filter_node {
    enum filter_node_kind kind;
    const struct filter_node *left; /* NOT has this one */
    const struct filter_node *right;
    bool constant;
    enum filter_operand operand;
    struct str name;
    enum filter_operator op;
    struct edm_value value; /* compared with a key: in key form if it is a string */
};

struct filter_tree {
    const struct filter_node *root;
    unsigned terms; /* at least the number of its terms */
};

struct err filter_parse(struct arena *a, struct str text, struct filter_tree *out);
/* Returns true if a comparison with that outcome (see edm_compare) holds. */
bool filter_operator_holds(enum filter_operator op, int order);

#endif
