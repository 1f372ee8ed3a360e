/*
 * Answers that hand out files and memory of a target. Their contents and names
 * are untrusted: they are written by the target's user, or by anyone who may
 * write to its file systems. So paths are followed within the target's root
 * only, only regular files are opened, and only the analyser, in its sandbox,
 * reads them. Debug files belong to root (worker.debug_dir) or to the worker's
 * user.
 */
#include "base/file.h"
#include "base/folder.h"
#include "base/proc_exec.h"
#include "base/proc_text.h"
#include "opener.h"
#include "opener_local.h"
#include "opener_reopen.h"
#include "worker/debuginfod/debug_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define DWZ       ".dwz/" /* below the directory of debug files */
#define COPY_STEP ((size_t)1 << 20)

static const char elf_magic[4] = {'\177', 'E', 'L', 'F'};

static int
open_how(int dir, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = {.flags = flags | O_CLOEXEC, .resolve = resolve};
	int fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

static int
copy_file(struct opener *o, int from, int *out)
{
	CLEANUP_FD int fd = memfd_create("stoker-copy", MFD_CLOEXEC);
	uint64_t size = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	do {
		n = sendfile(fd, from, NULL, COPY_STEP);
		if (n < 0)
			return -errno;
		size += (uint64_t)n;
		if (size > o->copy_room)
			return -EFBIG;
	} while (n);
	if (lseek(fd, 0, SEEK_SET))
		return -errno;
	o->copied += size;
	*out = TAKE_FD(fd);
	return 0;
}

/*
 * Hands out a file, or a copy of it if reading the file itself might block the
 * client for good.
 *   Owns     fd stays the caller's
 */
static int
give_file(struct opener *o, int32_t pid, int fd, struct answer *out)
{
	int given = -1, rc = 0;

	out->reply.value = !opener_is_local(fd, pid);
	if (!out->reply.value)
		given = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	else
		rc = copy_file(o, fd, &given);
	if (!rc && given < 0)
		rc = -errno;
	if (!rc)
		out->fds[out->nfds++] = given;
	return rc;
}

static int
starts_as_elf(int fd)
{
	char start[sizeof(elf_magic)];

	if (pread(fd, start, sizeof(start), 0) != sizeof(start) ||
	    memcmp(start, elf_magic, sizeof(start)) != 0)
		return -ENOEXEC;
	return 0;
}

static int
open_elf(int place, int *out)
{
	CLEANUP_FD int fd = -1;
	int rc = opener_reopen(place, &fd);

	if (!rc)
		rc = starts_as_elf(fd);
	if (!rc)
		*out = TAKE_FD(fd);
	return rc;
}

/* Hands out a file of a target. */
static int
give_elf(struct opener *o, int32_t pid, int place, struct answer *out)
{
	CLEANUP_FD int fd = -1;
	int rc = open_elf(place, &fd);

	return rc ? rc : give_file(o, pid, fd, out);
}

/* Hands out a file of the host, whose file systems are trusted to answer. */
static int
give_host_elf(int place, struct answer *out)
{
	int fd, rc = open_elf(place, &fd);

	if (!rc)
		out->fds[out->nfds++] = fd;
	return rc;
}

static int
open_root(int32_t pid)
{
	char path[64];

	if (pid <= 0)
		return -EINVAL;
	snprintf(path, sizeof(path), "/proc/%d/root", pid);
	return open_how(AT_FDCWD, path, O_PATH | O_DIRECTORY, 0);
}

static int
open_in(int root, const char *path)
{
	return open_how(root, path, O_PATH,
	                RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
}

/* Removes the target's root from path, since /proc/PID/maps has paths from our
 * root. Returns false when the path is not below the target's root. */
static bool
take_out_root(int32_t pid, char path[static HOST_MAX_PATH])
{
	char link[64], root[HOST_MAX_PATH];
	ssize_t n;
	char *at;

	snprintf(link, sizeof(link), "/proc/%d/root", pid);
	n = readlink(link, root, sizeof(root) - 1);
	if (n < 2) /* "/" */
		return false;
	root[n] = '\0';
	at = strstr(path, root);
	if (!at || at[n] != '/')
		return false;
	memmove(at, at + n, strlen(at + n) + 1);
	return true;
}

int
open_file(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	CLEANUP_FD int root = open_root(ask->pid);
	CLEANUP_FD int place = -1;
	char path[HOST_MAX_PATH];

	if (root < 0)
		return root == -ENOENT ? -ESRCH : root;
	memcpy(path, ask->path, sizeof(path));
	place = open_in(root, path);
	if (place == -ENOENT && take_out_root(ask->pid, path))
		place = open_in(root, path);
	return place < 0 ? place : give_elf(o, ask->pid, place, out);
}

/* Hands out the file that a link of /proc/PID leads to. */
static int
give_linked(struct opener *o, int32_t pid, const char *link, struct answer *out)
{
	char path[96];
	CLEANUP_FD int place = -1;

	if (pid <= 0)
		return -EINVAL;
	snprintf(path, sizeof(path), "/proc/%d/%s", pid, link);
	place = open_how(AT_FDCWD, path, O_PATH, 0);
	return place < 0 ? place : give_elf(o, pid, place, out);
}

int
open_exe(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	return give_linked(o, ask->pid, "exe", out);
}

/* The link of a mapping leads to its file even if the file was unlinked or
 * renamed. Following it needs CAP_CHECKPOINT_RESTORE.
 *   Source   proc_pid_map_files(5) */
int
open_mapped(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	char link[64];

	snprintf(link, sizeof(link), "map_files/%" PRIx64 "-%" PRIx64,
	         ask->address, ask->address + ask->size);
	return give_linked(o, ask->pid, link, out);
}

/* Opens a shared debug file. The image chooses the name, so the name may not
 * lead out of the directory; the client compares the build-id. */
static int
open_shared(const struct opener *o, const char *path, struct answer *out)
{
	CLEANUP_FD int dir = open_how(AT_FDCWD, o->conf->worker_debug_dir,
	                              O_PATH | O_DIRECTORY, 0);
	CLEANUP_FD int place = -1;

	if (dir < 0)
		return dir;
	if (strncmp(path, DWZ, strlen(DWZ)) != 0)
		return -EINVAL;
	place = open_how(dir, path, O_PATH,
	                 RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
	return place < 0 ? place : give_host_elf(place, out);
}

/* Returns the suffix of a file that is named by a build-id: a debug file, or
 * the package of split DWARF beside it. NULL: the path is of another kind. */
static const char *
end_of(const char *path)
{
	if (!*path)
		return ".debug";
	return !strcmp(path, ".dwp") || !strcmp(path, ".debug.dwp") ? path
	                                                            : NULL;
}

/* Opens a debug file of the host, which is trusted: distributions use absolute
 * links there. */
static int
open_kept(const struct opener *o, const struct host_ask *ask, const char *end,
          struct answer *out)
{
	const struct conf *conf = o->conf;
	CLEANUP_BUF struct buf path = BUF_INIT(HOST_MAX_PATH);
	CLEANUP_FD int place = -1;

	if (!*conf->worker_debug_dir)
		return -ENOENT;
	buf_addf(&path, "%s/.build-id/", conf->worker_debug_dir);
	buf_hex(&path, ask->build_id, 1);
	buf_putc(&path, '/');
	buf_hex(&path, ask->build_id + 1, ask->size - 1);
	buf_puts(&path, end);
	if (buf_err(&path))
		return buf_err(&path);
	place = open_how(AT_FDCWD, buf_str(&path), O_PATH,
	                 RESOLVE_NO_MAGICLINKS);
	return place < 0 ? place : give_host_elf(place, out);
}

/* True for a file of the worker's user or of root. */
static bool
is_the_workers(const struct opener *o, int place)
{
	struct stat st;

	return !fstat(place, &st) &&
	       (!st.st_uid ||
	        st.st_uid == (o->who.change ? o->who.uid : geteuid()));
}

/* Opens a file of the debuginfod cache. Its directory is usually in the store,
 * where the API's user could replace it, so files of others are refused. */
static int
open_fetched(const struct opener *o, const struct host_ask *ask,
             struct answer *out)
{
	const struct conf *conf = o->conf;
	const char *own = conf->symbols_cache_dir;
	CLEANUP_FD int dir = open_how(AT_FDCWD, *own ? own : conf->store_dir,
	                              O_PATH | O_DIRECTORY, 0);
	char path[sizeof(DEBUG_CACHE_BELOW) + DEBUG_CACHE_NAME];
	char name[DEBUG_CACHE_NAME];
	CLEANUP_FD int place = -1;

	if (dir < 0)
		return dir;
	debug_cache_name(ask->build_id, ask->size, name);
	snprintf(path, sizeof(path), "%s%s", *own ? "" : DEBUG_CACHE_BELOW "/",
	         name);
	place = open_how(dir, path, O_PATH,
	                 RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
	if (place < 0)
		return place;
	return is_the_workers(o, place) ? give_host_elf(place, out) : -EACCES;
}

int
open_debug(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	const char *end = end_of(ask->path);
	int rc;

	if (ask->size < 2 || ask->size > HOST_BUILD_ID)
		return -EINVAL;
	if (!end)
		return open_shared(o, ask->path, out);
	rc = open_kept(o, ask, end, out);
	if (rc && !*ask->path && *o->conf->symbols_debuginfod)
		rc = open_fetched(o, ask, out);
	return rc;
}

/* --- perf maps ------------------------------------------------------------ */

/* Reads the process's pid in its own namespace. */
static int
inner_pid(int32_t pid, int32_t *out)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	int rc = proc_read(AT_FDCWD, pid, "status", &text);

	if (rc)
		return rc;
	return proc_parse_inner(buf_str(&text), out) ? -ENODATA : 0;
}

int
read_inner(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	int32_t inner;
	int rc = ask->pid > 0 ? inner_pid(ask->pid, &inner) : -EINVAL;

	(void)o;
	if (!rc)
		out->reply.value = (uint32_t)inner;
	return rc;
}

int
read_pid_space(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	char path[64];
	struct stat st;

	(void)o;
	snprintf(path, sizeof(path), "/proc/%d/ns/pid", ask->pid);
	if (stat(path, &st))
		return -errno;
	out->reply.value = (uint32_t)st.st_ino;
	return 0;
}

/* Checks that a file in /tmp belongs to the target's user, since anyone may
 * write there. */
static int
same_owner(int32_t pid, int place)
{
	char path[64];
	struct stat process, file;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (stat(path, &process) || fstat(place, &file))
		return -errno;
	return process.st_uid == file.st_uid ? 0 : -EACCES;
}

/* Hands out a file that the target wrote for profilers, by its path in the
 * target's root. */
static int
give_own(struct opener *o, int32_t pid, int root, const char *path,
         struct answer *out)
{
	CLEANUP_FD int place = open_how(root, path, O_PATH | O_NOFOLLOW,
	                                RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS);
	CLEANUP_FD int fd = -1;
	int rc = place < 0 ? place : same_owner(pid, place);

	if (!rc)
		rc = opener_reopen(place, &fd);
	return rc ? rc : give_file(o, pid, fd, out);
}

/* Opens the root of a process, whose files have its number there in their
 * names. */
static int
open_inner_root(int32_t pid, int *root, int32_t *inner)
{
	CLEANUP_FD int fd = open_root(pid);
	int rc = fd == -ENOENT ? -ESRCH : fd < 0 ? fd : inner_pid(pid, inner);

	if (!rc)
		*root = TAKE_FD(fd);
	return rc;
}

int
open_perfmap(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	CLEANUP_FD int root = -1;
	char path[64];
	int32_t inner;
	int rc = open_inner_root(ask->pid, &root, &inner);

	if (rc)
		return rc;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", inner);
	return give_own(o, ask->pid, root, path, out);
}

/* Hands out a jitdump: its name must contain the target's pid, and its contents
 * must begin with the magic number. */
int
open_jitdump(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	static const char magic[4] = {'D', 'T', 'i', 'J'};
	CLEANUP_FD int root = -1;
	const char *name = strrchr(ask->path, '/');
	char want[64], start[sizeof(magic)];
	int32_t inner;
	int rc = open_inner_root(ask->pid, &root, &inner);

	if (rc)
		return rc;
	snprintf(want, sizeof(want), "/jit-%d.dump", inner);
	if (!name || strcmp(name, want) != 0)
		return -EINVAL;
	rc = give_own(o, ask->pid, root, ask->path, out);
	if (rc ||
	    (pread(out->fds[0], start, sizeof(start), 0) == sizeof(start) &&
	     !memcmp(start, magic, sizeof(magic))))
		return rc;
	close(out->fds[0]);
	out->nfds = 0;
	return -ENOEXEC;
}

/* --- source text ---------------------------------------------------------- */

/* True for a file system that stores files. The kernel makes files of /proc and
 * the like, which would be read with the worker's capabilities. */
static bool
holds_files(int fd, int32_t pid)
{
	static const uint32_t others[] = {OVERLAYFS_SUPER_MAGIC,
	                                  NFS_SUPER_MAGIC, FUSE_SUPER_MAGIC,
	                                  V9FS_MAGIC};
	struct statfs s;

	if (opener_is_local(fd, pid))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(others) && !fstatfs(fd, &s); i++)
		if ((uint32_t)s.f_type == others[i])
			return true;
	return false;
}

/*
 * Has the kernel decide about files as for a process's user, until
 * stop_reading_as(). A change from root to another user takes the capability to
 * read all files away, and the change back returns it; the supplementary groups
 * are none.
 *   Errors   -EPERM this process may not change its user or group
 *   Source   capabilities(7): "Effect of user ID changes on capabilities"
 */
static int
read_as(int32_t pid)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	uint32_t uid, gid;
	int rc = proc_read(AT_FDCWD, pid, "status", &text)
	                 ?: proc_parse_fs_ids(buf_str(&text), &uid, &gid);

	if (rc)
		return rc == -ENOENT ? -ESRCH : rc;
	setfsgid(gid);
	setfsuid(uid);
	return setfsuid((uid_t)-1) == (int)uid &&
	                       setfsgid((gid_t)-1) == (int)gid &&
	                       (!geteuid() || geteuid() == uid)
	               ? 0
	               : -EPERM;
}

static void
stop_reading_as(void)
{
	setfsuid(geteuid());
	setfsgid(getegid());
}

static int
open_text(int32_t pid, int root, const char *path, int *out)
{
	int rc = read_as(pid);
	CLEANUP_FD int place = rc ? rc : open_in(root, path);

	rc = place < 0 ? place : opener_reopen(place, out);
	stop_reading_as();
	return rc;
}

/* Opens what a path begins at: the root, or the working directory, which a
 * relative path does not leave. */
static int
open_beginning(int32_t pid, const char *path)
{
	char link[64];
	int fd;

	if (*path == '/')
		return open_root(pid);
	snprintf(link, sizeof(link), "/proc/%d/cwd", pid);
	fd = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int
open_source(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	CLEANUP_FD int root = open_beginning(ask->pid, ask->path);
	CLEANUP_FD int fd = -1;
	struct stat st;
	int given, rc;

	if (root < 0)
		return root == -ENOENT ? -ESRCH : root;
	rc = *ask->path ? open_text(ask->pid, root, ask->path, &fd) : -EINVAL;
	if (!rc && !holds_files(fd, ask->pid))
		rc = -EINVAL;
	if (!rc && fstat(fd, &st))
		rc = -errno;
	if (!rc && st.st_size > HOST_MAX_SOURCE)
		rc = -EFBIG;
	if (o->copy_room > (uint64_t)HOST_MAX_SOURCE)
		o->copy_room = (uint64_t)HOST_MAX_SOURCE;
	rc = rc ?: copy_file(o, fd, &given);
	if (rc)
		return rc;
	out->fds[out->nfds++] = given;
	out->reply.value = (uint32_t)st.st_mtime;
	return 0;
}

/* --- memory --------------------------------------------------------------- */

/* Copies as much as can be read of size bytes at address. */
static int
copy_memory(int32_t pid, uint64_t address, size_t size, char **out, size_t *n)
{
	CLEANUP_FREE char *copy = NULL;
	struct iovec from = {(void *)(uintptr_t)address, size};
	struct iovec to;
	ssize_t got;

	if (pid <= 0 || !size || size > HOST_MAX_MEMORY)
		return -EINVAL;
	copy = malloc(size);
	if (!copy)
		return -ENOMEM;
	to = (struct iovec){copy, size};
	got = process_vm_readv(pid, &to, 1, &from, 1, 0);
	if (got < 0)
		return -errno;
	*n = (size_t)got;
	*out = TAKE(copy);
	return 0;
}

int
read_memory(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	CLEANUP_FREE char *copy = NULL;
	size_t n = 0;
	int rc = copy_memory(ask->pid, ask->address, ask->size, &copy, &n);

	(void)o;
	if (rc)
		return rc;
	if (n < sizeof(elf_magic) ||
	    memcmp(copy, elf_magic, sizeof(elf_magic)) != 0)
		return -ENOEXEC;
	return answer_give(copy, n, out);
}

/*
 * Hands out more of a stack. The overlap proves that the stack is still the
 * sampled one, and limits the client to memory next to bytes that it has.
 */
int
read_stack(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	const size_t overlap = sizeof(ask->expect);
	CLEANUP_FREE char *copy = NULL;
	size_t n = 0;
	int rc;

	(void)o;
	if (!ask->size || ask->size > HOST_MAX_MEMORY - overlap)
		return -EINVAL;
	rc = copy_memory(ask->pid, ask->address - overlap, ask->size + overlap,
	                 &copy, &n);
	if (rc)
		return rc;
	if (n <= overlap)
		return -EFAULT;
	if (memcmp(copy, ask->expect, overlap) != 0)
		return -ESTALE;
	return answer_give(copy + overlap, n - overlap, out);
}

/* --- threads -------------------------------------------------------------- */

static int
read_tasks(int32_t pid, struct buf *out)
{
	CLEANUP_FOLDER DIR *tasks = NULL;
	int rc = folder_open_tasks(AT_FDCWD, pid, &tasks);
	int32_t tid;

	if (rc)
		return rc;
	while ((tid = folder_next_number(tasks)))
		buf_add(out, &tid, sizeof(tid));
	return buf_err(out);
}

int
list_tasks(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	CLEANUP_BUF struct buf tids =
		BUF_INIT(sizeof(int32_t[HOST_MAX_THREADS]));
	int rc = read_tasks(ask->pid, &tids);

	(void)o;
	return rc ? rc : answer_give(tids.p, tids.len, out);
}
