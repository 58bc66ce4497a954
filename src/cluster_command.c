/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster_command.h"

#include <stdio.h>

#include "complain.h"
#include "engine/cluster/cluster.h"
#include "progress.h"

static int print_status(const struct engine_cluster_options *options)
{
    struct buf text = buf_heap();
    struct err error = engine_cluster_status(options, &text);
    if (!err_is(error))
        (void)fwrite(text.p, 1, text.n, stdout);
    buf_release(&text);
    return err_is(error) ? complain("cluster status", options->text) : 0;
}

static int init(const struct engine_cluster_options *options)
{
    struct err error = engine_cluster_init(options);
    if (err_is(error))
        return complain("cluster init", options->text);
    puts("the tables are there and the pool takes writes");
    return 0;
}

/* A progress bar on a terminal; in a log one line for each tenth. */
struct moving {
    struct progress bar;
    uint64_t moved, tenths;
};

static void show_moved(void *arg, const char *doing, uint64_t done, uint64_t of)
{
    struct moving *m = arg;
    m->moved = done;
    progress_show(&m->bar, doing, done, of);
    if (m->bar.shown || of == 0 || done * 10 / of == m->tenths)
        return;
    m->tenths = done * 10 / of;
    printf("%llu of %llu buckets moved\n", (unsigned long long)done, (unsigned long long)of);
    (void)fflush(stdout);
}

typedef struct err move_fn(const struct engine_cluster_options *options, cluster_progress *progress,
                           void *arg);

static int move(const struct engine_cluster_options *options, move_fn *fn, const char *who,
                const char *then)
{
    struct moving m = {.moved = 0};
    progress_begin(&m.bar);
    struct err error = fn(options, show_moved, &m);
    progress_clear(&m.bar);
    if (err_is(error))
        return complain(who, options->text);
    printf("%llu buckets moved in %.1f s; %s\n", (unsigned long long)m.moved,
           (double)progress_ms(&m.bar) / 1000, then);
    return 0;
}

static int rebalance(const struct engine_cluster_options *options)
{
    return move(options, engine_cluster_rebalance, "cluster rebalance",
                "every shard has its share");
}

static int drain(const struct engine_cluster_options *options)
{
    return move(options, engine_cluster_drain, "cluster drain",
                "the last shard is empty: restart the gateways without its --rows, "
                "then run `lazuli cluster init` without it");
}

int cluster_command(const struct config *config)
{
    static const struct {
        const char *word;
        int (*run)(const struct engine_cluster_options *options);
        bool extents;
    } words[] = {
        {"init", init, true},
        {"status", print_status, false},
        {"rebalance", rebalance, false},
        {"drain", drain, false},
    };
    char text[512] = "";
    struct engine_cluster_options options = {
        .rows = config->rows, .extents = config->extents, .text = text, .text_size = sizeof text};
    struct str what = config->operand_count == 1 ? str_of(config->operands[0]) : STR("");
    bool known = false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (!str_eq(what, str_of(words[i].word)))
            continue;
        known = true;
        if (options.rows == NULL || (words[i].extents && options.extents == NULL))
            break;
        return words[i].run(&options);
    }
    return complain("cluster", known ? "needs --rows URI, and --extents rados:POOL to init"
                                     : "takes one word: init, status, rebalance or drain");
}
