#include "opener.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/proc_exec.h"
#include "capture/event.h"
#include "capture/waits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define REFUSED_NS (60 * NS_PER_S) /* between two log lines */

static int (*const handlers[HOST_OPS])(struct opener *, const struct host_ask *,
                                       struct answer *) = {
#define HOST_OP(op, handler, whose, by, doc) [HOST_##op] = handler,
#include "capture/host.def"
#undef HOST_OP
};

static const struct {
	const char *name;
	enum host_whose whose;
	enum host_by by;
} ops[HOST_OPS] = {
#define HOST_OP(op, handler, whose, by, doc) \
	[HOST_##op] = {#op, HOST_OF_##whose, HOST_BY_##by},
#include "capture/host.def"
#undef HOST_OP
};

static void
give(struct answer *out, int fd)
{
	out->fds[out->nfds++] = fd;
}

int
opener_add_client(struct opener *o, int fd)
{
	if (o->nclients == OPENER_MAX_CLIENTS)
		return -EMFILE;
	o->clients[o->nclients++] = fd;
	return 0;
}

/* Removes processes that may not be asked about from the list. */
static void
permit_list(struct opener *o, struct host_ask *ask)
{
	uint32_t n = 0;

	if (ask->count > HOST_MAX_LIST)
		return; /* the handler refuses it */
	for (uint32_t i = 0; i < ask->count; i++)
		if (!grants_look(&o->grants, ask->list[i]))
			ask->list[n++] = ask->list[i];
	ask->count = n;
}

/* Checks that the client may ask about the process. The scheduler may ask about
 * any. */
static int
permit(struct opener *o, int client, struct host_ask *ask)
{
	if (client == o->ask)
		return proc_in_exec(AT_FDCWD, ask->pid) ? -ETIMEDOUT : 0;
	switch (ops[ask->op].whose) {
	case HOST_OF_NOBODY:
		return 0;
	case HOST_OF_PROCESS:
		return grants_look(&o->grants, ask->pid);
	case HOST_OF_ALLOWED:
		if (proc_in_exec(AT_FDCWD, ask->pid))
			return -ETIMEDOUT;
		return grants_has(&o->grants, WORKER_MAY_LIST, ask->pid,
		                  proc_start_time(ask->pid))
		               ? 0
		               : -EPERM;
	case HOST_OF_THREAD:
		return grants_look_thread(&o->grants, ask->pid);
	case HOST_OF_LIST:
		permit_list(o, ask);
		return 0;
	case HOST_OF_SCHEDULER:
		break;
	}
	return -EPERM;
}

/*
 * Counts and logs a refused question. A sound analyser rarely asks about a
 * process without a grant: only when the capture, or the parents of the
 * process, have just ended. One under an attacker's control would ask again
 * and again.
 */
static void
note_refusal(struct opener *o, const struct host_ask *ask)
{
	int64_t now = clock_mono_ns();

	o->refused++;
	if (o->refused_ns && now - o->refused_ns < REFUSED_NS)
		return;
	o->refused_ns = now;
	log_warn("a question of the analyser was refused: %s of process %d, "
	         "which no capture names (%" PRIu64 " refused so far)",
	         ops[ask->op].name, ask->pid, o->refused);
}

/* True for a question about memory or files, which all threads of a process
 * share. */
static bool
is_of_all_threads(uint32_t op)
{
	switch (op) {
	case HOST_MAPS:
	case HOST_FILE:
	case HOST_EXE:
	case HOST_EXE_LINK:
	case HOST_MAPPED:
	case HOST_MEMORY:
	case HOST_STACK:
	case HOST_STACKS:
	case HOST_RANGES:
	case HOST_TITLE:
	case HOST_SETTINGS:
	case HOST_PID_SPACE:
	case HOST_SOURCE:
		return true;
	default:
		return false;
	}
}

/* Checks a question, and removes processes that may not be asked about from its
 * list. */
static int
check(struct opener *o, struct host_ask *ask, int client)
{
	int rc;

	ask->path[sizeof(ask->path) - 1] = '\0';
	if (ask->op == HOST_NONE || ask->op >= HOST_OPS)
		return -EINVAL;
	rc = permit(o, client, ask);
	if (rc == -EPERM)
		note_refusal(o, ask);
	if (!rc && is_of_all_threads(ask->op))
		ask->pid = opener_thread(ask->pid);
	return rc;
}

bool
opener_loads(uint32_t op)
{
	return op < HOST_OPS && ops[op].by == HOST_BY_LOADER;
}

const char *
opener_name(uint32_t op)
{
	return ops[op].name;
}

void
opener_handle(struct opener *o, const struct host_ask *ask, int client, int in,
              struct answer *out)
{
	memset(out, 0, sizeof(*out));
	out->client = client;
	out->in = in;
	out->reply.error = handlers[ask->op](o, ask, out);
}

void
opener_complete(struct opener *o, uint32_t op, int client, struct answer *out)
{
	enum prober_of of = out->reply.value ? PROBER_INUSE : PROBER_ALLOCS;

	if (op != HOST_ALLOCS || !out->nfds)
		return;
	out->reply.value = 0;
	out->reply.error = prober_start(&o->probers, of, client,
	                                o->conf->worker_probe_percent, out->fds,
	                                &out->nfds);
}

bool
opener_answer(struct opener *o, const struct host_ask *ask, int client, int in,
              opener_pass_on *pass_on, struct answer *out)
{
	struct host_ask checked = *ask;
	int rc = check(o, &checked, client);

	if (!rc && pass_on && ops[checked.op].by != HOST_BY_OPENER) {
		rc = pass_on(o, client, &checked, in);
		if (!rc)
			return false;
	}
	if (rc) {
		*out = (struct answer){.reply.error = rc};
		return true;
	}
	opener_handle(o, &checked, client, in, out);
	opener_complete(o, checked.op, client, out);
	return true;
}

static int
give_event(const struct host_ask *ask, int32_t task, struct answer *out)
{
	const struct event_ask event = {task, ask->cpu, ask->period_ns,
	                                ask->stack_bytes};
	bool user_only;
	int fd, rc = event_open(&event, &fd, &user_only);

	if (!rc) {
		give(out, fd);
		out->reply.value = user_only;
	}
	return rc;
}

int
open_event(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	(void)o;
	return give_event(ask, EVENT_ALL, out);
}

int
open_task_event(struct opener *o, const struct host_ask *ask,
                struct answer *out)
{
	(void)o;
	return ask->pid > 0 ? give_event(ask, ask->pid, out) : -EINVAL;
}

int
open_ring_event(struct opener *o, const struct host_ask *ask,
                struct answer *out)
{
	int fd, rc;

	(void)o;
	if (ask->pid != EVENT_ALL && ask->pid != 0)
		return -EINVAL;
	rc = event_open_ring(ask->pid, ask->cpu, &fd);
	if (!rc)
		give(out, fd);
	return rc;
}

int
open_filter(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	const struct filter_ask want = {ask->cpu, ask->size};
	struct filter got;
	int rc = filter_open(&want, &got);

	(void)o;
	if (rc)
		return rc;
	out->reply.value = got.nbits;
	for (uint32_t i = 0; i < got.nfds; i++)
		give(out, got.fds[i]);
	return 0;
}

int
open_waits(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	const struct waits_ask want = {.results = ask->count == 1};
	struct waits got;
	int rc = waits_open(&want, &got);

	(void)o;
	if (rc)
		return rc;
	out->reply.value = got.nbits;
	for (int i = 0; i < WAITS_FDS; i++)
		give(out, got.fds[i]);
	return 0;
}

int
open_output(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	CLEANUP_FD int fd = -1;
	int rc = event_open_output(ask->cpu, ask->stack_bytes, &fd);

	(void)o;
	if (!rc)
		rc = emit_to(out->in, ask->cpu, fd);
	if (!rc)
		give(out, TAKE_FD(fd));
	return rc;
}

int
open_faults(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	int fd = -1;
	int rc = event_open_faults(ask->cpu, out->in, &fd);

	(void)o;
	if (!rc)
		give(out, fd);
	return rc;
}

int
open_allocs(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	enum prober_of of = ask->count == 1 ? PROBER_INUSE : PROBER_ALLOCS;
	int rc = prober_load(of, out->fds, &out->nfds);

	(void)o;
	out->reply.value = of == PROBER_INUSE;
	while (ask->size == 1 && out->nfds)
		close(out->fds[--out->nfds]);
	return rc;
}

int
watch_allocs(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	if (ask->count && !opener_has_program(ask->pid))
		return -ENXIO;
	return prober_watch(&o->probers, ask, out->in);
}

int
compare_memory(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	long differ;

	(void)o;
	/* one that ended is not on the list, or no longer has memory */
	if (ask->count != 2 || !opener_has_program(ask->list[0]) ||
	    !opener_has_program(ask->list[1]))
		return -ESRCH;
	differ = syscall(SYS_kcmp, ask->list[0], ask->list[1], KCMP_VM, 0, 0);
	if (differ < 0)
		return -errno;
	out->reply.value = !differ;
	return 0;
}

int
say_alive(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	(void)ask;
	watchdog_alive(o, out->client);
	out->reply.value = watchdog_hanging(o);
	return 0;
}

int
open_channel(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	int pair[2];
	int rc = msg_pair(pair);

	(void)ask;
	if (rc)
		return rc;
	give(out, pair[0]);
	if (opener_add_client(o, pair[1])) /* both are the client's then */
		give(out, pair[1]);
	return 0;
}

int
write_rate(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	return rates_write(&o->rates, &o->grants, out->client, ask);
}

int
ask_java(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	return java_ask(&o->java, &o->grants, ask, out);
}

int
open_kallsyms(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);

	(void)o;
	(void)ask;
	if (fd < 0)
		return -errno;
	give(out, fd);
	return 0;
}

int
read_exe_link(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	char path[64];
	ssize_t n;

	(void)o;
	if (ask->pid <= 0)
		return -EINVAL;
	snprintf(path, sizeof(path), "/proc/%d/exe", ask->pid);
	n = readlink(path, out->reply.text, sizeof(out->reply.text) - 1);
	if (n < 0)
		return -errno;
	out->reply.text[n] = '\0';
	return 0;
}
