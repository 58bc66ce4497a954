/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/collate.h"

/* Every character that a header name may contain, except '\'' and '-', in the service's order.
 * Checked against the weights that the SDKs carry for the same purpose. */
static const char ORDER[] = "!#$%&*.^_`|~+0123456789abcdefghijklmnopqrstuvwxyz";

/* Returns 0 for characters that the first level ignores. Letters and digits, which are nearly all,
 * need no search. */
static int rank(char c)
{
    if (c >= 'a' && c <= 'z')
        return 24 + (c - 'a');
    if (ascii_digit(c))
        return 14 + (c - '0');
    const char *at = c == '\0' ? NULL : strchr(ORDER, c);
    return at == NULL ? 0 : 1 + (int)(at - ORDER);
}

_Static_assert(sizeof ORDER - 1 == 13 + 10 + 26, "rank counts on 13 marks before the digits");

/* The rank of the next character that has one, moving *i past it; 0 at the end. */
static int next_rank(struct str s, size_t *i)
{
    while (*i < s.n) {
        int found = rank(s.p[(*i)++]);
        if (found != 0)
            return found;
    }
    return 0;
}

static int mark(struct str s, size_t i)
{
    if (i >= s.n)
        return 0;
    return s.p[i] == '-' ? 2 : s.p[i] == '\'' ? 1 : 0;
}

int collate_header_names(struct str a, struct str b)
{
    size_t common = 0;
    while (common < a.n && common < b.n && a.p[common] == b.p[common])
        common++;
    if (common == a.n && common == b.n)
        return 0;
    size_t i = common, j = common;
    for (;;) {
        int left = next_rank(a, &i), right = next_rank(b, &j);
        if (left != right)
            return left - right;
        if (left == 0)
            break;
    }
    /* Equal except for the marks: the name with the earlier mark sorts later. */
    int by_mark = mark(a, common) - mark(b, common);
    return by_mark != 0 ? by_mark : str_cmp(a, b);
}
