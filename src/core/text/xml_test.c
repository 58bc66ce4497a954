/* SPDX-License-Identifier: Apache-2.0 */
#include "core/text/xml.h"

#include "core/test.h"

static struct arena arena;

static struct err parse(struct str document, struct xml_node **root)
{
    arena_init(&arena, 1 << 26);
    *root = NULL;
    return xml_parse(&arena, document, root);
}

void test_xml_writes(void)
{
    struct buf out = buf_heap();
    xml_open(&out, STR("A"));
    xml_element(&out, STR("B"), STR("<x> & \"y\"\r\n\t\xC3\xA4"));
    xml_element(&out, STR("C"), STR(""));
    xml_element_u64(&out, STR("D"), 7);
    xml_element_bool(&out, STR("E"), false);
    xml_close(&out, STR("A"));
    CHECK_STR(buf_str(&out), STR("<A><B>&lt;x&gt; &amp; \"y\"&#xD;\n\t\xC3\xA4</B><C />"
                                 "<D>7</D><E>false</E></A>"));
    buf_clear(&out);
    xml_put_attribute(&out, STR("a\"b\n\t<"));
    CHECK_STR(buf_str(&out), STR("a&quot;b&#xA;&#x9;&lt;"));
    buf_release(&out);
}

void test_xml_replaces_what_it_cannot_hold(void)
{
    struct buf out = buf_heap();
    CHECK(xml_can_hold(STR("a\t\r\n\xEF\xBF\xBD")));
    CHECK(!xml_can_hold(STR("a\x01")) && !xml_can_hold(STR("\xEF\xBF\xBF")));
    CHECK(!xml_can_hold(STR("\xFF")) && !xml_can_hold(STR("x\0y")));
    xml_put_text(&out, STR("a\x01<b\xEF\xBF\xBF"
                           "c\xFF\0&"));
    CHECK_STR(buf_str(&out), STR("a\xEF\xBF\xBD&lt;b\xEF\xBF\xBD"
                                 "c\xEF\xBF\xBD\xEF\xBF\xBD&amp;"));
    buf_release(&out);
}

/* Each byte at each position of a text, compared with the bytes that a document may contain
 * unescaped. */
void test_xml_plain_stops_at_every_byte_that_is_not(void)
{
    char text[300];
    for (size_t n = 1; n <= sizeof text; n += n < 20 ? 1 : 31) {
        memset(text, 'x', n);
        CHECK_INT(xml_plain((struct str){text, n}), n);
        for (size_t at = 0; at < n; at++) {
            for (int c = 0; c < 256; c++) {
                text[at] = (char)c;
                size_t plain = xml_plain((struct str){text, n});
                bool stands = c >= 0x20 && c < 0x80 && strchr("<>&\"", c) == NULL;
                CHECK(stands ? plain == n : plain <= at);
            }
            text[at] = 'x';
        }
    }
    CHECK_INT(xml_plain(STR_NONE), 0);
}

void test_xml_reads(void)
{
    struct xml_node *root;
    CHECK_OK(parse(STR("\xEF\xBB\xBF<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"
                       "<BlockList a=\"1\">\n <Latest> A&#x3D;&amp;<![CDATA[<b>]]></Latest>"
                       "<!-- no --><Committed/> x\n</BlockList>\n"),
                   &root));
    CHECK_STR(root->name, STR("BlockList"));
    CHECK_STR(root->text, STR("\n  x\n"));
    CHECK_STR(xml_child_text(root, STR("Latest")), STR(" A=&<b>"));
    const struct xml_node *committed = xml_child(root, STR("Committed"));
    CHECK(committed != NULL && str_given(committed->text) && committed->text.n == 0);
    CHECK(root->first_child->next == committed && committed->next == NULL);
    CHECK(!str_given(xml_child_text(root, STR("latest"))));
    CHECK(xml_child(xml_child(root, STR("Nobody")), STR("X")) == NULL);
    arena_release(&arena);
}

void test_xml_reads_utf16(void)
{
    struct xml_node *root;
    CHECK_OK(parse(STR("\xFF\xFE<\0a\0>\0\xE4\0=\xD8\0\xDE<\0/\0a\0>\0"), &root));
    CHECK_STR(root->text, STR("\xC3\xA4\xF0\x9F\x98\x80"));
    arena_release(&arena);
}

void test_xml_refuses(void)
{
    static const struct str BAD[] = {
        STR_INIT(""),
        STR_INIT(" "),
        STR_INIT("<a>"),
        STR_INIT("<a></b>"),
        STR_INIT("<a/><b/>"),
        STR_INIT("<a>&nope;</a>"),
        STR_INIT("<a>\x01</a>"),
        STR_INIT("<a>\xFF</a>"),
        STR_INIT("<a\0/>"),
        STR_INIT("<!DOCTYPE a><a/>"),
        STR_INIT("<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>"),
        STR_INIT("<?xml version=\"1.0\" encoding=\"no-such\"?><a/>"),
    };
    struct xml_node *root;
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        CHECK_ERR(parse(BAD[i], &root), ERR_INVALID_XML_DOCUMENT);
        CHECK(root == NULL);
        arena_release(&arena);
    }
}

static void nest(struct buf *out, size_t depth)
{
    for (size_t i = 0; i < depth; i++)
        xml_open(out, STR("a"));
    for (size_t i = 0; i < depth; i++)
        xml_close(out, STR("a"));
}

void test_xml_limits(void)
{
    struct xml_node *root;
    struct buf out = buf_heap();
    nest(&out, XML_DEPTH_MAX);
    CHECK_OK(parse(buf_str(&out), &root));
    arena_release(&arena);
    buf_clear(&out);
    nest(&out, XML_DEPTH_MAX + 1);
    CHECK_ERR(parse(buf_str(&out), &root), ERR_INVALID_XML_DOCUMENT);
    arena_release(&arena);
    buf_clear(&out);
    xml_open(&out, STR("a"));
    for (size_t i = 0; i < XML_NODES_MAX; i++)
        buf_put(&out, STR("<b/>"));
    xml_close(&out, STR("a"));
    CHECK_ERR(parse(buf_str(&out), &root), ERR_INVALID_XML_DOCUMENT);
    arena_release(&arena);
    buf_release(&out);
}
