/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster_command.h"

#include <stdio.h>

#include "complain.h"
#include "engine/cluster/cluster.h"

static int print_status(const struct engine_cluster_options *options)
{
    struct buf text = buf_heap();
    struct err error = engine_cluster_status(options, &text);
    if (!err_is(error))
        (void)fwrite(text.p, 1, text.n, stdout);
    buf_release(&text);
    return err_is(error) ? complain("cluster status", options->text) : 0;
}

int cluster_command(const struct config *config)
{
    char text[512] = "";
    struct engine_cluster_options options = {
        .rows = config->rows, .extents = config->extents, .text = text, .text_size = sizeof text};
    struct str what = config->operand_count == 1 ? str_of(config->operands[0]) : STR("");
    bool init = str_eq(what, STR("init"));
    if (!init && !str_eq(what, STR("status")))
        return complain("cluster", "takes one word: init or status");
    if (options.rows == NULL || (init && options.extents == NULL))
        return complain("cluster", "needs --rows URI, and --extents rados:POOL to init");
    if (!init)
        return print_status(&options);
    struct err error = engine_cluster_init(&options);
    if (err_is(error))
        return complain("cluster init", text);
    puts("the tables are there and the pool takes writes");
    return 0;
}
