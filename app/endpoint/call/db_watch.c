#include "db_watch.h"

#include "base/clock.h"
#include "counters.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/inotify.h>

/* An inotify descriptor; -1: none. */
struct db_watch {
	int fd;
};
#define CLEANUP_DB_WATCH CLEANUP(db_watch_close)

static void
db_watch_close(struct db_watch *w)
{
	close_ptr(&w->fd);
}

/* Opens a watch; call it before the read whose change is awaited. */
static int
db_watch_open(const struct store *s, struct db_watch *out)
{
	CLEANUP_DB_WATCH struct db_watch w = {
		.fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK),
	};
	char path[4096];

	if (w.fd < 0)
		return -errno;
	snprintf(path, sizeof(path), "%s/stoker.db", s->dir);
	if (inotify_add_watch(w.fd, path, IN_ATTRIB) < 0)
		return -errno;
	out->fd = TAKE_FD(w.fd);
	return 0;
}

static void
drain(int fd)
{
	char events[4096];

	while (read(fd, events, sizeof(events)) > 0)
		;
}

/* Waits for a commit; errors as of db_watch_until(). */
static int
db_watch_wait(const struct db_watch *w, const struct request *r,
              int64_t deadline_ns)
{
	struct pollfd fds[] = {
		{.fd = w->fd, .events = POLLIN},
		{.fd = r->stop_fd, .events = POLLIN},
		{.fd = r->peer_fd, .events = POLLRDHUP},
	};
	int64_t left = deadline_ns - clock_mono_ns();
	struct timespec t = {
		.tv_sec = left / NS_PER_S,
		.tv_nsec = left % NS_PER_S,
	};
	int n;

	if (left <= 0)
		return -ETIMEDOUT;
	n = ppoll(fds, ARRAY_LEN(fds), &t, NULL);
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (n == 0)
		return -ETIMEDOUT;
	if (fds[1].revents || fds[2].revents)
		return -ECANCELED;
	drain(w->fd);
	return 0;
}

int
db_watch_until(struct call *c, int (*check)(struct call *c, void *arg),
               void *arg, int64_t deadline_ns)
{
	CLEANUP_DB_WATCH struct db_watch w = {.fd = -1};
	int rc = db_watch_open(&c->env->store, &w) ?: check(c, arg);

	if (rc != -EAGAIN)
		return rc;
	if (!counters_wait_begin(c->env->counters))
		return -ETIMEDOUT;
	while (rc == -EAGAIN)
		rc = db_watch_wait(&w, c->req, deadline_ns) ?: check(c, arg);
	counters_wait_end(c->env->counters);
	return rc;
}
