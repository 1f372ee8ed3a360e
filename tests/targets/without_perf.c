/*
 * Runs a program that may not call perf_event_open(2), as in a container whose
 * seccomp profile forbids it. With -a it gets EACCES with any capability, as on
 * Debian's or Ubuntu's kernel with perf_event_paranoid at 3.
 *
 * 	without_perf [-a] PROGRAM [ARGUMENT...]
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REFUSAL 2 /* its index in code */

static struct sock_filter code[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

int
main(int argc, char **argv)
{
	struct sock_fprog filter = {sizeof(code) / sizeof(*code), code};

	if (argc > 1 && !strcmp(argv[1], "-a")) {
		code[REFUSAL].k = SECCOMP_RET_ERRNO | EACCES;
		argv++;
		argc--;
	}
	if (argc < 2)
		return 2;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) {
		perror("seccomp");
		return 1;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 1;
}
