#include "lib/gzip_room.h"

#include <assert.h>
#include <libdeflate.h>
#include <stdbool.h>
#include <stdlib.h>

#define LARGE ((size_t)64 << 10)

static struct {
	void *p;
	size_t n;
	bool used;
} room;

static void *
take(size_t n)
{
	if (n < LARGE || room.used)
		return malloc(n);
	if (room.n < n) {
		free(room.p);
		room.p = malloc(n);
		room.n = room.p ? n : 0;
	}
	room.used = room.p != NULL;
	return room.p;
}

static void
give(void *p)
{
	if (p && p == room.p)
		room.used = false;
	else
		free(p);
}

void
gzip_room_keep(void)
{
	libdeflate_set_memory_allocator(take, give);
}

void
gzip_store(const void *p, size_t n, struct buf *out)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(0);
	size_t most, made;
	char *to;

	assert(c);
	most = libdeflate_gzip_compress_bound(c, n);
	to = buf_reserve(out, most);
	assert(to);
	made = libdeflate_gzip_compress(c, p, n, to, most);
	assert(made);
	out->len += made;
	libdeflate_free_compressor(c);
}
