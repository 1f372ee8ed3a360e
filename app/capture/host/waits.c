#include "capture/waits.h"

#include "capture/host/waits.skel.h"
#include "program.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <seccomp.h>
#include <sys/syscall.h>

#define CALLS ((int)sizeof(((struct waits_bpf *)NULL)->rodata->class_of))

DEFINE_CLEANUP(struct waits_bpf *, waits_bpf__destroy)

/* --- system calls --------------------------------------------------------- */

static const struct wait_call rows[] = {
#define FD                    true
#define BYTES                 true
#define NONE                  false
#define WAIT(name, fd, bytes) {#name, true, fd, bytes},
#include "capture/waits.def"
#undef WAIT
#undef FD
#undef BYTES
#undef NONE
};

/* By number; filled on first use. */
static struct wait_call calls[CALLS];

static void
fill_calls(void)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int at = seccomp_syscall_resolve_name(rows[i].name);

		if (at >= 0 && at < CALLS) /* this machine has it */
			calls[at] = rows[i];
	}
	for (int i = 0; i < CALLS; i++)
		if (!calls[i].name)
			calls[i].name = seccomp_syscall_resolve_num_arch(
						SCMP_ARCH_NATIVE, i)
			                        ?: "";
}

const struct wait_call *
wait_call(int32_t number)
{
	static const struct wait_call none = {.name = ""};

	if (!calls[0].name)
		fill_calls();
	return number >= 0 && number < CALLS ? &calls[number] : &none;
}

/* --- programs in the kernel ----------------------------------------------- */

static int
set_constants(struct waits_bpf *bpf, uint32_t nbits)
{
	bpf->rodata->nbits = nbits;
	bpf->rodata->futex = SYS_futex;
	program_kernel(bpf->rodata->kernel_has);
	for (int i = 0; i < CALLS; i++) {
		const struct wait_call *call = wait_call(i);

		bpf->rodata->class_of[i] = call->io ? EMIT_IO : EMIT_OTHER;
		bpf->rodata->has_file[i] = call->fd;
	}
	return bpf_map__set_value_size(bpf->maps.control,
	                               sizeof(struct emit_control) + nbits / 8);
}

static int
keep_all(const struct waits_bpf *bpf, struct waits *out)
{
	const int fds[WAITS_FDS] = {
		[WAITS_CONTROL] = bpf_map__fd(bpf->maps.control),
		[WAITS_OUTPUTS] = bpf_map__fd(bpf->maps.outputs),
		[WAITS_INTERPS] = bpf_map__fd(bpf->maps.interps),
		[WAITS_FAULTS] = bpf_program__fd(bpf->progs.stoker_fault),
		[WAITS_SWITCH] = bpf_link__fd(bpf->links.stoker_switch),
		[WAITS_END] = bpf_link__fd(bpf->links.stoker_exit
	                                           ?: bpf->links.stoker_resume),
		[WAITS_FORK] = bpf_link__fd(bpf->links.stoker_fork),
	};
	int rc = 0;

	out->nbits = bpf->rodata->nbits;
	for (int i = 0; i < WAITS_FDS; i++) {
		out->fds[i] = rc ? -1 : program_keep(fds[i]);
		if (out->fds[i] < 0 && !rc)
			rc = out->fds[i];
	}
	for (int i = 0; i < WAITS_FDS && rc; i++)
		close_ptr(&out->fds[i]);
	return rc;
}

/* Chooses the program that notices the end of a wait. */
static int
choose_end(struct waits_bpf *bpf, const struct waits_ask *ask)
{
	bool resume = !ask->results &&
	              libbpf_find_vmlinux_btf_id("sched_exit_tp",
	                                         BPF_TRACE_RAW_TP) > 0;
	int rc = bpf_program__set_autoload(bpf->progs.stoker_resume, resume);

	bpf->rodata->results = !resume;

	return rc ? rc
	          : bpf_program__set_autoload(bpf->progs.stoker_exit, !resume);
}

int
waits_open(const struct waits_ask *ask, struct waits *out)
{
	CLEANUP(waits_bpf__destroy_ptr) struct waits_bpf *bpf = NULL;
	int rc = program_namespace();

	if (rc)
		return rc;
	libbpf_set_print(NULL);
	bpf = waits_bpf__open();
	rc = bpf ? set_constants(bpf, program_pids()) : -errno;
	if (!rc)
		rc = choose_end(bpf, ask);
	if (!rc)
		rc = waits_bpf__load(bpf);
	if (!rc)
		rc = waits_bpf__attach(bpf);
	return rc ? rc : keep_all(bpf, out);
}

int
emit_to(int outputs_fd, uint32_t cpu, int event_fd)
{
	return bpf_map_update_elem(outputs_fd, &cpu, &event_fd, BPF_ANY);
}
