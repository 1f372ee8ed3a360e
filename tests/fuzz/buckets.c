/*
 * The memory of a hostile Go process with profiles. An input is a version of
 * Go, the kind of list, and the bytes from BASE on: the list's head, the cycle
 * and the buckets. They also serve as the code that is searched for variables.
 */
#include "capture/buckets/bucket_rows.h"
#include "capture/gobin/go_code.h"
#include "lib/memory_image.h"

#include <string.h>

#define BASE   UINT64_C(0xc000000000)
#define FIRST  19 /* version of Go */
#define HIGHER 9  /* later versions */

struct head {
	uint8_t minor, list, rest[6];
};

static volatile size_t sink; /* so that no read is left out */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
search_code(const uint8_t *p, size_t n)
{
	for (enum go_use use = GO_ADDRESS; use <= GO_COMPARE; use++) {
		struct go_operands o = {.n = 0};

		go_code_operands(p, n, BASE, use, BASE, BASE + (1u << 20), &o);
		sink += o.n;
	}
}

/* Rows without the program's functions, so with empty stacks. */
static void
make_rows(const struct go_profiles *from, enum profile_type_id type,
          struct go_buckets *before, const struct go_buckets *after)
{
	CLEANUP_PROFILE struct profile *p = profile_new();
	struct quality q = {0};
	CLEANUP(bucket_rows_done)
	struct bucket_rows rows = {
		.type = type,
		.from = from,
		.rate = 512 << 10,
		.elapsed = {1000000, 500000, UINT64_C(1) << 40},
		.frames = {.p = p},
		.p = p,
		.q = &q,
	};

	for (uint32_t i = 0; i < after->addrs.n; i++)
		if (go_bucket(after, i)->nstack)
			return;
	if (p && !buckets_header(p, type, rows.rate) &&
	    !bucket_rows_add(&rows, before, after))
		sink += (size_t)q.kept + p->nsamples;
}

static void
read_stacks(const struct go_buckets *b)
{
	for (uint32_t i = 0; i < b->addrs.n; i++) {
		const uint64_t *pcs = go_bucket_stack(b, go_bucket(b, i));

		for (uint32_t k = 0; k < go_bucket(b, i)->nstack; k++)
			sink += pcs[k];
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP(go_buckets_done) struct go_buckets none = {0};
	CLEANUP(go_buckets_done) struct go_buckets now = {0};
	struct memory_image image = {.base = BASE};
	struct host host = memory_image_host(&image);
	static struct memory_spare spare; /* for all inputs */
	const struct memory memory = {&host, 1, &spare};
	struct go_profiles p = {.mem = &memory, .cycle = BASE + 8};
	struct head head;
	enum go_list list;

	if (n < sizeof(head))
		return 0;
	memcpy(&head, data, sizeof(head));
	image.bytes = data + sizeof(head);
	image.n = n - sizeof(head);
	search_code(image.bytes, image.n);
	list = head.list % GO_LISTS;
	p.minor = FIRST + head.minor % HIGHER;
	p.lists[list] = BASE;
	if (go_buckets_read(&p, list, &now))
		return 0;
	read_stacks(&now);
	for (enum profile_type_id t = TYPE_memory; t <= TYPE_mutex; t++)
		make_rows(&p, t, &none, &now);
	return 0;
}
