/* SPDX-License-Identifier: Apache-2.0 */
/* Tells the service manager that started the server how it is (systemd's Type=notify). */
#ifndef NOTIFY_H
#define NOTIFY_H

/* "READY=1", "STOPPING=1"; to the socket of the variable NOTIFY_SOCKET, and to nobody without it.
 */
void notify_manager(const char *state);

#endif
