/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the connections of each client address, over all loops and front ends. */
#ifndef NET_ADDRESS_COUNT_H
#define NET_ADDRESS_COUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct address_counts;

struct address_counts *address_counts_new(void);
void address_counts_free(struct address_counts *a);
/* Counts one more, unless there are `most` already (0: no limit). From any thread. */
bool address_counts_add(struct address_counts *a, const struct sockaddr_storage *peer,
                        unsigned most);
/* A counted connection has closed. */
void address_counts_drop(struct address_counts *a, const struct sockaddr_storage *peer);
/* The same for addresses that are counted together. */
uint32_t address_hash(const struct sockaddr_storage *peer);

#endif
