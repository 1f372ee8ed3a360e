#include "capture/quality.h"

#include "base/json.h"
#include "lib/test.h"

static json_t *
json_of(const struct quality *q)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	quality_json(q, &text);
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

TEST(every_note_is_told)
{
	const struct quality q = {.notes = (1u << QUALITY_NOTES) - 1};
	CLEANUP_JSON json_t *j = json_of(&q);

	ck_assert_uint_eq(json_array_size(json_object_get(j, "notes")),
	                  QUALITY_NOTES);
}
END

TEST(a_poor_profile_says_so)
{
	static const struct {
		struct quality q;
		uint32_t notes;
	} rows[] = {
		{{.kept = 100}, 0},
		{{.kept = 99}, QUALITY_NOTE_OF(FEW_SAMPLES)},
		{{.kept = 900, .lost = 1}, QUALITY_NOTE_OF(LOST)},
		{{.kept = 900, .throttled = 1}, QUALITY_NOTE_OF(THROTTLED)},
		{{.kept = 900, .truncated = 45}, 0},
		{{.kept = 900, .truncated = 46}, QUALITY_NOTE_OF(TRUNCATED)},
		{{.kept = 900, .dropped = 1}, QUALITY_NOTE_OF(TREE_FULL)},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct quality q = rows[i].q;

		quality_conclude(&q);
		ck_assert_msg(q.notes == rows[i].notes, "row %zu: %x", i,
		              q.notes);
	}
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

		quality_conclude(&q);
		ck_assert_int_eq(q.achieved_rate, rows[i].achieved);
	}
}
END

	SUITE("quality", rates_are_shown_per_second, every_note_is_told,
              a_poor_profile_says_so,
              lost_samples_and_longer_periods_lower_the_achieved_rate)
