/*
 * Records what reading a Go program's goroutines takes of it, for the fuzzer:
 *
 *	goroutine_image PID BIAS | gzip -9 >tests/data/goroutines.image.gz
 *
 * BIAS is 0, or where a position-independent program was loaded (hex). What
 * makes no difference to the result is written as zeros.
 */
#include "lib/goroutine_image.h"
#include "base/file.h"
#include "capture/goroutines/goroutine_rows.h"
#include "capture/ranges.h"
#include "capture/threads.h"
#include "profile/pprof.h"
#include "worker/opener/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define LARGE     4096 /* bytes cleared together, at first */
#define SMALL     256
#define MAX_EXE   ((size_t)64 << 20)
#define MAX_BYTES ((size_t)16 << 20)

static struct conf conf;

static int
keep_ranges(struct image *m, uint32_t count, int file)
{
	CLEANUP_FREE struct range *rows = calloc(count, sizeof(*rows));
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
	int in = *nfds ? fds[0] : -1, rc = 0;
	static struct opener o = {.conf = &conf};
	struct answer out;

	opener_answer(&o, ask, o.ask, in, NULL, &out);
	*reply = out.reply;
	memcpy(fds, out.fds, sizeof(out.fds));
	*nfds = out.nfds;
	if (!reply->error && ask->op == HOST_RANGES)
		rc = keep_ranges(arg, ask->count, in);
	if (!reply->error && ask->op == HOST_STACKS)
		rc = keep_stack(arg, ask, fds[0]);
	return rc;
}

/* Reads the process once, all that it says being kept in m. */
static int
take(struct image *m, int32_t pid)
{
	CLEANUP_PROFILE struct profile *p = NULL;
	const struct host host = {.ask = record, .arg = m};

	return image_walk(m, &host, pid, &p);
}

static int
result(struct image *m, struct buf *out)
{
	CLEANUP_PROFILE struct profile *p = NULL;
	int rc = image_play(m, &p);

	buf_clear(out);
	return rc ? rc : pprof_encode(p, out);
}

static bool
is_clear(const uint8_t *p, size_t n)
{
	while (n && !*p)
		p++, n--;
	return !n;
}

/* Clears all blocks of n bytes that make no difference. */
static void
clear_blocks(struct image *m, const struct buf *want, uint8_t *p, size_t n,
             size_t block)
{
	CLEANUP_BUF struct buf got = BUF_INIT(MAX_BYTES);
	uint8_t saved[LARGE];

	for (size_t at = 0; at < n; at += block) {
		size_t some = n - at < block ? n - at : block;

		if (is_clear(p + at, some))
			continue;

		memcpy(saved, p + at, some);
		memset(p + at, 0, some);
		if (result(m, &got) || got.len != want->len ||
		    memcmp(got.p, want->p, got.len) != 0)
			memcpy(p + at, saved, some);
	}
}

static void
clear_all(struct image *m, const struct buf *want, size_t block)
{
	clear_blocks(m, want, m->elf, m->head.elf_bytes, block);
	for (size_t i = 0; i < m->n; i++)
		clear_blocks(m, want, m->data[i], m->pieces[i].bytes, block);
}

static int
make(int32_t pid, uint64_t bias, struct image *m)
{
	CLEANUP_BUF struct buf exe = BUF_INIT(MAX_EXE);
	CLEANUP_BUF struct buf want = BUF_INIT(MAX_BYTES);
	char path[64];
	int rc;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	rc = file_read(AT_FDCWD, path, &exe);
	if (rc)
		return rc;
	m->head.bias = bias;
	m->head.elf_bytes = exe.len;
	m->elf = (uint8_t *)TAKE(exe.p);
	rc = take(m, pid);
	if (!rc)
		rc = result(m, &want);
	if (rc)
		return rc;
	clear_all(m, &want, LARGE);
	clear_all(m, &want, SMALL);
	return image_write(m, STDOUT_FILENO);
}

int
main(int argc, char **argv)
{
	struct image m = {.n = 0};
	int rc = argc != 3 ? -EINVAL
	                   : make((int32_t)strtol(argv[1], NULL, 10),
	                          strtoull(argv[2], NULL, 16), &m);

	image_done(&m);
	if (rc)
		fprintf(stderr, "goroutine_image: %s\n", strerror(-rc));
	return rc ? 1 : 0;
}
