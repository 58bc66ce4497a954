/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/queue/xml.h"

#include "core/clock.h"
#include "core/text/base64.h"
#include "core/text/xml.h"
#include "core/time.h"
#include "rest/blob/upload.h"

/* ---- reading ---- */

/* Nearly every message has one of these around a text without markup, as the SDKs write it. */
static const struct str HEADS[] = {
    STR_INIT("<QueueMessage><MessageText>"),
    STR_INIT("<?xml version=\"1.0\" encoding=\"utf-8\"?><QueueMessage><MessageText>"),
    STR_INIT("<?xml version=\"1.0\" encoding=\"UTF-8\"?><QueueMessage><MessageText>"),
    STR_INIT("<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>"
             "<QueueMessage><MessageText>"),
    STR_INIT("<?xml version='1.0' encoding='utf-8'?>\n<QueueMessage><MessageText>"),
    STR_INIT("\xEF\xBB\xBF<?xml version=\"1.0\" encoding=\"utf-8\"?><QueueMessage><MessageText>"),
};
static const struct str TAIL = STR_INIT("</MessageText></QueueMessage>");

/* Returns true if the text needs no escaping in XML. */
static bool is_plain(struct str text)
{
    size_t plain = xml_plain(text);
    if (plain == text.n)
        return true;
    for (size_t i = plain; i < text.n; i++)
        if (text.p[i] == '<' || text.p[i] == '&' || text.p[i] == '>' || text.p[i] == '\r')
            return false;
    return xml_can_hold(text);
}

/* Parses the usual form without an XML parser, which would cost more than all other decoding.
 * Anything else goes to the parser. */
static bool plain_message_text(struct str body, struct str *text)
{
    if (!str_ends(body, TAIL))
        return false;
    for (size_t i = 0; i < sizeof HEADS / sizeof HEADS[0]; i++) {
        if (body.n < HEADS[i].n + TAIL.n || !str_starts(body, HEADS[i]))
            continue;
        *text = (struct str){body.p + HEADS[i].n, body.n - HEADS[i].n - TAIL.n};
        return is_plain(*text);
    }
    return false;
}

static bool is_blank(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (strchr(" \t\r\n", text.p[i]) == NULL)
            return false;
    return true;
}

/* Refuses a text with unescaped markup, because parsing would lose part of it; also a second text,
 * and text outside its element. */
static struct err parsed_message_text(struct rest_call *call, struct str *text)
{
    const struct str name = STR("MessageText");
    struct xml_node *root;
    TRY(xml_parse(call->arena, call->body, &root));
    const struct xml_node *node = xml_child(root, name);
    if (!str_eq(root->name, STR("QueueMessage")) || !is_blank(root->text) || node == NULL ||
        node->first_child != NULL)
        return err_new(ERR_INVALID_XML_DOCUMENT);
    for (const struct xml_node *other = node->next; other != NULL; other = other->next)
        if (str_eq(other->name, name))
            return err_new(ERR_INVALID_XML_DOCUMENT);
    *text = node->text;
    return OK;
}

struct err rest_queue_xml_message_text(struct rest_call *call, struct str *text)
{
    TRY(rest_blob_check_body_checksums(call, call->body));
    if (!plain_message_text(call->body, text))
        TRY(parsed_message_text(call, text));
    if (text->n > QUEUE_TEXT_BYTES_MAX)
        return err_detail(ERR_REQUEST_BODY_TOO_LARGE,
                          arena_printf(call->arena, "MaxLimit\t%d", QUEUE_TEXT_BYTES_MAX).p);
    return OK;
}

/* ---- writing ---- */

void rest_queue_xml_put_receipt(struct buf *out, const struct queue_receipt *receipt)
{
    base64_put(out, (struct str){(const char *)receipt->bytes, sizeof receipt->bytes});
}

/* The last formatted time: the messages of a list share a few seconds. */
struct told {
    int64_t second;
    char text[TIME_RFC1123_BYTES];
};

static void put_time(struct buf *out, int64_t ticks, struct told *told)
{
    int64_t second = ticks / TICKS_PER_SECOND;
    if (second != told->second) {
        told->second = second;
        time_rfc1123(ticks, told->text);
    }
    buf_put(out, (struct str){told->text, sizeof told->text});
}

struct told_times {
    struct told inserted, expires, next_visible;
};

static void put_message(struct buf *out, const struct queue_message *m, enum queue_xml_view view,
                        struct told_times *times)
{
    buf_put(out, STR("<QueueMessage><MessageId>"));
    guid_put(out, &m->id);
    buf_put(out, STR("</MessageId><InsertionTime>"));
    put_time(out, m->inserted, &times->inserted);
    buf_put(out, STR("</InsertionTime><ExpirationTime>"));
    put_time(out, m->expires, &times->expires);
    buf_put(out, STR("</ExpirationTime>"));
    if (view != QUEUE_XML_PEEK) {
        buf_put(out, STR("<PopReceipt>"));
        rest_queue_xml_put_receipt(out, &m->receipt);
        buf_put(out, STR("</PopReceipt><TimeNextVisible>"));
        put_time(out, m->next_visible, &times->next_visible);
        buf_put(out, STR("</TimeNextVisible>"));
    }
    if (view != QUEUE_XML_PUT) {
        xml_element_u64(out, STR("DequeueCount"), m->dequeue_count);
        xml_element(out, STR("MessageText"), m->text);
    }
    buf_put(out, STR("</QueueMessage>"));
}

void rest_queue_xml_put_list(struct rest_call *call, const struct queue_message *messages,
                             size_t count, enum queue_xml_view view)
{
    enum { FRAME_BYTES = 128 };
    struct buf *out = &call->out;
    struct told_times times = {.inserted.second = INT64_MIN,
                               .expires.second = INT64_MIN,
                               .next_visible.second = INT64_MIN};
    /* Initial capacity for all of it, to avoid growing step by step. */
    size_t room = FRAME_BYTES;
    for (size_t i = 0; i < count; i++)
        room += QUEUE_XML_MESSAGE_BYTES + (view == QUEUE_XML_PUT ? 0 : messages[i].text.n);
    (void)buf_reserve(out, room);
    call_begin_xml(call);
    buf_put(out, count == 0 ? STR("<QueueMessagesList />") : STR("<QueueMessagesList>"));
    for (size_t i = 0; i < count; i++)
        put_message(out, &messages[i], view, &times);
    if (count > 0)
        buf_put(out, STR("</QueueMessagesList>"));
}
