/* SPDX-License-Identifier: Apache-2.0 */
#include "core/clock.h"

#include <fcntl.h>
#include <unistd.h>

#include "core/test.h"
#include "core/wire.h"

static void check_file(struct str bytes, bool given, int64_t want)
{
    int64_t ms = 0;
    bool sound;
    CHECK(clock_file_read(bytes, &ms, &sound) == given);
    CHECK(sound);
    CHECK_INT(ms, want);
}

static void check_nonsense(struct str bytes)
{
    int64_t ms;
    bool sound;
    CHECK(!clock_file_read(bytes, &ms, &sound));
    CHECK(!sound);
}

void test_clock_file_text_and_bytes(void)
{
    check_file(STR(""), false, 0);
    check_file(STR("20000"), true, 20000);
    check_file(STR("20000\n"), true, 20000);
    check_file(STR(" -86400000 \r\n"), true, -86400000);
    check_file(STR("+5"), true, 5);
    check_file(STR("12345678"), true, 12345678);
    check_file(STR("1234567\n"), true, 1234567);
    /* 8 bytes are a number, also where the first of them could be digits. */
    check_file(STR("\0\0\0\0\0\0\0\0"), true, 0);
    check_file(STR("0\0\0\0\0\0\0\0"), true, 0x30);
    check_file(STR("90\0\0\0\0\0\0"), true, 0x3039);
    check_file(STR("\x18\xFC\xFF\xFF\xFF\xFF\xFF\xFF"), true, -1000);
    check_nonsense(STR("tomorrow"));
    check_nonsense(STR("20 000"));
    check_nonsense(STR("1e3"));
    check_nonsense(STR("\n"));
    check_nonsense(STR("20000\0\0"));
    check_nonsense(STR("99999999999999"));
    check_nonsense(STR("abcd\1\2\3\4"));
    check_nonsense(STR("                              123"));
}

/* If the file's content is invalid or missing for a moment, the time continues. */
void test_clock_file_keeps_the_last(void)
{
    struct clock c;
    char path[] = "clock-XXXXXX";
    int fd = mkstemp(path);
    struct clock system;
    clock_init_system(&system);
    CHECK(pwrite(fd, "3600000\n", 8, 0) == 8);
    CHECK_OK(clock_init_file(&c, path));
    CHECK(clock_now(&c) - clock_now(&system) > 3590 * TICKS_PER_SECOND);
    CHECK(ftruncate(fd, 0) == 0);
    CHECK(clock_now(&c) - clock_now(&system) > 3590 * TICKS_PER_SECOND);
    CHECK(pwrite(fd, "soon", 4, 0) == 4);
    CHECK(clock_now(&c) - clock_now(&system) > 3590 * TICKS_PER_SECOND);
    CHECK(ftruncate(fd, 0) == 0 && pwrite(fd, "0", 1, 0) == 1);
    CHECK(clock_now(&c) - clock_now(&system) < TICKS_PER_SECOND);
    clock_release(&c);
    CHECK(pwrite(fd, "soon", 4, 0) == 4);
    CHECK_ERR(clock_init_file(&c, path), ERR_INVALID_INPUT);
    (void)close(fd);
    (void)unlink(path);
}
