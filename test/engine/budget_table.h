/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of budget_test.c in order, each with its budget. */
#ifndef TEST_ENGINE_BUDGET_TABLE_H
#define TEST_ENGINE_BUDGET_TABLE_H

#include "service/account/account.h"

/* The part of an answer that a later request needs: the text that follows `after`, up to the end of
 * the element, the quoted string or the header. */
struct budget_capture {
    const char *after;
    unsigned to; /* "@0" to "@3" in later rows */
};

struct budget {
    enum service_kind service;
    const char *operation;
    const char *method;
    const char *target;  /* behind the account */
    const char *headers; /* whole lines */
    const char *body;
    size_t body_bytes;      /* in place of a body: so many */
    unsigned body_entities; /* the same: a change set of so many */
    bool lake;              /* of the account whose containers are hierarchical */
    unsigned status;
    /* Sequential round trips: with the rows of HINT_SOON in memory, and without. */
    unsigned warm;
    unsigned cold;
    struct budget_capture capture[2];
};

extern const struct budget BUDGETS[];
extern const size_t BUDGETS_COUNT;

#endif
