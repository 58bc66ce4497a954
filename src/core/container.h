/* SPDX-License-Identifier: Apache-2.0 */
/* Converts the address of an embedded member (a task, a timer, a step) to that of its object. */
#ifndef CORE_CONTAINER_H
#define CORE_CONTAINER_H

#include <stddef.h>

/* `pointer` points to the member `member` of a `type`; the macro yields that object. */
#define CONTAINER_OF(pointer, type, member) \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#endif
