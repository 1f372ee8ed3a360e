/*
 * Servers for tests, on free ports of 127.0.0.1.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Returns a listening socket, and its port. */
int listener_open(uint16_t *port);
/* Starts a process that forks a child for each connection; the child calls
 * answer and closes the connection. They all end with the caller. */
pid_t listener_serve(int fd, void (*answer)(void *arg, int fd), void *arg);
/* Sends all bytes, unless the client has left. */
void listener_send(int fd, const char *p, size_t n);
