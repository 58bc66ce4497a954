/* SPDX-License-Identifier: Apache-2.0 */
#include "core/text/xml.h"

#include <assert.h>
#include <expat.h>
#include <stdlib.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "core/mem.h"
#include "core/word.h"

/* --- writing ------------------------------------------------------------------------------- */

static bool control_forbidden(unsigned char c)
{
    return c < 0x20 && c != '\t' && c != '\n' && c != '\r';
}

/* U+FFFE and U+FFFF, the only characters beyond the controls that XML 1.0 forbids. */
static bool noncharacter(struct str s, size_t at)
{
    return s.n - at >= 3 && (unsigned char)s.p[at] == 0xEF && (unsigned char)s.p[at + 1] == 0xBF &&
           (unsigned char)s.p[at + 2] >= 0xBE;
}

/* Not zero if one of the word's eight bytes is a control character, markup or beyond ASCII. '<' and
 * '>' differ in one bit, and so do '"' and '&': each pair is found with that bit set. (Subtracting
 * from a byte borrows into its top bit only if the byte is smaller, or beyond ASCII. A borrow that
 * a smaller neighbour passes on is harmless, because that neighbour is found.) */
static uint64_t word_marks(uint64_t word)
{
    uint64_t angle = (word | word_all(0x02)) ^ word_all('>');
    uint64_t quote = (word | word_all(0x04)) ^ word_all('&');
    return (word | (word - word_all(0x20)) | (angle - word_all(1)) | (quote - word_all(1))) &
           word_all(0x80);
}

/* The same for the bytes of a vector, each independent of the others; the result is in the top
 * bits. */
#define VECTOR_MARKS(c) \
    (((c) | ((c)-0x20)) | (((((c) | 0x02) ^ '>') - 1) | ((((c) | 0x04) ^ '&') - 1)))
enum { BLOCK_BYTES = 64 };

/* Tests a whole block first, because most texts are plain. Every supported machine has 16-byte
 * vectors. */
static bool block_is_plain(const char *p)
{
    typedef unsigned char chars __attribute__((vector_size(16)));
    chars c[BLOCK_BYTES / sizeof(chars)];
    uint64_t halves[2];
    memcpy(c, p, sizeof c);
    chars marks =
        (VECTOR_MARKS(c[0]) | VECTOR_MARKS(c[1])) | (VECTOR_MARKS(c[2]) | VECTOR_MARKS(c[3]));
    memcpy(halves, &marks, sizeof halves);
    return ((halves[0] | halves[1]) & word_all(0x80)) == 0;
}

static size_t plain_blocks(struct str text)
{
    size_t i = 0;
    while (i + BLOCK_BYTES <= text.n && block_is_plain(text.p + i))
        i += BLOCK_BYTES;
    return i;
}

#if defined(__x86_64__)
/* 32-byte registers, which most machines have, halve the steps. */
__attribute__((target("avx2"))) static size_t plain_blocks_wide(struct str text)
{
    typedef unsigned char chars __attribute__((vector_size(32)));
    size_t i = 0;
    for (; i + BLOCK_BYTES <= text.n; i += BLOCK_BYTES) {
        chars first, second;
        memcpy(&first, text.p + i, sizeof first);
        memcpy(&second, text.p + i + sizeof first, sizeof second);
        chars marks = VECTOR_MARKS(first) | VECTOR_MARKS(second);
        if (_mm256_movemask_epi8((__m256i)marks) != 0)
            break;
    }
    return i;
}
#endif

static size_t plain_start(struct str text)
{
#if defined(__x86_64__)
    enum { WIDE_BYTES_MIN = 256 };
    if (text.n >= WIDE_BYTES_MIN && __builtin_cpu_supports("avx2"))
        return plain_blocks_wide(text);
#endif
    return plain_blocks(text);
}

size_t xml_plain(struct str text)
{
    size_t i = plain_start(text);
    uint64_t word;
    for (; i + sizeof word <= text.n; i += sizeof word) {
        memcpy(&word, text.p + i, sizeof word);
        if (word_marks(word) != 0)
            return i;
    }
    char rest[sizeof word];
    memset(rest, ' ', sizeof rest);
    if (i < text.n)
        memcpy(rest, text.p + i, text.n - i);
    memcpy(&word, rest, sizeof word);
    return word_marks(word) == 0 ? text.n : i;
}

/* For a text whose beginning is known to be plain. */
static bool can_hold_from(struct str text, size_t plain)
{
    text = str_from(text, plain);
    for (size_t i = 0; i < text.n; i++)
        if (control_forbidden((unsigned char)text.p[i]) || noncharacter(text, i))
            return false;
    return str_is_utf8(text);
}

bool xml_can_hold(struct str text)
{
    return can_hold_from(text, xml_plain(text));
}

/* Returns the escape for a character; absent if it needs none. */
static struct str escape_of(char c, bool attribute)
{
    switch (c) {
    case '<':
        return STR("&lt;");
    case '>':
        return STR("&gt;");
    case '&':
        return STR("&amp;");
    case '\r':
        return STR("&#xD;");
    case '"':
        return attribute ? STR("&quot;") : STR_NONE;
    case '\t':
        return attribute ? STR("&#x9;") : STR_NONE;
    case '\n':
        return attribute ? STR("&#xA;") : STR_NONE;
    default:
        return STR_NONE;
    }
}

/* `plain`: how much of its beginning is known to need no escape. */
static void put_escaped(struct buf *out, struct str text, size_t plain, bool attribute)
{
    size_t done = 0;
    for (size_t i = plain; i < text.n; i++) {
        if ((unsigned char)text.p[i] > '>')
            continue;
        struct str escape = escape_of(text.p[i], attribute);
        if (!str_given(escape))
            continue;
        buf_put(out, (struct str){text.p + done, i - done});
        buf_put(out, escape);
        done = i + 1;
    }
    buf_put(out, str_from(text, done));
}

/* Length of the longest start of s that a document can hold. */
static size_t holdable(struct str s)
{
    size_t i = 0;
    while (i < s.n) {
        size_t n = str_utf8_length(str_from(s, i));
        if (n == 0 || control_forbidden((unsigned char)s.p[i]) || noncharacter(s, i))
            break;
        i += n;
    }
    return i;
}

static void put_replacing(struct buf *out, struct str text, bool attribute)
{
    while (text.n > 0) {
        size_t good = holdable(text);
        put_escaped(out, str_head(text, good), 0, attribute);
        text = str_from(text, good);
        if (text.n > 0) {
            buf_put(out, STR("\xEF\xBF\xBD"));
            text = str_from(text, noncharacter(text, 0) ? 3 : 1);
        }
    }
}

static void put_any(struct buf *out, struct str text, bool attribute)
{
    size_t plain = xml_plain(text);
    if (plain == text.n)
        buf_put(out, text);
    else if (can_hold_from(text, plain))
        put_escaped(out, text, plain, attribute);
    else
        put_replacing(out, text, attribute);
}

void xml_put_text(struct buf *out, struct str text)
{
    put_any(out, text, false);
}

void xml_put_attribute(struct buf *out, struct str value)
{
    put_any(out, value, true);
}

void xml_open(struct buf *out, struct str name)
{
    buf_putc(out, '<');
    buf_put(out, name);
    buf_putc(out, '>');
}

void xml_close(struct buf *out, struct str name)
{
    buf_put(out, STR("</"));
    buf_put(out, name);
    buf_putc(out, '>');
}

void xml_element(struct buf *out, struct str name, struct str text)
{
    if (text.n == 0) {
        buf_putc(out, '<');
        buf_put(out, name);
        buf_put(out, STR(" />"));
        return;
    }
    xml_open(out, name);
    xml_put_text(out, text);
    xml_close(out, name);
}

void xml_element_u64(struct buf *out, struct str name, uint64_t value)
{
    xml_open(out, name);
    buf_put_u64(out, value);
    xml_close(out, name);
}

void xml_element_bool(struct buf *out, struct str name, bool value)
{
    xml_element(out, name, value ? STR("true") : STR("false"));
}

/* --- reading ------------------------------------------------------------------------------- */

/* An open element. */
struct open_element {
    struct xml_node *node;
    struct xml_node *last_child;
    size_t text_start;
};

/* The texts of all open elements are in `text`, one after the other. The end of an inner element
 * removes its text, so the outer one's continues where it stopped. */
struct xml_reader {
    XML_Parser parser;
    struct arena *arena;
    struct xml_node *root;
    struct open_element open[XML_DEPTH_MAX];
    size_t depth;
    size_t nodes;
    struct buf text;
    bool refused;
};

static void refuse(struct xml_reader *r)
{
    r->refused = true;
    (void)XML_StopParser(r->parser, XML_FALSE);
}

static void XMLCALL on_start(void *user, const XML_Char *name, const XML_Char **attributes)
{
    struct xml_reader *r = user;
    if (r->depth == XML_DEPTH_MAX || r->nodes == XML_NODES_MAX) {
        refuse(r);
        return;
    }
    struct xml_node *node = ARENA_NEW(r->arena, struct xml_node);
    node->name = arena_copy(r->arena, str_of(name));
    for (; attributes[0] != NULL; attributes += 2)
        if (strcmp(attributes[0], "Encoded") == 0 && strcmp(attributes[1], "true") == 0)
            node->encoded = true;
    r->nodes++;
    if (r->depth == 0) {
        r->root = node;
    } else {
        struct open_element *parent = &r->open[r->depth - 1];
        if (parent->last_child == NULL)
            parent->node->first_child = node;
        else
            parent->last_child->next = node;
        parent->last_child = node;
    }
    r->open[r->depth++] = (struct open_element){node, NULL, r->text.n};
}

static void XMLCALL on_end(void *user, const XML_Char *name)
{
    struct xml_reader *r = user;
    (void)name;
    if (r->refused)
        return;
    assert(r->depth > 0);
    struct open_element *element = &r->open[--r->depth];
    element->node->text = arena_copy(r->arena, str_from(buf_str(&r->text), element->text_start));
    r->text.n = element->text_start;
}

static void XMLCALL on_text(void *user, const XML_Char *text, int n)
{
    struct xml_reader *r = user;
    assert(n >= 0);
    if (!r->refused)
        buf_put(&r->text, (struct str){text, (size_t)n});
}

static void XMLCALL on_doctype(void *user, const XML_Char *name, const XML_Char *system_id,
                               const XML_Char *public_id, int has_subset)
{
    (void)name;
    (void)system_id;
    (void)public_id;
    (void)has_subset;
    refuse(user);
}

struct err xml_parse(struct arena *a, struct str document, struct xml_node **root)
{
    static const XML_Memory_Handling_Suite memory = {mem_alloc, mem_realloc, free};
    struct xml_reader r = {.arena = a, .text = buf_heap()};
    if (document.n == 0 || document.n > XML_BYTES_MAX)
        return err_new(ERR_INVALID_XML_DOCUMENT);
    r.parser = XML_ParserCreate_MM(NULL, &memory, NULL);
    assert(r.parser != NULL);
    XML_SetUserData(r.parser, &r);
    XML_SetElementHandler(r.parser, on_start, on_end);
    XML_SetCharacterDataHandler(r.parser, on_text);
    XML_SetStartDoctypeDeclHandler(r.parser, on_doctype);
    enum XML_Status status = XML_Parse(r.parser, document.p, (int)document.n, 1);
    XML_ParserFree(r.parser);
    buf_release(&r.text);
    if (status != XML_STATUS_OK || r.refused)
        return err_new(ERR_INVALID_XML_DOCUMENT);
    assert(r.root != NULL && r.depth == 0);
    *root = r.root;
    return OK;
}

const struct xml_node *xml_child(const struct xml_node *node, struct str name)
{
    const struct xml_node *child = node == NULL ? NULL : node->first_child;
    while (child != NULL && !str_eq(child->name, name))
        child = child->next;
    return child;
}

struct str xml_child_text(const struct xml_node *node, struct str name)
{
    const struct xml_node *child = xml_child(node, name);
    return child == NULL ? STR_NONE : child->text;
}
