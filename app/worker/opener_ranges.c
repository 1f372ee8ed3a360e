/*
 * Memory of a target, many pieces at once, straight into the file that is
 * handed out. What the pieces mean is for the asker to know.
 */
#include "capture/ranges.h"
#include "opener.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#define IOVECS 1024 /* UIO_MAXIOV */

struct ranges {
	pid_t pid;
	uint32_t n;
	int fd; /* the file that is handed out: */
	size_t size;
	char *map;
	struct range *rows; /* map's start */
};

static void
ranges_done(struct ranges *r)
{
	if (r->map)
		munmap(r->map, r->size);
	close_ptr(&r->fd);
}

/* Copies them out of the asker's file, which may change under us. */
static int
take_rows(int in, uint32_t n, struct range **out)
{
	CLEANUP_FREE struct range *rows = calloc(n, sizeof(*rows));
	size_t size = n * sizeof(*rows);

	if (!rows)
		return -ENOMEM;
	if (pread(in, rows, size, 0) != (ssize_t)size)
		return -EINVAL;
	*out = TAKE(rows);
	return 0;
}

static int
data_bytes(const struct range *rows, uint32_t n, size_t *out)
{
	size_t sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (!rows[i].len || rows[i].len > RANGES_MAX_BYTES)
			return -EINVAL;
		sum += range_room(&rows[i]);
		if (sum > RANGES_MAX_BYTES)
			return -E2BIG;
	}
	*out = sum;
	return 0;
}

static int
open_answer(struct ranges *r, const struct range *rows, size_t bytes)
{
	void *map;

	r->size = range_data_at(r->n) + bytes;
	r->fd = memfd_create("stoker-ranges", MFD_CLOEXEC);
	if (r->fd < 0 || ftruncate(r->fd, (off_t)r->size))
		return -errno;
	map = mmap(NULL, r->size, PROT_READ | PROT_WRITE,
	           MAP_SHARED | MAP_POPULATE, r->fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	r->map = map;
	r->rows = map;
	memcpy(r->rows, rows, r->n * sizeof(*rows));
	return 0;
}

/*
 * Notes what n bytes read mean for the ranges of one call; how many of them
 * need not be asked for again: those read, and the one that it ended in.
 *   Source   process_vm_readv(2): elements are taken in order
 */
static uint32_t
note_read(struct range *rows, uint32_t count, size_t n)
{
	uint32_t i = 0;

	for (; i < count && n >= rows[i].len; i++) {
		rows[i].got = rows[i].len;
		n -= rows[i].len;
	}
	if (i < count)
		rows[i++].got = (uint32_t)n;
	return i;
}

/* Reads up to IOVECS ranges from first on; how many are done with. */
static int
read_some(const struct ranges *r, uint32_t first, char *at)
{
	static struct iovec from[IOVECS], to[IOVECS];
	uint32_t n = 0;
	ssize_t got;

	for (; n < IOVECS && first + n < r->n; n++) {
		struct range *row = &r->rows[first + n];

		row->got = 0;
		from[n].iov_base = (void *)(uintptr_t)row->addr; // NOLINT
		from[n].iov_len = to[n].iov_len = row->len;
		to[n].iov_base = at;
		at += range_room(row);
	}
	got = process_vm_readv(r->pid, to, n, from, n, 0);
	if (got < 0 && errno != EFAULT)
		return -errno;
	return (int)note_read(&r->rows[first], n, got > 0 ? (size_t)got : 0);
}

static int
read_all(const struct ranges *r)
{
	char *at = r->map + range_data_at(r->n);

	for (uint32_t i = 0; i < r->n;) {
		int done = read_some(r, i, at);

		if (done < 0)
			return done;
		for (; done; done--)
			at += range_room(&r->rows[i++]);
	}
	return 0;
}

int
read_ranges(const struct conf *conf, const struct host_ask *ask,
            struct answer *out)
{
	CLEANUP(ranges_done)
	struct ranges r = {.pid = ask->pid, .n = ask->count, .fd = -1};
	CLEANUP_FREE struct range *rows = NULL;
	size_t bytes = 0;
	int rc;

	(void)conf;
	if (ask->pid <= 0 || !ask->count || ask->count > RANGES_MAX ||
	    out->in < 0)
		return -EINVAL;
	rc = take_rows(out->in, r.n, &rows);
	if (!rc)
		rc = data_bytes(rows, r.n, &bytes);
	if (!rc)
		rc = open_answer(&r, rows, bytes);
	if (!rc)
		rc = read_all(&r);
	if (!rc)
		out->fds[out->nfds++] = TAKE_FD(r.fd);
	return rc;
}
