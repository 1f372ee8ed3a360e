#include "pushed.h"

#include "base/file.h"
#include "base/log.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

_Static_assert(DEBUG_FILE_WANTED <= WORKER_MAX_PUSHED,
               "all files that a session wants are sent");

/* Copies bytes that are not in a file. */
static int
copy_blob(struct store *s, const struct blob *b, int *out)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT((size_t)b->length);
	CLEANUP_FD int fd = memfd_create("stoker-pushed", MFD_CLOEXEC);
	int rc = fd < 0 ? -errno : blob_read(s, b, &bytes);

	rc = rc ?: fd_write_all(fd, bytes.p, bytes.len);
	if (!rc)
		*out = TAKE_FD(fd);
	return rc;
}

/* Opens a file; a copy takes its bytes from *left.
 *   Errors   -E2BIG there are too few left */
static int
open_file(struct store *s, const char *id, int64_t *left, int *out)
{
	struct blob b;
	int rc = blob_of_session(s, id, BLOB_DEBUG, &b)
	                 ?: blob_open(s, &b, out);

	if (rc != -ENOTSUP)
		return rc;
	if (b.length > *left)
		return -E2BIG;
	*left -= b.length;
	return copy_blob(s, &b, out);
}

void
pushed_open(struct pushed *p, struct store *s, const struct debug_file_uses *l,
            int64_t max_copied)
{
	p->n = 0;
	for (size_t i = 0; i < l->n && p->n < WORKER_MAX_PUSHED; i++) {
		const struct debug_file_use *u = &l->items[i];
		struct msg_pushed *row = &p->rows[p->n];
		int rc = open_file(s, u->id, &max_copied, &p->fds[p->n]);

		if (rc) {
			log_warn("%s is left out: %s", u->id,
			         rc == -E2BIG ? "too many bytes to copy at once"
			                      : strerror(-rc));
			continue;
		}
		snprintf(p->ids[p->n], ID_MAX, "%s", u->id);
		snprintf(row->wanted, sizeof(row->wanted), "%s", u->wanted);
		snprintf(row->build_id, sizeof(row->build_id), "%s",
		         u->build_id);
		p->n++;
	}
}

static void
close_files(struct pushed *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		close_ptr(&p->fds[i]);
}

int
pushed_send(struct pushed *p, int socket, struct msg_symbolize *m,
            const int fds[static 2])
{
	int all[2 + WORKER_MAX_PUSHED] = {fds[0], fds[1]};
	int rc;

	m->npushed = p->n;
	memcpy(m->pushed, p->rows, p->n * sizeof(*p->rows));
	memcpy(all + 2, p->fds, p->n * sizeof(*p->fds));
	rc = msg_send(socket, m, sizeof(*m), all, 2 + p->n);
	close_files(p);
	return rc;
}

void
pushed_report(struct pushed *p, struct store *s, const struct msg_done *done)
{
	for (uint32_t i = 0; i < p->n; i++) {
		bool refused = done->pushed_refused >> i & 1;
		int rc = 0;

		if (refused)
			log_warn("%s does not name functions of build-id %s",
			         p->ids[i], p->rows[i].build_id);
		if (refused || done->pushed_used >> i & 1)
			rc = debug_file_report(s, p->ids[i], refused);
		if (rc)
			log_warn("%s: %s", p->ids[i], strerror(-rc));
	}
}

void
pushed_close(struct pushed *p)
{
	close_files(p);
	p->n = 0;
}
