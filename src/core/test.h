/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers for unit tests. A test is any `void test_*(void)` in a *_test.c; test/gen.sh finds it.
 * Each runs in a child process, so a crash or a hang fails only that test. */
#ifndef CORE_TEST_H
#define CORE_TEST_H

#include "core/err.h"
#include "core/str.h"

struct test_case {
    const char *name;
    void (*run)(void);
};

/* Runs the tests whose name contains `filter` and prints "N passed, N failed", with ", N skipped"
 * if some could not run. Returns 0 if none failed. */
int test_main(const struct test_case *cases, size_t count, const char *filter);

/* Ends the test as failed. */
_Noreturn void test_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Ends the test as skipped, which the summary shows; test/run.sh counts it as failed. */
_Noreturn void test_skip(const char *why);

void test_check_str(const char *file, int line, struct str got, struct str want);
void test_check_int(const char *file, int line, const char *what, long long got, long long want);
void test_check_err(const char *file, int line, struct err got, enum err_code want);
/* Sleeps for ten milliseconds, and fails the test after very many `naps`. */
void test_nap(const char *file, int line, const char *until, unsigned naps);
/* A new empty folder, removed when the test's process ends. Lives as long as the process. */
const char *test_folder(void);

#define CHECK(condition)                                     \
    do {                                                     \
        if (!(condition))                                    \
            test_fail(__FILE__, __LINE__, "%s", #condition); \
    } while (0)
#define CHECK_STR(got, want) test_check_str(__FILE__, __LINE__, (got), (want))
#define CHECK_INT(got, want) \
    test_check_int(__FILE__, __LINE__, #got, (long long)(got), (long long)(want))
#define CHECK_ERR(got, code) test_check_err(__FILE__, __LINE__, (got), (code))
#define CHECK_OK(got)        test_check_err(__FILE__, __LINE__, (got), ERR_OK)

/* Waits for other threads: checks repeatedly until the condition holds, for minutes if necessary,
 * so that a slow machine does not fail the test. */
#define WAIT_UNTIL(condition)                               \
    do {                                                    \
        for (unsigned naps = 0; !(condition); naps++)       \
            test_nap(__FILE__, __LINE__, #condition, naps); \
    } while (0)

/* The number of repetitions of a test with random steps: `times`, but an eighth (at least one)
 * under the thread sanitizer, which takes ten times as long for each. */
#ifdef __SANITIZE_THREAD__
#define TEST_TIMES(times) (((times) + 7) / 8)
#else
#define TEST_TIMES(times) (times)
#endif

#endif
