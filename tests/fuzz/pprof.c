/*
 * Uploaded pprof files are decoded, drawn in every format, written and read
 * again.
 */
#include "profile/pprof.h"
#include "lib/gzip_room.h"
#include "lib/same_profile.h"
#include "profile/export.h"
#include "profile/merge.h"
#include "profile/summary.h"

#include <assert.h>

#define MAX_BYTES ((size_t)1 << 20)
#define MAX_VIEW  ((size_t)16 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
draw(const struct profile *p, uint32_t type)
{
	static const struct export_meta meta = {
		.title = "t", .id = "i", .service = "s", .type = "cpu"};
	CLEANUP_BUF struct buf out = BUF_INIT(MAX_VIEW);
	CLEANUP_TREE struct tree *t = NULL;

	if (tree_new(p, type, &t))
		return;
	for (size_t i = 0; i < nformats; i++) {
		buf_clear(&out);
		(void)formats[i].write(t, &meta, &out);
	}
	buf_clear(&out);
	(void)!summary_top(t, 0, &out);
}

/* A written profile must be read back unchanged. */
static void
write_again(const struct profile *p)
{
	CLEANUP_BUF struct buf file = BUF_INIT(MAX_VIEW);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PROFILE struct profile *again = NULL;
	int r = pprof_encode(p, &file);

	assert(r == 0);
	r = pprof_decode(file.p, file.len, MAX_VIEW, &again, &why);
	assert(r == 0);
	assert(!profile_differs(p, again));
}

/* Merged with itself, a profile gets no new rows, and can be written. */
static void
merge_twice(const struct profile *p)
{
	CLEANUP_BUF struct buf file = BUF_INIT(MAX_VIEW);
	CLEANUP_PROFILE struct profile *both = NULL;
	CLEANUP_MERGE struct merge *m = NULL;

	assert(!merge_new(MAX_VIEW, &m));
	if (merge_add(m, p) || merge_add(m, p))
		return;
	assert(!merge_end(m, &both));
	assert(both->nsamples <= p->nsamples);
	assert(both->nlocations <= p->nlocations);
	assert(!pprof_encode(both, &file));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PROFILE struct profile *p = NULL;
	int r = pprof_decode(data, n, MAX_BYTES, &p, &why);

	gzip_room_keep();
	if (r) {
		assert(!p && why.len);
		return 0;
	}
	for (uint32_t type = 0; type < p->ntypes; type++)
		draw(p, type);
	write_again(p);
	merge_twice(p);
	return 0;
}
