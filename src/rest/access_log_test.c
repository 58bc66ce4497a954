/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/access_log.h"

#include "core/test.h"

static void check_target(const char *path, const char *query, const char *want)
{
    struct buf out = buf_heap();
    access_log_put_target(&out, str_of(path), str_of(query));
    CHECK_STR(buf_str(&out), str_of(want));
    buf_release(&out);
}

void test_access_log_never_shows_a_signature(void)
{
    check_target("/a/b", NULL, "/a/b");
    check_target("/a/b", "sv=1&sig=secret%3D&sp=r", "/a/b?sv=1&sig=-&sp=r");
    check_target("/a/b", "SIG=secret", "/a/b?SIG=-");
    check_target("/a/b", "%73ig=secret", "/a/b?%73ig=-");
}

void test_access_log_stays_one_line(void)
{
    check_target("/a\nb", "x=\x01", "/a?b?x=?");
}
