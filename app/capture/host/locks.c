#include "locks.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/shortage.h"
#include "capture/host/locks.skel.h"
#include "locks_layout.h"
#include "program.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROWS     1024 /* threads; the rest is not looked at */
#define STEP_NS  (1 * NS_PER_MS)
#define PAUSE_NS (100 * NS_PER_MS) /* between two looks that found one */

DEFINE_CLEANUP(struct locks_bpf *, locks_bpf__destroy)

int
locks_open(int *fd)
{
	CLEANUP(locks_bpf__destroy_ptr) struct locks_bpf *bpf = NULL;
	int rc;

	libbpf_set_print(NULL);
	bpf = locks_bpf__open();
	rc = bpf ? locks_bpf__load(bpf) : -errno;
	if (rc)
		return rc == -EPERM || is_shortage(rc) ? rc : -EOPNOTSUPP;
	rc = program_keep(bpf_program__fd(bpf->progs.stoker_locks));
	if (rc < 0)
		return rc;
	*fd = rc;
	return 0;
}

/* Returns the number of rows. */
static size_t
list(int prog_fd, struct locks_row out[static ROWS])
{
	CLEANUP_FD int link = bpf_link_create(prog_fd, 0, BPF_TRACE_ITER, NULL);
	CLEANUP_FD int fd = link < 0 ? -1 : bpf_iter_create(link);
	size_t len = 0;
	ssize_t n;

	while (fd >= 0 && len < ROWS * sizeof(*out) &&
	       (n = read(fd, (char *)out + len, ROWS * sizeof(*out) - len)) > 0)
		len += (size_t)n;
	return len / sizeof(*out);
}

static bool
has(const struct locks_row *rows, size_t n, const struct locks_row *want)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].mm == want->mm && rows[i].count == want->count &&
		    rows[i].owner == want->owner)
			return true;
	return false;
}

static void
sleep_ns(int64_t ns)
{
	const struct timespec t = {.tv_nsec = ns};

	(void)nanosleep(&t, NULL);
}

/* Most locks are held for some microseconds: keeps the rows whose lock has not
 * changed. */
int
locks_look(int fd, int32_t *pid)
{
	static struct locks_row rows[ROWS], now[ROWS];
	static int32_t logged;
	const int64_t end = clock_mono_ns() + LOCKS_NS;
	size_t n = list(fd, rows);

	while (n && clock_mono_ns() < end) {
		size_t kept = 0, found;

		sleep_ns(STEP_NS);
		found = list(fd, now);
		for (size_t i = 0; i < n; i++)
			if (has(now, found, &rows[i]))
				rows[kept++] = rows[i];
		n = kept;
	}
	if (!n)
		return 0;
	*pid = rows[0].pid;
	if (*pid != logged)
		log_warn("process %d keeps its memory locked: meanwhile, no "
		         "probe is inserted or removed, since no process of "
		         "the host could fork",
		         *pid);
	logged = *pid;
	return -EBUSY;
}

void
locks_wait(int fd)
{
	int32_t pid;

	while (locks_look(fd, &pid))
		sleep_ns(PAUSE_NS);
}
