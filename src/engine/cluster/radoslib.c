/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cluster/radoslib.h"

#include "engine/cluster/load.h"

#define AT(field) offsetof(struct radoslib, field)

static const struct load_symbol SYMBOLS[] = {
    {"rados_create", AT(create)},
    {"rados_conf_read_file", AT(conf_read_file)},
    {"rados_conf_set", AT(conf_set)},
    {"rados_connect", AT(connect)},
    {"rados_shutdown", AT(shutdown)},
    {"rados_ioctx_create", AT(io_create)},
    {"rados_ioctx_destroy", AT(io_destroy)},
    {"rados_ioctx_set_namespace", AT(set_namespace)},
    {"rados_set_pool_full_try", AT(set_full_try)},
    {"rados_aio_create_completion2", AT(done_create)},
    {"rados_aio_wait_for_complete", AT(done_wait)},
    {"rados_aio_is_complete", AT(done_is)},
    {"rados_aio_get_return_value", AT(done_result)},
    {"rados_aio_release", AT(done_release)},
    {"rados_create_write_op", AT(writing_create)},
    {"rados_release_write_op", AT(writing_release)},
    {"rados_write_op_set_alloc_hint2", AT(writing_hint)},
    {"rados_write_op_write_full", AT(writing_full)},
    {"rados_aio_write_op_operate", AT(writing_start)},
    {"rados_aio_remove", AT(remove)},
    {"rados_create_read_op", AT(reading_create)},
    {"rados_release_read_op", AT(reading_release)},
    {"rados_read_op_read", AT(reading_read)},
    {"rados_aio_read_op_operate", AT(reading_start)},
};

struct err radoslib_load(struct radoslib *out)
{
    return load_library("librados.so.2", SYMBOLS, sizeof SYMBOLS / sizeof SYMBOLS[0], out,
                        "the library librados.so.2 of Ceph is not installed (Debian: librados2)");
}
