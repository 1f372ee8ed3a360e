/*
 * The analyser in a separate process, in its sandbox. The test plays the
 * scheduler, and answers questions to the opener from this machine.
 */
#include "worker/analyser/analyser.h"

#include "base/clock.h"
#include "base/file.h"
#include "lib/folded.h"
#include "lib/here.h"
#include "lib/test.h"
#include "profile/pprof.h"
#include "worker/ipc/pull_pages.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define WAIT_MS     10000
#define ID          "sess-one"
#define MAX_ASKERS  16
#define DURATION_MS 1000

/* Ways to take a profile: by one engine; and by the second of two, since the
 * first one needs libstoker-heap.so, which the program does not load. */
#define CPU (UINT64_C(1) << WAY_cpu_any_RECORDER)
#define STACKS                                  \
	(UINT64_C(1) << WAY_alloc_native_HEAP | \
	 UINT64_C(1) << WAY_goroutine_native_SNAPSHOT)

struct rig {
	struct conf conf;
	pid_t analyser, busy; /* busy: a process that uses its CPU */
	int socket, blame;    /* our ends */
	pthread_t opener;
	struct pollfd askers[MAX_ASKERS];
	size_t n;
	bool refuses; /* no forked child gets a socket for questions */
};
#define CLEANUP_RIG CLEANUP(rig_done)

/* --- questions to the opener --------------------------------------------- */

/* Another socket for questions, for a forked child. */
static int
open_channel(struct rig *r, int *out)
{
	int pair[2];

	if (r->refuses || r->n == MAX_ASKERS || msg_pair(pair))
		return -EMFILE;
	r->askers[r->n++] = (struct pollfd){pair[0], POLLIN, 0};
	*out = pair[1];
	return 0;
}

/* Answers one question; returns false if the socket's other end is closed. */
static bool
answer(struct rig *r, int socket)
{
	int fds[HOST_MAX_FDS];
	size_t nfds = 1;
	struct host_reply reply = {.error = 0};
	struct host_ask ask;
	ssize_t got = msg_recv(socket, &ask, sizeof(ask), fds, &nfds);
	int with = got == sizeof(ask) && nfds ? fds[0] : -1;

	if (got != sizeof(ask))
		return false;
	if (ask.op == HOST_CHANNEL) {
		reply.error = open_channel(r, fds);
		nfds = !reply.error;
	} else if (ask.op == HOST_ALIVE) {
		nfds = 0;
	} else {
		host_ask_here(&r->conf, &ask, &reply, fds, &nfds);
		close_ptr(&with);
	}
	/* The child may have ended meanwhile. */
	(void)!msg_send(socket, &reply, sizeof(reply), fds, nfds);
	for (size_t i = 0; i < nfds; i++)
		close(fds[i]);
	return true;
}

/* Answers questions until the analyser has ended, whose socket is the first. */
static void *
be_opener(void *arg)
{
	struct rig *r = arg;

	for (;;) {
		ck_assert_int_gt(poll(r->askers, r->n, -1), 0);
		for (size_t i = r->n; i-- > 0;) {
			if (!r->askers[i].revents || answer(r, r->askers[i].fd))
				continue;
			close(r->askers[i].fd);
			if (!i)
				return NULL;
			r->askers[i] = r->askers[--r->n];
		}
	}
}

/* --- the processes -------------------------------------------------------- */

static void
start_analyser(struct rig *r)
{
	int ask[2], socket[2];

	r->blame = memfd_create("blame", MFD_CLOEXEC);
	ck_assert_int_eq(ftruncate(r->blame, sizeof(struct blame)), 0);
	ck_assert_int_eq(msg_pair(ask) | msg_pair(socket), 0);
	r->analyser = fork();
	ck_assert_int_ge(r->analyser, 0);
	if (!r->analyser) {
		close(ask[0]);
		close(socket[0]);
		_exit(analyser_run(&r->conf, ask[1], socket[1],
		                   dup(r->blame)) != -EPIPE);
	}
	close(ask[1]);
	close(socket[1]);
	r->socket = socket[0];
	r->askers[r->n++] = (struct pollfd){ask[0], POLLIN, 0};
	ck_assert_int_eq(pthread_create(&r->opener, NULL, be_opener, r), 0);
}

static void
rig_init(struct rig *r, bool refuses)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);

	*r = (struct rig){.refuses = refuses};
	ck_assert_msg(
		!conf_parse("test", "[store]\ndir = /none\n", &r->conf, &why),
		"%s", buf_str(&why));
	r->busy = fork();
	ck_assert_int_ge(r->busy, 0);
	if (!r->busy)
		for (volatile unsigned n = 0;; n++)
			;
	start_analyser(r);
}

/* The analyser ends with the scheduler. */
static void
rig_done(struct rig *r)
{
	int status;

	kill(r->busy, SIGKILL);
	ck_assert_int_eq(waitpid(r->busy, &status, 0), r->busy);
	close(r->socket);
	ck_assert_int_eq(waitpid(r->analyser, &status, 0), r->analyser);
	ck_assert_int_eq(status, 0);
	pthread_join(r->opener, NULL);
	close(r->blame);
	conf_done(&r->conf);
}

/* --- what the scheduler says and hears ------------------------------------ */

/* Starts a capture of the busy process; its profile goes to out. */
static void
start(struct rig *r, uint64_t ways, int out)
{
	struct msg_start m = {
		.type = MSG_START,
		.id = ID,
		.rate = 100,
		.duration_ms = DURATION_MS,
		.ways = ways,
		.npids = 1,
		.pids = {r->busy},
	};

	ck_assert_int_eq(msg_send(r->socket, &m, sizeof(m), &out, 1), 0);
}

/* Answers with a page of CPU time for it to read. */
static void
give_page(struct rig *r, int out)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PROFILE struct profile *p = profile_of("main;work 3\n");
	CLEANUP_FD int body = memfd_create("body", MFD_CLOEXEC);
	const int fds[] = {out, body};
	const struct msg_pull m = {
		.type = MSG_PULL,
		.step = PULL_STEP_CPU,
		.id = ID,
		.status = 200,
	};

	ck_assert_int_eq(pprof_encode(p, &bytes), 0);
	ck_assert_int_eq(write(body, bytes.p, bytes.len), (ssize_t)bytes.len);
	ck_assert_int_eq(msg_send(r->socket, &m, sizeof(m), fds, 2), 0);
}

/* Waits for DONE, and drops other messages. */
static struct msg_done
hear_done(struct rig *r)
{
	int64_t end = clock_mono_ns() + WAIT_MS * NS_PER_MS;
	union {
		uint32_t type;
		struct msg_progress progress;
		struct msg_done done;
		struct msg_debug debug;
	} m = {.type = 0};

	while (m.type != MSG_DONE) {
		int64_t left = (end - clock_mono_ns()) / NS_PER_MS;
		struct pollfd p = {r->socket, POLLIN, 0};
		int fds[] = {-1, -1};
		size_t nfds = ARRAY_LEN(fds);

		ck_assert_int_gt(poll(&p, 1, left > 0 ? (int)left : 0), 0);
		ck_assert_int_gt(msg_recv(r->socket, &m, sizeof(m), fds, &nfds),
		                 0);
		close_ptr(&fds[0]);
		close_ptr(&fds[1]);
	}
	ck_assert_str_eq(m.done.id, ID);
	return m.done;
}

/* Counts samples. named: every function has its name, so readers of the profile
 * need not look names up. */
static uint32_t
samples_in(int fd, bool named)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(1 << 20);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PROFILE struct profile *p = NULL;

	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	ck_assert_int_eq(fd_read_all(fd, &bytes), 0);
	ck_assert_int_eq(pprof_decode(bytes.p, bytes.len, 1 << 20, &p, &why),
	                 0);
	for (uint32_t i = 0; named && i < p->nmappings; i++)
		ck_assert(p->mappings[i].has_functions &&
		          p->mappings[i].has_files &&
		          p->mappings[i].has_lines &&
		          p->mappings[i].has_inlines);
	return p->nsamples;
}

TEST(a_capture_ends_with_its_profile)
{
	NEEDS_SANDBOX();
	CLEANUP_RIG struct rig r;
	CLEANUP_FD int out = memfd_create("profile", MFD_CLOEXEC);
	struct msg_done done;

	rig_init(&r, false);
	start(&r, CPU, out);
	done = hear_done(&r);
	ck_assert_uint_eq(done.error, CAPTURE_OK);
	ck_assert_uint_eq(done.checkpoint, 0);
	ck_assert_uint_gt(samples_in(out, true), 0);
}
END

TEST(an_answer_of_a_page_ends_with_its_profile)
{
	NEEDS_SANDBOX();
	CLEANUP_RIG struct rig r;
	CLEANUP_FD int out = memfd_create("profile", MFD_CLOEXEC);
	struct msg_done done;

	rig_init(&r, false);
	give_page(&r, out);
	done = hear_done(&r);
	ck_assert_uint_eq(done.error, CAPTURE_OK);
	ck_assert_uint_eq(done.checkpoint, 0);
	ck_assert_uint_eq(samples_in(out, false), 1);
}
END

/* If its report were taken for that of a checkpoint, the capture would never
 * end. */
TEST(a_capture_that_no_child_can_write_fails)
{
	NEEDS_SANDBOX();
	CLEANUP_RIG struct rig r;
	CLEANUP_FD int out = memfd_create("profile", MFD_CLOEXEC);
	struct msg_done done;

	rig_init(&r, true);
	start(&r, CPU, out);
	done = hear_done(&r);
	ck_assert_uint_eq(done.error, CAPTURE_INTERNAL);
	ck_assert_int_eq(done.sys_error, -EMFILE);
	ck_assert_uint_eq(done.checkpoint, 0);
	give_page(&r, out); /* the slot is free again */
	done = hear_done(&r);
	ck_assert_int_eq(done.sys_error, -EMFILE);
	ck_assert_uint_eq(done.checkpoint, 0);
}
END

/* The ids in that file show which capture crashed the analyser. */
TEST(a_capture_to_blame_is_known_also_when_its_second_way_is_tried)
{
	NEEDS_SANDBOX();
	static const uint64_t ways[] = {CPU, STACKS};

	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		CLEANUP_RIG struct rig r;
		CLEANUP_FD int out = memfd_create("profile", MFD_CLOEXEC);
		struct msg_done done;
		struct blame b;

		rig_init(&r, false);
		start(&r, ways[i], out);
		done = hear_done(&r);
		ck_assert_uint_eq(done.error, CAPTURE_OK);
		ck_assert_int_eq(pread(r.blame, &b, sizeof(b), 0), sizeof(b));
		ck_assert_str_eq(b.ids[0], ID);
	}
}
END

SUITE("analyser", .seconds = 60);
