/* SPDX-License-Identifier: Apache-2.0 */
/* The totals that test/counts.sh reads. */
#include "core/test.h"

#include <stdio.h>
#include <unistd.h>

static void passes(void)
{
}

static void skips(void)
{
    test_skip("it cannot run here");
}

/* The last line printed by a run of these tests. */
static int sum_of(const struct test_case *cases, size_t count, char *line, size_t size)
{
    (void)fflush(stdout);
    int out = dup(STDOUT_FILENO);
    FILE *file = tmpfile();
    CHECK(out >= 0 && file != NULL && dup2(fileno(file), STDOUT_FILENO) >= 0);
    int status = test_main(cases, count, "");
    (void)fflush(stdout);
    CHECK(dup2(out, STDOUT_FILENO) >= 0 && close(out) == 0);
    rewind(file);
    while (fgets(line, (int)size, file) != NULL)
        continue;
    CHECK(fclose(file) == 0);
    return status;
}

void test_sum_says_what_was_skipped(void)
{
    static const struct test_case CASES[] = {{"passes", passes}, {"skips", skips}};
    char line[256] = "";
    CHECK_INT(sum_of(CASES, 2, line, sizeof line), 0);
    CHECK_STR(str_of(line), STR("1 passed, 0 failed, 1 skipped\n"));
    CHECK_INT(sum_of(CASES, 1, line, sizeof line), 0);
    CHECK_STR(str_of(line), STR("1 passed, 0 failed\n"));
    CHECK_INT(sum_of(CASES + 1, 1, line, sizeof line), 1); /* nothing has run */
}
