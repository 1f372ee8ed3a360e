#include "base/counted.h"
#include "base/file.h"
#include "store/bytes.h"
#include "store/files/digest.h"
#include "store/files/orphans.h"
#include "window_private.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MODE  0640
#define NAME_TRIES 3

static_assert(WINDOW_CHECKSUM == DIGEST_CHARS, "one checksum");
static_assert(sizeof(((struct window *)0)->store) == BYTES_STORE, "one store");
static_assert(sizeof(((struct segment *)0)->name) >= BYTES_NAME_MAX &&
                      sizeof(((struct segment *)0)->name) >= SEGMENT_NAME,
              "one name");

int
segment_name(const char *id, char out[static SEGMENT_NAME])
{
	if (strlen(id) >= ID_MAX || !id_valid(SEGMENT_PREFIX, id))
		return -EBADMSG;
	snprintf(out, SEGMENT_NAME, "%s" SEGMENT_SUFFIX, id);
	return 0;
}

bool
segment_in_db(const char *id)
{
	return !strncmp(id, BYTES_SEGMENT_PREFIX, strlen(BYTES_SEGMENT_PREFIX));
}

const char *
segment_host(const struct store *s)
{
	return db_is_shared(s->db) ? "" : s->host;
}

/* Creates a file with a new name; -EAGAIN: try another name. */
static int
create(struct store *s, const char *host, struct segment *out)
{
	CLEANUP_SEGMENT struct segment g = {.fd = -1, .host = host, .store = s};
	int rc;

	id_new(SEGMENT_PREFIX, g.id);
	rc = segment_name(g.id, g.name);
	if (rc)
		return rc;
	g.fd = openat(s->segments_fd, g.name,
	              O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
	if (g.fd < 0)
		return -errno;
	rc = orphans_lock(g.fd);
	if (!rc && fsync(s->segments_fd))
		rc = -errno;
	if (rc)
		return rc;
	*out = g;
	g.fd = -1;
	return 0;
}

int
segment_create(struct store *s, const char *host, struct segment *out)
{
	int rc = -EAGAIN;

	if (db_is_shared(s->db)) {
		*out = (struct segment){
			.fd = -1,
			.host = "",
			.store = s,
			.bytes = BUF_INIT(SEGMENT_MAX_BYTES),
		};
		bytes_name_new(BYTES_SEGMENT_PREFIX, out->id, out->name);
		return 0;
	}
	for (int i = 0; i < NAME_TRIES && rc == -EAGAIN; i++)
		rc = create(s, host, out);
	return rc;
}

void
segment_close(struct segment *g)
{
	close_ptr(&g->fd);
	buf_done(&g->bytes);
}

static int
write_at(int fd, const char *p, size_t n, int64_t start)
{
	while (n) {
		ssize_t done = pwrite(fd, p, n, start);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		p += done;
		start += done;
		n -= (size_t)done;
	}
	return 0;
}

static int
keep(struct segment *g, const void *p, size_t n)
{
	if (g->fd >= 0)
		return write_at(g->fd, p, n, g->length);
	buf_add(&g->bytes, p, n);
	return buf_err(&g->bytes);
}

int
segment_append(struct segment *g, const void *p, size_t n, struct window_ask *w)
{
	char checksum[DIGEST_CHARS];
	int rc;

	if (n > (size_t)WINDOW_MAX_BYTES)
		return -EFBIG;
	rc = digest(p, n, checksum) ?: keep(g, p, n);
	if (rc)
		return rc;
	memcpy(w->checksum, checksum, sizeof(checksum));
	w->start = g->length;
	w->length = (int64_t)n;
	g->length += (int64_t)n;
	return 0;
}

int
segment_sync(struct segment *g)
{
	int hold;

	if (g->fd >= 0)
		return fdatasync(g->fd) ? -errno : 0;
	if (!g->length)
		return 0; /* windows without samples */
	return bytes_put(g->store, BYTES_DB, g->name, g->bytes.p, g->bytes.len,
	                 &hold);
}

static int
read_segment(const struct store *s, const struct window *w, struct buf *out)
{
	char name[SEGMENT_NAME];
	CLEANUP_FD int fd = -1;
	int rc = segment_name(w->segment, name);

	if (rc)
		return rc;
	fd = openat(s->segments_fd, name,
	            O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -errno : fd_read_at(fd, w->start, w->length, out);
}

/* Appends bytes from the place that a window names. */
static int
read_bytes(const struct store *s, const struct window *w, struct buf *out)
{
	const struct piece piece = {w->whole, w->start, w->length};

	if (w->start < 0 || w->length < 0 || w->length > WINDOW_MAX_BYTES)
		return -EBADMSG;
	return *w->store ? bytes_get(s, w->store, w->segment, &piece, out)
	                 : read_segment(s, w, out);
}

int
window_read_own(const struct store *s, const struct window *w,
                struct window *base, struct buf *out)
{
	char checksum[DIGEST_CHARS];
	struct counted head;
	size_t from = out->len;
	int rc = read_bytes(s, w, out);

	rc = rc ?: digest(out->p + from, (size_t)w->length, checksum);
	if (!rc && strcmp(checksum, w->checksum))
		rc = -EBADMSG;
	if (rc) {
		out->len = from;
		return rc;
	}
	*base = *w;
	base->length = 0;
	if (!counted_alone(out->p + from, (size_t)w->length, &head))
		return 0; /* as in a store that was moved */
	base->start -= head.distance;
	base->length = head.base;
	return 0;
}

int
window_read_base(const struct store *s, const struct window *base,
                 struct buf *out)
{
	return read_bytes(s, base, out);
}

int
window_read(const struct store *s, const struct window *w, struct buf *out)
{
	struct window base;
	size_t from = out->len;
	int rc = window_read_own(s, w, &base, out);

	if (!rc && base.length)
		rc = window_read_base(s, &base, out);
	if (rc)
		out->len = from;
	return rc;
}
