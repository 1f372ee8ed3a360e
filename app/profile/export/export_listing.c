/*
 * Writes the source lines and the instructions of a function, or of all, with
 * what each costs:
 *
 *	{..., "files": [{"file": "/src/parse.c", "state": "read", "lines": [
 *	  {"line": 42, "text": "while (n--)", "self": 20, "total": 30}],
 *	  "from": {"id": "sess-...", "at": "...", "build": "same"}}],
 *	 "functions": [{"function": "parse", "module": "/usr/bin/web", "code": [
 *	  {"address": "0x1139", "text": "addq $1, %rax", "function": "next",
 *	   "file": "/src/parse.c", "line": 42, "self": 20, "total": 20}]}],
 *	 "leftOut": 0}
 *
 * Texts come from the capture's listing (profile/listing.h), or else from those
 * of other captures ("from"), if they are of the same build: for each file, the
 * listing that has the costliest lines; if there are several, the newest.
 * "build" is "mixed" if the profile has lines of other builds, too, and
 * "unknown" for a script. Without a listing of a file ("state": "none"), only
 * lines with costs are written, with the text "". Otherwise the lines around
 * them are written, too.
 */
#include "exports.h"
#include "json_tree.h"

#include "base/json_out.h"
#include "base/rows.h"
#include "profile/kind.h"
#include "profile/listing.h"
#include "profile/source_lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MOST 1000
#define AROUND     12 /* lines before and after one with cost */

struct shown {
	const struct tree *t;
	const struct profile *p;
	const struct export_meta *meta;
	const char *function; /* NULL: all */
	/* The arrays have an entry per instruction of l; if l is NULL, lines
	 * are shown. seen: the last sample that was counted, plus 1. */
	const struct listing *l;
	int64_t *self, *total;
	uint32_t *seen;
	uint32_t *code_of; /* by location; PROFILE_NONE: no instruction */
};

static void
shown_done(struct shown *s)
{
	free(s->self);
	free(s->total);
	free(s->seen);
	free(s->code_of);
}

static const char *
text(const struct listing *l, uint32_t id)
{
	return strings_get(l->strings, id, NULL);
}

/* --- lines ---------------------------------------------------------------- */

static void
put_line(struct buf *out, int64_t number, const char *line,
         const struct source_line *cost)
{
	json_open(out, NULL, '{');
	json_put_int(out, "line", number);
	json_put_text(out, "text", line);
	json_put_int(out, "self", cost ? cost->self : 0);
	json_put_int(out, "total", cost ? cost->total : 0);
	json_close(out, '}');
}

/* Whether the profile has code of a file from a build, and from others. */
struct builds {
	bool same, other;
};

static struct builds
find_builds(const struct profile *p, uint32_t file, const char *build_id)
{
	struct builds out = {false, false};

	for (uint32_t i = 0; i < p->nlocations; i++) {
		const struct location *at = &p->locations[i];
		const char *id =
			at->mapping == PROFILE_NONE
				? ""
				: profile_text(
					  p, p->mappings[at->mapping].build_id);
		uint32_t k = 0;

		while (k < at->nlines &&
		       p->functions[p->lines[at->line0 + k].function].file !=
		               file)
			k++;
		out.same |= k < at->nlines && !strcmp(id, build_id);
		out.other |= k < at->nlines && strcmp(id, build_id) != 0;
	}
	return out;
}

/* A file of a listing. */
struct found {
	const struct listing_source *in;
	const struct listing_file *file; /* NULL: none */
	const char *build;
};

/* Returns the cost, in rows[n], of the lines of a file that a listing has. */
static double
listed_cost(const struct listing *l, const struct listing_file *f,
            const struct source_line *rows, uint32_t n)
{
	double cost = 0;
	uint32_t k = 0;

	for (uint32_t i = 0; i < n; i++) {
		while (k < f->nlines &&
		       l->lines[f->line0 + k].number < rows[i].line)
			k++;
		if (k < f->nlines &&
		    l->lines[f->line0 + k].number == rows[i].line)
			cost += 1 + (double)rows[i].total;
	}
	return cost;
}

/* Sets out->build if the text of a file of another capture may be shown. */
static bool
may_show(const struct shown *s, const struct source_line *row,
         struct found *out)
{
	const struct listing *l = out->in->l;
	struct builds has;

	if (kind_is_script(profile_text(s->p, row->file))) {
		out->build = "unknown";
		return true;
	}
	has = find_builds(s->p, row->file, text(l, out->file->build_id));
	out->build = has.other ? "mixed" : "same";
	return *text(l, out->file->build_id) && has.same;
}

/* Finds the listing that has the costliest lines of a file, rows[n]. */
static struct found
find_file(const struct shown *s, const struct source_line *rows, uint32_t n)
{
	const char *path = profile_text(s->p, rows->file);
	struct found best = {0};
	double most = -1;

	for (uint32_t i = 0; i < s->meta->nlistings; i++) {
		const struct listing_source *in = &s->meta->listings[i];

		for (uint32_t k = 0; k < in->l->nfiles; k++) {
			struct found one = {in, &in->l->files[k], ""};
			double cost =
				strcmp(text(in->l, one.file->path), path)
					? -1
					: listed_cost(in->l, one.file, rows, n);

			if (cost > most &&
			    (!in->id ||
			     (cost > 0 && may_show(s, rows, &one)))) {
				most = cost;
				best = one;
			}
		}
	}
	return best;
}

/* Writes rows[n], all of one file, and the listed lines around them. Lines of a
 * profile may have any number. */
static void
put_lines(const struct found *in, const struct source_line *rows, uint32_t n,
          struct buf *out)
{
	const struct listing_file *f = in->file;
	const struct listing *l = f ? in->in->l : NULL;
	uint32_t k = 0, end = f ? f->nlines : 0, around = 0;

	for (uint32_t i = 0; i < n || k < end;) {
		const struct listing_line *line =
			k < end ? &l->lines[f->line0 + k] : NULL;
		int64_t number = line ? line->number : 0;
		bool has_cost = i < n && (!line || rows[i].line <= number);
		bool is_listed = line && (!has_cost || rows[i].line == number);

		while (line && around < n &&
		       rows[around].line < number - AROUND)
			around++;
		if (has_cost)
			put_line(out, rows[i].line,
			         is_listed ? text(l, line->text) : "",
			         &rows[i]);
		else if (around < n && rows[around].line <= number + AROUND)
			put_line(out, number, text(l, line->text), NULL);
		i += has_cost;
		k += is_listed;
	}
}

/* Writes which capture a text is from, unless it is the profile's own. */
static void
put_from(const struct listing_source *in, const char *build, struct buf *out)
{
	if (!in->id)
		return;
	json_open(out, "from", '{');
	json_put_text(out, "id", in->id);
	json_put_time(out, "at", in->time_ms);
	json_put_text(out, "build", build);
	json_close(out, '}');
}

static void
put_files(const struct shown *s, const struct source_lines *lines, uint32_t n,
          struct buf *out)
{
	static const char *const states[LISTING_STATES] = {
		"read", "newer", "missing", "refused"};

	json_open(out, "files", '[');
	for (uint32_t i = 0, k; i < n; i = k) {
		const struct source_line *rows = &lines->items[i];
		struct found in;

		for (k = i; k < n && lines->items[k].file == rows->file;)
			k++;
		in = find_file(s, rows, k - i);
		json_open(out, NULL, '{');
		json_put_text(out, "file", profile_text(s->p, rows->file));
		json_put_text(out, "state",
		              in.file ? states[in.file->state] : "none");
		json_open(out, "lines", '[');
		put_lines(&in, rows, k - i, out);
		json_close(out, ']');
		if (in.file)
			put_from(in.in, in.build, out);
		json_close(out, '}');
	}
	json_close(out, ']');
}

/* Adds up the rows of each line: several functions may have code in it. */
static uint32_t
merge_rows(struct source_line *rows, uint32_t n)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct source_line *last = kept ? &rows[kept - 1] : NULL;

		if (!last || source_line_by_place(last, &rows[i])) {
			rows[kept++] = rows[i];
			continue;
		}
		if (__builtin_add_overflow(last->self, rows[i].self,
		                           &last->self) ||
		    __builtin_add_overflow(last->total, rows[i].total,
		                           &last->total))
			last->self = last->total = INT64_MAX;
	}
	return kept;
}

static int
put_source(const struct shown *s, struct buf *out)
{
	CLEANUP_SOURCE_LINES struct source_lines lines = {0};
	int rc = source_lines_find(s->p, s->t->type, s->function, &lines);
	uint32_t n = lines.n < LINES_MOST ? lines.n : LINES_MOST;

	if (rc)
		return rc;
	qsort(lines.items, n, sizeof(*lines.items), source_line_by_place);
	put_files(s, &lines, merge_rows(lines.items, n), out);
	json_put_int(out, "leftOut", lines.n - n);
	return 0;
}

/* --- instructions --------------------------------------------------------- */

/* Returns the instruction of a function that an address is in. */
static uint32_t
find_code(const struct listing *l, const struct listing_function *f,
          uint64_t address)
{
	uint32_t n = ROWS_WHILE(f->ncode, i,
	                        l->code[f->code0 + i].address <= address);
	const struct listing_code *last = n ? &l->code[f->code0 + n - 1] : NULL;

	return last && address - last->address < last->size ? f->code0 + n - 1
	                                                    : PROFILE_NONE;
}

/* The listed functions of a mapping, a bit for each. */
struct listed {
	uint64_t bits[LISTING_MAX_FUNCTIONS / 64];
};

static bool
is_mapped(const struct listed *m, uint32_t function)
{
	return m->bits[function / 64] >> function % 64 & 1;
}

static void
find_functions(const struct shown *s, const struct mapping *m,
               struct listed *out)
{
	const char *build_id = profile_text(s->p, m->build_id);
	const char *file = profile_text(s->p, m->file);

	for (uint32_t k = 0; k < s->l->nfunctions; k++) {
		const struct listing_function *f = &s->l->functions[k];

		if (!strcmp(text(s->l, f->build_id), build_id) &&
		    !strcmp(text(s->l, f->module), file))
			out->bits[k / 64] |= UINT64_C(1) << k % 64;
	}
}

static uint32_t
code_of(const struct shown *s, const struct listed *m, uint64_t address)
{
	uint32_t found = PROFILE_NONE;

	for (uint32_t k = 0; k < s->l->nfunctions && found == PROFILE_NONE; k++)
		if (is_mapped(m, k))
			found = find_code(s->l, &s->l->functions[k], address);
	return found;
}

static int
find_all(struct shown *s)
{
	const struct profile *p = s->p;
	size_t n = (size_t)s->l->ncode + 1;
	CLEANUP_FREE struct listed *mapped =
		calloc((size_t)p->nmappings + 1, sizeof(*mapped));

	s->self = calloc(n, sizeof(*s->self));
	s->total = calloc(n, sizeof(*s->total));
	s->seen = calloc(n, sizeof(*s->seen));
	s->code_of = calloc((size_t)p->nlocations + 1, sizeof(*s->code_of));
	if (!mapped || !s->self || !s->total || !s->seen || !s->code_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nmappings; i++)
		find_functions(s, &p->mappings[i], &mapped[i]);
	for (uint32_t i = 0; i < p->nlocations; i++) {
		const struct location *l = &p->locations[i];

		s->code_of[i] =
			l->mapping == PROFILE_NONE
				? PROFILE_NONE
				: code_of(s, &mapped[l->mapping], l->address);
	}
	return 0;
}

static void
count_samples(struct shown *s)
{
	const struct profile *p = s->p;

	for (uint32_t i = 0; i < p->nsamples; i++) {
		int64_t value = p->values[(size_t)i * p->ntypes + s->t->type];

		for (uint32_t k = 0; value && k < p->samples[i].nstack; k++) {
			uint32_t at = p->stack[p->samples[i].stack0 + k];
			uint32_t code = s->code_of[at];

			if (code == PROFILE_NONE)
				continue;
			if (!k)
				profile_add(&s->self[code], value);
			if (s->seen[code] != i + 1)
				profile_add(&s->total[code], value);
			s->seen[code] = i + 1;
		}
	}
}

static void
put_instruction(const struct shown *s, uint32_t at, struct buf *out)
{
	const struct listing_code *row = &s->l->code[at];
	char address[24];

	snprintf(address, sizeof(address), "0x%llx",
	         (unsigned long long)row->address);
	json_open(out, NULL, '{');
	json_put_text(out, "address", address);
	json_put_text(out, "text", text(s->l, row->text));
	json_put_text(out, "function", text(s->l, row->function));
	json_put_text(out, "file", text(s->l, row->file));
	json_put_int(out, "line", row->line);
	json_put_int(out, "self", s->self[at]);
	json_put_int(out, "total", s->total[at]);
	json_close(out, '}');
}

/* True if an instruction belongs to the function that is shown: to its own
 * code, or to where it is inlined. */
static bool
is_wanted(const struct shown *s, const struct listing_function *f, uint32_t at)
{
	return !s->function || !strcmp(text(s->l, f->name), s->function) ||
	       !strcmp(text(s->l, s->l->code[at].function), s->function);
}

/* True for a function of a build that occurs in the profile. */
static bool
is_of_profile(const struct shown *s, const struct listing_function *f)
{
	const struct profile *p = s->p;

	for (uint32_t i = 0; i < p->nmappings; i++)
		if (!strcmp(text(s->l, f->build_id),
		            profile_text(p, p->mappings[i].build_id)) &&
		    !strcmp(text(s->l, f->module),
		            profile_text(p, p->mappings[i].file)))
			return true;
	return false;
}

/* True for a function that an earlier listing has. */
static bool
is_listed(const struct shown *s, const struct listing_function *f)
{
	for (uint32_t i = 0; s->meta->listings[i].l != s->l; i++) {
		const struct listing *l = s->meta->listings[i].l;

		for (uint32_t k = 0; k < l->nfunctions; k++)
			if (l->functions[k].start == f->start &&
			    !strcmp(text(l, l->functions[k].build_id),
			            text(s->l, f->build_id)) &&
			    !strcmp(text(l, l->functions[k].module),
			            text(s->l, f->module)))
				return true;
	}
	return false;
}

/* Returns the first instruction to show; the end of the function if none is. */
static uint32_t
first_wanted(const struct shown *s, const struct listing_function *f)
{
	uint32_t at = f->code0, end = f->code0 + f->ncode;

	while (at < end && !is_wanted(s, f, at))
		at++;
	return at;
}

/* True if a listing has instructions to show. */
static bool
has_wanted(const struct shown *s)
{
	for (uint32_t i = 0; i < s->l->nfunctions; i++) {
		const struct listing_function *f = &s->l->functions[i];

		if (first_wanted(s, f) < f->code0 + f->ncode &&
		    is_of_profile(s, f))
			return true;
	}
	return false;
}

static void
put_function(const struct shown *s, const struct listing_source *in,
             const struct listing_function *f, struct buf *out)
{
	uint32_t at = first_wanted(s, f), end = f->code0 + f->ncode;

	if (at == end || (in->id && (!is_of_profile(s, f) || is_listed(s, f))))
		return;
	json_open(out, NULL, '{');
	json_put_text(out, "function", text(s->l, f->name));
	json_put_text(out, "module", text(s->l, f->module));
	json_open(out, "code", '[');
	for (; at < end; at++)
		if (is_wanted(s, f, at))
			put_instruction(s, at, out);
	json_close(out, ']');
	put_from(in, "same", out);
	json_close(out, '}');
}

/* Writes the functions of a listing. */
static int
put_functions(const struct shown *of, const struct listing_source *in,
              struct buf *out)
{
	CLEANUP(shown_done) struct shown s = *of;
	int rc;

	s.l = in->l;
	if (!has_wanted(&s) && in->id)
		return 0;
	rc = find_all(&s);
	if (rc)
		return rc;
	count_samples(&s);
	for (uint32_t i = 0; i < in->l->nfunctions; i++)
		put_function(&s, in, &in->l->functions[i], out);
	return 0;
}

static int
put_code(const struct shown *s, struct buf *out)
{
	int rc = 0;

	json_open(out, "functions", '[');
	for (uint32_t i = 0; i < s->meta->nlistings && !rc; i++)
		rc = put_functions(s, &s->meta->listings[i], out);
	json_close(out, ']');
	return rc;
}

int
export_listing(const struct tree *t, const struct export_meta *meta,
               struct buf *out)
{
	const struct shown s = {.t = t,
	                        .p = t->profile,
	                        .meta = meta,
	                        .function = meta->function};
	int rc;

	buf_putc(out, '{');
	json_tree_head(t, meta, out);
	rc = put_source(&s, out) ?: put_code(&s, out);
	if (rc)
		return out->err = rc;
	buf_puts(out, "}\n");
	return buf_err(out);
}
