#include "store/store.h"

#include "base/file.h"
#include "base/folder.h"
#include "base/quantity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/statvfs.h>

#define TRY_FILE     "written"
#define TRY_RENAMED  "renamed"
#define TRY_NAME_MAX 32
#define FILE_MODE    0640

static int
try_file(int dir_fd)
{
	CLEANUP_FD int fd = openat(dir_fd, TRY_FILE,
	                           O_WRONLY | O_CREAT | O_CLOEXEC, FILE_MODE);
	int rc = fd < 0 ? -errno : fd_write_all(fd, "x", 1);

	if (!rc && fsync(fd))
		rc = -errno;
	if (!rc && renameat(dir_fd, TRY_FILE, dir_fd, TRY_RENAMED))
		rc = -errno;
	unlinkat(dir_fd, TRY_FILE, 0);
	unlinkat(dir_fd, TRY_RENAMED, 0);
	return rc;
}

/* Makes a folder that is named after this process: one left by a killed process
 * is reused, and sweeping skips it. */
static int
try_folder(int dir_fd)
{
	char name[TRY_NAME_MAX];
	CLEANUP_FD int fd = -1;
	int rc;

	snprintf(name, sizeof(name), ".try-%d", (int)getpid());
	rc = folder_make(dir_fd, name, &fd);
	if (!rc)
		rc = try_file(fd);
	unlinkat(dir_fd, name, AT_REMOVEDIR);
	return rc;
}

/* Tries a transaction that writes. A timeout on another process's lock does not
 * indicate missing permissions. */
static int
try_database(struct store *s)
{
	int rc = store_begin(s);

	if (!rc)
		store_rollback(s);
	return rc == -EBUSY ? 0 : rc;
}

static void
explain(int rc, struct finding *out)
{
	switch (-rc) {
	case ENOSPC:
	case EDQUOT:
		finding_set(out, BROKEN,
		            "make room there, or lower max_bytes in [store]",
		            "the disk, or the quota, of the store is full");
		return;
	case EROFS:
		finding_set(out, BROKEN,
		            "name the directory in ReadWritePaths= of the unit "
		            "(systemctl edit), or remount it writable",
		            "the store's file system is read-only here");
		return;
	case EACCES:
	case EPERM:
		finding_set(out, BROKEN,
		            "systemd-tmpfiles --create stoker.conf; a unit "
		            "needs RestrictSUIDSGID=no or UMask=0007",
		            "the store's folders may not be written to, or "
		            "their mode not be set");
		return;
	default:
		finding_set(out, BROKEN,
		            "see the log of this process, and stoker verify",
		            "the store cannot be written");
	}
}

int
store_try(struct store *s, int64_t min_free, struct finding *out)
{
	int rc = try_folder(s->profiles_fd)
	                 ?: try_folder(s->segments_fd)
	                 ?: try_database(s);
	struct statvfs v;
	CLEANUP_BUF struct buf size = BUF_INIT(BUF_MAX_SMALL);
	int64_t free_bytes;

	if (!rc && fstatvfs(s->profiles_fd, &v))
		rc = -errno;
	if (rc) {
		explain(rc, out);
		return rc;
	}
	free_bytes = (int64_t)v.f_bavail * (int64_t)v.f_frsize;
	quantity(&size, free_bytes, "bytes");
	if (free_bytes < min_free)
		finding_set(out, WARNING,
		            "make room there, or lower max_bytes in [store] "
		            "and [continuous]",
		            "written and renamed; only %s are free, so "
		            "continuous profiling pauses",
		            buf_str(&size));
	else
		finding_set(out, FINE, NULL, "written and renamed; %s are free",
		            buf_str(&size));
	return 0;
}
