/* SPDX-License-Identifier: Apache-2.0 */
#include "core/err.h"

#include <assert.h>

struct err_row {
    const char *azure_code;
    int http_status;
    uint32_t ntstatus;
    const char *message;
};

static const struct err_row ERR_ROWS[ERR_CODE_COUNT] = {
    [ERR_OK] = {"", 200, 0, ""},
#define X(name, azure, http, ntstatus, message) [ERR_##name] = {azure, http, ntstatus, message},
#include "core/errors.def"
#undef X
};

static const struct err_row *err_row(enum err_code code)
{
    assert((unsigned)code < ERR_CODE_COUNT);
    return &ERR_ROWS[code];
}

const char *err_azure_code(enum err_code code)
{
    return err_row(code)->azure_code;
}

int err_http_status(enum err_code code)
{
    return err_row(code)->http_status;
}

uint32_t err_ntstatus(enum err_code code)
{
    return err_row(code)->ntstatus;
}

const char *err_message(enum err_code code)
{
    return err_row(code)->message;
}
