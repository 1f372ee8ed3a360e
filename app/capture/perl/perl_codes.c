/*
 * Reads subs, all new ones of a stack together: each step reads at the
 * addresses that the step before has found.
 *
 *   Source   Perl 5.32 to 5.42, sv.h: struct sv; gv.h: struct xpvgv; cv.h: struct
 *            xpvcv; hv.h: struct hek, struct xpvhv_aux; op.h: struct op; cop.h
 */
#include "perl.h"

#include <errno.h>
#include <string.h>

#define MAX_TEXT 512 /* bytes; cut there */

const struct perl_version_row perl_versions[PERL_VERSIONS] = {
#define PERL(version, minor, here, names, statement, tested) \
	{minor, here, names, statement},
#include "perl_versions.def"
#undef PERL
};

/* A value, and its flags. */
enum { SV = 24, SV_FLAGS = 12, SV_ARRAY = 16 };
enum { TYPE = 0xff, GLOB = 9, SCALAR_GLOB = 10, HASH = 12, CODE = 13 };
#define HAS_NAMES 0x02000000u

/* The body of a glob or a sub, from its offset 32 on. */
enum {
	BODY_AT = 32,
	BODY = 72,
	GLOB_NAME = 0,
	GLOB_PACKAGE = 8,
	CV_PACKAGE = 0,
	CV_NAME = 24,
	CV_FLAGS = 60,
	CV_IS_NAMED = 0x8000
};

/* A hash's body, and a structure with a package's name: the name's address, or
 * that of a list if there are several names. */
enum { HASH_MAX = 24, NAMES = 40, NAMES_COUNT = 28 };

/* A name begins with its hash and length. */
enum { NAME_LENGTH = 4, NAME_HEAD = 8 };

/* A statement. */
enum {
	OP_TYPE = 32,
	OP_TYPE_MASK = 0x1ff,
	OP_LINE = 36,
	OP_FILE = 48,
	OP = 56
};

/* If any of these differs, it is another sub. */
struct head {
	uint64_t kind, body, file;
	uint32_t first_line, reserved;
};
_Static_assert(sizeof(struct head) <= INTERP_CODE_HEAD, "a head");

enum { NAME, FILE_NAME, PACKAGE, PIECES };

/* What was read last on the way to a package's name. */
enum { AT_VALUE, AT_SIZE, AT_NAMES, AT_LIST, AT_TEXT };

struct reader {
	struct interp_codes *codes;
	const struct interp_space *space;
	const struct interp_unread *unread;
	struct reading {
		struct head head;
		bool same;         /* unchanged since it was last read */
		bool gone;         /* something else is there */
		uint8_t stage;     /* towards a package's name */
		uint64_t array;    /* of the package's hash */
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

static int
read_pieces(struct reader *r)
{
	return memory_read(r->space->memory, r->pieces, PIECES * r->n,
	                   &r->batch);
}

static const struct perl_version_row *
version_of(const struct reader *r)
{
	return &perl_versions[r->space->image->version];
}

static bool
is_sub(uint64_t kind)
{
	return kind == PERL_BY_GLOB || kind == PERL_BY_CV;
}

/* True while a row has more to be read. */
static bool
is_open(const struct reading *row)
{
	return !row->same && !row->gone && is_sub(row->head.kind);
}

/* Returns the lower half of a word. */
static uint32_t
half(const struct memory_piece *p, size_t at)
{
	return (uint32_t)memory_word(p, at);
}

static struct memory_piece
text_at(uint64_t addr)
{
	return (struct memory_piece){.addr = addr, .len = addr ? MAX_TEXT : 0};
}

/* Has the next step read at an address; if there is none, the row is gone. */
static void
follow(struct reading *row, struct memory_piece *p, uint64_t addr, uint32_t len)
{
	row->gone |= !addr;
	*p = (struct memory_piece){.addr = addr, .len = addr ? len : 0};
}

/* --- reading -------------------------------------------------------------- */

/* A sub begins with a statement, which has its file and first line. */
static void
take_first(const struct reader *r, const struct memory_piece *p,
           struct head *out)
{
	uint32_t type = half(p, OP_TYPE) & OP_TYPE_MASK;

	if (p->got < OP || (type != version_of(r)->statement &&
	                    type != version_of(r)->statement + 1u))
		return;
	out->first_line = half(p, OP_LINE);
	out->file = memory_word(p, OP_FILE);
}

static bool
take_value(const struct memory_piece *p, struct head *out)
{
	uint32_t type = half(p, SV_FLAGS) & TYPE;

	out->body = memory_word(p, 0);
	return p->got == SV && out->body &&
	       (out->kind == PERL_BY_CV ? type == CODE
	                                : type == GLOB || type == SCALAR_GLOB);
}

static int
read_heads(struct reader *r)
{
	int rc;

	for (size_t i = 0; i < r->n; i++) {
		uint64_t instr = r->unread[i].instr;
		struct head *h = &r->rows[i].head;
		struct memory_piece *p = pieces_of(r, i);

		memset(p, 0, PIECES * sizeof(*p));
		h->kind = instr >> PERL_KIND;
		r->rows[i].gone = !h->kind || h->kind > PERL_FILE;
		if (is_sub(h->kind)) {
			p[NAME] = (struct memory_piece){.addr = instr << 4 >> 4,
			                                .len = SV};
			p[FILE_NAME] = (struct memory_piece){
				.addr = r->unread[i].address, .len = OP};
		} else if (h->kind != PERL_EVAL)
			h->file = instr << 4 >> 4;
	}
	rc = read_pieces(r);
	for (size_t i = 0; i < r->n && !rc; i++) {
		struct reading *row = &r->rows[i];
		const struct memory_piece *p = pieces_of(r, i);

		if (is_sub(row->head.kind)) {
			row->gone = !take_value(&p[NAME], &row->head);
			take_first(r, &p[FILE_NAME], &row->head);
		}
		row->same = interp_code_is_same(
			interp_code(r->codes, r->unread[i].code), &row->head,
			sizeof(row->head));
	}
	return rc;
}

/* Reads the bodies of globs and subs, and the names of files or, without
 * threads, their globs. */
static int
read_bodies(struct reader *r)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct reading *row = &r->rows[i];
		struct memory_piece *p = pieces_of(r, i);

		memset(p, 0, PIECES * sizeof(*p));
		if (is_open(row))
			p[NAME] = (struct memory_piece){
				.addr = row->head.body + BODY_AT, .len = BODY};
		if (!row->same && !row->gone)
			p[FILE_NAME] = text_at(row->head.file);
		if (perl_has_variables(r->space->image) && p[FILE_NAME].len)
			p[FILE_NAME].len = SV;
	}
	return read_pieces(r);
}

/* Reads the names of subs, and their packages. */
static int
read_names(struct reader *r)
{
	CLEANUP_FREE struct memory_piece *more =
		calloc(2 * r->n, sizeof(*more));
	int rc;

	if (!more)
		return -ENOMEM;
	for (size_t i = 0; i < r->n; i++) {
		struct reading *row = &r->rows[i];
		const struct memory_piece *p = pieces_of(r, i);
		const bool is_cv = row->head.kind == PERL_BY_CV;

		if (!is_open(row))
			continue;
		if (p[NAME].got < BODY ||
		    (is_cv && !(half(&p[NAME], CV_FLAGS) & CV_IS_NAMED))) {
			row->gone = true;
			continue;
		}
		follow(row, &more[2 * i],
		       memory_word(&p[NAME], is_cv ? CV_NAME : GLOB_NAME),
		       NAME_HEAD + MAX_TEXT);
		follow(row, &more[2 * i + 1],
		       memory_word(&p[NAME], is_cv ? CV_PACKAGE : GLOB_PACKAGE),
		       SV);
	}
	rc = memory_read(r->space->memory, more, 2 * r->n, &r->batch);
	for (size_t i = 0; i < r->n && !rc; i++) {
		pieces_of(r, i)[NAME] = more[2 * i];
		pieces_of(r, i)[PACKAGE] = more[2 * i + 1];
	}
	return rc;
}

/* Reads names of files by their globs: the glob's body, then its name. */
static int
read_file_globs(struct reader *r)
{
	CLEANUP_FREE struct memory_piece *more = calloc(r->n, sizeof(*more));
	int rc = more ? 0 : -ENOMEM;

	for (int step = 0; step < 2 && !rc; step++) {
		for (size_t i = 0; i < r->n; i++) {
			const struct memory_piece *p =
				&pieces_of(r, i)[FILE_NAME];
			uint64_t at = memory_word(p, 0);

			more[i] = text_at(!at ? 0 : step ? at : at + BODY_AT);
		}
		rc = memory_read(r->space->memory, more, r->n, &r->batch);
		for (size_t i = 0; i < r->n && !rc; i++)
			pieces_of(r, i)[FILE_NAME] = more[i];
	}
	return rc;
}

/* Has the next step read what leads to a package's name.
 *   Source   hv.h: HvAUX(), HvNAME_HEK_NN() */
static void
step_package(const struct reader *r, struct reading *row,
             const struct memory_piece *p, struct memory_piece *more)
{
	uint16_t names = version_of(r)->names;

	switch (row->stage++) {
	case AT_VALUE:
		if ((half(p, SV_FLAGS) & TYPE) != HASH ||
		    !(half(p, SV_FLAGS) & HAS_NAMES)) {
			row->gone = true;
		} else if (names) {
			row->stage = AT_NAMES;
			follow(row, more, memory_word(p, 0) + names, NAMES);
		} else {
			row->array = memory_word(p, SV_ARRAY);
			follow(row, more, memory_word(p, 0) + HASH_MAX, 8);
		}
		break;
	case AT_SIZE:
		follow(row, more, row->array + 8 * (memory_word(p, 0) + 1),
		       NAMES);
		break;
	case AT_NAMES:
		if (half(p, NAMES_COUNT)) {
			follow(row, more, memory_word(p, 0), 8);
			break;
		}
		/* fall through */
	case AT_LIST:
		row->stage = AT_TEXT;
		follow(row, more, memory_word(p, 0), NAME_HEAD + MAX_TEXT);
		break;
	default:
		row->stage = AT_TEXT;
	}
}

static int
read_packages(struct reader *r)
{
	CLEANUP_FREE struct memory_piece *more = calloc(r->n, sizeof(*more));
	int rc = more ? 0 : -ENOMEM;

	for (int step = AT_VALUE; step < AT_TEXT && !rc; step++) {
		memset(more, 0, r->n * sizeof(*more));
		for (size_t i = 0; i < r->n; i++)
			if (is_open(&r->rows[i]))
				step_package(r, &r->rows[i],
				             &pieces_of(r, i)[PACKAGE],
				             &more[i]);
		rc = memory_read(r->space->memory, more, r->n, &r->batch);
		for (size_t i = 0; i < r->n && !rc; i++)
			if (more[i].len)
				pieces_of(r, i)[PACKAGE] = more[i];
	}
	return rc;
}

/* --- keeping -------------------------------------------------------------- */

static int
put_name(const struct memory_piece *p, struct buf *out)
{
	uint32_t n = half(p, NAME_LENGTH);

	if (p->got < NAME_HEAD)
		return -ESTALE;
	interp_put_text(p->p + NAME_HEAD,
	                n < p->got - NAME_HEAD ? n : p->got - NAME_HEAD, out);
	return 0;
}

/* Each string that is evaluated is a file with a different number. The name of
 * a file's glob follows the name's head and two letters.
 *   Source   gv.c: gv_fetchfile_flags() */
static void
put_file(const struct reader *r, const struct memory_piece *p, struct buf *out)
{
	static const char numbered[] = "(eval ";
	size_t head = perl_has_variables(r->space->image) ? NAME_HEAD + 2 : 0;
	size_t n = p->got > head
	                   ? strnlen((const char *)p->p + head, p->got - head)
	                   : 0;

	if (n > sizeof(numbered) &&
	    !memcmp(p->p + head, numbered, sizeof(numbered) - 1))
		buf_puts(out, "(eval)");
	else if (n)
		interp_put_text(p->p + head, n, out);
}

/* All unnamed subs share one name; their place follows it, as in
 * Devel::NYTProf. */
static void
put_place(const struct reader *r, const struct reading *row,
          const struct memory_piece *file, struct buf *out)
{
	CLEANUP_BUF struct buf path = BUF_INIT(MAX_TEXT + 1);
	const char *name;

	put_file(r, file, &path);
	name = strrchr(buf_str(&path), '/');
	buf_addf(out, "[%s:%u]", name ? name + 1 : buf_str(&path),
	         (unsigned)row->head.first_line);
}

static int
put_sub(const struct reader *r, const struct reading *row,
        const struct memory_piece *p, struct buf *out)
{
	static const char unnamed[] = "::__ANON__";
	const size_t len = sizeof(unnamed) - 1;
	int rc = put_name(&p[PACKAGE], out);

	buf_puts(out, "::");
	if (!rc)
		rc = put_name(&p[NAME], out);
	if (row->head.first_line && out->len >= len &&
	    !memcmp(out->p + out->len - len, unnamed, len))
		put_place(r, row, &p[FILE_NAME], out);
	return rc;
}

static int
keep(struct reader *r, size_t i)
{
	static const char *const names[] = {[PERL_MAIN] = "(main)",
	                                    [PERL_EVAL] = "(eval)",
	                                    [PERL_FILE] = "(require)"};
	const struct reading *row = &r->rows[i];
	const struct memory_piece *p = pieces_of(r, i);
	CLEANUP_BUF struct buf texts = BUF_INIT(5 * MAX_TEXT);
	struct interp_function f = {.line = r->space->image->language->line,
	                            .first_line = row->head.first_line};
	int rc = 0;

	if (is_sub(row->head.kind))
		rc = put_sub(r, row, p, &texts);
	else
		buf_puts(&texts, names[row->head.kind]);
	buf_putc(&texts, '\0');
	f.file = (uint32_t)texts.len;
	if (row->head.kind == PERL_EVAL)
		buf_puts(&texts, names[PERL_EVAL]);
	put_file(r, &p[FILE_NAME], &texts);
	buf_putc(&texts, '\0');
	f.lines = (uint32_t)texts.len;
	return rc || buf_err(&texts)
	               ? -ESTALE
	               : interp_function_keep(
				 r->codes, &texts, f,
				 &interp_code(r->codes, r->unread[i].code)
					  ->function);
}

/* Keeps the data read about a sub; if it is gone by now, what was read
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
perl_read(struct interp_codes *c, const struct interp_space *space,
          const struct interp_unread *rows, uint32_t n)
{
	CLEANUP(reader_done)
	struct reader r = {.codes = c, .space = space, .unread = rows, .n = n};
	int rc = space->image->version < PERL_VERSIONS ? read_heads(&r)
	                                               : -ESTALE;

	if (!rc)
		rc = read_bodies(&r);
	if (!rc && perl_has_variables(space->image))
		rc = read_file_globs(&r);
	if (!rc)
		rc = read_names(&r);
	if (!rc)
		rc = read_packages(&r);
	for (size_t i = 0; i < n && !rc; i++)
		rc = keep_or_leave(&r, i);
	return rc;
}

/* --- places --------------------------------------------------------------- */

int
perl_place(const struct interp_code *code, const struct interp_frame *f,
           uint64_t *out)
{
	*out = interp_place(code->function, (uint32_t)(f->mark >> 32));
	return 0;
}
