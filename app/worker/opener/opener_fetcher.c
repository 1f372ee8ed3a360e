#include "opener_fetcher.h"

#include "base/log.h"
#include "worker/ipc/messages.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

/* Opens files that only this user may read, before the child changes its user.
 * The child reports files that are missing. */
static struct fetch_secrets
open_secrets(const struct conf *conf, bool courier)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	struct fetch_secrets s = {-1, -1, -1, -1};

	if (!courier) {
		if (*conf->collector_header_file)
			s.headers = open(conf->collector_header_file, flags);
		return s;
	}
	s.key = open(conf->agent_key_file, flags);
	if (*conf->agent_cert_file) {
		s.cert = open(conf->agent_cert_file, flags);
		s.cert_key = open(conf->agent_cert_key_file, flags);
	}
	return s;
}

/* Runs the fetcher or the courier, and never returns. */
static void
be_fetcher(struct fetcher_program run, const struct conf *conf,
           const struct identity *who, pid_t parent, int socket, int alive)
{
	char own[CONF_HOST_MAX];
	struct fetch_secrets secrets;
	int keep[] = {socket, alive};
	sigset_t none;
	int rc;

	rc = privilege_close_but(keep, ARRAY_LEN(keep));
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	secrets = open_secrets(conf, run.courier != NULL);
	if (!rc)
		rc = privilege_drop(who, parent);
	if (!rc)
		rc = conf_host(conf, own);
	if (!rc)
		rc = (run.courier ?: run.fetcher)(conf, own, socket, alive,
		                                  &secrets);
	if (rc && rc != -EPIPE)
		log_err("%s: %s", run.courier ? "courier" : "fetcher",
		        strerror(-rc));
	_exit(rc && rc != -EPIPE ? 1 : 0);
}

static int
start(struct fetcher_child *c, struct fetcher_program run,
      const struct conf *conf, const struct identity *who, int *out)
{
	CLEANUP_FD int alive = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pid_t pid, self = getpid();
	int pair[2];
	int rc = alive < 0 ? -errno : msg_pair(pair);

	if (rc)
		return rc;
	pid = fork();
	if (pid == 0)
		be_fetcher(run, conf, who, self, pair[1], alive);
	rc = pid < 0 ? -errno : 0;
	close(pair[1]);
	if (rc) {
		close(pair[0]);
		return rc;
	}
	c->pid = pid;
	c->alive = TAKE_FD(alive);
	*out = pair[0];
	return 0;
}

/* --- the child, as its parent sees it ------------------------------------- */

static void
forget(struct fetcher_child *c)
{
	close(c->alive);
	c->pid = 0;
}

static void
announce(const struct fetcher_child *c, int error, int socket, int events)
{
	struct msg_fetcher m = {.type = c->type, .error = error};

	if (msg_send(events, &m, sizeof(m), &socket, socket >= 0))
		log_debug("the scheduler takes no messages");
}

void
fetcher_child_start(struct fetcher_child *c, struct fetcher_program run,
                    const struct conf *conf, const struct identity *who,
                    struct ended *ended, int events)
{
	CLEANUP_FD int socket = -1;
	int rc;

	if (c->pid) {
		ended_kill(ended, c->pid);
		forget(c);
	}
	c->type = run.courier ? MSG_COURIER : MSG_FETCHER;
	rc = start(c, run, conf, who, &socket);
	announce(c, rc, socket, events);
}

bool
fetcher_child_heard(const struct fetcher_child *c)
{
	eventfd_t n;

	return c->pid && !eventfd_read(c->alive, &n);
}

void
fetcher_child_end(struct fetcher_child *c, struct ended *ended, int events)
{
	ended_kill(ended, c->pid);
	forget(c);
	announce(c, -ECHILD, -1, events);
}

void
fetcher_child_died(struct fetcher_child *c, int status)
{
	if (WIFSIGNALED(status))
		log_err("%s died: %s", fetcher_child_name(c),
		        strsignal(WTERMSIG(status)));
	forget(c);
}

const char *
fetcher_child_name(const struct fetcher_child *c)
{
	return c->type == MSG_COURIER ? "courier" : "fetcher";
}
