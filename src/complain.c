/* SPDX-License-Identifier: Apache-2.0 */
#include "complain.h"

#include <stdio.h>
#include <string.h>

int complain(const char *what, const char *why)
{
    (void)fprintf(stderr, "lazuli: %s: %s\n", what, why);
    return 1;
}

int complain_err(const char *what, struct err error)
{
    bool io = error.code == ERR_IO && error.cause > 0;
    if (error.detail != NULL)
        return complain(what, error.detail);
    return complain(what, io ? strerrordesc_np(error.cause) : err_message(error.code));
}
