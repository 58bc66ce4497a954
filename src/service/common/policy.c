/* SPDX-License-Identifier: Apache-2.0 */
#include "service/common/policy.h"

#include <assert.h>

#include "service/common/records.h"

#define POLICY(number, member) RECORD_MEMBER(struct policy, number, member)
static const struct record_member MEMBERS[] = {
    POLICY(1, id),
    POLICY(2, start),
    POLICY(3, expiry),
    POLICY(4, permission),
};
#undef POLICY
const struct record_type POLICY_RECORD = RECORD_TYPE(struct policy, MEMBERS);

/* Each policy is a separate record, preceded by its length. */
struct str policies_encode(struct arena *a, const struct policies *policies)
{
    assert(policies->count <= POLICIES_MAX);
    if (policies->count == 0)
        return STR_NONE;
    struct buf all = buf_in(a);
    struct buf one = buf_in(a);
    for (size_t i = 0; i < policies->count; i++) {
        const struct policy *p = &policies->items[i];
        buf_clear(&one);
        record_write(&one, &POLICY_RECORD, p);
        buf_put_bytes(&all, buf_str(&one));
    }
    return buf_str(&all);
}

static bool decode_one(struct str bytes, struct policy *p)
{
    *p = (struct policy){0};
    return record_read(bytes, &POLICY_RECORD, p);
}

bool policies_decode(struct str encoded, struct policies *out)
{
    assert(out != NULL);
    struct reader r = reader_of(encoded);
    bool good = true;
    out->count = 0;
    while (good && r.n > 0 && !r.bad && out->count < POLICIES_MAX)
        good = decode_one(read_bytes(&r), &out->items[out->count++]);
    return good && reader_done(&r);
}

bool policies_find(struct str encoded, struct str id, struct policy *out)
{
    struct policies all;
    if (!policies_decode(encoded, &all))
        return false;
    for (size_t i = 0; i < all.count; i++) {
        if (str_eq(all.items[i].id, id)) {
            *out = all.items[i];
            return true;
        }
    }
    return false;
}
