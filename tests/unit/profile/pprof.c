#include "profile/pprof.h"
#include "lib/folded.h"
#include "lib/test.h"
#include "profile/gzip.h"
#include "profile/stored/pprof_fields.h"
#include "profile/stored/wire.h"

#include <errno.h>
#include <string.h>

#define MAX_BYTES ((size_t)1 << 20)

/* A file as another program may write it: ids 9 and 4 before the rows that
 * use them, fields unpacked, an unknown field, strings last. By hand from
 * profile.proto, not by our writer. */
/* clang-format off */
static const uint8_t foreign[] = {
	0x0A, 4, 0x08, 1, 0x10, 2,                  /* sample_type cpu/count */
	0x12, 7, 0x08, 9, 0x08, 4, 0x10, 0xAC, 2,   /* sample: locations 9, 4;
	                                               value 300 */
	0xA2, 0x06, 3, 'n', 'e', 'w',               /* field 100 */
	0x22, 6, 0x08, 4, 0x22, 2, 0x08, 70,        /* location 4: function 70 */
	0x22, 10, 0x08, 9, 0x10, 5,                 /* location 9: mapping 5, */
	0x22, 4, 0x08, 80, 0x10, 33,                /* function 80, line 33 */
	0x2A, 4, 0x08, 70, 0x10, 3,                 /* function 70: main */
	0x1A, 4, 0x08, 5, 0x28, 5,                  /* mapping 5: app */
	0x2A, 4, 0x08, 80, 0x10, 4,                 /* function 80: work */
	0x32, 0,                                    /* string table */
	0x32, 3, 'c', 'p', 'u',
	0x32, 5, 'c', 'o', 'u', 'n', 't',
	0x32, 4, 'm', 'a', 'i', 'n',
	0x32, 4, 'w', 'o', 'r', 'k',
	0x32, 3, 'a', 'p', 'p',
};
/* clang-format on */

static struct profile *
decoded(const void *p, size_t n)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct profile *out = NULL;

	ck_assert_msg(pprof_decode(p, n, MAX_BYTES, &out, &why) == 0, "%s",
	              buf_str(&why));
	return out;
}

/* Decodes a file that must be refused with err and this reason. */
static void
check_refused(const void *p, size_t n, size_t max, int err, const char *reason)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct profile *out = NULL;

	ck_assert_int_eq(pprof_decode(p, n, max, &out, &why), err);
	ck_assert_ptr_null(out);
	ck_assert_str_eq(buf_str(&why), reason);
}

/* Parts of files. */

static void
put_string(struct buf *b, const char *s)
{
	wire_put_bytes(b, PROFILE_STRING_TABLE, s, strlen(s));
}

static void
put_row(struct buf *b, uint32_t number, uint64_t id, uint32_t field, uint64_t v)
{
	size_t place = wire_open(b, number);

	wire_put_number(b, 1, id);
	wire_put_number(b, field, v);
	wire_close(b, place);
}

static void
put_type(struct buf *b)
{
	put_row(b, PROFILE_SAMPLE_TYPE, 0, VALUE_TYPE_UNIT, 0);
}

static void
put_sample(struct buf *b, uint64_t location, int values)
{
	size_t place = wire_open(b, PROFILE_SAMPLE);

	wire_put_number(b, SAMPLE_LOCATION_ID, location);
	for (int i = 0; i < values; i++)
		wire_put_number(b, SAMPLE_VALUE, 1);
	wire_close(b, place);
}

/* A profile that uses all of the model, with a different value in each
 * field. */
static struct profile *
rich(void)
{
	struct profile *p = profile_of("main;work@/lib/libw.so 3\nmain 1\n");
	struct mapping *m = &p->mappings[0];
	struct label labels[2] = {{.num = -7}, {0}};
	const struct line lines[] = {{1, -3}, {0, INT64_MAX}};
	int64_t v[] = {INT64_MIN, INT64_MAX};
	uint32_t at;

	*m = (struct mapping){0x400000, 0x500000, 0x1000, m->file, 0,
	                      true,     true,     true,   true,    0};
	ck_assert_int_eq(profile_cstring(p, "a1b2", &m->build_id), 0);
	ck_assert_int_eq(profile_cstring(p, "bytes", &labels[0].key), 0);
	labels[0].unit = labels[1].key = labels[1].str = labels[0].key;
	p->functions[0].start_line = 12;
	ck_assert_int_eq(profile_cstring(p, "m.c", &p->functions[0].file), 0);
	ck_assert_int_eq(
		profile_location(p, PROFILE_NONE, UINT64_MAX, lines, 2, &at),
		0);
	p->locations[at].folded = true;
	ck_assert_int_eq(profile_sample(p, &at, 1, labels, 2, v), 0);
	ck_assert_int_eq(profile_sample(p, NULL, 0, NULL, 0, v), 0);
	ck_assert_int_eq(profile_comment(p, "asked 99 Hz"), 0);
	ck_assert_int_eq(profile_comment(p, ""), 0);
	p->period_type = p->types[1];
	p->default_type = p->types[0].type;
	p->drop_frames = p->keep_frames = p->doc_url = labels[0].key;
	p->period = 10000000;
	p->time_ns = INT64_C(1768464000123456789);
	p->duration_ns = 5000000000;
	return p;
}

/* Compares field by field, since the rows have padding. */
static void
check_same_functions(const struct profile *a, const struct profile *b)
{
	ck_assert_uint_eq(a->nfunctions, b->nfunctions);
	for (uint32_t i = 0; i < a->nfunctions; i++) {
		const struct function *f = &a->functions[i];
		const struct function *g = &b->functions[i];

		ck_assert_uint_eq(f->name, g->name);
		ck_assert_uint_eq(f->system_name, g->system_name);
		ck_assert_uint_eq(f->file, g->file);
		ck_assert_int_eq(f->start_line, g->start_line);
	}
	ck_assert_uint_eq(a->nlines, b->nlines);
	for (uint32_t i = 0; i < a->nlines; i++) {
		ck_assert_uint_eq(a->lines[i].function, b->lines[i].function);
		ck_assert_int_eq(a->lines[i].line, b->lines[i].line);
	}
}

TEST(what_is_written_reads_back_the_same)
{
	CLEANUP_PROFILE struct profile *a = rich();
	CLEANUP_BUF struct buf file = BUF_INIT(MAX_BYTES);
	struct profile *b;

	ck_assert_int_eq(pprof_encode(a, &file), 0);
	b = decoded(file.p, file.len);
#define SAME(array, n)                 \
	ck_assert_uint_eq(a->n, b->n); \
	ck_assert_mem_eq(a->array, b->array, (a->n) * sizeof(*a->array))
	SAME(types, ntypes);
	check_same_functions(a, b);
	SAME(samples, nsamples);
	SAME(stack, nstack);
	SAME(comments, ncomments);
	ck_assert_mem_eq(a->values, b->values,
	                 a->nsamples * a->ntypes * sizeof(*a->values));
	ck_assert_uint_eq(strings_count(a->strings), strings_count(b->strings));
	for (uint32_t i = 0; i < strings_count(a->strings); i++)
		ck_assert_str_eq(profile_text(a, i), profile_text(b, i));
	ck_assert_uint_eq(a->nmappings, b->nmappings);
	ck_assert_uint_eq(b->mappings[0].start, 0x400000);
	ck_assert_uint_eq(b->mappings[0].limit, 0x500000);
	ck_assert_uint_eq(b->mappings[0].offset, 0x1000);
	ck_assert_str_eq(profile_text(b, b->mappings[0].build_id), "a1b2");
	ck_assert(b->mappings[0].has_functions && b->mappings[0].has_files &&
	          b->mappings[0].has_lines && b->mappings[0].has_inlines);
	ck_assert(!b->mappings[1].has_lines);
	ck_assert_uint_eq(a->nlocations, b->nlocations);
	ck_assert_uint_eq(b->locations[2].mapping, PROFILE_NONE);
	ck_assert_uint_eq(b->locations[2].address, UINT64_MAX);
	ck_assert(b->locations[2].folded && !b->locations[1].folded);
	ck_assert_uint_eq(a->nlabels, b->nlabels);
	ck_assert_int_eq(b->labels[0].num, -7);
	ck_assert_uint_eq(b->labels[0].unit, a->labels[0].unit);
	ck_assert_uint_eq(b->labels[1].str, a->labels[1].str);
	ck_assert_uint_eq(b->default_type, a->default_type);
	ck_assert_uint_eq(b->drop_frames, a->drop_frames);
	ck_assert_uint_eq(b->keep_frames, a->keep_frames);
	ck_assert_uint_eq(b->doc_url, a->doc_url);
	ck_assert_uint_eq(b->period_type.unit, a->period_type.unit);
	ck_assert_int_eq(b->period, a->period);
	ck_assert_int_eq(b->time_ns, a->time_ns);
	ck_assert_int_eq(b->duration_ns, a->duration_ns);
	profile_free(b);
}
END

TEST(writing_again_gives_the_same_bytes)
{
	CLEANUP_PROFILE struct profile *a = rich();
	CLEANUP_BUF struct buf one = BUF_INIT(MAX_BYTES);
	CLEANUP_BUF struct buf two = BUF_INIT(MAX_BYTES);
	struct profile *b;

	ck_assert_int_eq(pprof_encode(a, &one), 0);
	b = decoded(one.p, one.len);
	ck_assert_int_eq(pprof_encode(b, &two), 0);
	ck_assert_uint_eq(one.len, two.len);
	ck_assert_mem_eq(one.p, two.p, one.len);
	profile_free(b);
}
END

TEST(a_foreign_file_is_read)
{
	CLEANUP_PROFILE struct profile *p = decoded(foreign, sizeof(foreign));

	ck_assert_uint_eq(p->nsamples, 1);
	ck_assert_int_eq(p->values[0], 300);
	ck_assert_str_eq(profile_text(p, p->types[0].type), "cpu");
	ck_assert_uint_eq(p->samples[0].nstack, 2);
	ck_assert_uint_eq(p->stack[0], 1);
	ck_assert_uint_eq(p->stack[1], 0);
	ck_assert_uint_eq(p->locations[1].mapping, 0);
	ck_assert_uint_eq(p->locations[0].mapping, PROFILE_NONE);
	ck_assert_str_eq(profile_text(p, p->mappings[0].file), "app");
	ck_assert_str_eq(
		profile_text(p, p->functions[p->lines[1].function].name),
		"work");
	ck_assert_int_eq(p->lines[1].line, 33);
}
END

TEST(equal_samples_of_a_file_stay_apart)
{
	CLEANUP_BUF struct buf b = BUF_INIT(MAX_BYTES);
	CLEANUP_PROFILE struct profile *p = NULL;

	put_string(&b, "");
	put_type(&b);
	put_sample(&b, 0, 1);
	put_sample(&b, 0, 1);
	p = decoded(b.p, b.len);
	ck_assert_uint_eq(p->nsamples, 2);
}
END

TEST(comments_are_counted_as_memory_and_kept_however_many)
{
	static const uint8_t forms[] = {WIRE_BYTES, WIRE_VARINT};
	const uint32_t n = 50000;

	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		CLEANUP_BUF struct buf b = BUF_INIT(MAX_BYTES);
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_PROFILE struct profile *p = NULL;
		struct profile *none = NULL;
		struct pprof_limits limits = {.bytes = MAX_BYTES, .memory = n};
		size_t place = 0;

		put_string(&b, "");
		put_string(&b, "asked");
		put_type(&b);
		put_sample(&b, 0, 1);
		if (forms[i] == WIRE_BYTES)
			place = wire_open(&b, PROFILE_COMMENT);
		for (uint32_t k = 0; k < n; k++) {
			if (forms[i] == WIRE_VARINT)
				wire_put_varint(&b, WIRE_KEY(PROFILE_COMMENT,
				                             WIRE_VARINT));
			wire_put_varint(&b, 1);
		}
		if (forms[i] == WIRE_BYTES)
			wire_close(&b, place);
		ck_assert_int_eq(
			pprof_decode_within(b.p, b.len, &limits, &none, &why),
			-E2BIG);
		ck_assert_str_eq(
			buf_str(&why),
			"the profile would take too much memory: more than "
			"50000, max_memory in [upload] of stoker.conf");
		p = decoded(b.p, b.len);
		ck_assert_uint_eq(p->ncomments, n);
		for (uint32_t k = 0; k < n; k++)
			ck_assert_uint_eq(p->comments[k], 1);
		ck_assert_uint_eq(p->nsamples, 1);
		ck_assert_int_eq(p->values[0], 1);
	}
}
END

TEST(every_cut_of_a_file_is_refused)
{
	CLEANUP_PROFILE struct profile *a = rich();
	CLEANUP_BUF struct buf file = BUF_INIT(MAX_BYTES);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct profile *b = NULL;

	ck_assert_int_eq(pprof_encode(a, &file), 0);
	for (size_t n = 0; n < file.len; n++) {
		buf_clear(&why);
		ck_assert_int_eq(pprof_decode(file.p, n, MAX_BYTES, &b, &why),
		                 -EBADMSG);
		ck_assert_uint_gt(why.len, 0);
	}
}
END

TEST(references_to_nothing_are_refused)
{
	static const struct {
		uint32_t number, field;
		uint64_t id, value;
		const char *why;
	} rows[] = {
		{PROFILE_MAPPING, MAPPING_FILENAME, 1, 1,
	         "a string index is out of range"},
		{PROFILE_FUNCTION, FUNCTION_NAME, 1, UINT64_MAX,
	         "a string index is out of range"},
		{PROFILE_SAMPLE, SAMPLE_VALUE, 3, 1,
	         "a sample refers to no location"},
		{PROFILE_MAPPING, MAPPING_MEMORY_START, 0, 1,
	         "an id is 0 or used twice"},
		{PROFILE_FUNCTION, FUNCTION_START_LINE, 0, 1,
	         "an id is 0 or used twice"},
		{PROFILE_LOCATION, LOCATION_ADDRESS, 0, 1,
	         "an id is 0 or used twice"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf b = BUF_INIT(MAX_BYTES);

		put_string(&b, "");
		put_type(&b);
		put_row(&b, rows[i].number, rows[i].id, rows[i].field,
		        rows[i].value);
		check_refused(b.p, b.len, MAX_BYTES, -EBADMSG, rows[i].why);
	}
}
END

/* Appends a location in a mapping that the file lacks, with a line of a
 * function. */
static void
put_dangling(struct buf *b, uint64_t function)
{
	size_t place = wire_open(b, PROFILE_LOCATION), line;

	wire_put_number(b, LOCATION_ID, 1);
	wire_put_number(b, LOCATION_MAPPING_ID, 7);
	line = wire_open(b, LOCATION_LINE);
	wire_put_number(b, LINE_FUNCTION_ID, function);
	wire_put_number(b, LINE_LINE, 5);
	wire_close(b, line);
	wire_close(b, place);
}

/* Peer: go tool pprof 1.19. */
TEST(a_location_may_lack_its_mapping_and_its_functions)
{
	CLEANUP_BUF struct buf b = BUF_INIT(MAX_BYTES);
	CLEANUP_PROFILE struct profile *p = NULL;

	put_string(&b, "");
	put_dangling(&b, 0);
	p = decoded(b.p, b.len);
	ck_assert_uint_eq(p->nlocations, 1);
	ck_assert_uint_eq(p->locations[0].mapping, PROFILE_NONE);
	ck_assert_uint_eq(p->locations[0].nlines, 0);
	ck_assert_uint_eq(p->nlines, 0);
}
END

TEST(a_function_that_the_file_lacks_is_refused)
{
	CLEANUP_BUF struct buf b = BUF_INIT(MAX_BYTES);

	put_string(&b, "");
	put_dangling(&b, 9);
	check_refused(b.p, b.len, MAX_BYTES, -EBADMSG,
	              "a line refers to no function");
}
END

TEST(an_id_used_twice_is_refused)
{
	CLEANUP_BUF struct buf b = BUF_INIT(MAX_BYTES);

	put_string(&b, "");
	put_row(&b, PROFILE_LOCATION, 5, LOCATION_ADDRESS, 1);
	put_row(&b, PROFILE_LOCATION, 5, LOCATION_ADDRESS, 2);
	check_refused(b.p, b.len, MAX_BYTES, -EBADMSG,
	              "an id is 0 or used twice");
}
END

TEST(a_sample_needs_one_value_for_each_type)
{
	static const int values[] = {0, 2};

	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		CLEANUP_BUF struct buf b = BUF_INIT(MAX_BYTES);

		put_string(&b, "");
		put_type(&b);
		put_sample(&b, 0, values[i]);
		check_refused(b.p, b.len, MAX_BYTES, -EBADMSG,
		              "samples do not have one value for each sample "
		              "type");
	}
}
END

TEST(values_may_not_be_shared_out_unevenly)
{
	CLEANUP_BUF struct buf b = BUF_INIT(MAX_BYTES);

	put_string(&b, "");
	put_type(&b);
	put_sample(&b, 0, 0);
	put_sample(&b, 0, 2);
	check_refused(b.p, b.len, MAX_BYTES, -EBADMSG,
	              "a sample does not have one value for each type");
}
END

TEST(the_string_table_starts_with_the_empty_string)
{
	CLEANUP_BUF struct buf b = BUF_INIT(MAX_BYTES);

	check_refused("", 0, MAX_BYTES, -EBADMSG, "there is no string table");
	put_string(&b, "x");
	check_refused(b.p, b.len, MAX_BYTES, -EBADMSG,
	              "the string table does not start with \"\"");
}
END

/* Decodes a file with a stack that is too deep, and cuts it. */
static void
check_cut(const struct buf *b)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PROFILE struct profile *p = NULL;
	uint64_t cut = 0;
	const struct pprof_limits limits = {
		.bytes = MAX_BYTES,
		.memory = MAX_BYTES,
		.cut = &cut,
	};

	ck_assert_int_eq(pprof_decode_within(b->p, b->len, &limits, &p, &why),
	                 0);
	ck_assert_uint_eq(cut, 1);
	ck_assert_uint_eq(p->samples[0].nstack, PROFILE_MAX_FRAMES);
	ck_assert_uint_eq(p->nstack, PROFILE_MAX_FRAMES);
}

TEST(a_stack_at_its_limit_is_read_and_one_past_is_not)
{
	for (int over = 0; over < 2; over++) {
		CLEANUP_BUF struct buf b = BUF_INIT(MAX_BYTES);
		size_t place, stack;

		put_string(&b, "");
		put_row(&b, PROFILE_LOCATION, 1, LOCATION_ADDRESS, 1);
		place = wire_open(&b, PROFILE_SAMPLE);
		stack = wire_open(&b, SAMPLE_LOCATION_ID);
		for (int i = 0; i < PROFILE_MAX_FRAMES + over; i++)
			wire_put_varint(&b, 1);
		wire_close(&b, stack);
		wire_close(&b, place);
		if (over)
			check_refused(b.p, b.len, MAX_BYTES, -E2BIG,
			              "a stack has more than 1024 frames, the "
			              "most that a profile keeps");
		if (over)
			check_cut(&b);
		else
			profile_free(decoded(b.p, b.len));
	}
}
END

TEST(many_empty_rows_are_refused_before_memory_is_spent)
{
	static const uint32_t numbers[] = {PROFILE_STRING_TABLE, PROFILE_SAMPLE,
	                                   PROFILE_LOCATION, PROFILE_FUNCTION,
	                                   PROFILE_MAPPING};

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		CLEANUP_BUF struct buf b = BUF_INIT(MAX_BYTES);

		put_string(&b, "");
		while (b.len + 2 <= MAX_BYTES)
			wire_put_bytes(&b, numbers[i], "", 0);
		check_refused(b.p, b.len, MAX_BYTES, -E2BIG,
		              "the profile would take too much memory");
	}
}
END

TEST(a_file_of_the_limit_is_read_and_one_byte_more_is_not)
{
	CLEANUP_BUF struct buf b = BUF_INIT(MAX_BYTES);

	put_string(&b, "");
	check_refused(b.p, b.len, b.len - 1, -E2BIG,
	              "the profile is larger than the limit");
	wire_put_bytes(&b, 100, foreign, 16); /* skipped, but counted */
	for (int i = 0; i < 20; i++)
		wire_put_bytes(&b, 100, foreign, 16);
	profile_free(decoded(b.p, b.len));
	check_refused(b.p, b.len, b.len - 1, -E2BIG,
	              "the profile is larger than the limit");
}
END

TEST(a_bomb_is_refused)
{
	CLEANUP_BUF struct buf zeros = BUF_INIT((size_t)64 << 20);
	CLEANUP_BUF struct buf bomb = BUF_INIT(MAX_BYTES);

	memset(buf_reserve(&zeros, (size_t)32 << 20), 0, (size_t)32 << 20);
	ck_assert_int_eq(gzip_deflate(zeros.p, (size_t)32 << 20, &bomb), 0);
	check_refused(bomb.p, bomb.len, MAX_BYTES, -E2BIG,
	              "the profile inflates past the limit");
	memcpy(bomb.p + bomb.len - 4, "\1\0\0\0", 4); /* "1 byte" */
	check_refused(bomb.p, bomb.len, MAX_BYTES, -E2BIG,
	              "the profile inflates past the limit");
}
END

TEST(a_file_that_lies_about_its_length_is_damaged)
{
	CLEANUP_PROFILE struct profile *p = rich();
	CLEANUP_BUF struct buf file = BUF_INIT(MAX_BYTES);

	ck_assert_int_eq(pprof_encode(p, &file), 0);
	memcpy(file.p + file.len - 4, "\xff\xff\xff\xff", 4);
	check_refused(file.p, file.len, MAX_BYTES, -EBADMSG,
	              "the gzip stream is damaged");
}
END

TEST(members_of_a_gzip_file_are_joined_and_padding_is_ignored)
{
	CLEANUP_BUF struct buf raw = BUF_INIT(MAX_BYTES);
	CLEANUP_BUF struct buf file = BUF_INIT(MAX_BYTES);
	CLEANUP_PROFILE struct profile *p = NULL;

	put_string(&raw, "");
	put_type(&raw);
	put_sample(&raw, 0, 1);
	for (size_t i = 0; i < raw.len; i++)
		ck_assert_int_eq(gzip_deflate(raw.p + i, 1, &file), 0);
	p = decoded(file.p, file.len);
	ck_assert_uint_eq(p->nsamples, 1);
	profile_free(p);
	buf_add(&file, (const char[512]){0}, 512);
	p = decoded(file.p, file.len);
	ck_assert_uint_eq(p->nsamples, 1);
	buf_puts(&file, "garbage");
	check_refused(file.p, file.len, MAX_BYTES, -EBADMSG,
	              "the gzip stream is damaged");
}
END

/* Memory that is released during reading must not reach beyond the file. */
TEST(a_gzipped_file_without_samples_is_read)
{
	CLEANUP_PROFILE struct profile *p = profile_new(), *got = NULL;
	CLEANUP_BUF struct buf out = BUF_INIT(MAX_BYTES);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(profile_type(p, "cpu", "nanoseconds"), 0);
	ck_assert_int_eq(pprof_encode(p, &out), 0);
	ck_assert_int_eq(pprof_decode(out.p, out.len, MAX_BYTES, &got, &why),
	                 0);
	ck_assert_uint_eq(got->nsamples, 0);
	ck_assert_uint_eq(got->ntypes, 1);
}
END

TEST(writing_past_the_ceiling_is_e2big)
{
	CLEANUP_PROFILE struct profile *p = rich();
	CLEANUP_BUF struct buf whole = BUF_INIT(MAX_BYTES);
	CLEANUP_BUF struct buf file = BUF_INIT(0);

	ck_assert_int_eq(pprof_encode(p, &whole), 0);
	file.max = whole.len - 1;
	ck_assert_int_eq(pprof_encode(p, &file), -E2BIG);
	ck_assert_int_eq(buf_err(&file), -E2BIG);
}
END

TEST(varints_past_64_bits_are_refused)
{
	static const struct {
		uint8_t bytes[11];
		size_t n;
		int want;
	} rows[] = {
		{{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1},
	         10,
	         0},
		{{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2},
	         10,
	         -EBADMSG},
		{{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80},
	         11,
	         -EBADMSG},
		{{0x80}, 1, -EBADMSG},
		{{0}, 0, -EBADMSG},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct wire w = {rows[i].bytes, rows[i].bytes + rows[i].n};
		uint64_t v = 0;

		ck_assert_int_eq(wire_varint(&w, &v), rows[i].want);
		ck_assert_uint_eq(v, rows[i].want ? 0 : UINT64_MAX);
	}
}
END

TEST(a_field_is_told_of_whatever_its_form)
{
	static const struct {
		const char *bytes;
		size_t n;
		int rc;
	} rows[] = {
		{"", 0, 0},
		{"\x08\x05", 2, 1},
		{"\x08\xff\x01", 3, 1},
		{"\x12\x01x", 3, 1},
		{"\x92\x01\x01x", 4, 1}, /* a key of two bytes */
		{"\x12\x02x", 3, -EBADMSG},
		{"\x19"
	         "12345678",
	         9, 1},
		{"\x19"
	         "1234567",
	         8, -EBADMSG},
		{"\x1d"
	         "1234",
	         5, 1},
		{"\x1d"
	         "123",
	         4, -EBADMSG},
		{"\x1b", 1, -EBADMSG}, /* a group */
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const uint8_t *p = (const uint8_t *)rows[i].bytes;
		struct wire w = {p, p + rows[i].n};
		struct wire_field f;

		ck_assert_msg(wire_next(&w, &f) == rows[i].rc, "row %zu", i);
		if (rows[i].rc == 1)
			ck_assert_int_eq(wire_next(&w, &f), 0);
	}
}
END

SUITE("pprof");
