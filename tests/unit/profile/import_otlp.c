/*
 * Profiles of OpenTelemetry. Files in tests/data/fuzz/import that begin with
 * otlp were written with the messages of opentelemetry-proto itself; peers.c
 * has their totals.
 */
#include "base/file.h"
#include "lib/imported.h"
#include "lib/test.h"
#include "profile/otlp.h"
#include "profile/stored/otlp_fields.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define DATA "tests/data/fuzz/import/"

/* A dictionary of two functions, and a profile of sampled stacks. */
#define DICTIONARY                                                           \
	"\"dictionary\":{\"stringTable\":[\"\",\"samples\",\"count\",\"f\"," \
	"\"g\",\"cpu\",\"nanoseconds\",\"thread.name\"],"                    \
	"\"mappingTable\":[{}],\"functionTable\":[{},{\"nameStrindex\":3},"  \
	"{\"nameStrindex\":4}],\"locationTable\":[{},{\"lines\":[{"          \
	"\"functionIndex\":1}]},{\"lines\":[{\"functionIndex\":2}]}],"       \
	"\"stackTable\":[{},{\"locationIndices\":[1,2]},{"                   \
	"\"locationIndices\":[2]}],\"attributeTable\":[{},{"                 \
	"\"keyStrindex\":7,\"value\":{\"stringValue\":\"a\"}}]}"
#define PROFILES(type, samples)                                      \
	"\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{" \
	"\"sampleType\":{" type "},\"samples\":[" samples "]}]}]}]"
#define COUNT         "\"typeStrindex\":1,\"unitStrindex\":2"
#define FILE(samples) "{" PROFILES(COUNT, samples) "," DICTIONARY "}"
#define SAMPLED       "otlp cpu samples/count\n"
#define BARE          "100 % of its cost has no stack\n"

static void
load(const char *name, struct buf *out)
{
	char path[128];

	snprintf(path, sizeof(path), DATA "%s", name);
	ck_assert_int_eq(file_read(AT_FDCWD, path, out), 0);
}

TEST(a_file_of_each_layout_has_the_same_samples)
{
	static const char *const names[] = {
		"otlp.1.7",      "otlp.1.8",       "otlp.1.9",
		"otlp.1.11",     "otlp.1.7.json",  "otlp.1.8.json",
		"otlp.1.9.json", "otlp.1.11.json", "otlp.dictionary"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		imported_file_is("cpu", names[i], 0,
		                 "otlp cpu samples/count events/nanoseconds "
		                 "cpu/nanoseconds\n"
		                 "main;hot;inlined 3 0 150000000\n"
		                 "main;shop+0x300 1 3000 50000000\n");
}
END

/* The order of fields in a message is the writer's choice. Source:
 * protobuf.dev/programming-guides/encoding, "Message Fields Order". */
TEST(a_file_is_of_its_format_whichever_field_comes_first)
{
	static const struct {
		const char *label, *p;
		size_t n;
		const char *format;
	} rows[] = {
#define ROW(label, bytes, format) {label, bytes, sizeof(bytes) - 1, format}
		ROW("resources", "\x0a\x04\x0a\x02\x10\x01", "otlp"),
		ROW("scopes", "\x0a\x04\x12\x02\x12\x00", "otlp"),
		ROW("schema URL", "\x0a\x03\x1a\x01u", "otlp"),
		ROW("dictionary", "\x12\x07\x0a\x00\x2a\x00\x2a\x01s", "otlp"),
		ROW("dictionary that is cut off",
	            "\x12\x40\x0a\x00\x2a\x00\x2a\x01s", "otlp"),
		ROW("empty dictionary", "\x12\x00\x0a\x02\x12\x00", "otlp"),
		ROW("value type", "\x0a\x04\x08\x01\x10\x02", "pprof"),
		ROW("sample", "\x12\x06\x0a\x01\x01\x12\x01\x02", "pprof"),
		ROW("sample with a label",
	            "\x12\x08\x08\x01\x10\x02\x1a\x02\x08\x01", "pprof"),
		ROW("empty value type", "\x0a\x00\x12\x04\x08\x01\x10\x02",
	            "pprof"),
		ROW("strings", "\x32\x00\x0a\x04\x08\x01\x10\x02", "pprof"),
#undef ROW
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct input *found = input_detect(rows[i].p, rows[i].n);

		ck_assert_msg(found && !strcmp(found->name, rows[i].format),
		              "%s: %s", rows[i].label,
		              found ? found->name : "nothing");
	}
}
END

TEST(a_sample_is_worth_its_values_or_else_its_points_in_time)
{
	static const struct {
		const char *sample, *want;
	} rows[] = {
		{"{\"stackIndex\":1,\"values\":[\"7\"]}", SAMPLED "g;f 7\n"},
		{"{\"stackIndex\":1,\"values\":[2,2,3],"
	         "\"timestampsUnixNano\":[\"1\",\"2\",\"3\"]}",
	         SAMPLED "g;f 7\n"},
		{"{\"stackIndex\":2,\"timestampsUnixNano\":[1,2,3]}",
	         SAMPLED "g 3\n"},
		{"{\"stackIndex\":2,\"values\":[1]},"
	         "{\"stackIndex\":2,\"values\":[4]}",
	         SAMPLED "g 5\n"},
		{"{\"values\":[9]}", SAMPLED " 9\n" BARE},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

		buf_addf(&text, "{" PROFILES(COUNT, "%s") "," DICTIONARY "}",
		         rows[i].sample);
		imported_is("", buf_str(&text), 0, rows[i].want);
	}
}
END

TEST(members_in_json_have_either_spelling_and_any_order)
{
	imported_is("",
	            "{\"dictionary\":{\"string_table\":[\"\",\"samples\","
	            "\"count\",\"f\"],\"function_table\":[{},"
	            "{\"name_strindex\":3}],\"location_table\":[{},{\"lines\":"
	            "[{\"function_index\":1}],\"address\":null}],"
	            "\"stack_table\":[{},{\"location_indices\":[\"1\"]}]},"
	            "\"unknown\":[{\"a\":1}],"
	            "\"resource_profiles\":[{\"scope_profiles\":[{\"profiles\":"
	            "[{\"samples\":[{\"values\":[\"9007199254740993\"],"
	            "\"stack_index\":1}],\"sample_type\":{\"type_strindex\":1,"
	            "\"unit_strindex\":2}}]}]}]}",
	            0, SAMPLED "f 9007199254740993\n");
}
END

TEST(an_index_past_its_table_is_refused)
{
	imported_is("", FILE("{\"stackIndex\":3,\"values\":[1]}"), -EBADMSG,
	            "there is no stack 3: its table has 3");
	imported_is("", FILE("{\"stackIndex\":-1,\"values\":[1]}"), -EBADMSG,
	            "there is no stack -1: its table has 3");
	imported_is("",
	            FILE("{\"stackIndex\":1,\"attributeIndices\":[9],"
	                 "\"values\":[1]}"),
	            -EBADMSG, "there is no attribute 9: its table has 2");
	imported_is("",
	            "{" PROFILES("\"typeStrindex\":8", "") "," DICTIONARY "}",
	            -EBADMSG, "there is no string 8: its table has 8");
}
END

TEST(a_file_without_samples_says_so)
{
	imported_is("", FILE(""), -EBADMSG, "it has no samples");
	imported_is("", "{\"resourceProfiles\":[]}", -EBADMSG,
	            "it has no samples");
}
END

TEST(negative_values_are_refused)
{
	imported_is("", FILE("{\"stackIndex\":1,\"values\":[-1]}"), -EBADMSG,
	            "a sample has a negative value: this is a difference of "
	            "two profiles");
}
END

TEST(a_name_of_a_type_ends_at_a_nul)
{
	imported_is(
		"",
		"{" PROFILES(
			"\"typeStrindex\":1,\"unitStrindex\":2",
			"{\"stackIndex\":1,\"values\":[3]}") ",\"dictionary\":{"
							     "\"stringTable\":["
							     "\"\","
							     "\"samples\\u0000x"
							     "\",\"count\"],"
							     "\"stackTable\":[{"
							     "},{}]}}",
		0, SAMPLED " 3\n" BARE);
}
END

#define READS "; Stoker reads the layouts of OTLP 1.7 to 1.11"

TEST(other_layouts_are_refused_by_what_does_not_fit)
{
	/* field names of 1.7 and of 1.8 */
	imported_is("",
	            "{" PROFILES(COUNT, "{\"locationsStartIndex\":0,"
	                                "\"stackIndex\":1}") "," DICTIONARY "}",
	            -EPROTONOSUPPORT,
	            "it is OTLP of another layout: LOCATIONS_START_INDEX does "
	            "not fit" READS);
	/* a profile, without a dictionary */
	imported_is("", "{" PROFILES(COUNT, "") "}", -EPROTONOSUPPORT,
	            "it is OTLP without a dictionary, of a layout before "
	            "1.7" READS);
}
END

/* Writes a file with one sample made of these bytes; returns its length. */
static size_t
one_sample(const char *sample, size_t n, char *out)
{
	static const char dictionary[] = {0x12, 4, 0x2A, 0, 0x3A, 0};
	char *p = out;

	for (int i = 0; i < 4; i++) {
		*p++ = 0x0A + 8 * (i > 0);
		*p++ = (char)(n + 2 * (3 - (size_t)i));
	}
	memcpy(p, sample, n);
	memcpy(p + n, dictionary, sizeof(dictionary));
	return (size_t)(p - out) + n + sizeof(dictionary);
}

TEST(a_field_of_no_layout_is_named)
{
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);
	/* values and a link, as in 1.8, then values as in 1.10 */
	static const char sample[] = {0x12, 1, 1, 0x20, 1, 0x22, 1, 1};
	char file[64];
	size_t n = one_sample(sample, sizeof(sample), file);

	ck_assert_int_eq(imported("", file, n, &got), -EPROTONOSUPPORT);
	ck_assert_str_eq(buf_str(&got),
	                 "it is OTLP of another layout: field 4 of Sample does "
	                 "not fit" READS);
}
END

/* Counts the parts of a file, and keeps the names of the first. */
struct seen {
	uint32_t parts, samples;
	char service[64], labels[256];
};

static int
see(void *arg, const struct otlp_part *of, struct profile **made)
{
	struct seen *s = arg;

	if (!s->parts++) {
		snprintf(s->service, sizeof(s->service), "%s", of->service);
		snprintf(s->labels, sizeof(s->labels), "%s", of->labels);
	}
	s->samples += (*made)->nsamples;
	return 0;
}

static int
read_parts(const void *p, size_t n, const struct import_limits *limits,
           struct seen *out, struct buf *why)
{
	const struct import_ask ask = {
		.type = "", .content_type = "", .limits = *limits};

	return otlp_read(p, n, &ask, see, out, why);
}

#define LIMITS(file, room, names, most)                              \
	{                                                            \
		.raw_bytes = file, .memory = room, .strings = names, \
		.samples = most                                      \
	}
static const struct import_limits usual = LIMITS(1 << 20, 4 << 20, 2000, 2000);

TEST(attributes_of_a_resource_are_service_and_labels)
{
	static const char *const names[] = {"otlp.1.7", "otlp.1.9", "otlp.1.11",
	                                    "otlp.1.11.json"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		CLEANUP_BUF struct buf in = BUF_INIT(1 << 20);
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
		struct seen seen = {0};

		load(names[i], &in);
		ck_assert_int_eq(read_parts(in.p, in.len, &usual, &seen, &why),
		                 0);
		ck_assert_str_eq(seen.service, "shop");
		ck_assert_str_eq(seen.labels,
		                 "{\"version\":\"1.4\",\"pod\":\"shop-0\"}");
		/* time on the CPU, and off it */
		ck_assert_uint_eq(seen.parts, 2);
		ck_assert_uint_eq(seen.samples, 3);
	}
}
END

#define TEXT(key, value) \
	"{\"key\":\"" key "\",\"value\":{\"stringValue\":\"" value "\"}}"

/* The first attribute that can name it counts, wherever it stands; of one that
 * is there twice, the first. */
TEST(a_service_has_the_name_that_says_most)
{
	static const struct {
		const char *attributes, *service;
	} rows[] = {
		{TEXT("k8s.job.name", "b") "," TEXT("service.name", "a"), "a"},
		{TEXT("service.name", "a") "," TEXT("k8s.job.name", "b"), "a"},
		{TEXT("service.name", "a") "," TEXT("service.name", "b"), "a"},
		{TEXT("process.executable.name", "a"), "a"},
		{"{\"key\":\"service.name\",\"value\":{\"intValue\":1}}," TEXT(
			 "container.name", "a"),
	         "a"},
		{TEXT("other", "a"), ""},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
		struct seen seen = {0};

		buf_addf(&text,
		         "{\"resourceProfiles\":[{\"resource\":{\"attributes\":"
		         "[%s]},\"scopeProfiles\":[{\"profiles\":[{"
		         "\"sampleType\":{" COUNT "},\"samples\":[{"
		         "\"stackIndex\":1,\"values\":[1]}]}]}]}]," DICTIONARY
		         "}",
		         rows[i].attributes);
		ck_assert_int_eq(
			read_parts(text.p, text.len, &usual, &seen, &why), 0);
		ck_assert_str_eq(seen.service, rows[i].service);
	}
}
END

#define RESOURCE(name)                                                  \
	"{\"resource\":{\"attributes\":[{\"key\":\"service.name\","     \
	"\"value\":{\"stringValue\":\"" name "\"}}]},\"scopeProfiles\"" \
	":[{\"profiles\":[{\"sampleType\":{" COUNT "},\"samples\":"     \
	"[{\"stackIndex\":1,\"values\":[1]}]}]}]}"

TEST(resources_of_one_service_add_up)
{
	static const char text[] = "{\"resourceProfiles\":[" RESOURCE(
		"a") "," RESOURCE("b") "," RESOURCE("a") "]," DICTIONARY "}";
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct seen seen = {0};

	ck_assert_int_eq(read_parts(text, strlen(text), &usual, &seen, &why),
	                 0);
	ck_assert_uint_eq(seen.parts, 2);
	ck_assert_str_eq(seen.service, "a");
}
END

TEST(limits_hold_for_all_parts_together)
{
	static const char text[] = "{\"resourceProfiles\":[" RESOURCE(
		"a") "," RESOURCE("b") "," RESOURCE("c") "]," DICTIONARY "}";
	static const struct {
		struct import_limits limits;
		const char *why;
	} rows[] = {
		{LIMITS(1 << 20, 4 << 20, 2000, 2), "max_samples"},
		{LIMITS(1 << 20, 900, 2000, 2000), "max_memory"},
		{LIMITS(1 << 20, 4 << 20, 3, 2000), "max_strings"},
		{LIMITS(100, 4 << 20, 2000, 2000), "max_raw_bytes"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
		struct seen seen = {0};

		ck_assert_int_eq(read_parts(text, strlen(text), &rows[i].limits,
		                            &seen, &why),
		                 -E2BIG);
		ck_assert_msg(strstr(buf_str(&why), rows[i].why) != NULL,
		              "%s: %s", rows[i].why, buf_str(&why));
	}
}
END

TEST(every_beginning_of_a_file_is_refused_or_read)
{
	static const char *const names[] = {"otlp.1.7", "otlp.1.11",
	                                    "otlp.1.11.json"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		CLEANUP_BUF struct buf in = BUF_INIT(1 << 20);

		load(names[i], &in);
		for (size_t n = 0; n < in.len; n++) {
			CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
			struct seen seen = {0};
			int r = read_parts(in.p, n, &usual, &seen, &why);

			ck_assert_msg(!r || why.len, "%s, %zu bytes: %d",
			              names[i], n, r);
		}
	}
}
END

SUITE("import_otlp");
