/* SPDX-License-Identifier: Apache-2.0 */
/* The vectors of [MS-NLMP] 4.2.4: user "User", domain "Domain", password "Password". */
#include "auth/ntlm.h"

#include "auth/md4.h"
#include "core/test.h"
#include "core/text/utf16.h"

static void check_hex(const unsigned char *bytes, size_t n, const char *want)
{
    struct buf text = buf_heap();
    buf_put_hex(&text, (struct str){(const char *)bytes, n});
    CHECK_STR(buf_str(&text), str_of(want));
    buf_release(&text);
}

void test_md4_vectors(void)
{
    unsigned char out[MD4_BYTES];
    md4(STR(""), out);
    check_hex(out, 16, "31d6cfe0d16ae931b73c59d7e0c089c0");
    md4(STR("12345678901234567890123456789012345678901234567890123456789012345678901234567890"),
        out);
    check_hex(out, 16, "e33b4ddc9c38f2199c3e7b164fcc0536");
}

void test_rc4_vector(void)
{
    struct rc4 cipher;
    unsigned char text[] = "Plaintext";
    rc4_init(&cipher, STR("Key"));
    rc4_apply(&cipher, text, 9);
    check_hex(text, 9, "bbf316e8d940af0ad3");
}

static const unsigned char CHALLENGE[8] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF};

static void put_av(struct buf *out, uint16_t id, const char *text)
{
    struct buf wide = buf_heap();
    utf16_put(&wide, str_of(text));
    buf_put_le16(out, id);
    buf_put_le16(out, (uint16_t)wide.n);
    buf_put(out, buf_str(&wide));
    buf_release(&wide);
}

static void put_response(struct buf *out)
{
    static const char proof[] = "\x68\xcd\x0a\xb8\x51\xe5\x1c\x96\xaa\xbc\x92\x7b\xeb\xef\x6a\x1c";
    buf_put(out, (struct str){proof, 16});
    buf_put(out, (struct str){"\x01\x01\0\0\0\0\0\0", 8});
    buf_put_le64(out, 0);
    buf_put(out, STR("\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa"));
    buf_put_le32(out, 0);
    put_av(out, 2, "Domain");
    put_av(out, 1, "Server");
    buf_put_le32(out, 0);
    buf_put_le32(out, 0);
}

static void put_at(struct buf *head, struct buf *tail, struct str bytes)
{
    buf_put_le16(head, (uint16_t)bytes.n);
    buf_put_le16(head, (uint16_t)bytes.n);
    buf_put_le32(head, (uint32_t)(64 + tail->n));
    buf_put(tail, bytes);
}

static struct buf make_authenticate(const char *user)
{
    struct buf head = buf_heap();
    struct buf tail = buf_heap();
    struct buf response = buf_heap();
    struct buf wide = buf_heap();
    put_response(&response);
    buf_put(&head, (struct str){"NTLMSSP\0", 8});
    buf_put_le32(&head, 3);
    put_at(&head, &tail, STR(""));
    put_at(&head, &tail, buf_str(&response));
    utf16_put(&wide, STR("Domain"));
    put_at(&head, &tail, buf_str(&wide));
    buf_clear(&wide);
    utf16_put(&wide, str_of(user));
    put_at(&head, &tail, buf_str(&wide));
    put_at(&head, &tail, STR(""));
    put_at(&head, &tail, STR(""));
    buf_put_le32(&head, 0x00088201);
    buf_put(&head, buf_str(&tail));
    buf_release(&tail);
    buf_release(&response);
    buf_release(&wide);
    return head;
}

static struct err authenticate(struct ntlm *n, struct str message)
{
    struct accounts *accounts = accounts_new();
    CHECK_OK(accounts_put(accounts, STR("user"), STR("AAAA"), STR("Password")));
    ntlm_init(n);
    memcpy(n->challenge, CHALLENGE, 8);
    buf_put(&n->challenge_message, STR("x"));
    struct err error = ntlm_authenticate(n, message, accounts);
    accounts_free(accounts);
    return error;
}

void test_ntlm_accepts_the_published_vector(void)
{
    struct ntlm n;
    struct buf message = make_authenticate("User");
    CHECK_OK(authenticate(&n, buf_str(&message)));
    check_hex(n.session_key, 16, "8de40ccadbc14a82f15cb0ad0de95ca3");
    CHECK_STR(str_of(n.account), STR("user"));
    ntlm_release(&n);
    buf_release(&message);
}

void test_ntlm_refuses_any_changed_byte(void)
{
    struct buf message = make_authenticate("User");
    size_t response = 64;
    for (size_t i = 0; i < 60; i++) {
        struct ntlm n;
        message.p[response + i] ^= 1;
        /* Where the list of pairs loses its end, the message is broken rather than untrue. */
        struct err error = authenticate(&n, buf_str(&message));
        CHECK(error.code == ERR_AUTHENTICATION_FAILED ||
              error.code == ERR_INVALID_AUTHENTICATION_INFO);
        message.p[response + i] ^= 1;
        ntlm_release(&n);
    }
    buf_release(&message);
}

void test_ntlm_refuses_truncation_and_strangers(void)
{
    struct ntlm n;
    struct buf message = make_authenticate("Nobody");
    CHECK_ERR(authenticate(&n, buf_str(&message)), ERR_AUTHENTICATION_FAILED);
    ntlm_release(&n);
    buf_release(&message);
    message = make_authenticate("User");
    for (size_t cut = 0; cut < 64; cut++) {
        CHECK_ERR(authenticate(&n, str_head(buf_str(&message), cut)), ERR_AUTHENTICATION_FAILED);
        ntlm_release(&n);
    }
    buf_release(&message);
}

/* An anonymous message, with or without the anonymous flag. */
static struct err authenticate_as_nobody(uint32_t flags, bool allowed, bool *anonymous)
{
    struct ntlm n;
    struct buf message = buf_heap();
    buf_put(&message, (struct str){"NTLMSSP\0\x03\0\0\0", 12});
    for (unsigned i = 0; i < 6; i++)
        buf_put_le64(&message, 0);
    buf_put_le32(&message, flags);
    ntlm_init(&n);
    n.anonymous_allowed = allowed;
    buf_put(&n.challenge_message, STR("x"));
    struct accounts *accounts = accounts_new();
    struct err error = ntlm_authenticate(&n, buf_str(&message), accounts);
    accounts_free(accounts);
    buf_release(&message);
    *anonymous = n.anonymous && n.account[0] == '\0';
    ntlm_release(&n);
    return error;
}

void test_ntlm_refuses_nobody_unless_the_user_is_known(void)
{
    enum { PLAIN = 0x00088201, ANONYMOUS = 0x00088A01 };
    bool anonymous;
    CHECK_ERR(authenticate_as_nobody(PLAIN, false, &anonymous), ERR_AUTHENTICATION_FAILED);
    CHECK_ERR(authenticate_as_nobody(ANONYMOUS, false, &anonymous), ERR_AUTHENTICATION_FAILED);
    CHECK(!anonymous);
    CHECK_OK(authenticate_as_nobody(ANONYMOUS, true, &anonymous));
    CHECK(anonymous);
}
