#include "db_watch.h"

#include "base/clock.h"
#include "counters.h"

#include <errno.h>
#include <poll.h>

/* Waits for a commit, or for DB_LOOK_MS in case one goes unnoticed. Errors as
 * db_watch_until(). */
static int
wait_for_commit(struct db *db, const struct request *r, int64_t deadline_ns)
{
	struct pollfd fds[] = {
		{.fd = db_wake_fd(db), .events = POLLIN},
		{.fd = r->stop_fd, .events = POLLIN},
		{.fd = r->peer_fd, .events = POLLRDHUP},
	};
	int64_t left = deadline_ns - clock_mono_ns();
	int wait_ms = DB_LOOK_MS;

	if (left <= 0)
		return -ETIMEDOUT;
	if (left < DB_LOOK_MS * NS_PER_MS)
		wait_ms = (int)(left / NS_PER_MS) + 1;
	if (poll(fds, ARRAY_LEN(fds), db_woken(db) ? 0 : wait_ms) < 0)
		return errno == EINTR ? 0 : -errno;
	return fds[1].revents || fds[2].revents ? -ECANCELED : 0;
}

int
db_watch_until(struct call *c, int (*check)(struct call *c, void *arg),
               void *arg, int64_t deadline_ns)
{
	struct db *db = c->env->store.db;
	int rc;

	(void)db_woken(db); /* forget commits that check() will see */
	rc = check(c, arg);
	if (rc != -EAGAIN)
		return rc;
	if (!counters_wait_begin(c->env->counters))
		return -ETIMEDOUT;
	while (rc == -EAGAIN)
		rc = wait_for_commit(db, c->req, deadline_ns) ?: check(c, arg);
	counters_wait_end(c->env->counters);
	return rc;
}
