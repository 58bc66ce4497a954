/* SPDX-License-Identifier: Apache-2.0 */
/* The Makefile compiles this file again when the version or the commit changes. */
#include "version.h"

#include <stdio.h>

#include "admin/page.h"
#include "core/crc/crc32c.h"
#include "engine/local/local.h"

#ifndef LAZULI_VERSION
#define LAZULI_VERSION "0.0.0"
#endif
#ifndef LAZULI_COMMIT
#define LAZULI_COMMIT "unknown"
#endif
#ifndef LAZULI_LIBRARIES
#define LAZULI_LIBRARIES "unknown"
#endif

const char *version_text(void)
{
    return LAZULI_VERSION;
}

const char *version_commit(void)
{
    return LAZULI_COMMIT;
}

const char *version_server_name(void)
{
    return "Lazuli/" LAZULI_VERSION;
}

void version_print(void)
{
    printf("lazuli " LAZULI_VERSION "\n"
           "commit " LAZULI_COMMIT "\n"
           "libraries " LAZULI_LIBRARIES "\n"
           "features blob queue table file smb admin%s crc32c=%s store-format=%u\n",
           PAGE_FILE_COUNT > 0 ? " console" : "", crc32c_library(), engine_local_format());
}
