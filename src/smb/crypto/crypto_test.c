/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/crypto/crypto.h"

#include <openssl/evp.h>
#include <stdlib.h>

#include "core/buf.h"
#include "core/test.h"

static void check_hex(const unsigned char *bytes, size_t n, const char *want)
{
    struct buf text = buf_heap();
    buf_put_hex(&text, (struct str){(const char *)bytes, n});
    CHECK_STR(buf_str(&text), str_of(want));
    buf_release(&text);
}

/* Published walk-through of SMB 3.0 key derivation: session key 7CD4…, signing key 0B7E…. */
void test_smb_derive_key_of_3_0(void)
{
    static const unsigned char session[16] = {0x7C, 0xD4, 0x51, 0x82, 0x5D, 0x04, 0x50, 0xD2,
                                              0x35, 0x42, 0x4E, 0x44, 0xBA, 0x6E, 0x78, 0xCC};
    unsigned char key[16];
    smb_derive_key(session, (struct str){"SMB2AESCMAC\0", 12}, (struct str){"SmbSign\0", 8}, key,
                   16);
    check_hex(key, 16, "0b7e9c5cac36c0f6ea9ab275298cedce");
}

void test_smb_seal_round_trip(void)
{
    static const unsigned char key[32] = {1, 2, 3};
    static const unsigned char nonce[16] = {9, 8, 7};
    for (int cipher = SMB_CIPHER_AES128_CCM; cipher <= SMB_CIPHER_AES256_GCM; cipher++) {
        struct smb_sealer *out = smb_sealer_new((enum smb_cipher)cipher, key, true);
        struct smb_sealer *in = smb_sealer_new((enum smb_cipher)cipher, key, false);
        for (size_t n = 1; n < 3000; n += 577) {
            char text[3000];
            unsigned char tag[16];
            memset(text, 'x', sizeof text);
            CHECK(smb_seal(out, STR("header"), nonce, text, n, tag));
            CHECK(n < 8 || text[0] != 'x' || text[1] != 'x' || text[2] != 'x');
            char copy[3000];
            memcpy(copy, text, n);
            CHECK(smb_unseal(in, STR("header"), nonce, text, n, tag));
            for (size_t i = 0; i < n; i++)
                CHECK(text[i] == 'x');
            tag[0] ^= 1;
            CHECK(!smb_unseal(in, STR("header"), nonce, copy, n, tag));
            tag[0] ^= 1;
            CHECK(!smb_unseal(in, STR("heading"), nonce, copy, n, tag));
        }
        smb_sealer_free(out);
        smb_sealer_free(in);
    }
}

void test_smb_signatures_cover_the_message(void)
{
    static const unsigned char key[16] = {5};
    for (int algorithm = SMB_SIGN_HMAC_SHA256; algorithm <= SMB_SIGN_AES_GMAC; algorithm++) {
        struct smb_signer *s = smb_signer_new((enum smb_signing)algorithm, key);
        char message[200] = {0};
        unsigned char first[16];
        unsigned char second[16];
        struct str text = {message, sizeof message};
        CHECK(smb_signer_sign(s, text, true, first));
        message[50] = 7; /* within the signature field: not covered */
        CHECK(smb_signer_sign(s, text, true, second));
        CHECK(memcmp(first, second, 16) == 0);
        message[70] = 7;
        CHECK(smb_signer_sign(s, text, true, second));
        CHECK(memcmp(first, second, 16) != 0);
        CHECK(!smb_signer_sign(s, str_head(text, 63), true, second));
        smb_signer_free(s);
    }
}

/* For every length of a last block, and across the limits of one update. */
void test_smb_cmac_is_openssls(void)
{
    enum { MOST = 9000, SIGNATURE_AT = 48 };
    static const unsigned char key[16] = {5, 4, 3};
    struct smb_signer *s = smb_signer_new(SMB_SIGN_AES_CMAC, key);
    unsigned char *message = malloc(MOST);
    for (size_t i = 0; i < MOST; i++)
        message[i] = (unsigned char)(i * 7 + i / 256);
    memset(message + SIGNATURE_AT, 0, 16);
    for (size_t n = 64; n < MOST; n += n < 100 ? 1 : n % 16 == 15 ? 1 : 399) {
        unsigned char want[16];
        unsigned char have[16];
        size_t length = 0;
        CHECK(EVP_Q_mac(NULL, "CMAC", NULL, "AES-128-CBC", NULL, key, sizeof key, message, n, want,
                        sizeof want, &length) != NULL);
        CHECK(smb_signer_sign(s, (struct str){(const char *)message, n}, true, have));
        CHECK(memcmp(have, want, sizeof want) == 0);
    }
    free(message);
    smb_signer_free(s);
}
