/* The children that read files of other tools die, hang and run out of memory
 * in a real pool. */
#include "base/clock.h"
#include "base/file.h"
#include "lib/api.h"
#include "lib/api_short.h"
#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define UPLOAD "/api/v1/profiling/sessions?service=" TEST_SERVICE "&type=cpu"
#define PUSH   "/ingest?name=pushed&format=folded"
#define LARGE  ((size_t)3 << 20) /* more than a light call may inflate to */

/* Returns a child of a process that has the name, other than those in seen[];
 * 0: none. */
static pid_t
child_named(pid_t of, const char *name, const pid_t *seen, int nseen)
{
	char path[64], comm[32];
	pid_t child, found = 0;
	FILE *f, *g;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)of,
	         (int)of);
	f = fopen(path, "r");
	while (f && !found && fscanf(f, "%d", &child) == 1) {
		snprintf(path, sizeof(path), "/proc/%d/comm", (int)child);
		g = fopen(path, "r");
		if (g && fscanf(g, "%31s", comm) == 1 && !strcmp(comm, name))
			found = child;
		if (g)
			fclose(g);
		for (int i = 0; i < nseen; i++)
			found = seen[i] == found ? 0 : found;
	}
	if (f)
		fclose(f);
	return found;
}

static pid_t
forker_of(pid_t api)
{
	pid_t found;

	while (!(found = child_named(api, "stoker-forker", NULL, 0)))
		poll(NULL, 0, 1);
	return found;
}

/* Finds an importer that is not in seen[], and waits for one to appear if
 * asked to. */
static pid_t
importer_of(const struct test_api *a, const pid_t *seen, int nseen, bool wait)
{
	int64_t end_ns = clock_mono_ns() + 20 * NS_PER_S;

	do {
		for (int i = 0; i < a->n; i++) {
			pid_t found = child_named(forker_of(a->pids[i]),
			                          "stoker-import", seen, nseen);

			if (found)
				return found;
		}
		poll(NULL, 0, 1);
	} while (wait && clock_mono_ns() < end_ns);
	ck_assert_msg(!wait, "no importer appears");
	return 0;
}

static void
put_stacks(struct buf *out, size_t bytes)
{
	for (unsigned i = 0; out->len < bytes; i++)
		buf_addf(out, "main;handle_%u;work_%u 1\n", i % 700, i);
}

/* Uploads in another process, which exits with 0 for the expected reply. */
static pid_t
upload_apart(struct test_api *a, const struct buf *file, int status,
             const char *says)
{
	pid_t pid = fork();

	if (!pid) {
		CLEANUP_REPLY struct client_reply r =
			api_send(a, UPLOAD, "text/plain", file->p, file->len);
		bool as = r.status == status && strstr(buf_str(&r.body), says);

		if (!as)
			fprintf(stderr, "%d %s\n", r.status, buf_str(&r.body));
		_exit(!as);
	}
	return pid;
}

static void
succeeds(struct test_api *a, const char *path, const void *p, size_t n,
         int status)
{
	CLEANUP_REPLY struct client_reply r =
		api_send(a, path, "text/plain", p, n);

	ck_assert_msg(r.status == status, "%d: %s", r.status, buf_str(&r.body));
}

static void
ended_well(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

static const struct {
	int signal;
	const char *says;
} ends[] = {
	{SIGKILL, "ImportCrashed"},
	{SIGSEGV, "ImportCrashed"},
	{SIGSTOP, "ImportTooSlow"}, /* as a reader that never ends */
};

TEST(a_file_that_ends_its_reader_costs_one_upload_and_nobody_waits)
{
	CLEANUP_API struct test_api a = test_api(2, "request_time = 3s\n");
	CLEANUP_BUF struct buf file = BUF_INIT(LARGE * 2);

	put_stacks(&file, LARGE);
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		pid_t seen[API_MAX_POOL], client, importer;
		int n = 0;

		while ((seen[n] = importer_of(&a, seen, n, false)))
			n++;
		client = upload_apart(&a, &file, 422, ends[i].says);
		importer = importer_of(&a, seen, n, true);
		ck_assert_int_eq(kill(importer, SIGSTOP), 0);
		succeeds(&a, PUSH, "a;b 3\n", 6, 200);
		ck_assert_int_eq(kill(importer, ends[i].signal), 0);
		if (ends[i].signal == SIGSEGV)
			ck_assert_int_eq(kill(importer, SIGCONT), 0);
		ended_well(client);
	}
	for (int i = 0; i < a.n; i++) /* no process of the pool has ended */
		ck_assert_int_eq(waitpid(a.pids[i], NULL, WNOHANG), 0);
	succeeds(&a, UPLOAD, "a;b 3\n", 6, 201);
}
END

/* Kills a process, and waits until it has closed its files and is a zombie of
 * its parent. */
static void
kill_off(pid_t pid)
{
	char path[64], state = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	while (state != 'Z') {
		FILE *f = fopen(path, "r");

		if (!f || fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
			state = 'Z';
		if (f)
			fclose(f);
	}
}

/* True if bytes wait in a socket of a process. */
static bool
bytes_wait(pid_t pid)
{
	int pidfd = pidfd_open(pid, 0), unread = 0;

	for (int fd = 3; fd < 64 && unread <= 0; fd++) {
		int copy = pidfd_getfd(pidfd, fd, 0);

		if (copy < 0 || ioctl(copy, FIONREAD, &unread))
			unread = 0;
		if (copy >= 0)
			close(copy);
	}
	close(pidfd);
	return unread > 0;
}

TEST(a_reader_that_died_between_two_pushes_is_replaced)
{
	CLEANUP_API struct test_api a = test_api(1, "");

	succeeds(&a, PUSH, "a;b 3\n", 6, 200);
	kill_off(importer_of(&a, NULL, 0, true));
	succeeds(&a, PUSH, "a;b 3\n", 6, 200);
}
END

/* The bytes wait in the socket of the dead reader, which nobody has read. */
TEST(a_push_whose_reader_was_killed_before_it_read_is_read_by_another)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_SMALL);
	pid_t importer, client;

	put_stacks(&file, 1000);
	succeeds(&a, UPLOAD, "a;b 3\n", 6, 201);
	importer = importer_of(&a, NULL, 0, true);
	ck_assert_int_eq(kill(importer, SIGSTOP), 0);
	client = upload_apart(&a, &file, 201, "");
	while (!bytes_wait(importer))
		poll(NULL, 0, 1);
	ck_assert_int_eq(kill(importer, SIGKILL), 0);
	ended_well(client);
}
END

static void
answers_with(struct test_api *a, const char *lack)
{
	CLEANUP_REPLY struct client_reply r = {0}, ready = {0}, all = {0};

	for (int i = 0; i < 2; i++) { /* the process keeps working */
		client_reply_done(&r);
		r = api_send(a, UPLOAD, "text/plain", "a;b 3\n", 6);
		assert_error(&r, 503, "ImportersUnavailable");
		ck_assert_msg(strstr(reply_detail(&r, "lack"), lack) &&
		                      strstr(reply_text(&r, "message"), lack),
		              "%s", buf_str(&r.body));
		ck_assert_msg(strstr(reply_detail(&r, "fix"), "stoker-api"),
		              "%s", buf_str(&r.body));
	}
	ready = ask(a, (struct ask){.path = "/readyz"});
	ck_assert_int_eq(ready.status, 200);
	ck_assert_msg(strstr(reply_text(&ready, "importers"), lack), "%s",
	              buf_str(&ready.body));
	all = api_get(a, "/api/v1/checks");
	ck_assert_str_eq(text_of(item_of(&all, "items", 2), "check"),
	                 "importers");
	ck_assert_str_eq(text_of(item_of(&all, "items", 2), "verdict"),
	                 "broken");
	ck_assert_str_eq(text_of(item_of(&all, "items", 2), "fix"),
	                 reply_detail(&r, "fix"));
}

/* Makes system calls fail for good: each of calls[] with err, if its first
 * argument is this one; -1: with any argument. */
static void
refuse(const int *calls, size_t n, int err, int64_t argument)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int rc = ctx ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !rc; i++)
		rc = argument < 0
		             ? seccomp_rule_add(ctx,
		                                SCMP_ACT_ERRNO((unsigned)err),
		                                calls[i], 0)
		             : seccomp_rule_add(
				       ctx, SCMP_ACT_ERRNO((unsigned)err),
				       calls[i], 1,
				       SCMP_A0(SCMP_CMP_EQ,
		                               (scmp_datum_t)argument));
	rc = rc ?: seccomp_load(ctx);
	seccomp_release(ctx);
	if (rc)
		_exit(1);
}

/* As in a container whose profile knows no seccomp(2). */
static void
without_seccomp(void)
{
	refuse((int[]){SCMP_SYS(seccomp)}, 1, EPERM, -1);
}

static void
without_filters(void)
{
	refuse((int[]){SCMP_SYS(prctl)}, 1, EINVAL, PR_SET_SECCOMP);
}

/* As in a unit with as many tasks as TasksMax= allows. */
static void
without_forks(void)
{
	refuse((int[]){SCMP_SYS(clone), SCMP_SYS(clone3), SCMP_SYS(fork),
	               SCMP_SYS(vfork)},
	       4, EAGAIN, -1);
}

static void
without_capset(void)
{
	refuse((int[]){SCMP_SYS(capset), SCMP_SYS(close_range)}, 2, EPERM, -1);
}

TEST(a_process_that_cannot_start_readers_says_what_it_lacks)
{
	static const struct {
		const char *label;
		void (*enter)(void);
		const char *lack;
	} rows[] = {
		{"seccomp", without_seccomp, "system calls cannot be filtered"},
		{"filters", without_filters, "system calls cannot be filtered"},
		{"forks", without_forks,
	         "no process can be forked: Resource temporarily unavailable"},
		{"rights", without_capset,
	         "rights cannot be given up: Operation not permitted"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_API struct test_api a =
			test_api_in(1, "", rows[i].enter);
		CLEANUP_BUF struct buf log = BUF_INIT(1 << 20);
		char path[120];

		answers_with(&a, rows[i].lack);
		snprintf(path, sizeof(path), "%s/api.log", a.store.dir);
		ck_assert_int_eq(file_read(AT_FDCWD, path, &log), 0);
		ck_assert_msg(strstr(buf_str(&log), rows[i].lack), "%s: %s",
		              rows[i].label, buf_str(&log));
	}
}
END

TEST(readers_that_get_no_memory_are_a_lack_and_no_crash)
{
	static const struct rlimit none = {4 << 20, 4 << 20};
	CLEANUP_API struct test_api a = test_api(1, "");

	ck_assert_int_eq(
		prlimit(forker_of(a.pids[0]), RLIMIT_DATA, &none, NULL), 0);
	answers_with(&a, "there is no memory for them");
}
END

TEST(a_file_that_needs_too_much_memory_is_refused_and_the_process_lives)
{
	CLEANUP_API struct test_api a = test_api(1, "request_memory = 16M\n");
	CLEANUP_BUF struct buf file = BUF_INIT(LARGE * 2);
	CLEANUP_REPLY struct client_reply r = {0};

	put_stacks(&file, LARGE);
	r = api_send(&a, UPLOAD, "text/plain", file.p, file.len);
	ck_assert_msg(r.status == 422 &&
	                      strstr(buf_str(&r.body), "RequestTooExpensive"),
	              "%d: %s", r.status, buf_str(&r.body));
	succeeds(&a, UPLOAD, "a;b 3\n", 6, 201);
	ck_assert_int_eq(waitpid(a.pids[0], NULL, WNOHANG), 0);
}
END

TEST(a_process_without_its_forker_answers_and_ends)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};

	ck_assert_int_eq(kill(forker_of(a.pids[0]), SIGKILL), 0);
	r = api_send(&a, PUSH, "text/plain", "a;b 3\n", 6);
	assert_error(&r, 503, "ImportersUnavailable");
	ck_assert_int_eq(test_api_wait(&a, 0), 0);
}
END

SUITE("importers", .seconds = 60);
