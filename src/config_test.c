/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/test.h"

static struct err parse(struct config *out, int argc, const char *const *argv)
{
    static char text[256];
    return config_parse(argc, (char **)(uintptr_t)argv, out, text, sizeof text);
}

void test_config_defaults(void)
{
    struct config c;
    const char *const argv[] = {"lazuli"};
    CHECK_OK(parse(&c, 1, argv));
    CHECK_STR(str_of(c.data), STR("lazuli-data"));
    CHECK(!c.data_given);
    CHECK_INT(c.port[0], 10000);
    CHECK_INT(c.smb_port, 10445);
    CHECK(!c.in_memory && !c.relaxed && c.command == NULL);
}

void test_config_azurite_flags(void)
{
    struct config c;
    const char *const argv[] = {"lazuli",
                                "-l",
                                "/d",
                                "--blobPort",
                                "1",
                                "--queueHost=::1",
                                "-s",
                                "-L",
                                "--inMemoryPersistence",
                                "--disableTelemetry"};
    CHECK_OK(parse(&c, 10, argv));
    CHECK_STR(str_of(c.data), STR("/d"));
    CHECK(c.data_given);
    CHECK_STR(str_of(c.host[1]), STR("::1"));
    CHECK(c.silent && c.loose && c.in_memory && c.port[0] == 1);
}

void test_config_refuses(void)
{
    struct config c;
    const char *const unknown[] = {"lazuli", "--what"};
    const char *const port[] = {"lazuli", "--blob-port", "70000"};
    const char *const missing[] = {"lazuli", "--data"};
    const char *const word[] = {"lazuli", "fly"};
    CHECK_ERR(parse(&c, 2, unknown), ERR_INVALID_INPUT);
    CHECK_ERR(parse(&c, 3, port), ERR_INVALID_INPUT);
    CHECK_ERR(parse(&c, 2, missing), ERR_INVALID_INPUT);
    CHECK_ERR(parse(&c, 2, word), ERR_INVALID_INPUT);
}
