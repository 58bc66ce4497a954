/* SPDX-License-Identifier: Apache-2.0 */
/* A parsed document is written out and parses again to the same names and texts. */
#include <assert.h>

#include "core/text/xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_node(struct buf *out, const struct xml_node *node)
{
    assert(xml_can_hold(node->text));
    xml_open(out, node->name);
    xml_put_text(out, node->text);
    for (const struct xml_node *child = node->first_child; child != NULL; child = child->next)
        write_node(out, child);
    xml_close(out, node->name);
}

static void check_same(const struct xml_node *a, const struct xml_node *b)
{
    assert(str_eq(a->name, b->name) && str_eq(a->text, b->text));
    const struct xml_node *x = a->first_child;
    const struct xml_node *y = b->first_child;
    for (; x != NULL && y != NULL; x = x->next, y = y->next)
        check_same(x, y);
    assert(x == NULL && y == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a;
    struct str in = {(const char *)data, size};
    struct xml_node *root;
    struct xml_node *again;
    arena_init(&a, 1 << 26);
    if (!err_is(xml_parse(&a, in, &root))) {
        struct buf out = buf_in(&a);
        write_node(&out, root);
        bool parsed = !err_is(xml_parse(&a, buf_str(&out), &again));
        assert(parsed);
        check_same(root, again);
    }
    struct buf any = buf_in(&a);
    buf_put(&any, STR("<a b=\""));
    xml_put_attribute(&any, in);
    buf_put(&any, STR("\">"));
    xml_put_text(&any, in);
    buf_put(&any, STR("</a>"));
    bool held = !err_is(xml_parse(&a, buf_str(&any), &again));
    assert(held && (!xml_can_hold(in) || str_eq(again->text, in)));
    arena_release(&a);
    return 0;
}
