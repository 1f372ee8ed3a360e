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

#define ROWS     1024 /* processes with locked memory */
#define LOG_NS   (60 * NS_PER_S)
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

/* True if a lock is still held: by the same writer, or by any readers, who may
 * share it without ever letting go. */
static bool
has(const struct locks_row *rows, size_t n, const struct locks_row *want)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].mm == want->mm && rows[i].writer == want->writer)
			return true;
	return false;
}

static void
sleep_ns(int64_t ns)
{
	const struct timespec t = {.tv_nsec = ns};

	(void)nanosleep(&t, NULL);
}

/* Most locks are held for some microseconds: keeps the rows of locks that are
 * held in each step. A full list counts as a lock that is held. */
int
locks_look(int fd, int32_t *pid)
{
	static struct locks_row rows[ROWS], now[ROWS];
	static int64_t logged_ns;
	const int64_t end = clock_mono_ns() + LOCKS_NS;
	size_t n = list(fd, rows);

	while (n && n < ROWS && clock_mono_ns() < end) {
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
	if (clock_mono_ns() - logged_ns > LOG_NS || !logged_ns) {
		log_warn("process %d keeps its memory locked: meanwhile, no "
		         "probe is inserted or removed, since no process of "
		         "the host could fork",
		         *pid);
		logged_ns = clock_mono_ns();
	}
	return -EBUSY;
}

void
locks_wait(int fd)
{
	int32_t pid;

	while (locks_look(fd, &pid))
		sleep_ns(PAUSE_NS);
}
