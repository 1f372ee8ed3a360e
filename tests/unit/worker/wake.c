#include "worker/scheduler/wake.h"

#include "lib/store.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>

#define ROUNDS  100
#define WAIT_MS 5000 /* far more than a commit takes */

static bool
comes(int fd, int ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, ms) > 0;
}

TEST(other_files_wake_nobody)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_FD int fd = -1, other = -1;
	char path[128];

	ck_assert_int_eq(wake_open(t.dir, &fd), 0);
	ck_assert(!wake_drain(fd));
	snprintf(path, sizeof(path), "%s/else", t.dir);
	other = open(path, O_CREAT | O_WRONLY, 0600);
	ck_assert(comes(fd, WAIT_MS));
	ck_assert(!wake_drain(fd));
}
END

/* Takes every job, with nothing to go by but the wakes. */
static void
claim_on_wakes(const struct test_store *t, int say)
{
	struct store s = test_store_again(t, true);
	int fd;

	if (wake_open(t->dir, &fd) || write(say, "", 1) != 1)
		_exit(1);
	for (int n = 0; n < ROUNDS;) {
		struct job j;

		if (!comes(fd, WAIT_MS))
			_exit(2); /* a wake came too early, or never */
		(void)wake_drain(fd);
		while (!job_claim(&s, TEST_HOST, TEST_LEASE_MS, &j)) {
			job_done(&j);
			if (write(say, "", 1) != 1)
				_exit(1);
			n++;
		}
	}
	_exit(0);
}

TEST(whoever_wakes_sees_what_woke_him)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	int status, heard[2];
	char c, id[ID_MAX];
	pid_t child;

	ck_assert_int_eq(pipe2(heard, O_CLOEXEC), 0);
	store_close(&t.s);
	child = fork();
	if (!child)
		claim_on_wakes(&t, heard[1]);
	close(heard[1]);
	t.s = test_store_again(&t, false);
	ck_assert_int_eq(read(heard[0], &c, 1), 1); /* it watches */
	for (int i = 0; i < ROUNDS; i++) {
		test_enqueue(&t.s, i, id);
		ck_assert_int_eq(read(heard[0], &c, 1), 1);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	close(heard[0]);
}
END

SUITE_TIMEOUT("wake", 120, other_files_wake_nobody,
              whoever_wakes_sees_what_woke_him)
