/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hash/md5.h"

#include "core/buf.h"
#include "core/test.h"

static void check_md5(struct str bytes, size_t step, struct str hex)
{
    struct md5 m;
    unsigned char digest[MD5_BYTES];
    struct buf text = buf_heap();
    md5_init(&m);
    for (size_t at = 0; at < bytes.n; at += step)
        md5_update(&m, str_head(str_from(bytes, at), step));
    md5_final(&m, digest);
    buf_put_hex(&text, (struct str){(const char *)digest, sizeof digest});
    CHECK_STR(buf_str(&text), hex);
    buf_release(&text);
}

void test_md5(void)
{
    struct str digits =
        STR("12345678901234567890123456789012345678901234567890123456789012345678901234567890");
    check_md5(STR_NONE, 1, STR("d41d8cd98f00b204e9800998ecf8427e"));
    check_md5(STR("abc"), 1, STR("900150983cd24fb0d6963f7d28e17f72"));
    for (size_t step = 1; step <= digits.n; step++)
        check_md5(digits, step, STR("57edf4a22be3c955ac49da2e2107b67a"));
}
