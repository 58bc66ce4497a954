/* SPDX-License-Identifier: Apache-2.0 */
/* The stored cross-origin rules of a service's properties. The operation that sets the properties
 * stores them, and rest/cors.h reads them. */
#ifndef SERVICE_COMMON_CORS_RULE_H
#define SERVICE_COMMON_CORS_RULE_H

#include "core/str.h"

enum { CORS_RULES_MAX = 5 };

/* Lists are comma-separated. */
struct cors_rule {
    struct str allowed_origins; /* "*", origins, or origins with a "*" for subdomains */
    struct str allowed_methods;
    struct str allowed_headers; /* names, and prefixes that end in "*" */
    struct str exposed_headers; /* the same */
    uint64_t max_age_seconds;
};

struct cors_rules {
    size_t count;
    struct cors_rule rules[CORS_RULES_MAX];
};

#endif
