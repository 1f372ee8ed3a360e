#include "opener_local.h"

#include "base/proc_exec.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/nsfs.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>

/* Missing from linux/magic.h of Debian 12. */
#define ZFS_SUPER_MAGIC 0x2fc12fc1
#define BCACHEFS_MAGIC  0xca451a4e

#define MAX_MOUNTS ((size_t)4 << 20) /* bytes of /proc/PID/mountinfo */

/* An overlay, as /proc/PID/mountinfo lists it. */
struct overlay {
	unsigned major, minor;
	char *options; /* in the text of the list */
};

/* --- file systems --------------------------------------------------------- */

static bool
is_of_this_machine(uint32_t magic)
{
	static const uint32_t known[] = {
		EXT4_SUPER_MAGIC,     XFS_SUPER_MAGIC,  BTRFS_SUPER_MAGIC,
		TMPFS_MAGIC,          F2FS_SUPER_MAGIC, SQUASHFS_MAGIC,
		EROFS_SUPER_MAGIC_V1, RAMFS_MAGIC,      ZFS_SUPER_MAGIC,
		ISOFS_SUPER_MAGIC,    HUGETLBFS_MAGIC,  BCACHEFS_MAGIC,
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (magic == known[i])
			return true;
	return false;
}

static int
open_place(int dir, const char *path, uint64_t resolve)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = resolve};

	return (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
}

/* --- mounts --------------------------------------------------------------- */

static int
read_mounts(int32_t pid, struct buf *out)
{
	return proc_read(AT_FDCWD, pid, "mountinfo", out);
}

/* Returns the id of the mount that a file was opened in; 0 if unknown. */
static uint64_t
mount_of(int fd)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) ||
	    !(st.stx_mask & STATX_MNT_ID))
		return 0;
	return st.stx_mnt_id;
}

/* Finds an overlay by the id of a mount or, if that is 0, by its device. */
static bool
find_overlay(struct buf *mounts, uint64_t id, struct overlay *o)
{
	static const char type[] = " - overlay ";
	char *rest = mounts->len ? mounts->p : NULL, *line;

	while (rest && (line = strsep(&rest, "\n"))) {
		unsigned long long mount;
		struct overlay is;
		const char *at = strstr(line, type);

		if (!at || sscanf(line, "%llu %*u %u:%u", &mount, &is.major,
		                  &is.minor) != 3)
			continue;
		is.options = strrchr(line, ' ') + 1;
		if (id ? mount == id
		       : is.major == o->major && is.minor == o->minor) {
			*o = is;
			return true;
		}
	}
	return false;
}

/* True if the worker's user namespace owns the process's mount namespace.
 * Source: ioctl_ns(2) */
static bool
is_the_hosts(int32_t pid)
{
	struct stat owner, own;
	CLEANUP_FD int ns = -1, user = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", pid);
	ns = open(path, O_RDONLY | O_CLOEXEC);
	user = ns < 0 ? -1 : ioctl(ns, NS_GET_USERNS);
	return user >= 0 && !fstat(user, &owner) &&
	       !stat("/proc/self/ns/user", &own) &&
	       owner.st_dev == own.st_dev && owner.st_ino == own.st_ino;
}

/* True for the file system that the worker runs from. */
static bool
is_own_root(const struct overlay *o)
{
	CLEANUP_BUF struct buf mounts = BUF_INIT(MAX_MOUNTS);
	CLEANUP_FD int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	uint64_t id = root < 0 ? 0 : mount_of(root);
	struct overlay own;

	return id && !read_mounts(getpid(), &mounts) &&
	       find_overlay(&mounts, id, &own) && own.major == o->major &&
	       own.minor == o->minor;
}

/* --- layers --------------------------------------------------------------- */

static int
open_below(const char *root, const char *path)
{
	CLEANUP_FD int dir = open_place(AT_FDCWD, root, 0);

	return dir < 0 ? -1
	               : open_place(dir, path,
	                            RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
}

/* Looks for a layer as the worker sees files and, since a unit may hide some of
 * them, as process 1 does. */
static bool
layer_is_local(const char *path)
{
	CLEANUP_FD int dir = -1;
	struct statfs s;

	if (path[0] != '/')
		return false;
	dir = open_below("/", path);
	if (dir < 0)
		dir = open_below("/proc/1/root", path);
	return dir >= 0 && !fstatfs(dir, &s) &&
	       is_of_this_machine((uint32_t)s.f_type);
}

/* Returns the paths of layers that an option lists, or NULL. */
static char *
layers_of(char *option)
{
	static const char *const names[] = {
		"lowerdir=", "lowerdir+=", "datadir+=", "upperdir="};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strncmp(option, names[i], strlen(names[i])))
			return option + strlen(names[i]);
	return NULL;
}

/* False for paths with escaped characters, which are not decoded. */
static bool
layers_are_local(char *options)
{
	size_t n = 0;
	char *option;

	if (strchr(options, '\\'))
		return false;
	while ((option = strsep(&options, ","))) {
		char *layers = layers_of(option), *path;

		while (layers && (path = strsep(&layers, ":"))) {
			if (!*path) /* "::" precedes layers of data only */
				continue;
			if (!layer_is_local(path))
				return false;
			n++;
		}
	}
	return n > 0;
}

static bool
overlay_is_local(int fd, int32_t pid)
{
	CLEANUP_BUF struct buf mounts = BUF_INIT(MAX_MOUNTS);
	uint64_t id = mount_of(fd);
	struct overlay o;

	if (!id || read_mounts(pid, &mounts) || !find_overlay(&mounts, id, &o))
		return false;
	if (is_own_root(&o))
		return true;
	if (is_the_hosts(pid))
		return layers_are_local(o.options);
	return is_the_hosts(1) && !read_mounts(1, &mounts) &&
	       find_overlay(&mounts, 0, &o) && layers_are_local(o.options);
}

bool
opener_is_local(int fd, int32_t pid)
{
	struct statfs s;

	if (fstatfs(fd, &s))
		return false;
	return is_of_this_machine((uint32_t)s.f_type) ||
	       ((uint32_t)s.f_type == OVERLAYFS_SUPER_MAGIC &&
	        overlay_is_local(fd, pid));
}
