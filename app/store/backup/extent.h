/*
 * Extents: the bytes that live rows refer to. A profile is a whole file below
 * profiles/, a window is a part of a file below segments/. Neither changes
 * after its row exists; other bytes of a segment are unused.
 *
 * Rows and files are not trusted: a name that Stoker would not make is damage,
 * and links below either folder are not followed.
 */
#pragma once

#include "store/blob.h"
#include "store/window.h"

struct extent {
	char *id;    /* the row's id */
	char *owner; /* session of a profile, segment of a window */
	char *name;  /* file name below the folder */
	char *checksum;
	int64_t start, length;
	enum extent_kind { EXTENT_PROFILE, EXTENT_WINDOW } kind;
	bool first, last; /* first, last extent of its file */
};

/* A directory with both folders, and the owner and mode of new files. */
struct extent_place {
	const char *path; /* borrowed */
	int fds[2];       /* profiles/ and segments/, by extent_kind */
	mode_t folder_mode, file_mode;
	uid_t uid; /* owner, with gid, of files that root creates */
	gid_t gid;
	bool uncached; /* checks read the disk rather than the page cache */
};
#define EXTENT_PLACE_INIT        \
	{                        \
		.fds = {-1, -1}, \
	}

/*
 * Opens the folders below dir_fd; creates missing ones when the place has a
 * mode for them.
 *   Errors   -errno, with one line in *why
 */
MUST_CHECK int
extent_place_open(struct extent_place *p, int dir_fd, struct buf *why);
void extent_place_close(struct extent_place *p);

/* Writes "profiles/ab/blob-ab….pb.gz", for messages. */
void extent_path(const struct extent *e, struct buf *out);
/* Describes the file and the error rc in *why, unless *why has a line already.
 * Returns rc. */
int extent_explain(const struct extent_place *p, const struct extent *e, int rc,
                   struct buf *why);
/* Calls fn with each extent, profiles first, then windows by segment and
 * offset, until fn returns other than 0, which is the result. */
MUST_CHECK int
extent_each(struct db *db, int (*fn)(void *arg, const struct extent *e),
            void *arg);
/* Returns 1 when the extent's row is still live, 0 when it is
 * not, or -errno. */
MUST_CHECK int extent_live(struct db *db, const struct extent *e);

/* True when the file is long enough, or can't be inspected: a guess that saves
 * copying; extent_check() verifies it. */
bool extent_seems_there(const struct extent_place *p, const struct extent *e);
/* Reads the bytes and verifies their checksum. Returns -ENOENT, -EBADMSG, or
 * -errno when the file can't be read. */
MUST_CHECK int
extent_check(const struct extent_place *p, const struct extent *e);
/*
 * Copies the bytes, overwrites those in their place, and verifies the checksum
 * on the way; the caller syncs. If the overwritten bytes may be needed, check
 * the source first.
 *   Errors   1 when from does not have the bytes, or no longer; -errno of a
 *            failed write, with one line in *why
 */
MUST_CHECK int
extent_copy(const struct extent_place *from, const struct extent_place *to,
            const struct extent *e, struct buf *why);
/* Removes files of a place that no live row refers to, and frees the unused
 * parts of segments. Adds the number of files to *out. */
MUST_CHECK int
extent_trim(const struct extent_place *p, struct db *db, int64_t *out);
