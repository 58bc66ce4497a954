/* SPDX-License-Identifier: Apache-2.0 */
/* Test control (--test-control) of the dispatcher: faults by rule, and holds, which stop a request
 * until it is released, so that a race happens the same way every time.
 *
 * A request passes two points: before its transaction runs, and after its commit, before the
 * response. No lock is held at either. At each, holds come first, then the first fault that
 * matches. Calls other than the dispatcher's may come from any thread. */
#ifndef REST_WATCH_SCRIPT_H
#define REST_WATCH_SCRIPT_H

#include "rest/call.h"

enum {
    SCRIPT_FAULTS_MAX = 64,
    SCRIPT_HOLDS_MAX = 64,
    SCRIPT_PARTIES_MAX = 16,
    SCRIPT_ID_MAX = 40,
    SCRIPT_HOLD_MS = 30000, /* a hold ends by itself */
    SCRIPT_HOLD_MS_MAX = 300000,
    SCRIPT_DELAY_MS_MAX = 60000, /* a stopping server waits for it */
    SCRIPT_STALL_MS = 60000,     /* an answer that never comes: then the connection is closed */
    SCRIPT_HEADERS_MAX = 4,
    SCRIPT_RATE_MAX = 1000000,
};

/* Faults in sending a response have no separate point: they are chosen after the commit. */
enum script_point { SCRIPT_BEFORE, SCRIPT_AFTER_COMMIT, SCRIPT_SENDING };

/* A header that a request must have; the value may contain '*' and '?'. */
struct script_header {
    char name[48], value[132];
};

/* The requests that match: each text may contain '*' and '?', and matches all if empty. */
struct script_match {
    bool has_service;
    enum service_kind service;
    char operation[48], account[32], container[68], object[260], client_request_id[68];
    struct script_header headers[SCRIPT_HEADERS_MAX];
    size_t header_count;
};

enum script_act {
    SCRIPT_NOTHING,
    SCRIPT_ERROR,
    SCRIPT_RESET, /* the client gets a TCP reset */
    SCRIPT_CLOSE, /* the connection is closed normally, without an answer or in the middle of one */
    SCRIPT_STALL, /* the answer never comes, or stops in the middle */
    SCRIPT_CORRUPT,
    SCRIPT_SLOW,
};

/* The effect of a fault on a request. */
struct script_deed {
    char id[SCRIPT_ID_MAX + 1];
    enum script_act act;
    uint32_t delay_ms;
    enum err_code error;    /* of SCRIPT_ERROR */
    int status;             /* of SCRIPT_ERROR: replaces the error's status; 0: none */
    uint32_t retry_after_s; /* 0: no Retry-After */
    bool sending;           /* it applies while the body is sent, after this many bytes */
    uint64_t after_bytes;
    uint64_t bytes_per_second; /* of SCRIPT_SLOW */
};

struct script_fault {
    char id[SCRIPT_ID_MAX + 1];
    struct script_match match;
    uint64_t skip;      /* matching requests that pass first */
    uint64_t every;     /* of those, every n-th; 0 or 1: all */
    uint64_t times;     /* how often it applies; 0: unlimited */
    double probability; /* 0 to 1 */
    uint64_t seed;      /* for the probability: the same seed gives the same run */
    enum script_point at;
    struct script_deed deed;
    uint32_t jitter_ms; /* added to the delay: a random time from 0 to this, by the seed */
    /* The fault applies to requests above this rate; 0: to all. */
    uint32_t rate_per_second, rate_burst;
    double tokens; /* the state of the rate: requests that may pass at once */
    int64_t tokens_us;
    uint64_t seen, struck; /* so far */
};

struct script_hold {
    char id[SCRIPT_ID_MAX + 1];
    struct script_match match;
    enum script_point at;
    uint32_t times;                     /* how many requests it stops */
    uint32_t parties;                   /* 0, or: when so many have arrived, all are released */
    uint32_t timeout_ms;                /* how long a request waits at most */
    char order[SCRIPT_PARTIES_MAX][68]; /* client request ids, in the order of their release */
    size_t order_count;
    uint32_t arrived, waiting; /* so far, and now */
};

struct script;
struct script *script_new(void);
void script_free(struct script *s); /* NULL is fine */

/* ERR_RESOURCE_ALREADY_EXISTS; ERR_INVALID_INPUT if there are too many. An empty id is
 * generated. */
struct err script_add_fault(struct script *s, struct script_fault *fault);
bool script_remove_fault(struct script *s, struct str id);
void script_clear_faults(struct script *s);
size_t script_faults(struct script *s, struct script_fault out[SCRIPT_FAULTS_MAX]);
struct err script_add_hold(struct script *s, struct script_hold *hold);
/* Releases waiting requests one after the other, each after the one before was answered; `count` of
 * them, or all (0). False if there is no such hold. */
bool script_release(struct script *s, struct str id, uint32_t count);
/* Releases all, and removes the hold. */
bool script_remove_hold(struct script *s, struct str id);
size_t script_holds(struct script *s, struct script_hold out[SCRIPT_HOLDS_MAX]);
/* Removes all faults and holds. */
void script_clear(struct script *s);
uint64_t script_struck(struct script *s); /* faults applied so far, including removed ones */
/* Returns true if the request matches. A request without an operation matches only a rule without
 * one. */
bool script_fits(const struct script_match *m, const struct rest_call *call);

/* The journal of requests (rest/watch/requests.h). */
struct requests *script_requests(struct script *s);

/* ---- the dispatcher's, on the loop's thread ---- */

/* A request that a hold may stop; zero at first. */
struct script_stop {
    struct script *script;
    struct run *run;     /* woken when the call may continue */
    uint32_t timeout_ms; /* the longest wait; then the call continues by itself */
    struct script_stop *next;
    uint64_t hold; /* the number of the hold that stopped it last; 0: none */
    bool queued;
    char client_request_id[68];
};
/* True: the call is stopped; its run is woken when it may continue. */
bool script_stops(struct script *s, struct rest_call *call, enum script_point point,
                  struct script_stop *stop);
/* Cancels the call's wait, and those for its answer. False: it was woken. */
bool script_leaves(struct script_stop *stop);
struct script_deed script_meets(struct script *s, const struct rest_call *call,
                                enum script_point point);
/* Call after the answer: the next request may continue. */
void script_ended(struct script_stop *stop);

/* '*' is any text, '?' one byte. Public for its test. */
bool script_glob(const char *pattern, struct str text);

#endif
