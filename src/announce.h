/* SPDX-License-Identifier: Apache-2.0 */
/* Signals of readiness for programs that start the server: Azurite's lines on stdout, and the file
 * of --ports-file. */
#ifndef ANNOUNCE_H
#define ANNOUNCE_H

#include "config.h"

/* The ports that are listened on, in the order of enum service_kind; 0: none. */
struct announce_ports {
    uint16_t service[CONFIG_SERVICES];
    uint16_t smb;
    uint16_t dfs;
    uint16_t admin;
};

/* "… service is starting …" and "… is successfully listening …", in Azurite's words; printed even
 * with --silent. */
void announce_started(const struct config *config, const struct announce_ports *ports);
void announce_closing(const struct config *config, const struct announce_ports *ports);
void announce_closed(const struct config *config, const struct announce_ports *ports);

/* {"blob": {"host": "127.0.0.1", "port": 10000, "url": "http://127.0.0.1:10000"}, …}, put in place
 * whole. An exit status. */
int announce_write_ports(const struct config *config, const struct announce_ports *ports);

#endif
