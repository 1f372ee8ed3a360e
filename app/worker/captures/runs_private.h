/*
 * The parts of runs.h that only the files of this folder use.
 */
#pragma once

#include "runs.h"

#include "store/debug_file.h"
#include "worker/ipc/pull_pages.h"

/* A capture that is fetched. */
struct pull {
	char base[URL_MAX + 1];
	enum pull_step step;
	uint64_t fetch; /* id of the request; 0: none */
	int64_t asked_ns, asked_ms;
	bool leaks;  /* the service allows finding leaks */
	int scratch; /* output of the second step; -1: in the first step */
	struct msg_done first; /* result of the first step */
	int first_top;
};

struct run *runs_find(struct runs *c, const char *id);
/* Drops a run, and removes bytes without a row. */
void runs_drop(struct runs *c, struct run *v);
/* Sends STOP or CHECKPOINT, the latter with a descriptor. */
MUST_CHECK int
runs_send(struct runs *c, const struct run *v, enum msg_type type, int fd);
/* Grants the analyser access to a run's processes; now is NULL once the run
 * has ended. */
void runs_say_look(const struct runs *c, const struct run *v,
                   const struct followed *now);
/* Ends a run now; further calls do nothing. */
void runs_stop(struct runs *c, struct run *v);
/*
 * Adds a run, with a blob to write to.
 *   Owns     *job is taken, also on failure
 *   Errors   -ENOMEM, -EMFILE: the job will be taken over; *out is NULL when
 *            the capture failed at once, which its job then records
 */
MUST_CHECK int
runs_add(struct runs *c, struct job *job, int64_t now_ns, struct run **out);
/* Ends a run that was cancelled before there was anything to keep. */
void runs_cancelled(struct runs *c, struct run *v);
/* --- runs that are fetched: runs_pull.c ------------------------------- */
double runs_pull_progress(const struct run *v);
/* Gives up a fetch; a finisher's work goes on. */
void runs_pull_stop(struct runs *c, struct run *v);
/* True when a run was stopped, and no further result will come. */
bool runs_pull_ended(const struct run *v);
/* Handles a DONE of a fetched capture; true when another step follows. */
bool runs_pull_done(struct runs *c, struct run *v, const struct msg_done *done,
                    int top_fd);
/* Fails a run in the store, and drops it. */
void runs_fail(struct runs *c, struct run *v, enum capture_error error,
               int sys_error);
/* Takes a DONE and its descriptors, which stay the caller's. */
void runs_take(struct runs *c, struct run *v, const struct msg_done *done,
               const int fds[static 2]);
/* The summary of a profile, which the finisher writes. */
struct run_summary {
	struct buf top; /* topFunctions, as JSON */
	const char *unnamed[DEBUG_FILE_WANTED];
	size_t nunnamed;
	json_t *read; /* owns the texts of unnamed */
};
#define RUN_SUMMARY_INIT                 \
	{                                \
		.top = BUF_INIT(TOP_MAX) \
	}
#define CLEANUP_RUN_SUMMARY CLEANUP(runs_summary_done)
void runs_summary_done(struct run_summary *s);
/* Reads and checks a summary; -EBADMSG, -errno. */
MUST_CHECK int runs_read_summary(int fd, struct run_summary *out);
/*
 * Reads and checks the contents of a DONE without an error.
 *   Shape    findings and service as in quality_json()
 *   Owns     strings of *out are in summary and quality
 *   Errors   -EBADMSG, -errno
 */
MUST_CHECK int
runs_read_result(const struct msg_done *done, const struct finding *findings,
                 const char *service, int summary_fd,
                 struct run_summary *summary, struct buf *quality,
                 struct session_result *out);
/* Asks for a checkpoint when one is due. */
void runs_checkpoint(struct runs *c, struct run *v, int64_t now_ns);
