/* SPDX-License-Identifier: Apache-2.0 */
/* Authentication and authorization: one entry point for every kind of credential. Uses neither HTTP
 * nor SMB types: the front end fills auth_input. */
#ifndef AUTH_AUTH_H
#define AUTH_AUTH_H

#include <sys/socket.h>

#include "core/arena.h"
#include "core/clock.h"
#include "core/err.h"
#include "service/account/account.h"
#include "service/common/store.h"

struct auth_pair {
    struct str name;
    struct str value;
};

enum auth_anonymous {
    AUTH_ANONYMOUS_NEVER,
    AUTH_ANONYMOUS_BLOB,      /* allowed at public-access level blob and container */
    AUTH_ANONYMOUS_CONTAINER, /* allowed at level container only */
    AUTH_ANONYMOUS_ALWAYS,    /* preflight */
};

/* What the operation's row demands. A row that no SAS reaches (access policies) is closed to
 * bearers too, except GetUserDelegationKey, which only bearers may call. Letters are any-of: "cw"
 * means c or w; a '+' binds those beside it: "a+u" means a and u, "wa+u" means w, or a and u. */
struct auth_demand {
    const char *operation;
    const char *account_sas; /* letters of an account SAS; NULL: not by account SAS */
    char account_sas_type;   /* 's', 'c' or 'o'; '*': any */
    const char *service_sas; /* letters of a service SAS; NULL: not by service SAS */
    enum auth_anonymous anonymous;
    bool write;
    bool lists; /* if roles do not grant it, the access control lists of a hierarchical account's
                   paths may: see auth_consults_lists */
    bool tree;  /* includes everything below the resource: a SAS for one object is not enough */
};

/* What an operation works on: the resource of the request's path, or another one that the request
 * names. */
struct auth_resource {
    enum service_kind service;
    struct str account;
    struct str container;          /* decoded; absent at service level */
    struct str object;             /* decoded; absent above */
    const struct auth_pair *query; /* of its URL: says which snapshot or version it is */
    size_t query_count;
    struct str listed; /* of a listing: the directory, without slashes at its ends; else absent */
};

struct auth_input {
    enum service_kind service;
    struct str method;
    struct str path;      /* as sent, percent-encoded */
    struct str raw_query; /* as sent */
    /* Decoded names (as sent in case) and values. */
    const struct auth_pair *query; /* '+' decoded as a space, except in sig */
    size_t query_count;
    const struct auth_pair *query_plus; /* '+' kept as it is; NULL: no value has one */
    const struct auth_pair *headers;
    size_t header_count;
    int64_t content_length; /* -1: none */
    struct str account;     /* from the path or the host, without -secondary */
    struct str container;   /* decoded container, queue, table or share; absent at service level */
    struct str object;      /* decoded blob name or path; absent above */
    struct str listed;      /* see auth_resource */
    const struct sockaddr_storage *peer;
    bool secure;
    int version; /* x-ms-version as yyyymmdd; 0 when not sent */
    int64_t now; /* ticks: when the request arrived; 0: now, by the server's clock */
};

enum auth_kind {
    AUTH_SHARED_KEY,
    AUTH_ACCOUNT_SAS,
    AUTH_SERVICE_SAS,
    AUTH_DELEGATION_SAS,
    AUTH_BEARER,
    AUTH_ANONYMOUS
};

struct auth_reach;

/* The identity, and its limits; lives in the request's arena. */
struct auth_result {
    enum auth_kind kind;
    struct str
        permissions;  /* the SAS's letters, reduced to those that have a meaning for its resource */
    bool create_only; /* c without w: must not overwrite */
    bool plus_is_plus;      /* query_plus was signed */
    bool empty_is_unsigned; /* an x-ms-* header without a value may have been added by anybody */
    struct str identity;    /* object id of the bearer or of the delegating user, for the log */
    struct str tenant;      /* of a bearer; absent when the token names none */
    /* Of a user delegation SAS: the user that the application acts for, whose rights to paths are
     * checked in addition (saoid, suoid). Of a bearer: the groups of the user. */
    struct str agent, user;
    const struct str *groups;
    size_t group_count;
    /* Response-header overrides of a SAS; absent where not given. */
    struct str cache_control, content_disposition, content_encoding, content_language, content_type;
    struct str encryption_scope; /* ses of a SAS; absent where not given */
    /* The range of keys that a table's SAS is for; absent if not given. A batch must check it for
     * each of its parts. */
    struct str start_pk, start_rk, end_pk, end_rk;
    int sas_version;                /* sv as yyyymmdd, 0 when there is none */
    const struct auth_reach *reach; /* for auth_permit; NULL for AUTH_ANONYMOUS */
};

/* A container, queue, table or share. */
struct auth_container {
    enum service_kind service;
    struct str account;
    struct str container;
};

/* What the container allows anonymous clients. */
enum auth_public { AUTH_PUBLIC_NONE, AUTH_PUBLIC_BLOB, AUTH_PUBLIC_CONTAINER };

/* A stored access policy; a part is absent where the policy does not give it. */
struct auth_policy {
    bool found;
    struct str start, expiry, permission;
};

/* Callbacks into the services, set by main, so that auth does not depend on them; one that is NULL
 * finds nothing. Each reads one hot row, and may wait for it. */
struct auth_lookup {
    /* A container that does not exist is AUTH_PUBLIC_NONE and no error. */
    struct err (*public_access)(struct store *store, const struct auth_container *place,
                                struct arena *arena, enum auth_public *out);
    /* *out's text lives in the arena. A missing container or policy is no error: not found. */
    struct err (*stored_policy)(struct store *store, const struct auth_container *place,
                                struct str id, struct arena *arena, struct auth_policy *out);
};

struct oauth;

struct auth_server {
    struct accounts *accounts;
    struct store *store;
    const struct clock *clock;
    struct oauth *oauth; /* NULL: no bearer tokens */
    /* If tests move the server's clock: the clients' time. The date of a signed request may match
     * either. NULL: there is only one time. */
    const struct clock_control *real;
    struct auth_lookup lookup;
};

/* Authenticates, then calls auth_permit. On refusal returns the error with its exact code; sets
 * *challenge to a WWW-Authenticate value if the response should have one. */
struct err auth_check(const struct auth_server *server, const struct auth_input *input,
                      const struct auth_demand *demand, struct arena *arena,
                      struct auth_result *result, struct str *challenge);

/* Decides whether the identity may perform the operation on the resource. No other code decides
 * that. An operation on two resources calls it for each: for the resource of the request's path,
 * and for every other one that the request names (the source of a copy or rename, the file behind a
 * hard link, the table of a part of a batch). ERR_AUTHORIZATION_FAILURE if the credentials are for
 * something else, and the refusals of auth_check. */
struct err auth_permit(const struct auth_server *server, const struct auth_result *who,
                       const struct auth_resource *what, const struct auth_demand *demand,
                       struct arena *arena);

/* Returns true if the permission depends on the path's access control lists, for who->user or else
 * who->identity; otherwise roles granted it. */
bool auth_consults_lists(const struct auth_server *server, const struct auth_result *who,
                         const struct auth_resource *what, const struct auth_demand *demand);

/* The scope of a user delegation key: the sk* parameters of a SAS made with it. */
struct delegation {
    struct str object_id, tenant_id;
    struct str start, expiry; /* as text; counted in whole seconds */
    struct str service, version;
    struct str user_tenant_id; /* absent when it is not for another tenant's user */
};
enum { DELEGATION_DAYS_MAX = 7 };

/* The key's value for GetUserDelegationKey, base64, in the arena. The account's key and the
 * delegation determine it: nothing is stored, and rotating the account's first key revokes all
 * delegations. ERR_RESOURCE_NOT_FOUND without such an account, ERR_INVALID_INPUT if a time is
 * malformed or a text has control characters. */
struct err auth_delegate(const struct auth_server *server, struct str account,
                         const struct delegation *delegation, struct arena *arena,
                         struct str *value);

/* Returns true if the credentials also cover what is below the resource: false for a SAS for one
 * object. */
bool auth_reaches_below(const struct auth_result *who);

/* For permissions that depend on more than the row: returns true if `who` also has one of these
 * letters (as in auth_demand). Keys and bearers with write access may do anything. */
bool auth_permits(const struct auth_result *who, const char *letters);

#endif
