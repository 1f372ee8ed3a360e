#include "symbols_answer.h"

#include <string.h>

struct answer {
	uint32_t n;
	uint32_t lacks; /* 0 or 1 */
};

/* Offsets of texts, from the start of the piece. */
struct answer_frame {
	uint32_t name, system_name, file;
	uint32_t line, start_line;
};

#define FRAMES_AT sizeof(struct answer)

/* Returns a text of the piece, which another process wrote. */
static const char *
text_at(const struct symbols_piece *p, uint32_t at)
{
	const char *s = p->p;

	return at < p->n && memchr(s + at, '\0', p->n - at) ? s + at : NULL;
}

static bool
open_frame(const struct symbols_piece *p, size_t i, struct sym_frame *out)
{
	struct answer_frame f;

	memcpy(&f, (const char *)p->p + FRAMES_AT + i * sizeof(f), sizeof(f));
	*out = (struct sym_frame){
		.name = text_at(p, f.name),
		.system_name = text_at(p, f.system_name),
		.file = text_at(p, f.file),
		.line = f.line,
		.start_line = f.start_line,
	};
	return out->name && out->system_name && out->file;
}

bool
answer_open(const struct symbols_piece *p, struct sym_frame *out, size_t max,
            size_t *n, bool *lacks)
{
	struct answer a;

	if (p->n < sizeof(a))
		return false;
	memcpy(&a, p->p, sizeof(a));
	if (a.n > (p->n - FRAMES_AT) / sizeof(struct answer_frame))
		return false;
	*n = a.n < max ? a.n : max;
	*lacks = a.lacks;
	for (size_t i = 0; i < *n; i++)
		if (!open_frame(p, i, &out[i]))
			return false;
	return true;
}

static uint32_t
add_text(struct buf *out, const char *s)
{
	uint32_t at = (uint32_t)out->len;

	buf_add(out, s, strlen(s) + 1);
	return at;
}

void
answer_write(const struct sym_frame *frames, size_t n, bool lacks,
             struct buf *out)
{
	const struct answer a = {(uint32_t)n, lacks};
	struct answer_frame f = {0};

	buf_add(out, &a, sizeof(a));
	for (size_t i = 0; i < n; i++)
		buf_add(out, &f, sizeof(f));
	for (size_t i = 0; i < n && !buf_err(out); i++) {
		const struct sym_frame *from = &frames[i];

		f.name = add_text(out, from->name);
		/* most often the names are equal */
		f.system_name = strcmp(from->name, from->system_name) != 0
		                        ? add_text(out, from->system_name)
		                        : f.name;
		f.file = add_text(out, from->file);
		f.line = from->line;
		f.start_line = from->start_line;
		if (!buf_err(out))
			memcpy(out->p + FRAMES_AT + i * sizeof(f), &f,
			       sizeof(f));
	}
}
