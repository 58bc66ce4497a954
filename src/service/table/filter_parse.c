/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of a $filter: `or` binds weakest, then `and`, then `not`, then comparisons. */
#include <assert.h>

#include "service/common/name.h"
#include "service/table/filter_internal.h"

struct parser {
    struct filter_lexer lexer;
    struct filter_word word; /* the one to look at */
    struct arena *arena;
    unsigned depth;
    unsigned terms;
};

static struct err bad(void)
{
    return err_new(ERR_INVALID_INPUT);
}

static struct err advance(struct parser *p)
{
    return filter_lex(&p->lexer, &p->word);
}

static bool at_name(const struct parser *p, struct str name)
{
    return p->word.kind == WORD_NAME && str_eq(p->word.text, name);
}

static struct filter_node *new_node(struct parser *p, enum filter_node_kind kind)
{
    struct filter_node *node = ARENA_NEW(p->arena, struct filter_node);
    node->kind = kind;
    return node;
}

static bool operator_named(struct str name, enum filter_operator *out)
{
    static const struct str names[] = {
        [OP_EQ] = STR_INIT("eq"), [OP_NE] = STR_INIT("ne"), [OP_GT] = STR_INIT("gt"),
        [OP_GE] = STR_INIT("ge"), [OP_LT] = STR_INIT("lt"), [OP_LE] = STR_INIT("le"),
    };
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (str_eq(name, names[i])) {
            *out = (enum filter_operator)i;
            return true;
        }
    }
    return false;
}

bool filter_operator_holds(enum filter_operator op, int order)
{
    if (order == EDM_UNORDERED)
        return op == OP_NE;
    switch (op) {
    case OP_EQ:
        return order == 0;
    case OP_NE:
        return order != 0;
    case OP_GT:
        return order > 0;
    case OP_GE:
        return order >= 0;
    case OP_LT:
        return order < 0;
    case OP_LE:
        return order <= 0;
    }
    return false;
}

/* 5 lt a is a gt 5. */
static enum filter_operator mirrored(enum filter_operator op)
{
    static const enum filter_operator mirror[] = {
        [OP_EQ] = OP_EQ, [OP_NE] = OP_NE, [OP_GT] = OP_LT,
        [OP_GE] = OP_LE, [OP_LT] = OP_GT, [OP_LE] = OP_GE,
    };
    return mirror[op];
}

/* OData features that the service does not have. */
static bool is_arithmetic(struct str name)
{
    static const struct str names[] = {STR_INIT("add"), STR_INIT("sub"), STR_INIT("mul"),
                                       STR_INIT("div"), STR_INIT("mod")};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (str_eq(name, names[i]))
            return true;
    return false;
}

/* ---- terms ---- */

/* Words that are not properties. There are no nulls: a property that is null is absent. */
static bool is_reserved(struct str name)
{
    enum filter_operator op;
    return operator_named(name, &op) || str_eq(name, STR("and")) || str_eq(name, STR("or")) ||
           str_eq(name, STR("not")) || str_eq(name, STR("null"));
}

static struct err take_operand(struct parser *p, struct filter_word *out)
{
    *out = p->word;
    if (out->kind == WORD_LITERAL)
        return advance(p);
    if (out->kind != WORD_NAME || is_reserved(out->text))
        return bad();
    return out->opens ? err_new(ERR_NOT_IMPLEMENTED) : advance(p);
}

static void set_operand(struct parser *p, struct filter_node *node, struct str name)
{
    node->name = name;
    node->operand = str_eq(name, STR("PartitionKey")) ? OPERAND_PK
                    : str_eq(name, STR("RowKey"))     ? OPERAND_RK
                    : str_eq(name, STR("Timestamp"))  ? OPERAND_TIMESTAMP
                                                      : OPERAND_PROPERTY;
    if ((node->operand == OPERAND_PK || node->operand == OPERAND_RK) &&
        node->value.type == EDM_STRING)
        node->value.bytes = name_to_key(p->arena, node->value.bytes);
}

/* A property or literal alone: Boolean. */
static struct err lone_operand(struct parser *p, const struct filter_word *word,
                               struct filter_node **out)
{
    if (word->kind == WORD_LITERAL) {
        if (word->value.type != EDM_BOOLEAN)
            return bad();
        *out = new_node(p, NODE_CONSTANT);
        (*out)->constant = edm_boolean(word->value);
        return OK;
    }
    *out = new_node(p, NODE_TERM);
    (*out)->op = OP_EQ;
    (*out)->value = edm_from_boolean(p->arena, true);
    set_operand(p, *out, word->text);
    return OK;
}

static struct err compare_operands(struct parser *p, enum filter_operator op,
                                   const struct filter_word *left, const struct filter_word *right,
                                   struct filter_node **out)
{
    int order;
    if (left->kind == WORD_NAME && right->kind == WORD_NAME)
        return err_new(ERR_NOT_IMPLEMENTED);
    if (left->kind == WORD_LITERAL && right->kind == WORD_LITERAL) {
        *out = new_node(p, NODE_CONSTANT);
        (*out)->constant =
            edm_compare(left->value, right->value, &order) && filter_operator_holds(op, order);
        return OK;
    }
    bool reversed = left->kind == WORD_LITERAL;
    *out = new_node(p, NODE_TERM);
    (*out)->op = reversed ? mirrored(op) : op;
    (*out)->value = reversed ? left->value : right->value;
    set_operand(p, *out, reversed ? right->text : left->text);
    return OK;
}

static struct err parse_term(struct parser *p, struct filter_node **out)
{
    struct filter_word left;
    struct filter_word right;
    enum filter_operator op;
    if (++p->terms > FILTER_TERMS_MAX)
        return bad();
    TRY(take_operand(p, &left));
    if (p->word.kind == WORD_NAME && is_arithmetic(p->word.text))
        return err_new(ERR_NOT_IMPLEMENTED);
    if (p->word.kind != WORD_NAME || !operator_named(p->word.text, &op))
        return lone_operand(p, &left, out);
    TRY(advance(p));
    TRY(take_operand(p, &right));
    return compare_operands(p, op, &left, &right, out);
}

/* ---- logic ---- */

static struct err parse_or(struct parser *p, struct filter_node **out);

static struct err parse_group(struct parser *p, struct filter_node **out)
{
    if (p->word.kind != WORD_OPEN)
        return parse_term(p, out);
    TRY(advance(p));
    TRY(parse_or(p, out));
    if (p->word.kind != WORD_CLOSE)
        return bad();
    return advance(p);
}

static struct err parse_not(struct parser *p, struct filter_node **out)
{
    if (++p->depth > FILTER_DEPTH_MAX)
        return bad();
    if (at_name(p, STR("not"))) {
        struct filter_node *inner;
        TRY(advance(p));
        TRY(parse_not(p, &inner));
        *out = new_node(p, NODE_NOT);
        (*out)->left = inner;
    } else {
        TRY(parse_group(p, out));
    }
    p->depth--;
    return OK;
}

typedef struct err parse_part(struct parser *p, struct filter_node **out);

static struct err parse_chain(struct parser *p, struct str joint, enum filter_node_kind kind,
                              parse_part *part, struct filter_node **out)
{
    TRY(part(p, out));
    while (at_name(p, joint)) {
        struct filter_node *right;
        TRY(advance(p));
        TRY(part(p, &right));
        struct filter_node *both = new_node(p, kind);
        both->left = *out;
        both->right = right;
        *out = both;
    }
    return OK;
}

static struct err parse_and(struct parser *p, struct filter_node **out)
{
    return parse_chain(p, STR("and"), NODE_AND, parse_not, out);
}

static struct err parse_or(struct parser *p, struct filter_node **out)
{
    return parse_chain(p, STR("or"), NODE_OR, parse_and, out);
}

struct err filter_parse(struct arena *a, struct str text, struct filter_tree *out)
{
    assert(out != NULL);
    struct parser p = {.lexer = {text, a}, .arena = a};
    struct filter_node *node;
    TRY(advance(&p));
    if (p.word.kind == WORD_END) {
        node = new_node(&p, NODE_CONSTANT);
        node->constant = true;
    } else {
        TRY(parse_or(&p, &node));
    }
    if (p.word.kind != WORD_END)
        return bad();
    *out = (struct filter_tree){node, p.terms};
    return OK;
}
