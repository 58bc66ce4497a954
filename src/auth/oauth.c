/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/oauth.h"

#include <pthread.h>
#include <stdlib.h>

#include "auth/jwks.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/mem.h"
#include "core/thread.h"

enum {
    AUDIENCES_MAX = 8,
    REFRESH_SECONDS = 3600,
    /* Unknown key ids in tokens cause at most one reload of the keys per this interval. */
    REFRESH_PAUSE_SECONDS = 30,
};

struct oauth {
    bool basic;
    char *text; /* the setting, which the slices below point into */
    const char *jwks_source, *roles_source;
    struct str issuer;
    struct str audiences[AUDIENCES_MAX];
    size_t audience_count;
    struct roles *roles;
    char challenge[512];

    pthread_rwlock_t keys_lock;
    struct jwks *keys;

    /* The refresher. */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    bool running, wanted, stopping;
};

static struct err refuse(const char *sentence)
{
    return err_detail(ERR_INVALID_INPUT, sentence);
}

/* ---- keys ---- */

static struct err load_keys(struct oauth *oauth)
{
    char *text = NULL;
    size_t n = 0;
    struct jwks *fresh = NULL;
    struct err error = jwks_fetch(oauth->jwks_source, &text, &n);
    if (!err_is(error))
        error = jwks_parse((struct str){text, n}, &fresh);
    free(text);
    if (err_is(error))
        return error;
    (void)pthread_rwlock_wrlock(&oauth->keys_lock);
    struct jwks *old = oauth->keys;
    oauth->keys = fresh;
    (void)pthread_rwlock_unlock(&oauth->keys_lock);
    jwks_free(old);
    return OK;
}

/* False when it is to stop. */
static bool wait_for_refresh(struct oauth *oauth, int seconds, bool until_wanted)
{
    int64_t until = clock_mono_ms() + seconds * 1000LL;
    bool in_time = true;
    (void)pthread_mutex_lock(&oauth->lock);
    while (!oauth->stopping && !(until_wanted && oauth->wanted) && in_time)
        in_time = thread_wait_until(&oauth->wake, &oauth->lock, until);
    bool go_on = !oauth->stopping;
    if (until_wanted)
        oauth->wanted = false;
    (void)pthread_mutex_unlock(&oauth->lock);
    return go_on;
}

static void *refresh(void *arg)
{
    struct oauth *oauth = arg;
    while (wait_for_refresh(oauth, REFRESH_SECONDS, true)) {
        struct err error = load_keys(oauth);
        if (err_is(error))
            log_line(LOG_WARN, "the key set %s cannot be read; the old keys stay",
                     oauth->jwks_source);
        if (!wait_for_refresh(oauth, REFRESH_PAUSE_SECONDS, false))
            break;
    }
    return NULL;
}

static void want_refresh(struct oauth *oauth)
{
    (void)pthread_mutex_lock(&oauth->lock);
    oauth->wanted = true;
    (void)pthread_cond_signal(&oauth->wake);
    (void)pthread_mutex_unlock(&oauth->lock);
}

static bool start_refresher(struct oauth *oauth)
{
    (void)pthread_cond_init(&oauth->wake, NULL);
    (void)pthread_mutex_init(&oauth->lock, NULL);
    oauth->running = pthread_create(&oauth->thread, NULL, refresh, oauth) == 0;
    return oauth->running;
}

static enum jwks_answer verify(struct oauth *oauth, const struct jwt *token)
{
    (void)pthread_rwlock_rdlock(&oauth->keys_lock);
    enum jwks_answer answer = jwks_verify(oauth->keys, token);
    (void)pthread_rwlock_unlock(&oauth->keys_lock);
    if (answer == JWKS_UNKNOWN_KEY)
        want_refresh(oauth);
    return answer;
}

/* ---- settings ---- */

static struct err load_roles(struct oauth *oauth)
{
    char *text = NULL;
    size_t n = 0;
    if (err_is(jwks_fetch(oauth->roles_source, &text, &n)))
        return refuse("--oauth: the roles file cannot be read");
    struct err error = roles_parse((struct str){text, n}, &oauth->roles);
    free(text);
    if (err_is(error))
        log_line(LOG_ERROR, "%s, line %d is not: identity account container role",
                 oauth->roles_source, error.cause);
    return err_is(error) ? refuse("--oauth: the roles file is not well-formed") : OK;
}

/* Splits the text in place: each value ends with a NUL. */
static struct err read_settings(struct oauth *oauth)
{
    char *rest = oauth->text;
    while (rest != NULL) {
        char *setting = strsep(&rest, ",");
        char *value = strchr(setting, '=');
        if (value == NULL)
            return refuse("--oauth: basic, or jwks=FILE|URL,issuer=…,audience=…,roles=FILE");
        *value++ = '\0';
        struct str name = str_of(setting);
        if (str_eq(name, STR("jwks")))
            oauth->jwks_source = value;
        else if (str_eq(name, STR("roles")))
            oauth->roles_source = value;
        else if (str_eq(name, STR("issuer")))
            oauth->issuer = str_of(value);
        else if (str_eq(name, STR("audience")) && oauth->audience_count < AUDIENCES_MAX)
            oauth->audiences[oauth->audience_count++] = str_of(value);
        else
            return refuse("--oauth: knows jwks, issuer, audience (eight at most) and roles only");
    }
    if (oauth->jwks_source == NULL || oauth->issuer.n == 0 || oauth->audience_count == 0 ||
        oauth->roles_source == NULL)
        return refuse("--oauth: jwks, issuer, audience and roles are all needed");
    return OK;
}

static struct str without_slash(struct str url)
{
    return str_ends(url, STR("/")) ? str_head(url, url.n - 1) : url;
}

/* SDKs take the tenant from the first path segment of authorization_uri, and request a token there
 * for the audience resource_id. */
static void make_challenge(struct oauth *oauth)
{
    struct str tenant = STR("00000000-0000-0000-0000-000000000000");
    struct str rest = str_from(oauth->issuer, str_find_str(oauth->issuer, STR("://")) + 3);
    (void)str_cut(&rest, '/');
    struct str segment = str_head(rest, str_find(rest, '/', 0));
    if (segment.n == tenant.n)
        tenant = segment;
    struct str resource = oauth->audience_count > 0 ? without_slash(oauth->audiences[0])
                                                    : STR("https://storage.azure.com");
    (void)snprintf(
        oauth->challenge, sizeof oauth->challenge,
        "Bearer authorization_uri=https://login.microsoftonline.com/%.*s/oauth2/authorize "
        "resource_id=%.*s",
        STR_ARG(tenant), STR_ARG(resource));
}

static struct err start(struct oauth *oauth)
{
    oauth->basic = strcmp(oauth->text, "basic") == 0;
    if (!oauth->basic)
        TRY(read_settings(oauth));
    make_challenge(oauth);
    if (oauth->basic)
        return OK;
    TRY(load_roles(oauth));
    if (err_is(load_keys(oauth)))
        return refuse("--oauth: the key set cannot be read, or holds no RSA or P-256 key");
    return start_refresher(oauth) ? OK : refuse("--oauth: no thread can be made");
}

struct err oauth_new(const char *setting, struct oauth **out)
{
    struct oauth *oauth = MEM_NEW(struct oauth);
    size_t n = strlen(setting);
    oauth->text = memcpy(mem_alloc(n + 1), setting, n + 1);
    (void)pthread_rwlock_init(&oauth->keys_lock, NULL);
    struct err error = start(oauth);
    if (err_is(error))
        oauth_free(oauth);
    else
        *out = oauth;
    return error;
}

void oauth_free(struct oauth *oauth)
{
    if (oauth == NULL)
        return;
    if (oauth->running) {
        (void)pthread_mutex_lock(&oauth->lock);
        oauth->stopping = true;
        (void)pthread_cond_signal(&oauth->wake);
        (void)pthread_mutex_unlock(&oauth->lock);
        (void)pthread_join(oauth->thread, NULL);
        (void)pthread_cond_destroy(&oauth->wake);
        (void)pthread_mutex_destroy(&oauth->lock);
    }
    jwks_free(oauth->keys);
    roles_free(oauth->roles);
    (void)pthread_rwlock_destroy(&oauth->keys_lock);
    free(oauth->text);
    free(oauth);
}

const struct roles *oauth_roles(const struct oauth *oauth)
{
    return oauth->roles;
}

struct str oauth_challenge(const struct oauth *oauth)
{
    if (oauth != NULL)
        return str_of(oauth->challenge);
    return STR("Bearer authorization_uri=https://login.microsoftonline.com/"
               "00000000-0000-0000-0000-000000000000/oauth2/authorize "
               "resource_id=https://storage.azure.com");
}

/* ---- claims ---- */

bool oauth_is_cloud(struct str domain)
{
    static const struct str CLOUDS[] = {
        STR_INIT("core.windows.net"), STR_INIT("core.chinacloudapi.cn"),
        STR_INIT("core.usgovcloudapi.net"), STR_INIT("core.cloudapi.de")};
    for (size_t i = 0; i < sizeof CLOUDS / sizeof CLOUDS[0]; i++)
        if (str_ieq(domain, CLOUDS[i]))
            return true;
    return false;
}

/* "https://account.blob.core.windows.net", in any of Azure's clouds. */
static bool is_account_audience(struct str audience, const struct oauth_audience *wanted)
{
    static const struct str SERVICES[] = {STR_INIT(".blob."), STR_INIT(".queue."),
                                          STR_INIT(".table."), STR_INIT(".file.")};
    struct str rest = audience;
    const struct str parts[] = {STR("https://"), wanted->account, SERVICES[wanted->service]};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (!str_starts(rest, parts[i]))
            return false;
        rest = str_from(rest, parts[i].n);
    }
    return oauth_is_cloud(rest);
}

static bool is_audience(const struct oauth *oauth, struct str audience,
                        const struct oauth_audience *wanted)
{
    audience = without_slash(audience);
    if (oauth->basic)
        return str_eq(audience, STR("https://storage.azure.com")) ||
               str_eq(audience, STR("e406a681-f3d4-42a8-90b6-c2b029497af1")) ||
               is_account_audience(audience, wanted);
    for (size_t i = 0; i < oauth->audience_count; i++)
        if (str_eq(audience, without_slash(oauth->audiences[i])))
            return true;
    return false;
}

static bool takes_issuer(const struct oauth *oauth, struct str issuer)
{
    static const struct str PREFIXES[] = {
        STR_INIT("https://sts.windows.net/"), STR_INIT("https://sts.microsoftonline.de/"),
        STR_INIT("https://sts.chinacloudapi.cn/"), STR_INIT("https://sts.windows-ppe.net")};
    if (!oauth->basic)
        return str_eq(without_slash(issuer), without_slash(oauth->issuer));
    for (size_t i = 0; i < sizeof PREFIXES / sizeof PREFIXES[0]; i++)
        if (str_starts(issuer, PREFIXES[i]))
            return true;
    return false;
}

bool oauth_takes_audience(const struct oauth *oauth, const struct jwt *token,
                          const struct oauth_audience *wanted)
{
    for (size_t i = 0; i < token->audience_count; i++)
        if (is_audience(oauth, token->audiences[i], wanted))
            return true;
    return false;
}

const char *oauth_refuses(struct oauth *oauth, const struct jwt *token,
                          const struct oauth_audience *wanted)
{
    if (!token->timed || token->issuer.n == 0 || token->audience_count == 0)
        return "Authentication scheme Bearer is not supported.";
    if (!oauth->basic && verify(oauth, token) != JWKS_GOOD)
        return "Signature validation failed.";
    int64_t now = wanted->now / TICKS_PER_SECOND;
    if (now < token->not_before)
        return "Lifetime validation failed.";
    if (now >= token->expiry)
        return "Lifetime validation failed. The token is expired.";
    if (!takes_issuer(oauth, token->issuer))
        return "Invalid token issuer.";
    return oauth_takes_audience(oauth, token, wanted) ? NULL : "Invalid token audience.";
}
