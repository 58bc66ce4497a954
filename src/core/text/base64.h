/* SPDX-License-Identifier: Apache-2.0 */
/* Base64 with the standard alphabet and padding, as Azure uses it for keys, signatures, checksums,
 * block ids and binary properties. */
#ifndef CORE_TEXT_BASE64_H
#define CORE_TEXT_BASE64_H

#include "core/buf.h"

/* Characters that n bytes take, padding included. */
size_t base64_length(size_t n);
/* Appends the text of the bytes. */
void base64_put(struct buf *out, struct str bytes);
/* The text, in the arena. */
struct str base64_encode(struct arena *a, struct str bytes);

/* Strict: no white space, padding required, length a multiple of four. The unused low bits of the
 * last character may be anything, as .NET accepts them. False when the text is not base64; *out is
 * then untouched. The bytes live in the arena and are never absent. */
bool base64_decode(struct arena *a, struct str text, struct str *out);
/* The same for a value of known length (a key's digest, an MD5, a CRC64): also false unless it is
 * exactly n bytes. */
bool base64_decode_exact(struct str text, void *out, size_t n);

#endif
