/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/security/permission.h"

#include <assert.h>

#include "core/hash/hmac.h"
#include "service/common/rows.h"
#include "service/file/keys.h"
#include "service/file/security/sddl.h"

/* The descriptor of a share's root in the cloud: administrators and the system have full access,
 * authenticated users change, users read. */
#define ROOT_SDDL                                                                          \
    "O:SYG:SYD:AI(A;OICI;FA;;;BA)(A;OICI;FA;;;SY)(A;OICI;0x1301bf;;;AU)(A;;0x1200a9;;;BU)" \
    "(A;OICIIO;GXGR;;;BU)(A;OICIIO;GA;;;CO)"

/* A row: 0, then the descriptor; or 1, then the keys that files and directories inherit, then the
 * descriptor. The keys are computed at first use and stored, so creating a file then reads one
 * row. */
struct permission_row {
    bool hands_down;
    struct permission_key file, directory;
    struct str sd;
};

/* ---- keys ---- */

void permission_key_put(struct buf *b, const struct permission_key *key)
{
    struct reader r = reader_of((struct str){(const char *)key->bytes, PERMISSION_KEY_BYTES});
    buf_put_u64(b, read_be64(&r));
    buf_putc(b, '*');
    buf_put_u64(b, read_be64(&r));
}

bool permission_key_parse(struct str text, struct permission_key *out)
{
    uint64_t part[2];
    struct str rest = text;
    struct str first = str_cut(&rest, '*');
    if (!str_given(rest) || !str_to_u64(first, &part[0]) || !str_to_u64(rest, &part[1]))
        return false;
    for (size_t i = 0; i < PERMISSION_KEY_BYTES; i++)
        out->bytes[i] = (unsigned char)(part[i / 8] >> (56 - 8 * (i % 8)));
    return true;
}

static struct str key_bytes(const struct permission_key *key)
{
    return (struct str){(const char *)key->bytes, PERMISSION_KEY_BYTES};
}

static struct permission_key hash_of(struct str sd)
{
    unsigned char digest[SHA256_BYTES];
    struct permission_key key;
    sha256(sd, digest);
    memcpy(key.bytes, digest, PERMISSION_KEY_BYTES);
    return key;
}

/* ---- rows ---- */

static struct err put_row(struct txn *t, struct str key, const struct permission_row *row)
{
    struct buf b = buf_in(txn_arena(t));
    buf_put_u8(&b, row->hands_down);
    if (row->hands_down) {
        buf_put(&b, key_bytes(&row->file));
        buf_put(&b, key_bytes(&row->directory));
    }
    buf_put(&b, row->sd);
    return txn_put(t, key, buf_str(&b));
}

static void read_key(struct reader *r, struct permission_key *out)
{
    struct str bytes = read_raw(r, PERMISSION_KEY_BYTES);
    if (bytes.n == PERMISSION_KEY_BYTES)
        memcpy(out->bytes, bytes.p, PERMISSION_KEY_BYTES);
}

static struct err get_row(struct txn *t, struct str key, struct permission_row *out, bool *found)
{
    struct str value;
    *out = (struct permission_row){0};
    TRY(row_get_hot(t, key, &value)); /* files of a directory have the same */
    *found = str_given(value);
    if (!*found)
        return OK;
    struct reader r = reader_of(value);
    out->hands_down = read_u8(&r) != 0;
    if (out->hands_down) {
        read_key(&r, &out->file);
        read_key(&r, &out->directory);
    }
    out->sd = (struct str){r.p, r.n};
    return reader_ok(&r) ? OK : err_new(ERR_CORRUPT);
}

static struct err store(struct txn *t, uint64_t incarnation, const struct sd *sd,
                        struct permission_key *out)
{
    struct permission_row row;
    bool found;
    struct str bytes = sd_encode(txn_arena(t), sd);
    *out = hash_of(bytes);
    struct str key = file_key_permission(txn_arena(t), incarnation, key_bytes(out));
    TRY(get_row(t, key, &row, &found));
    if (found)
        return OK;
    row.sd = bytes;
    return put_row(t, key, &row);
}

struct err permission_put(struct txn *t, uint64_t incarnation, struct str sd,
                          struct permission_key *out)
{
    assert(txn_writable(t));
    struct sd parts;
    TRY(sd_decode(txn_arena(t), sd, &parts));
    /* A short one can grow to no more than five times its size. */
    if (sd.n > SD_BYTES_MAX / 16 && !sd_fits(txn_arena(t), &parts))
        return err_new(ERR_INVALID_FILE_PERMISSION);
    return store(t, incarnation, &parts, out);
}

struct err permission_get(struct txn *t, uint64_t incarnation, const struct permission_key *key,
                          struct str *sd)
{
    struct permission_row row;
    bool found;
    TRY(get_row(t, file_key_permission(txn_arena(t), incarnation, key_bytes(key)), &row, &found));
    *sd = row.sd;
    return found ? OK : err_new(ERR_FILE_PERMISSION_NOT_FOUND);
}

/* ---- inheritance ---- */

static struct err find_children(struct txn *t, uint64_t incarnation, struct str key,
                                struct permission_row *row)
{
    struct arena *a = txn_arena(t);
    struct sd parent;
    TRY(sd_decode(a, row->sd, &parent));
    struct sd file = sd_inherit(a, &parent, false);
    struct sd directory = sd_inherit(a, &parent, true);
    TRY(store(t, incarnation, &file, &row->file));
    TRY(store(t, incarnation, &directory, &row->directory));
    row->hands_down = true;
    return put_row(t, key, row);
}

struct err permission_inherit(struct txn *t, uint64_t incarnation,
                              const struct permission_key *parent, bool directory,
                              struct permission_key *out)
{
    assert(out != NULL);
    struct permission_row row;
    bool found;
    struct str key = file_key_permission(txn_arena(t), incarnation, key_bytes(parent));
    TRY(get_row(t, key, &row, &found));
    if (!found)
        return err_new(ERR_CORRUPT);
    if (!row.hands_down)
        TRY(find_children(t, incarnation, key, &row));
    *out = directory ? row.directory : row.file;
    return OK;
}

struct err permission_of_root(struct txn *t, uint64_t incarnation, struct permission_key *out)
{
    struct sd sd;
    TRY(sddl_parse(txn_arena(t), STR(ROOT_SDDL), &sd));
    return store(t, incarnation, &sd, out);
}
