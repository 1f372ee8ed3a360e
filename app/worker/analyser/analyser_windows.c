/*
 * Watches are captures without an end; all are cut into windows at the same
 * time. One child writes all windows, since the fork is most of the cost.
 */
#include "analyser.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "profile/pprof.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_WINDOW ((size_t)16 << 20)

void
analyser_watch(struct analyser *a, const struct msg_start *m)
{
	struct analyser_job *job = analyser_job(a, "");
	struct analyser_job new = ANALYSER_NO_JOB;
	int rc;

	if (!analyser_take_ask(&new, m) || analyser_job(a, m->id))
		return;
	if (!job) {
		analyser_fail(a, &new, false, CAPTURE_BUSY, 0);
		return;
	}
	memcpy(a->blame->ids[job - a->jobs], m->id, ID_MAX);
	new.watch = true;
	*job = new;
	rc = analyser_record(a, job, CAPTURE_ENDLESS);
	if (rc) {
		analyser_fail(a, job, false, analyser_error(job, rc), rc);
		analyser_clear(job);
	}
}

/* --- in the child --------------------------------------------------------- */

/* The captures that were cut, in the order of the rows. */
struct cutter {
	const struct analyser_cut *to;
	struct capture *captures[CAPTURES_MAX];
};

static int
write_window(struct namer *namer, struct capture *c, int fd,
             struct window_row *row)
{
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_BUF struct buf bytes = BUF_INIT(MAX_WINDOW);
	struct quality q;
	int rc = capture_profile(c, namer, &p, &q, NULL);

	if (!rc && p->nsamples)
		rc = pprof_encode_fast(p, &bytes);
	if (!rc)
		rc = fd_write_all(fd, bytes.p, bytes.len);
	if (rc)
		return rc;
	row->length = bytes.len;
	row->start_ms = capture_start_ms(c);
	row->duration_ms = q.duration_ms;
	row->samples = q.kept;
	row->lost = q.lost;
	row->quota_ms = q.quota_ms;
	row->value = profile_total(p, profile_type_index(p, NULL));
	return 0;
}

static bool
be_cutter(const struct analyser *a, const struct host *host, void *arg)
{
	const struct cutter *all = arg;
	CLEANUP_NAMER struct namer *namer =
		all->to->n ? capture_namer(all->captures[0], host, a->symbols)
			   : NULL;
	uint64_t offset = 0;
	int rc = namer || !all->to->n ? 0 : -ENOMEM;

	recorder_drop_trees(a->captures, NULL);
	for (uint32_t i = 0; i < all->to->n && !rc; i++) {
		struct window_row row = {.offset = offset};

		memcpy(row.id, all->to->ids[i], ID_MAX);
		rc = write_window(namer, all->captures[i], all->to->data, &row);
		if (!rc)
			rc = fd_write_all(all->to->rows, &row, sizeof(row));
		offset += row.length;
	}
	if (rc)
		log_debug("windows: %s", strerror(-rc));
	return true;
}

/* --- cutting -------------------------------------------------------------- */

static void
clear(struct analyser_cut *cut)
{
	close_ptr(&cut->data);
	close_ptr(&cut->rows);
	*cut = (struct analyser_cut){.data = -1, .rows = -1};
}

/* Cuts all watches; if memory is short for one, it is cut the next time. */
static void
cut_all(struct analyser *a, struct cutter *out)
{
	struct analyser_cut *cut = &a->cut;

	recorder_read_hindrances(a->captures);
	for (unsigned i = 0; i < CAPTURES_MAX; i++) {
		const struct analyser_job *job = &a->jobs[i];

		if (!job->watch || capture_cut(a->captures, job->capture,
		                               &out->captures[cut->n]))
			continue;
		memcpy(cut->ids[cut->n++], job->id, ID_MAX);
	}
}

static int
open_files(struct analyser_cut *cut)
{
	cut->data = memfd_create("stoker-windows", MFD_CLOEXEC);
	cut->rows = memfd_create("stoker-window-rows", MFD_CLOEXEC);
	return cut->data < 0 || cut->rows < 0 ? -errno : 0;
}

static void
send_windows(struct analyser *a, enum capture_error error, uint32_t written)
{
	const struct analyser_cut *cut = &a->cut;
	struct msg_windows m = {.type = MSG_WINDOWS, .error = error};
	int fds[] = {cut->data, cut->rows};

	if (error && written < cut->n)
		memcpy(m.failed, cut->ids[written], ID_MAX);
	if (msg_send(a->socket, &m, sizeof(m), fds,
	             cut->rows < 0 ? 0 : ARRAY_LEN(fds)))
		log_debug("windows: the scheduler takes no messages");
}

void
analyser_cut(struct analyser *a)
{
	struct cutter all = {.to = &a->cut};
	int rc;

	if (a->cut.pid)
		return; /* the last answer has not been sent yet */
	clear(&a->cut);
	recorder_drain(a->captures);
	rc = open_files(&a->cut);
	if (!rc) {
		cut_all(a, &all);
		rc = analyser_fork(a, be_cutter, &all, &a->cut.pid);
	}
	for (uint32_t i = 0; i < a->cut.n; i++)
		capture_free(all.captures[i]);
	recorder_tidy(a->captures);
	if (rc) {
		clear(&a->cut);
		send_windows(a, analyser_error(NULL, rc), 0);
	}
}

void
analyser_cut_ended(struct analyser *a, pid_t pid, bool good)
{
	struct analyser_cut *cut = &a->cut;
	uint32_t written;

	if (!cut->pid || cut->pid != pid)
		return;
	written = (uint32_t)((size_t)lseek(cut->rows, 0, SEEK_END) /
	                     sizeof(struct window_row));
	send_windows(a,
	             good && written == cut->n ? CAPTURE_OK
	             : good                    ? CAPTURE_INTERNAL
	                                       : CAPTURE_FINISH_DIED,
	             written);
	clear(cut);
}
