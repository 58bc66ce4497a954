/* SPDX-License-Identifier: Apache-2.0 */
/* The one error type: a value, returned in registers, never dropped (the clang build refuses). */
#ifndef CORE_ERR_H
#define CORE_ERR_H

#include <stdbool.h>
#include <stdint.h>

/* For functions that only failures reach: the compiler moves them, and the branches to them, out of
 * the hot code. */
#define COLD __attribute__((cold))

#if defined(__clang__)
#define NODISCARD __attribute__((warn_unused_result))
#else
#define NODISCARD
#endif

enum err_code {
    ERR_OK = 0,
#define X(name, azure, http, ntstatus, message) ERR_##name,
#include "core/errors.def"
#undef X
    ERR_CODE_COUNT
};

enum { ERR_DETAIL_NEWLINE = '\r' };

struct NODISCARD err {
    enum err_code code;
    int cause; /* errno or the engine's cause: for the log only */
    /* NULL, or text that lives as long as the request: lines of "Element\tvalue" that the front
     * end adds to the error body (HeaderName, QueryParameterName, Reason, MaxLimit, …). A newline
     * within a value is written as ERR_DETAIL_NEWLINE. */
    const char *detail;
};

#define OK ((struct err){ERR_OK, 0, 0})

/* Leaves the function with the error, if there is one. The only control-flow macro there is. */
#define TRY(expression)                      \
    do {                                     \
        struct err try_error = (expression); \
        if (err_is(try_error))               \
            return try_error;                \
    } while (0)

static inline bool err_is(struct err e)
{
    return __builtin_expect(e.code != ERR_OK, 0);
}

static inline struct err err_new(enum err_code code)
{
    return (struct err){code, 0, 0};
}

static inline struct err err_cause(enum err_code code, int cause)
{
    return (struct err){code, cause, 0};
}

static inline struct err err_detail(enum err_code code, const char *detail)
{
    return (struct err){code, 0, detail};
}

/* Look up a code's entry in errors.def. */
const char *err_azure_code(enum err_code code);
int err_http_status(enum err_code code);
uint32_t err_ntstatus(enum err_code code);
const char *err_message(enum err_code code);

#endif
