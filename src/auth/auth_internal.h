/* SPDX-License-Identifier: Apache-2.0 */
/* Shared inside auth/: one function per kind of credential, and what several of them use. */
#ifndef AUTH_AUTH_INTERNAL_H
#define AUTH_AUTH_INTERNAL_H

#include "auth/auth.h"
#include "core/buf.h"

enum { AUTH_CLOCK_SKEW_SECONDS = 15 * 60 };

struct jwt;

/* The scope of a service SAS. */
enum sas_scope {
    SAS_SCOPE_NONE, /* the service does not have this sr, or did not have it at the time of sv */
    SAS_SCOPE_OBJECT,
    SAS_SCOPE_SNAPSHOT,
    SAS_SCOPE_VERSION,
    SAS_SCOPE_DIRECTORY,
    SAS_SCOPE_CONTAINER, /* container, queue, table, share */
};

/* What the credentials are valid for. Authentication fills it; auth_permit compares it with what is
 * requested. */
struct auth_reach {
    struct str account;
    enum service_kind service; /* of the request */
    /* For an account SAS. */
    struct str services, types;
    /* For a service SAS or user delegation SAS. */
    enum sas_scope scope;
    struct str container;
    struct str path;   /* the object or directory; absent for SAS_SCOPE_CONTAINER */
    struct str moment; /* the snapshot or version */
    /* For a bearer, or the delegating user. */
    const struct jwt *token; /* NULL for a delegating user */
    const struct str *identities;
    size_t identity_count;
};

/* For the request's account and service; grants nothing yet. */
struct auth_reach *auth_reach_new(const struct auth_input *input, struct arena *arena);

/* A header's value by its name in any case; absent when not sent or empty. */
struct str auth_header(const struct auth_input *input, struct str name);
/* The same for a query parameter. */
struct str auth_query(const struct auth_input *input, struct str name);
/* The time for which the credentials are checked. */
int64_t auth_now(const struct auth_server *server, const struct auth_input *input);

/* 403 AuthenticationFailed whose AuthenticationErrorDetail is the text (which may hold newlines).
 */
struct err auth_failed(struct arena *arena, struct str text);

/* Returns true if a value, or a name before a colon, may become part of a string to sign. Newlines
 * and colons separate the parts of that text, so a control character in a value or a colon in a
 * name could turn one request's text, and its signature, into another's. */
bool auth_is_signable(struct str value);
bool auth_is_signable_name(struct str name);
/* The same for the value of a header, which may contain tabs. */
bool auth_is_signable_header(struct str value);

/* Returns true if one of the account's keys made this signature of the text. Compares in constant
 * time. */
bool auth_signature_matches(const struct account *account, struct str text, struct str signature);
/* The same with one key. */
bool auth_mac_matches(const struct hmac_key *key, struct str text, struct str signature);

/* Returns true if the letters satisfy those of a row (see auth_demand); false for NULL. */
bool permit_letters(const char *demanded, struct str letters);

/* See auth_delegate. False when a time is not well-formed or a text not signable. */
bool delegation_derive(const struct hmac_key *account_key, const struct delegation *delegation,
                       unsigned char out[SHA256_BYTES]);

/* `Authorization: Bearer token`. */
/* ERR_AUTHENTICATION_FAILED for an account that is not served. */
struct err auth_no_account(struct arena *arena, struct str account);
bool bearer_is(struct str authorization);
/* Returns true if the operation accepts no other credential. */
bool bearer_alone(const struct auth_demand *demand);
/* Finds the sender of the token, independent of the requested operation. */
struct err bearer_verify(const struct auth_server *server, const struct auth_input *input,
                         struct str authorization, struct arena *arena, struct jwt *out);
/* Returns true if the roles allow it for one of the identities of `who`. */
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
