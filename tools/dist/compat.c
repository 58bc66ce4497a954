/* SPDX-License-Identifier: Apache-2.0 */
/* For the program that runs on other machines. Debian's libexpat.a asks for two functions that the
 * C library has since 2.36 only; with these, 2.35 (Ubuntu 22.04) is enough. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

void arc4random_buf(void *out, size_t n)
{
    char *at = out;
    while (n > 0) {
        ssize_t got = getrandom(at, n, 0);
        if (got < 0 && errno != EINTR)
            abort();
        if (got < 0)
            continue;
        at += got;
        n -= (size_t)got;
    }
}

uint32_t arc4random(void)
{
    uint32_t value;
    arc4random_buf(&value, sizeof value);
    return value;
}
