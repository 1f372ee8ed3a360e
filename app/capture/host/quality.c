#include "capture/quality.h"

#include "base/json_out.h"
#include "base/service_text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define FEW     100
#define IDLE    5  /* expected samples; if none came, that is not by chance */
#define SEVERAL 3  /* processes; a service that is restarted has fewer */
#define MANY    20 /* a note is due if more than one in MANY is affected */

_Static_assert(QUALITY_NOTES <= 128, "bits of quality.notes");

enum unit { COUNT, MILLI };

static const struct {
	const char *json, *doc;
	enum unit unit;
	size_t offset;
} rows[] = {
#define QUALITY(field, unit, json, doc) \
	{json, doc, unit, offsetof(struct quality, field)},
#include "quality.def"
#undef QUALITY
};

enum weight { HINT, POOR };

static const struct {
	enum weight weight;
	enum check check;
	const char *text;
} notes[] = {
#define QUALITY_NOTE(bit, weight, check, text) {weight, check, text},
#include "quality.def"
#undef QUALITY_NOTE
};

static const struct {
	unsigned note;
	size_t offset;
} numbers[] = {
#define QUALITY_NOTE_NUMBER(bit, field) \
	{QUALITY_BIT_##bit, offsetof(struct quality, field)},
#include "quality.def"
#undef QUALITY_NOTE_NUMBER
};

/* The notes of empty profiles. */
static const struct {
	const char *type;
	quality_notes note;
} nothings[] = {
#define NOTE(bit) QUALITY_NOTE_OF(bit)
#define PROFILE_TYPE(name, sample, unit, count, kind, values, doc, cost, \
                     counted, note, ...)                                 \
	{#name, note},
#include "types.def"
#undef PROFILE_TYPE
#undef NOTE
};

static const char *const whys[] = {
#define QUALITY_BREAK(why, text) text,
#include "quality.def"
#undef QUALITY_BREAK
};

static void
note_if(struct quality *q, quality_notes note, bool when)
{
	if (when)
		q->notes |= note;
}

/* Returns the number of samples to expect in a CPU capture, from the kernel's
 * count of CPU time. */
static double
expected(const struct quality *q)
{
	return (double)q->used_ms / 1000 * (double)q->run_rate / 1000;
}

void
quality_nothing(struct quality *q, const char *type)
{
	for (size_t i = 0; i < ARRAY_LEN(nothings); i++)
		note_if(q, nothings[i].note, !strcmp(nothings[i].type, type));
}

int64_t
quality_samples(const struct quality *q)
{
	return q->notes & QUALITY_NOTE_OF(WHILE_WATCHED) ? q->in_use : q->kept;
}

/* Notes why a capture has no samples at all. */
static void
conclude_empty(struct quality *q, const char *type)
{
	bool gone = q->notes & QUALITY_NOTE_OF(TARGET_GONE);
	const quality_notes halts = QUALITY_NOTE_OF(HALTED) |
	                            QUALITY_NOTE_OF(FROZEN);
	const quality_notes unseen =
		halts | QUALITY_NOTE_OF(TARGET_GONE) |
		QUALITY_NOTE_OF(NO_ALLOCATOR) | QUALITY_NOTE_OF(UNPROBED) |
		QUALITY_NOTE_OF(LEADERLESS) | QUALITY_NOTE_OF(UNOPENED) |
		QUALITY_NOTE_OF(SHORT_LIVED) | QUALITY_NOTE_OF(NAMELESS) |
		QUALITY_NOTE_OF(ALLOCS_32) | QUALITY_NOTE_OF(UNREACHED);

	if (!q->run_rate) { /* not of CPU time */
		if (!(q->notes & unseen))
			quality_nothing(q, type);
		return;
	}
	note_if(q, QUALITY_NOTE_OF(ENDED_UNSEEN), gone);
	note_if(q, QUALITY_NOTE_OF(IDLE),
	        !gone && !(q->notes & halts) && expected(q) < IDLE);
	note_if(q, QUALITY_NOTE_OF(UNSAMPLED), !gone && expected(q) >= IDLE);
}

void
quality_left(struct quality *q, int64_t other_unit, int64_t out_of_scope,
             int64_t too_many)
{
	q->other_unit = other_unit;
	q->out_of_scope = out_of_scope;
	q->too_many = too_many;
	note_if(q, QUALITY_NOTE_OF(OTHER_UNIT), other_unit > 0);
	note_if(q, QUALITY_NOTE_OF(OUT_OF_SCOPE), out_of_scope > 0);
	note_if(q, QUALITY_NOTE_OF(TOO_MANY), too_many > 0);
}

void
quality_late(struct quality *q, int64_t late)
{
	q->late = late;
	note_if(q, QUALITY_NOTE_OF(LATE), late >= SEVERAL);
}

/* A quarter without names is enough to hide the function that costs most. */
static bool
lacks_names(int64_t frames, int64_t named)
{
	return named < frames - frames / 4;
}

/* True when names of a whole language are missing, among the innermost frames
 * or among callers: profiles of waits show it only there. */
static bool
has_unknown_code(const struct quality *q)
{
	return q->unknown > q->kept / MANY ||
	       q->unknown + q->unknown_callers > q->kept / 4;
}

/* Notes why names are missing, unless another note says so. No package provides
 * names of 32-bit programs, whose samples have one frame each. The innermost
 * function matters only where it is what costs: in other profiles it allocates
 * or waits for a function that is shown in its place. */
static void
conclude_names(struct quality *q)
{
	int64_t frames = q->frames - q->bits_32;

	if (q->notes & QUALITY_NOTE_OF(NOTHING_READ))
		return;
	if (has_unknown_code(q))
		q->notes |= QUALITY_NOTE_OF(UNKNOWN_CODE);
	else if ((frames > 0 && !q->symbolized) ||
	         (q->run_rate && q->nameless - q->bits_32 > q->kept / 2))
		q->notes |= QUALITY_NOTE_OF(NO_NAMES);
	else if (lacks_names(frames, q->symbolized))
		q->notes |= QUALITY_NOTE_OF(FEW_NAMES);
}

enum { INTERPRETED, COMPILED };

static const struct {
	uint32_t how;
	const char *text;
} runtimes[] = {
#define QUALITY_RUNTIME(of, language, how, text) {how, text},
#include "quality.def"
#undef QUALITY_RUNTIME
};

/* Notes languages whose functions are missing. Compiled functions may have
 * names from a file that the program wrote. */
static void
conclude_runtimes(struct quality *q)
{
	for (size_t i = 0; i < ARRAY_LEN(runtimes); i++)
		if (runtimes[i].how == COMPILED && !has_unknown_code(q))
			q->runtimes &= ~(UINT32_C(1) << i);
	note_if(q, QUALITY_NOTE_OF(RUNTIME_UNREAD),
	        q->runtimes && q->runtime_unread > q->kept / MANY);
}

static void
conclude_interp(struct quality *q)
{
	int64_t many = q->kept / MANY;

	note_if(q, QUALITY_NOTE_OF(NO_INTERP),
	        q->interp_missed > many && q->interp_missed > q->interp);
	note_if(q, QUALITY_NOTE_OF(INTERP),
	        q->interp_missed - q->interp_late - q->interp_unknown > many);
	note_if(q, QUALITY_NOTE_OF(INTERP_LATE), q->interp_late > many);
	note_if(q, QUALITY_NOTE_OF(INTERP_UNKNOWN), q->interp_unknown > many);
}

void
quality_conclude_stacks(struct quality *q)
{
	const int64_t broken = q->truncated + q->switched + q->unwind_failed;

	/* If a quarter of the stacks lack callers, another function may have
	 * the largest total. */
	note_if(q, QUALITY_NOTE_OF(BROKEN), broken > q->kept / 4);
	note_if(q, QUALITY_NOTE_OF(SOME_BROKEN),
	        broken > q->kept / MANY && broken <= q->kept / 4);
	note_if(q, QUALITY_NOTE_OF(NOTHING_READ),
	        q->modules > 0 && q->modules_unread == q->modules &&
	                !(q->notes & QUALITY_NOTE_OF(UNCOPIED)));
	note_if(q, QUALITY_NOTE_OF(BITS_32), q->bits_32 > q->kept / MANY);
	note_if(q, QUALITY_NOTE_OF(TRACED), q->traced > q->kept / MANY);
	note_if(q, QUALITY_NOTE_OF(JAVA_UNREAD),
	        q->jit_missed > q->kept / MANY);
	conclude_interp(q);
	conclude_runtimes(q);
	conclude_names(q);
}

/* True if shares may be wrong, since many records were lost. Chance decides
 * which samples of CPU time are lost; events are lost mostly in bursts. */
static bool
lost_many(const struct quality *q)
{
	return q->lost > (q->run_rate ? q->kept : q->kept / 4);
}

void
quality_conclude(struct quality *q, const char *type)
{
	int64_t samples = quality_samples(q);
	double all = (double)(q->kept + q->lost);
	double hz = q->cpu_ns ? (double)q->kept * 1e9 / (double)q->cpu_ns : 0;

	/* A throttled CPU is silent until its next tick: the achieved rate can
	 * only be lower. */
	q->achieved_rate = q->kept ? llround(1000 * hz * (double)q->kept / all)
	                           : 0;
	note_if(q, QUALITY_NOTE_OF(LOST), q->lost > 0 && !lost_many(q));
	note_if(q, QUALITY_NOTE_OF(LOST_MANY), lost_many(q));
	note_if(q, QUALITY_NOTE_OF(THROTTLED), q->throttled > 0);
	quality_conclude_stacks(q);
	note_if(q, QUALITY_NOTE_OF(QUOTA), q->quota_ms > q->duration_ms / MANY);
	note_if(q, QUALITY_NOTE_OF(HALTED_PART),
	        q->halted_ms > q->duration_ms / MANY &&
	                !(q->notes &
	                  (QUALITY_NOTE_OF(HALTED) | QUALITY_NOTE_OF(FROZEN))));
	note_if(q, QUALITY_NOTE_OF(CPU_BUSY),
	        q->waited_ms > q->ran_ms &&
	                q->waited_ms > q->duration_ms / MANY);
	note_if(q, QUALITY_NOTE_OF(TREE_FULL), q->dropped > 0);
	note_if(q, QUALITY_NOTE_OF(FEW_SAMPLES), samples && samples < FEW);
	note_if(q, QUALITY_NOTE_OF(NOTHING_LEFT), q->kept && !samples);
	if (!q->kept)
		conclude_empty(q, type);
}

static int64_t
field(const struct quality *q, size_t offset)
{
	return *(const int64_t *)(const void *)((const char *)q + offset);
}

static int64_t
value(const struct quality *q, size_t row)
{
	return field(q, rows[row].offset);
}

static void
put_value(const struct quality *q, size_t row, struct buf *out)
{
	int64_t v = value(q, row);

	if (rows[row].unit == COUNT)
		json_put_int(out, rows[row].json, v);
	else
		json_put_real(out, rows[row].json, (double)v / 1000);
}

static bool
is_poor(const struct quality *q)
{
	for (unsigned i = 0; i < QUALITY_NOTES; i++)
		if (q->notes >> i & 1 && notes[i].weight == POOR)
			return true;
	return false;
}

static const char *
verdict_of(bool poor)
{
	return poor ? "poor" : "good";
}

/* --- modules where stacks break off --------------------------------------- */

static uint32_t
count_breaks(const struct quality *q)
{
	return q->nbreaks < QUALITY_MAX_BREAKS ? q->nbreaks
	                                       : QUALITY_MAX_BREAKS;
}

static double
percent(const struct quality *q, const struct quality_break *b)
{
	return q->kept ? 100 * (double)b->stacks / (double)q->kept : 0;
}

static const char *
why_of(const struct quality_break *b)
{
	return b->why < QUALITY_BREAKS ? whys[b->why] : "";
}

static void
put_breaks(const struct quality *q, struct buf *out)
{
	char module[sizeof(q->breaks[0].module) + 1] = {0};

	json_open(out, "stackBreaks", '[');
	for (uint32_t i = 0; i < count_breaks(q); i++) {
		const struct quality_break *b = &q->breaks[i];

		memcpy(module, b->module, sizeof(b->module));
		json_open(out, NULL, '{');
		json_put_text(out, "module", module);
		json_put_int(out, "stacks", b->stacks);
		json_put_real(out, "percent", percent(q, b));
		json_put_text(out, "reason", why_of(b));
		json_close(out, '}');
	}
	json_close(out, ']');
}

/* Appends a name of at most n bytes, each of which may have any value. */
static void
add_name(struct buf *out, const char *name, size_t n)
{
	n = strnlen(name, n);
	for (size_t at = 0; at < n; at++)
		buf_putc(out,
		         iscntrl((unsigned char)name[at]) ? '?' : name[at]);
}

/* Writes "…: 61 % in libx264.so.164, which has no unwind tables; …". */
static void
add_breaks(const struct quality *q, struct buf *out)
{
	for (uint32_t i = 0; i < count_breaks(q); i++) {
		const struct quality_break *b = &q->breaks[i];

		buf_addf(out, "%s %.0f %% in ", i ? ";" : ":", percent(q, b));
		add_name(out, b->module, sizeof(b->module));
		buf_addf(out, ", %s", why_of(b));
	}
}

static const char *const hidden[] = {
#define QUALITY_HIDDEN(of, text) text,
#include "quality.def"
#undef QUALITY_HIDDEN
};

/* Writes " operator new, …; PHP's own allocator, …". */
static void
add_hidden(const struct quality *q, struct buf *out)
{
	const char *before = " ";

	for (size_t i = 0; i < ARRAY_LEN(hidden); i++)
		if (q->hidden >> i & 1) {
			buf_addf(out, "%s%s", before, hidden[i]);
			before = "; ";
		}
}

/* Writes ": Erlang: OTP …; Lua: …". */
static void
add_runtimes(const struct quality *q, struct buf *out)
{
	const char *before = ": ";

	for (size_t i = 0; i < ARRAY_LEN(runtimes); i++)
		if (q->runtimes >> i & 1) {
			buf_addf(out, "%s%s", before, runtimes[i].text);
			before = "; ";
		}
}

/* --- notes ---------------------------------------------------------------- */

static void
add_number(const struct quality *q, unsigned note, struct buf *out)
{
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (numbers[i].note == note)
			buf_addf(out, ": %lld",
			         (long long)field(q, numbers[i].offset));
}

static void
add_note(const struct quality *q, unsigned i, const struct finding *findings,
         const char *service, struct buf *out)
{
	enum check c = notes[i].check;

	if (!findings || c == CHECKS || !finding_explain(&findings[c], out)) {
		text_for_service(notes[i].text, service, out);
		add_number(q, i, out);
	}
	if (i == QUALITY_BIT_BROKEN || i == QUALITY_BIT_SOME_BROKEN)
		add_breaks(q, out);
	if (i == QUALITY_BIT_UNWATCHED) {
		buf_puts(out, ": ");
		add_name(out, q->unwatched, sizeof(q->unwatched));
	}
	if ((i == QUALITY_BIT_FEW_NAMES || i == QUALITY_BIT_NO_NAMES) &&
	    *q->unnamed) {
		buf_puts(out, "; most of them are in ");
		add_name(out, q->unnamed, sizeof(q->unnamed));
	}
	if (i == QUALITY_BIT_HIDDEN)
		add_hidden(q, out);
	if (i == QUALITY_BIT_RUNTIME_UNREAD)
		add_runtimes(q, out);
}

/* True if the finding of a check explains a note, and an earlier note of the
 * same weight has given it. */
static bool
is_repeated(const struct quality *q, unsigned i, const struct finding *findings)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	enum check c = notes[i].check;

	if (!findings || c == CHECKS || !finding_explain(&findings[c], &text))
		return false;
	for (unsigned k = 0; k < i; k++)
		if (q->notes >> k & 1 && notes[k].check == c &&
		    notes[k].weight == notes[i].weight)
			return true;
	return false;
}

static void
put_notes(const char *key, const struct quality *q,
          const struct finding *findings, const char *service,
          enum weight weight, struct buf *out)
{
	json_open(out, key, '[');
	for (unsigned i = 0; i < QUALITY_NOTES; i++)
		if (q->notes >> i & 1 && notes[i].weight == weight &&
		    !is_repeated(q, i, findings)) {
			CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

			add_note(q, i, findings, service, &text);
			json_put_text(out, NULL, buf_str(&text));
		}
	json_close(out, ']');
}

void
quality_json(const struct quality *q, const struct finding *findings,
             const char *service, struct buf *out)
{
	json_open(out, NULL, '{');
	json_put_text(out, "verdict", verdict_of(is_poor(q)));
	json_put_text(out, "source",
	              q->source == QUALITY_ENDPOINT ? "endpoint" : "outside");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		put_value(q, i, out);
	put_breaks(q, out);
	put_notes("reasons", q, findings, service, POOR, out);
	put_notes("notes", q, findings, service, HINT, out);
	json_close(out, '}');
}

/* Removes a note by the beginning of its text: other releases word the advice
 * differently. */
static void
remove_note(json_t *list, unsigned note)
{
	const char *text = notes[note].text;

	json_remove_prefix(list, text, strcspn(text, ":"));
}

int
quality_named(json_t *report, int64_t frames, int64_t named)
{
	json_t *reasons = json_object_get(report, "reasons");

	if (!lacks_names(frames, named)) {
		remove_note(reasons, QUALITY_BIT_NO_NAMES);
		remove_note(json_object_get(report, "notes"),
		            QUALITY_BIT_FEW_NAMES);
	}
	if (json_object_set_new(report, "frames", json_integer(frames)) ||
	    json_object_set_new(report, "framesNamed", json_integer(named)) ||
	    json_object_set_new(
		    report, "verdict",
		    json_string(verdict_of(json_array_size(reasons) > 0))))
		return -ENOMEM;
	return 0;
}

void
quality_text(const struct quality *q, struct buf *out)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].unit == COUNT)
			buf_addf(out, "  %-16s %lld\n", rows[i].json,
			         (long long)value(q, i));
		else
			buf_addf(out, "  %-16s %.3f\n", rows[i].json,
			         (double)value(q, i) / 1000);
	}
	for (unsigned i = 0; i < QUALITY_NOTES; i++)
		if (q->notes >> i & 1) {
			buf_puts(out, "  note: ");
			add_note(q, i, NULL, NULL, out);
			buf_putc(out, '\n');
		}
}
