/* Packed location ids that are read in blocks, as if read one by one. */
#include "profile/stored/pprof_frames.h"
#include "lib/test.h"

#include <stdlib.h>
#include <string.h>

#define ROWS 40000
#define MOST 200

/* Gives the rows ids from first on; unless plain, another id comes first. */
static struct idmap
make_ids(uint64_t first, uint32_t n, bool plain)
{
	struct idmap ids = IDMAP_INIT(n + 1);

	if (!plain)
		ck_assert_int_eq(idmap_add(&ids, first + n + 7), 0);
	for (uint32_t i = 0; i < n; i++)
		ck_assert_int_eq(idmap_add(&ids, first + i), 0);
	ck_assert_int_eq(idmap_seal(&ids), 0);
	ck_assert(idmap_is_plain(&ids) == plain);
	return ids;
}

/* Writes an id in more bytes than it needs. */
static void
put_long(struct buf *out, uint64_t v, unsigned bytes)
{
	for (; --bytes; v >>= 7)
		buf_putc(out, (char)(v | 0x80));
	buf_putc(out, (char)(v & 0x7F));
}

/* Writes n ids of 1 to 10 bytes each, in random order. */
static void
put_ids(struct buf *out, const struct idmap *ids, size_t n, uint32_t *rows)
{
	static const uint32_t most[] = {100, 10000, ROWS};

	for (size_t i = 0; i < n; i++) {
		uint64_t id = ids->first + (uint32_t)rand() % most[i % 3];

		rows[i] = idmap_find(ids, id);
		if (i % 7 == 6)
			put_long(out, id, 3 + (unsigned)i % 8);
		else
			wire_put_varint(out, id);
	}
}

static void
check_all_lengths(uint64_t first, bool plain, size_t beyond)
{
	struct idmap ids = make_ids(first, ROWS, plain);
	uint32_t want[MOST], got[MOST];

	for (size_t n = 0; n <= MOST; n++) {
		CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);
		struct wire w;

		put_ids(&b, &ids, n, want);
		w.p = (const uint8_t *)buf_str(&b);
		w.end = w.p + b.len;
		for (size_t i = 0; i < beyond; i++)
			buf_putc(&b, 1);
		w = (struct wire){(const uint8_t *)buf_str(&b),
		                  (const uint8_t *)b.p + b.len - beyond};
		ck_assert_uint_eq(wire_count(w), n);
		ck_assert_int_eq(pprof_frames(w, w.end + beyond, &ids, got), n);
		ck_assert_mem_eq(got, want, n * sizeof(*got));
	}
	idmap_done(&ids);
}

TEST(ids_are_read_as_one_by_one_wherever_blocks_end)
{
	check_all_lengths(1, true, 0);
	check_all_lengths(1, true, 100);
	check_all_lengths(5000, true, 100);
	check_all_lengths(1, false, 100);
}
END

TEST(an_id_without_a_row_is_refused)
{
	struct idmap ids = make_ids(1, 5, true);
	static const uint64_t bad[] = {0, 6, UINT32_MAX, UINT64_MAX};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);
		const uint8_t *p;
		uint32_t rows[100];

		wire_put_varint(&b, 1);
		wire_put_varint(&b, bad[i]);
		for (int k = 0; k < 98; k++)
			wire_put_varint(&b, 2);
		p = (const uint8_t *)b.p;
		ck_assert_int_eq(pprof_frames((struct wire){p, p + b.len},
		                              p + b.len, &ids, rows),
		                 -ENOENT);
	}
	idmap_done(&ids);
}
END

TEST(an_id_cut_short_is_refused)
{
	struct idmap ids = make_ids(1, 5, true);
	uint8_t bytes[200];
	uint32_t rows[200];

	for (size_t n = 1; n < 100; n++) {
		memset(bytes, 1, sizeof(bytes));
		bytes[n - 1] = 0x81;
		ck_assert_int_eq(pprof_frames((struct wire){bytes, bytes + n},
		                              bytes + 200, &ids, rows),
		                 -EBADMSG);
	}
	idmap_done(&ids);
}
END

TEST(ids_that_wrap_to_0_are_refused)
{
	struct idmap ids = IDMAP_INIT(2);

	ck_assert_int_eq(idmap_add(&ids, UINT64_MAX), 0);
	ck_assert_int_eq(idmap_add(&ids, 0), 0);
	ck_assert_int_eq(idmap_seal(&ids), -EEXIST);
	idmap_done(&ids);
}
END

SUITE("pprof_frames");
