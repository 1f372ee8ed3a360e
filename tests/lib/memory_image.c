#include "memory_image.h"

#include "capture/ranges.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void
write_at(int fd, const void *p, size_t n, size_t at)
{
	if (pwrite(fd, p, n, (off_t)at) != (ssize_t)n)
		abort();
}

static void
answer(const struct memory_image *m, int fd, struct memory_range *rows,
       uint32_t n)
{
	size_t at = range_data_at(n);

	for (uint32_t i = 0; i < n; i++) {
		uint64_t from = rows[i].addr - m->base;

		rows[i].got = 0;
		if (from < m->n)
			rows[i].got = m->n - from < rows[i].len
			                      ? (uint32_t)(m->n - from)
			                      : rows[i].len;
		if (rows[i].got)
			write_at(fd, m->bytes + from, rows[i].got, at);
		at += rows[i].len;
	}
	write_at(fd, rows, n * sizeof(*rows), 0);
}

static int
ask_image(void *arg, const struct host_ask *ask, struct host_reply *reply,
          int fds[HOST_MAX_FDS], size_t *nfds)
{
	CLEANUP_FREE struct memory_range *rows =
		calloc(ask->count, sizeof(*rows));
	size_t size = ask->count * sizeof(*rows);

	memset(reply, 0, sizeof(*reply));
	if (ask->op != HOST_RANGES || *nfds != 1 || !rows ||
	    pread(fds[0], rows, size, 0) != (ssize_t)size)
		return -EINVAL;
	answer(arg, fds[0], rows, ask->count);
	*nfds = 0;
	return 0;
}

struct host
memory_image_host(struct memory_image *image)
{
	return (struct host){.ask = ask_image, .arg = image};
}
