/* The finisher: a child of the analyser that makes one profile and ends. */
#include "analyser.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json_out.h"
#include "base/log.h"
#include "capture/listing.h"
#include "capture/rename.h"
#include "profile/listing.h"
#include "profile/pprof.h"
#include "profile/summary.h"
#include "pull_read.h"
#include "sandbox/privilege.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#define MAX_PROFILE  ((size_t)256 << 20)
#define MAX_TIMELINE ((size_t)64 << 20)

/* --- PULL: a fetched body becomes a profile ------------------------------- */

/* Maps the answer, which is complete: no process writes to it now. */
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

/* Reads the result of an earlier step, which this step's will replace. */
static int
take_out(int fd, struct buf *out)
{
	int rc = lseek(fd, 0, SEEK_SET) ? -errno : fd_read_all(fd, out);

	if (!rc && (ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET)))
		rc = -errno;
	return rc;
}

enum capture_error
analyser_read(const struct analyser *of, const struct analyser_job *job,
              const struct host *host, struct analyser_made *out,
              int *sys_error)
{
	struct pull_answer a = {
		.status = job->pull.status,
		.step = job->pull.step,
		.start_ms = job->pull.start_ms,
		.elapsed_ms = job->pull.elapsed_ms,
	};

	CLEANUP_BUF struct buf all = BUF_INIT(MAX_PROFILE);
	int rc = map_body(job->body_fd, &a.p, &a.n);

	/* The mapping stays, since the finisher ends after this. */
	if (!rc && pull_adds(a.step))
		rc = take_out(job->out_fd, &all);
	a.all = all.p;
	a.all_n = all.len;
	(void)of;
	(void)host;
	*sys_error = rc;
	return rc ? CAPTURE_INTERNAL
	          : pull_read(&a, &out->profile, &out->quality);
}

/* --- writing the results -------------------------------------------------- */

static int
write_profile(const struct profile *p, int fd)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(MAX_PROFILE);
	int rc = pprof_encode(p, &bytes);

	if (!rc)
		rc = fd_write_all(fd, bytes.p, bytes.len);
	if (!rc)
		fd_start_writing(fd);
	return rc;
}

/* Writes the timeline; false on failure, which does not fail the profile. */
static bool
write_timeline(const struct timeline *t, int fd)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(MAX_TIMELINE);

	if (!t || timeline_encode(t, &bytes) ||
	    fd_write_all(fd, bytes.p, bytes.len))
		return false;
	fd_start_writing(fd);
	return true;
}

static int
put_top(const struct profile *p, struct buf *out)
{
	CLEANUP_TREE struct tree *t = NULL;

	return tree_new(p, profile_type_index(p, NULL), &t)
	               ?: summary_top(t, SUMMARY_FUNCTIONS, out);
}

static int
put_unnamed(const struct profile *p, struct buf *out)
{
	struct profile_unnamed l;
	int rc = profile_list_unnamed(p, &l);

	json_open(out, "unnamed", '[');
	for (uint32_t i = 0; !rc && i < l.n; i++)
		json_put_text(out, NULL, l.build_ids[i]);
	json_close(out, ']');
	return rc;
}

/* Writes {"top": [topFunctions], "unnamed": [build-ids]}. */
static int
write_summary(const struct profile *p, int *out)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_FD int fd = memfd_create("stoker-summary", MFD_CLOEXEC);
	int rc = fd < 0 ? -errno : 0;

	buf_puts(&text, "{\"top\":");
	rc = rc ?: put_top(p, &text) ?: put_unnamed(p, &text);
	json_close(&text, '}');
	rc = rc ?: buf_err(&text) ?: fd_write_all(fd, text.p, text.len);
	if (!rc)
		*out = TAKE_FD(fd);
	return rc;
}

void
analyser_list(const struct analyser_job *job, const struct host *host,
              struct namer *namer, struct analyser_made *made)
{
	const struct listing_ask ask = {host, job->pids, job->npids, namer};
	CLEANUP_BUF struct buf bytes = BUF_INIT(LISTING_MAX_FILE);
	CLEANUP_FD int fd = -1;
	int rc;

	if (!job->list || made->checkpoint)
		return;
	fd = memfd_create("stoker-listing", MFD_CLOEXEC);
	rc = fd < 0 ? -errno : listing_write(&ask, made->profile, &bytes);
	if (!rc)
		rc = fd_write_all(fd, bytes.p, bytes.len);
	if (!rc)
		made->listing = TAKE_FD(fd);
	else if (rc != -ENODATA)
		log_debug("%s has no listing: %s", job->id, strerror(-rc));
}

/* Sends DONE with a summary and a second descriptor, -1 for none. */
static int
send_done(const struct analyser *a, const struct analyser_job *job,
          struct msg_done *done, int summary, int second)
{
	int fds[] = {summary, second};

	done->type = MSG_DONE;
	done->quality.worker_cpu_ns +=
		clock_cpu_ns(); /* CPU time since the fork */
	memcpy(done->id, job->id, sizeof(done->id));
	done->attempt = job->attempt;
	return msg_send(a->socket, done, sizeof(*done), fds,
	                second < 0 ? 1 : ARRAY_LEN(fds));
}

/* Reads a stored profile. A worker or the API wrote it, but a file that may
 * have been on disk for years is not trusted. */
static int
read_stored(const struct analyser_job *job, struct profile **out)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(MAX_PROFILE);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	int rc = lseek(job->in_fd, 0, SEEK_SET) ? -errno : 0;

	if (!rc)
		rc = fd_read_all(job->in_fd, &bytes);
	return rc ? rc
	          : pprof_decode(bytes.p, bytes.len, MAX_PROFILE, out, &why);
}

/* Sources of the names of a stored profile. */
static struct rename_files
files_of(const struct analyser_job *job)
{
	return (struct rename_files){job->pids, job->npids, job->pushed,
	                             job->npushed};
}

static void
note_pushed(const struct rename_files *f, struct analyser_made *out)
{
	for (uint32_t i = 0; i < f->npushed; i++) {
		out->pushed_used |= (uint64_t)f->pushed[i].used << i;
		out->pushed_refused |= (uint64_t)f->pushed[i].refused << i;
	}
}

/* Names the stored profile of a job by one of the functions of
 * capture/rename.h. */
static enum capture_error
name_stored(rename_function *name, const struct analyser *a,
            const struct analyser_job *job, const struct host *host,
            struct analyser_made *out, int *sys_error)
{
	CLEANUP_PROFILE struct profile *in = NULL;
	const struct rename_files files = files_of(job);
	int rc = read_stored(job, &in);

	if (!rc)
		rc = name(host, a->symbols, &files, in, &out->profile,
		          &out->quality);
	note_pushed(&files, out);
	*sys_error = rc;
	return rc ? CAPTURE_INTERNAL : CAPTURE_OK;
}

enum capture_error
analyser_rename(const struct analyser *a, const struct analyser_job *job,
                const struct host *host, struct analyser_made *out,
                int *sys_error)
{
	return name_stored(rename_profile, a, job, host, out, sys_error);
}

enum capture_error
analyser_name_upload(const struct analyser *a, const struct analyser_job *job,
                     const struct host *host, struct analyser_made *out,
                     int *sys_error)
{
	return name_stored(rename_upload, a, job, host, out, sys_error);
}

static void
made_done(struct analyser_made *made)
{
	profile_free(made->profile);
	timeline_free(made->timeline);
	close_ptr(&made->reading);
	close_ptr(&made->listing);
}

static enum capture_error
finish(const struct analyser *a, const struct analyser_job *job,
       const struct host *host, int fd, bool checkpoint, int *sys_error)
{
	CLEANUP(made_done)
	struct analyser_made made = {.reading = -1,
	                             .listing = -1,
	                             .start_ms = job->start_ms,
	                             .checkpoint = checkpoint};
	CLEANUP_FD int summary = -1;
	struct msg_done done = {.checkpoint = checkpoint};
	enum capture_error e = job->make(a, job, host, &made, sys_error);
	const struct profile *p = made.profile;
	int rc;

	if (e)
		return e;
	*sys_error = rc = write_profile(p, fd);
	if (rc)
		return CAPTURE_WRITE;
	*sys_error = rc = write_summary(p, &summary);
	done.timeline = write_timeline(made.timeline, job->timeline_fd);
	done.start_ms = made.start_ms;
	done.value = profile_total(p, profile_type_index(p, NULL));
	done.pushed_used = made.pushed_used;
	done.pushed_refused = made.pushed_refused;
	done.quality = made.quality;
	if (!rc)
		*sys_error = rc = send_done(a, job, &done, summary,
		                            made.listing < 0 ? made.reading
		                                             : made.listing);
	return rc ? CAPTURE_INTERNAL : CAPTURE_OK;
}

struct finisher {
	const struct analyser_job *job;
	int fd;
	bool checkpoint;
};

static bool
be_finisher(const struct analyser *a, const struct host *host, void *arg)
{
	const struct finisher *f = arg;
	int sys_error;
	enum capture_error e;

	recorder_drop_trees(a->captures, f->job->capture);
	e = finish(a, f->job, host, f->fd, f->checkpoint, &sys_error);

	if (e)
		analyser_fail(a, f->job, f->checkpoint, e, sys_error);
	return !e;
}

/* Reports debug files. A failure does not matter: nothing waits for the report,
 * and the loss of the scheduler is noticed elsewhere. */
static void
send_debugs(const struct analyser *a, const struct host_debugs *debugs)
{
	struct msg_debug m = {.type = MSG_DEBUG, .debugs = *debugs};

	if (debugs->n && msg_send(a->socket, &m, sizeof(m), NULL, 0))
		log_debug("the scheduler takes no messages");
}

/* Runs in the child, so that a crash or endless DWARF costs only the child's
 * work. A child that is stopped ends, too: its slot and its turn are needed. */
static void
be_child(const struct analyser *a, int channel, int news, int64_t waits_s,
         analyser_work *work, void *arg)
{
	int64_t within_s = waits_s + a->conf->worker_finish_cpu +
	                   a->conf->worker_watchdog;
	struct host_debugs debugs = {.n = 0};
	struct host host = worker_host(&channel);

	host.device = a->host.device;
	if (*a->conf->symbols_debuginfod)
		host.debugs = &debugs;
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (privilege_end_within(within_s) ||
	    sandbox_limit_cpu(a->conf->worker_finish_cpu) ||
	    turn_begin(&a->turns))
		_exit(1);
	if (work(a, &host, arg) && symbols_cache_send(a->symbols, news))
		log_debug("symbols are not kept");
	send_debugs(a, &debugs);
	_exit(0);
}

static struct analyser_news *
news_of(struct analyser *a, pid_t child)
{
	for (size_t i = 0; i < ARRAY_LEN(a->news); i++)
		if (a->news[i].pid == child)
			return &a->news[i];
	return NULL;
}

static int
open_channel(struct analyser *a)
{
	struct host_ask ask = {.op = HOST_CHANNEL};

	return a->channel < 0 ? host_fd(&a->host, &ask, &a->channel) : 0;
}

void
analyser_prepare_fork(struct analyser *a)
{
	if (open_channel(a))
		log_debug("no channel ahead of time");
}

static int
fork_child(struct analyser *a, int64_t waits_s, analyser_work *work, void *arg,
           pid_t *out)
{
	CLEANUP_FD int news = memfd_create("stoker-symbols", MFD_CLOEXEC);
	struct analyser_news *slot = news_of(a, 0);
	bool full = !slot || slot - a->news >= memory_children(a->conf);
	int rc = news < 0 ? -errno : open_channel(a);
	CLEANUP_FD int channel = TAKE_FD(a->channel);
	pid_t pid;

	if (rc)
		return rc;
	if (full)
		return -EBUSY;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		be_child(a, channel, news, waits_s, work, arg);
	*slot = (struct analyser_news){pid, TAKE_FD(news)};
	*out = pid;
	return 0;
}

int
analyser_fork(struct analyser *a, analyser_work *work, void *arg, pid_t *out)
{
	return fork_child(a, 0, work, arg, out);
}

int
analyser_fork_finisher(struct analyser *a, const struct analyser_job *job,
                       int fd, bool checkpoint, pid_t *out)
{
	struct finisher f = {job, fd, checkpoint};
	/* an engine that does not sample waits for the time of its capture */
	uint64_t waits_ms = job->capture ? 0 : job->duration_ms;

	return fork_child(a, (int64_t)(waits_ms / 1000), be_finisher, &f, out);
}

void
analyser_learn(struct analyser *a, pid_t child, bool good)
{
	struct analyser_news *slot = news_of(a, child);
	int rc;

	if (!slot)
		return;
	rc = good ? symbols_cache_learn(a->symbols, slot->fd) : 0;
	if (rc)
		log_debug("symbols are not kept: %s", strerror(-rc));
	close(slot->fd);
	*slot = (struct analyser_news){0};
}
