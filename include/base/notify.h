/*
 * Tells the service manager about this process.
 *
 * Source: sd_notify(3), which describes the protocol for programs that do not
 * link libsystemd: one datagram to the socket that NOTIFY_SOCKET names.
 */
#pragma once

/* Sends lines like "READY=1" or "WATCHDOG=1"; without a manager that listens,
 * it does nothing. */
void notify_manager(const char *lines);
