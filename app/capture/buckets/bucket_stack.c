#include "bucket_stack.h"

#include <string.h>

#define LOGICAL         UINT64_MAX /* before a logical stack: logicalStackSentinel */
#define MAX_LINES_BYTES ((size_t)256 << 20)

struct bucket_span {
	uint32_t at, n; /* index and number of lines */
};

/* The lines that run at an address, innermost first. */
struct view {
	const struct gobin_line *lines;
	uint32_t n;
};

void
bucket_stacks_done(struct bucket_stacks *s)
{
	pairs_done(&s->known);
	buf_done(&s->spans);
	buf_done(&s->lines);
}

static int
learn(struct bucket_stacks *s, uint64_t pc)
{
	struct gobin_line lines[GOBIN_MAX_LINES];
	size_t n =
		gobin_lines(s->bin, pc - s->bias - 1, lines, GOBIN_MAX_LINES);
	struct bucket_span span = {(uint32_t)(s->lines.len / sizeof(*lines)),
	                           (uint32_t)n};

	s->spans.max = s->lines.max = MAX_LINES_BYTES;
	buf_add(&s->lines, lines, n * sizeof(*lines));
	buf_add(&s->spans, &span, sizeof(span));
	return buf_err(&s->spans) ?: buf_err(&s->lines);
}

/* Finds an address's lines, valid until the next call. */
static int
look(struct bucket_stacks *s, uint64_t pc, struct view *out)
{
	const struct bucket_span *span;
	uint32_t before = s->known.n, i;
	int rc;

	s->known.max = PAIRS_MAX;
	rc = pairs_intern(&s->known, 0, pc, &i);
	if (!rc && i == before)
		rc = learn(s, pc);
	if (rc)
		return rc;
	span = (const struct bucket_span *)(const void *)s->spans.p + i;
	out->lines = (const struct gobin_line *)(const void *)s->lines.p +
	             span->at;
	out->n = span->n;
	return 0;
}

static bool
is_runtime(const struct view *v)
{
	static const char *const of[] = {"runtime.", "internal/runtime/"};

	for (size_t i = 0; i < ARRAY_LEN(of) && v->n; i++)
		if (!strncmp(v->lines[0].name, of[i], strlen(of[i])))
			return true;
	return false;
}

/*
 * Counts the runtime's frames at the leaf; 0 if all frames are the runtime's.
 */
static int
count_runtime(struct bucket_stacks *s, const uint64_t *pcs, uint32_t n,
              uint32_t *out)
{
	*out = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct view v;
		int rc = look(s, pcs[i], &v);

		if (rc)
			return rc;
		if (is_runtime(&v))
			continue;
		*out = i;
		return 0;
	}
	return 0;
}

/*
 * Counts the addresses after pcs[0] that belong to the calls into which it is
 * inlined. Wrappers among these have none.
 */
static int
count_inlined(struct bucket_stacks *s, const uint64_t *pcs, uint32_t n,
              uint32_t *out)
{
	struct view v;
	int rc = look(s, pcs[0], &v);

	*out = 0;
	for (uint32_t k = 1; !rc && k < v.n && *out + 1 < n; k++) {
		if (pcs[*out + 1] == s->bias + v.lines[k].vaddr + 1)
			++*out;
		else if (v.lines[k].func != GOBIN_WRAPPER)
			break;
	}
	return rc;
}

int
bucket_stack(struct bucket_stacks *s, const uint64_t *pcs, uint32_t n,
             uint64_t *out, uint32_t *nout)
{
	uint32_t i = 0, more = 0;
	int rc = 0;

	*nout = 0;
	if (n && pcs[0] == LOGICAL) {
		pcs++;
		n--;
	}
	if (s->hide_runtime)
		rc = count_runtime(s, pcs, n, &i);
	for (; i < n && !rc; i += 1 + more) {
		out[(*nout)++] = pcs[i];
		rc = count_inlined(s, pcs + i, n - i, &more);
	}
	return rc;
}
