/* SPDX-License-Identifier: Apache-2.0 */
/* What the load generator sends: operations made from templates, signed, one rendered request per
 * key of the range, so that sending costs only the system call. */
#ifndef BENCH_LOAD_OP_H
#define BENCH_LOAD_OP_H

#include "core/buf.h"
#include "core/hash/hmac.h"

enum { OP_HEADERS_MAX = 16, OPS_MAX = 16, RENDERED_KEYS_MAX = 100000 };

/* Who signs, and how. */
struct signer {
    struct str account; /* absent: nothing is signed */
    struct hmac_key key;
    bool table;     /* the table service's shorter string-to-sign */
    struct str sas; /* appended to each query, in place of a signature */
};

struct op {
    unsigned weight;
    struct str method;
    struct str path;                    /* with its query; {key} and its like are replaced */
    struct str headers[OP_HEADERS_MAX]; /* "Name: value" lines */
    size_t header_count;
    struct str body; /* the same replacements when body_is_template */
    bool body_is_template;
    struct str *rendered; /* by key: the head, and the body when that is a template */
};

struct op_set {
    struct op ops[OPS_MAX];
    size_t count;
    uint64_t key_count;
    uint64_t sequence; /* the next {seq} */
    struct str host;
    struct signer signer;
    struct arena arena; /* holds what is rendered once */
};

/* True if its requests differ each time and cannot be rendered in advance. */
bool op_is_unique(const struct op *op);
/* Picks an operation by weight. */
size_t op_pick(const struct op_set *set, uint64_t random);
/* The bytes of a request for a key: what goes before the op's body, if that is no template. Lives
 * in the set, or in *scratch (cleared first) when the request is unique. */
struct str op_request(struct op_set *set, size_t op, uint64_t key, struct buf *scratch);

/* ---- sign.c ---- */
/* The value of the Authorization header. `headers` are the lines that will be sent, x-ms-date among
 * them. */
void sign_put(struct buf *out, const struct signer *signer, struct str method, struct str target,
              const struct buf *headers, size_t body_bytes);

#endif
