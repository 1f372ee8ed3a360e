/*
 * Damaged or hostile packed files are decoded, added up, drawn, written and
 * read again. The input is the content of the gzip member, whose checksum a
 * fuzzer would not find.
 */
#include "lib/gzip_room.h"
#include "profile/export.h"
#include "profile/merge.h"

#include <assert.h>

#define MAX_BYTES ((size_t)1 << 20)
#define MAX_VIEW  ((size_t)16 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
draw(struct packed *k)
{
	static const struct export_meta meta = {
		.title = "t", .id = "i", .service = "s", .type = "cpu"};
	CLEANUP_BUF struct buf out = BUF_INIT(MAX_VIEW);
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_TREE struct tree *t = NULL;

	if (!packed_profile(k, MAX_VIEW, &p) && !tree_new(p, 0, &t))
		(void)!format_find("folded")->write(t, &meta, &out);
}

/* The sum, written and read again, has no more rows. */
static void
add_up(const struct packed *k)
{
	CLEANUP_MERGE struct merge *m = NULL;
	CLEANUP_BUF struct buf file = BUF_INIT(MAX_VIEW);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PACKED struct packed again = {0};

	assert(!merge_new(MAX_VIEW, &m));
	if (merge_add_packed(m, k) || merge_add_packed(m, k))
		return;
	assert(!merge_encode(m, &file));
	assert(!packed_decode(file.p, file.len, MAX_VIEW, &again, &why));
	assert(again.p->nsamples <= k->p->nsamples);
	assert(again.p->nlocations <= k->p->nlocations);
	assert(again.nnodes <= k->nnodes);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP_BUF struct buf file = BUF_INIT(MAX_VIEW);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PACKED struct packed k = {0};

	gzip_room_keep();
	buf_puts(&file, PACKED_MAGIC);
	gzip_store(data, n, &file);
	if (packed_decode(file.p, file.len, MAX_BYTES, &k, &why)) {
		assert(!k.p && why.len);
		return 0;
	}
	add_up(&k);
	draw(&k);
	return 0;
}
