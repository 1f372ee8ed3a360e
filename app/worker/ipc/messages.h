/*
 * Messages between the worker's processes.
 *
 *	opener ──┬── analyser        a = ask socket (struct host_ask)
 *	         ├── scheduler       a = ask socket, e = events socket
 *	         ├── fetcher         only while it is needed
 *	         └── courier         only if [agent] names a centre
 *	scheduler ── analyser        c = capture socket (struct msg_*)
 *	scheduler ── fetcher         f = fetch socket (fetch.h)
 *	scheduler ── courier         f as well
 *
 * All are SOCK_SEQPACKET pairs of base/msg.h; a message is one fixed struct
 * whose first field is its type, and a receiver drops messages of another
 * length. Every process dies with its parent, the opener.
 *
 * a: include/capture/host.h. Each question has one answer (worker_ask). A
 *    process that forks first asks for another socket, a CHANNEL.
 *
 * e: the opener announces each analyser to the scheduler: MSG_ANALYSER comes
 *    with two descriptors, the capture socket and the blame page. The first
 *    is sent right after the start, and another whenever an analyser died
 *    and was replaced: the scheduler then reads the *old* blame page. The
 *    capture that this page names fails (CAPTURE_ANALYSER_DIED); the others
 *    of the old analyser are handled as after the death of a worker. A
 *    capture that has sent its last PROGRESS (WORKER_FINISHING) is in the
 *    hands of a finisher, which dies with the analyser.
 *    The scheduler also asks for a fetcher here: MSG_WANT_FETCHER is answered
 *    by MSG_FETCHER, with the fetch socket, or with an error and no socket.
 *    A fetcher that still runs is ended first. One that died is not replaced
 *    until the scheduler asks again. If it hangs, the opener ends it, and sends
 *    MSG_FETCHER with an error. MSG_WANT_COURIER and MSG_COURIER do the same for
 *    the courier.
 *    MSG_MAY lists the processes of captures and watches, and what services
 *    allow the worker to do to theirs (opener_grants.h). It has no answer,
 *    and is sent before the analyser learns of these processes.
 *
 * c: scheduler to analyser
 *	START
 *	    + 1 descriptor for the profile, and a second for the timeline, if
 *	    one is wanted: empty, seekable, writable files, which the analyser
 *	    then owns. Answered by PROGRESS about once a second during the
 *	    capture, and by one DONE. STOP ends the capture early: DONE follows
 *	    with what was captured (note STOPPED in its quality).
 *	CHECKPOINT
 *	    + 1 descriptor as above: writes what was sampled so far. Answered
 *	    by DONE with checkpoint = 1. The capture goes on.
 *	GROW
 *	    + 1 descriptor as above, and a second with the last reading, if
 *	    there is one (capture/buckets.h): makes a profile of what was
 *	    counted since that reading. Answered by DONE.
 *	SYMBOLIZE
 *	    + 2 descriptors, for the new profile and with the old one: names
 *	    what can be named now. Files for an upload are also looked for in
 *	    the processes that the message lists. Debug files that clients
 *	    pushed follow, a descriptor for each. Answered by DONE, in whose
 *	    quality only frames and symbolized are set.
 *	PULL
 *	    + 2 descriptors, for the profile and with the fetched body
 *	    (pull_pages.h), which a finisher reads. Answered by DONE.
 *	WATCH
 *	    starts sampling without an end. DONE answers only if it fails. STOP
 *	    ends it, without an answer.
 *	FOLLOW
 *	    adds processes to the capture or watch with this id. No answer.
 *	LEAVE
 *	    removes processes that were sampled as children of the service's
 *	    processes, but do not belong to the service. No answer.
 *	ROLLUP
 *	    + 1 descriptor, a memfd with profiles to add up, each after a
 *	    struct rollup_piece; the profiles of a group are consecutive.
 *	    Answered by one ROLLED; not sent again before that answer.
 *	EXPORT
 *	    + 1 descriptor, a memfd with profiles for collectors and replies of
 *	    collectors, each after a struct export_piece. Answered by one
 *	    EXPORTED; not sent again before that answer.
 *	CUT
 *	    asks for what all watches sampled since they started or were last
 *	    cut. Answered by one WINDOWS; not sent again before that answer.
 *
 * c: analyser to scheduler
 *	PROGRESS
 *	    one for each running capture.
 *	DONE
 *	    error = 0: + 1 descriptor, a memfd with the JSON array
 *	    topFunctions (whole, offset 0). The profile is complete in the
 *	    descriptor of START, not yet fsynced. A second descriptor has,
 *	    after GROW, the reading for the next GROW; after START, the
 *	    listing, if there is one. error > 0: an enum
 *	    capture_error, no descriptor; sys_error is its cause, if known.
 *	DEBUG
 *	    the debug files that a profile needed, if [symbols] debuginfod
 *	    names servers. Follows DONE or WINDOWS, if there is one.
 *	WINDOWS
 *	    + 2 descriptors, memfds: the profiles (pprof, gzipped), one after
 *	    another, and a struct window_row for each. After an error, the
 *	    rows end before the watch that failed.
 *	ROLLED
 *	    + 2 descriptors, memfds: the sums, and a struct rollup_row for
 *	    each group. After an error, the rows end before the group that
 *	    failed.
 *	EXPORTED
 *	    + 2 descriptors, memfds: the requests, gzipped, one after another,
 *	    and a struct export_row for each piece. The rows end before the first
 *	    request that has no room beside the others and, after an error,
 *	    before the piece that failed.
 */
#pragma once

#include "base/buf.h"
#include "base/clock.h"
#include "base/finding.h"
#include "base/id.h"
#include "base/msg.h"
#include "base/ways.h"
#include "capture/host.h"
#include "capture/quality.h"

#define WORKER_MAX_CAPTURES 64                 /* at once in one analyser */
#define WORKER_MAX_PIDS     1024               /* in one START */
#define WORKER_MAX_WINDOW   ((size_t)64 << 20) /* bytes of a stored window */
#define WORKER_MAX_PUSHED   62                 /* debug files in one message */

enum capture_error {
	CAPTURE_OK,
#define CAPTURE_ERROR(code, check, name, text) CAPTURE_##code,
#include "capture_error.def"
#undef CAPTURE_ERROR
	CAPTURE_ROWS,
	/* CAPTURE_UNSUPPORTED, for each check that can explain it */
	CAPTURE_ERRORS = CAPTURE_ROWS + CHECKS
};
/* Returns CAPTURE_UNSUPPORTED, as explained by a check. */
static inline enum capture_error
capture_error_unsupported(enum check c)
{
	return (enum capture_error)(CAPTURE_ROWS + (unsigned)c);
}
/* Return "ErrorCode" and the line for people; both are "" for CAPTURE_OK. */
const char *capture_error_code(enum capture_error e);
const char *capture_error_text(enum capture_error e);
/* Returns the check whose failure explains the error, or CHECKS. */
enum check capture_error_check(enum capture_error e);
/*
 * Writes the line for people, or the finding of the check that explains it.
 *   Shape    findings[CHECKS], or NULL; service: its name, which SERVICE in
 *            the text becomes, or NULL
 */
void capture_error_explain(enum capture_error e, const struct finding *findings,
                           const char *service, struct buf *out);

enum msg_type {
	MSG_ANALYSER = 1,
	MSG_START,
	MSG_STOP,
	MSG_CHECKPOINT,
	MSG_PROGRESS,
	MSG_DONE,
	MSG_SYMBOLIZE,
	MSG_WANT_FETCHER,
	MSG_FETCHER,
	MSG_WATCH,
	MSG_FOLLOW,
	MSG_LEAVE,
	MSG_CUT,
	MSG_WINDOWS,
	MSG_PULL,
	MSG_MAY,
	MSG_ROLLUP,
	MSG_ROLLED,
	MSG_DEBUG,
	MSG_WANT_COURIER,
	MSG_COURIER,
	MSG_GROW,
	MSG_EXPORT,
	MSG_EXPORTED,
};

enum worker_phase { WORKER_CAPTURING, WORKER_FINISHING };

struct msg_analyser {
	uint32_t type;
	int32_t pid;
	uint32_t generation; /* 1 for the first */
};

/* WANT_FETCHER or WANT_COURIER, with error 0, and its answer. */
struct msg_fetcher {
	uint32_t type;
	int32_t error; /* -errno */
};

/* Bits for what the opener may do to a process. */
enum worker_may {
	WORKER_MAY_SET = 1, /* make a Go runtime keep a profile meanwhile */
	WORKER_MAY_ASK = 2, /* ask a JVM for the names of its code */
	/* Keep a Go runtime counting for the duration, even when the client
	 * that set the rate is gone; 0 ms ends it. */
	WORKER_MAY_KEEP_BLOCK = 4,
	WORKER_MAY_KEEP_MUTEX = 8,
	/* Read their memory, files and stacks (host.def). Each message lists
	 * all processes of the capture or watch with this id, and replaces the
	 * list before; at its end, the list is empty. */
	WORKER_MAY_LOOK = 16,
	WORKER_MAY_LIST = 32, /* read source text for a listing */
};

/* A process by pid and start time, as the scheduler saw them. If the process
 * has ended and its pid is another's, nothing is granted. */
struct msg_process {
	uint64_t start_time; /* ticks since boot; 0: whatever has the pid */
	int32_t pid;
	uint32_t reserved;
};

struct msg_may {
	uint32_t type, npids;
	uint64_t duration_ms;
	uint32_t what; /* enum worker_may */
	uint32_t reserved;
	char id[ID_MAX]; /* for LOOK */
	/* Only npids of them are sent. */
	struct msg_process processes[WORKER_MAX_PIDS];
};
#define MSG_MAY_BYTES(npids)                   \
	(offsetof(struct msg_may, processes) + \
	 (npids) * sizeof(struct msg_process))

/* START; WATCH and GROW, which have no duration; FOLLOW and LEAVE, which have
 * only an id and pids. */
struct msg_start {
	uint32_t type;
	uint32_t rate; /* requested samples per second of CPU time */
	char id[ID_MAX];
	uint64_t duration_ms;
	uint64_t ways;   /* a set of base/ways.h, all of one type, in order */
	uint32_t set;    /* 1: WORKER_MAY_SET or a right to keep was granted
	                    for these */
	uint32_t titles; /* enum titles, for START and WATCH */
	/* For GROW: how long ago the processes were looked up. */
	uint32_t known_ms;
	uint32_t attempt; /* at a job; DONE repeats it */
	uint32_t list;    /* 1, of START: WORKER_MAY_LIST was granted, and a
	                     listing is wanted */
	uint32_t threads; /* 1, of WATCH: samples keep the names of threads */
	uint32_t npids;
	int32_t pids[WORKER_MAX_PIDS];
};

/* An answer of the fetcher, to be turned into a profile. */
struct msg_pull {
	uint32_t type;
	uint32_t step; /* enum pull_step */
	char id[ID_MAX];
	uint32_t status; /* HTTP status */
	uint32_t attempt;
	int64_t start_ms, elapsed_ms; /* of the fetch; start since the epoch */
};

_Static_assert(2 + WORKER_MAX_PUSHED <= MSG_FDS_MAX, "a message has them all");

#define MSG_BUILD_ID 204 /* an identifier of a program, with its NUL */

/* A debug file that a client pushed. */
struct msg_pushed {
	char wanted[MSG_BUILD_ID];   /* the program's, in the profile */
	char build_id[MSG_BUILD_ID]; /* that the file must have */
};

struct msg_symbolize {
	uint32_t type;
	uint32_t uploaded; /* 1: the profile is not a worker's capture */
	char id[ID_MAX];
	uint32_t npushed;
	struct msg_pushed pushed[WORKER_MAX_PUSHED];
	uint32_t npids;
	int32_t pids[WORKER_MAX_PIDS];
};

/* STOP and CHECKPOINT; CUT, ROLLUP and EXPORT, which have no id. */
struct msg_capture {
	uint32_t type;
	char id[ID_MAX];
};

struct msg_progress {
	uint32_t type;
	uint32_t phase; /* enum worker_phase */
	char id[ID_MAX];
	uint64_t samples;
	uint64_t elapsed_ms, duration_ms;
};

struct msg_done {
	uint32_t type;
	uint32_t checkpoint; /* 1: the capture goes on */
	char id[ID_MAX];
	uint32_t error;    /* enum capture_error */
	uint32_t timeline; /* 1: the timeline was written as well */
	int32_t sys_error; /* -errno that caused it, or 0 */
	uint32_t attempt;  /* of START or PULL: files of another attempt are not
	                      complete */
	int64_t start_ms;  /* since the epoch */
	int64_t value;     /* total of the default value type */
	/* Bits of the files in SYMBOLIZE: those that were used, and those that
	 * are not of their build-id, or name no function. */
	uint64_t pushed_used, pushed_refused;
	struct quality quality;
};

struct msg_windows {
	uint32_t type;
	uint32_t error;      /* enum capture_error */
	char failed[ID_MAX]; /* the watch that failed; "": none */
};

struct msg_batch { /* ROLLED, EXPORTED */
	uint32_t type;
	uint32_t error; /* enum capture_error */
};

struct msg_debug {
	uint32_t type;
	struct host_debugs debugs;
};

#define ROLLUP_MAX_GROUPS 64

#define ROLLUP_MAX_FUNCTIONS 8

/* Comes before the bytes of each profile in a sum, or before the name of a
 * function whose share of it is wanted. */
struct rollup_piece {
	uint32_t group; /* counts up, without gaps */
	uint32_t length;
	uint32_t function; /* 1: the bytes are a name */
	uint32_t parts;    /* 1: the sum is a bundle (base/counted.h) */
};

/* A sum, in the second descriptor of ROLLED. */
struct rollup_row {
	uint32_t group;
	uint32_t failed; /* 1: the sum could not be made */
	uint64_t offset, length;
	/* for each function, with what it calls: percent of the sum's value */
	double shares[ROLLUP_MAX_FUNCTIONS];
};

#define EXPORT_MAX_BYTES ((size_t)16 << 20) /* of a profile; of all requests */
#define EXPORT_MESSAGE   200

/* Comes before the origin of a profile, {"service","host","id","labels"}, and
 * the bytes of the profile; or before a reply, which has no origin. */
struct export_piece {
	uint32_t origin; /* length; 0: a reply */
	uint32_t length; /* of the bytes */
};

/* A request or the meaning of a reply, in the second descriptor of EXPORTED. */
struct export_row {
	uint32_t failed; /* 1: no request could be made, or it is not a reply */
	uint32_t reserved;
	uint64_t offset, length;      /* of the request */
	int64_t rejected;             /* profiles, according to the reply */
	char message[EXPORT_MESSAGE]; /* of the reply; UTF-8, no controls */
};

/* One window, in the second descriptor of WINDOWS. */
struct window_row {
	char id[ID_MAX];         /* of its watch */
	uint64_t offset, length; /* of its profile; length 0: no samples */
	int64_t start_ms;        /* since the epoch */
	int64_t duration_ms, samples, lost;
	int64_t value; /* total, in the type's unit */
	int64_t quota_ms;
};

/* Memory shared with the opener and the scheduler, which outlive the analyser:
 * the capture that the analyser is working on. Only the analyser writes it, so
 * readers check current and ids. */
struct blame {
	uint32_t current; /* index into ids; WORKER_MAX_CAPTURES: none */
	char ids[WORKER_MAX_CAPTURES][ID_MAX];
};

/* The sockets of the scheduler; both stay open until it returns. */
struct worker_sockets {
	int ask;    /* a */
	int events; /* e */
};

/*
 * Asks the opener, and waits for the answer.
 *
 *   Shape    fds[*nfds] are sent with the question; afterwards fds and *nfds
 *            are those of the answer
 *   Owns     both sets of descriptors are the caller's
 *   Errors   of the transport: -EPIPE, -EBADMSG; the opener's error is in
 *            reply->error
 */
MUST_CHECK int
worker_ask(int sock, const struct host_ask *ask, struct host_reply *reply,
           int fds[HOST_MAX_FDS], size_t *nfds);
/*
 * Grants the opener a right to processes, for a limited time.
 *   Shape    pids[n], starts[n] of struct msg_process; starts may be NULL
 *   Errors   -E2BIG past WORKER_MAX_PIDS; as msg_send()
 */
MUST_CHECK int
worker_may(int events, enum worker_may what, uint64_t duration_ms,
           const int32_t *pids, const uint64_t *starts, size_t n);
/*
 * Grants WORKER_MAY_LOOK until the capture or watch with this id ends.
 *   Shape    pids[n], starts[n] are all of its processes, as in worker_may();
 *            n is 0 once it has ended
 */
MUST_CHECK int worker_may_look(int events, const char *id, const int32_t *pids,
                               const uint64_t *starts, size_t n);
/*
 * Reads the programs of processes.
 *   Shape    pids[n], n up to HOST_MAX_PROGRAMS; out: those of host.def, in the
 *            order of pids
 *   Errors   -ETIMEDOUT one of them does not answer; -errno
 */
MUST_CHECK int
worker_programs(int sock, const int32_t *pids, size_t n, struct buf *out);
/* Reads the pid from a pid file of this host; -errno. */
MUST_CHECK int worker_pid_file(int sock, const char *path, int32_t *out);
/*
 * Appends a file of a row of container_file.def, or the name that it stands
 * for.
 *   Errors   -E2BIG past out->max; those of CONTAINER_FILE in host.def; -errno
 */
MUST_CHECK int worker_container_file(int sock, uint32_t row, const char *path,
                                     uid_t owner, struct buf *out);
/*
 * Sends the opener a sign of life, at most once per WORKER_ALIVE_NS for each
 * second of the watchdog: a quarter of the interval of its looks.
 *   Shape    watchdog_s is [worker] watchdog; *next_ns is 0 at first
 *   Errors   none: the loss of the opener is noticed elsewhere
 */
#define WORKER_ALIVE_NS (NS_PER_S / 16) /* per second of the watchdog */
void worker_alive(int sock, int64_t watchdog_s, int64_t *next_ns);
/* Makes a host (capture/host.h) that asks through *sock, which must outlive
 * it. */
struct host worker_host(int *sock);
