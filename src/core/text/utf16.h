/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-16, little-endian, as NTLM and SMB carry text. */
#ifndef CORE_TEXT_UTF16_H
#define CORE_TEXT_UTF16_H

#include "core/buf.h"

/* Appends the UTF-16LE form of well-formed UTF-8. */
void utf16_put(struct buf *out, struct str utf8);
/* To UTF-8, in the arena. False for an odd number of bytes or an unpaired surrogate. */
bool utf16_decode(struct arena *a, struct str utf16, struct str *out);

#endif
