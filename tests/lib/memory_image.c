#include "memory_image.h"

#include "base/file.h"
#include "capture/ranges.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

static void
copy_range(const struct memory_image *m, struct range *row, uint8_t *out)
{
	uint64_t at = row->addr - m->base;

	row->got = 0;
	if (at >= m->n)
		return;
	row->got = m->n - at < row->len ? (uint32_t)(m->n - at) : row->len;
	memcpy(out, m->bytes + at, row->got);
}

static int
answer(const struct memory_image *m, struct range *rows, uint32_t n)
{
	size_t size = range_data_at(n), at = size;
	int fd = memfd_create("image", MFD_CLOEXEC);
	CLEANUP_FREE uint8_t *bytes = NULL;

	for (uint32_t i = 0; i < n; i++)
		size += range_room(&rows[i]);
	bytes = calloc(1, size + 1);
	for (uint32_t i = 0; i < n && bytes; i++) {
		copy_range(m, &rows[i], bytes + at);
		at += range_room(&rows[i]);
	}
	if (!bytes || fd < 0)
		abort();
	memcpy(bytes, rows, n * sizeof(*rows));
	if (fd_write_all(fd, bytes, size))
		abort();
	return fd;
}

static int
ask_image(void *arg, const struct host_ask *ask, struct host_reply *reply,
          int fds[HOST_MAX_FDS], size_t *nfds)
{
	CLEANUP_FREE struct range *rows = calloc(ask->count, sizeof(*rows));
	size_t size = ask->count * sizeof(*rows);

	memset(reply, 0, sizeof(*reply));
	if (ask->op != HOST_RANGES || *nfds != 1 || !rows ||
	    pread(fds[0], rows, size, 0) != (ssize_t)size)
		return -EINVAL;
	fds[0] = answer(arg, rows, ask->count);
	return 0;
}

struct host
memory_image_host(struct memory_image *image)
{
	return (struct host){ask_image, image};
}
