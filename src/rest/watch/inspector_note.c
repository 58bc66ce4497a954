/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/watch/inspector_note.h"

#include <assert.h>
#include <limits.h>
#include <netinet/in.h>

static_assert(NOTE_AGENT_MAX < sizeof(((struct inspector_who *)0)->agent), "it is shown whole");
static_assert(NOTE_CLIENT_ID_MAX < sizeof(((struct inspector_who *)0)->client_request_id),
              "it is shown whole");
static_assert(NOTE_CONTAINER_MAX < sizeof(((struct inspector_event *)0)->container),
              "it is shown whole");
static_assert(INSPECTOR_NAME_MAX <= UCHAR_MAX, "a size fits in a byte");

/* ---- writing ---- */

/* How much of the text fits in `most` bytes without cutting a character in half. */
static size_t whole_characters(struct str from, size_t most)
{
    size_t n = from.n < most ? from.n : most;
    while (n > 0 && n < from.n && ((unsigned char)from.p[n] & 0xC0) == 0x80)
        n--;
    return n;
}

void note_copy_text(char *to, size_t size, struct str from)
{
    assert(size > 0);
    size_t n = whole_characters(from, size - 1);
    if (n > 0)
        memcpy(to, from.p, n);
    to[n] = '\0';
}

/* Where the next text goes. */
struct pen {
    struct note *note;
    size_t at;
};

static void put(struct pen *pen, enum note_text which, const void *from, size_t n)
{
    assert(pen->at + n <= NOTE_BYTES_MAX);
    pen->note->sizes[which] = (unsigned char)n;
    if (n > 0)
        memcpy(pen->note->text + pen->at, from, n);
    pen->at += n;
}

static void put_bytes(struct pen *pen, enum note_text which, struct str from, size_t most)
{
    put(pen, which, from.p, from.n < most ? from.n : most);
}

static void put_text(struct pen *pen, enum note_text which, struct str from, size_t most)
{
    put(pen, which, from.p, whole_characters(from, most));
}

static void put_address(struct pen *pen, const struct sockaddr_storage *peer)
{
    const void *address = NULL;
    size_t n = 0;
    pen->note->family = 0;
    if (peer != NULL && peer->ss_family == AF_INET) {
        address = &((const struct sockaddr_in *)peer)->sin_addr;
        n = sizeof(struct in_addr);
    } else if (peer != NULL && peer->ss_family == AF_INET6) {
        address = &((const struct sockaddr_in6 *)peer)->sin6_addr;
        n = sizeof(struct in6_addr);
    }
    if (n > 0)
        pen->note->family = (unsigned char)peer->ss_family;
    put(pen, NOTE_ADDRESS, address, n);
}

/* "PartitionKey/RowKey". */
static void put_entity(struct pen *pen, struct str pk, struct str rk)
{
    size_t start = pen->at;
    put_text(pen, NOTE_OBJECT, pk, INSPECTOR_NAME_MAX);
    if (pk.n < INSPECTOR_NAME_MAX) {
        pen->note->text[pen->at++] = '/';
        put_text(pen, NOTE_OBJECT, rk, INSPECTOR_NAME_MAX - pk.n - 1);
    }
    pen->note->sizes[NOTE_OBJECT] = (unsigned char)(pen->at - start);
}

void note_fill(struct note *n, const struct note_source *from)
{
    struct pen pen = {.note = n};
    n->hash = from->hash;
    n->at = from->at;
    n->etag = from->etag;
    n->op = from->op;
    n->status = (uint16_t)from->status;
    n->kind = (unsigned char)from->kind;
    n->service = (unsigned char)from->service;
    put_bytes(&pen, NOTE_REQUEST_ID, from->request_id, GUID_TEXT_BYTES);
    put_bytes(&pen, NOTE_CLIENT_ID, from->client_id, NOTE_CLIENT_ID_MAX);
    put_bytes(&pen, NOTE_AGENT, from->agent, NOTE_AGENT_MAX);
    put_address(&pen, from->peer);
    put_bytes(&pen, NOTE_ACCOUNT, from->account, ACCOUNT_NAME_MAX);
    put_text(&pen, NOTE_CONTAINER, from->container, NOTE_CONTAINER_MAX);
    if (str_given(from->pk))
        put_entity(&pen, from->pk, from->rk);
    else
        put_text(&pen, NOTE_OBJECT, from->object, INSPECTOR_NAME_MAX);
}

static size_t writer_bytes(const unsigned char sizes[])
{
    size_t n = 0;
    for (size_t i = 0; i < NOTE_WRITER_TEXTS; i++)
        n += sizes[i];
    return n;
}

void note_writer_set(struct note_writer *w, const struct note *n)
{
    w->hash = n->hash;
    w->at = n->at;
    w->etag = n->etag;
    w->op = n->op;
    w->family = n->family;
    memcpy(w->sizes, n->sizes, sizeof w->sizes);
    memcpy(w->text, n->text, writer_bytes(n->sizes));
}

/* ---- showing ---- */

static struct str text_of(const unsigned char sizes[], const char *text, enum note_text which)
{
    size_t at = 0;
    for (size_t i = 0; i < which; i++)
        at += sizes[i];
    return (struct str){text + at, sizes[which]};
}

struct str note_account(const struct note *n)
{
    return text_of(n->sizes, n->text, NOTE_ACCOUNT);
}

struct str note_writer_account(const struct note_writer *w)
{
    return text_of(w->sizes, w->text, NOTE_ACCOUNT);
}

static void show(char *to, struct str text)
{
    memcpy(to, text.p, text.n);
    to[text.n] = '\0';
}

static void show_who(const unsigned char sizes[], const char *text, unsigned char family,
                     struct inspector_who *out)
{
    struct str address = text_of(sizes, text, NOTE_ADDRESS);
    show(out->request_id, text_of(sizes, text, NOTE_REQUEST_ID));
    show(out->client_request_id, text_of(sizes, text, NOTE_CLIENT_ID));
    show(out->agent, text_of(sizes, text, NOTE_AGENT));
    memcpy(out->address, address.p, address.n);
    out->family = family;
}

void note_show(const struct note *n, struct inspector_event *out)
{
    *out = (struct inspector_event){.sequence = n->sequence,
                                    .kind = (enum inspector_kind)n->kind,
                                    .at = n->at,
                                    .service = (enum service_kind)n->service,
                                    .op = n->op,
                                    .status = n->status,
                                    .hash = n->hash,
                                    .etag = n->etag};
    show(out->account, note_account(n));
    show(out->container, text_of(n->sizes, n->text, NOTE_CONTAINER));
    show(out->object, text_of(n->sizes, n->text, NOTE_OBJECT));
    show_who(n->sizes, n->text, n->family, &out->who);
}

void note_show_maker(const struct note *n, struct inspector_maker *out)
{
    *out = (struct inspector_maker){.known = true, .op = n->op, .at = n->at, .etag = n->etag};
    show_who(n->sizes, n->text, n->family, &out->who);
}

void note_writer_show(const struct note_writer *w, struct inspector_maker *out)
{
    *out = (struct inspector_maker){.known = true, .op = w->op, .at = w->at, .etag = w->etag};
    show_who(w->sizes, w->text, w->family, &out->who);
}
