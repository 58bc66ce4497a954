/* SPDX-License-Identifier: Apache-2.0 */
/* Prints on stderr, in one line, why the program cannot continue. */
#ifndef COMPLAIN_H
#define COMPLAIN_H

#include "core/err.h"

/* "lazuli: WHAT: WHY"; always 1, the exit status that follows. */
int complain(const char *what, const char *why);
/* The same with an error's own reason: its detail, the system's word, or the error's message. */
int complain_err(const char *what, struct err error);

#endif
