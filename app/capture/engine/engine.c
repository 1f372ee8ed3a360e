#include "capture/engine.h"

#include "base/clock.h"
#include "capture/process/process.h"

#include <errno.h>
#include <time.h>

#define MAX_NAMED 64 /* processes whose programs a profile names */

int
engine_process(struct modules *modules, int32_t pid, struct process **out)
{
	CLEANUP(process_free_ptr)
	struct process *proc = calloc(1, sizeof(*proc));
	uint32_t threads;
	int rc;

	if (!proc)
		return -ENOMEM;
	proc->pid = proc->parent = proc->origin = (uint32_t)pid;
	proc->modules = modules;
	rc = process_read_maps(proc, modules, &threads);
	if (rc)
		return engine_error(rc);
	*out = TAKE(proc);
	return 0;
}

int
engine_error(int rc)
{
	return rc == -EACCES || rc == -EPERM ? -EXDEV : rc;
}

int
engine_name(const struct process *proc, struct profile *p)
{
	const struct map *map = process_program(proc);
	CLEANUP_BUF struct buf text = BUF_INIT(HOST_MAX_PATH + 32);

	if (!map || p->ncomments >= MAX_NAMED)
		return 0;
	buf_addf(&text, "process %u: %s", proc->pid,
	         proc->modules->rows[map->module]->path);
	return buf_err(&text) ? 0 : profile_comment(p, buf_str(&text));
}

int
engine_usage(const struct host *host, int32_t pid, struct host_usage *out)
{
	struct host_ask ask = {.op = HOST_USAGE, .count = 1, .list = {pid}};
	CLEANUP_FREE struct host_reply *reply = malloc(sizeof(*reply));
	int rc = reply ? host_answer(host, &ask, reply) : -ENOMEM;

	if (rc)
		return rc;
	if (reply->value != 1 || reply->usage[0].pid != pid)
		return -ESRCH;
	*out = reply->usage[0];
	return 0;
}

uint64_t
engine_boot_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)(t.tv_sec * NS_PER_S + t.tv_nsec);
}
