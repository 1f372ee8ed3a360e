/* The file systems that the opener trusts to answer at all times. The mounts
 * are real. */
#include "worker/opener/opener_local.h"
#include "lib/store.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const folders[] = {"low", "empty", "over", "a,b", "twice"};

struct rig {
	struct test_store store; /* for its folder, */
	char below[256];         /* with a slash at the end */
};
#define CLEANUP_RIG CLEANUP(rig_done)

/* Mounts in a namespace that belongs to the test alone. */
static void
rig_init(struct rig *r)
{
	*r = (struct rig){.store = test_store()};
	snprintf(r->below, sizeof(r->below), "%s/", r->store.dir);
	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL),
	                 0);
	ck_assert_int_eq(chdir(r->store.dir), 0);
	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		ck_assert_int_eq(mkdir(folders[i], 0755), 0);
	close(open("low/file", O_CREAT | O_WRONLY, 0644));
	close(open("a,b/file", O_CREAT | O_WRONLY, 0644));
}

static void
rig_done(struct rig *r)
{
	umount2("twice", MNT_DETACH);
	umount2("over", MNT_DETACH);
	ck_assert_int_eq(chdir("/"), 0);
	test_store_done(&r->store);
}

#define RIG(r)                                                \
	if (geteuid())                                        \
		SKIP("only root mounts what others may use"); \
	CLEANUP_RIG struct rig r;                             \
	rig_init(&r)

/* Mounts an overlay; below is the folder with its layers. */
static void
put_overlay(const char *at, const char *below, const char *low,
            const char *more)
{
	char text[512];

	snprintf(text, sizeof(text), "lowerdir=%s%s:%sempty%s", below, low,
	         below, more);
	ck_assert_msg(!mount("none", at, "overlay", 0, text), "%s: %m", text);
}

static bool
is_local(const char *path, int32_t pid)
{
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);

	ck_assert_msg(fd >= 0, "%s: %m", path);
	return opener_is_local(fd, pid);
}

TEST(files_of_disks_are_local_and_those_that_the_kernel_makes_are_not)
{
	RIG(r);

	ck_assert(is_local("low/file", getpid()));
	ck_assert(!is_local("/proc/self/maps", getpid()));
}
END

TEST(an_overlay_that_the_host_mounted_over_disks_is_local)
{
	RIG(r);

	put_overlay("over", r.below, "low", "");
	ck_assert(is_local("over/file", getpid()));
}
END

/* Overlays are trusted if their layers are. */
static const struct {
	const char *label, *at, *low;
	bool relative;
} unknown[] = {
	{"a relative path", "over", "low", true},
	{"an escaped path", "over", "a\\,b", false},
	{"an overlay", "twice", "over", false},
};

TEST(an_overlay_whose_layers_are_not_known_is_not_local)
{
	RIG(r);

	for (size_t i = 0; i < ARRAY_LEN(unknown); i++) {
		char path[64];

		if (!strcmp(unknown[i].at, "twice"))
			put_overlay("over", r.below, "low", "");
		put_overlay(unknown[i].at, unknown[i].relative ? "" : r.below,
		            unknown[i].low, "");
		snprintf(path, sizeof(path), "%s/file", unknown[i].at);
		ck_assert_msg(!is_local(path, getpid()), "%s",
		              unknown[i].label);
		ck_assert_int_eq(umount2(unknown[i].at, MNT_DETACH), 0);
	}
}
END

static void
put_text(const char *path, const char *text)
{
	CLEANUP_FD int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		_exit(1);
}

/* Makes a process in a separate user namespace, with an overlay in it. */
static void
be_user(const struct rig *r, int ready)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		_exit(1);
	put_text("/proc/self/setgroups", "deny");
	put_text("/proc/self/gid_map", "0 0 1");
	put_text("/proc/self/uid_map", "0 0 1");
	put_overlay("over", r->below, "low", ",userxattr");
	if (write(ready, "", 1) == 1)
		pause();
	_exit(1);
}

TEST(an_overlay_of_a_user_namespace_is_not_local)
{
	char path[512], c;
	int ready[2];
	pid_t pid;
	RIG(r);

	ck_assert_int_eq(pipe(ready), 0);
	pid = fork();
	if (!pid)
		be_user(&r, ready[1]);
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1)
		SKIP("no user namespaces here");
	snprintf(path, sizeof(path), "/proc/%d/root%sover/file", (int)pid,
	         r.below);
	ck_assert(!is_local(path, pid));
	snprintf(path, sizeof(path), "/proc/%d/root%slow/file", (int)pid,
	         r.below);
	ck_assert(is_local(path, pid));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
END

SUITE("opener_local");
