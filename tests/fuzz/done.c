/*
 * A DONE message of an analyser that was taken over, followed by the summary of
 * its profile, as the scheduler reads them.
 */
#include "worker/captures/runs_private.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Writes the summary to a file that all inputs share. */
static int
write_summary(const uint8_t *p, size_t n)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("summary", MFD_CLOEXEC);
	assert(fd >= 0 && !ftruncate(fd, 0));
	assert(pwrite(fd, p, n, 0) == (ssize_t)n);
	return fd;
}

/* A report is valid JSON with any numbers, and can be corrected. */
static void
correct(const struct msg_done *m, const struct buf *report)
{
	CLEANUP_JSON json_t *j = json_loadb(report->p, report->len,
	                                    JSON_REJECT_DUPLICATES, NULL);

	assert(json_is_object(j));
	assert(!quality_named(j, m->quality.frames, m->quality.symbolized));
}

static void
read_result(const struct msg_done *m, int summary_fd)
{
	CLEANUP_BUF struct buf quality = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_RUN_SUMMARY struct run_summary summary = RUN_SUMMARY_INIT;
	struct session_result result;

	if (runs_read_result(m, NULL, "web", summary_fd, &summary, &quality,
	                     &result))
		return;
	assert(result.age_ms >= 0 && *result.top_functions == '[');
	correct(m, &quality);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	struct msg_done m = {.type = MSG_DONE};
	size_t had = n < sizeof(m) ? n : sizeof(m);

	if (had)
		memcpy(&m, data, had);
	read_result(&m, write_summary(data + had, n - had));
	quality_text(&m.quality, &text);
	assert(!m.error || *capture_error_text(m.error));
	return 0;
}
