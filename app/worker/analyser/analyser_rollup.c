/*
 * Adds up windows: a child reads profiles from one file and writes sums to
 * another. An analyser wrote the profiles, but they are not trusted.
 */
#include "analyser.h"

#include "base/file.h"
#include "base/log.h"
#include "profile/merge.h"
#include "profile/tree.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define MAX_RAW ((size_t)256 << 20) /* bytes of one sum */

/* --- in the child --------------------------------------------------------- */

struct input {
	const char *p;
	size_t left;
};

/* Returns the next piece; NULL at the end, or if the piece is malformed. */
static const char *
next_piece(struct input *in, struct rollup_piece *piece)
{
	const char *bytes;

	if (in->left < sizeof(*piece))
		return NULL;
	memcpy(piece, in->p, sizeof(*piece));
	bytes = in->p + sizeof(*piece);
	if (piece->length > in->left - sizeof(*piece))
		return NULL;
	return bytes;
}

/* Names of functions, which point into the input. */
struct functions {
	struct {
		const char *p;
		size_t n;
	} names[ROLLUP_MAX_FUNCTIONS];
	size_t n;
};

/* Adds the pieces of one group, and stops before the next. */
static int
add_group(struct input *in, uint32_t group, struct merge *m,
          struct functions *f)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct rollup_piece piece;
	const char *bytes;
	int rc = 0;

	while ((bytes = next_piece(in, &piece)) && piece.group == group) {
		if (piece.function && f->n < ROLLUP_MAX_FUNCTIONS) {
			f->names[f->n].p = bytes;
			f->names[f->n++].n = piece.length;
		}
		if (!rc && !piece.function)
			rc = merge_add_file(m, bytes, piece.length, MAX_RAW,
			                    &why);
		in->p = bytes + piece.length;
		in->left -= sizeof(piece) + piece.length;
	}
	if (rc)
		log_debug("rollup: %s %s", strerror(-rc), buf_str(&why));
	return rc;
}

/* Returns a function's share, with the functions that it calls; recursion
 * counts once. */
static double
share_of(const struct tree *t, const struct top_entry *top, uint32_t n,
         const char *name, size_t length)
{
	for (uint32_t i = 0; i < n; i++) {
		size_t len;
		const char *s = tree_name(t, top[i].name, &len);

		if (len == length && !memcmp(s, name, len))
			return 100.0 * (double)top[i].total /
			       (double)t->total[0];
	}
	return 0;
}

/* Computes shares in the merged profile, and ends the merge. */
static int
shares_of(struct merge *m, const struct functions *f, double *out)
{
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_TREE struct tree *t = NULL;
	CLEANUP_FREE struct top_entry *top = NULL;
	uint32_t n = 0;
	int rc = f->n ? merge_end(m, &p) : -ENODATA;

	if (!rc)
		rc = tree_functions(p, profile_type_index(p, NULL), &t);
	if (!rc)
		rc = t->total[0] > 0 ? tree_top(t, 0, &top, &n) : -ENODATA;
	for (size_t i = 0; i < f->n && !rc; i++)
		out[i] = share_of(t, top, n, f->names[i].p, f->names[i].n);
	return rc == -ENODATA ? 0 : rc;
}

static int
sum_group(struct input *in, uint32_t group, bool parts, struct buf *out,
          double *shares)
{
	struct functions functions = {.n = 0};
	CLEANUP_MERGE struct merge *m = NULL;
	int rc = merge_new(MAX_RAW, &m);

	if (!rc && parts)
		merge_keep_parts(m);
	else if (!rc) /* a day has no ids: its hours keep them */
		merge_forget_ids(m);
	if (!rc)
		rc = add_group(in, group, m, &functions);
	if (!rc)
		rc = parts ? merge_encode_parts(m, out) : merge_encode(m, out);
	return rc ? rc : shares_of(m, &functions, shares);
}

static int
write_sums(struct input *in, const struct analyser_rollup *r)
{
	struct rollup_row row = {0};
	struct rollup_piece piece;
	int rc = 0;

	while (!rc && next_piece(in, &piece)) {
		CLEANUP_BUF struct buf sum =
			BUF_INIT((size_t)WORKER_MAX_WINDOW);

		memset(row.shares, 0, sizeof(row.shares));
		row.group = piece.group;
		row.failed = sum_group(in, piece.group, piece.parts, &sum,
		                       row.shares) != 0;
		row.length = row.failed ? 0 : sum.len;
		rc = fd_write_all(r->data, sum.p, (size_t)row.length);
		if (!rc)
			rc = fd_write_all(r->rows, &row, sizeof(row));
		row.offset += row.length;
	}
	return rc;
}

static bool
be_roller(const struct analyser *a, const struct host *host, void *arg)
{
	const struct analyser_rollup *r = arg;
	struct stat st;
	void *p;

	(void)host;
	recorder_drop_trees(a->captures, NULL);
	if (fstat(r->input, &st) || !st.st_size)
		return false;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, r->input, 0);
	if (p == MAP_FAILED)
		return false;
	if (write_sums(&(struct input){p, (size_t)st.st_size}, r))
		log_debug("rollups are not written");
	return false;
}

/* --- in the analyser ------------------------------------------------------ */

static void
clear(struct analyser_rollup *r)
{
	close_ptr(&r->input);
	close_ptr(&r->data);
	close_ptr(&r->rows);
	*r = (struct analyser_rollup){.input = -1, .data = -1, .rows = -1};
}

static void
send_rolled(const struct analyser *a, enum capture_error error)
{
	const struct analyser_rollup *r = &a->rollup;
	struct msg_rolled m = {.type = MSG_ROLLED, .error = error};
	int fds[] = {r->data, r->rows};

	if (msg_send(a->socket, &m, sizeof(m), fds,
	             r->rows < 0 ? 0 : ARRAY_LEN(fds)))
		log_debug("nobody hears of rollups");
}

static int
start(struct analyser *a)
{
	struct analyser_rollup *r = &a->rollup;

	if (r->input < 0)
		return -EBADF;
	r->data = memfd_create("stoker-rollups", MFD_CLOEXEC);
	r->rows = memfd_create("stoker-rollup-rows", MFD_CLOEXEC);
	if (r->data < 0 || r->rows < 0)
		return -errno;
	return analyser_fork(a, be_roller, r, &r->pid);
}

void
analyser_rollup(struct analyser *a, int input)
{
	int rc;

	if (a->rollup.pid) { /* the last answer is not sent yet */
		close_ptr(&input);
		return;
	}
	clear(&a->rollup);
	a->rollup.input = input;
	rc = start(a);
	if (rc) {
		clear(&a->rollup);
		send_rolled(a, analyser_error(rc));
	}
}

void
analyser_rollup_ended(struct analyser *a, pid_t pid, bool good)
{
	if (!a->rollup.pid || a->rollup.pid != pid)
		return;
	send_rolled(a, good ? CAPTURE_OK : CAPTURE_FINISH_DIED);
	clear(&a->rollup);
}
