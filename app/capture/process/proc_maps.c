#include "base/file.h"
#include "proc_private.h"

#include <errno.h>
#include <string.h>

void
process_free(struct process *p)
{
	if (!p)
		return;
	process_forget_python(p);
	unwinder_free(p->unwinder);
	maps_done(&p->maps);
	free(p);
}

void
process_learn(struct process *proc, struct modules *modules,
              const struct map_seen *seen)
{
	const int32_t pids[] = {(int32_t)proc->pid, (int32_t)proc->parent,
	                        (int32_t)proc->origin};
	bool replaces = maps_overlap(&proc->maps, seen->start, seen->end);
	struct map row;

	if (modules_resolve(modules, pids, ARRAY_LEN(pids), seen, &row))
		return;
	if (maps_add(&proc->maps, &row))
		return;
	if (!proc->python)
		proc->python_looked = false;
	if (replaces && proc->unwinder)
		unwinder_flush(proc->unwinder);
}

int
process_read_maps(struct process *proc, struct modules *modules,
                  uint32_t *threads)
{
	struct host_ask ask = {.op = HOST_MAPS, .pid = (int32_t)proc->pid};
	CLEANUP_BUF struct buf text = BUF_INIT(PROCS_MAX_TEXT);
	CLEANUP_FD int fd = -1;
	char *line, *rest;
	int rc = host_fd_value(modules->host, &ask, &fd, threads);

	if (!rc)
		rc = fd_read_all(fd, &text);
	if (rc)
		return rc == -ENOENT ? -ESRCH : rc;
	if (!text.len) /* it has no memory any more */
		return -ESRCH;
	rest = text.p;
	while ((line = strsep(&rest, "\n"))) {
		struct map_seen seen;
		bool executable;

		if (!maps_parse(line, &seen, &executable) && executable)
			process_learn(proc, modules, &seen);
	}
	return 0;
}

const struct map *
process_program(const struct process *proc)
{
	const struct modules *modules = proc->modules;
	const struct host *host = modules->host;
	struct host_ask ask = {.op = HOST_EXE_LINK, .pid = (int32_t)proc->pid};
	struct host_reply reply;
	int fds[HOST_MAX_FDS];
	size_t nfds = 0;

	if (host->ask(host->arg, &ask, &reply, fds, &nfds) || reply.error)
		return NULL;
	for (uint32_t i = 0; i < proc->maps.n; i++) {
		const struct map *map = &proc->maps.rows[i];
		const struct module *m = modules->rows[map->module];

		if (m->elf && !strcmp(m->path, reply.text))
			return map;
	}
	return NULL;
}
