/*
 * Reports the state of this process to the service manager.
 *
 * Source: sd_notify(3), which describes the protocol for programs that do not
 * link libsystemd: one datagram to the socket that NOTIFY_SOCKET names.
 */
#pragma once

/* Sends lines such as "READY=1" or "WATCHDOG=1". Does nothing if no manager
 * listens. */
void notify_manager(const char *lines);
