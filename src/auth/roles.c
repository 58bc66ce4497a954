/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/roles.h"

#include <assert.h>
#include <stdlib.h>

#include "core/mem.h"

enum role { ROLE_READER, ROLE_CONTRIBUTOR, ROLE_OWNER, ROLE_DELEGATOR, ROLE_COUNT };
static const struct str ROLE_NAMES[ROLE_COUNT] = {STR_INIT("reader"), STR_INIT("contributor"),
                                                  STR_INIT("owner"), STR_INIT("delegator")};

struct grant {
    struct str identity, account, container;
    enum role role;
};

struct roles {
    char *text; /* what the grants point into */
    size_t count;
    struct grant *grants;
};

void roles_free(struct roles *roles)
{
    if (roles == NULL)
        return;
    free(roles->grants);
    free(roles->text);
    free(roles);
}

/* The next word of the line; empty when there is none. */
static struct str next_word(struct str *line)
{
    *line = str_trim(*line);
    size_t end = 0;
    while (end < line->n && line->p[end] != ' ' && line->p[end] != '\t')
        end++;
    struct str word = str_head(*line, end);
    *line = str_from(*line, end);
    return word;
}

static bool parse_line(struct str line, struct grant *out)
{
    out->identity = next_word(&line);
    out->account = next_word(&line);
    out->container = next_word(&line);
    struct str role = next_word(&line);
    if (role.n == 0 || next_word(&line).n > 0)
        return false;
    for (size_t i = 0; i < ROLE_COUNT; i++) {
        out->role = (enum role)i;
        if (str_eq(role, ROLE_NAMES[i]))
            return true;
    }
    return false;
}

static struct err parse_lines(struct roles *roles, struct str text)
{
    for (int number = 1; str_given(text); number++) {
        struct str line = str_cut(&text, '\n');
        line = str_head(line, str_find(line, '#', 0));
        if (line.n > 0 && line.p[line.n - 1] == '\r')
            line.n--;
        if (str_trim(line).n == 0)
            continue;
        if (roles->count == ROLES_MAX || !parse_line(line, &roles->grants[roles->count]))
            return err_cause(ERR_INVALID_INPUT, number);
        roles->count++;
    }
    return OK;
}

struct err roles_parse(struct str text, struct roles **out)
{
    assert(out != NULL);
    if (text.n > ROLES_BYTES_MAX)
        return err_new(ERR_INVALID_INPUT);
    struct roles *roles = MEM_NEW(struct roles);
    roles->text = mem_alloc(text.n + 1);
    if (text.n > 0)
        memcpy(roles->text, text.p, text.n);
    size_t lines = 1;
    for (size_t i = 0; i < text.n; i++)
        lines += text.p[i] == '\n';
    roles->grants = mem_calloc(lines < ROLES_MAX ? lines : ROLES_MAX, sizeof roles->grants[0]);
    struct err error = parse_lines(roles, (struct str){roles->text, text.n});
    if (err_is(error)) {
        roles_free(roles);
        return error;
    }
    *out = roles;
    return OK;
}

static bool is_any(struct str word)
{
    return str_eq(word, STR("*"));
}

static bool names_who(const struct grant *grant, const struct role_request *request)
{
    if (is_any(grant->identity))
        return true;
    for (size_t i = 0; i < request->identity_count; i++)
        if (str_given(request->identities[i]) && str_ieq(grant->identity, request->identities[i]))
            return true;
    return false;
}

static bool names_where(const struct grant *grant, const struct role_request *request)
{
    return (is_any(grant->account) || str_eq(grant->account, request->account)) &&
           (is_any(grant->container) ||
            (str_given(request->container) && str_eq(grant->container, request->container)));
}

static bool includes(enum role role, enum role_need need)
{
    switch (need) {
    case NEED_READ:
        return role != ROLE_DELEGATOR;
    case NEED_WRITE:
        return role == ROLE_CONTRIBUTOR || role == ROLE_OWNER;
    case NEED_OWNERSHIP:
        return role == ROLE_OWNER;
    case NEED_DELEGATION:
        return true;
    }
    return false;
}

bool roles_permit(const struct roles *roles, const struct role_request *request)
{
    for (size_t i = 0; i < roles->count; i++) {
        const struct grant *grant = &roles->grants[i];
        if (includes(grant->role, request->need) && names_where(grant, request) &&
            names_who(grant, request))
            return true;
    }
    return false;
}
