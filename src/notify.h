/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the server's state to the service manager that started it (systemd's Type=notify). */
#ifndef NOTIFY_H
#define NOTIFY_H

/* Sends "READY=1" or "STOPPING=1" to the socket that the variable NOTIFY_SOCKET names. Does nothing
 * if it is not set. */
void notify_manager(const char *state);

#endif
