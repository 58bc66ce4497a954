/* SPDX-License-Identifier: Apache-2.0 */
/* Security descriptors as text, in Microsoft's Security Descriptor Definition Language:
 * "O:BAG:SYD:AI(A;OICI;FA;;;BA)…". */
#ifndef SERVICE_FILE_SECURITY_SDDL_H
#define SERVICE_FILE_SECURITY_SDDL_H

#include "core/buf.h"
#include "service/file/security/sd.h"

/* Parses the text; all of *out is in the arena. Accounts that only a domain knows (DA, DU, …) and
 * conditional or object entries are refused. ERR_INVALID_FILE_PERMISSION. */
struct err sddl_parse(struct arena *a, struct str text, struct sd *out);
/* Writes it so that sddl_parse returns the same descriptor. */
void sddl_put(struct buf *b, const struct sd *sd);

#endif
