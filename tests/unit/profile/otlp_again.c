/*
 * Writing a profile as OpenTelemetry and reading it again keeps its samples,
 * their order, and everything that pprof says about their frames.
 */
#include "base/file.h"
#include "lib/any_profile.h"
#include "lib/same_profile.h"
#include "lib/test.h"
#include "profile/export.h"
#include "profile/import.h"

#include <fcntl.h>
#include <string.h>

#define MOST ((size_t)4 << 20)

static void
put_mapping(const struct profile *p, uint32_t at, struct buf *out)
{
	const struct mapping *m = &p->mappings[at];

	buf_addf(out, " [%llx-%llx %llx %s %s %d%d%d%d]",
	         (unsigned long long)m->start, (unsigned long long)m->limit,
	         (unsigned long long)m->offset, profile_text(p, m->file),
	         profile_text(p, m->build_id), m->has_functions, m->has_files,
	         m->has_lines, m->has_inlines);
}

static bool
is_zero(const struct profile *p, uint32_t mapping)
{
	const struct mapping *m = &p->mappings[mapping];

	return !m->start && !m->limit && !m->offset && !m->file &&
	       !m->build_id && !m->has_functions && !m->has_files &&
	       !m->has_lines && !m->has_inlines;
}

static void
put_frame(const struct profile *p, uint32_t at, struct buf *out)
{
	const struct location *l = &p->locations[at];

	buf_addf(out, " %llx%s", (unsigned long long)l->address,
	         l->folded ? " folded" : "");
	if (l->mapping != PROFILE_NONE && !is_zero(p, l->mapping))
		put_mapping(p, l->mapping, out);
	for (uint32_t i = 0; i < l->nlines; i++) {
		const struct line *line = &p->lines[l->line0 + i];
		const struct function *f = &p->functions[line->function];

		if (f->name || f->system_name || f->file)
			buf_addf(out, " (%s %s %s:%lld:%lld)",
			         profile_text(p, f->name),
			         profile_text(p, f->system_name),
			         profile_text(p, f->file),
			         (long long)f->start_line,
			         (long long)line->line);
	}
}

static void
put_sample(const struct profile *p, uint32_t at, struct buf *out)
{
	const struct sample *s = &p->samples[at];

	for (uint32_t i = 0; i < p->ntypes; i++)
		buf_addf(out, "%lld ",
		         (long long)p->values[(size_t)at * p->ntypes + i]);
	for (uint32_t i = 0; i < s->nlabels; i++) {
		const struct label *l = &p->labels[s->label0 + i];

		buf_addf(out, " %s=", profile_text(p, l->key));
		if (l->str)
			buf_puts(out, profile_text(p, l->str));
		else
			buf_addf(out, "%lld %s", (long long)l->num,
			         profile_text(p, l->unit));
	}
	for (uint32_t i = 0; i < s->nstack; i++)
		put_frame(p, p->stack[s->stack0 + i], out);
	buf_putc(out, '\n');
}

/* Writes everything that OpenTelemetry can say about a profile. It has no times
 * before 1970. */
static void
put_profile(const struct profile *p, struct buf *out)
{
	for (uint32_t i = 0; i < p->ntypes; i++)
		buf_addf(out, "%s/%s ", profile_text(p, p->types[i].type),
		         profile_text(p, p->types[i].unit));
	if (p->time_ns >= 0 && p->duration_ns >= 0)
		buf_addf(out, "%lld+%lld ", (long long)p->time_ns,
		         (long long)p->duration_ns);
	buf_addf(out, "%s/%s %lld %s %s %s %s\n",
	         profile_text(p, p->period_type.type),
	         profile_text(p, p->period_type.unit), (long long)p->period,
	         profile_text(p, p->default_type),
	         profile_text(p, p->drop_frames),
	         profile_text(p, p->keep_frames), profile_text(p, p->doc_url));
	for (uint32_t i = 0; i < p->ncomments; i++)
		buf_addf(out, "# %s\n", profile_text(p, p->comments[i]));
	for (uint32_t i = 0; i < p->nsamples; i++)
		put_sample(p, i, out);
}

static const struct import_ask ask = {
	.type = "",
	.content_type = "",
	.deltas = true,
	.limits = {.raw_bytes = MOST,
                   .memory = MOST,
                   .ratio = 200,
                   .strings = 10000,
                   .samples = 10000},
};

static struct profile *
again(const struct profile *p)
{
	static const struct export_meta meta = {.service = "shop"};
	CLEANUP_BUF struct buf file = BUF_INIT(MOST);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_TREE struct tree *t = NULL;
	struct profile *out = NULL;
	const struct input *in = input_find("otlp");

	ck_assert_int_eq(tree_new(p, 0, &t), 0);
	ck_assert_int_eq(format_find("otlp")->write(t, &meta, &file), 0);
	ck_assert(in->looks(file.p, file.len));
	ck_assert_msg(!in->read(file.p, file.len, &ask, &out, &why), "%s",
	              buf_str(&why));
	return out;
}

static void
assert_same(const struct profile *a, const struct profile *b, const char *of)
{
	CLEANUP_BUF struct buf x = BUF_INIT(MOST), y = BUF_INIT(MOST);

	put_profile(a, &x);
	put_profile(b, &y);
	ck_assert_msg(!strcmp(buf_str(&x), buf_str(&y)), "%s:\n%s\nis not\n%s",
	              of, buf_str(&x), buf_str(&y));
}

TEST(no_sample_of_a_file_is_changed)
{
	static const char *const names[] = {"small.pb.gz",
	                                    "peer.datadog.pb",
	                                    "peer.heap.pb",
	                                    "peer.fgprof.pb",
	                                    "peer.recursion.pb",
	                                    "peer.node.pb",
	                                    "jfr",
	                                    "perfdata",
	                                    "peer.go.heap",
	                                    "otlp.1.11"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		CLEANUP_BUF struct buf in = BUF_INIT(MOST);
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_PROFILE struct profile *a = NULL, *b = NULL;
		const struct input *format;
		const struct type *type;
		char path[128];

		snprintf(path, sizeof(path), "tests/data/fuzz/import/%s",
		         names[i]);
		ck_assert_int_eq(file_read(AT_FDCWD, path, &in), 0);
		ck_assert_msg(!profile_import(in.p, in.len, &ask, &a, &format,
		                              &type, &why),
		              "%s: %s", names[i], buf_str(&why));
		b = again(a);
		assert_same(a, b, names[i]);
	}
}
END

TEST(a_profile_that_was_written_once_stays_as_it_is)
{
	for (unsigned seed = 0; seed < 200; seed++) {
		CLEANUP_PROFILE struct profile *any = any_profile(seed);
		CLEANUP_PROFILE struct profile *a = NULL, *b = NULL;
		const char *what;

		/* the reader applies these, and stacks may then be equal */
		any->drop_frames = any->keep_frames = 0;
		a = again(any);
		b = again(a);
		what = profile_differs(a, b);
		ck_assert_msg(!what, "%s, seed %u", what, seed);
	}
}
END

SUITE("otlp_again");
