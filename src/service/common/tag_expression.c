/* SPDX-License-Identifier: Apache-2.0 */
#include "service/common/tag_expression.h"

#include <assert.h>

#include "service/common/pairs.h"

struct parser {
    struct arena *arena;
    struct str rest;
    enum tag_dialect dialect;
    struct tag_expression *out;
    size_t capacity; /* of out->steps */
    unsigned logical;
    unsigned depth;
    const char *reason; /* of the first error */
};

/* Always false. */
static bool fault(struct parser *p, const char *reason)
{
    if (p->reason == NULL)
        p->reason = reason;
    return false;
}

static void skip_space(struct parser *p)
{
    while (p->rest.n > 0 && (p->rest.p[0] == ' ' || p->rest.p[0] == '\t'))
        p->rest = str_from(p->rest, 1);
}

static bool is_name_char(char c, bool first)
{
    return ascii_alpha(c) || c == '_' || (!first && ascii_digit(c));
}

/* Takes an operator's word in any case, unless it is the start of a longer word. */
static bool take_word(struct parser *p, struct str word)
{
    skip_space(p);
    if (!str_istarts(p->rest, word))
        return false;
    if (p->rest.n > word.n && is_name_char(p->rest.p[word.n], false))
        return false;
    p->rest = str_from(p->rest, word.n);
    return true;
}

static bool take_text(struct parser *p, struct str text)
{
    skip_space(p);
    if (!str_starts(p->rest, text))
        return false;
    p->rest = str_from(p->rest, text.n);
    return true;
}

/* Takes quoted text; a doubled quote means one. */
static bool take_quoted(struct parser *p, char quote, struct str *out)
{
    skip_space(p);
    if (p->rest.n == 0 || p->rest.p[0] != quote)
        return false;
    char *to = arena_bytes(p->arena, p->rest.n);
    size_t n = 0;
    for (size_t i = 1; i < p->rest.n; i++) {
        if (p->rest.p[i] == quote) {
            if (i + 1 == p->rest.n || p->rest.p[i + 1] != quote) {
                p->rest = str_from(p->rest, i + 1);
                *out = (struct str){to, n};
                return true;
            }
            i++;
        }
        to[n++] = p->rest.p[i];
    }
    return false;
}

/* True for characters that names and values of tags may have. */
static bool is_tag_text(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (!ascii_alpha(text.p[i]) && !ascii_digit(text.p[i]) &&
            str_find(STR(" +-./:=_"), text.p[i], 0) == sizeof " +-./:=_" - 1)
            return false;
    return true;
}

/* A search refuses values that no index can contain; a condition may compare with them. */
static bool check_step(struct parser *p, const struct tag_step *step)
{
    if (!is_tag_text(step->name) || !is_tag_text(step->value))
        return fault(p, "character not permitted in tag name or value");
    if (p->dialect == TAG_CONDITION)
        return true;
    if (step->name.n > TAG_WHERE_NAME_MAX)
        return fault(p, "tag must be between 1 and 128 characters in length");
    if (step->value.n > TAG_WHERE_VALUE_MAX)
        return fault(p, "tag value must be between 0 and 256 characters in length");
    return true;
}

static bool take_name(struct parser *p, struct tag_step *step)
{
    skip_space(p);
    if (p->dialect == TAG_WHERE && take_word(p, STR("@container"))) {
        step->container = true;
        return true;
    }
    if (take_quoted(p, '"', &step->name))
        return step->name.n > 0;
    size_t n = 0;
    while (n < p->rest.n && is_name_char(p->rest.p[n], n == 0))
        n++;
    step->name = str_head(p->rest, n);
    p->rest = str_from(p->rest, n);
    return n > 0;
}

static bool take_operator(struct parser *p, enum tag_op *op)
{
    static const struct {
        struct str text;
        enum tag_op op;
    } OPERATORS[] = {
        {STR_INIT("<>"), TAG_NE}, {STR_INIT(">="), TAG_GE}, {STR_INIT("<="), TAG_LE},
        {STR_INIT(">"), TAG_GT},  {STR_INIT("<"), TAG_LT},  {STR_INIT("="), TAG_EQ},
    };
    for (size_t i = 0; i < sizeof OPERATORS / sizeof OPERATORS[0]; i++)
        if (take_text(p, OPERATORS[i].text)) {
            *op = OPERATORS[i].op;
            return !(*op == TAG_NE && p->dialect == TAG_WHERE);
        }
    return false;
}

static void emit(struct parser *p, struct tag_step step)
{
    assert(p->out->count < p->capacity);
    p->out->steps[p->out->count++] = step;
}

static bool emit_logical(struct parser *p, enum tag_op op)
{
    emit(p, (struct tag_step){.op = op});
    return true;
}

/* Counted before the right side is parsed, so that the steps never exceed their array. */
static bool take_logical(struct parser *p, struct str word)
{
    unsigned max = p->dialect == TAG_WHERE ? TAG_WHERE_LOGICAL_MAX : TAG_CONDITION_LOGICAL_MAX;
    return p->logical < max && take_word(p, word) && ++p->logical > 0;
}

static bool parse_or(struct parser *p);

static bool parse_term(struct parser *p)
{
    if (take_text(p, STR("("))) {
        if (++p->depth > TAG_DEPTH_MAX)
            return fault(p, "too many parentheses");
        bool good = parse_or(p) && take_text(p, STR(")"));
        p->depth--;
        return good;
    }
    struct tag_step step = {0};
    if (!take_name(p, &step))
        return fault(p, p->rest.n > 0 && p->rest.p[0] == '@' ? "unsupported parameter"
                                                             : "expected a tag's name");
    if (!take_operator(p, &step.op))
        return fault(p, "expected an operator");
    if (!take_quoted(p, '\'', &step.value))
        return fault(p, "expected a value in single quotes");
    if (!check_step(p, &step))
        return false;
    emit(p, step);
    return true;
}

static bool parse_and(struct parser *p)
{
    if (!parse_term(p))
        return false;
    while (take_logical(p, STR("AND")))
        if (!parse_term(p) || !emit_logical(p, TAG_AND))
            return false;
    return true;
}

static bool parse_or(struct parser *p)
{
    if (!parse_and(p))
        return false;
    while (p->dialect != TAG_WHERE && take_logical(p, STR("OR")))
        if (!parse_and(p) || !emit_logical(p, TAG_OR))
            return false;
    return true;
}

static bool parse_all(struct parser *p, struct str text)
{
    if (text.n > TAG_EXPRESSION_BYTES_MAX)
        return fault(p, "the query is too long");
    /* Each step takes at least two characters of the text: an operator and a quote, or a word. */
    p->capacity = text.n / 2 + 1;
    p->out->steps = ARENA_ARRAY(p->arena, struct tag_step, p->capacity);
    if (!parse_or(p))
        return false;
    skip_space(p);
    return p->rest.n == 0 || fault(p, "expected AND or the end of the query");
}

const struct tag_expression *tag_expression_compile(struct arena *a, enum tag_dialect dialect,
                                                    struct str text, struct tag_fault *fault)
{
    struct parser p = {.arena = a, .rest = text, .dialect = dialect};
    p.out = ARENA_NEW(a, struct tag_expression);
    if (parse_all(&p, text))
        return p.out;
    if (fault != NULL)
        *fault = (struct tag_fault){text.n - p.rest.n + 1, p.reason};
    return NULL;
}

static bool compare(enum tag_op op, int order)
{
    switch (op) {
    case TAG_EQ:
        return order == 0;
    case TAG_NE:
        return order != 0;
    case TAG_GT:
        return order > 0;
    case TAG_GE:
        return order >= 0;
    case TAG_LT:
        return order < 0;
    case TAG_LE:
        return order <= 0;
    case TAG_AND:
    case TAG_OR:
        break;
    }
    return false;
}

bool tag_expression_holds(const struct tag_expression *expression, struct str tags,
                          struct str container)
{
    bool stack[TAG_CONDITION_LOGICAL_MAX + 1] = {false};
    size_t n = 0;
    for (size_t i = 0; i < expression->count; i++) {
        const struct tag_step *step = &expression->steps[i];
        if (step->op == TAG_AND || step->op == TAG_OR) {
            assert(n >= 2);
            bool right = stack[--n];
            bool left = stack[n - 1];
            stack[n - 1] = step->op == TAG_AND ? left && right : left || right;
            continue;
        }
        struct str value = step->container ? container : pairs_find(tags, step->name);
        stack[n++] = str_given(value) && compare(step->op, str_cmp(value, step->value));
    }
    assert(n == 1);
    return stack[0];
}
