/* The finisher's side of what Go programs count of themselves. */
#include "analyser.h"

#include "base/clock.h"
#include "capture/buckets.h"

#include <errno.h>
#include <poll.h>

static enum capture_error
error_of(int rc, uint32_t type)
{
	if (rc == -EPROTO)
		return CAPTURE_GO_COUNTS;
	if (rc != -ENODATA)
		return analyser_error(rc);
	return type <= BUCKETS_ALLOC ? CAPTURE_GO_NO_MEMORY
	                             : CAPTURE_GO_NO_EVENTS;
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
	                                job->npids};
	bool stopped = false;
	int rc = job->of < BUCKETS_TYPES ? buckets_open(host, &ask, &b)
	                                 : -EINVAL;

	if (!rc && job->of != BUCKETS_MEMORY)
		stopped = pass_time(job);
	if (!rc)
		rc = buckets_finish(b, out, quality);
	*sys_error = rc;
	if (rc)
		return error_of(rc, job->of);
	if (stopped)
		quality->notes |= QUALITY_NOTE_OF(STOPPED);
	return CAPTURE_OK;
}
