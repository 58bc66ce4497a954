/* SPDX-License-Identifier: Apache-2.0 */
/* A small client for the examples: HTTP by libcurl, authorised by an account SAS. */
#ifndef EXAMPLES_AZURE_H
#define EXAMPLES_AZURE_H

#include <stddef.h>

struct answer {
    long status;
    char code[64]; /* x-ms-error-code */
    char etag[64];
    char lease_id[64]; /* x-ms-lease-id */
    char receipt[128]; /* x-ms-popreceipt */
    char body[2048];
};

/* `service` is "Blob", "Queue", "Table" or "File". */
void azure_init(const char *service);
void azure_release(void);

/* Sends METHOD to `path` ("/container/blob?comp=lease") of the service. `headers` ends with NULL;
 * `body` may be NULL. */
struct answer azure(const char *method, const char *path, const char *const *headers,
                    const char *body);

/* What stands between two texts of an answer; empty if it is not there. */
void find_between(const char *text, const char *before, const char *after, char *found,
                  size_t size);
/* Percent-encoded, for a query. */
void escape(const char *text, char *escaped, size_t size);

/* Print what happened; end the program if it is not what was expected. */
void expect_text(const char *what, const char *actual, const char *expected);
void expect_answer(const char *what, const struct answer *answer, const char *expected);

/* Waits; or moves the server's clock, and does not wait, when LAZULI_CLOCK names the server's
 * --clock-file. */
void let_pass(int seconds);

#endif
