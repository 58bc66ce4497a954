/* SPDX-License-Identifier: Apache-2.0 */
#include "net/tls.h"

#include <assert.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/log.h"
#include "core/mem.h"
#include "net/stream.h"
#include "net/tls_files.h"

enum { RECORD_BYTES = 16 << 10, READ_AHEAD_BYTES = 64 << 10 };

struct tls {
    unsigned char secret[TLS_SECRET_BYTES]; /* of tls_new_secret */
    pthread_mutex_t lock;
    SSL_CTX *context;                   /* under the lock; users take a reference */
    uint64_t begun_before, done_before; /* handshakes of contexts that were replaced */
    char *certificate;
    char *key;
    char *password;
};

struct tls_session {
    SSL *ssl;
    bool finished; /* close_notify is sent */
    bool failed;   /* OpenSSL forbids further calls after a fatal error */
};

/* ---- the certificate ---- */

/* Chooses HTTP/1.1; a client that offers only others is served without ALPN. */
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_length,
                           const unsigned char *in, unsigned in_length, void *arg)
{
    (void)ssl;
    (void)arg;
    for (unsigned at = 0; at < in_length && in[at] < in_length - at; at += in[at] + 1U)
        if (in[at] == 8 && memcmp(in + at + 1, "http/1.1", 8) == 0) {
            *out = in + at + 1;
            *out_length = 8;
            return SSL_TLSEXT_ERR_OK;
        }
    return SSL_TLSEXT_ERR_NOACK;
}

static void set_options(SSL_CTX *context)
{
    (void)SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    /* Closing without close_notify is not an error: HTTP itself detects truncation. */
    (void)SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE |
                                           SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_ENABLE_KTLS);
    (void)SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                        SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                        SSL_MODE_RELEASE_BUFFERS);
    /* Clients keep tickets to resume; a cache here would grow with the number of clients. */
    (void)SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_default_read_buffer_len(context, READ_AHEAD_BYTES);
    SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
}

static struct err make_context(const struct tls_files *files, SSL_CTX **out)
{
    ERR_clear_error();
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (context == NULL)
        return err_new(ERR_IO);
    set_options(context);
    struct err error = tls_files_load(context, files);
    if (err_is(error)) {
        SSL_CTX_free(context);
        return error;
    }
    *out = context;
    return OK;
}

static char *copy_text(const char *text)
{
    if (text == NULL)
        return NULL;
    size_t size = strlen(text) + 1;
    return memcpy(mem_alloc(size), text, size);
}

static void copy_files(struct tls *t, const struct tls_files *files)
{
    t->certificate = copy_text(files->certificate);
    t->key = copy_text(files->key);
    t->password = copy_text(files->password);
}

static void free_files(struct tls *t)
{
    free(t->certificate);
    free(t->key);
    if (t->password != NULL)
        OPENSSL_cleanse(t->password, strlen(t->password));
    free(t->password);
}

struct err tls_new(const struct tls_files *files, struct tls **out)
{
    assert(out != NULL);
    struct tls *t = MEM_NEW(struct tls);
    (void)pthread_mutex_init(&t->lock, NULL);
    copy_files(t, files);
    struct err error = make_context(files, &t->context);
    if (err_is(error)) {
        tls_free(t);
        return error;
    }
    *out = t;
    return OK;
}

/* ---- a secret in place of certificates ---- */

#define SECRET_NAME "lazuli"

/* Both sides derive a session from the secret, as if it were left by an earlier one (RFC 8446,
 * 4.2.11). */
static SSL_SESSION *secret_session(SSL *ssl)
{
    static const unsigned char AES_128_GCM_SHA256[] = {0x13, 0x01};
    const struct tls *t = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
    const SSL_CIPHER *cipher = SSL_CIPHER_find(ssl, AES_128_GCM_SHA256);
    SSL_SESSION *session = SSL_SESSION_new();
    if (session == NULL || cipher == NULL ||
        SSL_SESSION_set1_master_key(session, t->secret, sizeof t->secret) != 1 ||
        SSL_SESSION_set_cipher(session, cipher) != 1 ||
        SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) != 1 ||
        SSL_SESSION_set1_id_context(session, (const unsigned char *)SECRET_NAME,
                                    sizeof SECRET_NAME - 1) != 1) {
        SSL_SESSION_free(session);
        return NULL;
    }
    return session;
}

static int find_secret(SSL *ssl, const unsigned char *name, size_t name_length, SSL_SESSION **out)
{
    bool known =
        name_length == sizeof SECRET_NAME - 1 && memcmp(name, SECRET_NAME, name_length) == 0;
    *out = known ? secret_session(ssl) : NULL;
    return 1;
}

static int use_secret(SSL *ssl, const EVP_MD *md, const unsigned char **name, size_t *name_length,
                      SSL_SESSION **out)
{
    (void)md;
    *name = (const unsigned char *)SECRET_NAME;
    *name_length = sizeof SECRET_NAME - 1;
    *out = secret_session(ssl);
    return *out != NULL;
}

/* No certificate is offered or trusted: without the secret no handshake succeeds. */
struct err tls_new_secret(const unsigned char secret[TLS_SECRET_BYTES], struct tls **out)
{
    assert(out != NULL);
    struct tls *t = MEM_NEW(struct tls);
    (void)pthread_mutex_init(&t->lock, NULL);
    memcpy(t->secret, secret, TLS_SECRET_BYTES);
    SSL_CTX *context = SSL_CTX_new(TLS_method());
    t->context = context;
    if (context == NULL || SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256") != 1) {
        tls_free(t);
        return err_new(ERR_IO);
    }
    set_options(context);
    (void)SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    (void)SSL_CTX_set_session_id_context(context, (const unsigned char *)SECRET_NAME,
                                         sizeof SECRET_NAME - 1);
    (void)SSL_CTX_set_num_tickets(context, 0);
    (void)SSL_CTX_set_app_data(context, t);
    SSL_CTX_set_psk_find_session_callback(context, find_secret);
    SSL_CTX_set_psk_use_session_callback(context, use_secret);
    *out = t;
    return OK;
}

static struct err use_files(struct tls *t, const struct tls_files *files)
{
    SSL_CTX *fresh;
    TRY(make_context(files, &fresh));
    (void)pthread_mutex_lock(&t->lock);
    SSL_CTX *old = t->context;
    t->begun_before += (uint64_t)SSL_CTX_sess_accept(old);
    t->done_before += (uint64_t)SSL_CTX_sess_accept_good(old);
    t->context = fresh;
    (void)pthread_mutex_unlock(&t->lock);
    SSL_CTX_free(old);
    return OK;
}

struct err tls_reload(struct tls *t)
{
    struct tls_files files = {t->certificate, t->key, t->password};
    return use_files(t, &files);
}

struct err tls_reload_from(struct tls *t, const struct tls_files *files)
{
    assert(files != NULL);
    struct tls old = *t;
    TRY(use_files(t, files));
    copy_files(t, files);
    free_files(&old);
    return OK;
}

static int64_t expiry_of(SSL_CTX *context)
{
    struct tm end;
    const X509 *certificate = SSL_CTX_get0_certificate(context);
    if (certificate == NULL || ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end) != 1)
        return 0;
    return (int64_t)timegm(&end);
}

/* OpenSSL has the counters. */
struct tls_usage tls_usage(struct tls *t)
{
    (void)pthread_mutex_lock(&t->lock);
    struct tls_usage usage = {
        .begun = t->begun_before + (uint64_t)SSL_CTX_sess_accept(t->context),
        .done = t->done_before + (uint64_t)SSL_CTX_sess_accept_good(t->context),
        .expires_at = expiry_of(t->context),
    };
    (void)pthread_mutex_unlock(&t->lock);
    return usage;
}

void tls_free(struct tls *t)
{
    if (t == NULL)
        return;
    SSL_CTX_free(t->context);
    OPENSSL_cleanse(t->secret, sizeof t->secret);
    free_files(t);
    (void)pthread_mutex_destroy(&t->lock);
    free(t);
}

/* ---- sessions ---- */

static struct tls_session *new_session(struct tls *t, int fd)
{
    struct tls_session *s = MEM_NEW(struct tls_session);
    (void)pthread_mutex_lock(&t->lock);
    s->ssl = SSL_new(t->context); /* takes its reference */
    (void)pthread_mutex_unlock(&t->lock);
    if (s->ssl == NULL || SSL_set_fd(s->ssl, fd) != 1) {
        tls_session_free(s);
        return NULL;
    }
    return s;
}

struct tls_session *tls_session_new(struct tls *t, int fd)
{
    assert(fd >= 0);
    struct tls_session *s = new_session(t, fd);
    if (s != NULL)
        SSL_set_accept_state(s->ssl);
    return s;
}

struct tls_session *tls_session_connect(struct tls *t, int fd)
{
    assert(fd >= 0);
    struct tls_session *s = new_session(t, fd);
    if (s != NULL)
        SSL_set_connect_state(s->ssl);
    return s;
}

bool tls_session_is_new(const struct tls_session *s)
{
    return !SSL_is_init_finished(s->ssl);
}

void tls_session_finish(struct tls_session *s)
{
    if (s->finished || s->failed || tls_session_is_new(s))
        return;
    s->finished = true;
    ERR_clear_error();
    (void)SSL_shutdown(s->ssl);
}

void tls_session_free(struct tls_session *s)
{
    if (s == NULL)
        return;
    SSL_free(s->ssl);
    free(s);
}

/* Maps the error of a TLS call. A handshake can make a read wait until it can send, and vice
 * versa. */
static ssize_t tls_refused(struct stream *stream, int returned, bool receiving)
{
    struct tls_session *s = stream->session;
    int error = SSL_get_error(s->ssl, returned);
    if (receiving)
        stream->may_recv = false;
    else
        stream->may_send = false;
    if (error == SSL_ERROR_WANT_READ) {
        stream->send_waits_for_recv = !receiving;
        return STREAM_AGAIN;
    }
    if (error == SSL_ERROR_WANT_WRITE) {
        stream->recv_waits_for_send = receiving;
        return STREAM_AGAIN;
    }
    if (error == SSL_ERROR_ZERO_RETURN && receiving)
        return 0;
    s->failed = true;
    unsigned long reason = ERR_peek_error();
    if (reason != 0)
        log_line(LOG_DEBUG, "tls: %s", ERR_reason_error_string(reason));
    return STREAM_FAILED;
}

/* Reads records until the buffer is full or no data is left. */
ssize_t tls_recv(struct stream *stream, char *into, size_t size)
{
    struct tls_session *s = stream->session;
    size_t total = 0;
    if (s->failed)
        return STREAM_FAILED;
    while (total < size) {
        size_t got;
        ERR_clear_error();
        int returned = SSL_read_ex(s->ssl, into + total, size - total, &got);
        if (returned != 1) {
            /* Returns the bytes before an end or error; the next call reports that again. */
            ssize_t refused = tls_refused(stream, returned, true);
            stream->may_recv = stream->may_recv || (total > 0 && refused != STREAM_AGAIN);
            return total > 0 ? (ssize_t)total : refused;
        }
        total += got;
    }
    return (ssize_t)total;
}

/* Sends at most one record. */
static ssize_t tls_send_record(struct stream *stream, const char *bytes, size_t size)
{
    size_t sent;
    ERR_clear_error();
    int returned = SSL_write_ex(stream->session->ssl, bytes, size, &sent);
    return returned == 1 ? (ssize_t)sent : tls_refused(stream, returned, false);
}

/* Returns the next bytes, at most a record: in place if the first part has enough of them, else
 * copied to `record`. After STREAM_AGAIN the same bytes must be sent again; they are, because they
 * are taken from the same parts in the same way. */
static struct str next_record(const struct iovec *parts, size_t count, size_t skip, char *record)
{
    while (count > 0 && skip >= parts->iov_len) {
        skip -= parts->iov_len;
        parts++;
        count--;
    }
    if (count == 0)
        return STR("");
    if (parts->iov_len - skip >= RECORD_BYTES || count == 1) {
        size_t left = parts->iov_len - skip;
        return (struct str){(const char *)parts->iov_base + skip,
                            left < RECORD_BYTES ? left : RECORD_BYTES};
    }
    size_t filled = 0;
    for (; count > 0 && filled < RECORD_BYTES; parts++, count--, skip = 0) {
        size_t part = parts->iov_len - skip;
        if (part > RECORD_BYTES - filled)
            part = RECORD_BYTES - filled;
        memcpy(record + filled, (const char *)parts->iov_base + skip, part);
        filled += part;
    }
    return (struct str){record, filled};
}

ssize_t tls_send(struct stream *stream, const struct iovec *parts, size_t count)
{
    char record[RECORD_BYTES];
    size_t total = 0;
    if (stream->session->failed)
        return STREAM_FAILED;
    for (;;) {
        struct str next = next_record(parts, count, total, record);
        if (next.n == 0)
            return (ssize_t)total;
        ssize_t sent = tls_send_record(stream, next.p, next.n);
        if (sent < 0)
            return total > 0 && sent == STREAM_AGAIN ? (ssize_t)total : sent;
        total += (size_t)sent;
    }
}

/* Uses the kernel if it encrypts, else a record in user space. */
ssize_t tls_send_file(struct stream *stream, int fd, int64_t offset, size_t length)
{
    SSL *ssl = stream->session->ssl;
    if (stream->session->failed)
        return STREAM_FAILED;
    if (BIO_get_ktls_send(SSL_get_wbio(ssl))) {
        ERR_clear_error();
        ssize_t sent = SSL_sendfile(ssl, fd, offset, length, 0);
        return sent > 0 ? sent : tls_refused(stream, (int)sent, false);
    }
    char record[RECORD_BYTES];
    size_t total = 0;
    while (total < length) {
        size_t want = length - total < RECORD_BYTES ? length - total : RECORD_BYTES;
        ssize_t got = pread(fd, record, want, offset + (int64_t)total);
        if (got <= 0)
            return STREAM_FAILED;
        ssize_t sent = tls_send_record(stream, record, (size_t)got);
        if (sent < 0)
            return total > 0 && sent == STREAM_AGAIN ? (ssize_t)total : sent;
        total += (size_t)sent;
    }
    return (ssize_t)total;
}
