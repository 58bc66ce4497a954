/* SPDX-License-Identifier: Apache-2.0 */
#include "service/account/account.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/mem.h"
#include "core/text/base64.h"

/* Sorted by name. The lock guards the array, the reference count each account. */
struct accounts {
    pthread_rwlock_t lock;
    _Atomic uint64_t changes;
    size_t count;
    struct account *sorted[ACCOUNTS_MAX];
    pthread_mutex_t listening; /* guards the list; held while listeners are called */
    struct accounts_listener *listeners;
};

struct accounts *accounts_new(void)
{
    struct accounts *set = MEM_NEW(struct accounts);
    int failed = pthread_rwlock_init(&set->lock, NULL);
    assert(failed == 0);
    failed = pthread_mutex_init(&set->listening, NULL);
    assert(failed == 0);
    return set;
}

void accounts_free(struct accounts *set)
{
    if (set == NULL)
        return;
    for (size_t i = 0; i < set->count; i++)
        account_put(set->sorted[i]);
    assert(set->listeners == NULL);
    pthread_rwlock_destroy(&set->lock);
    pthread_mutex_destroy(&set->listening);
    free(set);
}

static void lock_for_reading(struct accounts *set)
{
    int failed = pthread_rwlock_rdlock(&set->lock);
    assert(failed == 0);
}

static void lock_for_change(struct accounts *set)
{
    int failed = pthread_rwlock_wrlock(&set->lock);
    assert(failed == 0);
    (void)atomic_fetch_add(&set->changes, 1);
}

static void unlock(struct accounts *set)
{
    int failed = pthread_rwlock_unlock(&set->lock);
    assert(failed == 0);
}

bool account_name_ok(struct str name)
{
    if (name.n < ACCOUNT_NAME_MIN || name.n > ACCOUNT_NAME_MAX)
        return false;
    for (size_t i = 0; i < name.n; i++)
        if (!ascii_digit(name.p[i]) && !(name.p[i] >= 'a' && name.p[i] <= 'z'))
            return false;
    return true;
}

/* The text of names and keys follows the struct, in the same allocation. */
static size_t account_size(const struct account *account)
{
    return sizeof *account + account->name.n + account->keys_base64[0].n +
           account->keys_base64[1].n;
}

static struct str keep(char **at, struct str s)
{
    if (!str_given(s))
        return s;
    struct str kept = {memcpy(*at, s.p, s.n), s.n};
    *at += s.n;
    return kept;
}

/* The strict form of a key as JavaScript programs write and read it: the alphabet may be that of
 * URLs and the padding may be missing. Returns its length, 0 if there is no room. */
static size_t strict_base64(struct str key, char out[ACCOUNT_KEY_BASE64_MAX])
{
    size_t padded = (key.n + 3) / 4 * 4;
    if (padded > ACCOUNT_KEY_BASE64_MAX)
        return 0;
    for (size_t i = 0; i < padded; i++) {
        char c = i < key.n ? key.p[i] : '=';
        out[i] = c == '-' ? '+' : c == '_' ? '/' : c;
    }
    return padded;
}

/* False if it is not base64 of 1 to 128 bytes. */
static bool key_init(struct hmac_key *key, struct str base64)
{
    if (base64.n < 4 || base64.n > ACCOUNT_KEY_BASE64_MAX)
        return false;
    char strict[ACCOUNT_KEY_BASE64_MAX];
    unsigned char secret[ACCOUNT_KEY_BASE64_MAX / 4 * 3];
    size_t text = strict_base64(base64, strict), n = text / 4 * 3;
    for (size_t i = text; i > text - 2 && strict[i - 1] == '='; i--)
        n--;
    bool decoded = base64_decode_exact((struct str){strict, text}, secret, n);
    if (decoded)
        hmac_key_init(key, (struct str){(const char *)secret, n});
    OPENSSL_cleanse(secret, sizeof secret);
    OPENSSL_cleanse(strict, sizeof strict);
    return decoded;
}

/* NULL if something is malformed. The set has one reference. */
static struct account *account_new(struct str name, struct str key1, struct str key2)
{
    struct hmac_key keys[ACCOUNT_KEYS] = {0};
    if (!account_name_ok(name) || !key_init(&keys[0], key1) ||
        (str_given(key2) && !key_init(&keys[1], key2)))
        return NULL;
    struct account *account = mem_calloc(1, sizeof *account + name.n + key1.n + key2.n);
    char *text = (char *)(account + 1);
    account->name = keep(&text, name);
    account->key_count = str_given(key2) ? 2 : 1;
    account->keys_base64[0] = keep(&text, key1);
    account->keys_base64[1] = keep(&text, key2);
    memcpy(account->keys, keys, sizeof keys);
    OPENSSL_cleanse(keys, sizeof keys);
    atomic_init(&account->holders, 1);
    return account;
}

void account_put(struct account *account)
{
    if (account == NULL ||
        atomic_fetch_sub_explicit(&account->holders, 1, memory_order_acq_rel) > 1)
        return;
    OPENSSL_cleanse(account, account_size(account));
    free(account);
}

/* Returns the first index whose name is not less. */
static size_t index_of(const struct accounts *set, struct str name)
{
    size_t low = 0, high = set->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (str_cmp(set->sorted[middle]->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(const struct accounts *set, size_t index, struct str name)
{
    return index < set->count && str_eq(set->sorted[index]->name, name);
}

/* Takes ownership of the account unless the set is full. The caller must put *replaced. */
static struct err insert(struct accounts *set, struct account *account, struct account **replaced)
{
    size_t index = index_of(set, account->name);
    if (is_at(set, index, account->name)) {
        *replaced = set->sorted[index];
        account->hierarchical = account->hierarchical || (*replaced)->hierarchical;
        set->sorted[index] = account;
        return OK;
    }
    if (set->count == ACCOUNTS_MAX)
        return err_detail(ERR_INVALID_INPUT, "Reason\tThere are too many accounts.");
    memmove(&set->sorted[index + 1], &set->sorted[index],
            (set->count - index) * sizeof set->sorted[0]);
    set->sorted[index] = account;
    set->count++;
    return OK;
}

/* ---- listeners ---- */

static void tell_listeners(struct accounts *set)
{
    (void)pthread_mutex_lock(&set->listening);
    for (struct accounts_listener *one = set->listeners; one != NULL; one = one->next)
        one->changed(one);
    (void)pthread_mutex_unlock(&set->listening);
}

void accounts_listen(struct accounts *set, struct accounts_listener *listener)
{
    (void)pthread_mutex_lock(&set->listening);
    listener->next = set->listeners;
    set->listeners = listener;
    (void)pthread_mutex_unlock(&set->listening);
}

void accounts_unlisten(struct accounts *set, struct accounts_listener *listener)
{
    (void)pthread_mutex_lock(&set->listening);
    struct accounts_listener **link = &set->listeners;
    while (*link != listener)
        link = &(*link)->next;
    *link = listener->next;
    (void)pthread_mutex_unlock(&set->listening);
}

/* ---- changes ---- */

struct err accounts_put(struct accounts *set, struct str name, struct str key1, struct str key2)
{
    if (!account_name_ok(name))
        return err_detail(ERR_INVALID_INPUT,
                          "Reason\tAn account's name is 3 to 24 lower-case letters and digits.");
    struct account *account = account_new(name, key1, key2);
    if (account == NULL)
        return err_detail(ERR_INVALID_INPUT,
                          "Reason\tAn account's key is base64 of 1 to 128 bytes.");
    struct account *replaced = NULL;
    lock_for_change(set);
    struct err error = insert(set, account, &replaced);
    unlock(set);
    account_put(err_is(error) ? account : replaced);
    tell_listeners(set);
    return error;
}

/* An account in the set is not changed: a modified copy replaces it. */
struct err accounts_make_hierarchical(struct accounts *set, struct str name)
{
    struct account *old = accounts_get(set, name);
    if (old == NULL)
        return err_new(ERR_RESOURCE_NOT_FOUND);
    struct account *account = account_new(old->name, old->keys_base64[0], old->keys_base64[1]);
    struct account *replaced = NULL;
    assert(account != NULL);
    account->hierarchical = true;
    account_put(old);
    lock_for_change(set);
    struct err error = insert(set, account, &replaced);
    unlock(set);
    account_put(err_is(error) ? account : replaced);
    return error;
}

bool accounts_is_hierarchical(struct accounts *set, struct str name)
{
    struct account *account = accounts_get(set, name);
    bool hierarchical = account != NULL && account->hierarchical;
    account_put(account);
    return hierarchical;
}

struct err accounts_remove(struct accounts *set, struct str name)
{
    struct account *removed = NULL;
    lock_for_change(set);
    size_t index = index_of(set, name);
    if (is_at(set, index, name)) {
        removed = set->sorted[index];
        set->count--;
        memmove(&set->sorted[index], &set->sorted[index + 1],
                (set->count - index) * sizeof set->sorted[0]);
    }
    unlock(set);
    if (removed == NULL)
        return err_new(ERR_RESOURCE_NOT_FOUND);
    account_put(removed);
    tell_listeners(set);
    return OK;
}

static struct err parse_account(struct accounts *set, struct str part)
{
    struct str name = str_cut(&part, ':');
    struct str key1 = str_cut(&part, ':');
    struct str key2 = str_cut(&part, ':');
    if (str_given(part))
        return err_detail(ERR_INVALID_INPUT, "Reason\tAn account has two keys at most.");
    return accounts_put(set, name, key1, key2);
}

struct err accounts_parse(struct accounts *set, struct str text, struct accounts_fault *fault)
{
    *fault = (struct accounts_fault){0};
    while (str_given(text)) {
        struct str part = str_trim(str_cut(&text, ';'));
        if (part.n == 0)
            continue;
        struct str name = str_head(part, str_find(part, ':', 0));
        fault->part++;
        fault->name = account_name_ok(name) ? name : STR_NONE;
        TRY(parse_account(set, part));
    }
    return OK;
}

struct account *accounts_get(struct accounts *set, struct str name)
{
    struct account *found = NULL;
    lock_for_reading(set);
    size_t index = index_of(set, name);
    if (is_at(set, index, name)) {
        found = set->sorted[index];
        atomic_fetch_add_explicit(&found->holders, 1, memory_order_relaxed);
    }
    unlock(set);
    return found;
}

struct account_proof account_proof_of(const struct account *account, unsigned key)
{
    struct account_proof proof;
    unsigned length = sizeof proof.digest;
    struct str text = account->keys_base64[key];
    int done = EVP_Digest(text.p, text.n, proof.digest, &length, EVP_sha256(), NULL);
    assert(done == 1 && key < account->key_count);
    return proof;
}

bool accounts_stands(struct accounts *set, struct str name, const struct account_proof *proof)
{
    struct account *account = accounts_get(set, name);
    bool stands = false;
    for (unsigned i = 0; account != NULL && i < account->key_count && !stands; i++) {
        struct account_proof now = account_proof_of(account, i);
        stands = memcmp(now.digest, proof->digest, sizeof now.digest) == 0;
    }
    account_put(account);
    return stands;
}

uint64_t accounts_changes(const struct accounts *set)
{
    return atomic_load(&set->changes);
}

size_t accounts_count(struct accounts *set)
{
    lock_for_reading(set);
    size_t count = set->count;
    unlock(set);
    return count;
}

struct str accounts_name(struct accounts *set, struct arena *arena, size_t i)
{
    struct str name = STR_NONE;
    lock_for_reading(set);
    if (i < set->count)
        name = arena_copy(arena, set->sorted[i]->name);
    unlock(set);
    return name;
}
