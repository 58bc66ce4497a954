/* SPDX-License-Identifier: Apache-2.0 */
/* The SAS that one event loop has lately found to be signed. Clients send the same one with request
 * after request, so what follows from its bytes alone (its fields, and that the account's key signs
 * them) need not be found out each time. Nothing else is remembered: what is asked for, when, from
 * where, by which stored policy and with which letters is decided for every request. */
#ifndef AUTH_SAS_MEMORY_H
#define AUTH_SAS_MEMORY_H

#include "auth/auth.h"

/* Used by one thread. Bounded: so many are kept, and none that is longer, or for a longer name. */
struct sas_memory;
enum {
    SAS_MEMORY_TOKENS_MAX = 8,
    SAS_MEMORY_TOKEN_BYTES_MAX = 768, /* as sent */
    SAS_MEMORY_PAIRS_MAX = 24,
    SAS_MEMORY_RESOURCE_BYTES_MAX = 256,
};

struct sas_memory *sas_memory_new(void);
/* NULL is let pass. */
void sas_memory_free(struct sas_memory *memory);

struct sas_known;

/* A query as sent, with a known SAS at its beginning or its end. */
struct sas_sighting {
    const struct sas_known *known; /* NULL: none is known; good until the next auth_check */
    struct str before, after;      /* the rest of the query; absent where there is none */
};
/* Compares in constant time. That it is known does not let anybody in: auth_check decides. */
struct sas_sighting sas_memory_find(const struct sas_memory *memory, enum service_kind service,
                                    struct str raw_query);
/* Its parameters as they were decoded, copied into the arena. Returns how many there are; when
 * there is no room for so many, none are copied. */
size_t sas_known_pairs(const struct sas_known *known, struct arena *arena, struct auth_pair *out,
                       size_t room);

#endif
