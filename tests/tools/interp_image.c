/*
 * Records the stacks of a process that runs an interpreter, for the test of
 * its language:
 *
 *	kill -STOP PID
 *	interp_image PID NAME.txt | gzip -9 >NAME.image.gz
 *
 * The text has the frames as they were read; for Lua, only those of the first
 * thread.
 */
#include "lib/interp_image.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "capture/engine.h"
#include "capture/host/memory.h"
#include "capture/interp/walk.h"
#include "capture/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_TEXT ((size_t)16 << 20)

DEFINE_CLEANUP(struct modules *, modules_free)

/* Reads the registers of a stopped process's first thread. */
static int
read_registers(int32_t pid, struct walk_self *out)
{
	struct user_regs_struct r;
	int status;

	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) ||
	    ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) ||
	    waitpid(pid, &status, __WALL) != pid ||
	    ptrace(PTRACE_GETREGS, pid, NULL, &r))
		return -errno;
	*out = (struct walk_self){.pc = r.rip,
	                          .sp = r.rsp,
	                          .dx = r.rdx,
	                          .bx = r.rbx,
	                          .r14 = r.r14};
	return 0;
}

/* Finds the interpreter that a process runs. */
static int
begin(struct image *m, struct modules *modules, int32_t pid)
{
	CLEANUP(process_free_ptr) struct process *proc = NULL;
	struct walk_self self;
	int rc = engine_process(modules, pid, &proc)
	                 ?: read_registers(pid, &self);

	if (rc)
		return rc;
	for (uint32_t i = 0; i < proc->maps.n; i++) {
		const struct map *row = &proc->maps.rows[i];
		const struct module *of = modules->rows[row->module];

		if (of->interp)
			return interp_image_begin(
				m, of->interp, row->bias,
				of->interp->language->id == LANGUAGE_LUAJIT
					? &self
					: NULL);
	}
	return -ENOENT;
}

static int
record(struct image *m, int32_t pid, const char *path)
{
	const struct host host = image_recorder(m);
	CLEANUP(modules_free_ptr) struct modules *modules = NULL;
	CLEANUP_BUF struct buf text = BUF_INIT(MAX_TEXT);
	CLEANUP_FD int fd = -1;
	int rc = modules_new(&host, &modules);

	if (!rc)
		rc = begin(m, modules, pid);
	if (!rc)
		rc = interp_image_frames(m, &host, pid, &text);
	if (rc)
		return rc;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	rc = fd < 0 ? -errno : fd_write_all(fd, text.p, text.len);
	return rc ? rc : image_write(m, STDOUT_FILENO);
}

int
main(int argc, char **argv)
{
	struct image m = {.n = 0};
	int rc = argc != 3 ? -EINVAL
	                   : record(&m, (int32_t)strtol(argv[1], NULL, 10),
	                            argv[2]);

	image_done(&m);
	if (rc)
		fprintf(stderr, "interp_image: %s\n", strerror(-rc));
	return rc ? 1 : 0;
}
