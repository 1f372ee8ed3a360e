/* Rates that the opener sets in a program and restores. The program is a child
 * of this one, with the same variables. */
#include "base/file.h"
#include "lib/test.h"
#include "worker/opener/opener_rates.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLIENT  7 /* a descriptor, which names the client */
#define LONG_MS 600000

static uint64_t rate_unset, rate_other;
static uint64_t rate_set = 3;

static void (*before_rest)(void); /* run first by the child, or NULL */

struct rig {
	char dir[64];
	struct conf conf;
	struct rates rates;
	struct grants grants;
	pid_t child;
};

static void
rig_init(struct rig *r)
{
	*r = (struct rig){.dir = "/tmp/stoker-test.XXXXXX"};
	ck_assert_ptr_nonnull(mkdtemp(r->dir));
	r->conf.worker_state_dir = r->dir;
	rates_open(&r->rates, &r->conf);
	ck_assert_int_ge(r->rates.journal, 0);
	r->child = fork();
	ck_assert_int_ge(r->child, 0);
	if (!r->child) {
		if (before_rest)
			before_rest();
		for (;;)
			pause();
	}
}

static void
rig_done(struct rig *r)
{
	char path[128];

	kill(r->child, SIGKILL);
	waitpid(r->child, NULL, 0);
	rates_done(&r->rates);
	snprintf(path, sizeof(path), "%s/%s", r->dir, RATES_JOURNAL);
	unlink(path);
	rmdir(r->dir);
}
#define CLEANUP_RIG CLEANUP(rig_done)

static void
grant(struct rig *r)
{
	struct msg_may m = {.type = MSG_MAY,
	                    .npids = 1,
	                    .duration_ms = 1000,
	                    .what = WORKER_MAY_SET,
	                    .processes = {{.pid = r->child}}};

	grants_add(&r->grants, &m);
}

/* Acts as a kill does: the kernel releases the lock, and nothing is restored.
 */
static void
die(struct rates *r)
{
	flock(r->journal, LOCK_UN); /* the child inherited it */
	close_ptr(&r->journal);
}

static int
write_at(struct rig *r, uint64_t address, uint64_t value)
{
	struct host_ask ask = {.op = HOST_RATE,
	                       .pid = r->child,
	                       .address = address,
	                       .period_ns = value};

	return rates_write(&r->rates, &r->grants, CLIENT, &ask);
}

static int
keep_at(struct rig *r, uint64_t address, uint32_t keep)
{
	struct host_ask ask = {.op = HOST_RATE,
	                       .pid = r->child,
	                       .address = address,
	                       .period_ns = 5,
	                       .count = keep};

	return rates_write(&r->rates, &r->grants, CLIENT, &ask);
}

static void
may(struct rig *r, enum worker_may what, uint64_t duration_ms)
{
	struct msg_may m = {.type = MSG_MAY,
	                    .npids = 1,
	                    .duration_ms = duration_ms,
	                    .what = what,
	                    .processes = {{.pid = r->child}}};

	grants_add(&r->grants, &m);
}

static uint64_t
child_word(const struct rig *r, void *at, uint64_t *set)
{
	uint64_t v = set ? *set : 0;
	struct iovec mine = {&v, sizeof(v)}, theirs = {at, sizeof(v)};

	ck_assert_int_eq(
		set ? process_vm_writev(r->child, &mine, 1, &theirs, 1, 0)
		    : process_vm_readv(r->child, &mine, 1, &theirs, 1, 0),
		sizeof(v));
	return v;
}

TEST(without_a_grant_nothing_is_written)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r);
	ck_assert_int_eq(write_at(&r, (uintptr_t)&rate_unset, 5), -EPERM);
	grant(&r);
	close_ptr(&r.rates.journal);
	/* nor if there is no journal */
	ck_assert_int_eq(write_at(&r, (uintptr_t)&rate_unset, 5), -EPERM);
	ck_assert_uint_eq(child_word(&r, &rate_unset, NULL), 0);
}
END

TEST(a_grant_is_of_one_process_and_one_thing)
{
	CLEANUP_RIG struct rig r;
	uint64_t start, other;

	rig_init(&r);
	may(&r, WORKER_MAY_SET, LONG_MS);
	start = proc_start_time(r.child);
	other = proc_start_time(getpid());
	ck_assert(grants_has(&r.grants, WORKER_MAY_SET, r.child, start));
	/* a later process with the same pid */
	ck_assert(!grants_has(&r.grants, WORKER_MAY_SET, r.child, start + 1));
	/* another process that started in the same tick */
	ck_assert(!grants_has(&r.grants, WORKER_MAY_SET, getpid(), start));
	ck_assert(!grants_has(&r.grants, WORKER_MAY_SET, getpid(), other));
	ck_assert(
		!grants_has(&r.grants, WORKER_MAY_KEEP_BLOCK, r.child, start));
}
END

/* Grants of processes that live at the same time do not end each other. */
TEST(a_grant_of_a_number_used_again_is_another)
{
	CLEANUP_RIG struct rig r;
	uint64_t start;

	rig_init(&r);
	may(&r, WORKER_MAY_KEEP_BLOCK, LONG_MS);
	start = proc_start_time(r.child);
	r.grants.rows[0].start_time--; /* as if of an earlier process */
	may(&r, WORKER_MAY_KEEP_BLOCK, 0);
	ck_assert(grants_has(&r.grants, WORKER_MAY_KEEP_BLOCK, r.child,
	                     start - 1));
	ck_assert(
		!grants_has(&r.grants, WORKER_MAY_KEEP_BLOCK, r.child, start));
}
END

TEST(rates_go_into_variables_of_the_program_only)
{
	CLEANUP_RIG struct rig r;
	uint64_t local = 0, *heap = calloc(1, sizeof(*heap));
	const struct {
		uintptr_t at;
		uint64_t value;
	} rows[] = {
		{(uintptr_t)&local, 5},          /* a stack */
		{(uintptr_t)heap, 5},            /* not its file's */
		{(uintptr_t)&write_at & ~7u, 5}, /* code */
		{(uintptr_t)stdout & ~7u, 5},    /* a library's */
		{0, 5},
		{UINTPTR_MAX & ~7u, 5},
		{(uintptr_t)&rate_unset + 4, 5},
		{(uintptr_t)&rate_unset, 0},
		{(uintptr_t)&rate_unset, RATES_MAX_RATE + 1},
	};

	rig_init(&r);
	grant(&r);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		ck_assert_msg(write_at(&r, rows[i].at, rows[i].value) ==
		                      -EINVAL,
		              "row %zu", i);
	free(heap);
}
END

TEST(what_the_program_set_itself_stays)
{
	CLEANUP_RIG struct rig r;
	uint64_t own = 9;

	rig_init(&r);
	grant(&r);
	ck_assert_int_eq(write_at(&r, (uintptr_t)&rate_set, 5), -EALREADY);
	ck_assert_uint_eq(child_word(&r, &rate_set, NULL), 3);
	ck_assert_int_eq(write_at(&r, (uintptr_t)&rate_unset, 5), 0);
	child_word(&r, &rate_unset, &own); /* meanwhile */
	rates_leave(&r.rates, &r.grants, CLIENT);
	ck_assert_uint_eq(child_word(&r, &rate_unset, NULL), 9);
}
END

TEST(a_rate_of_a_process_that_had_the_number_before_is_another)
{
	CLEANUP_RIG struct rig r;
	uint64_t none = 0;

	rig_init(&r);
	grant(&r);
	ck_assert_int_eq(write_at(&r, (uintptr_t)&rate_unset, 5), 0);
	ck_assert_int_eq(write_at(&r, (uintptr_t)&rate_unset, 5), -EALREADY);
	r.rates.rows[0].start_time--; /* as if of an earlier process */
	child_word(&r, &rate_unset, &none);
	ck_assert_int_eq(write_at(&r, (uintptr_t)&rate_unset, 5), 0);
	ck_assert_uint_eq(child_word(&r, &rate_unset, NULL), 5);
}
END

TEST(a_rate_is_taken_back_when_its_client_is_gone)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r);
	grant(&r);
	ck_assert_int_eq(write_at(&r, (uintptr_t)&rate_unset, 5), 0);
	ck_assert_uint_eq(child_word(&r, &rate_unset, NULL), 5);
	rates_leave(&r.rates, &r.grants, CLIENT + 1);
	ck_assert_uint_eq(child_word(&r, &rate_unset, NULL), 5);
	rates_leave(&r.rates, &r.grants, CLIENT);
	ck_assert_uint_eq(child_word(&r, &rate_unset, NULL), 0);
}
END

TEST(the_next_opener_takes_back_what_a_killed_one_left)
{
	CLEANUP_RIG struct rig r;
	struct rates other;

	rig_init(&r);
	grant(&r);
	ck_assert_int_eq(write_at(&r, (uintptr_t)&rate_unset, 5), 0);
	ck_assert_int_eq(write_at(&r, (uintptr_t)&rate_other, 5), 0);
	rates_open(&other, &r.conf);
	ck_assert_int_eq(other.journal, -1); /* this one lives */
	ck_assert_uint_eq(child_word(&r, &rate_unset, NULL), 5);
	die(&r.rates);
	rates_open(&r.rates, &r.conf);
	ck_assert_int_ge(r.rates.journal, 0);
	ck_assert_uint_eq(child_word(&r, &rate_unset, NULL), 0);
	ck_assert_uint_eq(child_word(&r, &rate_other, NULL), 0);
}
END

/* The journal names a process that has ended, and its pid was reused. */
TEST(the_next_opener_leaves_a_later_process_as_it_is)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r);
	grant(&r);
	ck_assert_int_eq(write_at(&r, (uintptr_t)&rate_unset, 5), 0);
	r.rates.rows[0].start_time--;
	ck_assert_int_eq(pwrite(r.rates.journal, &r.rates.rows[0],
	                        sizeof(r.rates.rows[0]), 0),
	                 sizeof(r.rates.rows[0]));
	die(&r.rates);
	rates_open(&r.rates, &r.conf);
	ck_assert_int_ge(r.rates.journal, 0);
	ck_assert_uint_eq(child_word(&r, &rate_unset, NULL), 5);
}
END

/* States of a file in which another user could have written its rows. */
static void
own_by_another(const char *dir, const char *path)
{
	(void)dir;
	ck_assert_int_eq(chown(path, 65534, 65534), 0);
}

static void
directory_of_another(const char *dir, const char *path)
{
	(void)path;
	ck_assert_int_eq(chown(dir, 65534, 65534), 0);
}

static void
open_to_all(const char *dir, const char *path)
{
	(void)dir;
	ck_assert_int_eq(chmod(path, 0602), 0);
}

static void
open_to_the_group(const char *dir, const char *path)
{
	(void)dir;
	ck_assert_int_eq(chmod(path, 0620), 0);
}

static void
directory_open_to_all(const char *dir, const char *path)
{
	(void)path;
	ck_assert_int_eq(chmod(dir, 01777), 0);
}

static void
linked_elsewhere(const char *dir, const char *path)
{
	char other[256];

	snprintf(other, sizeof(other), "%s/other", dir);
	ck_assert_int_eq(link(path, other), 0);
}

static void
a_link_to_it(const char *dir, const char *path)
{
	char other[256];

	snprintf(other, sizeof(other), "%s/other", dir);
	ck_assert_int_eq(rename(path, other), 0);
	ck_assert_int_eq(symlink(other, path), 0);
}

static const struct {
	void (*change)(const char *dir, const char *path);
	bool as_root;
} forged[] = {
	{own_by_another, true},    {directory_of_another, true},
	{open_to_all, false},      {open_to_the_group, false},
	{linked_elsewhere, false}, {directory_open_to_all, false},
	{a_link_to_it, false},
};

TEST(a_journal_that_others_may_have_written_is_not_obeyed)
{
	for (size_t i = 0; i < ARRAY_LEN(forged); i++) {
		CLEANUP_RIG struct rig r;
		char path[128], other[256];

		if (forged[i].as_root && geteuid() != 0)
			continue;
		rig_init(&r);
		grant(&r);
		ck_assert_int_eq(write_at(&r, (uintptr_t)&rate_unset, 5), 0);
		die(&r.rates);
		snprintf(path, sizeof(path), "%s/" RATES_JOURNAL, r.dir);
		snprintf(other, sizeof(other), "%s/other", r.dir);
		forged[i].change(r.dir, path);
		rates_open(&r.rates, &r.conf);
		ck_assert_msg(r.rates.journal == -1, "row %zu", i);
		ck_assert_msg(child_word(&r, &rate_unset, NULL) == 5, "row %zu",
		              i);
		unlink(other);
	}
}
END

TEST(a_journal_of_nonsense_is_passed_over)
{
	CLEANUP_RIG struct rig r;
	unsigned char noise[4096];

	rig_init(&r);
	memset(noise, 0xa5, sizeof(noise));
	ck_assert_int_eq(pwrite(r.rates.journal, noise, sizeof(noise), 0),
	                 sizeof(noise));
	die(&r.rates);
	rates_open(&r.rates, &r.conf);
	ck_assert_int_ge(r.rates.journal, 0);
	ck_assert_int_eq(lseek(r.rates.journal, 0, SEEK_END), 0);
}
END

TEST(a_rate_that_is_kept_outlives_its_client)
{
	CLEANUP_RIG struct rig r;
	uintptr_t at = (uintptr_t)&rate_unset;

	rig_init(&r);
	grant(&r);
	ck_assert_int_eq(keep_at(&r, at, HOST_KEEP_BLOCK), -EPERM);
	may(&r, WORKER_MAY_KEEP_BLOCK, LONG_MS);
	ck_assert_int_eq(keep_at(&r, at, HOST_KEEP_MUTEX), -EPERM);
	ck_assert_int_eq(keep_at(&r, at, HOST_KEEP_BLOCK), 0);
	ck_assert_int_eq(keep_at(&r, at, HOST_KEEP_BLOCK), 0); /* again */
	rates_leave(&r.rates, &r.grants, CLIENT);
	rates_lapse(&r.rates, &r.grants);
	ck_assert_uint_eq(child_word(&r, &rate_unset, NULL), 5);
	ck_assert_int_ge(rates_wait(&r.rates, &r.grants), 0);

	may(&r, WORKER_MAY_KEEP_MUTEX, 0); /* for another type */
	rates_lapse(&r.rates, &r.grants);
	ck_assert_uint_eq(child_word(&r, &rate_unset, NULL), 5);
	may(&r, WORKER_MAY_KEEP_BLOCK, 0);
	rates_lapse(&r.rates, &r.grants);
	ck_assert_uint_eq(child_word(&r, &rate_unset, NULL), 0);
	ck_assert_int_eq(rates_wait(&r.rates, &r.grants), -1);
}
END

/* Nobody may be left to end it. */
TEST(what_is_not_said_again_lapses)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r);
	may(&r, WORKER_MAY_KEEP_MUTEX, LONG_MS);
	ck_assert_int_eq(keep_at(&r, (uintptr_t)&rate_unset, HOST_KEEP_MUTEX),
	                 0);
	for (size_t i = 0; i < GRANTS_MAX; i++)
		r.grants.rows[i].until_ns = 0;
	rates_lapse(&r.rates, &r.grants);
	ck_assert_uint_eq(child_word(&r, &rate_unset, NULL), 0);
}
END

/* The client of two that set the rate first, and the one that stops first. */
static const struct {
	bool client_first, client_ends_first;
} both[] = {{false, false}, {false, true}, {true, false}, {true, true}};

TEST(a_rate_stays_while_either_wants_it)
{
	for (size_t i = 0; i < ARRAY_LEN(both); i++) {
		CLEANUP_RIG struct rig r;
		uintptr_t at = (uintptr_t)&rate_unset;

		rig_init(&r);
		grant(&r);
		may(&r, WORKER_MAY_KEEP_BLOCK, LONG_MS);
		for (int k = 0; k < 2; k++)
			ck_assert_int_eq(
				(k == 0) == both[i].client_first
					? write_at(&r, at, 5)
					: keep_at(&r, at, HOST_KEEP_BLOCK),
				0);
		for (int k = 0; k < 2; k++) {
			ck_assert_uint_eq(child_word(&r, &rate_unset, NULL), 5);
			if ((k == 0) == both[i].client_ends_first)
				rates_leave(&r.rates, &r.grants, CLIENT);
			else
				may(&r, WORKER_MAY_KEEP_BLOCK, 0);
			rates_lapse(&r.rates, &r.grants);
		}
		ck_assert_uint_eq(child_word(&r, &rate_unset, NULL), 0);
	}
}
END

TEST(what_the_program_set_itself_is_not_kept)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r);
	may(&r, WORKER_MAY_KEEP_BLOCK, LONG_MS);
	ck_assert_int_eq(keep_at(&r, (uintptr_t)&rate_set, HOST_KEEP_BLOCK),
	                 -EALREADY);
	may(&r, WORKER_MAY_KEEP_BLOCK, 0);
	rates_lapse(&r.rates, &r.grants);
	ck_assert_uint_eq(child_word(&r, &rate_set, NULL), 3);
}
END

TEST(the_next_opener_takes_back_what_was_kept)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r);
	may(&r, WORKER_MAY_KEEP_BLOCK, LONG_MS);
	ck_assert_int_eq(keep_at(&r, (uintptr_t)&rate_unset, HOST_KEEP_BLOCK),
	                 0);
	die(&r.rates);
	rates_open(&r.rates, &r.conf);
	ck_assert_uint_eq(child_word(&r, &rate_unset, NULL), 0);
}
END

/* A page of variables that was never touched, and never arrives. */
static uint64_t withheld[1024] __attribute__((aligned(4096)));

static void
withhold(void)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {
		.range = {(uintptr_t)withheld, sizeof(withheld)},
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) ||
	    ioctl(fd, UFFDIO_REGISTER, &range))
		_exit(errno);
	raise(SIGSTOP); /* the parent waits for this */
}

TEST(a_variable_whose_page_never_arrives_is_given_up)
{
	CLEANUP_RIG struct rig r;
	int status;

	before_rest = withhold;
	rig_init(&r);
	ck_assert_int_eq(waitpid(r.child, &status, WUNTRACED), r.child);
	if (WIFEXITED(status))
		SKIP("the kernel refuses userfaultfd to this user");
	grant(&r);
	ck_assert_int_eq(write_at(&r, (uintptr_t)&withheld[600], 5),
	                 -ETIMEDOUT);
	/* other variables can still be set */
	ck_assert_int_eq(write_at(&r, (uintptr_t)&rate_unset, 5), 0);
}
END

SUITE("rates");
