/* SPDX-License-Identifier: Apache-2.0 */
/* XML for request and response bodies: a writer that escapes, and a reader that makes a small
 * tree. */
#ifndef CORE_TEXT_XML_H
#define CORE_TEXT_XML_H

#include "core/buf.h"
#include "core/err.h"

/* --- writing ------------------------------------------------------------------------------- */

#define XML_DECLARATION "<?xml version=\"1.0\" encoding=\"utf-8\"?>"

/* False if the text has characters that XML 1.0 cannot represent (most control characters, U+FFFE,
 * U+FFFF) or is not UTF-8. Blob names of that kind are sent percent-encoded with an attribute that
 * says so. */
bool xml_can_hold(struct str text);
/* Returns how many leading bytes are printable ASCII without markup, which need no escaping
 * anywhere. Most texts are entirely plain, and the check takes eight bytes at a time. */
size_t xml_plain(struct str text);
/* Appends the text with <, >, & and CR escaped; each byte or character that xml_can_hold refuses
 * becomes U+FFFD, so the document is well-formed for any text. */
void xml_put_text(struct buf *out, struct str text);
/* The same for an attribute's value between double quotes: also ", tab and LF. */
void xml_put_attribute(struct buf *out, struct str value);

/* "<name>" and "</name>". Names are the program's own and are not checked. */
void xml_open(struct buf *out, struct str name);
void xml_close(struct buf *out, struct str name);
/* "<name>text</name>", or "<name />" when the text is empty; Azure writes empty elements so. */
void xml_element(struct buf *out, struct str name, struct str text);
void xml_element_u64(struct buf *out, struct str name, uint64_t value);
void xml_element_bool(struct buf *out, struct str name, bool value);

/* --- reading ------------------------------------------------------------------------------- */

enum {
    XML_BYTES_MAX = 16 << 20, /* a block list of 50,000 long ids has 6 MB */
    XML_DEPTH_MAX = 16,
    XML_NODES_MAX = 200000,
};

struct xml_node {
    struct str name; /* as sent, with its prefix if it has one */
    struct str text; /* all the element's own text, white space kept, always UTF-8; never absent */
    bool encoded;    /* it has the attribute Encoded="true": the text is percent-encoded */
    struct xml_node *first_child;
    struct xml_node *next; /* its next sibling */
};

/* Parses a whole document in UTF-8 (a byte order mark is fine), UTF-16, ISO-8859-1 or ASCII. The
 * tree is in the arena. ERR_INVALID_XML_DOCUMENT if it is malformed, for any DOCTYPE (so there are
 * no entities beyond the five), and past the limits above. Other attributes, comments and
 * processing instructions are ignored. */
struct err xml_parse(struct arena *a, struct str document, struct xml_node **root);

/* The first child of that name; NULL if there is none, or if node is NULL. */
const struct xml_node *xml_child(const struct xml_node *node, struct str name);
/* Its text; absent when there is no such child. */
struct str xml_child_text(const struct xml_node *node, struct str name);

#endif
