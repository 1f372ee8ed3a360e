/* The directory of a backup, and its manifest. */
#pragma once

#include "extent.h"
#include "store/backup.h"
#include "store/files/digest.h"

#define BACKUP_DB_PREFIX   "stoker-"
#define BACKUP_DB_SUFFIX   ".db"
#define BACKUP_DB_NAME_MAX (ID_MAX + sizeof(BACKUP_DB_SUFFIX))

struct manifest {
	struct backup backup;
	char database[BACKUP_DB_NAME_MAX]; /* name of the file, and its
	                                      SHA-256 */
	char checksum[DIGEST_CHARS];
};

struct backup_dir {
	const char *path; /* borrowed */
	int fd;
	int lock_fd;
	bool has_manifest;
	struct manifest manifest;
};
#define BACKUP_DIR_INIT                 \
	{                               \
		.fd = -1, .lock_fd = -1 \
	}
#define CLEANUP_BACKUP_DIR CLEANUP(backup_dir_close)

/* Opens a directory for a backup of store_dir, and locks it until it is
 * closed. Errors as in backup_make(). */
MUST_CHECK int backup_dir_make(const char *path, const char *store_dir,
                               struct backup_dir *out, struct buf *why);
/* Opens a directory that has a backup, and locks it against new backups until
 * it is closed. Returns -ENOMEDIUM, -EBUSY, -errno. */
MUST_CHECK int
backup_dir_open(const char *path, struct backup_dir *out, struct buf *why);
void backup_dir_close(struct backup_dir *d);
/* Opens a file of the directory for reading: neither a link nor a pipe, which
 * might never end. Returns -EBADMSG for one. */
MUST_CHECK int
backup_dir_file(const struct backup_dir *d, const char *name, int *out);
/* Opens the database of a manifest read-only. */
MUST_CHECK int
backup_dir_db(const struct backup_dir *d, const struct manifest *m,
              struct db **out, struct buf *why);
/* Writes m as the manifest, durably. Returns -errno. */
MUST_CHECK int
backup_dir_commit(struct backup_dir *d, const struct manifest *m);
/* Removes databases and temporary files that the manifest does not name;
 * adds their number to *out. */
MUST_CHECK int backup_dir_trim(const struct backup_dir *d, int64_t *out);
