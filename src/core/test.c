/* SPDX-License-Identifier: Apache-2.0 */
#include "core/test.h"

#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"

enum { TEST_SECONDS_MAX = 600, TEST_SLOW_MS = 1000, NAP_MS = 10, NAPS_MAX = 200 * 1000 / NAP_MS };

_Noreturn void test_fail(const char *file, int line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)fprintf(stderr, "  %s:%d: ", file, line);
    (void)vfprintf(stderr, format, args);
    (void)fputc('\n', stderr);
    va_end(args);
    exit(1);
}

void test_check_str(const char *file, int line, struct str got, struct str want)
{
    if (!str_eq(got, want))
        test_fail(file, line, "got \"%.*s\", want \"%.*s\"", STR_ARG(got), STR_ARG(want));
}

void test_check_int(const char *file, int line, const char *what, long long got, long long want)
{
    if (got != want)
        test_fail(file, line, "%s is %lld, want %lld", what, got, want);
}

void test_check_err(const char *file, int line, struct err got, enum err_code want)
{
    if (got.code != want)
        test_fail(file, line, "error %d %s (cause %d, %s), want %d %s", got.code,
                  err_azure_code(got.code), got.cause, got.detail == NULL ? "-" : got.detail, want,
                  err_azure_code(want));
}

void test_nap(const char *file, int line, const char *until, unsigned naps)
{
    if (naps >= NAPS_MAX)
        test_fail(file, line, "waited in vain until %s", until);
    (void)nanosleep(&(struct timespec){.tv_nsec = NAP_MS * 1000 * 1000}, NULL);
}

static int remove_entry(const char *path, const struct stat *s, int flag, struct FTW *walk)
{
    (void)s;
    (void)flag;
    (void)walk;
    return remove(path);
}

static char test_folder_path[64];

static void remove_test_folder(void)
{
    (void)nftw(test_folder_path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

const char *test_folder(void)
{
    if (test_folder_path[0] == '\0') {
        (void)snprintf(test_folder_path, sizeof test_folder_path, "/tmp/lazuli-test-XXXXXX");
        if (mkdtemp(test_folder_path) == NULL)
            test_fail(__FILE__, __LINE__, "mkdtemp failed");
        (void)atexit(remove_test_folder);
    }
    return test_folder_path;
}

/* Prints the slow tests by name. */
static void tell_if_slow(const struct test_case *test, int64_t took_ms, const struct rusage *used)
{
    struct timeval cpu;
    timeradd(&used->ru_utime, &used->ru_stime, &cpu);
    if (took_ms >= TEST_SLOW_MS)
        printf("slow: %s took %lld ms, %lld of CPU\n", test->name, (long long)took_ms,
               (long long)cpu.tv_sec * 1000 + cpu.tv_usec / 1000);
}

enum test_outcome { TEST_PASSED, TEST_FAILED, TEST_SKIPPED };
enum { TEST_SKIP_STATUS = 77 }; /* as automake has it */

void test_skip(const char *why)
{
    printf("SKIP: %s\n", why);
    exit(TEST_SKIP_STATUS);
}

static enum test_outcome test_run(const struct test_case *test)
{
    (void)fflush(stdout);
    (void)fflush(stderr);
    pid_t child = fork();
    if (child == 0) {
        (void)alarm(TEST_SECONDS_MAX);
        test->run();
        exit(0);
    }
    int status = -1;
    struct rusage used = {0};
    int64_t began = clock_mono_ms();
    bool ended = child > 0 && wait4(child, &status, 0, &used) == child;
    if (ended && WIFEXITED(status) && WEXITSTATUS(status) == TEST_SKIP_STATUS) {
        printf("SKIP %s\n", test->name);
        return TEST_SKIPPED;
    }
    if (!ended || status != 0) {
        printf("FAIL %s (status %d)\n", test->name, status);
        return TEST_FAILED;
    }
    tell_if_slow(test, clock_mono_ms() - began, &used);
    return TEST_PASSED;
}

/* Tests that need a cluster (test/cluster/up) run only if one is given. */
static bool is_here(const struct test_case *test)
{
    return strncmp(test->name, "test_on_cluster_", strlen("test_on_cluster_")) != 0 ||
           getenv("LAZULI_TEST_ROWS") != NULL;
}

int test_main(const struct test_case *cases, size_t count, const char *filter)
{
    size_t counts[] = {[TEST_PASSED] = 0, [TEST_FAILED] = 0, [TEST_SKIPPED] = 0};
    for (size_t i = 0; i < count; i++)
        if (is_here(&cases[i]) && strstr(cases[i].name, filter) != NULL)
            counts[test_run(&cases[i])]++;
    printf("%zu passed, %zu failed", counts[TEST_PASSED], counts[TEST_FAILED]);
    if (counts[TEST_SKIPPED] > 0)
        printf(", %zu skipped", counts[TEST_SKIPPED]);
    puts("");
    return counts[TEST_FAILED] == 0 && counts[TEST_PASSED] > 0 ? 0 : 1;
}
