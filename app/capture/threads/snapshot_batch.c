#include "snapshot_batch.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define MAX_FDS HOST_MAX_LIST /* of a batch; others stay unknown */

void
snapshot_batch_done(struct snapshot_batch *b)
{
	if (b->map)
		munmap(b->map, b->size);
	free(b->seen);
	free(b->fds);
	free(b->links);
}

const struct thread_row *
snapshot_row(const struct snapshot_batch *b, size_t i)
{
	return (const struct thread_row *)b->map + i;
}

const void *
snapshot_stack(const struct snapshot_batch *b, size_t i)
{
	return (const char *)b->map + threads_stack_at(b->n, i, b->room);
}

/* --- threads -------------------------------------------------------------- */

static int
map_rows(int fd, struct snapshot_batch *b)
{
	struct stat st;
	void *map;

	b->size = threads_stack_at(b->n, b->n, b->room);
	if (fstat(fd, &st))
		return -errno;
	if ((size_t)st.st_size != b->size)
		return -EBADMSG;
	map = mmap(NULL, b->size, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	b->map = map;
	return 0;
}

static int
read_rows(const struct host *host, int32_t pid, const int32_t *tids,
          struct snapshot_batch *b)
{
	struct host_ask ask = {
		.op = HOST_STACKS,
		.pid = pid,
		.size = b->room,
		.count = (uint32_t)b->n,
	};
	CLEANUP_FD int fd = -1;
	int rc;

	memcpy(ask.list, tids, b->n * sizeof(*tids));
	rc = host_fd(host, &ask, &fd);
	return rc ? rc : map_rows(fd, b);
}

/* --- descriptors ---------------------------------------------------------- */

static int
by_number(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

static int
collect_fds(struct snapshot_batch *b)
{
	size_t n = 0;

	b->fds = calloc(b->n * THREAD_MAX_FDS, sizeof(*b->fds));
	if (!b->fds)
		return -ENOMEM;
	for (size_t i = 0; i < b->n; i++)
		for (size_t k = 0; k < b->seen[i].nfds; k++)
			b->fds[n++] = b->seen[i].fds[k];
	qsort(b->fds, n, sizeof(*b->fds), by_number);
	for (size_t i = 0; i < n && b->nfds < MAX_FDS; i++)
		if (!i || b->fds[i] != b->fds[i - 1])
			b->fds[b->nfds++] = b->fds[i];
	return 0;
}

static int
read_links(const struct host *host, int32_t pid, struct snapshot_batch *b)
{
	struct host_ask ask = {
		.op = HOST_LINKS, .pid = pid, .count = (uint32_t)b->nfds};
	size_t size = b->nfds * sizeof(*b->links);
	CLEANUP_FD int fd = -1;

	if (!b->nfds)
		return 0;
	b->links = calloc(b->nfds, sizeof(*b->links));
	if (!b->links)
		return -ENOMEM;
	memcpy(ask.list, b->fds, b->nfds * sizeof(*b->fds));
	if (host_fd(host, &ask, &fd) ||
	    pread(fd, b->links, size, 0) != (ssize_t)size)
		b->nfds = 0; /* descriptors then have numbers only */
	return 0;
}

const char *
snapshot_link(const struct snapshot_batch *b, int32_t fd)
{
	const int32_t *at =
		b->nfds ? bsearch(&fd, b->fds, b->nfds, sizeof(fd), by_number)
			: NULL;

	return at ? b->links[at - b->fds].text : "";
}

int
snapshot_batch_read(const struct host *host, int32_t pid, const int32_t *tids,
                    size_t n, uint32_t room, struct snapshot_batch *out)
{
	int rc;

	out->n = n;
	out->room = room;
	out->seen = calloc(n, sizeof(*out->seen));
	if (!out->seen)
		return -ENOMEM;
	rc = read_rows(host, pid, tids, out);
	if (rc)
		return rc;
	for (size_t i = 0; i < n; i++)
		thread_see(snapshot_row(out, i), snapshot_stack(out, i),
		           &out->seen[i]);
	rc = collect_fds(out);
	return rc ? rc : read_links(host, pid, out);
}
