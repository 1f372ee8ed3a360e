/*
 * Messages between the processes of one program: a SOCK_SEQPACKET pair that
 * carries fixed structs and descriptors.
 *
 * The receiver treats every message as hostile: msg_recv() reports the true
 * length, closes descriptors past the expected count, and the caller checks
 * the length against the struct it expects.
 */
#pragma once

#include "base/cleanup.h"

#include <stddef.h>

#define MSG_FDS_MAX 64

/* Makes a connected pair; both ends are CLOEXEC. */
MUST_CHECK int msg_pair(int out[static 2]);
/*
 * Sends len bytes and nfds descriptors as one message; blocks while the socket
 * is full.
 *   Owns     the caller keeps its descriptors
 *   Errors   -errno, -EPIPE when the peer is gone
 */
MUST_CHECK int
msg_send(int sock, const void *p, size_t len, const int *fds, size_t nfds);
/* As msg_send(), but fails with -EAGAIN while the socket is full. */
MUST_CHECK int msg_try_send(int sock, const void *p, size_t len, const int *fds,
                            size_t nfds);
/*
 * Receives one message.
 *
 *   Shape    *nfds is the room in fds, and on return the number received
 *   Owns     received descriptors are the caller's, CLOEXEC
 *   Errors   returns bytes, 0 when the peer is gone, -errno; -EMSGSIZE if the
 *            message or its descriptors did not fit (all are closed)
 */
MUST_CHECK ssize_t msg_recv(int sock, void *p, size_t max, int *fds,
                            size_t *nfds);
