/*
 * A whole Stoker: API, worker and command line, with a program to profile, in
 * the order of a user's first hour.
 * On SQLite alone: the worker uses nothing else.
 */
#include "lib/gateway.h"

#include "base/clock.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_S 40

struct whole {
	char targets[64]; /* this test's own: others may run beside it */
	struct test_api api;
	struct gateway gateway;
	pid_t worker, target;
};
#define CLEANUP_WHOLE CLEANUP(whole_done)

static void
end(pid_t pid, int sig)
{
	if (pid <= 0)
		return;
	kill(pid, sig);
	waitpid(pid, NULL, 0);
}

static void
whole_done(struct whole *w)
{
	end(w->worker, SIGTERM);
	end(w->target, SIGKILL);
	gateway_stop(&w->gateway);
	test_api_done(&w->api);
	test_remove(w->targets);
}

static pid_t
start(const char *path, const char *a, const char *b)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execl(path, path, a, b, NULL);
	_exit(127);
}

/* Tenant t2 may profile the targets. The worker's parts run as user nobody, who
 * owns the store. */
static void
begin(struct whole *w)
{
	const char *build = getenv("B") ? getenv("B") : "build";
	char text[1024];

	strcpy(w->targets, "/tmp/stoker-whole.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(w->targets));
	snprintf(text, sizeof(text),
	         "chmod 755 %s && cp %.500s/targets/shares %s", w->targets,
	         build, w->targets);
	ck_assert_int_eq(system(text), 0);
	snprintf(text, sizeof(text),
	         "[worker]\nhost = " TEST_HOST "\nuser = nobody\n"
	         "[continuous]\nwindow = 1s\ngauges = 1s\ncounters = 1s\n"
	         "[trigger]\ninterval = 1s\n"
	         "[scope.t2]\nexe = %s\n",
	         w->targets);
	w->api = test_api(1, text);
	w->gateway = gateway_start(&w->api);
	snprintf(text, sizeof(text), "chown -R nobody %s", w->api.store.dir);
	ck_assert_int_eq(system(text), 0);
	snprintf(text, sizeof(text), "%s/shares", w->targets);
	w->target = start(text, "600", "2");
	snprintf(text, sizeof(text), "%s/stoker-worker", build);
	w->worker = start(text, "--config", w->api.conf);
}

/* Runs a command of tenant t2. Returns its status. */
static int
run(const struct whole *w, const char *args, struct buf *out)
{
	char text[1024];

	snprintf(text, sizeof(text), "--tenant t2 %s", args);
	buf_clear(out);
	return gateway_stoker(&w->gateway, KEY_ADMIN, text, out);
}

/* Runs a command, which must exit with this status. */
static void
stoker(const struct whole *w, const char *args, int status, struct buf *out)
{
	int left = run(w, args, out);

	ck_assert_msg(left == status, "%s: %d, %s", args, left, buf_str(out));
}

/* Repeats a command until its output has a text, which may take a while. */
static void
until(const struct whole *w, const char *args, const char *says)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);
	int64_t last = clock_mono_ns() + WAIT_S * NS_PER_S;

	do
		(void)run(w, args, &out);
	while (!strstr(buf_str(&out), says) && clock_mono_ns() < last);
	ck_assert_msg(strstr(buf_str(&out), says) != NULL, "%s: %s", args,
	              buf_str(&out));
}

static void
shows(const struct whole *w, const char *args, int status, const char *says)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);

	stoker(w, args, status, &out);
	ck_assert_msg(strstr(buf_str(&out), says) != NULL, "%s: %s", args,
	              buf_str(&out));
}

TEST(a_service_is_profiled_from_the_first_capture_to_the_last_window)
{
	CLEANUP_WHOLE struct whole w = {0};
	char text[1024];

	if (geteuid() != 0)
		SKIP("only root may capture");
	begin(&w);
	snprintf(text, sizeof(text), "service add web --exe %s/shares",
	         w.targets);
	shows(&w, text, 0, "web: created\n");
	/* a capture that prints its result */
	shows(&w, "run web --seconds 1 --rate 400 --wait", 0, "share_half\n");
	shows(&w, "sessions", 0, "complete");
	shows(&w, "get web --format folded", 0, ";spin;share_half ");
	shows(&w, "symbolize web", 0, "frames have names");
	shows(&w, "service show web --processes", 0, "/shares 600 2\n");
	shows(&w, "run web --type goroutine --wait", 0, "2 threads\n");
	/* a capture that is cancelled */
	shows(&w, "run web --seconds 60", 0, "stoker: started;");
	until(&w, "sessions --type cpu --limit 1", "capturing");
	shows(&w, "remove @last", 0, ": cancelled\n");
	until(&w, "sessions --type cpu --limit 1", "cancelled");
	/* triggers and windows */
	shows(&w, "trigger add web busy cpu percent=1 --seconds 1s", 0,
	      "busy: trg-");
	until(&w, "sessions --type cpu --limit 1", "complete");
	until(&w, "trigger list web", "sess-");
	shows(&w, "trigger remove web busy", 0, "busy: removed\n");
	shows(&w, "continuous on web --types cpu,goroutine", 0,
	      "web is profiled all the time: cpu, goroutine;");
	until(&w, "history web --type cpu --limit 1", "win-");
	until(&w, "history web --type goroutine --limit 1", "win-");
	until(&w, "merge web", "share_half\n");
	shows(&w, "continuous show web", 0, "The worker of " TEST_HOST ":");
	shows(&w, "continuous off web", 0, "not profiled all the time");
	shows(&w, "service remove web", 0, "web: removed with ");
}
END

SUITE("whole", .seconds = 120);
