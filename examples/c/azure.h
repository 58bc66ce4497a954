/* SPDX-License-Identifier: Apache-2.0 */
/* A small client for the examples: HTTP by libcurl, authorised by an account SAS. */
#ifndef EXAMPLES_AZURE_H
#define EXAMPLES_AZURE_H

struct answer {
    long status;
    char code[64]; /* x-ms-error-code */
    char etag[64];
    char lease_id[64]; /* x-ms-lease-id */
    char body[256];
};

void azure_init(void);
void azure_release(void);

/* Sends METHOD to `path` ("/container/blob?comp=lease") of the blob service. `headers` ends with
 * NULL; `body` may be NULL. */
struct answer azure(const char *method, const char *path, const char *const *headers,
                    const char *body);

/* Print what happened; end the program if it is not what was expected. */
void expect_text(const char *what, const char *actual, const char *expected);
void expect_answer(const char *what, const struct answer *answer, const char *expected);

/* Waits; or moves the server's clock, and does not wait, when LAZULI_CLOCK names the server's
 * --clock-file. */
void let_pass(int seconds);

#endif
