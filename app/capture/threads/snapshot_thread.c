#include "snapshot_thread.h"

#include <asm/perf_regs.h>
#include <poll.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name, *reason;
	enum thread_target target;
} calls[] = {
#define SNAPSHOT_CALL(name, reason, target) {#name, reason, TARGET_##target},
#include "capture/snapshot/snapshot.def"
#undef SNAPSHOT_CALL
};

/* Splits a line into at most max words, and returns their number. */
static size_t
read_words(const char *call, uint64_t *out, size_t max)
{
	size_t n = 0;
	char *end;

	while (n < max) {
		uint64_t v = strtoull(call, &end, 0); /* -1 wraps */

		if (end == call)
			break;
		out[n++] = v;
		call = end;
	}
	return n;
}

static void
read_call(const char *call, struct thread_seen *out)
{
	uint64_t w[9];
	size_t n = read_words(call, w, ARRAY_LEN(w));

	if (n != 3 && n != ARRAY_LEN(w))
		return;
	out->sp = w[n - 2];
	out->pc = w[n - 1];
	if (n == 3)
		return;
	out->number = (long)w[0];
	memcpy(out->args, w + 1, sizeof(out->args));
}

static void
name_call(struct thread_seen *out)
{
	CLEANUP_FREE char *name = NULL;

	if (out->number < 0 || out->number > INT32_MAX)
		return;
	name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE,
	                                        (int)out->number);
	snprintf(out->call, sizeof(out->call), "%s", name ? name : "");
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		if (strcmp(calls[i].name, out->call) != 0)
			continue;
		out->reason = calls[i].reason;
		out->target = calls[i].target;
	}
}

/* Reads the array of a poll if it is on the stack, as it mostly is; an array
 * elsewhere is not read. */
static void
read_polled(const struct thread_row *row, const void *stack,
            struct thread_seen *out)
{
	uint64_t at = out->args[0] - out->sp;
	struct pollfd p;

	for (uint64_t i = 0; i < out->args[1] && out->nfds < THREAD_MAX_FDS;
	     i++, at += sizeof(p)) {
		if (at >= row->stack_bytes || row->stack_bytes - at < sizeof(p))
			return;
		memcpy(&p, (const char *)stack + at, sizeof(p));
		if (p.fd >= 0)
			out->fds[out->nfds++] = p.fd;
	}
}

/* Takes the first of several words that a thread waits for, if their array is
 * on the stack; the address is 0 if it is not.
 *   Source   linux/futex.h, struct futex_waitv */
static void
read_futexes(const struct thread_row *row, const void *stack,
             struct thread_seen *out)
{
	const uint64_t at = out->args[0] - out->sp;
	uint64_t first[2] = {0}; /* value, address */

	if (at < row->stack_bytes && row->stack_bytes - at >= sizeof(first))
		memcpy(first, (const char *)stack + at, sizeof(first));
	out->futex = first[1];
	out->target = TARGET_FUTEX;
}

void
thread_see(const struct thread_row *row, const void *stack,
           struct thread_seen *out)
{
	*out = (struct thread_seen){.state = '?', .number = THREAD_NO_CALL};
	if (proc_parse_comm(row->stat, out->name))
		out->state = proc_parse_state(row->stat) ?: '?';
	if (row->how != THREAD_BLOCKED)
		return;
	read_call(row->call, out);
	/* The state is read after the stack; the thread may have woken in
	 * between: a running thread has no such line. */
	if (out->sp && (out->state == 'R' || out->state == '?'))
		out->state = 'S';
	name_call(out);
	if (out->target == TARGET_FUTEX)
		out->futex = out->args[0];
	if (out->target == TARGET_POLLED)
		read_polled(row, stack, out);
	if (out->target == TARGET_FUTEXES)
		read_futexes(row, stack, out);
	if (out->target == TARGET_DESCRIPTOR)
		out->fds[out->nfds++] = (int32_t)out->args[0];
}

void
thread_regs(const struct user_regs_struct *from, uint64_t out[UNWIND_REGS])
{
	memset(out, 0, UNWIND_REGS * sizeof(*out));
#if defined(__x86_64__)
	out[PERF_REG_X86_AX] = from->rax;
	out[PERF_REG_X86_BX] = from->rbx;
	out[PERF_REG_X86_CX] = from->rcx;
	out[PERF_REG_X86_DX] = from->rdx;
	out[PERF_REG_X86_SI] = from->rsi;
	out[PERF_REG_X86_DI] = from->rdi;
	out[PERF_REG_X86_BP] = from->rbp;
	out[PERF_REG_X86_SP] = from->rsp;
	out[PERF_REG_X86_IP] = from->rip;
	out[PERF_REG_X86_R8] = from->r8;
	out[PERF_REG_X86_R9] = from->r9;
	out[PERF_REG_X86_R10] = from->r10;
	out[PERF_REG_X86_R11] = from->r11;
	out[PERF_REG_X86_R12] = from->r12;
	out[PERF_REG_X86_R13] = from->r13;
	out[PERF_REG_X86_R14] = from->r14;
	out[PERF_REG_X86_R15] = from->r15;
#elif defined(__aarch64__) /* the same order: x0 to x30, sp, pc */
	memcpy(out, from, UNWIND_REGS * sizeof(*out));
#endif
}

const char *
thread_state(const struct thread_seen *t)
{
	if (t->state == 'R' || t->state == '?')
		return "running";
	return t->call[0] && !t->reason ? "syscall" : "waiting";
}

const char *
thread_link_kind(const char *link)
{
	static const struct {
		const char *start, *kind;
	} kinds[] = {
		{"socket:", "socket"},
		{"pipe:", "pipe"},
		{"anon_inode:[eventfd]", "eventfd"},
		{"anon_inode:[timerfd]", "timer"},
		{"anon_inode:[signalfd]", "signals"},
		{"anon_inode:inotify", "inotify"},
		{"anon_inode:", "descriptor"},
		{"/dev/pts/", "terminal"},
		{"/dev/tty", "terminal"},
		{"/dev/", "device"},
		{"/", "file"},
	};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (!strncmp(link, kinds[i].start, strlen(kinds[i].start)))
			return kinds[i].kind;
	return "";
}
