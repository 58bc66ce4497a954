/* SPDX-License-Identifier: Apache-2.0 */
/* Shared inside auth/: one function per kind of credential, and what several of them use. */
#ifndef AUTH_AUTH_INTERNAL_H
#define AUTH_AUTH_INTERNAL_H

#include "auth/auth.h"
#include "core/buf.h"

enum { AUTH_CLOCK_SKEW_SECONDS = 15 * 60 };

struct jwt;

/* How wide a service SAS reaches. */
enum sas_scope {
    SAS_SCOPE_NONE, /* sr is not one that the service has, or had at the time of sv */
    SAS_SCOPE_OBJECT,
    SAS_SCOPE_SNAPSHOT,
    SAS_SCOPE_VERSION,
    SAS_SCOPE_DIRECTORY,
    SAS_SCOPE_CONTAINER, /* container, queue, table, share */
};

/* What credentials were found to be good for. Authentication fills it, auth_permit compares it with
 * what is asked for. */
struct auth_reach {
    struct str account;
    enum service_kind service; /* which the request came to */
    /* Of an account SAS. */
    struct str services, types;
    /* Of a service SAS or user delegation SAS. */
    enum sas_scope scope;
    struct str container;
    struct str path;   /* the object or directory; absent for SAS_SCOPE_CONTAINER */
    struct str moment; /* the snapshot or version */
    /* Of a bearer, or of who delegated. */
    const struct jwt *token; /* NULL for who delegated */
    const struct str *identities;
    size_t identity_count;
};

/* Of the request's account and service, good for nothing yet. */
struct auth_reach *auth_reach_new(const struct auth_input *input, struct arena *arena);

/* A header's value by its name in any case; absent when not sent or empty. */
struct str auth_header(const struct auth_input *input, struct str name);
/* The same for a query parameter. */
struct str auth_query(const struct auth_input *input, struct str name);
/* The moment at which the request is judged. */
int64_t auth_now(const struct auth_server *server, const struct auth_input *input);

/* 403 AuthenticationFailed whose AuthenticationErrorDetail is the text (which may hold newlines).
 */
struct err auth_failed(struct arena *arena, struct str text);

/* Whether a value, or the name before a colon, may become part of a string to sign. The parts of
 * that text are separated by newlines and colons, so a value with a control character or a name
 * with a colon would make the text of one request that of another, and its signature with it. */
bool auth_is_signable(struct str value);
bool auth_is_signable_name(struct str name);
/* The same for the value of a header, which may hold tabs. */
bool auth_is_signable_header(struct str value);

/* Whether one of the account's keys signs the text so. The comparison takes the same time whatever
 * the difference. */
bool auth_signature_matches(const struct account *account, struct str text, struct str signature);
/* The same with one key. */
bool auth_mac_matches(const struct hmac_key *key, struct str text, struct str signature);

/* Whether the letters satisfy those of a row (see auth_demand); never for NULL. */
bool permit_letters(const char *demanded, struct str letters);

/* See auth_delegate. False when a time is not well-formed or a text not signable. */
bool delegation_derive(const struct hmac_key *account_key, const struct delegation *delegation,
                       unsigned char out[SHA256_BYTES]);

/* `Authorization: Bearer token`. */
/* ERR_AUTHENTICATION_FAILED for an account that is not served. */
struct err auth_no_account(struct arena *arena, struct str account);
bool bearer_is(struct str authorization);
/* Whether the operation takes no other credential. */
bool bearer_alone(const struct auth_demand *demand);
/* Who sent the token, whatever they ask for. */
struct err bearer_verify(const struct auth_server *server, const struct auth_input *input,
                         struct str authorization, struct arena *arena, struct jwt *out);
/* Whether the roles let one of the identities of `who` do it. */
struct err bearer_permit(const struct auth_server *server, const struct auth_result *who,
                         const struct auth_resource *what, const struct auth_demand *demand,
                         struct arena *arena);
struct err bearer_check(const struct auth_server *server, const struct auth_input *input,
                        struct str authorization, struct arena *arena, struct auth_result *result);

/* `Authorization: SharedKey account:signature` and SharedKeyLite. */
struct err shared_key_check(const struct auth_server *server, const struct auth_input *input,
                            struct str authorization, struct arena *arena,
                            struct auth_result *result);

#endif
