#include "opener_fetcher.h"

#include "base/log.h"
#include "worker/ipc/messages.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* Opens files that only this user may read, before the child changes its user.
 * The courier reports files that are missing. */
static struct fetch_secrets
open_secrets(const struct conf *conf)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	struct fetch_secrets s = {-1, -1, -1};

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
           const struct identity *who, pid_t parent, int socket)
{
	char own[CONF_HOST_MAX];
	struct fetch_secrets secrets = {-1, -1, -1};
	sigset_t none;
	int rc;

	privilege_close_but(&socket, 1);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (run.courier)
		secrets = open_secrets(conf);
	rc = privilege_drop(who, parent);
	if (!rc)
		rc = conf_host(conf, own);
	if (!rc)
		rc = run.courier ? run.courier(conf, own, socket, &secrets)
		                 : run.fetcher(conf, own, socket);
	if (rc && rc != -EPIPE)
		log_err("%s: %s", run.courier ? "courier" : "fetcher",
		        strerror(-rc));
	_exit(rc && rc != -EPIPE ? 1 : 0);
}

static int
start(struct fetcher_child *c, struct fetcher_program run,
      const struct conf *conf, const struct identity *who, int *out)
{
	pid_t self = getpid();
	int pair[2];
	int rc = msg_pair(pair);

	if (rc)
		return rc;
	c->pid = fork();
	if (c->pid == 0)
		be_fetcher(run, conf, who, self, pair[1]);
	rc = c->pid < 0 ? -errno : 0;
	close(pair[1]);
	if (rc) {
		c->pid = 0;
		close(pair[0]);
		return rc;
	}
	*out = pair[0];
	return 0;
}

void
fetcher_child_start(struct fetcher_child *c, struct fetcher_program run,
                    const struct conf *conf, const struct identity *who,
                    int events)
{
	struct msg_fetcher m = {.type = run.courier ? MSG_COURIER
	                                            : MSG_FETCHER};
	CLEANUP_FD int socket = -1;

	if (c->pid)
		kill(c->pid, SIGKILL);
	m.error = start(c, run, conf, who, &socket);
	if (msg_send(events, &m, sizeof(m), &socket, socket >= 0))
		log_debug("nobody hears of the process");
}

void
fetcher_child_died(struct fetcher_child *c, const char *name, int status)
{
	if (WIFSIGNALED(status))
		log_err("%s died: %s", name, strsignal(WTERMSIG(status)));
	c->pid = 0;
}
