#include "opener_readers.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/proc_exec.h"
#include "base/proc_text.h"
#include "opener.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#define AGAIN_NS INT64_C(100000000) /* between checks of a slow reader */

/* A question to a reader, and its answer. */
struct reader_ask {
	struct host_ask ask;
	uint64_t copy_room;
};

struct reader_reply {
	struct host_reply reply;
	uint64_t copied;
};

/* --- the child ------------------------------------------------------------ */

static void
handle(struct opener *o, int socket, const struct reader_ask *ask, int in)
{
	struct reader_reply reply;
	struct answer out;

	o->copy_room = ask->copy_room;
	o->copied = 0;
	opener_handle(o, &ask->ask, -1, in, &out);
	reply = (struct reader_reply){out.reply, o->copied};
	if (msg_send(socket, &reply, sizeof(reply), out.fds, out.nfds))
		log_debug("the opener takes no messages");
	for (size_t i = 0; i < out.nfds; i++)
		close(out.fds[i]);
}

/* Answers questions in a reader, or one in a loader. */
static _Noreturn void
be_child(struct opener *o, int socket, bool loads)
{
	pid_t parent = o->self;
	int keep[] = {socket, o->host ? o->host_root : -1};
	int rc;

	rc = privilege_close_but(keep, ARRAY_LEN(keep));
	prctl(PR_SET_NAME, loads ? "stoker-loader" : "stoker-reader");
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (setgroups(0, NULL))
		log_debug("a child keeps its groups");
	if (!rc && !loads)
		rc = sandbox_enter_reader();
	if (rc) {
		log_err("a child of the opener cannot be confined: %s",
		        strerror(-rc));
		_exit(1);
	}
	while (getppid() == parent) {
		struct reader_ask ask;
		CLEANUP_FD int in = -1;
		size_t nfds = 1;
		ssize_t n = msg_recv(socket, &ask, sizeof(ask), &in, &nfds);

		if (n != sizeof(ask))
			break;
		handle(o, socket, &ask, in);
		if (loads)
			break;
	}
	_exit(0);
}

/* --- readers -------------------------------------------------------------- */

static void
clear(struct reader *r)
{
	if (r->pid)
		close(r->socket);
	*r = (struct reader){.socket = -1, .client = -1};
}

static int
start(struct opener *o, struct reader *r, bool loads)
{
	int pair[2];
	int rc = msg_pair(pair);
	pid_t pid;

	if (rc)
		return rc;
	pid = fork();
	if (pid == 0)
		be_child(o, pair[1], loads);
	rc = pid < 0 ? -errno : 0;
	close(pair[1]);
	if (rc) {
		close(pair[0]);
		return rc;
	}
	*r = (struct reader){.pid = pid, .socket = pair[0], .client = -1};
	return 0;
}

/* Returns a row that is not busy: one with a reader if there is one, or, for a
 * loader, one without. There are as many rows as clients. */
static struct reader *
idle(struct readers *r, bool loads)
{
	struct reader *other = NULL;

	for (size_t i = 0; i < OPENER_MAX_CLIENTS; i++) {
		struct reader *row = &r->rows[i];

		if (row->busy)
			continue;
		if (!row->pid == loads)
			return row;
		if (!other)
			other = row;
	}
	return other;
}

/* --- subjects that made a reader wait ------------------------------------- */

/* Returns the subject of a question. The start time of a process is read from
 * /proc only when it is needed. */
static struct reader_of
of(const struct host_ask *ask)
{
	int32_t pid = ask->op == HOST_SHARED     ? ask->list[1]
	              : ask->op == HOST_PROGRAMS ? ask->list[0]
	                                         : ask->pid;
	size_t n = pid > 0 ? 0 : strnlen(ask->path, sizeof(ask->path));

	if (ask->op == HOST_PROGRAMS && ask->count != 1)
		return (struct reader_of){0};
	if (pid > 0)
		return (struct reader_of){.pid = pid};
	return (struct reader_of){.start_time = hash_bytes(ask->path, n)};
}

static bool
is_nobody(struct reader_of who)
{
	return !who.pid && !who.start_time;
}

static void
find_start(struct reader_of *who)
{
	if (who->pid)
		who->start_time = proc_start_time(who->pid);
}

/* Returns the group of a process: its user, and its unit or, without one, its
 * control groups; 0 if it has ended. None of these files blocks its reader. */
static uint64_t
group_of(int32_t pid)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	char unit[PROC_UNIT_MAX] = "";
	const char *where = unit;
	uint32_t uid;

	if (proc_read(AT_FDCWD, pid, "status", &text) ||
	    proc_parse_uid(buf_str(&text), &uid) ||
	    proc_read(AT_FDCWD, pid, "cgroup", &text))
		return 0;
	proc_parse_unit(buf_str(&text), unit);
	if (!*unit)
		where = buf_str(&text);
	return hash_pair(uid, hash_bytes(where, strlen(where)));
}

static bool
holds(const struct reader_held *h, int64_t now_ns)
{
	return h->until_ns > now_ns || h->reader;
}

static bool
is_of_group(const struct reader_held *h)
{
	return !h->of.pid && h->group;
}

static bool
is_held(const struct readers *r, struct reader_of who)
{
	int64_t now = clock_mono_ns();
	uint64_t group = 0;
	bool found = false;

	for (size_t i = 0; i < READERS_HELD; i++) {
		const struct reader_held *h = &r->held[i];

		if (!holds(h, now))
			continue;
		if (is_of_group(h) && who.pid) {
			group = group ?: group_of(who.pid);
			if (h->group == group)
				return true;
		}
		if (h->of.pid != who.pid)
			continue;
		if (!found)
			find_start(&who);
		found = true;
		if (h->of.start_time == who.start_time)
			return true;
	}
	return false;
}

/* Returns the entry of the subject or, if it has none, the one that ends
 * first. */
static struct reader_held *
entry_of(struct readers *r, struct reader_of who)
{
	struct reader_held *first = &r->held[0];

	for (size_t i = 0; i < READERS_HELD; i++) {
		struct reader_held *h = &r->held[i];

		if (h->seconds && h->of.pid == who.pid &&
		    h->of.start_time == who.start_time)
			return h;
		if (h->until_ns < first->until_ns)
			first = h;
	}
	*first = (struct reader_held){.of = who};
	return first;
}

/* Holds a subject: for twice as long as the last time, unless readers had their
 * answers for as long since. */
static struct reader_held *
hold(struct readers *r, struct reader_of who, uint64_t group)
{
	const int64_t now = clock_mono_ns();
	struct reader_held *h = entry_of(r, who);

	h->seconds = now < h->until_ns + h->seconds * NS_PER_S ? 2 * h->seconds
	                                                       : READERS_HELD_S;
	if (h->seconds > READERS_HELD_MAX_S)
		h->seconds = READERS_HELD_MAX_S;
	h->until_ns = now + h->seconds * NS_PER_S;
	h->group = group;
	return h;
}

/* Holds the group of a process if enough of its processes are held. */
static void
hold_group(struct readers *r, const struct reader_held *last)
{
	const struct reader_of group = {.start_time = last->group};
	const int64_t now = clock_mono_ns();
	unsigned n = 0;

	for (size_t i = 0; i < READERS_HELD; i++) {
		const struct reader_held *h = &r->held[i];

		if (h->group != last->group || !holds(h, now))
			continue;
		if (is_of_group(h)) /* these were asked for before */
			return;
		n++;
	}
	if (!last->group || n < READERS_GROUP)
		return;
	log_warn("%u processes of one user and unit, process %d among them, do "
	         "not answer: none of that user and unit is read for %d s",
	         n, last->of.pid, hold(r, group, last->group)->seconds);
}

void
readers_child_ended(struct readers *r, pid_t pid)
{
	for (size_t i = 0; i < READERS_HELD; i++)
		if (r->held[i].reader == pid)
			r->held[i].reader = 0;
}

/* --- questions and answers ------------------------------------------------ */

static uint64_t
copy_room(struct readers *r)
{
	int64_t now = clock_mono_ns();
	uint64_t left;

	if (!r->hour_ns || now - r->hour_ns > 3600 * NS_PER_S) {
		r->hour_ns = now;
		r->copied = 0;
	}
	left = r->copied < READERS_COPY_BYTES_ALL
	               ? READERS_COPY_BYTES_ALL - r->copied
	               : 0;
	return left < READERS_COPY_BYTES ? left : READERS_COPY_BYTES;
}

static void
leave_out_held(const struct readers *r, struct host_ask *ask)
{
	uint32_t n = 0;

	if (ask->count > HOST_MAX_LIST)
		return; /* the handler refuses it */
	for (uint32_t i = 0; i < ask->count; i++)
		if (!is_held(r, (struct reader_of){.pid = ask->list[i]}))
			ask->list[n++] = ask->list[i];
	ask->count = n;
}

int
readers_ask(struct opener *o, int client, const struct host_ask *ask, int in)
{
	struct readers *r = &o->readers;
	struct reader_ask m = {*ask, copy_room(r)};
	struct reader_of who = of(ask);
	bool loads = opener_loads(ask->op);
	struct reader *row = idle(r, loads);
	bool lists = ask->op == HOST_PROGRAMS;
	int rc = !loads && !lists && is_held(r, who) ? -ETIMEDOUT
	         : row                               ? 0
	                                             : -EBUSY;

	if (rc)
		return rc;
	if (lists)
		leave_out_held(r, &m.ask);
	rc = row->pid && !loads
	             ? msg_send(row->socket, &m, sizeof(m), &in, in >= 0)
	             : -EPIPE;
	if (rc) { /* not started yet, or dead, or a loader must be */
		clear(row);
		rc = start(o, row, loads)
		             ?: msg_send(row->socket, &m, sizeof(m), &in,
		                         in >= 0);
	}
	if (rc)
		return rc;
	row->busy = true;
	row->client = client;
	row->op = ask->op;
	row->since_ns = clock_mono_ns();
	row->of = who;
	return 0;
}

bool
readers_busy(const struct readers *r, int client)
{
	for (size_t i = 0; i < OPENER_MAX_CLIENTS; i++)
		if (r->rows[i].busy && r->rows[i].client == client)
			return true;
	return false;
}

void
readers_leave(struct readers *r, int client)
{
	for (size_t i = 0; i < OPENER_MAX_CLIENTS; i++)
		if (r->rows[i].busy && r->rows[i].client == client)
			r->rows[i].client = -1;
}

size_t
readers_poll(const struct readers *r,
             struct pollfd out[static OPENER_MAX_CLIENTS])
{
	size_t n = 0;

	for (size_t i = 0; i < OPENER_MAX_CLIENTS; i++)
		if (r->rows[i].busy)
			out[n++] =
				(struct pollfd){r->rows[i].socket, POLLIN, 0};
	return n;
}

static void
answer(const struct reader *row, const struct host_reply *reply, const int *fds,
       size_t nfds)
{
	if (row->client >= 0 &&
	    msg_send(row->client, reply, sizeof(*reply), fds, nfds))
		log_debug("a client is gone before its answer");
}

static void
answer_error(const struct reader *row, int error)
{
	const struct host_reply reply = {.error = error};

	answer(row, &reply, NULL, 0);
}

void
readers_answer(struct opener *o, int socket)
{
	struct reader *row = o->readers.rows;
	struct answer out = {.in = -1, .nfds = HOST_MAX_FDS};
	struct reader_reply m;
	ssize_t n;

	while (row->socket != socket || !row->busy)
		row++;
	n = msg_recv(socket, &m, sizeof(m), out.fds, &out.nfds);
	if (n != sizeof(m)) {
		answer_error(row, -EIO);
		clear(row);
		return;
	}
	o->readers.copied += m.copied;
	out.reply = m.reply;
	if (row->client >= 0)
		opener_complete(o, row->op, row->client, &out);
	answer(row, &out.reply, out.fds, out.nfds);
	for (size_t i = 0; i < out.nfds; i++)
		close(out.fds[i]);
	if (opener_loads(row->op)) {
		clear(row);
		return;
	}
	row->busy = false;
	row->client = -1;
}

/* Returns the state of a reader as in /proc/PID/stat; 0: unknown. */
static char
state_of(const struct reader *row)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	return proc_read(AT_FDCWD, row->pid, "stat", &text)
	               ? 0
	               : proc_parse_state(buf_str(&text));
}

/* How long a reader may wait for its subject, in seconds. */
static int
wait_of(const struct reader *row)
{
	if (row->op != HOST_PROGRAMS)
		return READERS_WAIT_S;
	return is_nobody(row->of) ? READERS_LIST_S : READERS_PROGRAM_S;
}

/* Logs why a reader does not answer, and returns the error. One that was
 * stopped says nothing about its process, which the next one reads. */
static int
blame(struct readers *r, struct reader *row)
{
	struct reader_held *h;

	if (opener_loads(row->op)) {
		log_warn("the kernel did not load the programs of %s within %d "
		         "s, or the process that has it do so was stopped",
		         opener_name(row->op), READERS_SLOW_S);
		return -EIO;
	}
	if (state_of(row) == 'T') {
		log_warn("a reader was stopped (SIGSTOP) while it read process "
		         "%d: it is ended, and another takes its place",
		         row->of.pid);
		return -EIO;
	}
	if (is_nobody(row->of)) /* the client asks about one after another */
		return -ETIMEDOUT;
	find_start(&row->of);
	h = hold(r, row->of, row->of.pid ? group_of(row->of.pid) : 0);
	h->reader = row->pid;
	log_warn("process %d: %s was not answered within %d s: its memory or a "
	         "file system that it uses does not answer, and it is not read "
	         "for %d s",
	         row->of.pid, opener_name(row->op), wait_of(row), h->seconds);
	if (row->of.pid)
		hold_group(r, h);
	return -ETIMEDOUT;
}

static void
give_up(struct opener *o, struct reader *row)
{
	int error = blame(&o->readers, row);

	ended_kill(&o->ended, row->pid);
	answer_error(row, error);
	clear(row);
}

/* True if an answer arrived while the opener waited for a CPU. */
static bool
has_answered(const struct reader *row)
{
	struct pollfd p = {row->socket, POLLIN, 0};

	return poll(&p, 1, 0) > 0;
}

static bool
is_late(const struct reader *row, int64_t now_ns)
{
	int64_t waited = now_ns - row->since_ns;

	if (waited < wait_of(row) * NS_PER_S || has_answered(row))
		return false;
	if (waited >= READERS_SLOW_S * NS_PER_S)
		return true;
	/* a runnable one waits for a CPU, not for its target, and a loader for
	 * the kernel */
	return !opener_loads(row->op) && state_of(row) != 'R';
}

int
readers_expire(struct opener *o)
{
	int64_t now = clock_mono_ns(), first = INT64_MAX;

	for (size_t i = 0; i < OPENER_MAX_CLIENTS; i++) {
		struct reader *row = &o->readers.rows[i];
		int64_t until = row->since_ns + wait_of(row) * NS_PER_S;

		if (!row->busy)
			continue;
		if (is_late(row, now)) {
			give_up(o, row);
			continue;
		}
		if (until <= now)
			until = now + AGAIN_NS;
		if (until < first)
			first = until;
	}
	return first == INT64_MAX ? -1 : (int)((first - now) / NS_PER_MS) + 1;
}
