/* The finisher's side of what was pulled: a body becomes a profile. */
#include "analyser.h"

#include "base/file.h"
#include "pull_read.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define MAX_PROFILE ((size_t)256 << 20)

/* A private mapping: the body is complete, and nobody writes to it any more. */
static int
map_body(int fd, const void **out, size_t *n)
{
	struct stat st;
	void *p;

	if (fstat(fd, &st))
		return -errno;
	*out = "";
	*n = (size_t)st.st_size;
	if (!*n)
		return 0;
	p = mmap(NULL, *n, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	*out = p;
	return 0;
}

/* What an earlier step wrote; what this one gives takes its place. */
static int
take_out(int fd, struct buf *out)
{
	int rc = lseek(fd, 0, SEEK_SET) ? -errno : fd_read_all(fd, out);

	if (!rc && (ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET)))
		rc = -errno;
	return rc;
}

enum capture_error
analyser_read_pull(const struct analyser_job *job, struct profile **out,
                   struct quality *quality, int *sys_error)
{
	struct pull_answer a = {
		.status = job->pull.status,
		.step = job->pull.step,
		.start_ms = job->pull.start_ms,
		.elapsed_ms = job->pull.elapsed_ms,
	};

	CLEANUP_BUF struct buf all = BUF_INIT(MAX_PROFILE);
	int rc = map_body(job->body_fd, &a.p, &a.n);

	/* Stays mapped: the finisher ends after this. */
	if (!rc && pull_adds(a.step))
		rc = take_out(job->out_fd, &all);
	a.all = all.p;
	a.all_n = all.len;
	*sys_error = rc;
	return rc ? CAPTURE_INTERNAL : pull_read(&a, out, quality);
}
