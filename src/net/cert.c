/* SPDX-License-Identifier: Apache-2.0 */
#include "net/cert.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <unistd.h>

/* Some systems refuse certificates that are valid for longer than 825 days. */
enum { VALID_DAYS = 820 };

/* Not an authority (basicConstraints), because some clients refuse an authority as a server. */
static const struct {
    int nid;
    const char *value;
} EXTENSIONS[] = {
    {NID_basic_constraints, "critical,CA:FALSE"},
    {NID_key_usage, "critical,digitalSignature"},
    {NID_ext_key_usage, "serverAuth"},
    {NID_subject_key_identifier, "hash"},
    {NID_subject_alt_name, "DNS:localhost,DNS:*.blob.localhost,DNS:*.queue.localhost,"
                           "DNS:*.table.localhost,DNS:*.file.localhost,DNS:*.dfs.localhost,"
                           "DNS:host.docker.internal,IP:127.0.0.1,IP:::1"},
};

static bool add_extensions(X509 *certificate)
{
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
    for (size_t i = 0; i < sizeof EXTENSIONS / sizeof EXTENSIONS[0]; i++) {
        X509_EXTENSION *extension =
            X509V3_EXT_conf_nid(NULL, &context, EXTENSIONS[i].nid, EXTENSIONS[i].value);
        bool added = extension != NULL && X509_add_ext(certificate, extension, -1) == 1;
        X509_EXTENSION_free(extension);
        if (!added)
            return false;
    }
    return true;
}

/* Random, so that a browser that remembers an older certificate sees this as a different one. */
static bool set_serial(X509 *certificate)
{
    uint64_t serial;
    return RAND_bytes((unsigned char *)&serial, sizeof serial) == 1 &&
           ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial >> 1) == 1;
}

static bool fill(X509 *certificate, EVP_PKEY *key)
{
    X509_NAME *name = X509_get_subject_name(certificate);
    return X509_set_version(certificate, X509_VERSION_3) == 1 && set_serial(certificate) &&
           X509_gmtime_adj(X509_getm_notBefore(certificate), -3600) != NULL &&
           X509_gmtime_adj(X509_getm_notAfter(certificate), VALID_DAYS * 86400L) != NULL &&
           X509_set_pubkey(certificate, key) == 1 &&
           X509_NAME_add_entry_by_txt(name, "O", MBSTRING_ASC, (const unsigned char *)"Lazuli", -1,
                                      -1, 0) == 1 &&
           X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"localhost",
                                      -1, -1, 0) == 1 &&
           X509_set_issuer_name(certificate, name) == 1 && add_extensions(certificate) &&
           X509_sign(certificate, key, EVP_sha256()) > 0;
}

/* Creates a file; if `secret`, only its owner can read it. */
static struct err create(const char *path, mode_t mode, FILE **out)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0)
        return err_cause(ERR_IO, errno);
    *out = fdopen(fd, "w");
    if (*out != NULL)
        return OK;
    (void)close(fd);
    return err_new(ERR_IO);
}

static struct err write_files(const char *certificate_path, const char *key_path, X509 *certificate,
                              EVP_PKEY *key)
{
    FILE *key_file;
    FILE *certificate_file;
    TRY(create(key_path, 0600, &key_file));
    bool written = PEM_write_PrivateKey(key_file, key, NULL, NULL, 0, NULL, NULL) == 1;
    if (fclose(key_file) != 0 || !written)
        return err_cause(ERR_IO, errno);
    TRY(create(certificate_path, 0644, &certificate_file));
    written = PEM_write_X509(certificate_file, certificate) == 1;
    if (fclose(certificate_file) != 0 || !written)
        return err_cause(ERR_IO, errno);
    return OK;
}

struct err cert_make_self_signed(const char *certificate_path, const char *key_path)
{
    struct err error = err_new(ERR_IO);
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    if (key != NULL && certificate != NULL && fill(certificate, key))
        error = write_files(certificate_path, key_path, certificate, key);
    X509_free(certificate);
    EVP_PKEY_free(key);
    return error;
}
