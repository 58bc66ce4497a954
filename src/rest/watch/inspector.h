/* SPDX-License-Identifier: Apache-2.0 */
/* The concurrency inspector: why was a request refused, and which request caused it?
 *
 * In memory of a fixed size, never on disk: the last refusals by concurrency control (304, 409,
 * 412, and a stale pop receipt), the last writes, the last writer of each of many objects, and the
 * holder of each lease. Reads are recorded only while somebody looks. Never recorded: lease ids,
 * receipts, signatures, bodies, metadata. */
#ifndef REST_WATCH_INSPECTOR_H
#define REST_WATCH_INSPECTOR_H

#include "core/guid.h"
#include "rest/call.h"

enum {
    INSPECTOR_REFUSALS = 10000,
    INSPECTOR_DONE = 4096,     /* writes, and reads while a client watches */
    INSPECTOR_WRITERS = 32768, /* objects whose last writer is known; a power of two */
    INSPECTOR_LEASES = 4096,   /* objects whose lease holder is known; a power of two */
    INSPECTOR_NAME_MAX = 160,
    INSPECTOR_WATCH_MS = 30000, /* how long one look keeps reads recorded */
};

/* The rules of docs/concurrency/rules.md that can refuse. */
enum inspector_rule {
    RULE_NONE, /* a conflict without a rule: for example, an existing container */
    RULE_B2,
    RULE_B3,
    RULE_B6,
    RULE_L1,
    RULE_L2,
    RULE_L3,
    RULE_L4,
    RULE_L5,
    RULE_L7,
    RULE_T1,
    RULE_T2,
    RULE_Q1,
    RULE_S2,
    RULE_S3,
    RULE_COUNT
};
const char *inspector_rule_name(enum inspector_rule rule); /* "B2"; "" for RULE_NONE */

/* The condition of a request that was not met. */
enum inspector_check {
    CHECK_NONE,
    CHECK_IF_MATCH,
    CHECK_IF_NONE_MATCH,
    CHECK_SINCE,
    CHECK_TAGS,
    CHECK_LEASE,
    CHECK_SEQUENCE, /* of a page blob */
    CHECK_APPEND,   /* the position or size of an append blob */
    CHECK_COUNT
};
const char *inspector_check_name(enum inspector_check check); /* "if_match"; "" for CHECK_NONE */

enum inspector_kind { INSPECTOR_REFUSED, INSPECTOR_WROTE, INSPECTOR_READ };

/* The parts of a request that identify its sender. */
struct inspector_who {
    char request_id[GUID_TEXT_BYTES + 1];
    char client_request_id[48];
    char agent[64];
    unsigned char address[16]; /* as it is on the wire */
    unsigned char family;      /* AF_INET, AF_INET6, or 0 */
};
enum { INSPECTOR_ADDRESS_MAX = 48 };
/* The address as text; empty if unknown. */
void inspector_address(const struct inspector_who *who, char out[INSPECTOR_ADDRESS_MAX]);

/* The cause of a refusal. */
struct inspector_maker {
    bool known;
    bool current; /* it made the state that caused the refusal; else something has happened since */
    const struct op *op;
    int64_t at; /* ticks */
    int64_t etag;
    struct inspector_who who;
};

struct inspector_event {
    uint64_t sequence; /* grows by one with each event */
    enum inspector_kind kind;
    int64_t at; /* ticks */
    enum service_kind service;
    const struct op *op;
    int status;
    enum err_code error;
    enum inspector_rule rule;
    char account[ACCOUNT_NAME_MAX + 1];
    char container[64 + 1];
    char object[INSPECTOR_NAME_MAX + 1]; /* cut where it is longer */
    uint64_t hash;                       /* of the object's whole name */
    int64_t etag;                        /* of what succeeded; 0: none */
    struct inspector_who who;
    /* For refusals only; otherwise zero. */
    struct verdict verdict;
    char sent[96];   /* the condition that failed, as the client sent it */
    char holder[96]; /* of a file: the open that conflicted */
    struct inspector_maker maker;
};

struct inspector;
/* `explains`: responses tell clients the event of their refusal. */
struct inspector *inspector_new(bool explains);
void inspector_free(struct inspector *in); /* NULL is fine */

/* ---- what requests tell; on their loops' threads. NULL: nobody keeps it ---- */

/* Call before this call, or part of a batch, gets this error. Returns the event's sequence number
 * if the client should be told, else 0. */
uint64_t inspector_refused(struct inspector *in, const struct rest_call *call, struct err error);
/* It has succeeded. */
void inspector_succeeded(struct inspector *in, const struct rest_call *call);

/* For front ends other than REST: an SMB client has read, written, or was refused. */
struct inspector_foreign {
    enum inspector_kind kind;
    const struct op *op; /* of its name alone; lives as long as the program */
    struct str account, share, path;
    enum err_code error; /* of a refusal */
    int64_t at;          /* ticks */
    struct str sent;     /* the access that it requested */
    struct str holder;   /* the conflicting holder; absent: a REST lease */
    struct str client;   /* the name that the client gave */
    const struct sockaddr_storage *peer;
};
void inspector_note_foreign(struct inspector *in, const struct inspector_foreign *f);

/* ---- what is asked; any thread ---- */

struct inspector_filter {
    struct str account;   /* only this one's */
    struct str container; /* absent: of all */
    struct str object;    /* absent: of all; compared as kept */
    bool has_service;
    enum service_kind service;
    unsigned kinds; /* 1 << enum inspector_kind */
    uint64_t after; /* only later ones */
    uint64_t only;  /* this one alone; 0: all */
    size_t count_max;
};
/* Copies the newest events that fit, oldest first, into `out` (of count_max); returns their number.
 * *next: the sequence to continue after. */
size_t inspector_find(struct inspector *in, const struct inspector_filter *filter,
                      struct inspector_event *out, uint64_t *next);
/* Records reads for a while. */
void inspector_watch_reads(struct inspector *in);
/* Refusals so far, by service and rule. */
uint64_t inspector_conflicts(struct inspector *in, enum service_kind service,
                             enum inspector_rule rule);
/* The same by the failed check. */
uint64_t inspector_failed_checks(struct inspector *in, enum service_kind service,
                                 enum inspector_check check);
struct inspector_name {
    enum service_kind service;
    struct str account, container, object, pk, rk;
};
/* Finds the holder of an object's lease; `known` is false if it is not recorded. */
struct inspector_maker inspector_lease_holder(struct inspector *in,
                                              const struct inspector_name *name);
/* The name's hash, as in events. */
uint64_t inspector_hash(const struct inspector_name *name);
/* Removes the records of an account, or of all (absent). */
void inspector_forget(struct inspector *in, struct str account);

#endif
