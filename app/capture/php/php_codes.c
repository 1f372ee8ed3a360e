/*
 * Reads functions, all new ones of a stack together: each step reads at the
 * addresses that the step before has found.
 *
 *   Source   PHP 7.4 to 8.5, Zend/zend_compile.h: struct _zend_op_array,
 *            struct _zend_internal_function; zend.h: struct
 *            _zend_class_entry; zend_types.h: struct _zend_string
 */
#include "php.h"

#include <errno.h>
#include <string.h>

#define MAX_TEXT  512 /* bytes; cut there */
#define TEXT_HEAD 24  /* bytes of a string before its text; LENGTH is in it */
#define LENGTH    16
#define MAX_BYTES 192 /* of a function */

const struct php_version_row php_versions[PHP_VERSIONS] = {
#define PHP(version, api, current, file, tested) {api, current, file},
#include "php_versions.def"
#undef PHP
};

enum { CLASS_NAME = 8 }; /* in a class */

/* If any of these differs, it is another function. */
struct head {
	uint64_t type, name, scope, file;
	uint32_t first_line, reserved;
};
_Static_assert(sizeof(struct head) <= INTERP_CODE_HEAD, "a head");

enum { FUNCTION, CLASS, FILE_NAME, PIECES };

struct reader {
	struct interp_codes *codes;
	const struct interp_space *space;
	const struct interp_unread *unread;
	struct reading {
		struct head head;
		bool same;         /* unchanged since it was last read */
		bool gone;         /* something else is there */
	} rows[INTERP_MAX_FRAMES]; /* of unread */
	size_t n;
	struct memory_piece pieces[PIECES * INTERP_MAX_FRAMES];
	struct memory_batch batch;
};

static void
reader_done(struct reader *r)
{
	memory_batch_done(&r->batch);
}

static struct memory_piece *
pieces_of(struct reader *r, size_t i)
{
	return r->pieces + PIECES * i;
}

/* --- reading -------------------------------------------------------------- */

/* Functions written in C have no file, and are shorter. */
static int
take_head(const struct memory_piece *p, uint16_t file, struct head *out)
{
	if (p->got < PHP_FUNCTION_WORDS * 8)
		return -ESTALE;
	*out = (struct head){.type = p->p[0],
	                     .name = memory_word(p, PHP_NAME * 8),
	                     .scope = memory_word(p, PHP_SCOPE * 8)};
	if (out->type == PHP_USER || out->type == PHP_EVAL) {
		out->file = memory_word(p, file);
		out->first_line = (uint32_t)memory_word(p, file + 8u);
		return out->file ? 0 : -ESTALE;
	}
	return out->type == PHP_INTERNAL ? 0 : -ESTALE;
}

static uint64_t
identity_of(const struct head *h)
{
	return php_identity(h->name, h->scope, h->file, h->first_line);
}

static int
read_functions(struct reader *r)
{
	uint16_t file = php_versions[r->space->image->version].file;
	int rc;

	for (size_t i = 0; i < r->n; i++)
		r->pieces[i] = (struct memory_piece){.addr = r->unread[i].instr,
		                                     .len = MAX_BYTES};
	rc = memory_read(r->space->memory, r->pieces, r->n, &r->batch);
	for (size_t i = 0; i < r->n && !rc; i++) {
		struct reading *row = &r->rows[i];

		row->gone = take_head(&r->pieces[i], file, &row->head) ||
		            identity_of(&row->head) != r->unread[i].address;
		row->same = interp_code_is_same(
			interp_code(r->codes, r->unread[i].code), &row->head,
			sizeof(row->head));
	}
	return rc;
}

/* Reads the names, files and classes of functions that are new. */
static int
read_parts(struct reader *r)
{
	const uint32_t text = TEXT_HEAD + MAX_TEXT;

	for (size_t i = 0; i < r->n; i++) {
		const struct head *h = &r->rows[i].head;
		bool new = !r->rows[i].same && !r->rows[i].gone;
		struct memory_piece *p = pieces_of(r, i);

		p[FUNCTION] = (struct memory_piece){
			.addr = h->name, .len = new && h->name ? text : 0};
		p[FILE_NAME] = (struct memory_piece){
			.addr = h->file, .len = new && h->file ? text : 0};
		p[CLASS] =
			(struct memory_piece){.addr = h->scope + CLASS_NAME,
		                              .len = new && h->scope ? 8 : 0};
	}
	return memory_read(r->space->memory, r->pieces, PIECES * r->n,
	                   &r->batch);
}

/* Reads the names of classes in place of their addresses. */
static int
read_classes(struct reader *r)
{
	CLEANUP_FREE struct memory_piece *more = calloc(r->n, sizeof(*more));
	int rc;

	if (!more)
		return -ENOMEM;
	for (size_t i = 0; i < r->n; i++)
		if (pieces_of(r, i)[CLASS].len)
			more[i] = (struct memory_piece){
				.addr = memory_word(&pieces_of(r, i)[CLASS], 0),
				.len = TEXT_HEAD + MAX_TEXT};
	rc = memory_read(r->space->memory, more, r->n, &r->batch);
	for (size_t i = 0; i < r->n && !rc; i++)
		pieces_of(r, i)[CLASS] = more[i];
	return rc;
}

/* --- keeping -------------------------------------------------------------- */

static int
put_text(const struct memory_piece *p, struct buf *out)
{
	uint64_t n = memory_word(p, LENGTH);

	if (p->got < TEXT_HEAD)
		return -ESTALE;
	if (n > p->got - TEXT_HEAD)
		n = p->got - TEXT_HEAD;
	interp_put_text(p->p + TEXT_HEAD, n, out);
	return 0;
}

/* Code outside of functions has no name. */
static int
put_name(const struct memory_piece *p, uint64_t type, struct buf *out)
{
	int rc = 0;

	if (p[CLASS].len) {
		rc = put_text(&p[CLASS], out);
		buf_puts(out, "::");
	}
	if (!p[FUNCTION].len)
		buf_puts(out, type == PHP_EVAL ? "{eval}" : "{main}");
	else if (!rc)
		rc = put_text(&p[FUNCTION], out);
	buf_putc(out, '\0');
	return rc;
}

static int
keep(struct reader *r, size_t i)
{
	const struct memory_piece *p = pieces_of(r, i);
	CLEANUP_BUF struct buf texts = BUF_INIT(3 * MAX_TEXT + 8);
	struct interp_function f = {.line = r->space->image->language->line,
	                            .first_line = r->rows[i].head.first_line};
	struct interp_code *code = interp_code(r->codes, r->unread[i].code);
	const struct head *h = &r->rows[i].head;
	int rc;

	if (h->type == PHP_INTERNAL && !h->name) { /* below a fiber's first */
		code->function = PHP_NO_FUNCTION;
		return 0;
	}
	rc = put_name(p, h->type, &texts);
	f.file = (uint32_t)texts.len;
	if (!rc && p[FILE_NAME].len)
		rc = put_text(&p[FILE_NAME], &texts);
	buf_putc(&texts, '\0');
	f.lines = (uint32_t)texts.len;
	if (rc || buf_err(&texts))
		return -ESTALE;
	return interp_function_keep(r->codes, &texts, f, &code->function);
}

/* Keeps the data read about a function; if it is gone by now, what was read
 * earlier. */
static int
keep_or_leave(struct reader *r, size_t i)
{
	const struct reading *row = &r->rows[i];
	int rc = row->gone ? -ESTALE : row->same ? 0 : keep(r, i);

	return interp_code_end(r->codes, r->unread[i].code, r->space,
	                       &row->head, sizeof(row->head), rc);
}

int
php_read(struct interp_codes *c, const struct interp_space *space,
         const struct interp_unread *rows, uint32_t n)
{
	CLEANUP(reader_done)
	struct reader r = {.codes = c, .space = space, .unread = rows, .n = n};
	int rc = space->image->version < PHP_VERSIONS ? read_functions(&r)
	                                              : -ESTALE;

	if (!rc)
		rc = read_parts(&r);
	if (!rc)
		rc = read_classes(&r);
	for (size_t i = 0; i < n && !rc; i++)
		rc = keep_or_leave(&r, i);
	return rc;
}

/* --- places --------------------------------------------------------------- */

int
php_place(const struct interp_code *code, const struct interp_frame *f,
          uint64_t *out)
{
	*out = code->function == PHP_NO_FUNCTION
	               ? INTERP_NO_PLACE
	               : interp_place(code->function,
	                              (uint32_t)(f->mark >> 32));
	return 0;
}
