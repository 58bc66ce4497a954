/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/spnego.h"

#include "core/wire.h"

enum {
    DER_OCTETS = 0x04,
    DER_OID = 0x06,
    DER_ENUM = 0x0A,
    DER_SEQUENCE = 0x30,
    DER_APPLICATION = 0x60,
    DER_CONTEXT = 0xA0, /* + the field's number */
    ACCEPT_COMPLETED = 0,
    ACCEPT_INCOMPLETE = 1,
    TOKEN_MAX = 65536,
    MECHS_MAX = 16,
    MECH_LIST_BYTES_MAX = 1024,
};

static const struct str OID_SPNEGO = STR_INIT("\x2B\x06\x01\x05\x05\x02");
static const struct str OID_NTLM = STR_INIT("\x2B\x06\x01\x04\x01\x82\x37\x02\x02\x0A");

/* ---- DER: definite lengths only ---- */

/* The value of the next element when it has that tag; moves past it. */
static bool der_take(struct reader *r, uint8_t tag, struct str *value)
{
    if (r->bad || r->n == 0 || (uint8_t)r->p[0] != tag)
        return false;
    (void)read_u8(r);
    size_t length = read_u8(r);
    if (length > 0x80) {
        size_t bytes = length - 0x80;
        length = 0;
        if (bytes > 3)
            return false;
        for (size_t i = 0; i < bytes; i++)
            length = length << 8 | read_u8(r);
    } else if (length == 0x80) {
        return false;
    }
    *value = read_raw(r, length);
    return reader_ok(r);
}

static void der_put(struct buf *out, uint8_t tag, struct str value)
{
    buf_put_u8(out, tag);
    if (value.n < 0x80) {
        buf_put_u8(out, (uint8_t)value.n);
    } else if (value.n < 0x100) {
        buf_put_u8(out, 0x81);
        buf_put_u8(out, (uint8_t)value.n);
    } else {
        buf_put_u8(out, 0x82);
        buf_put_be16(out, (uint16_t)value.n);
    }
    buf_put(out, value);
}

/* [number] { tag value }, the way every field here is wrapped. */
static void der_put_field(struct buf *out, uint8_t number, uint8_t tag, struct str value)
{
    struct buf inner = buf_heap();
    der_put(&inner, tag, value);
    der_put(out, (uint8_t)(DER_CONTEXT + number), buf_str(&inner));
    buf_release(&inner);
}

/* ---- tokens ---- */

struct token {
    struct str mech_list; /* the whole SEQUENCE, with its tag */
    struct str first_mech;
    bool offers_ntlm;
    struct str inner;
    struct str mic;
};

static bool read_mech_list(struct str field, struct token *out)
{
    struct reader r = reader_of(field);
    struct str list;
    struct str oid;
    out->mech_list = field;
    if (field.n > MECH_LIST_BYTES_MAX || !der_take(&r, DER_SEQUENCE, &list))
        return false;
    r = reader_of(list);
    for (unsigned count = 0; der_take(&r, DER_OID, &oid); count++) {
        if (count == 0)
            out->first_mech = oid;
        if (count == MECHS_MAX)
            return false;
        out->offers_ntlm = out->offers_ntlm || str_eq(oid, OID_NTLM);
    }
    return reader_done(&r);
}

static bool read_octets(struct str field, struct str *out)
{
    struct reader r = reader_of(field);
    return der_take(&r, DER_OCTETS, out);
}

/* The fields of NegTokenInit and NegTokenResp that matter: they agree in number 2 and 3. */
static bool read_fields(struct str body, bool init, struct token *out)
{
    struct reader outer = reader_of(body);
    struct str sequence;
    struct str field;
    if (!der_take(&outer, DER_SEQUENCE, &sequence))
        return false;
    struct reader r = reader_of(sequence);
    if (der_take(&r, DER_CONTEXT + 0, &field) && init && !read_mech_list(field, out))
        return false;
    (void)der_take(&r, DER_CONTEXT + 1, &field);
    if (der_take(&r, DER_CONTEXT + 2, &field) && !read_octets(field, &out->inner))
        return false;
    if (der_take(&r, DER_CONTEXT + 3, &field) && !read_octets(field, &out->mic))
        return false;
    return reader_ok(&r);
}

static bool read_init(struct str text, struct token *out)
{
    struct reader r = reader_of(text);
    struct str application;
    struct str oid;
    struct str body;
    if (!der_take(&r, DER_APPLICATION, &application))
        return false;
    r = reader_of(application);
    return der_take(&r, DER_OID, &oid) && str_eq(oid, OID_SPNEGO) &&
           der_take(&r, DER_CONTEXT + 0, &body) && read_fields(body, true, out) &&
           str_given(out->mech_list);
}

static bool read_response(struct str text, struct token *out)
{
    struct reader r = reader_of(text);
    struct str body;
    return der_take(&r, DER_CONTEXT + 1, &body) && read_fields(body, false, out);
}

static void put_response(struct buf *reply, char state, struct str inner, struct str mic)
{
    struct buf fields = buf_heap();
    struct buf sequence = buf_heap();
    der_put_field(&fields, 0, DER_ENUM, (struct str){&state, 1});
    if (state == ACCEPT_INCOMPLETE)
        der_put_field(&fields, 1, DER_OID, OID_NTLM);
    if (str_given(inner))
        der_put_field(&fields, 2, DER_OCTETS, inner);
    if (str_given(mic))
        der_put_field(&fields, 3, DER_OCTETS, mic);
    der_put(&sequence, DER_SEQUENCE, buf_str(&fields));
    der_put(reply, DER_CONTEXT + 1, buf_str(&sequence));
    buf_release(&fields);
    buf_release(&sequence);
}

void spnego_hello(struct buf *out)
{
    struct buf oid = buf_heap();
    struct buf list = buf_heap();
    struct buf sequence = buf_heap();
    struct buf body = buf_heap();
    der_put(&oid, DER_OID, OID_NTLM);
    der_put_field(&list, 0, DER_SEQUENCE, buf_str(&oid));
    der_put(&sequence, DER_SEQUENCE, buf_str(&list));
    der_put(&body, DER_OID, OID_SPNEGO);
    der_put(&body, DER_CONTEXT + 0, buf_str(&sequence));
    der_put(out, DER_APPLICATION, buf_str(&body));
    buf_release(&oid);
    buf_release(&list);
    buf_release(&sequence);
    buf_release(&body);
}

/* ---- the conversation ---- */

void spnego_init(struct spnego *s)
{
    *s = (struct spnego){.mech_list = buf_heap()};
    ntlm_init(&s->ntlm);
}

void spnego_release(struct spnego *s)
{
    ntlm_release(&s->ntlm);
    buf_release(&s->mech_list);
}

static struct err challenge(struct spnego *s, struct str inner, int64_t now_ticks,
                            struct buf *reply)
{
    struct buf message = buf_heap();
    struct err error = ntlm_challenge(&s->ntlm, inner, now_ticks, &message);
    if (!err_is(error)) {
        s->stage = SPNEGO_WANT_AUTHENTICATE;
        if (s->bare)
            buf_put(reply, buf_str(&message));
        else
            put_response(reply, ACCEPT_INCOMPLETE, buf_str(&message), STR_NONE);
    }
    buf_release(&message);
    return error;
}

/* The client's first message. If the client prefers another mechanism, its first token is for that
 * one: name ours and wait for the next token. */
static struct err start(struct spnego *s, const struct token *token, int64_t now_ticks,
                        struct buf *reply)
{
    if (!token->offers_ntlm)
        return err_new(ERR_AUTHENTICATION_FAILED);
    buf_put(&s->mech_list, token->mech_list);
    if (str_eq(token->first_mech, OID_NTLM) && str_given(token->inner))
        return challenge(s, token->inner, now_ticks, reply);
    s->stage = SPNEGO_WANT_NEGOTIATE;
    put_response(reply, ACCEPT_INCOMPLETE, STR_NONE, STR_NONE);
    return OK;
}

static struct err authenticate(struct spnego *s, const struct token *token,
                               struct accounts *accounts, struct buf *reply)
{
    unsigned char mac[NTLM_SIGNATURE_BYTES];
    struct str mine = {(const char *)mac, sizeof mac};
    TRY(ntlm_authenticate(&s->ntlm, token->inner, accounts));
    s->stage = SPNEGO_DONE;
    if (s->bare)
        return OK;
    if (!str_given(token->mic)) {
        put_response(reply, ACCEPT_COMPLETED, STR_NONE, STR_NONE);
        return OK;
    }
    ntlm_sign(&s->ntlm, true, buf_str(&s->mech_list), mac);
    if (!str_eq_secret(mine, token->mic))
        return err_new(ERR_AUTHENTICATION_FAILED);
    ntlm_sign(&s->ntlm, false, buf_str(&s->mech_list), mac);
    put_response(reply, ACCEPT_COMPLETED, STR_NONE, mine);
    return OK;
}

struct err spnego_step(struct spnego *s, struct str text, struct accounts *accounts,
                       int64_t now_ticks, struct buf *reply)
{
    struct token token = {0};
    bool bare = str_starts(text, STR("NTLMSSP"));
    if (text.n > TOKEN_MAX || s->stage == SPNEGO_DONE)
        return err_new(ERR_INVALID_AUTHENTICATION_INFO);
    if (bare)
        token.inner = text;
    if (s->stage == SPNEGO_START && bare) {
        s->bare = true;
        return challenge(s, text, now_ticks, reply);
    }
    if (s->stage == SPNEGO_START)
        return read_init(text, &token) ? start(s, &token, now_ticks, reply)
                                       : err_new(ERR_INVALID_AUTHENTICATION_INFO);
    if (!bare && !read_response(text, &token))
        return err_new(ERR_INVALID_AUTHENTICATION_INFO);
    if (s->stage == SPNEGO_WANT_NEGOTIATE)
        return challenge(s, token.inner, now_ticks, reply);
    return authenticate(s, &token, accounts, reply);
}
