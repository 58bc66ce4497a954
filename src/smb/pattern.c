/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/pattern.h"

enum { NAME_BYTES_MAX = 255 * 4 };

bool smb_pattern_is_literal(struct str pattern)
{
    for (size_t i = 0; i < pattern.n; i++)
        if (memchr("*?<>\"", pattern.p[i], 5) != NULL)
            return false;
    return true;
}

/* Length of the UTF-8 character at i. */
static size_t char_bytes(struct str name, size_t i)
{
    size_t n = 1;
    while (i + n < name.n && ((unsigned char)name.p[i + n] & 0xC0) == 0x80)
        n++;
    return n;
}

static size_t last_dot(struct str name)
{
    size_t at = name.n;
    for (size_t i = 0; i < name.n; i++)
        if (name.p[i] == '.')
            at = i;
    return at;
}

/* reach[i]: the pattern so far matches the name's first i bytes. One pattern character advances the
 * whole set, so the cost is at most the pattern's length times the name's. */
static void step(char c, struct str name, size_t dot, const bool *from, bool *to)
{
    memset(to, 0, name.n + 1);
    for (size_t i = 0; i <= name.n; i++) {
        bool run = c == '*' || (c == '<' && i <= dot);
        if (run && i > 0 && to[i - 1])
            to[i] = true;
        if (!from[i])
            continue;
        if (c == '*' || c == '<') {
            to[i] = true;
            continue;
        }
        bool at_end = i == name.n;
        bool at_dot = !at_end && name.p[i] == '.';
        if (c == '>' && (at_end || at_dot))
            to[i] = true;
        if (c == '"' && at_end)
            to[i] = true;
        if (at_end)
            continue;
        if (c == '?' || (c == '>' && !at_dot))
            to[i + char_bytes(name, i)] = true;
        else if ((c == '"' && at_dot) || c == name.p[i])
            to[i + 1] = true;
    }
}

bool smb_pattern_matches(struct str pattern, struct str name)
{
    bool sets[2][NAME_BYTES_MAX + 1];
    if (name.n > NAME_BYTES_MAX || pattern.n > NAME_BYTES_MAX)
        return false;
    size_t dot = last_dot(name);
    memset(sets[0], 0, name.n + 1);
    sets[0][0] = true;
    for (size_t i = 0; i < pattern.n; i++)
        step(pattern.p[i], name, dot, sets[i % 2], sets[(i + 1) % 2]);
    return sets[pattern.n % 2][name.n];
}
