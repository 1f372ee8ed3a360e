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

#define MAX_RAW ((size_t)256 << 20) /* bytes of one sum */

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

/* Returns a function's share, callees included; recursion counts once. */
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
		rc = merge_encode(m, out);
	return rc ? rc : shares_of(m, &functions, shares);
}

static int
write_sums(const struct analyser_batch *b, const char *p, size_t n)
{
	struct input in = {p, n};
	struct rollup_row row = {0};
	struct rollup_piece piece;
	int rc = 0;

	while (!rc && next_piece(&in, &piece)) {
		CLEANUP_BUF struct buf sum =
			BUF_INIT((size_t)WORKER_MAX_WINDOW);

		memset(row.shares, 0, sizeof(row.shares));
		row.group = piece.group;
		row.failed = sum_group(&in, piece.group, piece.parts, &sum,
		                       row.shares) != 0;
		row.length = row.failed ? 0 : sum.len;
		rc = fd_write_all(b->data, sum.p, (size_t)row.length);
		if (!rc)
			rc = fd_write_all(b->rows, &row, sizeof(row));
		row.offset += row.length;
	}
	return rc;
}

const struct analyser_batch_kind analyser_rollup = {MSG_ROLLED, "rollups",
                                                    write_sums};
