/* SPDX-License-Identifier: Apache-2.0 */
/* A filter compiled to a program: a list of steps, each a comparison with two successors, one for
 * true and one for false. `and`, `or` and `not` only determine the successors, so a row costs as
 * many comparisons as the result needs. */
#include "service/table/filter.h"

#include <assert.h>

#include "service/table/entity.h"
#include "service/table/filter_internal.h"

enum { STEP_ACCEPT = 0xFFFF, STEP_REJECT = 0xFFFE };

struct filter_step {
    enum filter_operand operand;
    enum filter_operator op;
    uint16_t property; /* which of the filter's properties */
    uint16_t if_true;
    uint16_t if_false;
    struct edm_value value;
};

struct filter {
    struct filter_step *steps;
    uint16_t count;
    uint16_t entry;
    struct str properties[FILTER_PROPERTIES_MAX];
    uint16_t property_count;
    struct bounds bounds;
};

/* ---- compiling ---- */

static struct err property_index(struct filter *f, struct str name, uint16_t *out)
{
    for (*out = 0; *out < f->property_count; (*out)++)
        if (str_eq(f->properties[*out], name))
            return OK;
    if (f->property_count == FILTER_PROPERTIES_MAX)
        return err_new(ERR_INVALID_INPUT);
    f->properties[f->property_count++] = name;
    return OK;
}

static struct err emit_term(struct filter *f, const struct filter_node *node, uint16_t if_true,
                            uint16_t if_false, uint16_t *entry)
{
    struct filter_step *step = &f->steps[f->count];
    *step = (struct filter_step){
        .operand = node->operand,
        .op = node->op,
        .if_true = if_true,
        .if_false = if_false,
        .value = node->value,
    };
    if (node->operand == OPERAND_PROPERTY)
        TRY(property_index(f, node->name, &step->property));
    *entry = f->count++;
    return OK;
}

/* Later steps are compiled first, so that jumps to them are known. The tree is left-deep, at most
 * FILTER_TERMS_MAX deep. */
static struct err emit(struct filter *f, const struct filter_node *node, uint16_t if_true,
                       uint16_t if_false, uint16_t *entry)
{
    uint16_t right;
    switch (node->kind) {
    case NODE_AND:
        TRY(emit(f, node->right, if_true, if_false, &right));
        return emit(f, node->left, right, if_false, entry);
    case NODE_OR:
        TRY(emit(f, node->right, if_true, if_false, &right));
        return emit(f, node->left, if_true, right, entry);
    case NODE_NOT:
        return emit(f, node->left, if_false, if_true, entry);
    case NODE_CONSTANT:
        *entry = node->constant ? if_true : if_false;
        return OK;
    case NODE_TERM:
        return emit_term(f, node, if_true, if_false, entry);
    }
    return err_new(ERR_INVALID_INPUT);
}

/* ---- bounds ---- */

static struct bounds key_bounds(struct arena *a, enum filter_operand operand, struct key_span span)
{
    struct key_box box = {KEY_SPAN_ALL, KEY_SPAN_ALL};
    if (str_given(span.to) && span.to.n == 0)
        return (struct bounds){NULL, 0}; /* nothing is below the empty key */
    *(operand == OPERAND_PK ? &box.pk : &box.rk) = span;
    return bounds_box(a, box);
}

/* The keys that have that relation to s. */
static struct bounds relation_bounds(struct arena *a, enum filter_operand operand,
                                     enum filter_operator op, struct str s)
{
    struct str past = key_after(a, s);
    struct key_span below = {STR(""), s};
    struct key_span above = {past, STR_NONE};
    switch (op) {
    case OP_EQ:
        return key_bounds(a, operand, (struct key_span){s, past});
    case OP_NE:
        return bounds_or(a, key_bounds(a, operand, below), key_bounds(a, operand, above));
    case OP_GT:
        return key_bounds(a, operand, above);
    case OP_GE:
        return key_bounds(a, operand, (struct key_span){s, STR_NONE});
    case OP_LT:
        return key_bounds(a, operand, below);
    case OP_LE:
        return key_bounds(a, operand, (struct key_span){STR(""), past});
    }
    return bounds_all(a);
}

static enum filter_operator opposite(enum filter_operator op)
{
    static const enum filter_operator opposites[] = {
        [OP_EQ] = OP_NE, [OP_NE] = OP_EQ, [OP_GT] = OP_LE,
        [OP_GE] = OP_LT, [OP_LT] = OP_GE, [OP_LE] = OP_GT,
    };
    return opposites[op];
}

static struct bounds constant_bounds(struct arena *a, bool constant)
{
    return constant ? bounds_all(a) : (struct bounds){NULL, 0};
}

static struct bounds term_bounds(struct arena *a, const struct filter_node *node, bool negated)
{
    if (node->operand != OPERAND_PK && node->operand != OPERAND_RK)
        return bounds_all(a);
    /* A key is a string and always present: a comparison with another type is false. */
    if (node->value.type != EDM_STRING)
        return constant_bounds(a, negated);
    enum filter_operator op = negated ? opposite(node->op) : node->op;
    return relation_bounds(a, node->operand, op, node->value.bytes);
}

/* Where the node can be true; negated: where it can be false. */
static struct bounds node_bounds(struct arena *a, const struct filter_node *node, bool negated)
{
    switch (node->kind) {
    case NODE_AND:
    case NODE_OR: {
        struct bounds left = node_bounds(a, node->left, negated);
        struct bounds right = node_bounds(a, node->right, negated);
        bool both = (node->kind == NODE_AND) != negated;
        return both ? bounds_and(a, left, right) : bounds_or(a, left, right);
    }
    case NODE_NOT:
        return node_bounds(a, node->left, !negated);
    case NODE_CONSTANT:
        return constant_bounds(a, node->constant != negated);
    case NODE_TERM:
        return term_bounds(a, node, negated);
    }
    return bounds_all(a);
}

struct err filter_compile(struct arena *a, struct str text, struct filter **out)
{
    assert(out != NULL);
    struct filter_tree tree;
    TRY(filter_parse(a, text, &tree));
    struct filter *f = ARENA_NEW(a, struct filter);
    f->steps = ARENA_ARRAY(a, struct filter_step, tree.terms);
    TRY(emit(f, tree.root, STEP_ACCEPT, STEP_REJECT, &f->entry));
    f->bounds = node_bounds(a, tree.root, false);
    *out = f;
    return OK;
}

const struct bounds *filter_bounds(const struct filter *f)
{
    return &f->bounds;
}

/* ---- running ---- */

struct found {
    struct edm_value values[FILTER_PROPERTIES_MAX]; /* type 0: not there */
};

/* Finds the filter's properties in one walk, which ends when all are found. */
static struct err find_properties(const struct filter *f, struct str record, struct found *found)
{
    struct entity_walk w;
    struct property p;
    unsigned missing = f->property_count;
    TRY(entity_open(record, &w));
    for (unsigned i = 0; i < f->property_count; i++)
        found->values[i] = (struct edm_value){0};
    while (missing > 0 && entity_step(&w, &p)) {
        for (unsigned i = 0; i < f->property_count; i++) {
            if (!str_eq(p.name, f->properties[i]))
                continue;
            if (!edm_valid(p.value))
                return err_new(ERR_CORRUPT);
            found->values[i] = p.value;
            missing--;
            break;
        }
    }
    return w.bad ? err_new(ERR_CORRUPT) : OK;
}

static bool step_holds(const struct filter_step *step, const struct filter_row *row,
                       const struct found *found)
{
    int order;
    switch (step->operand) {
    case OPERAND_PK:
    case OPERAND_RK:
        if (step->value.type != EDM_STRING)
            return false;
        order = str_cmp(step->operand == OPERAND_PK ? row->pk : row->rk, step->value.bytes);
        return filter_operator_holds(step->op, (order > 0) - (order < 0));
    case OPERAND_TIMESTAMP: {
        struct edm_value stamp = {EDM_DATETIME, {row->record.p + 1, 8}};
        return edm_compare(stamp, step->value, &order) && filter_operator_holds(step->op, order);
    }
    case OPERAND_PROPERTY: {
        struct edm_value value = found->values[step->property];
        return value.type != 0 && edm_compare(value, step->value, &order) &&
               filter_operator_holds(step->op, order);
    }
    }
    return false;
}

struct err filter_match(const struct filter *f, const struct filter_row *row, bool *out)
{
    struct found found;
    uint16_t at = f->entry;
    if (row->record.n < ENTITY_HEAD_BYTES)
        return err_new(ERR_CORRUPT);
    if (f->property_count > 0)
        TRY(find_properties(f, row->record, &found));
    while (at < STEP_REJECT) {
        assert(at < f->count);
        at = step_holds(&f->steps[at], row, &found) ? f->steps[at].if_true : f->steps[at].if_false;
    }
    *out = at == STEP_ACCEPT;
    return OK;
}
