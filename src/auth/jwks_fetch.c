/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "auth/jwks.h"
#include "core/mem.h"
#include "core/text/uri.h"

enum { FETCH_SECONDS = 10, READ_BYTES = 16384 };

static struct err read_file(const char *path, char **out, size_t *n)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return err_cause(ERR_IO, errno);
    char *text = mem_alloc(JWKS_BYTES_MAX);
    *n = fread(text, 1, JWKS_BYTES_MAX, file);
    bool whole = feof(file) != 0 && ferror(file) == 0;
    (void)fclose(file);
    if (!whole) {
        free(text);
        return err_new(ERR_INVALID_INPUT);
    }
    *out = text;
    return OK;
}

static bool is_loopback(struct str host)
{
    return str_ieq(host, STR("localhost")) || str_starts(host, STR("127.")) ||
           str_eq(host, STR("::1"));
}

/* Certificates are checked against the system's authorities, and for the host's name. */
static SSL_CTX *tls_context(void)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (context == NULL || SSL_CTX_set_default_verify_paths(context) != 1 ||
        SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1) {
        SSL_CTX_free(context);
        return NULL;
    }
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    return context;
}

static BIO *new_connection(const struct uri *uri, SSL_CTX *context, char *host)
{
    SSL *ssl = NULL;
    BIO *connection = context == NULL ? BIO_new(BIO_s_connect()) : BIO_new_ssl_connect(context);
    char port[8];
    (void)snprintf(port, sizeof port, "%u", uri->port);
    if (connection == NULL || BIO_set_conn_hostname(connection, host) != 1 ||
        BIO_set_conn_port(connection, port) != 1) {
        BIO_free_all(connection);
        return NULL;
    }
    if (context == NULL)
        return connection;
    (void)BIO_get_ssl(connection, &ssl);
    if (ssl == NULL || SSL_set_tlsext_host_name(ssl, host) != 1 || SSL_set1_host(ssl, host) != 1) {
        BIO_free_all(connection);
        return NULL;
    }
    return connection;
}

/* Reads the whole answer, to the end of the connection. */
static bool exchange(BIO *connection, struct str request, struct buf *answer)
{
    struct timeval patience = {FETCH_SECONDS, 0};
    int fd = -1;
    if (BIO_do_connect_retry(connection, FETCH_SECONDS, -1) != 1)
        return false;
    (void)BIO_get_fd(connection, &fd);
    /* Connecting with a time limit leaves the socket non-blocking; the limits below are for a
     * blocking one. */
    if (BIO_socket_nbio(fd, 0) != 1)
        return false;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (BIO_write(connection, request.p, (int)request.n) != (int)request.n)
        return false;
    size_t got = 0;
    while (answer->n < JWKS_BYTES_MAX) {
        char *to = buf_reserve(answer, READ_BYTES);
        if (BIO_read_ex(connection, to, READ_BYTES, &got) != 1)
            break;
        answer->n += got;
    }
    return answer->n > 0 && answer->n < JWKS_BYTES_MAX;
}

/* The body of a "200" answer. We ask by HTTP/1.0, so it is not in chunks. */
static bool take_body(struct str answer, char **out, size_t *n)
{
    size_t head = str_find_str(answer, STR("\r\n\r\n"));
    struct str status = answer;
    (void)str_cut(&status, ' ');
    if (head == answer.n || !str_starts(answer, STR("HTTP/1.")) || !str_starts(status, STR("200 ")))
        return false;
    struct str body = str_from(answer, head + 4);
    *out = mem_alloc(body.n + 1);
    memcpy(*out, body.p, body.n);
    *n = body.n;
    return true;
}

static struct err read_url(const char *url, char **out, size_t *n)
{
    struct uri uri;
    if (!uri_parse(str_of(url), &uri) || uri.host.n == 0)
        return err_new(ERR_INVALID_INPUT);
    bool plain = str_ieq(uri.scheme, STR("http"));
    if (plain && !is_loopback(uri.host))
        return err_new(ERR_INVALID_INPUT);
    struct arena arena;
    arena_init(&arena, 2 * JWKS_BYTES_MAX);
    struct buf answer = buf_in(&arena);
    struct str query = str_given(uri.query) ? uri.query : STR("");
    struct str request = arena_printf(
        &arena, "GET %.*s%s%.*s HTTP/1.0\r\nHost: %.*s\r\nAccept: application/json\r\n\r\n",
        STR_ARG(uri.path), query.n > 0 ? "?" : "", STR_ARG(query), STR_ARG(uri.host));
    SSL_CTX *context = plain ? NULL : tls_context();
    BIO *connection = plain || context != NULL
                          ? new_connection(&uri, context, arena_cstr(&arena, uri.host))
                          : NULL;
    bool done = connection != NULL && exchange(connection, request, &answer) &&
                take_body(buf_str(&answer), out, n);
    BIO_free_all(connection);
    SSL_CTX_free(context);
    arena_release(&arena);
    return done ? OK : err_cause(ERR_IO, ECONNABORTED);
}

struct err jwks_fetch(const char *source, char **out, size_t *n)
{
    bool is_url =
        str_istarts(str_of(source), STR("http://")) || str_istarts(str_of(source), STR("https://"));
    return is_url ? read_url(source, out, n) : read_file(source, out, n);
}
