/* SPDX-License-Identifier: Apache-2.0 */
#include "reachable.h"

#include <string.h>

bool host_is_loopback(const char *host)
{
    return strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0 ||
           strcmp(host, "localhost") == 0;
}

const char *reachable_service(const struct config *config)
{
    for (size_t i = 0; i < CONFIG_SERVICES; i++)
        if (config->port[i] != CONFIG_PORT_OFF && !host_is_loopback(config->host[i]))
            return config->host[i];
    if (config->dfs_port != CONFIG_PORT_OFF && !host_is_loopback(config->dfs_host))
        return config->dfs_host;
    return NULL;
}

const char *reachable_host(const struct config *config)
{
    const char *service = reachable_service(config);
    if (service != NULL)
        return service;
    if (config->smb_port != CONFIG_PORT_OFF && !host_is_loopback(config->smb_host))
        return config->smb_host;
    if (config->admin_port != CONFIG_PORT_OFF && !host_is_loopback(config->admin_host))
        return config->admin_host;
    return NULL;
}
