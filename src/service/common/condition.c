/* SPDX-License-Identifier: Apache-2.0 */
#include "service/common/condition.h"

#include "core/clock.h"
#include "service/common/etag.h"

/* Since then reads take any combination of conditions. */
enum { READ_COMBINATIONS_VERSION = 20130815 };

/* Headers carry whole seconds, so the object's time is compared without its fraction. */
static int64_t whole_seconds(int64_t ticks)
{
    return ticks - ticks % TICKS_PER_SECOND;
}

static bool modified_since(const struct conditions *c, const struct condition_target *t)
{
    return whole_seconds(t->last_modified) > c->modified_since;
}

static bool unmodified_since(const struct conditions *c, const struct condition_target *t)
{
    return whole_seconds(t->last_modified) <= c->unmodified_since;
}

/* True if an entry of the list names the object. No entry names an absent object, not even *. */
static bool list_names(struct str list, const struct condition_target *t, bool strong)
{
    struct etag_entry entry;
    bool named = false;
    while (etag_list_next(&list, &entry))
        named = named || (t->exists && etag_entry_is(&entry, t->etag, strong));
    return named;
}

static bool list_has_any(struct str list)
{
    struct etag_entry entry;
    while (etag_list_next(&list, &entry))
        if (entry.any)
            return true;
    return false;
}

static size_t list_length(struct str list)
{
    struct etag_entry entry;
    size_t n = 0;
    while (etag_list_next(&list, &entry))
        n++;
    return n;
}

/* Writes, and old reads: one header alone, If-None-Match with If-Modified-Since, or If-Match with
 * If-Unmodified-Since; one ETag in a header. */
static bool combination_allowed(const struct conditions *c)
{
    bool m = str_given(c->if_match), n = str_given(c->if_none_match);
    bool s = c->has_modified_since, u = c->has_unmodified_since;
    if ((m && list_length(c->if_match) > 1) || (n && list_length(c->if_none_match) > 1))
        return false;
    unsigned count = (unsigned)m + (unsigned)n + (unsigned)s + (unsigned)u;
    return count <= 1 || (count == 2 && ((n && s) || (m && u)));
}

/* An absent object has no tags, so a write that would create it fails. */
static bool tags_hold(const struct conditions *c, const struct condition_target *t)
{
    return c->if_tags == NULL || tag_expression_holds(c->if_tags, t->tags, STR_NONE);
}

/* A read succeeds if either If-None-Match or If-Modified-Since says that the client's copy is
 * outdated. It returns 304 only if all given headers say that the copy is current. */
static struct err check_read(const struct conditions *c, const struct condition_target *t)
{
    bool n = str_given(c->if_none_match), s = c->has_modified_since;
    if (n && list_has_any(c->if_none_match))
        return err_new(ERR_UNSATISFIABLE_CONDITION);
    if (str_given(c->if_match) && !list_names(c->if_match, t, true))
        return err_new(ERR_CONDITION_NOT_MET);
    if (!t->exists)
        return OK;
    if (c->has_unmodified_since && !unmodified_since(c, t))
        return err_new(ERR_CONDITION_NOT_MET);
    if (!tags_hold(c, t))
        return err_new(ERR_CONDITION_NOT_MET);
    bool changed = (n && !list_names(c->if_none_match, t, false)) || (s && modified_since(c, t));
    return (n || s) && !changed ? err_new(ERR_NOT_MODIFIED) : OK;
}

/* If an ETag and a date are given, the ETag decides. */
static struct err check_write(const struct conditions *c, enum condition_use use,
                              const struct condition_target *t)
{
    if (!combination_allowed(c))
        return err_new(ERR_MULTIPLE_CONDITION_HEADERS_NOT_SUPPORTED);
    bool met = true;
    if (str_given(c->if_match)) {
        met = list_names(c->if_match, t, true);
    } else if (str_given(c->if_none_match)) {
        met = !list_names(c->if_none_match, t, false);
        if (!met && use == CONDITION_CREATE && list_has_any(c->if_none_match))
            return err_new(ERR_BLOB_ALREADY_EXISTS);
    } else if (t->exists) {
        met = (!c->has_modified_since || modified_since(c, t)) &&
              (!c->has_unmodified_since || unmodified_since(c, t));
    }
    if (t->exists || use == CONDITION_CREATE)
        met = met && tags_hold(c, t);
    return met ? OK : err_new(ERR_CONDITION_NOT_MET);
}

/* Returns the first of the given conditions that does not hold by itself. */
static enum verdict_check first_unmet(const struct conditions *c, const struct condition_target *t)
{
    if (str_given(c->if_match) && !list_names(c->if_match, t, true))
        return VERDICT_IF_MATCH;
    if (str_given(c->if_none_match) && list_names(c->if_none_match, t, false))
        return VERDICT_IF_NONE_MATCH;
    if (c->has_unmodified_since && !unmodified_since(c, t))
        return VERDICT_IF_UNMODIFIED_SINCE;
    if (c->has_modified_since && !modified_since(c, t))
        return VERDICT_IF_MODIFIED_SINCE;
    return VERDICT_IF_TAGS;
}

COLD static struct err refuse(const struct conditions *c, const struct condition_target *t,
                              struct err error)
{
    if (c->verdict != NULL)
        *c->verdict = (struct verdict){.check = first_unmet(c, t),
                                       .exists = t->exists,
                                       .etag = t->etag,
                                       .last_modified = t->last_modified};
    return error;
}

struct err conditions_check(const struct conditions *c, enum condition_use use,
                            const struct condition_target *target)
{
    bool reads = use == CONDITION_READ;
    if (reads && c->version != 0 && c->version < READ_COMBINATIONS_VERSION &&
        !combination_allowed(c))
        return err_new(ERR_MULTIPLE_CONDITION_HEADERS_NOT_SUPPORTED);
    struct err error = reads ? check_read(c, target) : check_write(c, use, target);
    return err_is(error) ? refuse(c, target, error) : OK;
}
