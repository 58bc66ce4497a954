/* SPDX-License-Identifier: Apache-2.0 */
#include "net/tls_files.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/provider.h>
#include <openssl/ssl.h>
#include <string.h>

#include "core/log.h"

static struct err refused(const char *path, const char *what)
{
    unsigned long reason = ERR_peek_last_error();
    const char *why = reason != 0 ? ERR_reason_error_string(reason) : NULL;
    log_line(LOG_ERROR, "%s: %s%s%s", path, what, why != NULL ? ": " : "", why != NULL ? why : "");
    ERR_clear_error();
    return err_new(ERR_IO);
}

/* ---- PEM ---- */

static int give_password(char *buffer, int size, int for_writing, void *arg)
{
    const char *password = arg;
    (void)for_writing;
    if (password == NULL || strlen(password) > (size_t)size)
        return -1; /* never prompt on the terminal */
    memcpy(buffer, password, strlen(password));
    return (int)strlen(password);
}

static struct err load_pem(SSL_CTX *context, const struct tls_files *files)
{
    /* The callback only reads it, but its type allows writing. */
    union {
        const char *text;
        void *arg;
    } password = {files->password};
    SSL_CTX_set_default_passwd_cb(context, give_password);
    SSL_CTX_set_default_passwd_cb_userdata(context, password.arg);
    bool certificate = SSL_CTX_use_certificate_chain_file(context, files->certificate) == 1;
    bool key =
        certificate && SSL_CTX_use_PrivateKey_file(context, files->key, SSL_FILETYPE_PEM) == 1;
    SSL_CTX_set_default_passwd_cb_userdata(context, NULL);
    if (!certificate)
        return refused(files->certificate, "no PEM certificate can be read");
    return key ? OK : refused(files->key, "no PEM key can be read that fits the certificate");
}

/* ---- PFX ---- */

struct pfx {
    EVP_PKEY *key;
    X509 *certificate;
    STACK_OF(X509) * chain;
};

static void pfx_release(struct pfx *p)
{
    EVP_PKEY_free(p->key);
    X509_free(p->certificate);
    sk_X509_pop_free(p->chain, X509_free);
}

static bool pfx_parse(PKCS12 *file, const char *password, struct pfx *out)
{
    *out = (struct pfx){0};
    return PKCS12_parse(file, password, &out->key, &out->certificate, &out->chain) == 1 &&
           out->key != NULL && out->certificate != NULL;
}

/* Many tools still write PFX files with ciphers that OpenSSL 3 has in its "legacy" provider. The
 * provider is loaded only while such a file is read. */
static bool pfx_parse_legacy(PKCS12 *file, const char *password, struct pfx *out)
{
    pfx_release(out);
    *out = (struct pfx){0};
    OSSL_PROVIDER *legacy = OSSL_PROVIDER_try_load(NULL, "legacy", 1);
    if (legacy == NULL)
        return false;
    bool parsed = pfx_parse(file, password, out);
    (void)OSSL_PROVIDER_unload(legacy);
    return parsed;
}

static struct err load_pfx(SSL_CTX *context, const struct tls_files *files)
{
    FILE *stream = fopen(files->certificate, "rbe");
    if (stream == NULL)
        return refused(files->certificate, strerrordesc_np(errno));
    PKCS12 *file = d2i_PKCS12_fp(stream, NULL);
    (void)fclose(stream);
    if (file == NULL)
        return refused(files->certificate, "not a PFX file (a PEM certificate needs its key, too)");
    struct pfx pfx;
    struct err error = OK;
    if (!pfx_parse(file, files->password, &pfx) && !pfx_parse_legacy(file, files->password, &pfx))
        error = refused(files->certificate, "no certificate with its key can be read");
    else if (SSL_CTX_use_cert_and_key(context, pfx.certificate, pfx.key, pfx.chain, 1) != 1)
        error = refused(files->certificate, "certificate and key do not fit");
    pfx_release(&pfx);
    PKCS12_free(file);
    return error;
}

struct err tls_files_load(SSL_CTX *context, const struct tls_files *files)
{
    if (files->key == NULL)
        return load_pfx(context, files);
    TRY(load_pem(context, files));
    return SSL_CTX_check_private_key(context) == 1
               ? OK
               : refused(files->key, "the key does not fit the certificate");
}
