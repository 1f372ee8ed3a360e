#include "lib/goroutine_image.h"

#include "capture/goroutines/goroutine_rows.h"

#include "base/file.h"
#include "capture/ranges.h"
#include "capture/threads.h"
#include "lib/here.h"
#include "profile/gzip.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_IMAGE ((size_t)64 << 20)

void
image_done(struct image *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->data[i]);
	free(m->data);
	free(m->pieces);
	free(m->elf);
}

int
image_add(struct image *m, uint64_t addr, const void *p, size_t n)
{
	struct image_piece *pieces =
		reallocarray(m->pieces, m->n + 1, sizeof(*pieces));
	uint8_t **data;

	if (!pieces)
		return -ENOMEM;
	m->pieces = pieces;
	data = reallocarray(m->data, m->n + 1, sizeof(*data));
	if (!data)
		return -ENOMEM;
	m->data = data;
	data[m->n] = malloc(n + 1);
	if (!data[m->n])
		return -ENOMEM;
	memcpy(data[m->n], p, n);
	pieces[m->n++] = (struct image_piece){addr, n};
	return 0;
}

/* --- files ---------------------------------------------------------------- */

static int
parse(const struct buf *b, struct image *m)
{
	size_t at = sizeof(m->head);

	if (b->len < at)
		return -EBADMSG;
	memcpy(&m->head, b->p, at);
	if (m->head.elf_bytes > b->len - at)
		return -EBADMSG;
	m->elf = malloc(m->head.elf_bytes + 1);
	if (!m->elf)
		return -ENOMEM;
	memcpy(m->elf, b->p + at, m->head.elf_bytes);
	at += m->head.elf_bytes;
	while (b->len - at >= sizeof(struct image_piece)) {
		struct image_piece p;
		int rc;

		memcpy(&p, b->p + at, sizeof(p));
		at += sizeof(p);
		if (p.bytes > b->len - at)
			return -EBADMSG;
		rc = image_add(m, p.addr, b->p + at, p.bytes);
		if (rc)
			return rc;
		at += p.bytes;
	}
	return 0;
}

int
image_read(const char *path, struct image *out)
{
	CLEANUP_BUF struct buf packed = BUF_INIT(MAX_IMAGE);
	CLEANUP_BUF struct buf raw = BUF_INIT(MAX_IMAGE);
	struct image m = {.n = 0};
	int rc = file_read(AT_FDCWD, path, &packed);

	if (!rc)
		rc = gzip_inflate(packed.p, packed.len, &raw);
	if (!rc)
		rc = parse(&raw, &m);
	if (rc)
		image_done(&m);
	else
		*out = m;
	return rc;
}

int
image_write(const struct image *m, int fd)
{
	int rc = fd_write_all(fd, &m->head, sizeof(m->head));

	if (!rc)
		rc = fd_write_all(fd, m->elf, m->head.elf_bytes);
	for (size_t i = 0; i < m->n && !rc; i++) {
		rc = fd_write_all(fd, &m->pieces[i], sizeof(m->pieces[i]));
		if (!rc)
			rc = fd_write_all(fd, m->data[i], m->pieces[i].bytes);
	}
	return rc;
}

/* --- recording ------------------------------------------------------------ */

static int
keep_ranges(struct image *m, uint32_t count, int file)
{
	CLEANUP_FREE struct memory_range *rows = calloc(count, sizeof(*rows));
	size_t size = count * sizeof(*rows), at = range_data_at(count);
	int rc = 0;

	if (!rows || pread(file, rows, size, 0) != (ssize_t)size)
		return -EIO;
	for (uint32_t i = 0; i < count && !rc; i++) {
		CLEANUP_FREE uint8_t *data = malloc(rows[i].got + 1u);

		if (!data || pread(file, data, rows[i].got, (off_t)at) < 0)
			return -EIO;
		if (rows[i].got)
			rc = image_add(m, rows[i].addr, data, rows[i].got);
		at += rows[i].len;
	}
	return rc;
}

static int
keep_stack(struct image *m, const struct host_ask *ask, int file)
{
	CLEANUP_FREE uint8_t *data = malloc(ask->size);
	struct thread_row row;

	if (!data || pread(file, &row, sizeof(row), 0) != sizeof(row) ||
	    pread(file, data, ask->size,
	          (off_t)threads_stack_at(ask->count, 0, ask->size)) < 0)
		return -EIO;
	if (row.how != THREAD_STOPPED)
		return 0;
	m->head.pc = row.regs.rip;
	m->head.sp = row.regs.rsp;
	return image_add(m, m->head.sp, data, row.stack_bytes);
}

static int
record(void *arg, const struct host_ask *ask, struct host_reply *reply,
       int fds[HOST_MAX_FDS], size_t *nfds)
{
	int in = *nfds ? fds[0] : -1;
	int rc = here.ask(here.arg, ask, reply, fds, nfds);

	if (!rc && !reply->error && ask->op == HOST_RANGES)
		rc = keep_ranges(arg, ask->count, in);
	if (!rc && !reply->error && ask->op == HOST_STACKS)
		rc = keep_stack(arg, ask, fds[0]);
	return rc;
}

struct host
image_recorder(struct image *m)
{
	return (struct host){.ask = record, .arg = m};
}

/* --- playing back --------------------------------------------------------- */

/* Finds the piece that has most bytes from addr on. */
static size_t
find(const struct image *m, uint64_t addr, const uint8_t **out)
{
	size_t best = 0;

	for (size_t i = 0; i < m->n; i++) {
		uint64_t off = addr - m->pieces[i].addr;

		if (off >= m->pieces[i].bytes ||
		    m->pieces[i].bytes - off <= best)
			continue;
		best = m->pieces[i].bytes - off;
		*out = m->data[i] + off;
	}
	return best;
}

static size_t
copy(const struct image *m, uint64_t addr, uint8_t *out, size_t n)
{
	size_t got = 0;

	while (got < n) {
		const uint8_t *p;
		size_t some = find(m, addr + got, &p);

		if (!some)
			return got;
		if (some > n - got)
			some = n - got;
		memcpy(out + got, p, some);
		got += some;
	}
	return got;
}

static int
play_ranges(const struct image *m, uint32_t count, int file)
{
	CLEANUP_FREE struct memory_range *rows = calloc(count, sizeof(*rows));
	size_t size = count * sizeof(*rows), at = range_data_at(count);

	if (!rows || pread(file, rows, size, 0) != (ssize_t)size)
		return -EINVAL;
	for (uint32_t i = 0; i < count; i++) {
		CLEANUP_FREE uint8_t *data = malloc(rows[i].len + 1u);

		if (!data)
			return -ENOMEM;
		rows[i].got =
			(uint32_t)copy(m, rows[i].addr, data, rows[i].len);
		if (pwrite(file, data, rows[i].got, (off_t)at) !=
		    (ssize_t)rows[i].got)
			return -EIO;
		at += rows[i].len;
	}
	return pwrite(file, rows, size, 0) == (ssize_t)size ? 0 : -EIO;
}

/* The running thread is where it was stopped. */
static int
play_stacks(const struct image *m, const struct host_ask *ask, int *out)
{
	size_t size = threads_stack_at(ask->count, ask->count, ask->size);
	int fd = memfd_create("stacks", MFD_CLOEXEC);
	CLEANUP_FREE uint8_t *stack = calloc(1, ask->size);
	struct thread_row row = {.tid = 1, .how = THREAD_STOPPED};

	if (fd < 0 || !stack || ftruncate(fd, (off_t)size))
		return -ENOMEM;
	row.regs.rip = m->head.pc;
	row.regs.rsp = m->head.sp;
	row.stack_bytes = (uint32_t)copy(m, m->head.sp, stack, ask->size);
	if (pwrite(fd, &row, sizeof(row), 0) < 0 ||
	    pwrite(fd, stack, ask->size,
	           (off_t)threads_stack_at(ask->count, 0, ask->size)) < 0)
		return -EIO;
	*out = fd;
	return 0;
}

static int
play_tasks(int *out)
{
	int32_t tid = 1;
	int fd = memfd_create("tasks", MFD_CLOEXEC);

	if (fd < 0 || write(fd, &tid, sizeof(tid)) != sizeof(tid))
		return -EIO;
	*out = fd;
	return 0;
}

static int
answer(void *arg, const struct host_ask *ask, struct host_reply *reply,
       int fds[HOST_MAX_FDS], size_t *nfds)
{
	const struct image *m = arg;

	reply->error = -ENOSYS;
	if (ask->op == HOST_RANGES && *nfds == 1) {
		*nfds = 0;
		reply->error = play_ranges(m, ask->count, fds[0]);
		return 0;
	}
	*nfds = 0;
	if (ask->op == HOST_STACKS)
		reply->error = play_stacks(m, ask, fds);
	else if (ask->op == HOST_TASKS)
		reply->error = play_tasks(fds);
	*nfds = !reply->error;
	return 0;
}

int
image_walk(const struct image *m, const struct host *host, int32_t pid,
           struct profile **out)
{
	CLEANUP_PROFILE struct profile *p = profile_new();
	CLEANUP_ELF struct elf_image *elf = NULL;
	CLEANUP_FREE struct modules *modules = calloc(1, sizeof(*modules));
	char path[] = "/image";
	struct module module = {.path = path};
	struct goroutines_ask ask = {.host = host,
	                             .pid = pid,
	                             .modules = modules,
	                             .module = MODULE_FIRST,
	                             .bias = m->head.bias};
	struct quality q = {0};
	int rc = p && modules ? profile_type(p, "goroutine", "count") : -ENOMEM;

	if (!rc)
		rc = elf_open_memory(m->elf, m->head.elf_bytes, &elf);
	if (rc)
		return rc;
	module.elf = elf;
	modules->rows[MODULE_FIRST] = &module;
	modules->n = MODULE_FIRST + 1;
	rc = goroutines_add(&ask, p, &q);
	p->duration_ns = 0; /* everything else is equal each time */
	if (!rc)
		*out = TAKE(p);
	return rc;
}

struct host
image_host(struct image *m)
{
	return (struct host){.ask = answer, .arg = m};
}

int
image_play(struct image *m, struct profile **out)
{
	const struct host host = image_host(m);

	return image_walk(m, &host, 1, out);
}
