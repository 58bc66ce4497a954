/* SPDX-License-Identifier: Apache-2.0 */
/* Which program this is. */
#ifndef VERSION_H
#define VERSION_H

/* "0.1.0". */
const char *version_text(void);
/* The commit it was built from; "unknown" outside of a clone. */
const char *version_commit(void);
/* "Lazuli/0.1.0", as the Server header has it. */
const char *version_server_name(void);
/* `lazuli --version`: the version on the first line, then what it was built from and with. */
void version_print(void);

#endif
