/* SPDX-License-Identifier: Apache-2.0 */
/* The accounts that this server serves, with two keys each. Every request on every loop reads them;
 * an operator changes them rarely. An account in the set is immutable: a change replaces it, and
 * holders of the old one release it when done. */
#ifndef SERVICE_ACCOUNT_ACCOUNT_H
#define SERVICE_ACCOUNT_ACCOUNT_H

#include <stdatomic.h>

#include "core/arena.h"
#include "core/err.h"
#include "core/hash/hmac.h"
#include "core/str.h"

enum service_kind { SERVICE_BLOB, SERVICE_QUEUE, SERVICE_TABLE, SERVICE_FILE, SERVICE_KIND_COUNT };

enum {
    ACCOUNT_NAME_MIN = 3,
    ACCOUNT_NAME_MAX = 24,
    ACCOUNT_KEYS = 2,
    ACCOUNT_KEY_BASE64_MAX = 172, /* 128 bytes; Azure's keys have 64 */
    ACCOUNTS_MAX = 1024,
};

#define ACCOUNT_WELL_KNOWN_NAME "devstoreaccount1"
#define ACCOUNT_WELL_KNOWN_KEY \
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

struct account {
    struct str name;
    unsigned key_count; /* 1 or 2 */
    bool hierarchical;  /* its containers are trees of directories (Data Lake Storage) */
    struct str keys_base64[ACCOUNT_KEYS];
    struct hmac_key keys[ACCOUNT_KEYS]; /* ready for signing */
    _Atomic unsigned holders;           /* accounts_get and account_put only */
};

struct accounts;

struct accounts *accounts_new(void);
/* All references must have been released. */
void accounts_free(struct accounts *set);
/* Adds or replaces. Keys are base64; key2 may be absent. ERR_INVALID_INPUT if the name or a key is
 * malformed or there are ACCOUNTS_MAX already. */
struct err accounts_put(struct accounts *set, struct str name, struct str key1, struct str key2);
/* New containers of the account will be hierarchical; other keys do not change that.
 * ERR_RESOURCE_NOT_FOUND. */
struct err accounts_make_hierarchical(struct accounts *set, struct str name);
bool accounts_is_hierarchical(struct accounts *set, struct str name);
/* ERR_RESOURCE_NOT_FOUND. */
struct err accounts_remove(struct accounts *set, struct str name);
/* The index of the malformed account of a list. */
struct accounts_fault {
    unsigned part;   /* counted from 1 */
    struct str name; /* absent if the name is malformed: it may be a key */
};
/* `account1:key1[:key2];account2:…`, the form of AZURITE_ACCOUNTS. The well-formed part before an
 * error stays added. */
struct err accounts_parse(struct accounts *set, struct str text, struct accounts_fault *fault);

/* The account of that name, with a reference for the caller until account_put; NULL if there is
 * none. Keys are not copied, so none remain in a request's memory. */
struct account *accounts_get(struct accounts *set, struct str name);
/* NULL is let pass. */
void account_put(struct account *account);

/* Counts the changes of the set: while it is the same, so are all accounts and keys. Needs no
 * lock. */
uint64_t accounts_changes(const struct accounts *set);

/* Identifies a key that a client has proved to have, for proofs that outlive a request: a digest,
 * from which the key cannot be derived. */
enum { ACCOUNT_PROOF_BYTES = 32 };
struct account_proof {
    unsigned char digest[ACCOUNT_PROOF_BYTES];
};
struct account_proof account_proof_of(const struct account *account, unsigned key);
/* Returns true if the account still exists and still has the key. */
bool accounts_stands(struct accounts *set, struct str name, const struct account_proof *proof);

/* Called after every change of the set, on the thread that made it. */
struct accounts_listener {
    void (*changed)(struct accounts_listener *listener);
    struct accounts_listener *next;
};
void accounts_listen(struct accounts *set, struct accounts_listener *listener);
/* After it returns, the listener is not being called, and will not be called again. */
void accounts_unlisten(struct accounts *set, struct accounts_listener *listener);

size_t accounts_count(struct accounts *set);
/* The i-th name in order, copied into the arena; absent if there are fewer. */
struct str accounts_name(struct accounts *set, struct arena *arena, size_t i);

/* Three to 24 lower-case letters and digits. */
bool account_name_ok(struct str name);

#endif
