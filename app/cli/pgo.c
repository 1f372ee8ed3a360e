/* stoker pgo: a service's CPU profiles, for the compiler that builds it. */
#include "cli.h"

#include "files.h"
#include "import.h"
#include "places.h"
#include "profile/export.h"
#include "profile/pprof.h"
#include "range.h"

#include <stdio.h>
#include <string.h>

#define GO_FILE "default.pgo"
#define PERCENT 100.0

static int64_t
value_of(const struct profile *p, uint32_t sample)
{
	return p->values[(size_t)sample * p->ntypes + p->ntypes - 1];
}

/* Returns the mapping of the program or library whose code has most of the
 * cost, or PROFILE_NONE. */
static uint32_t
main_mapping(const struct profile *p)
{
	CLEANUP_FREE int64_t *cost = calloc(p->nmappings + 1, sizeof(*cost));
	uint32_t best = PROFILE_NONE;

	for (uint32_t i = 0; cost && i < p->nsamples; i++) {
		const struct sample *s = &p->samples[i];
		uint32_t m = s->nstack
		                     ? p->locations[p->stack[s->stack0]].mapping
		                     : PROFILE_NONE;

		if (m == PROFILE_NONE ||
		    *profile_text(p, p->mappings[m].file) != '/')
			continue;
		cost[m] += value_of(p, i);
		if (best == PROFILE_NONE || cost[m] > cost[best])
			best = m;
	}
	return best;
}

/* True for a stack through another build of the program. */
static bool
is_stale(const struct profile *p, const struct sample *s,
         const struct mapping *of)
{
	for (uint32_t i = 0; i < s->nstack; i++) {
		uint32_t at = p->locations[p->stack[s->stack0 + i]].mapping;
		const struct mapping *m = at == PROFILE_NONE ? NULL
		                                             : &p->mappings[at];

		if (m && m->file == of->file && m->build_id != of->build_id)
			return true;
	}
	return false;
}

/* Keeps the build that has most of the cost, and removes samples of others.
 * Returns the removed share of the cost. */
static double
drop_stale(struct profile *p)
{
	uint32_t of = main_mapping(p), n = 0;
	double all = 0, gone = 0;

	for (uint32_t i = 0; of != PROFILE_NONE && i < p->nsamples; i++) {
		all += (double)value_of(p, i);
		if (is_stale(p, &p->samples[i], &p->mappings[of])) {
			gone += (double)value_of(p, i);
			continue;
		}
		p->samples[n] = p->samples[i];
		memmove(&p->values[(size_t)n++ * p->ntypes],
		        &p->values[(size_t)i * p->ntypes],
		        p->ntypes * sizeof(*p->values));
	}
	if (of != PROFILE_NONE)
		p->nsamples = n;
	return all > 0 ? gone / all : 0;
}

/* Compilers match lines by their distance from the function's first line. */
static bool
has_first_lines(const struct profile *p)
{
	for (uint32_t i = 0; i < p->nfunctions; i++)
		if (p->functions[i].start_line > 0)
			return true;
	return false;
}

static int
encode(const struct cli *c, const struct profile *p, const char *format,
       struct buf *out)
{
	CLEANUP_TREE struct tree *t = NULL;
	const struct export_meta meta = {.title = "", .service = ""};
	int rc = tree_new(p, p->ntypes - 1, &t);

	rc = rc ?: format_find(format)->write(t, &meta, out);
	return rc ? failed("%s: %s", c->operands[0], strerror(-rc)) : LEAVE_OK;
}

static int
write_for_compiler(struct cli *c, struct profile *p, const char *format)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_BUF struct buf name = BUF_INIT(BUF_MAX_SMALL);
	bool go = strcmp(format, AUTOFDO) != 0;
	double gone = drop_stale(p);
	int rc;

	if (!c->opt.binary.n && !has_first_lines(p))
		return failed("%s: no function has its first line, by which "
		              "compilers find code again: build with -g1 "
		              "(Clang) or install debug information",
		              c->operands[0]);
	if (gone > 0)
		fprintf(stderr,
		        "note: %.1f %% of the cost is of other builds, and "
		        "left "
		        "out\n",
		        gone * PERCENT);
	rc = go || !c->opt.binary.n ? encode(c, p, format, &out)
	                            : places_autofdo(c, p, &out);
	if (rc)
		return rc;
	buf_addf(&name, "%s", go ? GO_FILE : c->operands[0]);
	if (!go)
		buf_puts(&name, ".afdo");
	return write_named(c->opt.output ? c->opt.output : buf_str(&name),
	                   &out);
}

int
cmd_pgo(struct cli *c)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PROFILE struct profile *p = NULL;
	const char *format = c->opt.format ? c->opt.format : "pprof";
	int rc;

	if (strcmp(format, "pprof") != 0 && strcmp(format, AUTOFDO) != 0)
		return usage_error("--format %s is none of: pprof, " AUTOFDO,
		                   format);
	rc = range_path(c, "/merge", "cpu", &path);
	if (rc)
		return rc;
	query_add(&path, "format", "pprof");
	rc = ask(c, "GET", buf_str(&path), NULL, &r);
	if (rc)
		return rc;
	if (pprof_decode(r.body.p, r.body.len, IMPORT_MAX_FILE, &p, &why))
		return failed("%s: %s", c->operands[0], buf_str(&why));
	return write_for_compiler(c, p, format);
}
