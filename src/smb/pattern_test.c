/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/pattern.h"

#include "core/test.h"

static void check(const char *pattern, const char *name, bool want)
{
    if (smb_pattern_matches(str_of(pattern), str_of(name)) != want)
        test_fail(__FILE__, __LINE__, "%s against %s: want %d", pattern, name, want);
}

void test_smb_pattern_plain(void)
{
    check("*", "", true);
    check("*", "anything.txt", true);
    check("a*c", "abc", true);
    check("a*c", "ab", false);
    check("*.txt", "a.b.txt", true);
    check("?bc", "abc", true);
    check("?bc",
          "\xC3\xA4"
          "bc",
          true);
    check("??", "a", false);
    check("abc", "abc", true);
    check("abc", "abcd", false);
}

void test_smb_pattern_dos(void)
{
    check("<.txt", "a.b.txt", true);
    check("<.b", "a.b.txt", false);
    check("<", "noext", true);
    check(">>>.txt", "ab.txt", true);
    check(">>>.txt", "abcd.txt", false);
    check("ab\"", "ab", true);
    check("ab\"c", "ab.c", true);
    check("ab\"c", "abc", false);
}

void test_smb_pattern_work_is_bounded(void)
{
    char pattern[1000];
    char name[1000];
    memset(pattern, '*', sizeof pattern);
    memset(name, 'a', sizeof name);
    pattern[999] = 'b';
    CHECK(!smb_pattern_matches((struct str){pattern, 1000}, (struct str){name, 1000}));
}
