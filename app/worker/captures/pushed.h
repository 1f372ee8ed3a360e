/*
 * Debug files that clients pushed (store/debug_file.h), while the analyser
 * names a profile from them. Their bytes are not parsed here.
 */
#pragma once

#include "base/memory.h"
#include "store/debug_file.h"
#include "worker/ipc/messages.h"

/* Most bytes that are copied because the store has them elsewhere: an upload
 * and frames may be named at once. */
#define PUSHED_COPIED (MEMORY_PUSHED / 2)

struct pushed {
	uint32_t n;
	char ids[WORKER_MAX_PUSHED][ID_MAX];
	struct msg_pushed rows[WORKER_MAX_PUSHED];
	int fds[WORKER_MAX_PUSHED];
};

/*
 * Opens the files of a list, without those that cannot be read, and without
 * those whose copies would take more than max_copied bytes together.
 */
void pushed_open(struct pushed *p, struct store *s,
                 const struct debug_file_uses *l, int64_t max_copied);
/* Sends the message with its two descriptors and the files, and closes the
 * files. */
MUST_CHECK int pushed_send(struct pushed *p, int socket,
                           struct msg_symbolize *m, const int fds[static 2]);
/* Records which files were used, and which were refused. */
void
pushed_report(struct pushed *p, struct store *s, const struct msg_done *done);
void pushed_close(struct pushed *p);
