/*
 * A queue in which processes commit windows together (store/window.h): all that
 * wait while one transaction is written to disk become the next one.
 */
#pragma once

#include "store/window.h"

#define WINDOW_QUEUE_SUFFIX "-pushes" /* of the database's file name */
struct window_queue {
	int fd;
	struct queue_file *file;
	struct queue_slot *own; /* NULL: not open; each is committed alone */
};
#define WINDOW_QUEUE_INIT \
	{                 \
		.fd = -1  \
	}
#define CLEANUP_WINDOW_QUEUE CLEANUP(window_queue_close)

/*
 * Opens the queue of a store, a file beside its database.
 *   Owns     *out is the caller's; window_queue_close() it
 *   Errors   -errno, -EOPNOTSUPP for a database server, which does this itself,
 *            -EUSERS if too many processes have it open, -EPROTO if those
 *            belong to another release; *out untouched
 */
MUST_CHECK int
window_queue_open(const struct store *s, struct window_queue *out);
void window_queue_close(struct window_queue *q);
/*
 * Does what window_commit() does, with other processes.
 *   Errors   those of window_commit(); -EBUSY when the turn does not come;
 *            -EINPROGRESS when it was another process's, which does not end:
 *            the windows may still be stored, and their bytes are to stay
 */
MUST_CHECK int window_queue_commit(struct store *s, struct window_queue *q,
                                   const struct segment *g,
                                   const struct window_ask *w, size_t n);
