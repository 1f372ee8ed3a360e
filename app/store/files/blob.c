#include "store/blob.h"

#include "base/file.h"
#include "base/folder.h"
#include "digest.h"
#include "orphans.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define BLOB_PREFIX "blob-"
#define SUFFIX      ".pb.gz"
#define FILE_MODE   0640
#define FOLDER_LEN  2
#define NAME_TRIES  3

bool
blob_name_valid(const char *name)
{
	static const char folder[] = "abcdefghijklmnopqrstuvwxyz234567";
	size_t n = strlen(name), tail = strlen(SUFFIX);

	return n < BLOB_NAME_MAX && n > tail &&
	       strspn(name, folder) == FOLDER_LEN && name[FOLDER_LEN] == '/' &&
	       id_valid(BLOB_PREFIX, name + FOLDER_LEN + 1) &&
	       !strcmp(name + n - tail, SUFFIX);
}

void
blob_close(struct blob_writer *w)
{
	if (w->fd < 0)
		return;
	if (!w->sealed)
		unlinkat(w->dir_fd, w->blob.name, 0);
	close_ptr(&w->fd);
}

/* Creates an empty file whose name survives a crash. */
static int
place(struct blob_writer *w)
{
	const char *name = w->blob.name;
	char folder[FOLDER_LEN + 1] = {name[0], name[1], '\0'};
	CLEANUP_FD int fd = -1;
	int rc = folder_make(w->dir_fd, folder, &fd);

	if (rc)
		return rc;
	w->fd = openat(w->dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
	               FILE_MODE);
	if (w->fd < 0)
		return -errno;
	rc = orphans_lock(w->fd);
	return rc ? rc : fsync(fd) ? -errno : 0;
}

/* A file with a name of its own; -EAGAIN: try another name. */
static int
create(struct store *s, const char *kind, struct blob_writer *out)
{
	CLEANUP_BLOB_WRITER struct blob_writer w = {.fd = -1,
	                                            .dir_fd = s->profiles_fd};
	struct blob *b = &w.blob;
	int rc;

	snprintf(b->kind, sizeof(b->kind), "%s", kind);
	id_new(BLOB_PREFIX, b->id);
	snprintf(b->name, sizeof(b->name), "%.*s/%s" SUFFIX, FOLDER_LEN,
	         b->id + strlen(BLOB_PREFIX), b->id);
	rc = place(&w);
	if (rc)
		return rc;
	*out = w;
	w.fd = -1;
	return 0;
}

int
blob_create(struct store *s, const char *kind, struct blob_writer *out)
{
	int rc = -EAGAIN;

	for (int i = 0; i < NAME_TRIES && rc == -EAGAIN; i++)
		rc = create(s, kind, out);
	return rc;
}

static int
measure(int fd, struct blob *b)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (st.st_size > BLOB_MAX_BYTES)
		return -EFBIG;
	b->length = st.st_size;
	return digest_file(fd, b->length, b->checksum);
}

int
blob_seal(struct blob_writer *w, struct blob *out)
{
	struct blob b = w->blob;
	int rc = measure(w->fd, &b);

	if (!rc && fsync(w->fd))
		rc = -errno;
	if (rc) {
		blob_close(w);
		return rc;
	}
	w->sealed = true;
	*out = b;
	return 0;
}

int
blob_put(struct store *s, const char *kind, const void *p, size_t n,
         struct blob_writer *w, struct blob *out)
{
	CLEANUP_BLOB_WRITER struct blob_writer new = BLOB_WRITER_INIT;
	int rc = blob_create(s, kind, &new);

	if (!rc)
		rc = fd_write_all(new.fd, p, n);
	if (!rc)
		rc = blob_seal(&new, out);
	if (rc)
		return rc;
	*w = new;
	new.fd = -1;
	return 0;
}

void
blob_discard(struct store *s, const struct blob *b)
{
	if (blob_name_valid(b->name))
		unlinkat(s->profiles_fd, b->name, 0);
}

int
blob_of_session(struct store *s, const char *session, const char *kind,
                struct blob *out)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	struct blob b = {0};
	int rc = db_query(s->db, SQL_BLOB_OF_SESSION, ARGS(V(session), V(kind)),
	                  &rows);

	if (!rc)
		rc = db_next(&rows);
	if (rc <= 0)
		return rc ? rc : -ENOENT;
	snprintf(b.id, sizeof(b.id), "%s", db_col_text(&rows, 0));
	snprintf(b.kind, sizeof(b.kind), "%s", db_col_text(&rows, 1));
	snprintf(b.name, sizeof(b.name), "%s", db_col_text(&rows, 2));
	snprintf(b.checksum, sizeof(b.checksum), "%s", db_col_text(&rows, 3));
	b.start = db_col_int(&rows, 4);
	b.length = db_col_int(&rows, 5);
	*out = b;
	return 0;
}

/* The API's user and the worker's may both have written the row and the file:
 * the name is checked, and what is opened is a regular file of the folder. */
int
blob_open(const struct store *s, const struct blob *b, int *out_fd)
{
	CLEANUP_FD int fd = -1;
	struct stat st;

	if (!blob_name_valid(b->name))
		return -EBADMSG;
	fd = openat(s->profiles_fd, b->name,
	            O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size != b->length)
		return -EBADMSG;
	*out_fd = TAKE_FD(fd);
	return 0;
}

int
blob_raw_bytes(const struct store *s, const struct blob *b, uint32_t *out)
{
	unsigned char le[4];
	CLEANUP_FD int fd = -1;
	int rc = blob_open(s, b, &fd);

	if (rc)
		return rc;
	if (pread(fd, le, sizeof(le), b->length - (off_t)sizeof(le)) !=
	    (ssize_t)sizeof(le))
		return -EBADMSG;
	*out = (uint32_t)le[3] << 24 | (uint32_t)le[2] << 16 |
	       (uint32_t)le[1] << 8 | le[0];
	return 0;
}

int
blob_read(const struct store *s, const struct blob *b, struct buf *out)
{
	char checksum[DIGEST_CHARS];
	CLEANUP_FD int fd = -1;
	size_t from = out->len;
	int rc = blob_open(s, b, &fd);

	if (!rc)
		rc = fd_read_all(fd, out);
	if (!rc)
		rc = digest(out->p + from, out->len - from, checksum);
	if (rc)
		return rc;
	return strcmp(checksum, b->checksum) ? -EBADMSG : 0;
}
