/*
 * The analyser: samples, unwinds, counts; forks a finisher per capture that
 * ends. It holds no capability and opens no path.
 */
#pragma once

#include "base/conf.h"
#include "capture/recorder.h"
#include "worker/ipc/messages.h"

struct analyser_job {
	char id[ID_MAX];         /* "": unused */
	struct capture *capture; /* NULL once a finisher has it */
	int out_fd;
	int in_fd; /* a stored profile that is to be named, or a reading; -1 */
	int timeline_fd;    /* -1: no timeline is wanted */
	pid_t finisher;     /* 0: none yet */
	pid_t checkpointer; /* 0: none now */
	bool watch;         /* without an end: it has no out_fd */
	int64_t start_ms;
	int body_fd; /* what was fetched; -1: nothing was */
	struct msg_pull pull;
	/* Of one whose finisher is all there is: what it was asked for. */
	uint32_t kind, of, set, known_ms;
	uint64_t duration_ms;
	/* What its finisher, while that passes time, waits for: an eventfd
	 * that ANALYSER_STOP is added to when it is to end, and 1 when the
	 * other, a memfd, has other processes, int32_t each. -1: it has no
	 * time to pass */
	int event_fd, joined_fd;
	uint32_t npids;
	int32_t pids[WORKER_MAX_PIDS];
};

#define ANALYSER_STOP (UINT64_C(1) << 32)
#define ANALYSER_NO_JOB                                                      \
	{                                                                    \
		.out_fd = -1, .timeline_fd = -1, .body_fd = -1, .in_fd = -1, \
		.event_fd = -1, .joined_fd = -1                              \
	}

struct analyser {
	const struct conf *conf;
	int ask;    /* to the opener */
	int socket; /* to the scheduler */
	int signals;
	struct blame *blame;
	int channel; /* to the opener, for the next child; -1: none yet */
	struct host host;
	struct recorder *captures;
	struct symbols_cache *symbols;
	struct analyser_news {
		pid_t pid;            /* 0: unused */
		int fd;               /* file of what it learns */
	} news[2 * CAPTURES_MAX + 2]; /* a finisher and a checkpointer each,
	                               and who writes windows */
	struct analyser_job jobs[CAPTURES_MAX]; /* by slot */
	struct analyser_cut {
		pid_t pid; /* who writes them; 0: nobody */
		int data, rows;
		char ids[CAPTURES_MAX][ID_MAX]; /* in order of rows */
		uint32_t n;
	} cut;
	struct analyser_rollup {
		pid_t pid; /* who writes the sums; 0: nobody */
		int input, data, rows;
	} rollup;
	int64_t told_ns; /* when PROGRESS went out */
};

/*
 * The whole life of the process, privileges dropped already.
 *   Shape    blame_fd: a file of sizeof(struct blame) bytes
 *   Errors   -errno when it could not start or lost a peer
 */
MUST_CHECK int
analyser_run(const struct conf *conf, int ask, int socket, int blame_fd);

/* What a forked child does, with a host of its own; true: what it learnt of
 * symbols is worth keeping. */
typedef bool
analyser_work(const struct analyser *a, const struct host *host, void *arg);
MUST_CHECK int
analyser_fork(struct analyser *a, analyser_work *work, void *arg, pid_t *out);
/* Does now what need not be waited for when it forks next. */
void analyser_prepare_fork(struct analyser *a);
/*
 * Forks a child that writes the profile to fd and says DONE.
 *   Owns     fd stays the caller's
 */
MUST_CHECK int
analyser_fork_finisher(struct analyser *a, const struct analyser_job *job,
                       int fd, bool checkpoint, pid_t *out);
/* Takes over what that child learnt of symbols, if it ended well. */
void analyser_learn(struct analyser *a, pid_t child, bool good);
/* The job of that id, or NULL; "": one that is unused. */
struct analyser_job *analyser_job(struct analyser *a, const char *id);
/* Sum of the value that a profile is looked at by. */
int64_t analyser_total(const struct profile *p);
/* What recorder_start and snapshot_profile fail with. */
enum capture_error analyser_error(int rc);
/* DONE without a profile, unless it is the opener that is gone; the scheduler
 * being gone is noticed elsewhere. */
void analyser_fail(const struct analyser *a, const struct analyser_job *job,
                   bool checkpoint, enum capture_error error, int sys_error);
/* Samples without an end. */
void analyser_watch(struct analyser *a, const struct msg_start *m);
/* FOLLOW and LEAVE, unless what they are about has ended. */
void analyser_follow(struct analyser *a, const struct msg_start *m);
/* Cuts all watches; a child writes their windows. */
void analyser_cut(struct analyser *a);
/* Has a child add up what input holds, which is a's from now on. */
void analyser_rollup(struct analyser *a, int input);
/* Tells of the sums when that was the child; false: it was another. */
bool analyser_rollup_ended(struct analyser *a, pid_t pid, bool good);
/* Tells of the windows when that was the child; false: it was another. */
bool analyser_cut_ended(struct analyser *a, pid_t pid, bool good);
