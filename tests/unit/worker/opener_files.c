/* Files and memory that the opener hands out; this process is the target. */
#include "base/file.h"
#include "capture/quality.h"
#include "lib/store.h"
#include "worker/debuginfod/debug_cache.h"
#include "worker/opener/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ELF "\177ELF, and more"

struct rig {
	struct test_store store; /* for its folder */
	struct conf conf;
	struct opener opener;
};
#define CLEANUP_RIG CLEANUP(rig_done)

static void
rig_init(struct rig *r)
{
	*r = (struct rig){.store = test_store()};
	r->conf.worker_debug_dir = r->store.dir;
	r->conf.symbols_cache_dir = r->store.dir;
	r->conf.symbols_debuginfod = (char *)"";
	r->opener.conf = &r->conf;
}
#define RIG(r)                    \
	CLEANUP_RIG struct rig r; \
	rig_init(&r)

static void
rig_done(struct rig *r)
{
	test_store_done(&r->store);
}

static const char *
path_of(const struct rig *r, const char *name)
{
	static char out[2][512]; /* a link has two paths */
	static int turn;

	turn = !turn;
	snprintf(out[turn], sizeof(out[turn]), "%s/%s", r->store.dir, name);
	return out[turn];
}

static void
put(const struct rig *r, const char *name, const char *text)
{
	FILE *f = fopen(path_of(r, name), "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

static void
put_folder(const struct rig *r, const char *name)
{
	ck_assert_int_eq(mkdir(path_of(r, name), 0755), 0);
}

static void
put_link(const struct rig *r, const char *name, const char *to)
{
	ck_assert_int_eq(symlink(to, path_of(r, name)), 0);
}

typedef int
handler(struct opener *o, const struct host_ask *ask, struct answer *out);

/* Returns the answer's error, or, if there is none, its text up to the first
 * NUL. */
static int
answer(struct rig *r, handler *fn, const struct host_ask *ask, char *text,
       size_t n)
{
	struct answer a = {.nfds = 0};
	int rc = fn(&r->opener, ask, &a);

	ck_assert_uint_eq(a.nfds, rc ? 0 : 1);
	memset(text, 0, n);
	if (rc)
		return rc;
	ck_assert_int_ge(pread(a.fds[0], text, n - 1, 0), 0);
	close(a.fds[0]);
	return 0;
}

static int32_t
ended_pid(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	return pid;
}

/* --- settings ------------------------------------------------------------- */

/* Starts a program with these variables; it ends with this process. The kernel
 * shows them a moment after the descriptors of the test are closed. */
static pid_t
start_with(char *const env[])
{
	CLEANUP_BUF struct buf shown = BUF_INIT(BUF_MAX_SMALL);
	char path[64], c;
	int ready[2];
	pid_t pid;

	ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execve("/bin/sleep", (char *const[]){"sleep", "1000", NULL},
		       env);
		_exit(127);
	}
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &c, 1), 0);
	close(ready[0]);
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	while (!shown.len)
		ck_assert_int_eq(file_read(AT_FDCWD, path, &shown), 0);
	return pid;
}

TEST(a_setting_is_a_variable_that_a_program_began_with)
{
	static const struct {
		const char *before, *variable;
		bool set;
	} rows[] = {
		{"A=1", "PYTHONMALLOC=malloc", true},
		{"", "PYTHONMALLOC=malloc_debug", true},
		{"A=1", "PYTHONMALLOC=pymalloc", false},
		{"A=1", "PYTHONMALLOC=mallo", false},
		{"A=1", "XPYTHONMALLOC=malloc", false},
		{"A=PYTHONMALLOC=malloc", "B=2", false},
	};
	RIG(r);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct host_ask ask = {.op = HOST_SETTINGS};
		struct answer a = {.nfds = 0};

		ask.pid = start_with((char *const[]){(char *)rows[i].before,
		                                     (char *)rows[i].variable,
		                                     NULL});
		ck_assert_int_eq(read_settings(&r.opener, &ask, &a), 0);
		ck_assert_msg(a.reply.value == (uint32_t)rows[i].set
		                                       << QUALITY_HIDDEN_PYTHON,
		              "%s", rows[i].variable);
		kill(ask.pid, SIGKILL);
		waitpid(ask.pid, NULL, 0);
	}
}
END

/* --- debug files ---------------------------------------------------------- */

static int
debug_file(struct rig *r, const char *id, uint32_t size, const char *path)
{
	struct host_ask ask = {.op = HOST_DEBUG, .size = size};
	char text[64];
	int rc;

	memcpy(ask.build_id, id, strlen(id));
	snprintf(ask.path, sizeof(ask.path), "%s", path);
	rc = answer(r, open_debug, &ask, text, sizeof(text));
	if (!rc)
		ck_assert_str_eq(text, ELF);
	return rc;
}

TEST(the_hosts_debug_file_has_the_build_id_in_its_path)
{
	RIG(r);

	put_folder(&r, ".build-id");
	put_folder(&r, ".build-id/ab");
	put_folder(&r, ".build-id/ab/00.debug");
	put(&r, ".build-id/ab/cdef.debug", ELF);
	put(&r, ".build-id/ab/ff.debug", "no ELF");
	put_link(&r, ".build-id/ab/11.debug",
	         path_of(&r, ".build-id/ab/cdef.debug"));
	ck_assert_int_eq(debug_file(&r, "\xab\xcd\xef", 3, ""), 0);
	ck_assert_int_eq(debug_file(&r, "\xab\xcd\xee", 3, ""), -ENOENT);
	ck_assert_int_eq(debug_file(&r, "\xab\xff", 2, ""), -ENOEXEC);
	ck_assert_int_eq(debug_file(&r, "\xab", 2, ""), -EINVAL); /* a folder */
	ck_assert_int_eq(debug_file(&r, "\xab\x11", 2, ""), 0);
	ck_assert_int_eq(debug_file(&r, "\xab", 1, ""), -EINVAL);
	ck_assert_int_eq(debug_file(&r, "\xab", HOST_BUILD_ID, ""), -ENOENT);
	ck_assert_int_eq(debug_file(&r, "\xab", HOST_BUILD_ID + 1, ""),
	                 -EINVAL);
	put(&r, ".build-id/ab/cdef.dwp", ELF);
	put(&r, ".build-id/ab/22.debug.dwp", ELF);
	ck_assert_int_eq(debug_file(&r, "\xab\xcd\xef", 3, ".dwp"), 0);
	ck_assert_int_eq(debug_file(&r, "\xab\xcd\xef", 3, ".debug.dwp"),
	                 -ENOENT);
	ck_assert_int_eq(debug_file(&r, "\xab\x22", 2, ".debug.dwp"), 0);
	ck_assert_int_eq(debug_file(&r, "\xab\x22", 2, "/../22.debug.dwp"),
	                 -EINVAL);
	r.conf.worker_debug_dir = (char *)"";
	ck_assert_int_eq(debug_file(&r, "\xab\xcd\xef", 3, ""), -ENOENT);
}
END

TEST(a_shared_debug_file_lies_in_its_folder_alone)
{
	static const struct {
		const char *path;
		int want;
	} rows[] = {
		{".dwz/shared", 0},        {".dwz/none", -ENOENT},
		{"shared", -EINVAL},       {"/etc/passwd", -EINVAL},
		{".dwz/../outside", 0},    {".dwz/../../outside", -EXDEV},
		{".dwz/absolute", -EXDEV}, {".dwz/climbs", -EXDEV},
		{".dwz/beside", 0},
	};
	RIG(r);

	put_folder(&r, ".dwz");
	put(&r, ".dwz/shared", ELF);
	put(&r, "shared", ELF);
	put(&r, "outside", ELF);
	put_link(&r, ".dwz/absolute", path_of(&r, "outside"));
	put_link(&r, ".dwz/climbs", "../../outside");
	put_link(&r, ".dwz/beside", "shared");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		ck_assert_msg(debug_file(&r, "\xab\xcd", 2, rows[i].path) ==
		                      rows[i].want,
		              "%s", rows[i].path);
	r.conf.worker_debug_dir = (char *)"/nonexistent";
	ck_assert_int_eq(debug_file(&r, "\xab\xcd", 2, ".dwz/shared"), -ENOENT);
}
END

TEST(a_debug_file_that_was_fetched_is_the_workers_own)
{
	const uint8_t id[] = {0xab, 0xcd}, linked[] = {0xab, 0xce};
	char name[DEBUG_CACHE_NAME];
	RIG(r);

	debug_cache_name(id, 2, name);
	put(&r, name, ELF);
	ck_assert_int_eq(debug_file(&r, "\xab\xcd", 2, ""), -ENOENT);
	r.conf.symbols_debuginfod = (char *)"https://debuginfod.example";
	ck_assert_int_eq(debug_file(&r, "\xab\xcd", 2, ""), 0);
	ck_assert_int_eq(debug_file(&r, "\xab\xcc", 2, ""), -ENOENT);
	debug_cache_name(linked, 2, name);
	put(&r, "elsewhere", ELF);
	put_link(&r, name, "elsewhere");
	ck_assert_int_eq(debug_file(&r, "\xab\xce", 2, ""), -ELOOP);
	if (geteuid())
		SKIP("only root gives a file to another user");
	debug_cache_name(id, 2, name);
	ck_assert_int_eq(chown(path_of(&r, name), 12345, 12345), 0);
	ck_assert_int_eq(debug_file(&r, "\xab\xcd", 2, ""), -EACCES);
}
END

/* --- files of a target ---------------------------------------------------- */

static int
jitdump(struct rig *r, int32_t pid, const char *path)
{
	struct host_ask ask = {.op = HOST_JITDUMP, .pid = pid};
	char text[64];

	snprintf(ask.path, sizeof(ask.path), "%s", path);
	return answer(r, open_jitdump, &ask, text, sizeof(text));
}

TEST(a_jitdump_has_the_targets_pid_in_its_name_and_its_mark)
{
	char name[32];
	RIG(r);

	snprintf(name, sizeof(name), "jit-%d.dump", getpid());
	put(&r, name, "DTiJ and more");
	ck_assert_int_eq(jitdump(&r, getpid(), path_of(&r, name)), 0);
	ck_assert_int_eq(jitdump(&r, getpid(), name), -EINVAL);
	ck_assert_int_eq(jitdump(&r, 0, path_of(&r, name)), -EINVAL);
	ck_assert_int_eq(jitdump(&r, ended_pid(), path_of(&r, name)), -ESRCH);
	put(&r, "jit-1.dump", "DTiJ and more");
	ck_assert_int_eq(jitdump(&r, getpid(), path_of(&r, "jit-1.dump")),
	                 -EINVAL);
	put(&r, name, "JiTD");
	ck_assert_int_eq(jitdump(&r, getpid(), path_of(&r, name)), -ENOEXEC);
	put(&r, name, "DTi");
	ck_assert_int_eq(jitdump(&r, getpid(), path_of(&r, name)), -ENOEXEC);
	ck_assert_int_eq(unlink(path_of(&r, name)), 0);
	ck_assert_int_eq(jitdump(&r, getpid(), path_of(&r, name)), -ENOENT);
	put_link(&r, name, "jit-1.dump");
	ck_assert_int_eq(jitdump(&r, getpid(), path_of(&r, name)), -EINVAL);
	if (geteuid())
		SKIP("only root gives a file to another user");
	ck_assert_int_eq(unlink(path_of(&r, name)), 0);
	put(&r, name, "DTiJ and more");
	ck_assert_int_eq(chown(path_of(&r, name), 12345, 12345), 0);
	ck_assert_int_eq(jitdump(&r, getpid(), path_of(&r, name)), -EACCES);
}
END

static int
file(struct rig *r, int32_t pid, const char *path)
{
	struct host_ask ask = {.op = HOST_FILE, .pid = pid};
	char text[64];

	snprintf(ask.path, sizeof(ask.path), "%s", path);
	return answer(r, open_file, &ask, text, sizeof(text));
}

TEST(only_regular_elf_files_of_a_target_are_opened)
{
	RIG(r);

	put(&r, "program", ELF);
	put(&r, "text", "ELF");
	put_link(&r, "link", "program");
	ck_assert_int_eq(mkfifo(path_of(&r, "pipe"), 0600), 0);
	ck_assert_int_eq(file(&r, getpid(), path_of(&r, "program")), 0);
	ck_assert_int_eq(file(&r, getpid(), path_of(&r, "link")), 0);
	ck_assert_int_eq(file(&r, getpid(), path_of(&r, "text")), -ENOEXEC);
	ck_assert_int_eq(file(&r, getpid(), path_of(&r, "pipe")), -EINVAL);
	ck_assert_int_eq(file(&r, getpid(), path_of(&r, "")), -EINVAL);
	ck_assert_int_eq(file(&r, getpid(), path_of(&r, "none")), -ENOENT);
	ck_assert_int_eq(file(&r, getpid(), "/proc/self/exe"), -ELOOP);
	ck_assert_int_eq(file(&r, -1, path_of(&r, "program")), -EINVAL);
	ck_assert_int_eq(file(&r, ended_pid(), path_of(&r, "program")), -ESRCH);
}
END

/* --- memory --------------------------------------------------------------- */

static int
memory(struct rig *r, const void *at, uint32_t size, char *text, size_t n)
{
	struct host_ask ask = {.op = HOST_MEMORY,
	                       .pid = getpid(),
	                       .address = (uintptr_t)at,
	                       .size = size};

	return answer(r, read_memory, &ask, text, n);
}

TEST(memory_is_given_where_it_begins_as_an_elf_file)
{
	static const char elf[] = ELF, other[] = "other, and more";
	char text[64];
	RIG(r);

	ck_assert_int_eq(memory(&r, elf, sizeof(elf), text, sizeof(text)), 0);
	ck_assert_str_eq(text, ELF);
	ck_assert_int_eq(memory(&r, elf, 4, text, sizeof(text)), 0);
	ck_assert_str_eq(text, "\177ELF");
	ck_assert_int_eq(memory(&r, elf, 3, text, sizeof(text)), -ENOEXEC);
	ck_assert_int_eq(memory(&r, other, sizeof(other), text, 64), -ENOEXEC);
	ck_assert_int_eq(memory(&r, elf, 0, text, 64), -EINVAL);
	ck_assert_int_eq(memory(&r, elf, HOST_MAX_MEMORY + 1, text, 64),
	                 -EINVAL);
	ck_assert_int_eq(memory(&r, NULL, 64, text, 64), -EFAULT);
}
END

static int
stack(struct rig *r, const char *at, const char *expect, size_t size,
      char *text, size_t n)
{
	struct host_ask ask = {.op = HOST_STACK,
	                       .pid = getpid(),
	                       .address = (uintptr_t)at,
	                       .size = (uint32_t)size};

	memcpy(ask.expect, expect, sizeof(ask.expect));
	return answer(r, read_stack, &ask, text, n);
}

TEST(more_of_a_stack_is_given_to_whom_has_seen_what_lies_before)
{
	const size_t page = (size_t)getpagesize();
	char *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
	               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *at = p + page - 16, seen[HOST_EXPECT], text[64];
	RIG(r);

	ck_assert_ptr_ne(p, MAP_FAILED);
	ck_assert_int_eq(mprotect(p + page, page, PROT_NONE), 0);
	for (size_t i = 0; i < page; i++)
		p[i] = (char)(i % 251);
	strcpy(at, "further up");
	memcpy(seen, at - sizeof(seen), sizeof(seen));
	ck_assert_int_eq(stack(&r, at, seen, 11, text, sizeof(text)), 0);
	ck_assert_str_eq(text, "further up");
	/* as much as is mapped */
	ck_assert_int_eq(stack(&r, at, seen, page, text, sizeof(text)), 0);
	ck_assert_str_eq(text, "further up");
	memcpy(seen, p + page - sizeof(seen), sizeof(seen));
	ck_assert_int_eq(stack(&r, p + page, seen, 8, text, 64), -EFAULT);
	ck_assert_int_eq(stack(&r, at, seen, 11, text, 64), -ESTALE);
	ck_assert_int_eq(stack(&r, at, seen, 0, text, 64), -EINVAL);
	ck_assert_int_eq(stack(&r, at, seen, HOST_MAX_MEMORY, text, 64),
	                 -EINVAL);
	munmap(p, 2 * page);
}
END

TEST(the_threads_of_a_process_are_listed)
{
	struct host_ask ask = {.op = HOST_TASKS, .pid = getpid()};
	int32_t tids[16];
	RIG(r);

	ck_assert_int_eq(
		answer(&r, list_tasks, &ask, (char *)tids, sizeof(tids)), 0);
	ck_assert_int_eq(tids[0], getpid());
	ck_assert_int_eq(tids[1], 0);
	ask.pid = 0;
	ck_assert_int_eq(
		answer(&r, list_tasks, &ask, (char *)tids, sizeof(tids)),
		-EINVAL);
	ask.pid = ended_pid();
	ck_assert_int_eq(
		answer(&r, list_tasks, &ask, (char *)tids, sizeof(tids)),
		-ESRCH);
}
END

/* --- source text ---------------------------------------------------------- */

static int
source_of(struct rig *r, int32_t pid, const char *path, char text[static 64])
{
	struct host_ask ask = {.op = HOST_SOURCE, .pid = pid};

	r->opener.copy_room = (uint64_t)64 << 20;
	snprintf(ask.path, sizeof(ask.path), "%s", path);
	return answer(r, open_source, &ask, text, 64);
}

TEST(source_text_is_a_copy_of_a_regular_file)
{
	char text[64];
	RIG(r);

	put(&r, "a.c", "int a;\n");
	put_link(&r, "link.c", path_of(&r, "a.c"));
	put_link(&r, "environ", "/proc/self/environ");
	put_folder(&r, "folder");
	ck_assert_int_eq(mkfifo(path_of(&r, "pipe"), 0644), 0);
	put(&r, "huge", "");
	ck_assert_int_eq(truncate(path_of(&r, "huge"), HOST_MAX_SOURCE + 1), 0);
	ck_assert_int_eq(source_of(&r, getpid(), path_of(&r, "a.c"), text), 0);
	ck_assert_str_eq(text, "int a;\n");
	ck_assert_int_eq(source_of(&r, getpid(), path_of(&r, "link.c"), text),
	                 0);
	ck_assert_int_eq(source_of(&r, getpid(), "", text), -EINVAL);
	ck_assert_int_eq(source_of(&r, getpid(), path_of(&r, "none"), text),
	                 -ENOENT);
	ck_assert_int_eq(source_of(&r, getpid(), path_of(&r, "folder"), text),
	                 -EINVAL);
	ck_assert_int_eq(source_of(&r, getpid(), path_of(&r, "pipe"), text),
	                 -EINVAL);
	ck_assert_int_eq(source_of(&r, getpid(), path_of(&r, "huge"), text),
	                 -EFBIG);
	ck_assert_int_eq(source_of(&r, getpid(), "/dev/zero", text), -EINVAL);
	ck_assert_int_eq(source_of(&r, ended_pid(), path_of(&r, "a.c"), text),
	                 -ESRCH);
}
END

TEST(a_relative_path_does_not_leave_the_working_directory)
{
	char text[64];
	int before = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	RIG(r);

	put(&r, "a.c", "int a;\n");
	put_folder(&r, "folder");
	put(&r, "folder/b.c", "int b;\n");
	put_link(&r, "folder/up.c", path_of(&r, "a.c"));
	ck_assert_int_eq(chdir(path_of(&r, "folder")), 0);
	ck_assert_int_eq(source_of(&r, getpid(), "b.c", text), 0);
	ck_assert_str_eq(text, "int b;\n");
	ck_assert_int_eq(source_of(&r, getpid(), "./b.c", text), 0);
	ck_assert_int_eq(source_of(&r, getpid(), "../a.c", text), -ENOENT);
	ck_assert_int_eq(source_of(&r, getpid(), "up.c", text), -ENOENT);
	ck_assert_int_eq(source_of(&r, ended_pid(), "b.c", text), -ESRCH);
	ck_assert_int_eq(fchdir(before), 0);
	close(before);
}
END

TEST(files_that_the_kernel_makes_are_no_source_text)
{
	static const char *const paths[] = {
		"/proc/self/environ", "/proc/1/environ", "/proc/1/cmdline",
		"/proc/version", "/sys/kernel/mm/transparent_hugepage/enabled"};
	char text[64];
	RIG(r);

	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		ck_assert_msg(source_of(&r, getpid(), paths[i], text) < 0, "%s",
		              paths[i]);
}
END

/* Starts a process of another user, which ends with this one. */
static pid_t
start_nobody(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!setgroups(0, NULL) && !setgid(65534) && !setuid(65534))
			raise(SIGSTOP);
		_exit(1);
	}
	ck_assert_int_eq(waitpid(pid, NULL, WUNTRACED), pid);
	return pid;
}

TEST(only_what_the_process_may_read_is_source_text)
{
	char text[64];
	pid_t pid;
	RIG(r);

	if (geteuid()) {
		puts("# skip: only root gives processes to other users");
		return;
	}
	pid = start_nobody();
	ck_assert_int_eq(chmod(r.store.dir, 0755), 0);
	put(&r, "open.c", "int a;\n");
	put(&r, "secret.c", "int b;\n");
	ck_assert_int_eq(chmod(path_of(&r, "secret.c"), 0600), 0);
	put_folder(&r, "closed");
	put(&r, "closed/c.c", "int c;\n");
	ck_assert_int_eq(chmod(path_of(&r, "closed"), 0700), 0);
	ck_assert_int_eq(source_of(&r, pid, path_of(&r, "open.c"), text), 0);
	ck_assert_int_eq(source_of(&r, pid, path_of(&r, "secret.c"), text),
	                 -EACCES);
	ck_assert_int_eq(source_of(&r, pid, path_of(&r, "closed/c.c"), text),
	                 -EACCES);
	ck_assert_int_lt(source_of(&r, pid, "/proc/1/environ", text), 0);
	ck_assert_int_eq(source_of(&r, getpid(), path_of(&r, "secret.c"), text),
	                 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
END

/* Gives up the right to change groups, or takes it back. */
static void
may_change_groups(bool may)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2];

	ck_assert_int_eq(syscall(SYS_capget, &head, data), 0);
	data[0].effective &= ~(1u << CAP_SETGID);
	if (may)
		data[0].effective |= 1u << CAP_SETGID;
	ck_assert_int_eq(syscall(SYS_capset, &head, data), 0);
}

/* Files may be readable for the worker's group only. */
TEST(nothing_is_read_for_a_user_without_the_group_of_that_user)
{
	char text[64];
	pid_t pid;
	RIG(r);

	if (geteuid())
		SKIP("only root gives processes to other users");
	pid = start_nobody();
	ck_assert_int_eq(chmod(r.store.dir, 0755), 0);
	put(&r, "group.c", "int a;\n");
	ck_assert_int_eq(chmod(path_of(&r, "group.c"), 0640), 0);
	ck_assert_int_eq(source_of(&r, pid, path_of(&r, "group.c"), text),
	                 -EACCES);
	may_change_groups(false);
	ck_assert_int_eq(source_of(&r, pid, path_of(&r, "group.c"), text),
	                 -EPERM);
	may_change_groups(true);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
END

/* --- programs ------------------------------------------------------------- */

/* Asks for the programs of processes. Returns the error, or the number of rows;
 * the last one is in *row, with its command line. */
static int
programs_of(struct rig *r, const int32_t *pids, uint32_t n,
            struct host_program *row, char *command, size_t room)
{
	struct host_ask ask = {.op = HOST_PROGRAMS, .count = n};
	CLEANUP_BUF struct buf rows = BUF_INIT(BUF_MAX_SMALL);
	struct answer a = {.nfds = 0};
	size_t at = 0;
	int rc, found = 0;

	memcpy(ask.list, pids, n * sizeof(*pids));
	rc = read_programs(&r->opener, &ask, &a);
	if (rc)
		return rc;
	ck_assert_int_eq(fd_read_all(a.fds[0], &rows), 0);
	close(a.fds[0]);
	for (; at < rows.len; found++) {
		ck_assert_uint_ge(rows.len - at, sizeof(*row));
		memcpy(row, rows.p + at, sizeof(*row));
		at += sizeof(*row) + row->link + row->command;
		ck_assert_uint_le(at, rows.len);
		ck_assert_uint_lt(row->command, room);
		memcpy(command, rows.p + at - row->command, row->command);
		command[row->command] = '\0';
	}
	return found;
}

static void *
wait_for_ever(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

/* Starts a process, with the command line of this one, whose first thread has
 * ended. */
static pid_t
start_headless(void)
{
	char path[64], link[8];
	pid_t pid = fork();

	if (!pid) {
		pthread_t t;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pthread_create(&t, NULL, wait_for_ever, NULL);
		syscall(SYS_exit, 0);
	}
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	while (readlink(path, link, sizeof(link)) >= 0)
		sched_yield();
	return pid;
}

TEST(processes_have_programs_with_and_without_their_first_thread)
{
	const int32_t pids[] = {start_headless(), ended_pid(), getpid()};
	char link[512] = "", own[4096], command[4096];
	struct host_program row, first;
	RIG(r);

	ck_assert_int_gt(readlink("/proc/self/exe", link, sizeof(link) - 1), 0);
	ck_assert_int_eq(
		programs_of(&r, pids, 1, &first, command, sizeof(command)), 1);
	ck_assert_int_eq(programs_of(&r, pids, 3, &row, own, sizeof(own)), 2);
	ck_assert_int_eq(first.pid, pids[0]);
	ck_assert_int_eq(row.pid, getpid());
	ck_assert_uint_eq(first.link, strlen(link));
	ck_assert_uint_eq(row.link, first.link);
	ck_assert_uint_eq(row.command, first.command);
	ck_assert_str_eq(command, own);
	ck_assert_str_ne(own, "");
	kill(pids[0], SIGKILL);
	waitpid(pids[0], NULL, 0);
}
END

TEST(programs_of_no_more_processes_than_an_answer_holds_are_read)
{
	int32_t pids[HOST_MAX_PROGRAMS + 1] = {0};
	struct host_program row;
	char command[64];
	RIG(r);

	ck_assert_int_eq(programs_of(&r, pids, HOST_MAX_PROGRAMS, &row, command,
	                             sizeof(command)),
	                 0);
	ck_assert_int_eq(programs_of(&r, pids, HOST_MAX_PROGRAMS + 1, &row,
	                             command, sizeof(command)),
	                 -EINVAL);
}
END

SUITE("opener_files");
