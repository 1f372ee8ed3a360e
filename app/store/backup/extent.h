/*
 * Extents: the bytes that live rows name. A profile is a whole file below
 * profiles/, a window is a piece of a file below segments/. Neither changes
 * once its row exists; what else is in a segment is nobody's.
 *
 * Rows and files are not trusted: a name that Stoker would not have made is
 * damage, and no link is followed below either folder.
 */
#pragma once

#include "store/blob.h"
#include "store/window.h"

struct extent {
	char *id;    /* of the row */
	char *owner; /* of a profile its session, of a window its segment */
	char *name;  /* of the file, below its folder */
	char *checksum;
	int64_t start, length;
	enum extent_kind { EXTENT_PROFILE, EXTENT_WINDOW } kind;
	bool first, last; /* of its file */
};

/* A directory with both folders, and the rights of files made there. */
struct extent_place {
	const char *path; /* borrowed */
	int fds[2];       /* profiles/ and segments/, by extent_kind */
	mode_t folder_mode, file_mode;
	uid_t uid; /* with gid, of what root makes */
	gid_t gid;
	bool uncached; /* checks read the disk, not the page cache */
};
#define EXTENT_PLACE_INIT        \
	{                        \
		.fds = {-1, -1}, \
	}
#define CLEANUP_EXTENT_PLACE CLEANUP(extent_place_close)

/*
 * Opens the folders below dir_fd; makes those that are missing where the
 * place has a mode for them.
 *   Errors   -errno, with one line in *why
 */
MUST_CHECK int
extent_place_open(struct extent_place *p, int dir_fd, struct buf *why);
void extent_place_close(struct extent_place *p);

/* "profiles/ab/blob-ab….pb.gz": for messages. */
void extent_path(const struct extent *e, struct buf *out);
/* Names the file and its error rc in *why, unless that has a line; rc. */
int extent_tell(const struct extent_place *p, const struct extent *e, int rc,
                struct buf *why);
/* Calls fn with each, profiles first, then windows by segment and offset,
 * until it returns other than 0, which is the result. */
MUST_CHECK int
extent_each(struct db *db, int (*fn)(void *arg, const struct extent *e),
            void *arg);
/* Whether the row is still live: 1, 0, or -errno. */
MUST_CHECK int extent_live(struct db *db, const struct extent *e);

/* True when a file of that name is long enough, or can't be looked at: a
 * guess that saves a copy, which extent_check() proves. */
bool extent_seems_there(const struct extent_place *p, const struct extent *e);
/* Reads the bytes and compares their checksum: -ENOENT, -EBADMSG, or -errno
 * of a file that can't be read. */
MUST_CHECK int
extent_check(const struct extent_place *p, const struct extent *e);
/*
 * Copies the bytes, over those that are in their place, and compares their
 * checksum on the way; the caller syncs. A caller that must not lose what is
 * in their place checks the source first.
 *   Errors   1 when from does not have them (any more); -errno of what could
 *            not be written, with one line in *why
 */
MUST_CHECK int
extent_copy(const struct extent_place *from, const struct extent_place *to,
            const struct extent *e, struct buf *why);
/* Removes the files of a place that no live row names, and gives back the
 * rest of its segments. Adds the number of files to *out. */
MUST_CHECK int
extent_trim(const struct extent_place *p, struct db *db, int64_t *out);
