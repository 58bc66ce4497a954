/* SPDX-License-Identifier: Apache-2.0 */
#include "azure.h"

#include <curl/curl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#define VERSION              "2023-11-03"
#define LOCAL(service, port) service "Endpoint=http://127.0.0.1:" port "/devstoreaccount1;"
#define WELL_KNOWN                                                                                 \
    "AccountName=devstoreaccount1;AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2U" \
    "VErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;" LOCAL("Blob", "10000") LOCAL("Queue", "10001")         \
        LOCAL("Table", "10002") LOCAL("File", "10003")
/* What the SAS is for: all services; services, containers and objects; and these permissions. */
#define SERVICES    "bqtf"
#define PERMISSIONS "rwdlacup"

static CURL *curl;
static char endpoint[256];
static char sas[512];

static void setting(const char *connection, const char *name, char *value, size_t size)
{
    const char *at = strstr(connection, name);
    if (at == NULL) {
        fprintf(stderr, "no %s in the connection string\n", name);
        exit(2);
    }
    at += strlen(name);
    snprintf(value, size, "%.*s", (int)strcspn(at, ";"), at);
}

/* Base64 of the HMAC-SHA256 of `text`, percent-encoded for a query. */
static void sign(const char *key64, const char *text, char *signature, size_t size)
{
    unsigned char key[128], mac[32], base64[64];
    unsigned int mac_size = sizeof mac;
    int key_size = EVP_DecodeBlock(key, (const unsigned char *)key64, (int)strlen(key64));
    /* EVP_DecodeBlock counts the padding. */
    for (const char *p = key64 + strlen(key64); key_size > 0 && p > key64 && p[-1] == '='; p--)
        key_size--;
    HMAC(EVP_sha256(), key, key_size, (const unsigned char *)text, strlen(text), mac, &mac_size);
    EVP_EncodeBlock(base64, mac, (int)mac_size);
    escape((char *)base64, signature, size);
}

void azure_init(const char *service)
{
    const char *given = getenv("AZURE_STORAGE_CONNECTION_STRING");
    const char *connection = given != NULL ? given : WELL_KNOWN;
    char account[32], key[128], name[32], expiry[32], text[256], signature[128];
    curl_global_init(CURL_GLOBAL_DEFAULT);
    curl = curl_easy_init();
    setting(connection, "AccountName=", account, sizeof account);
    setting(connection, "AccountKey=", key, sizeof key);
    snprintf(name, sizeof name, "%sEndpoint=", service);
    setting(connection, name, endpoint, sizeof endpoint);
    time_t later = time(NULL) + 3600;
    strftime(expiry, sizeof expiry, "%Y-%m-%dT%H:%M:%SZ", gmtime(&later));
    snprintf(text, sizeof text, "%s\n" PERMISSIONS "\n" SERVICES "\nsco\n\n%s\n\n\n" VERSION "\n\n",
             account, expiry);
    sign(key, text, signature, sizeof signature);
    snprintf(sas, sizeof sas,
             "sv=" VERSION "&ss=" SERVICES "&srt=sco&sp=" PERMISSIONS "&se=%s&sig=%s", expiry,
             signature);
}

void azure_release(void)
{
    curl_easy_cleanup(curl);
    curl_global_cleanup();
}

static size_t take_body(char *bytes, size_t size, size_t count, void *to)
{
    struct answer *answer = to;
    size_t used = strlen(answer->body);
    snprintf(answer->body + used, sizeof answer->body - used, "%.*s", (int)(size * count), bytes);
    return size * count;
}

static void take_value(const char *line, const char *name, char *value, size_t size)
{
    if (strncasecmp(line, name, strlen(name)) == 0) {
        line += strlen(name);
        snprintf(value, size, "%.*s", (int)strcspn(line, "\r\n"), line);
    }
}

static size_t take_header(char *bytes, size_t size, size_t count, void *to)
{
    struct answer *answer = to;
    char line[512];
    snprintf(line, sizeof line, "%.*s", (int)(size * count), bytes);
    take_value(line, "x-ms-error-code: ", answer->code, sizeof answer->code);
    take_value(line, "etag: ", answer->etag, sizeof answer->etag);
    take_value(line, "x-ms-lease-id: ", answer->lease_id, sizeof answer->lease_id);
    take_value(line, "x-ms-popreceipt: ", answer->receipt, sizeof answer->receipt);
    return size * count;
}

struct answer azure(const char *method, const char *path, const char *const *headers,
                    const char *body)
{
    struct answer answer = {0};
    char url[1024];
    struct curl_slist *list = curl_slist_append(NULL, "x-ms-version: " VERSION);
    for (; headers != NULL && *headers != NULL; headers++)
        list = curl_slist_append(list, *headers);
    snprintf(url, sizeof url, "%s%s%c%s", endpoint, path, strchr(path, '?') != NULL ? '&' : '?',
             sas);
    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    if (strcmp(method, "PUT") == 0 || strcmp(method, "POST") == 0)
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body != NULL ? body : "");
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, list);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, &answer);
    CURLcode result = curl_easy_perform(curl);
    if (result != CURLE_OK) {
        fprintf(stderr, "%s: %s\n", path, curl_easy_strerror(result));
        exit(2);
    }
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer.status);
    curl_slist_free_all(list);
    return answer;
}

void find_between(const char *text, const char *before, const char *after, char *found, size_t size)
{
    const char *from = strstr(text, before);
    const char *end = from != NULL ? strstr(from + strlen(before), after) : NULL;
    found[0] = '\0';
    if (end != NULL) {
        from += strlen(before);
        snprintf(found, size, "%.*s", (int)(end - from), from);
    }
}

void escape(const char *text, char *escaped, size_t size)
{
    char *made = curl_easy_escape(curl, text, 0);
    snprintf(escaped, size, "%s", made);
    curl_free(made);
}

void expect_text(const char *what, const char *actual, const char *expected)
{
    printf("%s: %s\n", what, actual);
    if (strcmp(actual, expected) != 0) {
        fprintf(stderr, "expected %s\n", expected);
        exit(1);
    }
}

void expect_answer(const char *what, const struct answer *answer, const char *expected)
{
    char actual[96];
    snprintf(actual, sizeof actual, "%ld%s%s", answer->status, answer->code[0] != '\0' ? " " : "",
             answer->code);
    expect_text(what, actual, expected);
}

void let_pass(int seconds)
{
    const char *name = getenv("LAZULI_CLOCK");
    if (name == NULL) {
        sleep((unsigned)seconds);
        return;
    }
    FILE *clock = fopen(name, "r+");
    if (clock == NULL) {
        perror(name);
        exit(2);
    }
    fprintf(clock, "%d\n", seconds * 1000);
    fclose(clock);
}
