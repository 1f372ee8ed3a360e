/* Packed files lose nothing of a sum, and no byte of them is trusted. */
#include "base/counted.h"
#include "lib/any_profile.h"
#include "lib/folded.h"
#include "lib/test.h"
#include "profile/gzip.h"
#include "profile/merge.h"
#include "profile/pprof.h"

#include <errno.h>
#include <string.h>

#define MAX_BYTES ((size_t)16 << 20)

static void
pack(const struct profile *p, struct buf *out)
{
	CLEANUP_MERGE struct merge *m = NULL;

	ck_assert_int_eq(merge_new(MAX_BYTES, &m), 0);
	ck_assert_int_eq(merge_add(m, p), 0);
	ck_assert_int_eq(merge_encode(m, out), 0);
}

static struct packed
decoded(const struct buf *file)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct packed k = {0};

	ck_assert_int_eq(packed_decode(file->p, file->len, MAX_BYTES, &k, &why),
	                 0);
	return k;
}

static struct profile *
merged(const struct buf *file, const struct profile *p)
{
	CLEANUP_MERGE struct merge *m = NULL;
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct profile *out = NULL;

	ck_assert_int_eq(merge_new(MAX_BYTES, &m), 0);
	if (p)
		ck_assert_int_eq(merge_add(m, p), 0);
	if (file)
		ck_assert_int_eq(
			merge_add_file(m, file->p, file->len, MAX_BYTES, &why),
			0);
	ck_assert_int_eq(merge_end(m, &out), 0);
	return out;
}

/* Merging the file with the profile that it was made from adds no row, and
 * doubles each value. */
static void
check_holds(const struct buf *file, const struct profile *p, unsigned seed)
{
	CLEANUP_PROFILE struct profile *once = merged(NULL, p);
	CLEANUP_PROFILE struct profile *twice = merged(file, p);

	ck_assert_uint_eq(twice->nsamples, once->nsamples);
	ck_assert_uint_eq(twice->nstack, once->nstack);
	ck_assert_uint_eq(twice->nlabels, once->nlabels);
	ck_assert_uint_eq(twice->nlocations, once->nlocations);
	ck_assert_uint_eq(twice->nlines, once->nlines);
	ck_assert_uint_eq(twice->nfunctions, once->nfunctions);
	ck_assert_uint_eq(twice->nmappings, once->nmappings);
	ck_assert_uint_eq(twice->ncomments, once->ncomments);
	ck_assert_uint_eq(strings_count(twice->strings),
	                  strings_count(once->strings));
	for (size_t i = 0; i < (size_t)once->nsamples * once->ntypes; i++)
		ck_assert_msg(twice->values[i] == 2 * once->values[i],
		              "value %zu, seed %u", i, seed);
}

/* Fields of a single profile, which sums drop, are written and read. */
static void
check_head(const struct profile *a, const struct profile *b)
{
	ck_assert_int_eq(a->time_ns, b->time_ns);
	ck_assert_int_eq(a->duration_ns, b->duration_ns);
	ck_assert_int_eq(a->period, b->period);
	ck_assert_uint_eq(a->default_type, b->default_type);
	ck_assert_uint_eq(a->drop_frames, b->drop_frames);
	ck_assert_uint_eq(a->keep_frames, b->keep_frames);
	ck_assert_uint_eq(a->doc_url, b->doc_url);
	ck_assert_uint_eq(a->period_type.type, b->period_type.type);
	ck_assert_uint_eq(a->period_type.unit, b->period_type.unit);
	for (uint32_t i = 0; i < a->nmappings; i++) {
		const struct mapping *x = &a->mappings[i];
		const struct mapping *y = &b->mappings[i];

		ck_assert_uint_eq(x->start, y->start);
		ck_assert_uint_eq(x->limit, y->limit);
		ck_assert(x->has_functions == y->has_functions &&
		          x->has_files == y->has_files &&
		          x->has_lines == y->has_lines &&
		          x->has_inlines == y->has_inlines);
	}
}

TEST(no_row_of_any_sum_is_lost)
{
	for (unsigned seed = 0; seed < 300; seed++) {
		CLEANUP_PROFILE struct profile *p = any_profile(seed);
		CLEANUP_PROFILE struct profile *once = NULL, *again = NULL;
		CLEANUP_BUF struct buf file = BUF_INIT(MAX_BYTES);
		CLEANUP_BUF struct buf second = BUF_INIT(MAX_BYTES);

		p->duration_ns >>= 1; /* so that the sum of two fits as well */
		pack(p, &file);
		check_holds(&file, p, seed);
		once = merged(NULL, p);
		again = merged(&file, NULL);
		check_head(once, again);
		pack(again, &second);
		ck_assert_uint_eq(file.len, second.len);
		ck_assert_mem_eq(file.p, second.p, file.len);
	}
}
END

TEST(a_sample_without_a_stack_stays_one)
{
	CLEANUP_PROFILE struct profile *p = profile_of("a;b 1\n");
	CLEANUP_PROFILE struct profile *got = NULL;
	CLEANUP_PACKED struct packed k = {0};
	CLEANUP_BUF struct buf file = BUF_INIT(MAX_BYTES);
	const int64_t v[] = {3, 30};

	ck_assert_int_eq(profile_sample(p, NULL, 0, NULL, 0, v), 0);
	pack(p, &file);
	k = decoded(&file);
	ck_assert_uint_eq(k.nnodes, 3);
	ck_assert_uint_eq(packed_leaf(&k, &k.p->samples[0]), PROFILE_NONE);
	ck_assert_uint_ne(packed_leaf(&k, &k.p->samples[1]), PROFILE_NONE);
	ck_assert_int_eq(packed_profile(&k, MAX_BYTES, &got), 0);
	ck_assert_uint_eq(got->samples[0].nstack, 0);
	ck_assert_int_eq(got->values[1], 30);
	ck_assert_uint_eq(got->samples[1].nstack, 2);
}
END

TEST(a_pprof_file_is_taken_as_it_is)
{
	CLEANUP_PROFILE struct profile *p = profile_of("a;b 1\n");
	CLEANUP_PROFILE struct profile *got = NULL;
	CLEANUP_PACKED struct packed k = {0};
	CLEANUP_BUF struct buf file = BUF_INIT(MAX_BYTES);

	ck_assert_int_eq(pprof_encode(p, &file), 0);
	k = decoded(&file);
	ck_assert_ptr_null(k.nodes);
	ck_assert_uint_eq(packed_leaf(&k, &k.p->samples[0]), k.p->stack[0]);
	ck_assert_int_eq(packed_profile(&k, 0, &got), 0);
	ck_assert_uint_eq(got->nstack, 2);
}
END

/* Bounds the frames in memory that a small file may ask for. */
TEST(stacks_written_out_are_bounded)
{
	CLEANUP_PROFILE struct profile *p = profile_of("a;b;c;d 1\na;b 2\n");
	CLEANUP_PROFILE struct profile *got = NULL;
	CLEANUP_PACKED struct packed k = {0};
	CLEANUP_BUF struct buf file = BUF_INIT(MAX_BYTES);

	pack(p, &file);
	k = decoded(&file);
	ck_assert_int_eq(packed_profile(&k, 6 * sizeof(uint32_t) - 1, &got),
	                 -E2BIG);
	ck_assert_int_eq(packed_profile(&k, 6 * sizeof(uint32_t), &got), 0);
	ck_assert_uint_eq(got->nstack, 6);
}
END

TEST(a_stack_may_be_as_deep_as_any)
{
	static uint32_t stack[PROFILE_MAX_FRAMES];
	CLEANUP_PROFILE struct profile *p = profile_new();
	CLEANUP_BUF struct buf file = BUF_INIT(MAX_BYTES);
	struct mapping m = {.start = 0x1000, .limit = 0x9000};
	const int64_t values[] = {1};
	uint32_t mapping;

	ck_assert_int_eq(profile_type(p, "samples", "count"), 0);
	ck_assert_int_eq(profile_mapping(p, &m, &mapping), 0);
	for (uint32_t i = 0; i < PROFILE_MAX_FRAMES; i++)
		ck_assert_int_eq(profile_location(p, mapping, 0x2000 + i % 7,
		                                  NULL, 0, &stack[i]),
		                 0);
	ck_assert_int_eq(
		profile_sample(p, stack, PROFILE_MAX_FRAMES, NULL, 0, values),
		0);
	pack(p, &file);
	check_holds(&file, p, 0);
}
END

static void
check_refused(const char *raw, size_t n, size_t max, int err)
{
	CLEANUP_PACKED struct packed k = {0};
	CLEANUP_BUF struct buf file = BUF_INIT(MAX_BYTES);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);

	buf_puts(&file, PACKED_MAGIC);
	ck_assert_int_eq(gzip_deflate(raw, n, &file), 0);
	ck_assert_int_eq(packed_decode(file.p, file.len, max, &k, &why), err);
	ck_assert_ptr_null(k.p);
	ck_assert_uint_gt(why.len, 0);
}

/* Counts of strings, types, comments, mappings, functions, locations, lines,
 * nodes, samples, labels; then rows. */
#define COUNTS(nodes, samples) \
	"\x01\x01\x00\x00\x00\x01\x00" nodes samples "\x00"
/* "", 8 numbers of the head, a type, a location at address 0 */
#define ROWS                 \
	"\x00"               \
	"\0\0\0\0\0\0\0\0\0" \
	"\0\0"               \
	"\0\0\0"

TEST(what_can_not_be_is_refused)
{
	static const struct {
		const char *raw;
		size_t n;
	} rows[] = {
#define ROW(s) {s, sizeof(s) - 1}
		ROW(""),
		ROW("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"),
		/* more nodes than bytes */
		ROW(COUNTS("\xFF\x7F", "\x00") ROWS),
		/* no root */
		ROW(COUNTS("\x00", "\x00") ROWS),
		/* a node below itself, and a node without a location */
		ROW(COUNTS("\x02", "\x00") ROWS "\x01\x00"),
		ROW(COUNTS("\x02", "\x00") ROWS "\x00\x01"),
		/* a sample without a node, and a sample cut short */
		ROW(COUNTS("\x02", "\x01") ROWS "\0\0"
	                                        "\x02\0\0"),
		ROW(COUNTS("\x02", "\x01") ROWS "\0\0"
	                                        "\x01\0"),
		/* a sample with missing labels */
		ROW(COUNTS("\x02", "\x01") ROWS "\0\0"
	                                        "\x01\x01\0"),
		/* bytes past the end */
		ROW(COUNTS("\x02", "\x01") ROWS "\0\0"
	                                        "\x01\0\0"
	                                        "x"),
	};
	static const char good[] = COUNTS("\x02", "\x01") ROWS "\0\0"
							       "\x01\0\x02";
	CLEANUP_PACKED struct packed k = {0};
	CLEANUP_BUF struct buf file = BUF_INIT(MAX_BYTES);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_refused(rows[i].raw, rows[i].n, MAX_BYTES, -EBADMSG);
	buf_puts(&file, PACKED_MAGIC);
	ck_assert_int_eq(gzip_deflate(good, sizeof(good) - 1, &file), 0);
	k = decoded(&file);
	ck_assert_int_eq(k.p->values[0], 1);
	check_refused(good, sizeof(good) - 1, sizeof(good) - 2, -E2BIG);
}
END

/* Changes each byte in turn, as a disk or an attacker may. */
TEST(a_changed_file_never_leaves_its_bounds)
{
	CLEANUP_PROFILE struct profile *p = any_profile(7);
	CLEANUP_BUF struct buf file = BUF_INIT(MAX_BYTES);
	CLEANUP_BUF struct buf raw = BUF_INIT(MAX_BYTES);
	size_t magic = strlen(PACKED_MAGIC);

	pack(p, &file);
	ck_assert_int_eq(gzip_inflate(file.p + magic, file.len - magic, &raw),
	                 0);
	for (size_t i = 0; i < raw.len; i++) {
		CLEANUP_BUF struct buf changed = BUF_INIT(MAX_BYTES);
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_PACKED struct packed k = {0};
		CLEANUP_PROFILE struct profile *got = NULL;

		raw.p[i] ^= 1 << i % 8;
		buf_puts(&changed, PACKED_MAGIC);
		ck_assert_int_eq(gzip_deflate(raw.p, raw.len, &changed), 0);
		raw.p[i] ^= 1 << i % 8;
		if (!packed_decode(changed.p, changed.len, MAX_BYTES, &k, &why))
			ck_assert_int_eq(packed_profile(&k, MAX_BYTES, &got),
			                 0);
	}
}
END

/* Writes the second of two profiles as counts of their sum, followed by the
 * sum. */
static void
put_counted_file(struct buf *out, size_t *counts)
{
	CLEANUP_PROFILE struct profile *a = any_profile(7), *b = NULL;
	CLEANUP_MERGE struct merge *m = NULL;
	CLEANUP_BUF struct buf bundle = BUF_INIT(MAX_BYTES);
	struct bundle parts;

	b = any_profile(7);
	b->time_ns = 5;
	ck_assert_int_eq(merge_new(MAX_BYTES, &m), 0);
	merge_keep_parts(m);
	ck_assert_int_eq(merge_add(m, a), 0);
	ck_assert_int_eq(merge_add(m, b), 0);
	ck_assert_int_eq(merge_encode(m, &bundle), 0);
	ck_assert_int_eq(bundle_read(bundle.p, bundle.len, &parts), 0);
	ck_assert_uint_eq(parts.n, 2);
	*counts = bundle_length(&parts, 1);
	buf_add(out, bundle.p + parts.bytes - *counts, *counts);
	buf_add(out, bundle.p, parts.base);
}

TEST(a_part_of_a_sum_is_what_was_added)
{
	CLEANUP_PROFILE struct profile *p = any_profile(7);
	CLEANUP_BUF struct buf file = BUF_INIT(MAX_BYTES);
	CLEANUP_PACKED struct packed k = {0};
	size_t counts;

	put_counted_file(&file, &counts);
	check_holds(&file, p, 7);
	k = decoded(&file);
	ck_assert_int_eq(k.p->time_ns, 5);
	ck_assert_int_eq(k.p->duration_ns, p->duration_ns);
	ck_assert_int_eq(k.p->period, p->period);
}
END

/* Changes each byte of the counts in turn, and cuts the file at each length. */
TEST(changed_counts_never_leave_their_bounds)
{
	CLEANUP_BUF struct buf file = BUF_INIT(MAX_BYTES);
	CLEANUP_BUF struct buf raw = BUF_INIT(MAX_BYTES);
	size_t counts;

	put_counted_file(&file, &counts);
	ck_assert_int_eq(gzip_inflate(file.p + COUNTED_HEAD,
	                              counts - COUNTED_HEAD, &raw),
	                 0);
	for (size_t i = 0; i < raw.len; i++) {
		CLEANUP_BUF struct buf changed = BUF_INIT(MAX_BYTES);
		CLEANUP_BUF struct buf gzip = BUF_INIT(MAX_BYTES);
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_PACKED struct packed k = {0};
		CLEANUP_PROFILE struct profile *got = NULL;

		raw.p[i] ^= 1 << i % 8;
		ck_assert_int_eq(gzip_deflate(raw.p, raw.len, &gzip), 0);
		raw.p[i] ^= 1 << i % 8;
		buf_add(&changed, file.p, COUNTED_HEAD - 4);
		counted_put(&changed, (uint32_t)gzip.len);
		buf_add(&changed, gzip.p, gzip.len);
		buf_add(&changed, file.p + counts, file.len - counts);
		if (!packed_decode(changed.p, changed.len, MAX_BYTES, &k, &why))
			ck_assert_int_eq(packed_profile(&k, MAX_BYTES, &got),
			                 0);
	}
	for (size_t n = 0; n < file.len; n++) {
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
		struct packed k = {0};

		ck_assert_int_ne(packed_decode(file.p, n, MAX_BYTES, &k, &why),
		                 0);
	}
}
END

SUITE("packed");
