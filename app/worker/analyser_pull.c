/* The finisher's side of what was pulled: a body becomes a profile. */
#include "analyser.h"

#include "pull.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

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

	*sys_error = map_body(job->body_fd, &a.p, &a.n);
	/* Stays mapped: the finisher ends after this. */
	return *sys_error ? CAPTURE_INTERNAL : pull_read(&a, out, quality);
}
