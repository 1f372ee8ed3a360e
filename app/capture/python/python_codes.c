/*
 * Reads code objects in batches, one batch for the new ones of a stack: first
 * their heads, then the strings they point to, then the rest of those that are
 * longer than guessed.
 */
#include "python.h"

#include "python_object.h"

#include <errno.h>
#include <string.h>

#define GUESS_NAME  (PYTHON_STRING_BYTES + 128)
#define GUESS_FILE  (PYTHON_STRING_BYTES + 256)
#define GUESS_LINES 1024

_Static_assert(sizeof(struct python_code_head) <= INTERP_CODE_HEAD, "a head");

/* A code object while it is read. */
struct reading {
	struct python_code_head head;
	bool same; /* unchanged since it was last read */
	bool gone; /* something else is there now */
	bool task; /* not code: the name of a task */
	uint64_t nlines;
};

struct reader {
	struct interp_codes *codes;
	const struct interp_space *space;
	const struct interp_unread *unread;
	struct reading rows[INTERP_MAX_FRAMES]; /* of unread */
	size_t n;
	struct memory_piece pieces[3 * INTERP_MAX_FRAMES];
	struct memory_batch batch;
};

static void
reader_done(struct reader *r)
{
	memory_batch_done(&r->batch);
}

static int
read_pieces(struct reader *r, size_t n)
{
	return memory_read(r->space->memory, r->pieces, n, &r->batch);
}

/* --- tasks ---------------------------------------------------------------- */

static bool
is_task(uint64_t code)
{
	return code > PYTHON_ADDRESS || code <= PYTHON_MORE;
}

/* Appends the name of a task, if the text that the walk met is still there.
 * Default names, such as Task-1, say nothing, and differ for each task. */
static void
put_name(const struct reader *r, uint64_t code, const struct memory_piece *p,
         struct buf *out)
{
	const struct interp_space *s = r->space;
	const size_t start = out->len;
	uint64_t words[4];

	if (p->got < PYTHON_PRINTED + sizeof(words) ||
	    memory_u64(p->p, 8) != s->image->roots[PYTHON_STR] + s->bias)
		return;
	memcpy(words, p->p + PYTHON_PRINTED, sizeof(words));
	if (python_print(words) != code >> PYTHON_MINOR)
		return;
	buf_putc(out, ' ');
	if (python_string(p->p, p->got, s->image->version, out) ||
	    !strncmp(out->p + start, " Task-", 6))
		out->len = start;
}

static int
keep_task(struct reader *r, size_t i, const struct memory_piece *p)
{
	CLEANUP_BUF struct buf texts = BUF_INIT(PYTHON_MAX_TEXT + 64);
	const uint64_t code = r->unread[i].address;
	struct interp_function f = {.line = r->space->image->language->line};

	if (code <= PYTHON_MORE) {
		buf_puts(&texts, code == PYTHON_MORE ? "[more tasks]"
		                                     : "[several tasks]");
	} else {
		buf_puts(&texts, "[task");
		put_name(r, code, p, &texts);
		buf_putc(&texts, ']');
	}
	buf_putc(&texts, '\0');
	f.file = (uint32_t)texts.len;
	buf_putc(&texts, '\0');
	f.lines = (uint32_t)texts.len;
	r->rows[i].head = (struct python_code_head){.name = code, .size = 1};
	return buf_err(&texts)
	               ?: interp_function_keep(
				  r->codes, &texts, f,
				  &interp_code(r->codes, r->unread[i].code)
					   ->function);
}

/* --- reading -------------------------------------------------------------- */

static int
read_heads(struct reader *r)
{
	const struct interp_space *s = r->space;
	int rc;

	for (size_t i = 0; i < r->n; i++)
		r->pieces[i] = (struct memory_piece){
			.addr = r->unread[i].address & PYTHON_ADDRESS,
			.len = PYTHON_CODE_BYTES};
	rc = read_pieces(r, r->n);
	for (size_t i = 0; i < r->n && !rc; i++) {
		struct reading *row = &r->rows[i];

		row->task = is_task(r->unread[i].address);
		if (row->task) {
			rc = keep_task(r, i, &r->pieces[i]);
			continue;
		}
		row->gone = r->pieces[i].got < PYTHON_CODE_BYTES;
		if (row->gone)
			continue;
		python_code_head(r->pieces[i].p, s->image->version, &row->head);
		row->gone = row->head.type !=
		            s->image->roots[PYTHON_CODE] + s->bias;
		row->same = interp_code_is_same(
			interp_code(r->codes, r->unread[i].code), &row->head,
			sizeof(row->head));
	}
	return rc;
}

/* Returns the pieces of one row: name, file, lines. */
static struct memory_piece *
pieces_of(struct reader *r, size_t i)
{
	return r->pieces + 3 * i;
}

static int
read_parts(struct reader *r)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct python_code_head *h = &r->rows[i].head;
		struct memory_piece *p = pieces_of(r, i);

		p[0] = (struct memory_piece){.addr = h->name};
		p[1] = (struct memory_piece){.addr = h->file};
		p[2] = (struct memory_piece){.addr = h->lines};
		if (r->rows[i].task || r->rows[i].gone || r->rows[i].same ||
		    !h->name)
			continue;
		p[0].len = GUESS_NAME;
		p[1].len = GUESS_FILE;
		p[2].len = GUESS_LINES;
	}
	return read_pieces(r, 3 * r->n);
}

static bool
is_of(const struct memory_piece *p, uint64_t type)
{
	uint64_t at;

	if (p->got < PYTHON_BYTES_HEAD)
		return false;
	memcpy(&at, p->p + 8, sizeof(at));
	return at == type;
}

static bool
check_parts(const struct reader *r, struct reading *row,
            const struct memory_piece *p)
{
	const struct interp_space *s = r->space;

	return is_of(&p[0], s->image->roots[PYTHON_STR] + s->bias) &&
	       is_of(&p[1], s->image->roots[PYTHON_STR] + s->bias) &&
	       is_of(&p[2], s->image->roots[PYTHON_BYTES] + s->bias) &&
	       python_bytes_size(p[2].p, p[2].got, &row->nlines);
}

/* Reads tables that are longer than guessed. */
static int
read_long(struct reader *r)
{
	CLEANUP_FREE struct memory_piece *longer =
		calloc(r->n, sizeof(*longer));
	int rc;

	if (!longer)
		return -ENOMEM;
	for (size_t i = 0; i < r->n; i++) {
		struct reading *row = &r->rows[i];
		const struct memory_piece *p = pieces_of(r, i);

		if (!p->len)
			continue;
		row->gone = !check_parts(r, row, p);
		if (row->gone)
			continue;
		longer[i].addr = p[2].addr;
		if (PYTHON_BYTES_HEAD + row->nlines > p[2].got)
			longer[i].len =
				(uint32_t)(PYTHON_BYTES_HEAD + row->nlines);
	}
	rc = memory_read(r->space->memory, longer, r->n, &r->batch);
	for (size_t i = 0; i < r->n && !rc; i++) {
		if (!longer[i].len)
			continue;
		r->rows[i].gone = longer[i].got < longer[i].len;
		pieces_of(r, i)[2] = longer[i];
	}
	return rc;
}

/* --- keeping -------------------------------------------------------------- */

static int
keep(struct reader *r, size_t i)
{
	struct reading *row = &r->rows[i];
	const struct memory_piece *p = pieces_of(r, i);
	CLEANUP_BUF struct buf packed =
		BUF_INIT(2 * PYTHON_MAX_TEXT + 16 + 1 + PYTHON_MAX_LINES);
	struct interp_function f = {
		.line = r->space->image->language->line,
		.first_line = (uint32_t)row->head.first_line,
		.nlines = 1 + (uint32_t)row->nlines};
	enum python_version v = r->space->image->version;
	int rc = python_string(p[0].p, p[0].got, v, &packed);

	buf_putc(&packed, '\0');
	f.file = (uint32_t)packed.len;
	if (!rc)
		rc = python_string(p[1].p, p[1].got, v, &packed);
	buf_putc(&packed, '\0');
	f.lines = (uint32_t)packed.len;
	buf_putc(&packed, (char)v);
	buf_add(&packed, p[2].p + PYTHON_BYTES_HEAD, row->nlines);
	if (!rc)
		rc = buf_err(&packed);
	return rc ? rc
	          : interp_function_keep(
			    r->codes, &packed, f,
			    &interp_code(r->codes, r->unread[i].code)
				     ->function);
}

static int
keep_all(struct reader *r)
{
	int rc = 0;

	for (size_t i = 0; i < r->n && !rc; i++) {
		struct reading *row = &r->rows[i];

		if (!row->task && !row->gone && !row->same && row->head.name)
			rc = keep(r, i);
		if (row->gone || rc == -EBADMSG)
			rc = -ESTALE;
		rc = interp_code_end(r->codes, r->unread[i].code, r->space,
		                     &row->head, sizeof(row->head), rc);
	}
	return rc;
}

int
python_read(struct interp_codes *c, const struct interp_space *space,
            const struct interp_unread *rows, uint32_t n)
{
	CLEANUP(reader_done)
	struct reader r = {.codes = c, .space = space, .unread = rows, .n = n};
	int rc = read_heads(&r);

	if (!rc)
		rc = read_parts(&r);
	if (!rc)
		rc = read_long(&r);
	return rc ? rc : keep_all(&r);
}

/* --- places --------------------------------------------------------------- */

/* Returns the frame's instruction in its code; one before the start counts as
 * the first. */
int
python_place(const struct interp_code *code, const struct interp_frame *f,
             uint64_t *out)
{
	struct python_code_head head;
	uint64_t at;

	memcpy(&head, code->head, sizeof(head));
	at = f->instr - (f->code + head.begin);
	if (at >= (uint64_t)-2)
		at = 0;
	if (at >= head.size)
		return -ESTALE;
	*out = head.name ? interp_place(code->function, (uint32_t)(at / 2))
	                 : INTERP_NO_PLACE;
	return 0;
}
