/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hash/hmac.h"

#include <openssl/hmac.h>

#include "core/buf.h"
#include "core/test.h"

static void check_hex(const unsigned char *bytes, struct str hex)
{
    struct buf text = buf_heap();
    buf_put_hex(&text, (struct str){(const char *)bytes, SHA256_BYTES});
    CHECK_STR(buf_str(&text), hex);
    buf_release(&text);
}

void test_sha256(void)
{
    unsigned char digest[SHA256_BYTES];
    sha256(STR(""), digest);
    check_hex(digest, STR("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
    sha256(STR("abc"), digest);
    check_hex(digest, STR("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
}

/* The cases of RFC 4231. */
void test_hmac_sign(void)
{
    struct hmac_key key;
    unsigned char digest[SHA256_BYTES];
    hmac_key_init(&key, STR("Jefe"));
    for (int again = 0; again < 2; again++) {
        hmac_sign(&key, STR("what do ya want for nothing?"), digest);
        check_hex(digest, STR("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"));
    }
    char long_key[131];
    memset(long_key, 0xAA, sizeof long_key);
    hmac_key_init(&key, (struct str){long_key, sizeof long_key});
    hmac_sign(&key, STR("Test Using Larger Than Block-Size Key - Hash Key First"), digest);
    check_hex(digest, STR("60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"));
    hmac_key_init(&key, STR_NONE);
    hmac_sign(&key, STR(""), digest);
    check_hex(digest, STR("b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"));
    hmac_key_wipe(&key);
    CHECK(key.inner[0] == 0 && key.outer[SHA256_STATE_BYTES - 1] == 0);
}

/* Of every length around the ends of blocks, where the padding changes. */
void test_hmac_sign_of_every_length(void)
{
    char text[300];
    struct hmac_key key;
    hmac_key_init(&key, STR("Jefe"));
    for (size_t n = 0; n <= sizeof text; n++) {
        unsigned char digest[SHA256_BYTES], expected[SHA256_BYTES];
        if (n > 0)
            text[n - 1] = (char)(n * 7);
        hmac_sign(&key, (struct str){text, n}, digest);
        HMAC(EVP_sha256(), "Jefe", 4, (const unsigned char *)text, n, expected, NULL);
        CHECK(memcmp(digest, expected, sizeof digest) == 0);
    }
}

/* One differing bit, at each position of each length. */
void test_str_eq_secret_sees_every_bit(void)
{
    char a[40] = {0}, b[40] = {0};
    for (size_t n = 0; n <= sizeof a; n++) {
        CHECK(str_eq_secret((struct str){a, n}, (struct str){b, n}));
        for (size_t bit = 0; bit < n * 8; bit++) {
            b[bit / 8] = (char)(1U << bit % 8);
            CHECK(!str_eq_secret((struct str){a, n}, (struct str){b, n}));
            b[bit / 8] = 0;
        }
    }
}

void test_str_eq_secret(void)
{
    CHECK(str_eq_secret(STR("same"), STR("same")) && str_eq_secret(STR_NONE, STR("")));
    CHECK(!str_eq_secret(STR("same"), STR("samE")) && !str_eq_secret(STR("a"), STR("ab")));
}
