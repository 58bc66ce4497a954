/* SPDX-License-Identifier: Apache-2.0 */
/* Resources that this process uses, from the kernel. */
#ifndef ADMIN_PROCESS_H
#define ADMIN_PROCESS_H

#include <stdint.h>

struct process_usage {
    double cpu_seconds;
    double start_seconds; /* since 1970 */
    uint64_t resident_bytes, virtual_bytes;
    uint64_t open_fds, max_fds;
};

/* Reads /proc; a value that cannot be read is 0. */
struct process_usage process_usage(void);

#endif
