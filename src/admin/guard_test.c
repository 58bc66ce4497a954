/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/internal.h"
#include "core/test.h"

static bool host_ok(const char *host, bool secure)
{
    struct admin_options options = {.bound_host = "10.0.0.7", .hosts = "lazuli, Storage.Test"};
    return admin_host_ok(&options, str_of(host), secure);
}

void test_admin_host_names_this_machine(void)
{
    static const char *const good[] = {
        "localhost", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:10004", "127.255.0.9",
        "[::1]",     "[::1]:80",    "lazuli",    "lazuli:10004",    "storage.test"};
    static const char *const bad[] = {"",
                                      "example.com",
                                      "localhost.example",
                                      "127.0.0",
                                      "127.0.0.1.example",
                                      "127.0.0.256",
                                      "127.0.0.1.",
                                      "[::2]",
                                      "[::1",
                                      "lazuli.",
                                      "128.0.0.1",
                                      "0.0.0.0",
                                      ":10004",
                                      "example.com:localhost",
                                      "127.0.0.-1"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        CHECK(host_ok(good[i], false));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (host_ok(bad[i], false) || host_ok(bad[i], true))
            test_fail(__FILE__, __LINE__, "'%s' was taken", bad[i]);
}

void test_admin_host_bound_address_needs_tls(void)
{
    CHECK(!host_ok("10.0.0.7:10004", false));
    CHECK(host_ok("10.0.0.7:10004", true));
}
