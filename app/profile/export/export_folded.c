/*
 * Writes folded stacks: "root;...;leaf COUNT", one line per distinct stack.
 *
 * COUNT is in samples for CPU time, because some importers of this format loop
 * once per unit. It is the type's value for all other types, and if the
 * numbers of samples are unknown or their shares differ from those of the
 * time. Source: flamegraph.pl; src/profile-logic/import of Firefox Profiler.
 */
#include "exports.h"
#include "folded_lines.h"

#include "base/driving.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define MOST_APART 0.025 /* of the total; see is_even() */

/* Writes a name without the characters that separate frames and lines, control
 * a terminal or set the direction of text. */
static void
put_name(struct buf *out, const char *s, size_t n)
{
	char *to = buf_reserve(out, n), *start = to;

	if (!to)
		return;
	for (const unsigned char *p = (const unsigned char *)s, *end = p + n;
	     p < end;) {
		size_t len = *p < ' ' || *p >= 0x7F
		                     ? driving(p, (size_t)(end - p))
		                     : 0;

		*to++ = len ? *p < ' ' ? ' ' : '?' : *p == ';' ? ':' : (char)*p;
		p += len ? len : 1;
	}
	out->len += (size_t)(to - start);
}

static void
put_line(struct buf *out, const struct buf *path, const struct buf *counts)
{
	buf_add(out, path->p, path->len);
	buf_putc(out, ' ');
	buf_add(out, counts->p, counts->len);
	buf_putc(out, '\n');
}

static uint32_t
deepest(const struct tree *t)
{
	uint32_t d = 0;

	for (uint32_t i = 0; i < t->n; i++)
		d = t->depth[i] > d ? t->depth[i] : d;
	return d;
}

int
folded_lines(const struct tree *t, folded_counts *counts, const void *arg,
             struct buf *out)
{
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	/* length of the path down to the open node at each depth */
	CLEANUP_FREE size_t *len = calloc((size_t)deepest(t) + 1, sizeof(*len));

	if (!len)
		return out->err = -ENOMEM;
	for (uint32_t i = 0; i < t->n && !buf_err(out); i++) {
		uint32_t d = t->depth[i];
		const char *name;
		size_t n;

		name = tree_name(t, t->name[i], &n);
		path.len = d > 1 ? len[d - 1] : 0;
		if (d > 1)
			buf_putc(&path, ';');
		put_name(&path, name, n);
		len[d] = path.len;
		buf_clear(&text);
		counts(arg, i, &text);
		if (buf_err(&path))
			return out->err = buf_err(&path);
		if (text.len)
			put_line(out, &path, &text);
	}
	return buf_err(out);
}

/* True if stacks have the same shares by samples as by time: samples of cycles
 * have different periods. */
static bool
is_even(const struct tree *t)
{
	double apart = 0;

	for (uint32_t i = 0; i < t->n; i++)
		apart += fabs((double)t->samples[i] / (double)t->total_samples -
		              (double)t->self[i] / (double)t->total[0]);
	return apart / 2 <= MOST_APART;
}

const int64_t *
folded_column(const struct tree *t)
{
	const struct profile *p = t->profile;
	const char *name = profile_text(p, p->types[t->type].type);

	return t->counted && !strcmp(name, "cpu") && is_even(t) ? t->samples
	                                                        : t->self;
}

/* Writes a node's count; samples without a stack count for the root. */
static void
put_count(const void *arg, uint32_t node, struct buf *text)
{
	const int64_t *count = arg;

	if (count[node] > 0)
		buf_int(text, count[node]);
}

int
export_folded(const struct tree *t, const struct export_meta *meta,
              struct buf *out)
{
	(void)meta;
	return folded_lines(t, put_count, folded_column(t), out);
}
