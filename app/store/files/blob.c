#include "store/blob.h"

#include "bytes_file.h"
#include "digest.h"
#include "store/s3.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define NAME_TRIES 3
#define ISIZE      4 /* bytes of gzip's field */

void
blob_close(struct blob_writer *w)
{
	if (w->fd < 0)
		return;
	if (!w->sealed)
		unlinkat(w->dir_fd, w->blob.name, 0);
	close_ptr(&w->fd);
}

/* Makes a named blob without bytes. */
static struct blob
name_blob(const char *kind, const char *driver)
{
	struct blob b = {0};

	snprintf(b.kind, sizeof(b.kind), "%s", kind);
	snprintf(b.store, sizeof(b.store), "%s", driver);
	bytes_name_new(strcmp(kind, BLOB_BLOCK) != 0 ? BLOB_PREFIX
	                                             : BLOB_BLOCK_PREFIX,
	               b.id, b.name);
	return b;
}

int
blob_create(struct store *s, const char *kind, struct blob_writer *out)
{
	struct blob_writer w = {.fd = -1, .dir_fd = s->profiles_fd};
	int rc = -EAGAIN;

	for (int i = 0; i < NAME_TRIES && rc == -EAGAIN; i++) {
		w.blob = name_blob(kind, BYTES_FILE);
		rc = bytes_file_create(w.dir_fd, w.blob.name, &w.fd);
	}
	if (!rc)
		*out = w;
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
	struct blob_writer new = {.fd = -1, .dir_fd = -1, .sealed = true};
	struct blob *b = &new.blob;
	char checksum[DIGEST_CHARS];
	int rc = n > BLOB_MAX_BYTES ? -EFBIG : digest(p, n, checksum);

	if (rc)
		return rc;
	rc = -EAGAIN;
	for (int i = 0; i < NAME_TRIES && rc == -EAGAIN; i++) {
		*b = name_blob(kind, s->bytes ?: BYTES_FILE);
		rc = bytes_put(s, b->store, b->name, p, n, &new.fd);
	}
	if (rc)
		return rc;
	b->length = (int64_t)n;
	memcpy(b->checksum, checksum, sizeof(b->checksum));
	*out = *b;
	*w = new;
	return 0;
}

void
blob_discard(struct store *s, const struct blob *b)
{
	(void)!bytes_drop(s, b->store, b->name);
}

int
blob_of_session(struct store *s, const char *session, const char *kind,
                struct blob *out)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	struct blob b = {0};
	int rc = db_first(s->db, SQL_BLOB_OF_SESSION, ARGS(V(session), V(kind)),
	                  &rows);

	if (rc)
		return rc;
	snprintf(b.id, sizeof(b.id), "%s", db_col_text(&rows, 0));
	snprintf(b.kind, sizeof(b.kind), "%s", db_col_text(&rows, 1));
	snprintf(b.name, sizeof(b.name), "%s", db_col_text(&rows, 2));
	snprintf(b.checksum, sizeof(b.checksum), "%s", db_col_text(&rows, 3));
	b.start = db_col_int(&rows, 4);
	b.length = db_col_int(&rows, 5);
	snprintf(b.store, sizeof(b.store), "%s", db_col_text(&rows, 6));
	*out = b;
	return 0;
}

int
blob_open(const struct store *s, const struct blob *b, int *out_fd)
{
	if (strcmp(b->store, BYTES_FILE) != 0)
		return -ENOTSUP;
	if (!bytes_name_valid(b->name))
		return -EBADMSG;
	return bytes_file_open(s->profiles_fd, b->name, b->length, out_fd);
}

int
blob_location(const struct store *s, const struct blob *b, int64_t now_ms,
              struct buf *out)
{
	bool is_file = !strcmp(b->store, BYTES_FILE);

	if (!bytes_name_valid(b->name))
		return -EBADMSG;
	if (!strcmp(b->store, BYTES_DB))
		return 1;
	buf_puts(out, is_file ? "/_profiles/" : "/_objects");
	if (is_file)
		buf_puts(out, b->name);
	else if (s->s3 && !strcmp(b->store, BYTES_S3))
		return s3_presign(s->s3, b->name, now_ms, out);
	else
		return -ENOTSUP;
	return buf_err(out);
}

static int
get(const struct store *s, const struct blob *b, int64_t start, int64_t n,
    struct buf *out)
{
	struct piece piece = {b->length, start, n};

	return bytes_get(s, b->store, b->name, &piece, out);
}

int
blob_raw_bytes(const struct store *s, const struct blob *b, uint32_t *out)
{
	CLEANUP_BUF struct buf tail = BUF_INIT(ISIZE);
	int rc = get(s, b, b->length - ISIZE, ISIZE, &tail);
	const unsigned char *le = (const unsigned char *)tail.p;

	if (rc)
		return rc;
	*out = (uint32_t)le[3] << 24 | (uint32_t)le[2] << 16 |
	       (uint32_t)le[1] << 8 | le[0];
	return 0;
}

int
blob_read(const struct store *s, const struct blob *b, struct buf *out)
{
	char checksum[DIGEST_CHARS];
	size_t from = out->len;
	int rc = get(s, b, 0, b->length, out)
	                 ?: digest(out->p + from, out->len - from, checksum);

	return rc ? rc : strcmp(checksum, b->checksum) ? -EBADMSG : 0;
}
