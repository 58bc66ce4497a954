/* SPDX-License-Identifier: Apache-2.0 */
/* Combinations of valid settings that are probably mistakes: each causes a warning at the start. */
#include <string.h>
#include <unistd.h>

#include "config/flags.h"

static bool is_given(const struct config *c, const char *name)
{
    return c->origins[flag_index(flag_find(str_of(name)))].source != CONFIG_BY_DEFAULT;
}

static bool serves_nothing(const struct config *c)
{
    bool nothing = c->smb_port == CONFIG_PORT_OFF;
    for (size_t i = 0; i < CONFIG_SERVICES; i++)
        nothing = nothing && c->port[i] == CONFIG_PORT_OFF;
    return nothing;
}

/* LAZULI_BIN names the program for those that start it. */
static bool is_known_variable(struct str name)
{
    char variable[FLAG_VARIABLE_BYTES];
    if (str_eq(name, STR("LAZULI_BIN")) || str_starts(name, STR("LAZULI_TEST_")))
        return true;
    for (size_t i = 0; i < CONFIG_FLAG_COUNT; i++) {
        flag_variable(&CONFIG_FLAGS[i], variable);
        if (!CONFIG_FLAGS[i].action && str_eq(name, str_of(variable)))
            return true;
    }
    return false;
}

static void check_variables(void)
{
    for (char **at = environ; *at != NULL; at++) {
        struct str rest = str_of(*at);
        struct str name = str_cut(&rest, '=');
        if (str_starts(name, STR("LAZULI_")) && !is_known_variable(name))
            log_line(LOG_WARN, "%.*s: no such setting, passed over", STR_ARG(name));
    }
}

void config_check(const struct config *c)
{
    if (serves_nothing(c))
        log_line(LOG_WARN, "every service is turned off: there is nothing to serve");
    if (c->oauth != NULL && c->cert == NULL)
        log_line(LOG_WARN, "--oauth without --cert: bearer tokens are taken over HTTPS only");
    if (c->cert == NULL && (c->key != NULL || c->pwd != NULL))
        log_line(LOG_WARN, "--key and --pwd mean nothing without --cert");
    if (c->in_memory && is_given(c, "--data"))
        log_line(LOG_WARN, "--in-memory: nothing is kept in --data %s", c->data);
    if (!c->in_memory && is_given(c, "--memory-limit-mib"))
        log_line(LOG_WARN, "--memory-limit-mib (--extentMemoryLimit) means nothing without "
                           "--in-memory: data is on disk");
    if (c->engine != CONFIG_ENGINE_CLUSTER && (c->rows != NULL || c->extents != NULL))
        log_line(LOG_WARN, "--rows and --extents mean nothing without --engine cluster");
    if (!c->test_control && c->test_control_token != NULL)
        log_line(LOG_WARN, "--test-control-token means nothing without --test-control");
    if (c->azurite != NULL)
        log_line(
            LOG_INFO,
            "%s has Azurite's data: the server's own is in %s. `lazuli import azurite %s --data "
            "%s` takes it over",
            c->azurite, c->data, c->azurite, c->azurite);
    check_variables();
}
