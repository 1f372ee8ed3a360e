/*
 * The analyser samples, unwinds and counts, and forks a finisher for each
 * capture that ends. It has no capability and opens no path.
 */
#pragma once

#include "base/memory.h"
#include "capture/engine.h"
#include "capture/recorder.h"
#include "capture/rename.h"
#include "turn.h"
#include "worker/ipc/messages.h"

struct analyser;
struct analyser_job;

/* The results of a finisher. */
struct analyser_made {
	struct profile *profile;
	struct quality quality;
	struct timeline *timeline; /* NULL: none */
	int reading;               /* for the next GROW; -1: none */
	int listing;               /* a file; -1: none */
	int64_t start_ms;
	bool checkpoint;                      /* no timeline is wanted */
	uint64_t pushed_used, pushed_refused; /* as in msg_done */
};
/* Makes the profile of a job; *sys_error is the cause of an error, or 0. */
typedef enum capture_error
analyser_make(const struct analyser *a, const struct analyser_job *job,
              const struct host *host, struct analyser_made *out,
              int *sys_error);

struct analyser_job {
	char id[ID_MAX];         /* "": unused */
	analyser_make *make;     /* what the finisher does */
	struct capture *capture; /* NULL once a finisher has it */
	int out_fd;
	int in_fd;       /* a stored profile to symbolize, or a reading; -1 */
	int timeline_fd; /* -1: no timeline */
	pid_t finisher;  /* 0: none */
	pid_t checkpointer; /* 0: none */
	bool watch;         /* has no end, and no out_fd */
	int64_t start_ms;
	int body_fd; /* the fetched answer; -1: none */
	/* Debug files that clients pushed; only while the finisher is
	 * forked. */
	struct rename_pushed *pushed;
	uint32_t npushed;
	struct msg_pull pull;
	/* From START, WATCH or GROW. The first of the ways is tried. */
	uint64_t ways;
	uint32_t rate, set, known_ms, titles, attempt, list, threads;
	uint64_t duration_ms;
	/*
	 * Descriptors of a finisher that waits for a capture's time: an eventfd
	 * to which ANALYSER_STOP is added to end it, and 1 when the memfd has
	 * new processes, int32_t each. -1: the finisher does not wait.
	 */
	int event_fd, joined_fd;
	uint32_t npids;
	int32_t pids[WORKER_MAX_PIDS];
};

/* Exit status of a finisher that could not begin, since its engine supports
 * none of the processes: the next way is tried. */
#define ANALYSER_NEXT 3
#define ANALYSER_STOP (UINT64_C(1) << 32)
#define ANALYSER_NO_JOB                                                      \
	{                                                                    \
		.out_fd = -1, .timeline_fd = -1, .body_fd = -1, .in_fd = -1, \
		.event_fd = -1, .joined_fd = -1                              \
	}

struct analyser {
	const struct conf *conf;
	int ask;    /* socket to the opener */
	int socket; /* socket to the scheduler */
	int signals;
	struct blame *blame;
	int channel; /* socket to the opener for the next child; -1: none yet */
	struct host host;
	struct recorder *captures;
	struct symbols_cache *symbols;
	struct turns turns;
	struct analyser_news {
		pid_t pid; /* 0: unused */
		int fd;    /* file with its report on symbols */
	} news[MEMORY_CHILDREN(CAPTURES_MAX)];  /* memory_children() of them */
	struct analyser_job jobs[CAPTURES_MAX]; /* indexed by slot */
	struct analyser_cut {
		pid_t pid; /* the child that writes them; 0: none */
		int data, rows;
		char ids[CAPTURES_MAX][ID_MAX]; /* in the order of rows */
		uint32_t n;
	} cut;
	struct analyser_batch {
		const struct analyser_batch_kind *kind;
		pid_t pid; /* the child that writes; 0: none */
		int input, data, rows;
	} rollup, export;
	int64_t progress_ns; /* when PROGRESS was last sent */
	int64_t alive_ns;    /* when ALIVE is sent next */
};

/*
 * Runs the process until it ends; privileges were dropped before.
 *   Shape    blame_fd is a file of sizeof(struct blame) bytes
 *   Errors   -errno when it could not start, or a peer is gone
 */
MUST_CHECK int
analyser_run(const struct conf *conf, int ask, int socket, int blame_fd);

/* The work of a forked child, which has its own host. Returns true if its
 * findings about symbols are worth keeping. */
typedef bool
analyser_work(const struct analyser *a, const struct host *host, void *arg);
MUST_CHECK int
analyser_fork(struct analyser *a, analyser_work *work, void *arg, pid_t *out);
/* Prepares the next child's socket, so that the fork need not wait for it. */
void analyser_prepare_fork(struct analyser *a);
/*
 * Forks a child that writes the profile to fd and sends DONE.
 *   Owns     fd stays the caller's
 */
MUST_CHECK int
analyser_fork_finisher(struct analyser *a, const struct analyser_job *job,
                       int fd, bool checkpoint, pid_t *out);
/* Adds a child's findings about symbols to the cache, if it ended well. */
void analyser_learn(struct analyser *a, pid_t child, bool good);
/* Finds the job with an id, or an unused one for ""; NULL if there is none. */
struct analyser_job *analyser_job(struct analyser *a, const char *id);
/* Closes a job's descriptors, and marks it as unused. */
void analyser_clear(struct analyser_job *job);
/* Translates an error of recorder_start(), or of another engine; job: NULL if
 * it is not about a job. */
enum capture_error analyser_error(const struct analyser_job *job, int rc);

/* Sets the id and parameters of a job; false if they are invalid. */
bool analyser_take_ask(struct analyser_job *job, const struct msg_start *m);
/* Returns the engine of the job's first way; NULL: the recorder. */
const struct engine *analyser_engine(const struct analyser_job *job);
enum profile_type_id analyser_type(const struct analyser_job *job);
/* Starts the recorder with the job's parameters. */
MUST_CHECK int analyser_record(struct analyser *a, struct analyser_job *job,
                               uint64_t duration_ns);
/* The work of a finisher for an engine's capture, for GROW, for a capture of
 * the recorder, for PULL, and for SYMBOLIZE of a capture and an upload. */
analyser_make analyser_take, analyser_grow, analyser_name, analyser_read,
	analyser_rename, analyser_name_upload;
/* Makes the listing of a profile, if it is wanted; a failure does not fail the
 * profile. namer as in struct listing_ask. */
void analyser_list(const struct analyser_job *job, const struct host *host,
                   struct namer *namer, struct analyser_made *made);
/* Returns the ways to try when the first one's engine supports none of the
 * processes. */
uint64_t analyser_next(const struct analyser_job *job);
/* Sends m, the progress of a capture, with the job's id. */
void analyser_send(const struct analyser *a, const struct analyser_job *job,
                   struct msg_progress m);
/* Sends DONE without a profile, unless the error is that the opener is gone.
 * The loss of the scheduler is noticed elsewhere. */
void analyser_fail(const struct analyser *a, const struct analyser_job *job,
                   bool checkpoint, enum capture_error error, int sys_error);
/* Starts sampling without an end. */
void analyser_watch(struct analyser *a, const struct msg_start *m);
/* Cuts all watches, and forks a child that writes their windows. */
void analyser_cut(struct analyser *a);
/* How a child processes the pieces in a file. */
struct analyser_batch_kind {
	uint32_t reply; /* type of the message */
	const char *name;
	/* Writes bytes to b->data, and a row that describes them to b->rows. */
	int (*write)(const struct analyser_batch *b, const char *p, size_t n);
};
extern const struct analyser_batch_kind analyser_rollup; /* sums of windows */
extern const struct analyser_batch_kind analyser_export; /* for collectors */
void analyser_batch_init(struct analyser_batch *b,
                         const struct analyser_batch_kind *kind);
/* Forks the child. Owns: input is taken. */
void
analyser_batch_start(struct analyser *a, struct analyser_batch *b, int input);
/* Reports the result if this is the child that has written it. */
void analyser_batch_ended(const struct analyser *a, struct analyser_batch *b,
                          pid_t pid, bool good);
/* Reports the windows if this is the child that has written them. */
void analyser_cut_ended(struct analyser *a, pid_t pid, bool good);
