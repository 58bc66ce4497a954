/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/watch/access_log.h"

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

static void check_reason(const char *detail, const char *want)
{
    struct buf out = buf_heap();
    access_log_put_reason(&out, detail);
    CHECK_STR(buf_str(&out), str_of(want));
    buf_release(&out);
}

void test_access_log_reason_has_no_secret(void)
{
    check_reason("HeaderName\tx-ms-copy-source\nHeaderValue\thttp://h/c?sig=secret",
                 "HeaderName: x-ms-copy-source; HeaderValue: (not shown)");
    check_reason(
        "AuthenticationErrorDetail\tSignature did not match. String to sign used was secret",
        "AuthenticationErrorDetail: the signature is not right");
    check_reason(
        "AuthenticationErrorDetail\tThe MAC signature found in the HTTP request 'secret' is "
        "not the same as any computed signature. Server used following string to sign: 's'",
        "AuthenticationErrorDetail: the signature is not right");
    check_reason("AuthenticationErrorDetail\tThere is no account 'x' on this server.",
                 "AuthenticationErrorDetail: There is no account 'x' on this server.");
}

/* A URL pasted into a path or a parameter, escaped any number of times. */
void test_access_log_hides_escaped_signatures(void)
{
    check_target("/a/b%3Fsv=1%26sig%3Dsecret", NULL, "/a/b%3Fsv=1%26sig=-");
    check_target("/a/b%3F%73%69%67%3Dsecret", NULL, "/a/b%3Fsig=-");
    check_target("/a/b%3F%2573%2569%2567%253Dsecret", NULL, "/a/b%3Fsig=-");
    check_target("/a/b%3F%25252573ig=secret", NULL, "/a/b%3Fsig=-");
    check_target("/a", "url=http:%2F%2Fx%3F%53i%47%3Dsecret&b=1",
                 "/a?url=http:%2F%2Fx%3Fsig=-&b=1");
    check_target("/a", "url=%25%37%33ig%3Dsecret", "/a?url=sig=-");
    check_target("/a", "url=s%69g%3dsecret", "/a?url=sig=-");
    check_target("/a", "b=%25252525252525252525252573ig=secret", "/a?b=sig=-");
    check_target("/%", "b=%&c=%7&d=%zz", "/%?b=%&c=%7&d=%zz");
    check_target("/design/a%20b", "b=a%20b&design=1", "/design/a%20b?b=a%20b&design=1");
}

void test_access_log_stays_one_line(void)
{
    check_target("/a\nb", "x=\x01", "/a?b?x=?");
}
