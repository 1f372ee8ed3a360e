/*
 * Counted files, as a disk or an attacker may have changed them: decoded on a
 * base of a few stacks, added up with it, and kept as parts of another sum. The
 * input is what is inside the gzip member of the counts.
 */
#include "base/counted.h"
#include "lib/gzip_room.h"
#include "profile/merge.h"

#include <assert.h>

#define MAX_BYTES ((size_t)1 << 20)
#define STACKS    6

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
add_stack(struct profile *p, uint32_t i)
{
	const char *names[] = {"main", "work", "read", "sort"};
	const int64_t values[] = {i, i * 1000};
	uint32_t stack[3], depth = i % 3 + 1;

	for (uint32_t k = 0; k < depth; k++) {
		struct function f = {0};
		struct line line = {.line = 1};
		const char *name = names[(i + k) % ARRAY_LEN(names)];

		assert(!profile_cstring(p, name, &f.name) &&
		       !profile_function(p, &f, &line.function) &&
		       !profile_location(p, PROFILE_NONE, line.function, &line,
		                         1, &stack[k]));
	}
	assert(!profile_sample(p, stack, depth, NULL, 0, values));
}

/* Appends the base, as a packed file. */
static void
put_base(struct buf *out)
{
	CLEANUP_PROFILE struct profile *p = profile_new();
	CLEANUP_MERGE struct merge *m = NULL;

	assert(p && !profile_type(p, "samples", "count") &&
	       !profile_type(p, "cpu", "nanoseconds"));
	for (uint32_t i = 1; i <= STACKS; i++)
		add_stack(p, i);
	assert(!merge_new(MAX_BYTES, &m) && !merge_add(m, p) &&
	       !merge_encode(m, out));
}

/* A sum of both has the rows of the base. */
static void
add_up(const struct buf *base, const struct packed *k, struct buf *why)
{
	CLEANUP_MERGE struct merge *m = NULL;
	CLEANUP_PROFILE struct profile *p = NULL;
	int rc;

	assert(!merge_new(MAX_BYTES, &m) &&
	       !merge_add_file(m, base->p, base->len, MAX_BYTES, why));
	rc = merge_add_packed(m, k);
	assert(!rc || rc == -EOVERFLOW);
	if (!rc)
		rc = merge_end(m, &p);
	assert(rc || p->nsamples == STACKS);
}

/* The part of the base that a sum keeps must be readable again. */
static void
keep(const struct buf *base, const struct buf *counts, struct buf *why)
{
	CLEANUP_MERGE struct merge *m = NULL;
	CLEANUP_BUF struct buf out = BUF_INIT(MAX_BYTES);
	CLEANUP_BUF struct buf again = BUF_INIT(MAX_BYTES);
	CLEANUP_PACKED struct packed k = {0};
	struct bundle parts;
	uint32_t length;

	assert(!merge_new(MAX_BYTES, &m));
	merge_keep_parts(m);
	assert(!merge_add_file(m, base->p, base->len, MAX_BYTES, why));
	if (merge_add_file(m, counts->p, counts->len, MAX_BYTES, why))
		return;
	assert(!merge_encode(m, &out) && !bundle_read(out.p, out.len, &parts) &&
	       parts.n == 2);
	length = bundle_length(&parts, 1);
	buf_add(&again, out.p + parts.bytes - length, length);
	buf_add(&again, out.p, parts.base);
	(void)!packed_decode(again.p, again.len, MAX_BYTES, &k, why);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP_BUF struct buf base = BUF_INIT(MAX_BYTES);
	CLEANUP_BUF struct buf gzip = BUF_INIT(MAX_BYTES);
	CLEANUP_BUF struct buf counts = BUF_INIT(MAX_BYTES);
	CLEANUP_BUF struct buf file = BUF_INIT(MAX_BYTES);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PACKED struct packed k = {0};

	gzip_room_keep();
	put_base(&base);
	gzip_store(data, n, &gzip);
	buf_puts(&counts, COUNTED_MAGIC);
	counted_put(&counts, (uint32_t)base.len);
	counted_put(&counts, (uint32_t)base.len);
	counted_put(&counts, (uint32_t)gzip.len);
	buf_add(&counts, gzip.p, gzip.len);
	buf_add(&file, counts.p, counts.len);
	buf_add(&file, base.p, base.len);
	if (!packed_decode(file.p, file.len, MAX_BYTES, &k, &why))
		add_up(&base, &k, &why);
	keep(&base, &counts, &why);
	return 0;
}
