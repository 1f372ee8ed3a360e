#include "process_title.h"

#include "base/path.h"
#include "base/title.h"
#include "base/utf8.h"
#include "wait_names.h"

#include <stdio.h>
#include <string.h>

#define KERNEL_THREADS "[kernel threads]"
#define ENDED          "[ended]"

/* Asks the opener for the process's title. */
static bool
ask(const struct process *proc, struct host_reply *reply)
{
	const struct host *host = proc->modules->host;
	const struct host_ask ask = {.op = HOST_TITLE,
	                             .pid = (int32_t)proc->pid};
	int fds[HOST_MAX_FDS];
	size_t nfds = 0;

	return !host->ask(host->arg, &ask, reply, fds, &nfds) &&
	       !reply->error && *reply->text;
}

/* Returns the path of the lowest file in a process's memory, which is mostly
 * its program; NULL if it has mapped none. */
static const char *
program_of(const struct process *proc)
{
	for (uint32_t i = 0; i < proc->maps.n; i++) {
		const struct module *m =
			proc->modules->rows[proc->maps.rows[i].module];

		if (*m->path == '/')
			return m->path;
	}
	return NULL;
}

/* Replaces a title by a name; the title stays if there is no room. */
static void
set(const struct modules *m, const char *name, struct place *out)
{
	struct place place = {.module = MODULE_TITLE};

	if (wait_keep(m->waits, name, &place.vaddr))
		*out = place;
}

const struct place *
process_title(struct process *proc)
{
	const char *inherited =
		wait_name_of(proc->modules->waits, proc->title.vaddr);
	struct host_reply reply;
	const char *name;

	if (!proc->titled && ask(proc, &reply)) {
		reply.text[sizeof(reply.text) - 1] = '\0';
		utf8_mend(reply.text, strlen(reply.text));
		set(proc->modules, reply.text, &proc->title);
	} else if (!proc->titled && !title_is_unit(inherited)) {
		name = program_of(proc);
		if (name || !*inherited)
			set(proc->modules, name ? name : ENDED, &proc->title);
	}
	proc->titled = true;
	return proc->title.module == MODULE_TITLE ? &proc->title : NULL;
}

const struct place *
process_title_of_kernel(struct modules *m)
{
	if (m->kernel_title.module != MODULE_TITLE)
		set(m, KERNEL_THREADS, &m->kernel_title);
	return m->kernel_title.module == MODULE_TITLE ? &m->kernel_title : NULL;
}
