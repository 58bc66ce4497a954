/* SPDX-License-Identifier: Apache-2.0 */
#include "import/document.h"

/* Parses without recursion: the stack has the reader's maximum depth. */
struct build {
    struct json_reader reader;
    struct node *open[JSON_DEPTH_MAX + 1];
    struct node **tail[JSON_DEPTH_MAX + 1]; /* where the next child goes */
    size_t depth;
};

static struct node *read_node(struct build *b, struct str name)
{
    struct node *node = ARENA_NEW(b->reader.arena, struct node);
    const char *begin = b->reader.at;
    node->name = name;
    node->value = json_value(&b->reader);
    node->source = str_trim((struct str){begin, (size_t)(b->reader.at - begin)});
    return node;
}

static bool is_open_kind(const struct node *node)
{
    return node->value.kind == JSON_OBJECT || node->value.kind == JSON_ARRAY;
}

static void push(struct build *b, struct node *node)
{
    b->open[b->depth] = node;
    b->tail[b->depth] = &node->child;
    b->depth++;
}

/* One step: the next child of the innermost, or its end. */
static void step(struct build *b)
{
    struct node *top = b->open[b->depth - 1];
    struct str name = STR_NONE;
    bool more =
        top->value.kind == JSON_OBJECT ? json_member(&b->reader, &name) : json_element(&b->reader);
    if (!more) {
        top->source.n = (size_t)(b->reader.at - top->source.p);
        b->depth--;
        return;
    }
    struct node *node = read_node(b, name);
    *b->tail[b->depth - 1] = node;
    b->tail[b->depth - 1] = &node->next;
    if (is_open_kind(node))
        push(b, node);
}

const struct node *document_parse(struct arena *a, struct str text)
{
    struct build b = {.reader = json_reader_of(a, text)};
    struct node *root = read_node(&b, STR_NONE);
    if (is_open_kind(root))
        push(&b, root);
    while (b.depth > 0 && !b.reader.bad)
        step(&b);
    return json_done(&b.reader) ? root : NULL;
}

const struct node *document_first(const struct node *parent)
{
    return parent == NULL ? NULL : parent->child;
}

const struct node *document_member(const struct node *object, const char *name)
{
    if (object == NULL || object->value.kind != JSON_OBJECT)
        return NULL;
    for (const struct node *n = object->child; n != NULL; n = n->next)
        if (str_eq(n->name, str_of(name)))
            return n;
    return NULL;
}

struct str document_text(const struct node *object, const char *name)
{
    const struct node *n = document_member(object, name);
    return n != NULL && n->value.kind == JSON_STRING ? n->value.text : STR_NONE;
}

bool document_u64(const struct node *object, const char *name, uint64_t *out)
{
    const struct node *n = document_member(object, name);
    return n != NULL && n->value.kind == JSON_INTEGER && str_to_u64(n->value.text, out);
}

bool document_true(const struct node *object, const char *name)
{
    const struct node *n = document_member(object, name);
    return n != NULL && n->value.kind == JSON_BOOL && n->value.boolean;
}
