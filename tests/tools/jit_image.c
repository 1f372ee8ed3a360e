/*
 * Records the frames of a process with JIT-compiled functions, for the test of
 * its language:
 *
 *	jit_image PID NAME.txt | gzip -9 >NAME.image.gz
 *
 * All threads are stopped meanwhile. The text has the frames as they were read.
 */
#include "lib/jit_image.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "capture/engine.h"
#include "capture/event.h"
#include "capture/process/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_TEXT    ((size_t)16 << 20)
#define MAX_FRAMES  4096
#define MAX_TIDS    1024
#define STACK_BYTES ((size_t)64 << 10)

DEFINE_CLEANUP(struct modules *, modules_free)

/* Records what the language is asked. */
static struct recording {
	const struct jit *real;
	struct jit_image_frame frames[MAX_FRAMES];
	size_t n;
	uint64_t last_sp; /* last sp to which the language led */
} seen;

static int
note(void *runtime, const struct jit_space *space,
     const struct unwind_stack *stack, struct unwind_frame *f, uint64_t *detail)
{
	int rc;

	if (f->index != SIZE_MAX && f->sp != seen.last_sp &&
	    seen.n < MAX_FRAMES) {
		struct jit_image_frame *to = &seen.frames[seen.n++];

		*to = (struct jit_image_frame){
			.pc = f->pc,
			.sp = f->sp,
			.fp = f->fp,
			.fp_known = f->fp_known,
			.interrupted = f->interrupted,
			.has_regs = f->regs != NULL,
		};
		if (f->regs)
			memcpy(to->regs, f->regs, sizeof(to->regs));
	}
	rc = seen.real->step(runtime, space, stack, f, detail);
	seen.last_sp = f->sp;
	return rc;
}

/* --- threads -------------------------------------------------------------- */

static size_t
list(int32_t pid, int32_t *out)
{
	char path[64];
	size_t n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	for (struct dirent *e; dir && (e = readdir(dir)) && n < MAX_TIDS;)
		if (*e->d_name != '.')
			out[n++] = (int32_t)strtol(e->d_name, NULL, 10);
	if (dir)
		closedir(dir);
	return n;
}

static bool
stop(int32_t tid)
{
	int status;

	return !ptrace(PTRACE_SEIZE, tid, NULL, NULL) &&
	       !ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) &&
	       waitpid(tid, &status, __WALL) == tid;
}

/* Walks the stack of a stopped thread, and adds it to the recording. */
static int
walk(struct image *m, struct process *proc, int32_t tid,
     struct proc_stack *stack)
{
	CLEANUP_FREE uint8_t *bytes = malloc(STACK_BYTES);
	struct user_regs_struct r;
	struct memory memory = {.host = proc->modules->host,
	                        .pid = (int32_t)proc->pid};
	uint64_t regs[UNWIND_REGS] = {0};
	struct proc_thread t = {.tid = (uint32_t)tid, .regs = regs};
	struct memory_piece p = {.len = STACK_BYTES};
	CLEANUP(memory_batch_done) struct memory_batch batch = {.n = 0};
	int rc;

	(void)m;
	if (ptrace(PTRACE_GETREGS, tid, NULL, &r))
		return -errno;
	regs[PERF_REG_X86_IP] = r.rip;
	regs[PERF_REG_X86_SP] = p.addr = r.rsp;
	regs[PERF_REG_X86_BP] = r.rbp;
	regs[PERF_REG_X86_BX] = r.rbx;
	regs[PERF_REG_X86_R12] = r.r12;
	regs[PERF_REG_X86_R13] = r.r13;
	regs[PERF_REG_X86_R14] = r.r14;
	regs[PERF_REG_X86_R15] = r.r15;
	rc = memory_read(&memory, &p, 1, &batch);
	if (rc || !bytes)
		return rc ? rc : -ENOMEM;
	memcpy(bytes, p.p, p.got);
	t.stack = bytes;
	t.len = p.got;
	seen.last_sp = 0;
	process_thread_stack(proc, &t, stack);
	return 0;
}

/* --- the recording -------------------------------------------------------- */

static int
begin(struct image *m, struct process *proc, struct jit_image **image)
{
	for (uint32_t i = 0; i < proc->maps.n; i++) {
		const struct map *row = &proc->maps.rows[i];
		struct module *of = proc->modules->rows[row->module];
		static struct jit noting;

		if (!of->jit)
			continue;
		seen.real = of->jit->jit;
		noting = *seen.real;
		noting.step = note;
		of->jit->jit = &noting;
		*image = of->jit;
		m->head.bias = row->bias;
		return 0;
	}
	return -ENOENT;
}

static int
pack(struct image *m, const struct jit_image *image)
{
	struct jit_image_head head = {.jit = image->jit->id,
	                              .start = image->start,
	                              .end = image->end,
	                              .n = seen.n};
	const size_t frames = seen.n * sizeof(*seen.frames);

	if (image->size > sizeof(head.data))
		return -E2BIG;
	memcpy(head.data, image->data, image->size);
	m->head.elf_bytes = sizeof(head) + frames;
	m->elf = malloc(m->head.elf_bytes);
	if (!m->elf)
		return -ENOMEM;
	memcpy(m->elf, &head, sizeof(head));
	memcpy(m->elf + sizeof(head), seen.frames, frames);
	return 0;
}

static int
record(struct image *m, int32_t pid, const char *path)
{
	struct image looked = {.n = 0}; /* memory that is read by the walk */
	const struct host first = image_recorder(&looked),
			  host = image_recorder(m);
	CLEANUP(modules_free_ptr) struct modules *modules = NULL;
	CLEANUP(process_free_ptr) struct process *proc = NULL;
	CLEANUP_FREE struct proc_stack *stack = calloc(1, sizeof(*stack));
	CLEANUP_BUF struct buf text = BUF_INIT(MAX_TEXT);
	CLEANUP_FD int fd = -1;
	struct jit_image *image = NULL;
	int32_t tids[MAX_TIDS];
	size_t n = list(pid, tids);
	int rc = modules_new(&first, &modules);

	for (size_t i = 0; i < n; i++)
		if (!stop(tids[i]))
			return -ESRCH;
	if (!rc)
		rc = engine_process(modules, pid, &proc);
	if (!rc)
		rc = begin(m, proc, &image);
	for (size_t i = 0; i < n && !rc && stack; i++)
		rc = walk(m, proc, tids[i], stack);
	if (!rc)
		rc = pack(m, image);
	if (!rc)
		rc = jit_image_frames(m, &host, pid, &text);
	image_done(&looked);
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
		fprintf(stderr, "jit_image: %s\n", strerror(-rc));
	return rc ? 1 : 0;
}
