/* The finisher's side of what Go programs count of themselves. */
#include "analyser.h"

#include "base/clock.h"
#include "base/file.h"
#include "capture/buckets.h"

#include <errno.h>
#include <poll.h>
#include <sys/mman.h>

_Static_assert(READING_MAX_BYTES == (size_t)8 << 20, "READING_LARGE's text");

static enum capture_error
error_of(int rc, uint32_t type)
{
	if (!rc)
		return CAPTURE_OK;
	if (rc == -EPROTO)
		return CAPTURE_GO_COUNTS;
	if (rc == -EFBIG)
		return CAPTURE_READING_LARGE;
	if (rc != -ENODATA)
		return analyser_error(rc);
	return type <= BUCKETS_ALLOC ? CAPTURE_GO_NO_MEMORY
	                             : CAPTURE_GO_NO_EVENTS;
}

/* Every other error says all there is to say: strerror(3) would confuse. */
static enum capture_error
failure(int rc, uint32_t type, int *sys_error)
{
	enum capture_error e = error_of(rc, type);

	*sys_error = e == CAPTURE_INTERNAL ? rc : 0;
	return e;
}

/* True when it was stopped before its time. */
static bool
pass_time(const struct analyser_job *job)
{
	struct pollfd stop = {job->stop_fd, POLLIN, 0};
	int64_t end = clock_mono_ns() + (int64_t)job->duration_ms * NS_PER_MS;
	int64_t left;
	int rc = 0;

	while (rc <= 0 && (left = end - clock_mono_ns()) > 0) {
		rc = poll(&stop, 1, (int)(left / NS_PER_MS) + 1);
		if (rc < 0 && errno != EINTR)
			break;
	}
	return rc > 0;
}

enum capture_error
analyser_read_buckets(const struct analyser_job *job, const struct host *host,
                      struct profile **out, struct quality *quality,
                      int *sys_error)
{
	CLEANUP_BUCKETS struct buckets *b = NULL;
	const struct buckets_ask ask = {job->of, job->set == 1, job->pids,
	                                job->npids, 0};
	bool stopped = false;
	int rc = job->of < BUCKETS_TYPES ? buckets_open(host, &ask, &b)
	                                 : -EINVAL;

	if (!rc && job->of != BUCKETS_MEMORY)
		stopped = pass_time(job);
	if (!rc)
		rc = buckets_finish(b, out, quality);
	if (!rc && stopped)
		quality->notes |= QUALITY_NOTE_OF(STOPPED);
	return failure(rc, job->of, sys_error);
}

/* --- windows side by side --------------------------------------------------
 */

static int
read_last(int fd, struct buf *out)
{
	if (fd < 0)
		return 0;
	return lseek(fd, 0, SEEK_SET) ? -errno : fd_read_all(fd, out);
}

static int
write_next(const struct buf *next, int *out)
{
	CLEANUP_FD int fd = memfd_create("stoker-reading", MFD_CLOEXEC);
	int rc = fd < 0 ? -errno : fd_write_all(fd, next->p, next->len);

	if (!rc)
		*out = TAKE_FD(fd);
	return rc;
}

enum capture_error
analyser_read_growth(const struct analyser_job *job, const struct host *host,
                     struct profile **out, struct quality *quality, int *next,
                     int *sys_error)
{
	CLEANUP_BUF struct buf last = BUF_INIT(READING_MAX_BYTES + 1);
	CLEANUP_BUF struct buf now = BUF_INIT(READING_MAX_BYTES * 2);
	const struct buckets_ask ask = {job->of, job->set == 1, job->pids,
	                                job->npids, job->known_ms};
	int rc = job->of < BUCKETS_TYPES && job->of != BUCKETS_MEMORY
	                 ? read_last(job->in_fd, &last)
	                 : -EINVAL;

	if (!rc)
		rc = buckets_grown(host, &ask, last.p, last.len, &now, out,
		                   quality);
	if (!rc)
		rc = write_next(&now, next);
	return failure(rc, job->of, sys_error);
}
