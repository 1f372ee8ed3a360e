/* Attaching to a JVM; a child of this program imitates one, more or less. */
#include "base/clock.h"
#include "lib/test.h"
#include "worker/opener/java_attach.h"
#include "worker/opener/java_text.h"
#include "worker/opener/opener.h"
#include "worker/opener/opener_java.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_NS  (20 * NS_PER_S)
#define SHORT_NS (50 * NS_PER_MS)

/* What the child lacks, or does in addition. */
enum {
	NO_LIBRARY = 1,
	NO_VM_THREAD = 2,
	NO_SIGNALS = 4,
	NO_HANDLER = 8,
	OPENJ9 = 16,
	LISTENS = 32, /* without being asked */
	ENDLESS = 64,
	SILENT = 128,
	REFUSES = 256,     /* by an option, */
	REFUSES_TOO = 512, /* by one in a variable */
};

static const char *answer;
static unsigned flags;
static sem_t asked;

static void
on_quit(int signo)
{
	(void)signo;
	sem_post(&asked);
}

static void
name_of(char out[static 64], const char *what, pid_t pid)
{
	snprintf(out, 64, "/tmp/.%s_pid%d", what, pid);
}

static int
listen_at(const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%.60s.tmp", path);
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 5) ||
	    rename(a.sun_path, path))
		abort();
	return fd;
}

static void
serve(int fd)
{
	char question[64];

	if (read(fd, question, sizeof(question)) < 0)
		abort();
	while (write(fd, answer, strlen(answer)) >= 0 && flags & ENDLESS)
		;
	if (flags & SILENT)
		pause();
	close(fd);
}

/* Handles the signal as the VM thread does, and answers the connection. */
static void *
be_listener(void *ready)
{
	char path[64], file[64];
	sigset_t quit;
	int fd = -1;

	prctl(PR_SET_NAME, flags & NO_VM_THREAD ? "VM" : JAVA_VM_THREAD);
	sigemptyset(&quit);
	sigaddset(&quit, SIGQUIT);
	pthread_sigmask(SIG_UNBLOCK, &quit, NULL);
	name_of(path, "java", getpid());
	name_of(file, "attach", getpid());
	if (flags & LISTENS)
		fd = listen_at(path);
	if (write(*(int *)ready, "!", 1) != 1)
		abort();
	while (fd < 0)
		if (!sem_wait(&asked) && !access(file, F_OK))
			fd = listen_at(path);
	for (;;)
		serve(accept(fd, NULL, NULL));
}

static void *
be_signals(void *arg)
{
	prctl(PR_SET_NAME, flags & NO_SIGNALS ? "Signals" : JAVA_SIGNALS);
	if (pthread_create(arg, NULL, be_listener,
	                   (char *)arg + sizeof(pthread_t)))
		abort();
	for (;;)
		pause();
}

static void
map_library(const char *name)
{
	char dir[] = "/tmp/stoker-test.XXXXXX", path[64];
	int fd;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0 || ftruncate(fd, 4096) ||
	    mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		abort();
	unlink(path);
	rmdir(dir);
}

/* Writes an option over an argument or a variable, as /proc shows them. */
static void
refuse_in(char *text)
{
	static const char option[] = "+DisableAttachMechanism";

	if (strlen(text) < strlen(option))
		abort();
	memcpy(text, option, strlen(option));
}

/* Returns a variable that is long enough for the option. */
static char *
variable(void)
{
	for (char **v = environ; *v; v++)
		if (strlen(*v) >= 32)
			return *v;
	abort();
}

static void
be_jvm(int ready)
{
	struct {
		pthread_t vm;
		int ready;
	} arg = {.ready = ready};
	struct sigaction quit = {.sa_handler = on_quit};
	pthread_t signals;
	sigset_t set;

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	sem_init(&asked, 0, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGQUIT);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (!(flags & NO_HANDLER))
		sigaction(SIGQUIT, &quit, NULL);
	if (!(flags & NO_LIBRARY))
		map_library("libjvm.so");
	if (flags & OPENJ9)
		map_library("libj9vm29.so");
	if (flags & REFUSES)
		refuse_in(program_invocation_name);
	if (flags & REFUSES_TOO)
		refuse_in(variable());
	if (pthread_create(&signals, NULL, be_signals, &arg))
		abort();
	for (;;)
		pause();
}

struct rig {
	pid_t child;
	struct java_jvm jvm;
};

static void
rig_init(struct rig *r, unsigned with, const char *says)
{
	int ready[2];
	char c;

	ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
	flags = with;
	answer = says;
	r->jvm.tmp = -1;
	r->child = fork();
	ck_assert_int_ge(r->child, 0);
	if (!r->child)
		be_jvm(ready[1]);
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &c, 1), 1);
	close(ready[0]);
}

static void
rig_done(struct rig *r)
{
	char path[64];

	if (r->jvm.tmp >= 0)
		close(r->jvm.tmp);
	kill(r->child, SIGKILL);
	waitpid(r->child, NULL, 0);
	name_of(path, "java", r->child);
	unlink(path);
}
#define CLEANUP_RIG CLEANUP(rig_done)

static bool
lives(const struct rig *r)
{
	return !kill(r->child, 0) && !waitpid(r->child, NULL, WNOHANG);
}

static bool
left_a_file(const struct rig *r)
{
	char path[64];

	name_of(path, "attach", r->child);
	return !access(path, F_OK);
}

TEST(a_jvm_is_asked)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r, 0, "0\nCommand executed successfully\n");
	ck_assert_int_eq(java_find(r.child, &r.jvm), 0);
	ck_assert_int_eq(r.jvm.inner, r.child);
	ck_assert_int_eq(java_attach(&r.jvm, WAIT_NS), 0);
	ck_assert(!left_a_file(&r));
	ck_assert_int_eq(java_attach(&r.jvm, WAIT_NS), 0); /* now it listens */
	ck_assert(lives(&r));
}
END

TEST(an_answer_may_be_anything)
{
	const struct {
		const char *answer;
		unsigned with;
		int error;
	} rows[] = {
		{"0\n", 0, 0},
		{"0", 0, -EPROTO},
		{"", 0, -EPROTO},
		{"1\njava.lang.IllegalArgumentException", 0, -EPROTO},
		{"00\n", 0, -EPROTO},
		{"0\nand so on", ENDLESS, -EMSGSIZE},
		{"0\n", SILENT, -ETIMEDOUT},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_RIG struct rig r;
		int rc;

		rig_init(&r, rows[i].with | LISTENS, rows[i].answer);
		ck_assert_int_eq(java_find(r.child, &r.jvm), 0);
		rc = java_attach(&r.jvm,
		                 rows[i].with & SILENT ? SHORT_NS : WAIT_NS);
		ck_assert_msg(rc == rows[i].error, "row %zu: %d", i, rc);
		ck_assert(lives(&r));
	}
}
END

TEST(who_is_no_hotspot_is_not_looked_at)
{
	const unsigned rows[] = {NO_LIBRARY, OPENJ9};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_RIG struct rig r;

		rig_init(&r, rows[i], "0\n");
		ck_assert_int_eq(java_find(r.child, &r.jvm), -ENOEXEC);
		ck_assert(lives(&r));
	}
	ck_assert_int_eq(java_find(0, &(struct java_jvm){0}), -ESRCH);
}
END

/* If nobody listens, a signal would end the program or surprise it. */
TEST(who_does_not_wait_for_sigquit_gets_none)
{
	const unsigned rows[] = {NO_HANDLER, NO_VM_THREAD, NO_SIGNALS, REFUSES,
	                         REFUSES_TOO};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_RIG struct rig r;

		rig_init(&r, rows[i], "0\n");
		ck_assert_int_eq(java_find(r.child, &r.jvm), 0);
		ck_assert_int_eq(java_attach(&r.jvm, WAIT_NS), -EOPNOTSUPP);
		ck_assert(!left_a_file(&r));
		ck_assert(lives(&r));
	}
}
END

TEST(one_that_is_stopped_is_left_alone)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r, 0, "0\n");
	kill(r.child, SIGSTOP);
	ck_assert_int_eq(waitpid(r.child, NULL, WUNTRACED), r.child);
	ck_assert_int_eq(java_find(r.child, &r.jvm), -EAGAIN);
}
END

/* The child listened before it stopped: a connection succeeds, but gets no
 * answer. */
TEST(one_that_stops_meanwhile_is_not_waited_for)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r, LISTENS, "0\n");
	ck_assert_int_eq(java_find(r.child, &r.jvm), 0);
	kill(r.child, SIGSTOP);
	ck_assert_int_eq(waitpid(r.child, NULL, WUNTRACED), r.child);
	ck_assert_int_eq(java_attach(&r.jvm, SHORT_NS), -ETIMEDOUT);
	kill(r.child, SIGCONT);
	ck_assert_int_eq(java_attach(&r.jvm, WAIT_NS), 0);
}
END

TEST(a_socket_of_another_process_is_not_spoken_to)
{
	CLEANUP_RIG struct rig r;
	char path[64];
	int fd;

	rig_init(&r, 0, "0\n");
	ck_assert_int_eq(java_find(r.child, &r.jvm), 0);
	name_of(path, "java", r.child);
	fd = listen_at(path);
	ck_assert_int_eq(java_attach(&r.jvm, WAIT_NS), -EACCES);
	close(fd);
	unlink(path);
	close(open(path, O_CREAT | O_EXCL | O_CLOEXEC, 0600));
	ck_assert_int_eq(java_attach(&r.jvm, WAIT_NS), -EACCES);
	unlink(path);
	ck_assert_int_eq(symlink("/dev/null", path), 0);
	ck_assert_int_eq(java_attach(&r.jvm, WAIT_NS), -EACCES);
	ck_assert(lives(&r));
}
END

/* An earlier process with the same pid leaves such a socket. */
TEST(a_socket_that_nobody_listens_at_is_replaced)
{
	CLEANUP_RIG struct rig r;
	char path[64];

	rig_init(&r, 0, "0\n");
	ck_assert_int_eq(java_find(r.child, &r.jvm), 0);
	name_of(path, "java", r.child);
	close(listen_at(path));
	ck_assert_int_eq(java_attach(&r.jvm, WAIT_NS), 0);
}
END

/* --- the opener's side ---------------------------------------------------- */

static int
ask(struct java *j, const struct grants *g, pid_t pid)
{
	struct host_ask question = {.op = HOST_JAVA,
	                            .pid = pid,
	                            .period_ns = 3600 * (uint64_t)NS_PER_S};
	struct answer out = {0};
	int32_t result = 1;
	int rc = java_ask(j, g, &question, &out);

	if (rc)
		return rc;
	ck_assert_uint_eq(out.nfds, 1);
	if (read(out.fds[0], &result, sizeof(result)) != sizeof(result))
		result = -EPIPE;
	close(out.fds[0]);
	java_child_ended(j, waitpid(-1, NULL, 0));
	return result;
}

TEST(only_who_may_be_is_asked_and_not_again_and_again)
{
	CLEANUP_RIG struct rig r;
	struct msg_may m = {.type = MSG_MAY,
	                    .npids = 1,
	                    .duration_ms = 1000,
	                    .what = WORKER_MAY_SET};
	static struct java j;
	static struct grants g;

	rig_init(&r, 0, "0\n");
	m.processes[0].pid = r.child;
	ck_assert_int_eq(ask(&j, &g, r.child), -EPERM);
	grants_add(&g, &m);
	ck_assert_int_eq(ask(&j, &g, r.child), -EPERM); /* another kind */
	m.what = WORKER_MAY_ASK;
	grants_add(&g, &m);
	ck_assert_int_eq(ask(&j, &g, r.child), 0);
	ck_assert_int_eq(ask(&j, &g, r.child), -EALREADY);
	ck_assert(lives(&r));
}
END

TEST(who_asks_is_told_what_went_wrong)
{
	CLEANUP_RIG struct rig r;
	struct msg_may m = {.type = MSG_MAY,
	                    .npids = 1,
	                    .duration_ms = 1000,
	                    .what = WORKER_MAY_ASK};
	static struct java j;
	static struct grants g;

	rig_init(&r, NO_LIBRARY, "0\n");
	m.processes[0].pid = r.child;
	grants_add(&g, &m);
	ck_assert_int_eq(ask(&j, &g, r.child), -ENOEXEC);
	ck_assert_int_eq(ask(&j, &g, r.child), -EALREADY);
	ck_assert_int_eq(ask(&j, &g, 0), -ESRCH);
}
END

TEST(a_program_with_the_number_of_one_that_was_asked_is_asked)
{
	CLEANUP_RIG struct rig r;
	struct msg_may m = {.type = MSG_MAY,
	                    .npids = 1,
	                    .duration_ms = 1000,
	                    .what = WORKER_MAY_ASK};
	static struct java j;
	static struct grants g;

	rig_init(&r, NO_LIBRARY, "0\n");
	m.processes[0].pid = r.child;
	grants_add(&g, &m);
	ck_assert_int_eq(ask(&j, &g, r.child), -ENOEXEC);
	for (size_t i = 0; i < JAVA_MAX_ASKED; i++)
		if (j.rows[i].pid == r.child)
			j.rows[i].start_time--; /* of an earlier process */
	ck_assert_int_eq(ask(&j, &g, r.child), -ENOEXEC);
}
END

/* --- texts ---------------------------------------------------------------- */

#define STATUS(state, uids, nspid, blocked, caught)                          \
	"Name:\tjava\nState:\t" state "\nUid:\t" uids "\nGid:\t5\t5\t5\t5\n" \
	"NSpid:\t" nspid "\nSigBlk:\t" blocked "\nSigCgt:\t" caught "\n"

TEST(a_status_is_read)
{
	const struct {
		const char *text;
		int error;
		bool takes, stopped;
	} rows[] = {
		{STATUS("S (sleeping)", "7\t7\t7\t7", "90\t3", "0", "4"), 0,
	         true, false},
		{STATUS("T (stopped)", "7\t7\t7\t7", "90\t3", "4", "4"), 0,
	         false, true},
		{STATUS("R (running)", "7\t7\t7\t7", "3", "0", "1005ccb"), 0,
	         false, false},
		{STATUS("R (running)", "7\t0\t7\t7", "3", "0", "4"), -EPERM,
	         false, false},
		{STATUS("R (running)", "7\t7\t7", "3", "0", "4"), -EINVAL,
	         false, false},
		{STATUS("R (running)", "7\t7\t7\t7", "", "0", "4"), -EINVAL,
	         false, false},
		{"", -EINVAL, false, false},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct java_status s = {0};

		ck_assert_int_eq(java_parse_status(rows[i].text, &s),
		                 rows[i].error);
		ck_assert_int_eq(s.takes_quit, rows[i].takes);
		ck_assert_int_eq(s.stopped, rows[i].stopped);
		if (!rows[i].error)
			ck_assert_int_eq(s.inner, 3);
	}
}
END

TEST(a_jvm_is_known_by_its_library)
{
	const struct {
		const char *maps;
		bool is;
	} rows[] = {
		{"1-2 r-xp 0 00:00 1 /jdk/lib/server/libjvm.so\n", true},
		{"1-2 r-xp 0 00:00 1 /jdk/libjvm.so (deleted)\n", true},
		{"1-2 r-xp 0 00:00 1 /jdk/libjvm.so.debug\n", false},
		{"1-2 r-xp 0 00:00 1 /jdk/libjvm.so.1\n"
	         "1-2 r-xp 0 00:00 1 /jdk/libjvm.so",
	         true},
		{"1-2 r-xp 0 00:00 1 /jdk/libjvm.so\n"
	         "1-2 r-xp 0 00:00 1 /jdk/libj9vm29.so\n",
	         false},
		{"", false},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		ck_assert_int_eq(java_is_hotspot(rows[i].maps), rows[i].is);
}
END

TEST(an_option_refuses_for_the_program)
{
	const char line[] = "java\0-XX:+DisableAttachMechanism\0Main";

	ck_assert(java_refuses(line, sizeof(line)));
	ck_assert(!java_refuses(line, 20));
	ck_assert(!java_refuses(NULL, 0));
}
END

SUITE("java");
