/* SPDX-License-Identifier: Apache-2.0 */
/* The accounts that this server serves, with their two keys each. Read by every request from every
 * loop, changed now and then by an operator: a change makes a new table, readers never wait. */
#ifndef SERVICE_ACCOUNT_ACCOUNT_H
#define SERVICE_ACCOUNT_ACCOUNT_H

#include "core/arena.h"
#include "core/err.h"
#include "core/hmac.h"
#include "core/str.h"

enum service_kind { SERVICE_BLOB, SERVICE_QUEUE, SERVICE_TABLE, SERVICE_FILE, SERVICE_KIND_COUNT };

enum { ACCOUNT_NAME_MAX = 24, ACCOUNT_KEYS = 2, ACCOUNTS_MAX = 1024 };

#define ACCOUNT_WELL_KNOWN_NAME "devstoreaccount1"
#define ACCOUNT_WELL_KNOWN_KEY \
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

struct account {
    struct str name;
    unsigned key_count; /* 1 or 2 */
    struct str keys_base64[ACCOUNT_KEYS];
    struct hmac_key keys[ACCOUNT_KEYS]; /* ready for signing */
};

struct accounts;

struct accounts *accounts_new(void);
void accounts_free(struct accounts *set);
/* Adds or replaces. Keys are base64. ERR_INVALID_INPUT when the name or a key is not well-formed.
 */
struct err accounts_put(struct accounts *set, struct str name, struct str key1, struct str key2);
/* ERR_RESOURCE_NOT_FOUND. */
struct err accounts_remove(struct accounts *set, struct str name);
/* `account1:key1[:key2];account2:…`, the form of AZURITE_ACCOUNTS. */
struct err accounts_parse(struct accounts *set, struct str text);
/* A copy in the arena; NULL when there is none of that name. */
const struct account *accounts_find(struct accounts *set, struct arena *arena, struct str name);
size_t accounts_count(struct accounts *set);
/* The i-th name in order, copied into the arena; absent when there are fewer. */
struct str accounts_name(struct accounts *set, struct arena *arena, size_t i);

#endif
