/* SPDX-License-Identifier: Apache-2.0 */
/* [C706] connection-oriented PDUs and the NDR of three calls. Little-endian only, because all SMB
 * clients send that. */
#include "smb/rpc.h"

#include "core/text/utf16.h"
#include "core/wire.h"

enum {
    PDU_REQUEST = 0,
    PDU_RESPONSE = 2,
    PDU_FAULT = 3,
    PDU_BIND = 11,
    PDU_BIND_ACK = 12,
    PDU_ALTER = 14,
    PDU_ALTER_ACK = 15,
    PDU_HEAD_BYTES = 16,
    FLAG_WHOLE = 3, /* first and last fragment */
    SYNTAX_BYTES = 20,
    CONTEXTS_MAX = 16,
    OP_SHARE_ENUM_ALL = 15,
    OP_SHARE_GET_INFO = 16,
    OP_SERVER_GET_INFO = 21,
    OP_SHARE_ENUM_STICKY = 36,
    TYPE_DISK = 0,
};
#define TYPE_PIPE             0x80000003U
#define FAULT_OP_RANGE        0x1C010002U
#define FAULT_NDR             0x000006F7U
#define WERR_OK               0U
#define WERR_INVALID_LEVEL    124U
#define WERR_NET_NAME_MISSING 2310U
#define REFERENCE             0x00020000U
#define SERVER_TYPE           0x00009003U /* workstation, server, NT */

static const struct str SYNTAX_SRVSVC =
    STR_INIT("\xC8\x4F\x32\x4B\x70\x16\xD3\x01\x12\x78\x5A\x47\xBF\x6E\xE1\x88\x03\x00\x00\x00");
static const struct str SYNTAX_NDR =
    STR_INIT("\x04\x5D\x88\x8A\xEB\x1C\xC9\x11\x9F\xE8\x08\x00\x2B\x10\x48\x60\x02\x00\x00\x00");

bool rpc_pipe_exists(struct str name)
{
    return str_ieq(name, STR("srvsvc"));
}

struct pdu {
    uint8_t type;
    uint8_t flags;
    uint32_t call_id;
    struct str body;
};

static bool read_pdu(struct str text, struct pdu *out)
{
    struct reader r = reader_of(text);
    uint8_t major = read_u8(&r);
    (void)read_u8(&r);
    out->type = read_u8(&r);
    out->flags = read_u8(&r);
    uint8_t order = read_u8(&r);
    (void)read_raw(&r, 3);
    uint16_t length = read_le16(&r);
    uint16_t auth = read_le16(&r);
    out->call_id = read_le32(&r);
    if (!reader_ok(&r) || major != 5 || order != 0x10 || length != text.n || auth != 0)
        return false;
    out->body = str_from(text, PDU_HEAD_BYTES);
    return true;
}

static void put_pdu(struct buf *out, uint8_t type, uint32_t call_id, struct str body)
{
    buf_put_u8(out, 5);
    buf_put_u8(out, 0);
    buf_put_u8(out, type);
    buf_put_u8(out, FLAG_WHOLE);
    buf_put_le32(out, 0x10);
    /* The caller splits an answer that is too long for one fragment. */
    buf_put_le16(out, (uint16_t)(PDU_HEAD_BYTES + body.n));
    buf_put_le16(out, 0);
    buf_put_le32(out, call_id);
    buf_put(out, body);
}

/* ---- bind ---- */

static bool answer_bind(struct arena *arena, const struct pdu *pdu, struct buf *answer)
{
    struct reader r = reader_of(pdu->body);
    struct buf out = buf_in(arena);
    (void)read_le16(&r);
    (void)read_le16(&r);
    (void)read_le32(&r);
    uint8_t contexts = read_u8(&r);
    (void)read_raw(&r, 3);
    if (!reader_ok(&r) || contexts == 0 || contexts > CONTEXTS_MAX)
        return false;
    buf_put_le16(&out, 4280);
    buf_put_le16(&out, 4280);
    buf_put_le32(&out, 1);
    buf_put_le16(&out, 13);
    buf_put(&out, (struct str){"\\PIPE\\srvsvc\0", 13});
    while ((out.n + PDU_HEAD_BYTES) % 4 != 0)
        buf_putc(&out, 0);
    buf_put_le32(&out, contexts);
    for (unsigned i = 0; i < contexts; i++) {
        (void)read_le16(&r);
        uint8_t transfers = read_u8(&r);
        (void)read_u8(&r);
        bool known = str_eq(read_raw(&r, SYNTAX_BYTES), SYNTAX_SRVSVC);
        bool ndr = false;
        for (unsigned t = 0; t < transfers && reader_ok(&r); t++)
            ndr = str_eq(read_raw(&r, SYNTAX_BYTES), SYNTAX_NDR) || ndr;
        bool accepted = known && ndr;
        buf_put_le16(&out, accepted ? 0 : 2);
        buf_put_le16(&out, accepted ? 0 : known ? 2 : 1);
        static const char none[SYNTAX_BYTES] = {0};
        buf_put(&out, accepted ? SYNTAX_NDR : (struct str){none, SYNTAX_BYTES});
    }
    if (!reader_ok(&r))
        return false;
    put_pdu(answer, pdu->type == PDU_BIND ? PDU_BIND_ACK : PDU_ALTER_ACK, pdu->call_id,
            buf_str(&out));
    return true;
}

/* ---- NDR ---- */

static void ndr_align(struct buf *out)
{
    while (out->n % 4 != 0)
        buf_putc(out, 0);
}

static void ndr_put_text(struct buf *out, struct arena *arena, struct str text)
{
    struct buf wide = buf_in(arena);
    utf16_put(&wide, text);
    buf_put_le16(&wide, 0);
    ndr_align(out);
    buf_put_le32(out, (uint32_t)wide.n / 2);
    buf_put_le32(out, 0);
    buf_put_le32(out, (uint32_t)wide.n / 2);
    buf_put(out, buf_str(&wide));
    ndr_align(out);
}

/* Reads a conformant, varying string and advances past it. */
static struct str ndr_take_text(struct reader *r, struct str whole, struct arena *arena)
{
    (void)read_raw(r, (4 - (size_t)(r->p - whole.p) % 4) % 4);
    (void)read_le32(r);
    (void)read_le32(r);
    uint32_t units = read_le32(r);
    struct str wide = read_raw(r, units > 4096 ? SIZE_MAX : (size_t)units * 2);
    struct str text = STR("");
    if (!reader_ok(r) || !utf16_decode(arena, wide, &text))
        r->bad = true;
    (void)read_raw(r, (4 - (size_t)(r->p - whole.p) % 4) % 4 <= r->n
                          ? (4 - (size_t)(r->p - whole.p) % 4) % 4
                          : 0);
    return str_head(text, str_find(text, '\0', 0));
}

static void take_server_name(struct reader *r, struct str whole, struct arena *arena)
{
    if (read_le32(r) != 0)
        (void)ndr_take_text(r, whole, arena);
}

static void put_share_fixed(struct buf *out, uint32_t level, const struct rpc_share *share)
{
    buf_put_le32(out, REFERENCE + 4);
    if (level == 0)
        return;
    buf_put_le32(out, share->pipe ? TYPE_PIPE : TYPE_DISK);
    buf_put_le32(out, REFERENCE + 8);
}

static void put_share_texts(struct buf *out, struct arena *arena, uint32_t level,
                            const struct rpc_share *share)
{
    ndr_put_text(out, arena, share->name);
    if (level >= 1)
        ndr_put_text(out, arena, share->remark);
}

static bool share_enum(struct arena *arena, struct str arguments, const struct rpc_shares *shares,
                       struct buf *out)
{
    struct reader r = reader_of(arguments);
    take_server_name(&r, arguments, arena);
    uint32_t level = read_le32(&r);
    if (!reader_ok(&r))
        return false;
    bool known = level <= 1;
    size_t count = known ? shares->count : 0;
    buf_put_le32(out, level);
    buf_put_le32(out, level);
    buf_put_le32(out, known ? REFERENCE : 0);
    if (known) {
        buf_put_le32(out, (uint32_t)count);
        buf_put_le32(out, REFERENCE);
        buf_put_le32(out, (uint32_t)count);
        for (size_t i = 0; i < count; i++)
            put_share_fixed(out, level, &shares->list[i]);
        for (size_t i = 0; i < count; i++)
            put_share_texts(out, arena, level, &shares->list[i]);
    }
    buf_put_le32(out, (uint32_t)count);
    buf_put_le32(out, 0);
    buf_put_le32(out, known ? WERR_OK : WERR_INVALID_LEVEL);
    return true;
}

static const struct rpc_share *find_share(const struct rpc_shares *shares, struct str name)
{
    for (size_t i = 0; i < shares->count; i++)
        if (str_ieq(shares->list[i].name, name))
            return &shares->list[i];
    return NULL;
}

static bool share_get_info(struct arena *arena, struct str arguments,
                           const struct rpc_shares *shares, struct buf *out)
{
    struct reader r = reader_of(arguments);
    take_server_name(&r, arguments, arena);
    struct str name = ndr_take_text(&r, arguments, arena);
    uint32_t level = read_le32(&r);
    if (!reader_ok(&r))
        return false;
    const struct rpc_share *share = find_share(shares, name);
    bool known = share != NULL && level <= 1;
    buf_put_le32(out, level);
    buf_put_le32(out, known ? REFERENCE : 0);
    if (known) {
        put_share_fixed(out, level, share);
        put_share_texts(out, arena, level, share);
    }
    buf_put_le32(out, known ? WERR_OK : share == NULL ? WERR_NET_NAME_MISSING : WERR_INVALID_LEVEL);
    return true;
}

static bool server_get_info(struct arena *arena, struct str arguments, struct buf *out)
{
    struct reader r = reader_of(arguments);
    take_server_name(&r, arguments, arena);
    uint32_t level = read_le32(&r);
    if (!reader_ok(&r))
        return false;
    bool known = level == 100 || level == 101;
    buf_put_le32(out, level);
    buf_put_le32(out, known ? REFERENCE : 0);
    if (known) {
        buf_put_le32(out, 500); /* platform: NT */
        buf_put_le32(out, REFERENCE + 4);
        if (level == 101) {
            buf_put_le32(out, 6);
            buf_put_le32(out, 1);
            buf_put_le32(out, SERVER_TYPE);
            buf_put_le32(out, REFERENCE + 8);
        }
        ndr_put_text(out, arena, STR("LAZULI"));
        if (level == 101)
            ndr_put_text(out, arena, STR("Lazuli"));
    }
    buf_put_le32(out, known ? WERR_OK : WERR_INVALID_LEVEL);
    return true;
}

/* ---- request ---- */

static void put_fault(struct buf *answer, struct arena *arena, uint32_t call_id, uint32_t status)
{
    struct buf body = buf_in(arena);
    buf_put_le32(&body, 0);
    buf_put_le32(&body, 0);
    buf_put_le32(&body, status);
    buf_put_le32(&body, 0);
    put_pdu(answer, PDU_FAULT, call_id, buf_str(&body));
}

static bool answer_request(struct arena *arena, const struct pdu *pdu,
                           const struct rpc_shares *shares, struct buf *answer)
{
    struct reader r = reader_of(pdu->body);
    struct buf arguments = buf_in(arena);
    struct buf body = buf_in(arena);
    (void)read_le32(&r);
    uint16_t context = read_le16(&r);
    uint16_t op = read_le16(&r);
    struct str in = {r.p, r.n};
    bool known = true;
    bool read = false;
    if (!reader_ok(&r))
        return false;
    if (op == OP_SHARE_ENUM_ALL || op == OP_SHARE_ENUM_STICKY)
        read = share_enum(arena, in, shares, &arguments);
    else if (op == OP_SHARE_GET_INFO)
        read = share_get_info(arena, in, shares, &arguments);
    else if (op == OP_SERVER_GET_INFO)
        read = server_get_info(arena, in, &arguments);
    else
        known = false;
    if (!known || !read || arguments.n > RPC_FRAGMENT_MAX - PDU_HEAD_BYTES - 8) {
        put_fault(answer, arena, pdu->call_id, known ? FAULT_NDR : FAULT_OP_RANGE);
        return true;
    }
    buf_put_le32(&body, (uint32_t)arguments.n);
    buf_put_le16(&body, context);
    buf_put_le16(&body, 0);
    buf_put(&body, buf_str(&arguments));
    put_pdu(answer, PDU_RESPONSE, pdu->call_id, buf_str(&body));
    return true;
}

bool rpc_answer(struct arena *arena, struct str text, const struct rpc_shares *shares,
                struct buf *answer)
{
    struct pdu pdu;
    if (!read_pdu(text, &pdu))
        return false;
    switch (pdu.type) {
    case PDU_BIND:
    case PDU_ALTER:
        return answer_bind(arena, &pdu, answer);
    case PDU_REQUEST:
        return answer_request(arena, &pdu, shares, answer);
    default:
        return false;
    }
}
