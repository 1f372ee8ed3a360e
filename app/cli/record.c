/*
 * stoker record: profiles a command that it starts, without a server.
 *
 * The command is stopped before its first instruction until the worker, which
 * runs for this capture alone, reports that it counts. The worker reports
 * progress only on a terminal, so it gets a pseudo-terminal.
 */
#include "cli.h"

#include "base/file.h"
#include "held.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONGEST_S "3600"
#define WORKER    "stoker-worker"
#define SAID_MAX  ((size_t)64 << 10)

struct recording {
	struct held command;
	pid_t worker;
	int worker_fd; /* pidfd */
	int terminal;
	struct buf said;
};

static void
recording_done(struct recording *r)
{
	held_done(&r->command);
	close_ptr(&r->worker_fd);
	close_ptr(&r->terminal);
	buf_done(&r->said);
}

/* --- the worker ----------------------------------------------------------- */

/* Runs the worker in this program's folder, or else the one in PATH. */
static void
run_worker(const char *const argv[])
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path,
	                     sizeof(path) - sizeof(WORKER) - 1);
	char *slash;

	path[n < 0 ? 0 : n] = '\0';
	slash = strrchr(path, '/');
	if (slash) {
		memcpy(slash + 1, WORKER, sizeof(WORKER));
		execv(path, (char *const *)argv);
	}
	execvp(WORKER, (char *const *)argv);
	execv("/usr/sbin/" WORKER, (char *const *)argv);
	fprintf(stderr, WORKER ": %s\n", strerror(errno));
	_exit(127);
}

static int
start_worker(struct cli *c, struct recording *r)
{
	char pid[24], seconds[24] = LONGEST_S, rate[24];
	const char *argv[16] = {WORKER,        "--once",    pid,    "--out",
	                        c->opt.output, "--seconds", seconds};
	size_t n = 7;

	snprintf(pid, sizeof(pid), "%d", (int)r->command.pid);
	if (c->opt.seconds >= 0)
		snprintf(seconds, sizeof(seconds), "%lld",
		         (long long)c->opt.seconds);
	if (c->opt.rate >= 0) {
		snprintf(rate, sizeof(rate), "%lld", (long long)c->opt.rate);
		argv[n++] = "--rate";
		argv[n++] = rate;
	}
	if (c->opt.type) {
		argv[n++] = "--type";
		argv[n++] = c->opt.type;
	}
	r->worker = forkpty(&r->terminal, NULL, NULL, NULL);
	if (r->worker < 0)
		return failed("forkpty: %s", strerror(errno));
	if (!r->worker)
		run_worker(argv);
	r->worker_fd = (int)syscall(SYS_pidfd_open, r->worker, 0);
	return r->worker_fd < 0 ? failed("pidfd_open: %s", strerror(errno))
	                        : LEAVE_OK;
}

/* --- worker and command --------------------------------------------------- */

/* Reads the worker's output. Its first line of progress means that the command
 * may run. */
static void
hear(struct recording *r)
{
	char text[1024];
	ssize_t n = read(r->terminal, text, sizeof(text) - 1);

	if (n <= 0) {
		close_ptr(&r->terminal); /* the worker has ended */
		return;
	}
	text[n] = '\0';
	if (strstr(text, " samples"))
		held_let_go(&r->command);
	if (r->said.len + (size_t)n < SAID_MAX)
		buf_add(&r->said, text, (size_t)n);
}

static void
watch(struct recording *r)
{
	struct pollfd fds[] = {{r->terminal, POLLIN, 0},
	                       {r->command.fd, POLLIN, 0}};

	if (poll(fds, ARRAY_LEN(fds), -1) < 0)
		return;
	if (fds[1].revents) {
		held_ended(&r->command);
		kill(r->worker, SIGINT);
	}
	if (fds[0].revents)
		hear(r);
}

/* Prints the worker's warnings and its table, without its figures and its
 * progress, which ends in a code that clears the line. */
static void
tell(const struct recording *r)
{
	bool table = false;

	for (const char *s = buf_str(&r->said); *s;) {
		CLEANUP_BUF struct buf line = BUF_INIT(SAID_MAX);
		size_t n = strcspn(s, "\r\n");

		buf_add(&line, s, n);
		s += n + strspn(s + n, "\r\n");
		table |= strstr(buf_str(&line), "self%") != NULL;
		if (strstr(buf_str(&line), "\033[K") ||
		    (!table && !strstr(buf_str(&line), ": ")))
			continue;
		fprintf(stderr, "%s\n", buf_str(&line));
	}
}

static int
finish(struct cli *c, struct recording *r)
{
	int status;

	held_let_go(&r->command); /* the worker failed */
	if (r->command.fd >= 0)
		held_ended(&r->command);
	waitpid(r->worker, &status, 0);
	tell(r);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return failed("the capture failed");
	fprintf(stderr,
	        "stoker: %s is written; stoker upload SERVICE %s "
	        "stores it\n",
	        c->opt.output, c->opt.output);
	if (held_status(&r->command))
		return failed("%s failed", c->operands[0]);
	return LEAVE_OK;
}

int
cmd_record(struct cli *c)
{
	CLEANUP(recording_done)
	struct recording r = {.command = HELD_INIT,
	                      .worker_fd = -1,
	                      .terminal = -1,
	                      .said = BUF_INIT(SAID_MAX)};
	int rc;

	if (!c->opt.output)
		return usage_error("record needs --output FILE, too\n"
		                   "  stoker help record");
	rc = held_start(c->operands, -1, &r.command);
	if (!rc)
		rc = start_worker(c, &r);
	if (rc)
		return rc;
	signal(SIGINT, SIG_IGN); /* it ends the command, which ends the
	                            capture */
	while (r.terminal >= 0)
		watch(&r);
	return finish(c, &r);
}
