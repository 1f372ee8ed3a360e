/* The verdict of a comparison, in words. */
#include "profile/compare.h"

#include "base/clock.h"
#include "base/json_out.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAMED     3  /* functions that a sentence names */
#define NAME_SEEN 80 /* bytes of a name; the rest is left out */

const char *
compare_words(const struct comparison *c)
{
	static const char *const words[] = {
		[COMPARE_OK] = "unchanged",
		[COMPARE_REGRESSED] = "costs more",
		[COMPARE_COSTS_MORE] = "costs more",
		[COMPARE_IMPROVED] = "costs less",
		[COMPARE_INSUFFICIENT] = "not enough data",
	};

	return c->verdict == COMPARE_OK && c->low <= -COMPARE_TOTAL
	               ? "does not cost more"
	               : words[c->verdict];
}

static void
put_number(struct buf *out, double v, const char *sign)
{
	buf_addf(out, "%s%.*f", v < 0 ? "-" : sign, fabs(v) < 9.95, fabs(v));
}

static void
put_change(struct buf *out, double percent)
{
	put_number(out, fabs(percent), "");
	buf_addf(out, " %% %s", percent < 0 ? "less" : "more");
}

static void
put_duration(struct buf *out, double s)
{
	if (s < 90)
		buf_addf(out, "%.0f s", ceil(s));
	else if (s < 90 * 60)
		buf_addf(out, "%.0f min", ceil(s / 60));
	else if (s < 48 * 3600)
		buf_addf(out, "%.0f h", ceil(s / 3600));
	else
		buf_addf(out, "%.0f days", ceil(s / 86400));
}

/* Appends " since 2026-11-26 20:16:30 UTC". */
static void
put_since(const struct compare_since *s, struct buf *out)
{
	char at[RFC3339_LEN];

	if (!s->at_ms)
		return;
	clock_format(s->at_ms, at);
	buf_addf(out, " since %.10s %.8s UTC", at, at + 11);
}

/* Appends how the cost of all functions together changed. */
static void
put_whole(const struct comparison *c, const char *the, struct buf *out)
{
	if (!c->known) {
		buf_puts(out, "how much the service as a whole costs is not "
		              "known");
		return;
	}
	buf_puts(out, the);
	if (c->low > -COMPARE_TOTAL && c->high < COMPARE_TOTAL) {
		buf_puts(out, " is unchanged");
	} else if (c->low > 0 || c->high < 0) {
		buf_puts(out, " costs ");
		put_change(out, c->delta);
		put_since(&c->since, out);
	} else if (c->high < COMPARE_TOTAL) {
		buf_addf(out, " does not cost %g %% more", COMPARE_TOTAL);
	} else {
		buf_puts(out, " may have changed");
	}
	buf_puts(out, c->by == COMPARE_BY_WORK ? " per unit of work (" : " (");
	put_number(out, c->low, "+");
	buf_puts(out, " to ");
	put_number(out, c->high, "+");
	buf_puts(out, " %)");
}

/* --- functions ------------------------------------------------------------ */

static void
put_name(struct buf *out, const char *name)
{
	size_t n = strlen(name), seen = n;

	if (n > NAME_SEEN)
		for (seen = NAME_SEEN; (name[seen] & 0xc0) == 0x80;)
			seen--; /* back to the start of a character */
	buf_add(out, name, seen);
	buf_puts(out, n > seen ? "..." : "");
}

/* Appends " costs 2.6 times as much". */
static void
put_times(struct buf *out, double times)
{
	buf_puts(out, " costs ");
	if (times >= 2)
		buf_addf(out, "%.1f times as much", times);
	else
		put_change(out, 100 * (times - 1));
}

/* Appends "f costs 2.6 times as much since 2026-11-26 20:16:30 UTC". */
static void
put_function(const struct comparison *c, const struct compare_function *f,
             bool total, struct buf *out)
{
	double base = (double)(total ? f->base.total : f->base.self);
	double now = (double)(total ? f->now.total : f->now.self);
	double base_pct = total ? f->base.cumulative_pct : f->base.pct;
	double now_pct = total ? f->now.cumulative_pct : f->now.pct;
	CLEANUP_BUF struct buf since = BUF_INIT(BUF_MAX_SMALL);

	put_since(&f->since, &since);
	put_name(out, f->name);
	buf_puts(out, total ? ", with what it calls," : "");
	if (base <= 0 || now <= 0) {
		buf_addf(out, " is %s%s, with %.1f %% of all",
		         base <= 0 ? "new" : "gone", buf_str(&since),
		         base <= 0 ? now_pct : base_pct);
		return;
	}
	if (!c->known) {
		buf_addf(out, " %s from %.1f to %.1f %% of all%s",
		         now_pct > base_pct ? "rose" : "fell", base_pct,
		         now_pct, buf_str(&since));
		return;
	}
	put_times(out, now / c->now_per / (base / c->base_per));
	buf_puts(out, buf_str(&since));
}

/* Appends the functions that decided the verdict, largest first. */
static void
put_functions(const struct comparison *c, struct buf *out)
{
	size_t n = 0;

	for (size_t i = 0; i < c->nrisen; i++, n++) {
		if (n >= NAMED)
			continue;
		buf_puts(out, n ? ", " : "");
		put_function(c, c->risen[i], true, out);
	}
	for (size_t i = 0; !c->nrisen && i < c->nregressions + c->nimprovements;
	     i++) {
		if (!compare_decides(c, &c->functions[i]))
			continue;
		if (n < NAMED) {
			buf_puts(out, n ? ", " : "");
			put_function(c, &c->functions[i], false, out);
		}
		n++;
	}
	if (n > NAMED)
		buf_addf(out, ", and %zu more %s", n - NAMED,
		         n - NAMED == 1 ? "function" : "functions");
}

static bool
has_deciding(const struct comparison *c)
{
	for (size_t i = 0; i < c->nregressions + c->nimprovements; i++)
		if (compare_decides(c, &c->functions[i]))
			return true;
	return c->nrisen > 0;
}

#define MAY_COST 1.25 /* times as much; less is often the noise of a rate */

/* Appends the function whose share of the total grew most, if it may cost more
 * in absolute terms as well. Its cost per second does not decide the verdict,
 * but users see it marked in the table. */
static void
put_grown_share(const struct comparison *c, struct buf *out)
{
	const struct compare_function *f = c->functions;

	if (!c->nregressions || c->by != COMPARE_BY_SHARE ||
	    c->verdict == COMPARE_REGRESSED ||
	    f->now.rate < MAY_COST * f->base.rate)
		return;
	buf_puts(out, " Yet ");
	put_name(out, f->name);
	buf_addf(out, " rose from %.1f to %.1f %% of all, and may cost more.",
	         f->base.pct, f->now.pct);
}

/* Appends the function that shifted within the comparison: the mean of its two
 * levels is not what it costs at either time. */
static void
put_shifted(const struct comparison *c, struct buf *out)
{
	if (!c->shifted)
		return;
	put_name(out, c->shifted->name);
	if (c->shifted_factor > 0 && isfinite(c->shifted_factor))
		put_times(out, c->shifted_factor);
	else
		buf_puts(out, c->shifted_factor > 0 ? " is new" : " is gone");
	put_since(&c->shifted->since, out);
	buf_puts(out,
	         ", within the comparison: compare the time from then on. ");
}

/* --- the sentence --------------------------------------------------------- */

/* If both sides have this many samples, chance alone explains a difference of
 * at most 10 %; a larger one is variation over time. */
#define MANY_SAMPLES 1000

#define HINDERED 0.2 /* share of runnable time spent waiting for a CPU */

static bool
is_hindered(const struct comparison *c)
{
	return !c->as_is && c->by != COMPARE_BY_WORK &&
	       fmin(c->base_ran, c->now_ran) < 1 - HINDERED;
}

#define WHOLE       "the service as a whole"
#define WHOLE_FIRST "The service as a whole"

static void
put_no_function(const struct comparison *c, const char *then, struct buf *out)
{
	put_shifted(c, out);
	buf_addf(out, "No %sfunction changed by more than chance explains, %s",
	         c->shifted ? "other " : "", then);
}

static void
put_missing(const struct comparison *c, struct buf *out)
{
	if (!c->counted) {
		buf_puts(out, "How many samples a side has is not known: its "
		              "file has neither a count nor a period in the "
		              "unit of its values.");
	} else if (c->rough) {
		buf_puts(out, "How much a side allocated in all is not known: "
		              "its program was watched only part of the "
		              "time.");
	} else if (c->base_samples < COMPARE_SAMPLES ||
	           c->now_samples < COMPARE_SAMPLES) {
		buf_addf(out,
		         "The base has %.0f samples and the comparison %.0f; "
		         "each needs at least %d.",
		         c->base_samples, c->now_samples, COMPARE_SAMPLES);
	} else {
		put_no_function(c, "but ", out);
		put_whole(c, WHOLE, out);
		buf_putc(out, '.');
	}
	if (c->enough && is_hindered(c)) {
		buf_addf(out,
		         " It waited for a CPU for %.0f %% of the time in "
		         "which it could run in the base, and %.0f %% in the "
		         "comparison: take both profiles again while less else "
		         "runs, or count the work done.",
		         100 * (1 - c->base_ran), 100 * (1 - c->now_ran));
	} else if (c->wait_s > 0) {
		buf_puts(out, " If it goes on like this, ");
		put_duration(out, c->wait_s);
		buf_puts(out, " more of the comparison will tell.");
	} else if (c->base_samples >= MANY_SAMPLES &&
	           c->now_samples >= MANY_SAMPLES && c->counted && !c->rough) {
		buf_puts(out, " The cost differs too much from time to time, "
		              "as it does while other programs take the CPU: "
		              "take both profiles again, at a quieter time or "
		              "for longer.");
	} else if (c->counted && !c->rough) {
		buf_puts(out,
		         " The base is too short to tell: take both "
		         "profiles again, for longer or at a higher rate.");
	}
}

void
compare_reason(const struct comparison *c, struct buf *out)
{
	switch (c->verdict) {
	case COMPARE_REGRESSED:
	case COMPARE_COSTS_MORE:
	case COMPARE_IMPROVED:
		if (has_deciding(c)) {
			put_functions(c, out);
			buf_puts(out, "; ");
			put_whole(c, WHOLE, out);
			buf_putc(out, '.');
			break;
		}
		put_whole(c, WHOLE_FIRST, out);
		buf_puts(out, ", and no single function accounts for it");
		if (c->verdict == COMPARE_COSTS_MORE && !c->as_is &&
		    c->by != COMPARE_BY_WORK)
			buf_puts(out, ": it did more work, or all of its work "
			              "costs more. Counts of the work done "
			              "would tell which");
		buf_putc(out, '.');
		break;
	case COMPARE_OK:
		put_no_function(c, "and ", out);
		put_whole(c, WHOLE, out);
		buf_putc(out, '.');
		break;
	case COMPARE_INSUFFICIENT:
		put_missing(c, out);
		break;
	}
	put_grown_share(c, out);
}

void
compare_put_verdict(const struct comparison *c, struct buf *out)
{
	CLEANUP_BUF struct buf reason = BUF_INIT(BUF_MAX_SMALL);

	compare_reason(c, &reason);
	json_put_known(out, "overallDelta", c->delta, c->known);
	json_put_known(out, "overallDeltaLow", c->low, c->known);
	json_put_known(out, "overallDeltaHigh", c->high, c->known);
	json_put_text(out, "verdict", compare_verdicts[c->verdict]);
	json_put_text(out, "verdictText", compare_words(c));
	json_put_text(out, "reason", buf_str(&reason));
	if (c->shifted)
		json_put_text(out, "shiftedFunction", c->shifted->name);
	else
		json_put_null(out, "shiftedFunction");
	json_put_time_or_null(out, "shiftedAt",
	                      c->shifted ? c->shifted->since.at_ms : 0);
}
