#include "capture/quality.h"

#include "base/json.h"
#include "lib/test.h"

#include <inttypes.h>
#include <string.h>

static json_t *
json_of(const struct quality *q)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	quality_json(q, NULL, "web", &text);
	return json_loadb(text.p, text.len, 0, NULL);
}

TEST(rates_are_shown_per_second)
{
	const struct quality q = {.run_rate = 99000, .kept = 12};
	CLEANUP_JSON json_t *j = json_of(&q);

	ck_assert_double_eq(json_number_value(json_object_get(j, "runRate")),
	                    99);
	ck_assert_int_eq(json_integer_value(json_object_get(j, "samplesKept")),
	                 12);
	ck_assert_uint_eq(json_array_size(json_object_get(j, "notes")), 0);
}
END

TEST(a_command_of_a_note_names_the_service)
{
	const struct quality q = {.notes = QUALITY_NOTE_OF(NOT_KEPT)};
	CLEANUP_JSON json_t *j = json_of(&q);
	const char *note = json_string_value(
		json_array_get(json_object_get(j, "notes"), 0));

	ck_assert_ptr_nonnull(note);
	ck_assert_ptr_nonnull(
		strstr(note, "stoker service set web --allow goProfileRates"));
}
END

TEST(every_note_is_told)
{
	const struct quality q = {.notes = ~(quality_notes)0 >>
	                                   (128 - QUALITY_NOTES)};
	CLEANUP_JSON json_t *j = json_of(&q);

	ck_assert_uint_eq(
		json_array_size(json_object_get(j, "notes")) +
			json_array_size(json_object_get(j, "reasons")),
		QUALITY_NOTES);
}
END

TEST(a_poor_profile_says_so)
{
	static const struct {
		struct quality q;
		quality_notes notes;
	} rows[] = {
		{{.kept = 100}, 0},
		{{.kept = 99}, QUALITY_NOTE_OF(FEW_SAMPLES)},
		{{.kept = 900, .lost = 1}, QUALITY_NOTE_OF(LOST)},
		{{.kept = 900, .lost = 225}, QUALITY_NOTE_OF(LOST)},
		{{.kept = 900, .lost = 226}, QUALITY_NOTE_OF(LOST_MANY)},
		{{.kept = 900, .run_rate = 1, .lost = 900},
	         QUALITY_NOTE_OF(LOST)},
		{{.kept = 900, .run_rate = 1, .lost = 901},
	         QUALITY_NOTE_OF(LOST_MANY)},
		{{.kept = 900, .throttled = 1}, QUALITY_NOTE_OF(THROTTLED)},
		{{.kept = 900, .truncated = 45}, 0},
		{{.kept = 900, .truncated = 46}, QUALITY_NOTE_OF(SOME_BROKEN)},
		{{.kept = 900, .unwind_failed = 20, .switched = 25}, 0},
		{{.kept = 900, .unwind_failed = 20, .switched = 26},
	         QUALITY_NOTE_OF(SOME_BROKEN)},
		{{.kept = 900, .unwind_failed = 225},
	         QUALITY_NOTE_OF(SOME_BROKEN)},
		{{.kept = 900, .unwind_failed = 226}, QUALITY_NOTE_OF(BROKEN)},
		{{.kept = 900, .dropped = 1}, QUALITY_NOTE_OF(TREE_FULL)},
		{{.kept = 900, .modules = 2, .modules_unread = 1}, 0},
		{{.kept = 900, .modules = 2, .modules_unread = 2},
	         QUALITY_NOTE_OF(NOTHING_READ)},
		{{.kept = 900, .frames = 900, .symbolized = 675}, 0},
		{{.kept = 900, .frames = 900, .symbolized = 674},
	         QUALITY_NOTE_OF(FEW_NAMES)},
		{{.kept = 900, .frames = 7}, QUALITY_NOTE_OF(NO_NAMES)},
		{{.kept = 900,
	          .frames = 900,
	          .symbolized = 674,
	          .nameless = 450},
	         QUALITY_NOTE_OF(FEW_NAMES)},
		{{.kept = 900,
	          .run_rate = 1,
	          .frames = 9000,
	          .symbolized = 8500,
	          .nameless = 451},
	         QUALITY_NOTE_OF(NO_NAMES)},
		{{.kept = 900,
	          .frames = 9000,
	          .symbolized = 8500,
	          .nameless = 451},
	         0},
		{{.kept = 900, .unknown = 45}, 0},
		{{.kept = 900, .unknown = 46}, QUALITY_NOTE_OF(UNKNOWN_CODE)},
		{{.kept = 900, .unknown = 45, .unknown_callers = 180}, 0},
		{{.kept = 900, .unknown = 45, .unknown_callers = 181},
	         QUALITY_NOTE_OF(UNKNOWN_CODE)},
		{{.kept = 900, .unknown = 900, .frames = 900},
	         QUALITY_NOTE_OF(UNKNOWN_CODE)},
		{{.kept = 900, .duration_ms = 2000, .quota_ms = 100}, 0},
		{{.kept = 900, .duration_ms = 2000, .quota_ms = 101},
	         QUALITY_NOTE_OF(QUOTA)},
		{{.kept = 900,
	          .duration_ms = 2000,
	          .ran_ms = 200,
	          .waited_ms = 200},
	         0},
		{{.kept = 900,
	          .duration_ms = 2000,
	          .ran_ms = 200,
	          .waited_ms = 201},
	         QUALITY_NOTE_OF(CPU_BUSY)},
		{{.kept = 900, .duration_ms = 2000, .waited_ms = 100}, 0},
		{{.kept = 900, .duration_ms = 2000, .halted_ms = 100}, 0},
		{{.kept = 900, .duration_ms = 2000, .halted_ms = 101},
	         QUALITY_NOTE_OF(HALTED_PART)},
		{{.kept = 900,
	          .duration_ms = 2000,
	          .halted_ms = 2000,
	          .notes = QUALITY_NOTE_OF(HALTED)},
	         QUALITY_NOTE_OF(HALTED)},
		{{.kept = 900,
	          .duration_ms = 2000,
	          .halted_ms = 2000,
	          .notes = QUALITY_NOTE_OF(FROZEN)},
	         QUALITY_NOTE_OF(FROZEN)},
		{{.kept = 900,
	          .modules = 2,
	          .modules_unread = 2,
	          .notes = QUALITY_NOTE_OF(UNCOPIED)},
	         QUALITY_NOTE_OF(UNCOPIED)},
		{{.kept = 900, .runtime_unread = 46}, 0},
		{{.kept = 900, .traced = 45}, 0},
		{{.kept = 900, .traced = 46}, QUALITY_NOTE_OF(TRACED)},
		{{.kept = 900, .bits_32 = 45, .frames = 900, .symbolized = 855},
	         0},
		{{.kept = 900, .bits_32 = 46, .frames = 900, .symbolized = 854},
	         QUALITY_NOTE_OF(BITS_32)},
		{{.kept = 900, .bits_32 = 900, .frames = 900},
	         QUALITY_NOTE_OF(BITS_32)},
		{{.kept = 900, .jit_missed = 45}, 0},
		{{.kept = 900, .jit_missed = 46}, QUALITY_NOTE_OF(JAVA_UNREAD)},
		{{.kept = 900, .interp_missed = 45}, 0},
		{{.kept = 900, .interp = 46, .interp_missed = 46},
	         QUALITY_NOTE_OF(INTERP)},
		{{.kept = 900, .interp = 45, .interp_missed = 46},
	         QUALITY_NOTE_OF(INTERP) | QUALITY_NOTE_OF(NO_INTERP)},
		{{.kept = 900,
	          .interp = 91,
	          .interp_missed = 91,
	          .interp_late = 46},
	         QUALITY_NOTE_OF(INTERP_LATE)},
		{{.kept = 900,
	          .interp = 46,
	          .interp_missed = 46,
	          .interp_unknown = 46},
	         QUALITY_NOTE_OF(INTERP_UNKNOWN)},
		{{.kept = 900,
	          .unknown = 900,
	          .frames = 900,
	          .modules = 1,
	          .modules_unread = 1},
	         QUALITY_NOTE_OF(NOTHING_READ)},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct quality q = rows[i].q;

		quality_conclude(&q, "cpu");
		ck_assert_msg(q.notes == rows[i].notes,
		              "row %zu: %" PRIx64 " %016" PRIx64, i,
		              (uint64_t)(q.notes >> 64), (uint64_t)q.notes);
	}
}
END

TEST(a_profile_in_which_nothing_is_says_so_in_the_words_of_its_type)
{
	static const struct {
		const char *type;
		quality_notes why;
	} rows[] = {
		{"memory", QUALITY_NOTE_OF(NOTHING_ALLOCATED)},
		{"alloc", QUALITY_NOTE_OF(NOTHING_ALLOCATED)},
		{"block", QUALITY_NOTE_OF(NOTHING_WAITED)},
		{"mutex", QUALITY_NOTE_OF(NOTHING_LOCKED)},
		{"io", QUALITY_NOTE_OF(NOTHING_MOVED)},
	};
	static const quality_notes others[] = {
		QUALITY_NOTE_OF(TARGET_GONE), QUALITY_NOTE_OF(HALTED),
		QUALITY_NOTE_OF(FROZEN),      QUALITY_NOTE_OF(NO_ALLOCATOR),
		QUALITY_NOTE_OF(UNPROBED),    QUALITY_NOTE_OF(LEADERLESS),
		QUALITY_NOTE_OF(UNOPENED),    QUALITY_NOTE_OF(SHORT_LIVED),
		QUALITY_NOTE_OF(NAMELESS),    QUALITY_NOTE_OF(ALLOCS_32),
		QUALITY_NOTE_OF(UNREACHED)};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct quality q = {0};

		quality_conclude(&q, rows[i].type);
		ck_assert(q.notes == rows[i].why);
		for (size_t j = 0; j < ARRAY_LEN(others); j++) {
			struct quality other = {.notes = others[j]};

			quality_conclude(&other, rows[i].type);
			ck_assert(other.notes == others[j]);
		}
	}
}
END

TEST(memory_that_was_all_released_makes_no_good_profile)
{
	struct quality q = {.kept = 795,
	                    .notes = QUALITY_NOTE_OF(WHILE_WATCHED)};
	struct quality some = q;
	CLEANUP_JSON json_t *j = NULL;
	const json_t *reasons;

	some.in_use = 100;
	quality_conclude(&some, "memory");
	ck_assert(some.notes == QUALITY_NOTE_OF(WHILE_WATCHED));
	ck_assert_int_eq(quality_samples(&some), 100);
	quality_conclude(&q, "memory");
	ck_assert(q.notes == (QUALITY_NOTE_OF(WHILE_WATCHED) |
	                      QUALITY_NOTE_OF(NOTHING_LEFT)));
	ck_assert_int_eq(quality_samples(&q), 0);
	j = json_of(&q);
	reasons = json_object_get(j, "reasons");
	ck_assert_str_eq(json_string_value(json_object_get(j, "verdict")),
	                 "poor");
	ck_assert_str_eq(json_string_value(json_array_get(reasons, 0)),
	                 "no memory is in use: the program released all that "
	                 "it allocated during the capture; allocations: 795");
}
END

TEST(a_profile_without_samples_is_poor_and_says_why)
{
	static const struct {
		struct quality q;
		quality_notes why;
	} rows[] = {
		{{.used_ms = 10, .run_rate = 99000}, QUALITY_NOTE_OF(IDLE)},
		{{.used_ms = 49, .run_rate = 100000}, QUALITY_NOTE_OF(IDLE)},
		{{.used_ms = 50, .run_rate = 100000},
	         QUALITY_NOTE_OF(UNSAMPLED)},
		{{.notes = QUALITY_NOTE_OF(HALTED), .run_rate = 99000},
	         QUALITY_NOTE_OF(HALTED)},
		{{.notes = QUALITY_NOTE_OF(FROZEN), .run_rate = 99000},
	         QUALITY_NOTE_OF(FROZEN)},
		{{.notes = QUALITY_NOTE_OF(TARGET_GONE), .run_rate = 99000},
	         QUALITY_NOTE_OF(TARGET_GONE) | QUALITY_NOTE_OF(ENDED_UNSEEN)},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct quality q = rows[i].q;
		CLEANUP_JSON json_t *j = NULL;

		quality_conclude(&q, "cpu");
		ck_assert_msg(q.notes == rows[i].why,
		              "row %zu: %" PRIx64 " %016" PRIx64, i,
		              (uint64_t)(q.notes >> 64), (uint64_t)q.notes);
		j = json_of(&q);
		ck_assert_str_eq(
			json_string_value(json_object_get(j, "verdict")),
			"poor");
	}
}
END

TEST(processes_that_are_left_out_are_noted_by_the_reason)
{
	static const struct {
		int64_t other_unit, out_of_scope, too_many;
		quality_notes why;
	} rows[] = {
		{0, 0, 0, 0},
		{1, 0, 0, QUALITY_NOTE_OF(OTHER_UNIT)},
		{0, 1, 0, QUALITY_NOTE_OF(OUT_OF_SCOPE)},
		{0, 0, 1, QUALITY_NOTE_OF(TOO_MANY)},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct quality q = {0};

		quality_left(&q, rows[i].other_unit, rows[i].out_of_scope,
		             rows[i].too_many);
		ck_assert(q.notes == rows[i].why);
	}
}
END

TEST(a_service_that_is_restarted_is_no_service_of_short_processes)
{
	struct quality q = {0};

	quality_late(&q, 2);
	ck_assert(q.notes == 0);
	quality_late(&q, 3);
	ck_assert(q.notes == QUALITY_NOTE_OF(LATE));
	ck_assert_int_eq(q.late, 3);
}
END

TEST(names_that_came_later_take_their_hint_away)
{
	static const char earlier[] = /* of an earlier release */
		"many frames have no function name, as of stripped programs";
	const struct quality q = {.notes = QUALITY_NOTE_OF(FEW_NAMES),
	                          .unnamed = "libz.so.1, postgres"};
	CLEANUP_JSON json_t *j = json_of(&q);
	const json_t *note = json_array_get(json_object_get(j, "notes"), 0);

	ck_assert_ptr_nonnull(
		strstr(json_string_value(note),
	               "; most of them are in libz.so.1, postgr"));

	ck_assert_int_eq(quality_named(j, 10, 7), 0);
	ck_assert_uint_eq(json_array_size(json_object_get(j, "notes")), 1);
	ck_assert_int_eq(quality_named(j, 10, 8), 0);
	ck_assert_uint_eq(json_array_size(json_object_get(j, "notes")), 0);
	ck_assert_int_eq(json_array_append_new(json_object_get(j, "notes"),
	                                       json_string(earlier)),
	                 0);
	ck_assert_int_eq(quality_named(j, 10, 8), 0);
	ck_assert_uint_eq(json_array_size(json_object_get(j, "notes")), 0);
}
END

TEST(a_note_that_a_failed_check_explains_is_told_in_its_words)
{
	const struct quality q = {.notes = QUALITY_NOTE_OF(NO_KALLSYMS)};
	struct finding findings[CHECKS] = {0};

	for (int i = 0; i < 2; i++) {
		CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

		quality_json(&q, findings, NULL, &text);
		ck_assert_int_eq(!!strstr(buf_str(&text), "hidden: unhide it"),
		                 i);
		finding_set(&findings[CHECK_KERNEL_NAMES], WARNING, "unhide it",
		            "hidden");
	}
}
END

TEST(notes_that_one_failed_check_explains_are_one_note)
{
	const struct quality q = {.notes = QUALITY_NOTE_OF(NO_BPF) |
	                                   QUALITY_NOTE_OF(INTERP_BPF)};
	struct finding findings[CHECKS] = {0};

	for (size_t want = 2; want; want--) {
		CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_JSON json_t *j = NULL;

		quality_json(&q, findings, NULL, &text);
		j = json_loadb(text.p, text.len, 0, NULL);
		ck_assert_ptr_nonnull(j);
		ck_assert_uint_eq(json_array_size(json_object_get(j, "notes")),
		                  want);
		finding_set(&findings[CHECK_FILTER], WARNING, "move it",
		            "a PID namespace");
	}
}
END

TEST(names_that_came_later_make_a_poor_profile_good)
{
	const struct quality q = {.notes = QUALITY_NOTE_OF(NO_NAMES)};
	CLEANUP_JSON json_t *j = json_of(&q);

	ck_assert_str_eq(json_string_value(json_object_get(j, "verdict")),
	                 "poor");
	ck_assert_int_eq(quality_named(j, 8, 5), 0);
	ck_assert_str_eq(json_string_value(json_object_get(j, "verdict")),
	                 "poor");
	ck_assert_int_eq(quality_named(j, 8, 6), 0);
	ck_assert_str_eq(json_string_value(json_object_get(j, "verdict")),
	                 "good");
	ck_assert_uint_eq(json_array_size(json_object_get(j, "reasons")), 0);
}
END

TEST(files_that_are_closed_make_a_profile_poor_whatever_has_a_name)
{
	const struct quality q = {.notes = QUALITY_NOTE_OF(NOTHING_READ)};
	CLEANUP_JSON json_t *j = json_of(&q);

	ck_assert_int_eq(quality_named(j, 7, 5), 0);
	ck_assert_str_eq(json_string_value(json_object_get(j, "verdict")),
	                 "poor");
}
END

static const char *
first_note(const json_t *report)
{
	return json_string_value(
		json_array_get(json_object_get(report, "notes"), 0));
}

TEST(a_sum_that_is_rough_comes_with_its_bounds)
{
	const struct quality q = {.notes = QUALITY_NOTE_OF(SUM_ROUGH),
	                          .allocated_least = 12345,
	                          .allocated_most = 54321};
	CLEANUP_JSON json_t *j = json_of(&q);

	ck_assert_ptr_nonnull(strstr(first_note(j), "at least: 12345"));
	ck_assert_int_eq(
		json_integer_value(json_object_get(j, "allocatedMostBytes")),
		54321);
}
END

/* The report comes from an untrusted process. */
TEST(functions_that_are_not_watched_are_named_harmlessly)
{
	struct quality q = {.notes = QUALITY_NOTE_OF(UNWATCHED),
	                    .unwatched = "valloc, pval\033oc"};
	CLEANUP_JSON json_t *j = json_of(&q), *full = NULL;

	ck_assert_ptr_nonnull(strstr(first_note(j), ": valloc, pval?oc"));
	memset(q.unwatched, 'x', sizeof(q.unwatched));
	full = json_of(&q);
	ck_assert_ptr_nonnull(full);
}
END

TEST(allocators_that_hide_memory_are_named_with_what_helps)
{
	struct quality q = {.notes = QUALITY_NOTE_OF(HIDDEN),
	                    .hidden = UINT32_MAX};
	CLEANUP_JSON json_t *j = json_of(&q);

	ck_assert_ptr_nonnull(
		strstr(first_note(j), "memory of operator new, "));
	ck_assert_ptr_nonnull(strstr(first_note(j), "; PHP's own allocator, "));
	ck_assert_ptr_nonnull(strstr(first_note(j), "USE_ZEND_ALLOC=0"));
#define QUALITY_HIDDEN(of, text) \
	ck_assert_ptr_nonnull(strstr(first_note(j), text));
#include "capture/host/quality.def"
#undef QUALITY_HIDDEN
}
END

TEST(languages_that_are_not_read_are_named_with_what_helps)
{
	const uint32_t lua = 1U << QUALITY_RUNTIME_LUA;
	const uint32_t erlang = 1U << QUALITY_RUNTIME_ERLANG;
	struct quality few = {.kept = 900,
	                      .frames = 900,
	                      .symbolized = 900,
	                      .runtime_unread = 45,
	                      .runtimes = lua},
		       many = few, named, nameless;

	many.runtime_unread = 46;
	many.runtimes |= erlang;
	named = nameless = many;
	nameless.unknown = 46;
	named.runtimes = erlang; /* its runtime wrote a file of names */
	quality_conclude(&few, "cpu");
	quality_conclude(&many, "cpu");
	quality_conclude(&named, "cpu");
	quality_conclude(&nameless, "cpu");
	ck_assert(!few.notes);
	ck_assert(!named.notes);
	ck_assert(many.notes == QUALITY_NOTE_OF(RUNTIME_UNREAD));
	ck_assert_uint_eq(many.runtimes, lua);
	ck_assert_uint_eq(nameless.runtimes, lua | erlang);
	{
		CLEANUP_JSON json_t *j = json_of(&nameless);
		const char *text = json_string_value(
			json_array_get(json_object_get(j, "reasons"), 1));

		ck_assert_ptr_nonnull(
			strstr(text, "that cannot be read: Erlang"));
		ck_assert_ptr_nonnull(strstr(text, "+JPperf true"));
		ck_assert_ptr_nonnull(strstr(text, "; Lua: "));
	}
}
END

TEST(a_profile_without_allocations_says_if_nothing_could_be_watched)
{
	struct quality q = {.notes = QUALITY_NOTE_OF(NO_ALLOCATOR)}, none = {0};

	quality_conclude(&q, "alloc");
	ck_assert(q.notes == QUALITY_NOTE_OF(NO_ALLOCATOR));
	quality_conclude(&none, "alloc");
	ck_assert(none.notes == QUALITY_NOTE_OF(NOTHING_ALLOCATED));
}
END

TEST(lost_samples_and_longer_periods_lower_the_achieved_rate)
{
	static const struct {
		struct quality q;
		int64_t achieved; /* thousandths */
	} rows[] = {
		{{.kept = 0, .lost = 5}, 0},
		{{.kept = 1000, .cpu_ns = 10000000000}, 100000},
		{{.kept = 750, .lost = 250, .cpu_ns = 7500000000}, 75000},
		{{.kept = 1000, .cpu_ns = 20000000000}, 50000},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct quality q = rows[i].q;

		quality_conclude(&q, "cpu");
		ck_assert_int_eq(q.achieved_rate, rows[i].achieved);
	}
}
END

SUITE("quality");
