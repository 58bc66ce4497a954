/* SPDX-License-Identifier: Apache-2.0 */
/* The accounts that an operator created, stored in a separate partition of the store. Each change
 * is durable before it takes effect. The functions wait for the store: they are for start-up and
 * for the control socket's thread, never for an event loop. */
#ifndef SERVICE_ACCOUNT_REGISTRY_H
#define SERVICE_ACCOUNT_REGISTRY_H

#include "service/account/account.h"
#include "service/common/store.h"
#include "service/common/sweeper.h"

struct registry {
    struct store *store;
    struct accounts *accounts;  /* all served accounts: these and those of the command line */
    struct accounts *from_file; /* of these, the ones from --accounts; NULL: none yet */
    /* Set if other machines can connect: then the public key is refused. */
    bool refuse_well_known_key;
};

/* Adds the stored accounts to the served ones. *well_known_deleted: an operator deleted the
 * well-known account, so it is not served by default. */
struct err registry_load(struct registry *registry, bool *well_known_deleted);

/* Keys as accounts_put wants them; an absent key1 means two new random keys. ERR_INVALID_INPUT,
 * ERR_RESOURCE_ALREADY_EXISTS. */
struct registry_new {
    struct str name, key1, key2;
    bool hierarchical; /* see struct account */
};
struct err registry_add(struct registry *registry, const struct registry_new *account);
/* Replaces key 1 or 2 by a new random one. ERR_RESOURCE_NOT_FOUND; ERR_INVALID_INPUT for an account
 * from the command line or the environment, because a restart would restore its old key. */
struct err registry_rotate_key(struct registry *registry, struct str name, unsigned which);
/* The account's data are kept, and are served again if it is added again. Errors as above. */
struct err registry_delete(struct registry *registry, struct str name);

/* Applies the changes of other servers of the same store: accounts that are added, deleted or get
 * other keys. */
struct registry_follower {
    struct registry *registry;
    struct buf seen; /* all rows as last read, each a name and a value */
};
/* Before registry_load, so that no change is missed in between. */
struct err registry_follower_init(struct registry_follower *f, struct registry *registry);
void registry_follower_release(struct registry_follower *f);
/* Its context is the follower. Costs one read when nothing has changed. */
sweep_step registry_follow;

#endif
