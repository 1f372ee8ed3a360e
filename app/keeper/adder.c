#include "adder.h"

#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "profile/merge.h"
#include "upkeep/batch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_RAW     ((size_t)256 << 20) /* of one sum, decoded */
#define CHILD_CPU_S 60

/* --- in the child --------------------------------------------------------- */

static int
read_all(int fd, void *out, size_t n)
{
	char *p = out;

	while (n) {
		ssize_t got = read(fd, p, n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -ENODATA;
		p += got;
		n -= (size_t)got;
	}
	return 0;
}

/* Reads and adds the next profile: a length, then bytes. Returns -ENODATA at
 * the end. */
static int
add_next(int from, struct merge *m)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_FREE char *p = NULL;
	uint32_t n;
	int rc = read_all(from, &n, sizeof(n));

	if (rc)
		return rc;
	p = malloc((size_t)n + 1);
	if (!p)
		return -ENOMEM;
	rc = read_all(from, p, n);
	return rc ? -EIO : merge_add_file(m, p, n, MAX_RAW, &why);
}

static int
add_all(int from, int to, bool parts)
{
	CLEANUP_BUF struct buf sum = BUF_INIT((size_t)WINDOW_MAX_BYTES);
	CLEANUP_MERGE struct merge *m = NULL;
	int rc = merge_new(MAX_RAW, &m);

	if (!rc && parts)
		merge_keep_parts(m);
	else if (!rc) /* a day has no ids: its hours keep them */
		merge_forget_ids(m);
	while (!rc)
		rc = add_next(from, m);
	if (rc == -ENODATA)
		rc = merge_encode(m, &sum);
	return rc ? rc : fd_write_all(to, sum.p, sum.len);
}

/* Closes all descriptors but these two. */
static void
close_others(int one, int other)
{
	unsigned low = (unsigned)(one < other ? one : other);
	unsigned high = (unsigned)(one < other ? other : one);

	if (low)
		close_range(0, low - 1, 0);
	if (high - low > 1)
		close_range(low + 1, high - 1, 0);
	close_range(high + 1, ~0U, 0);
}

static _Noreturn void
be_child(int from, int to, bool parts)
{
	const struct rlimit cpu = {CHILD_CPU_S, CHILD_CPU_S};

	close_others(from, to);
	if (memory_bound(MEMORY_SUMS) || setrlimit(RLIMIT_CPU, &cpu))
		_exit(1);
	_exit(add_all(from, to, parts) != 0);
}

/* --- in the keeper -------------------------------------------------------- */

/* Sends the profiles of the windows to the child. */
static int
feed(const struct adder *a, struct window_list *l, int to)
{
	int rc = 0;

	for (size_t i = 0; i < l->n && !rc; i++) {
		CLEANUP_BUF struct buf bytes = BUF_INIT(WINDOW_MAX_BYTES);
		uint32_t n;

		if (!a->goes_on(a->arg))
			return -ECANCELED;
		rc = batch_profile(a->store, l, i, &bytes);
		if (rc || !bytes.len)
			continue;
		n = (uint32_t)bytes.len;
		rc = fd_write_all(to, &n, sizeof(n))
		             ?: fd_write_all(to, bytes.p, bytes.len);
	}
	return rc;
}

static bool
ends_well(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

static bool
has_samples(const struct window_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->items[i].length)
			return true;
	return false;
}

int
adder_sum(const struct adder *a, struct window_list *windows, bool parts,
          struct buf *out)
{
	CLEANUP_FD int result = memfd_create("stoker-sum", MFD_CLOEXEC);
	int ends[2], rc;
	pid_t pid;
	off_t length;

	if (!has_samples(windows))
		return 0;
	if (result < 0 || pipe2(ends, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (!pid)
		be_child(ends[0], result, parts);
	close(ends[0]);
	rc = pid < 0 ? -EAGAIN : feed(a, windows, ends[1]);
	close(ends[1]);
	if (pid < 0)
		return rc;
	if (rc && rc != -EPIPE) /* an incomplete sum is useless */
		kill(pid, SIGKILL);
	if (!ends_well(pid))
		return rc && rc != -EPIPE ? rc : -EBADMSG;
	length = lseek(result, 0, SEEK_END);
	return rc ? rc : fd_read_at(result, 0, length, out);
}
