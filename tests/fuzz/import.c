/*
 * Hostile uploads in every format, or the one that FORMAT names, for every
 * type. What is accepted can be drawn, written and read again.
 */
#include "profile/import.h"
#include "base/json_scan.h"
#include "lib/gzip_room.h"
#include "lib/same_profile.h"
#include "profile/pprof.h"
#include "profile/summary.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char *const types[] = {
#define PROFILE_TYPE(name, ...) #name,
#include "types.def"
#undef PROFILE_TYPE
	"",
};

static void
use(const struct profile *p)
{
	CLEANUP_BUF struct buf file = BUF_INIT((size_t)64 << 20);
	CLEANUP_BUF struct buf top = BUF_INIT((size_t)64 << 20);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PROFILE struct profile *again = NULL;
	CLEANUP_TREE struct tree *t = NULL;
	uint32_t type = profile_type_index(p, NULL);

	assert(type != PROFILE_NONE);
	for (size_t i = 0; i < (size_t)p->nsamples * p->ntypes; i++)
		assert(p->values[i] >= 0);
	if (!tree_new(p, type, &t))
		(void)!summary_top(t, 10, &top);
	assert(!pprof_encode(p, &file));
	assert(!pprof_decode(file.p, file.len, (size_t)64 << 20, &again, &why));
	assert(!profile_differs(p, again));
}

/* Unwinds by taking the words of a copied stack that are addresses of code. */
static size_t
unwind(void *arg, const struct import_stack *s, uint64_t *pcs, size_t max)
{
	struct import_code code;
	size_t n = 0;

	(void)arg;
	for (size_t i = 0; i + 8 <= s->n && n < max; i += 8) {
		memcpy(&pcs[n], (const char *)s->bytes + i, 8);
		n += s->find(s->arg, pcs[n], &code);
	}
	return n;
}

static void
scan(const void *data, size_t n)
{
	CLEANUP_BUF struct buf text = BUF_INIT(JSON_SCAN_TEXT);
	enum json_token t;
	struct json_scan s;

	json_scan_init(&s, data, n, &text);
	do
		t = json_scan_next(&s);
	while (t != JSON_END && t != JSON_BAD);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const char *only = getenv("FORMAT");

	gzip_room_keep();
	if (!only)
		scan(data, n);
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		const struct type *of = NULL;
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_PROFILE struct profile *p = NULL;
		const struct input *format = NULL;
		static const struct import_unwinder unwinder = {unwind, NULL};
		const struct import_ask ask = {
			.type = types[i],
			.format = only,
			.content_type = "",
			.rate = i % 2 ? 0 : 99,
			.lines = i == 3,
			.untyped = n % 2,
			.event = i == 2 ? "page-faults" : NULL,
			.unwinder = i == 1 ? NULL : &unwinder,
			.limits = {.raw_bytes = 1 << 20,
		                   .memory = 4 << 20,
		                   .ratio = 100,
		                   .strings = 10000,
		                   .samples = 10000},
		};
		int r = profile_import(data, n, &ask, &p, &format, &of, &why);

		assert(r ? !p && why.len : p && format && (of || ask.untyped));
		if (p)
			use(p);
	}
	return 0;
}
