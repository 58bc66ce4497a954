/* SPDX-License-Identifier: Apache-2.0 */
#include "net/reach.h"

#include <arpa/inet.h>

#include "core/test.h"

static bool allows(const char *list, const char *host, const char *address)
{
    struct reach r;
    struct sockaddr_storage storage = {0};
    struct sockaddr_in *v4 = (struct sockaddr_in *)(void *)&storage;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)(void *)&storage;
    CHECK_OK(reach_parse(list, &r));
    if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
        storage.ss_family = AF_INET;
    } else {
        CHECK(inet_pton(AF_INET6, address, &v6->sin6_addr) == 1);
        storage.ss_family = AF_INET6;
    }
    return reach_allows(&r, str_of(host), (struct sockaddr *)&storage);
}

void test_reach_nothing_by_default(void)
{
    CHECK(!allows(NULL, "x", "192.0.2.1"));
    CHECK(!allows("", "x", "127.0.0.1"));
    CHECK(!allows("", "x", "2001:db8::1"));
}

void test_reach_nets(void)
{
    CHECK(allows("10.0.0.0/8", "x", "10.255.1.2"));
    CHECK(!allows("10.0.0.0/8", "x", "11.0.0.1"));
    CHECK(allows("192.0.2.128/25", "x", "192.0.2.200"));
    CHECK(!allows("192.0.2.128/25", "x", "192.0.2.100"));
    CHECK(allows("192.0.2.1", "x", "192.0.2.1"));
    CHECK(!allows("192.0.2.1", "x", "192.0.2.2"));
    CHECK(allows("[2001:db8::]/32,10.0.0.1", "x", "2001:db8:1::5"));
    CHECK(allows("2001:db8::/32", "x", "2001:db8::5"));
    CHECK(!allows("2001:db8::/32", "x", "2001:db9::5"));
    CHECK(allows("0.0.0.0/0", "x", "192.0.2.1"));
    CHECK(allows("127.0.0.0/8", "x", "127.0.0.1"));
    /* An IPv4 address mapped to IPv6 counts as the IPv4 address. */
    CHECK(allows("10.0.0.0/8", "x", "::ffff:10.1.2.3"));
    CHECK(!allows("0.0.0.0/0", "x", "2001:db8::1"));
}

void test_reach_names(void)
{
    CHECK(allows("storage.example", "storage.example", "192.0.2.1"));
    CHECK(allows("storage.example", "STORAGE.example", "192.0.2.1"));
    CHECK(!allows("storage.example", "evil.example", "192.0.2.1"));
    CHECK(allows("*.example", "a.b.example", "192.0.2.1"));
    CHECK(!allows("*.example", "example", "192.0.2.1"));
    CHECK(!allows("*.example", "badexample", "192.0.2.1"));
    /* A listed name does not allow special addresses. */
    CHECK(!allows("storage.example", "storage.example", "127.0.0.1"));
    CHECK(!allows("storage.example", "storage.example", "169.254.169.254"));
    CHECK(!allows("storage.example", "storage.example", "::1"));
    CHECK(allows("localhost", "localhost", "127.0.0.1"));
    CHECK(!allows("localhost", "x", "127.0.0.1"));
}

void test_reach_anything_but_what_is_special(void)
{
    static const char *const special[] = {"127.0.0.1",
                                          "127.8.9.1",
                                          "169.254.169.254",
                                          "0.0.0.0",
                                          "224.0.0.1",
                                          "::1",
                                          "::",
                                          "fe80::1",
                                          "ff02::1",
                                          "255.255.255.255",
                                          "::127.0.0.1",
                                          "::ffff:127.0.0.1",
                                          "64:ff9b::7f00:1",
                                          "2002:7f00:1::"};
    CHECK(allows("*", "x", "192.0.2.1"));
    CHECK(allows("*", "x", "10.0.0.1"));
    CHECK(allows("*", "x", "2001:db8::1"));
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++)
        if (allows("*", "x", special[i]))
            test_fail(__FILE__, __LINE__, "%s is in reach", special[i]);
    CHECK(!allows("*", "localhost", "127.0.0.1"));
}

void test_reach_bad_lists(void)
{
    static const char *const bad[] = {"10.0.0.0/33", "10.0.0.0/", "a b",  "::/129",
                                      "10.0.0.0/x",  ",",         "a,,b", "http://x"};
    struct reach r;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK_ERR(reach_parse(bad[i], &r), ERR_INVALID_INPUT);
}
