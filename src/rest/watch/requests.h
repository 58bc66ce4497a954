/* SPDX-License-Identifier: Apache-2.0 */
/* The journal of test control: the last answered requests, so that a test can check what its
 * program has sent. In memory of a fixed size; any thread. */
#ifndef REST_WATCH_REQUESTS_H
#define REST_WATCH_REQUESTS_H

#include "rest/watch/script.h"

enum { REQUESTS_KEPT = 4096 };

struct request_note {
    uint64_t id; /* grows by one with each */
    int64_t at;  /* ticks */
    enum service_kind service;
    const char *operation; /* "" when none was found */
    char method[8];
    char account[32], container[68], object[260]; /* cut where they are longer */
    char request_id[37], client_request_id[68];
    char fault[SCRIPT_ID_MAX + 1]; /* the fault that was applied; "" for none */
    int status;
    enum err_code error;
    int64_t duration_us;
    uint64_t bytes_in, bytes_out;
};

struct requests_filter {
    struct script_match match; /* its headers are ignored */
    int status;                /* 0: any */
    char error[64];            /* Azure's code; "" for any, may contain '*' and '?' */
    uint64_t after;            /* only later ones */
};

struct requests;
struct requests *requests_new(void);
void requests_free(struct requests *r); /* NULL is fine */

/* Call when a call has ended. `fault`: the one that was applied, or "". */
void requests_add(struct requests *r, const struct rest_call *call, struct err error,
                  const char *fault, int64_t ended_us);
/* Copies the newest that match, oldest first, `limit` at most, and sets notes_count. count: how
 * many match in all. next: the id of the last request of all. */
struct requests_found {
    struct request_note *notes; /* room for limit */
    size_t limit;
    size_t notes_count;
    uint64_t count, next;
};
void requests_find(struct requests *r, const struct requests_filter *f, struct requests_found *out);
void requests_clear(struct requests *r);

#endif
