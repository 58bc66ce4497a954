/* SPDX-License-Identifier: Apache-2.0 */
/* The other servers that this one may connect to. By default none: otherwise a client that may copy
 * from a URL could make the server probe a network that only the server can reach. Every address
 * that a name resolves to is checked, so a name cannot lead elsewhere. */
#ifndef NET_REACH_H
#define NET_REACH_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "core/err.h"
#include "core/str.h"

enum { REACH_ENTRIES_MAX = 256 };

struct reach_entry {
    bool any;        /* "*": every public address, see below */
    struct str host; /* a name, or a suffix if it begins with '.'; absent for a network */
    unsigned char net[16];
    unsigned bits; /* of 128; an IPv4 address counts as ::ffff:a.b.c.d */
};

struct reach {
    struct reach_entry entries[REACH_ENTRIES_MAX];
    size_t count;
};

/* Parses a list such as "10.0.0.0/8,[fd00::]/8,storage.example.net,*.example.org,*"; the text must
 * stay valid. NULL or empty: nothing is allowed. ERR_INVALID_INPUT. */
struct err reach_parse(const char *text, struct reach *out);

/* Returns true if the server may connect to this address of the host. Loopback, link-local,
 * multicast and unspecified addresses need an entry that is a network or the literal name
 * "localhost". */
bool reach_allows(const struct reach *r, struct str host, const struct sockaddr *address);

#endif
