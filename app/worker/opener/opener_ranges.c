/*
 * Copies many ranges of a target's memory at once into a file of the client.
 * The file is written, never mapped, since the client may truncate it
 * meanwhile. The contents of the ranges are not parsed.
 */
#include "capture/ranges.h"
#include "opener.h"

#include <errno.h>
#include <sys/uio.h>

#define IOVECS 1024                /* UIO_MAXIOV */
#define ROOM   ((size_t)256 << 10) /* bytes in transit; fits a CPU cache */

struct ranges {
	pid_t pid;
	int file;
	uint32_t n;
	struct memory_range *rows;
	char *room;
	/* State of copying. */
	uint32_t at;   /* row */
	uint32_t done; /* bytes of that row */
	size_t place;  /* offset in the file */
};

static void
ranges_done(struct ranges *r)
{
	free(r->rows);
	free(r->room);
}

static int
take_rows(struct ranges *r)
{
	size_t size = r->n * sizeof(*r->rows), sum = 0;

	r->rows = malloc(size);
	r->room = malloc(ROOM);
	if (!r->rows || !r->room)
		return -ENOMEM;
	if (pread(r->file, r->rows, size, 0) != (ssize_t)size)
		return -EINVAL;
	for (uint32_t i = 0; i < r->n; i++) {
		if (!r->rows[i].len || r->rows[i].len > RANGES_MAX_BYTES)
			return -EINVAL;
		r->rows[i].got = 0;
		sum += r->rows[i].len;
		if (sum > RANGES_MAX_BYTES)
			return -E2BIG;
	}
	return 0;
}

static int
put(const struct ranges *r, const void *p, size_t n, size_t at)
{
	ssize_t wrote = n ? pwrite(r->file, p, n, (off_t)at) : 0;

	return wrote == (ssize_t)n ? 0 : wrote < 0 ? -errno : -EIO;
}

/* Lists as many of the remaining ranges as one call takes. Returns their
 * number. */
static uint32_t
next_iovecs(const struct ranges *r, struct iovec *out, size_t *bytes)
{
	uint32_t n = 0, skip = r->done;

	*bytes = 0;
	for (; n < IOVECS && r->at + n < r->n && *bytes < ROOM; n++) {
		const struct memory_range *row = &r->rows[r->at + n];
		size_t len = row->len - skip;

		if (len > ROOM - *bytes)
			len = ROOM - *bytes;
		out[n].iov_base =
			(void *)(uintptr_t)(row->addr + skip); // NOLINT
		out[n].iov_len = len;
		*bytes += len;
		skip = 0;
	}
	return n;
}

/* Goes on to the next row. */
static void
next_row(struct ranges *r)
{
	r->place += r->rows[r->at].len - r->done;
	r->done = 0;
	r->at++;
}

/*
 * Records that the first n bytes of these ranges could be read. The rest of a
 * range that was read in part is given up.
 *   Source   process_vm_readv(2): elements are taken in order
 */
static void
advance(struct ranges *r, const struct iovec *from, uint32_t count, size_t n)
{
	for (uint32_t i = 0; i < count; i++) {
		struct memory_range *row = &r->rows[r->at];
		size_t had = n < from[i].iov_len ? n : from[i].iov_len;

		row->got += (uint32_t)had;
		r->done += (uint32_t)had;
		r->place += had;
		n -= had;
		if (had < from[i].iov_len) {
			next_row(r);
			return;
		}
		if (r->done == row->len)
			next_row(r);
	}
}

static int
read_some(struct ranges *r)
{
	static struct iovec from[IOVECS];
	struct iovec to = {.iov_base = r->room};
	uint32_t n = next_iovecs(r, from, &to.iov_len);
	ssize_t got = process_vm_readv(r->pid, &to, 1, from, n, 0);
	int rc;

	if (got < 0 && errno != EFAULT)
		return -errno;
	if (got < 0)
		got = 0;
	rc = put(r, r->room, (size_t)got, r->place);
	advance(r, from, n, (size_t)got);
	return rc;
}

int
read_ranges(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	CLEANUP(ranges_done)
	struct ranges r = {.pid = ask->pid, .n = ask->count, .file = out->in};
	int rc;

	(void)o;
	if (ask->pid <= 0 || !ask->count || ask->count > RANGES_MAX ||
	    out->in < 0)
		return -EINVAL;
	rc = take_rows(&r);
	r.place = range_data_at(r.n);
	while (!rc && r.at < r.n)
		rc = read_some(&r);
	return rc ? rc : put(&r, r.rows, r.n * sizeof(*r.rows), 0);
}
