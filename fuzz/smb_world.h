/* SPDX-License-Identifier: Apache-2.0 */
/* A whole SMB server in memory, for fuzz drivers: one event loop, one pool thread, the memory
 * engine, and the share "share" of the account "acct". */
#ifndef FUZZ_SMB_WORLD_H
#define FUZZ_SMB_WORLD_H

#include <stdio.h>
#include <stdlib.h>

#include "engine/mem/mem.h"
#include "engine/wait.h"
#include "service/file/keys.h"
#include "service/file/opens/opens.h"
#include "service/file/share.h"
#include "smb/server.h"

struct smb_fuzz_world {
    struct clock clock;
    struct store store;
    struct accounts *accounts;
    struct loop *loop;
    struct pool *pool, *senders, *storers;
    struct smb_server *server;
    uint64_t incarnation; /* of the share */
};

static inline void require_at(bool holds, const char *file, int line)
{
    if (holds)
        return;
    (void)fprintf(stderr, "%s:%d does not hold\n", file, line);
    abort();
}
#define require(condition) require_at((condition), __FILE__, __LINE__)

static inline void smb_fuzz_begin(struct smb_fuzz_world *w)
{
    struct arena a;
    struct share_args args = {.arena = &a};
    arena_init(&a, 1 << 20);
    clock_init_system(&w->clock);
    w->store = (struct store){
        .engine = engine_mem_new(&w->clock), .clock = &w->clock, .opens = opens_new()};
    w->accounts = accounts_new();
    require(!err_is(loop_new(&w->loop)) && !err_is(pool_new(1, &w->pool)));
    require(!err_is(pool_new(1, &w->senders)) && !err_is(pool_new(1, &w->storers)));
    struct smb_world world = {.loops = &w->loop,
                              .loop_count = 1,
                              .pool = w->pool,
                              .senders = w->senders,
                              .storers = w->storers,
                              .accounts = w->accounts,
                              .store = &w->store};
    /* Short messages too go to threads, as large ones do. */
    struct smb_options options = {.encryption = SMB_ENCRYPTION_PREFERRED, .away_bytes_min = 200};
    require(!err_is(smb_server_new(&world, &options, &w->server)));
    struct str partition = file_partition(&a, STR("acct"), STR("share"));
    require(!err_is(engine_update_wait(w->store.engine, partition, file_create_share, &args)));
    w->incarnation = args.share.incarnation;
    arena_release(&a);
}

static inline void smb_fuzz_end(struct smb_fuzz_world *w)
{
    pool_free(w->pool);
    pool_free(w->senders);
    pool_free(w->storers);
    smb_server_free(w->server);
    engine_close(w->store.engine);
    opens_free(w->store.opens);
    loop_free(w->loop);
    accounts_free(w->accounts);
}

#endif
