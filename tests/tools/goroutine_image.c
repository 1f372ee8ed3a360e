/*
 * Records what is needed to read a Go program's goroutines, for the fuzzer:
 *
 * 	goroutine_image PID BIAS | gzip -9 >tests/data/goroutines.image.gz
 *
 * BIAS is 0, or the address (hex) at which a position-independent program was
 * loaded. Bytes that make no difference to the result are written as zeros.
 */
#include "lib/goroutine_image.h"
#include "base/file.h"
#include "capture/goroutines/goroutine_rows.h"
#include "profile/pprof.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define LARGE     4096 /* bytes cleared at once, at first */
#define SMALL     256
#define MAX_EXE   ((size_t)64 << 20)
#define MAX_BYTES ((size_t)16 << 20)

/* Reads the process once, and records the answers in m. */
static int
take(struct image *m, int32_t pid)
{
	CLEANUP_PROFILE struct profile *p = NULL;
	const struct host host = image_recorder(m);

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
