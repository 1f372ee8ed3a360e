#include "forker.h"

#include "base/log.h"
#include "base/msg.h"
#include "reading.h"
#include "sandbox/privilege.h"
#include "sandbox/sandbox.h"
#include "words.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

struct forker {
	int socket;
	int statm_fd; /* /proc/self/statm, for memory_bound_by() */
	struct sock_fprog filter;
	pid_t self, children[FORKER_CHILDREN]; /* 0: none */
	struct forker_reply lacks; /* reply to asks, if no child can be made */
};

/* Tries to map half of the bytes: limits that others set may leave an importer
 * less memory. */
static int
try_memory(int64_t bytes)
{
	size_t n = (size_t)bytes / 2;
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE,
	               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return -errno;
	munmap(p, n);
	return 0;
}

static int
give_up_rights(const struct forker *f)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
		return -errno;
	close(f->socket);
	if (dup2(STDIN_FILENO, STDERR_FILENO) < 0)
		return -errno;
	return getppid() == f->self ? 0 : -ESRCH;
}

static _Noreturn void
be_importer(const struct forker *f, int socket, int64_t memory)
{
	enum lack lack = LACK_RIGHTS;
	int rc = give_up_rights(f);

	prctl(PR_SET_NAME, "stoker-import");
	if (!rc) {
		lack = LACK_MEMORY;
		rc = sandbox_limit_data(f->statm_fd, memory)
		             ?: try_memory(memory);
	}
	close(f->statm_fd);
	if (!rc) {
		lack = LACK_FILTER;
		rc = sandbox_enter_made(&f->filter);
	}
	if (rc)
		_exit((int)lack);
	reading_run(socket);
}

static struct forker_reply
start(struct forker *f, const struct forker_ask *ask, int socket)
{
	pid_t pid;

	if (f->lacks.lack)
		return f->lacks;
	pid = socket < 0 || f->children[ask->child] ? -1 : fork();
	if (!pid)
		be_importer(f, socket, ask->memory);
	if (pid < 0)
		return (struct forker_reply){.lack = LACK_FORK, .err = errno};
	f->children[ask->child] = pid;
	return (struct forker_reply){.pid = pid};
}

static struct forker_reply
end(struct forker *f, const struct forker_ask *ask)
{
	struct forker_reply reply = {.pid = f->children[ask->child]};

	f->children[ask->child] = 0;
	if (!reply.pid)
		return reply;
	kill(reply.pid, SIGKILL);
	while (waitpid(reply.pid, &reply.status, 0) < 0 && errno == EINTR)
		;
	return reply;
}

/* Serves one ask; false at the end. */
static bool
serve(struct forker *f)
{
	CLEANUP_FD int socket = -1;
	struct forker_ask ask;
	struct forker_reply reply;
	size_t nfds = 1;

	if (msg_recv(f->socket, &ask, sizeof(ask), &socket, &nfds) !=
	            sizeof(ask) ||
	    ask.child >= FORKER_CHILDREN)
		return false;
	reply = ask.start ? start(f, &ask, socket) : end(f, &ask);
	return !msg_send(f->socket, &reply, sizeof(reply), NULL, 0);
}

/* Closes the descriptors of the API, its listening socket among them; standard
 * input and output become /dev/null. */
static int
close_all(const struct forker *f)
{
	CLEANUP_FD int none = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int keep[] = {f->socket, f->statm_fd};

	if (none < 0 || dup2(none, STDIN_FILENO) < 0 ||
	    dup2(none, STDOUT_FILENO) < 0)
		return -errno;
	none = -1; /* closed with the rest */
	return privilege_close_but(keep, ARRAY_LEN(keep));
}

static int
set_up(struct forker *f, enum lack *lack)
{
	int rc;

	*lack = LACK_RIGHTS;
	f->statm_fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	rc = f->statm_fd < 0 ? -errno : close_all(f);
	if (!rc)
		rc = privilege_shed(getppid());
	if (rc)
		return rc;
	*lack = LACK_FILTER;
	return sandbox_make_importer(&f->filter);
}

void
forker_run(int socket)
{
	struct forker f = {.socket = socket, .self = getpid()};
	static const int ending[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2};
	struct finding finding;
	enum lack lack;
	sigset_t blocked;
	int rc;

	/* Signals that end the API let it finish its request first. */
	sigemptyset(&blocked);
	for (size_t i = 0; i < ARRAY_LEN(ending); i++)
		sigaddset(&blocked, ending[i]);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	prctl(PR_SET_NAME, "stoker-forker");
	rc = set_up(&f, &lack);
	if (rc) {
		f.lacks = (struct forker_reply){.lack = lack, .err = -rc};
		lack_find(lack, -rc, &finding);
		log_err("files of other tools cannot be read: %s; %s",
		        finding.found, finding.fix);
	}
	while (serve(&f))
		;
	_exit(0);
}
