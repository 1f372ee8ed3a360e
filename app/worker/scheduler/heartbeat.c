#include "heartbeat.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/version.h"
#include "store/token.h"
#include "store/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#define LOCK_WAIT_S 3

/* Reads the boot id. Source: random(4), /proc/sys/kernel/random/boot_id */
static int
read_boot_id(char out[static BOOT_ID_LEN])
{
	CLEANUP_BUF struct buf text = BUF_INIT(64);
	int rc = file_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id", &text);

	if (rc)
		return rc;
	snprintf(out, BOOT_ID_LEN, "%.36s", buf_str(&text));
	return 0;
}

static void
interrupt(int signal)
{
	(void)signal;
}

/* Waits for the lock, since a worker that was killed may take some time to
 * end. */
static int
lock_within(int fd, unsigned seconds)
{
	struct sigaction wake = {.sa_handler = interrupt}, before;
	int rc;

	if (sigaction(SIGALRM, &wake, &before))
		return -errno;
	alarm(seconds);
	rc = flock(fd, LOCK_EX) ? -errno : 0;
	alarm(0);
	(void)sigaction(SIGALRM, &before, NULL);
	return rc == -EINTR ? -EEXIST : rc;
}

/* Takes the lock of this host. The API's user may create or remove the file,
 * and so keep the worker from starting, but the file is never read, and no
 * link is followed. */
static int
lock_host(const struct conf *conf, int *out)
{
	char path[PATH_MAX];
	CLEANUP_FD int fd = -1;
	int rc = worker_lock_path(conf, path);

	if (rc)
		return rc;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0)
		return -errno;
	rc = lock_within(fd, LOCK_WAIT_S);
	if (rc)
		return rc;
	*out = TAKE_FD(fd);
	return 0;
}

int
worker_self_init(const struct conf *conf, struct worker_self *out,
                 struct buf *why)
{
	struct worker_self w = {
		.lock_fd = -1,
		.lease_ms = conf->worker_lease * MS_PER_S,
	};
	int rc = conf_host(conf, w.host);

	if (!rc)
		rc = read_boot_id(w.boot_id);
	if (!rc)
		rc = lock_host(conf, &w.lock_fd);
	if (rc) {
		buf_addf(why, "%s: %s", conf->store_dir,
		         rc == -EEXIST ? "another worker of this host runs"
		                       : strerror(-rc));
		return rc;
	}
	*out = w;
	return 0;
}

void
worker_self_done(struct worker_self *w)
{
	close_ptr(&w->lock_fd);
}

/* Logs an error while a host of a fleet has a key for this worker's name. */
static int
look_for_rival(struct worker_self *w, struct store *s)
{
	CLEANUP_TOKENS struct token_list l = {0};
	int rc = token_of_host(s, w->host, &l);

	if (!rc && l.n && !w->has_rival)
		log_err("the API key %s is for a host of a fleet named %s, as "
		        "this one is: revoke it, or change host in [worker]",
		        l.items[0].id, w->host);
	if (!rc)
		w->has_rival = l.n > 0;
	return rc;
}

int
worker_beat(struct worker_self *w, struct store *s, const char *capabilities,
            int64_t now_ns)
{
	struct worker row = {
		.host = w->host,
		.boot_id = w->boot_id,
		.version = (char *)stoker_version,
		.capabilities = (char *)capabilities,
		.pid = getpid(),
	};
	int rc;

	rc = worker_clock(s, &row.clock_ms)
	             ?: worker_heartbeat(s, &row, w->lease_ms)
	             ?: look_for_rival(w, s);
	if (!rc)
		w->next_ns = now_ns + w->lease_ms * NS_PER_MS / 3;
	return rc;
}
