/*
 * Reads code objects in batches, one batch for the new ones of a stack: first
 * their heads, then the strings they point to, then the rest of those that are
 * longer than guessed. A function of many processes is kept once.
 */
#include "python.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/id.h"
#include "python_object.h"

#include <errno.h>
#include <string.h>

#define AGE_NS      ((uint64_t)NS_PER_S) /* how long a head is trusted */
#define GUESS_NAME  (PYTHON_STRING_BYTES + 128)
#define GUESS_FILE  (PYTHON_STRING_BYTES + 256)
#define GUESS_LINES 1024

/* A function, which one code object or several may represent. */
struct function {
	uint32_t name, file, lines; /* offsets of texts and table */
	uint32_t nlines;            /* bytes */
	uint32_t first_line;
};

/* A code object at its address in one process. */
struct code {
	struct python_code_head head;
	uint32_t function;
	uint64_t checked_ns; /* 0: never read */
};

struct python_codes {
	uint64_t key;        /* key of the hashes */
	struct pairs places; /* process, address: index of codes */
	struct code *codes;
	uint32_t codes_cap;
	struct pairs contents; /* hash of contents: index of functions */
	struct function *functions;
	uint32_t functions_cap;
	struct buf bytes;
};

struct python_codes *
python_codes_new(void)
{
	struct python_codes *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	random_bytes(&c->key, sizeof(c->key));
	c->key |= 1;
	c->places.max = c->contents.max = PYTHON_MAX_CODES;
	c->bytes = BUF_INIT(PYTHON_MAX_BYTES);
	return c;
}

void
python_codes_free(struct python_codes *c)
{
	if (!c)
		return;
	pairs_done(&c->places);
	pairs_done(&c->contents);
	buf_done(&c->bytes);
	free(c->codes);
	free(c->functions);
	free(c);
}

/* Makes room for row n; new rows are zero. */
static int
make_room(void **rows, uint32_t *cap, uint32_t n, size_t size)
{
	uint32_t more = *cap ? *cap : 64;
	char *p;

	while (more <= n)
		more *= 2;
	if (more == *cap)
		return 0;
	p = reallocarray(*rows, more, size);
	if (!p)
		return -ENOMEM;
	memset(p + *cap * size, 0, (more - *cap) * size);
	*rows = p;
	*cap = more;
	return 0;
}

static int
code_at(struct python_codes *c, const struct python_space *space,
        uint64_t address, uint32_t *out)
{
	int rc = pairs_intern(&c->places, (uint32_t)space->memory->pid, address,
	                      out);

	return rc ? rc
	          : make_room((void **)&c->codes, &c->codes_cap, *out,
	                      sizeof(*c->codes));
}

/* --- reading ---------------------------------------------------------------
 */

/* A code object while it is read. */
struct reading {
	uint32_t code;
	uint64_t address;
	struct python_code_head head;
	bool same; /* unchanged since it was last read */
	uint64_t nlines;
};

struct reader {
	struct python_codes *codes;
	const struct python_space *space;
	struct reading rows[INTERP_MAX_FRAMES];
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

static bool
is_same(const struct code *c, const struct python_code_head *now)
{
	return c->checked_ns && c->head.name == now->name &&
	       c->head.file == now->file && c->head.lines == now->lines &&
	       c->head.first_line == now->first_line &&
	       c->head.size == now->size;
}

static int
read_heads(struct reader *r)
{
	const struct python_space *s = r->space;
	int rc;

	for (size_t i = 0; i < r->n; i++)
		r->pieces[i] = (struct memory_piece){.addr = r->rows[i].address,
		                                     .len = PYTHON_CODE_BYTES};
	rc = read_pieces(r, r->n);
	for (size_t i = 0; i < r->n && !rc; i++) {
		struct reading *row = &r->rows[i];

		if (r->pieces[i].got < PYTHON_CODE_BYTES)
			return -ESTALE;
		python_code_head(r->pieces[i].p, s->image->minor, &row->head);
		if (row->head.type != s->image->code + s->bias)
			return -ESTALE;
		row->same = is_same(&r->codes->codes[row->code], &row->head);
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
		if (r->rows[i].same || !h->name)
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
	const struct python_space *s = r->space;

	return is_of(&p[0], s->image->str + s->bias) &&
	       is_of(&p[1], s->image->str + s->bias) &&
	       is_of(&p[2], s->image->bytes + s->bias) &&
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
		if (!check_parts(r, row, p))
			return -ESTALE;
		longer[i].addr = p[2].addr;
		if (PYTHON_BYTES_HEAD + row->nlines > p[2].got)
			longer[i].len =
				(uint32_t)(PYTHON_BYTES_HEAD + row->nlines);
	}
	rc = memory_read(r->space->memory, longer, r->n, &r->batch);
	for (size_t i = 0; i < r->n && !rc; i++) {
		if (!longer[i].len)
			continue;
		if (longer[i].got < longer[i].len)
			return -ESTALE;
		pieces_of(r, i)[2] = longer[i];
	}
	return rc;
}

/* --- keeping ---------------------------------------------------------------
 */

static int
add_function(struct python_codes *c, const struct buf *packed,
             struct function f, uint32_t *out)
{
	uint32_t before = c->contents.n;
	int rc = pairs_intern(&c->contents, f.first_line,
	                      hash_keyed(c->key, packed->p, packed->len), out);

	if (!rc)
		rc = make_room((void **)&c->functions, &c->functions_cap, *out,
		               sizeof(f));
	if (rc || c->contents.n == before)
		return rc;
	f.name = (uint32_t)c->bytes.len;
	f.file += f.name;
	f.lines += f.name;
	buf_add(&c->bytes, packed->p, packed->len);
	if (buf_err(&c->bytes)) /* nameless from now on */
		f = (struct function){0};
	c->functions[*out] = f;
	return 0;
}

static int
keep(struct reader *r, size_t i)
{
	struct reading *row = &r->rows[i];
	const struct memory_piece *p = pieces_of(r, i);
	CLEANUP_BUF struct buf packed =
		BUF_INIT(2 * PYTHON_MAX_TEXT + 16 + PYTHON_MAX_LINES);
	struct function f = {.first_line = row->head.first_line,
	                     .nlines = (uint32_t)row->nlines};
	enum python_version v = r->space->image->minor;
	int rc = python_string(p[0].p, p[0].got, v, &packed);

	buf_putc(&packed, '\0');
	f.file = (uint32_t)packed.len;
	if (!rc)
		rc = python_string(p[1].p, p[1].got, v, &packed);
	buf_putc(&packed, '\0');
	f.lines = (uint32_t)packed.len;
	buf_add(&packed, p[2].p + PYTHON_BYTES_HEAD, row->nlines);
	if (!rc)
		rc = buf_err(&packed);
	return rc ? rc
	          : add_function(r->codes, &packed, f,
	                         &r->codes->codes[row->code].function);
}

static int
keep_all(struct reader *r)
{
	int rc = 0;

	for (size_t i = 0; i < r->n && !rc; i++) {
		struct reading *row = &r->rows[i];
		struct code *code = &r->codes->codes[row->code];

		if (!row->same && row->head.name)
			rc = keep(r, i);
		if (rc)
			return rc == -EBADMSG ? -ESTALE : rc;
		code->head = row->head;
		code->checked_ns = r->space->now_ns;
	}
	return rc;
}

static int
read_all(struct reader *r)
{
	int rc = read_heads(r);

	if (!rc)
		rc = read_parts(r);
	if (!rc)
		rc = read_long(r);
	return rc ? rc : keep_all(r);
}

/* --- places ----------------------------------------------------------------
 */

enum { OWNED_BY_C = 3 }; /* FRAME_OWNED_BY_CSTACK */

static bool
is_shim(const struct python_space *s, const struct interp_frame *f)
{
	return s->image->minor > PYTHON_311 && (f->mark & 255) == OWNED_BY_C;
}

static int
want(struct reader *r, uint64_t address, uint32_t *out)
{
	int rc = code_at(r->codes, r->space, address, out);
	const struct code *code;

	if (rc)
		return rc;
	code = &r->codes->codes[*out];
	if (code->checked_ns && r->space->now_ns - code->checked_ns < AGE_NS)
		return 0;
	for (size_t i = 0; i < r->n; i++)
		if (r->rows[i].code == *out)
			return 0;
	r->rows[r->n++] = (struct reading){.code = *out, .address = address};
	return 0;
}

/* Returns the frame's instruction in its code; one before the start counts as
 * the first. */
static int
place_of(const struct code *code, const struct interp_frame *f, uint64_t *out)
{
	uint64_t at = f->instr - (f->code + code->head.begin);

	if (at == (uint64_t)-2)
		at = 0;
	if (at >= code->head.size)
		return -ESTALE;
	*out = code->head.name ? (uint64_t)code->function << 32 | at / 2
	                       : PYTHON_NO_PLACE;
	return 0;
}

int
python_places(struct python_codes *c, const struct python_space *space,
              const struct interp_stack *s, uint64_t *out)
{
	CLEANUP(reader_done) struct reader r = {.codes = c, .space = space};
	uint32_t codes[INTERP_MAX_FRAMES];
	int rc = 0;

	for (uint32_t i = 0; i < s->n && !rc; i++)
		if (!is_shim(space, &s->frames[i]))
			rc = want(&r, s->frames[i].code, &codes[i]);
	if (!rc && r.n)
		rc = read_all(&r);
	for (uint32_t i = 0; i < s->n && !rc; i++) {
		out[i] = PYTHON_NO_PLACE;
		if (!is_shim(space, &s->frames[i]))
			rc = place_of(&c->codes[codes[i]], &s->frames[i],
			              &out[i]);
	}
	return rc;
}

bool
python_code_name(const struct python_codes *c, uint64_t vaddr,
                 struct python_name *out)
{
	uint32_t i = (uint32_t)(vaddr >> 32);
	const struct function *f;

	if (i >= c->contents.n || i >= c->functions_cap)
		return false;
	f = &c->functions[i];
	if (f->lines + (uint64_t)f->nlines > c->bytes.len || !f->lines)
		return false;
	*out = (struct python_name){
		.name = c->bytes.p + f->name,
		.file = c->bytes.p + f->file,
		.start_line = f->first_line,
		.line = python_line((const uint8_t *)c->bytes.p + f->lines,
	                            f->nlines, f->first_line, (uint32_t)vaddr),
	};
	return *out->name;
}
