/*
 * Reads instruction sequences, all new ones of a stack together: each step
 * reads at the addresses that the step before has found.
 *
 *   Source   Ruby 2.7.4, 3.1.2 and 3.3.8, vm_core.h: struct rb_iseq_struct, struct
 *            rb_iseq_constant_body, rb_iseq_location_t; iseq.h: struct
 *            iseq_insn_info_entry; iseq.c: struct succ_index_table;
 *            include/ruby/internal/core/rstring.h, rarray.h
 */
#include "ruby.h"

#include <errno.h>
#include <string.h>

#define MAX_TEXT    512   /* bytes; cut there */
#define MAX_SIZE    65536 /* words of a sequence */
#define MAX_ENTRIES 4096  /* of its table of lines */
#define OBJECT      40    /* bytes of an object that are read */
#define EMBEDDED    16    /* offset of a text that is embedded in them */

/* Bits of an object's first word. */
enum {
	TYPE = 0x1f,
	STRING = 0x05,
	ARRAY = 0x07,
	IMEMO_ISEQ = 0x701a,
	IMEMO = 0xf01f,
	EMBEDDED_ARRAY = 1 << 13,
	LONG_STRING = 1 << 13,
	LENGTH_SHIFT = 14,
	LENGTH = 31
};

/* Words of struct rb_iseq_constant_body that are read. */
enum {
	BODY_SIZE,    /* in its upper half */
	BODY_ENCODED, /* address of the instructions */
	BODY_PATH = 8,
	BODY_LABEL = 10,
	BODY_FIRST_LINE = 11, /* a Fixnum up to 3.1, then in its lower half */
	BODY_WORDS = 19
};
/* Words counted from the one with the table of lines. */
enum { NENTRIES = 2 /* in its lower half */, INDEX_TABLE = 3 };

const struct ruby_version_row ruby_versions[RUBY_VERSIONS] = {
#define RUBY(version, number, list, frame, node, threads, context, native, \
             tid, entries, entry, text, tested)                            \
	{number, list, frame,   node,  threads, context,                   \
	 native, tid,  entries, entry, text},
#include "ruby_versions.def"
#undef RUBY
};

/* The part of a sequence that shows whether it is still the same. */
struct head {
	uint64_t body, size, encoded, path, label, first_line;
};
_Static_assert(sizeof(struct head) <= INTERP_CODE_HEAD, "a head");

/* A sequence while it is read. */
struct reading {
	struct head head;
	bool same; /* unchanged since it was last read */
	uint64_t body[BODY_WORDS];
};

enum { LABEL, PATH, ENTRIES, INDEX, PIECES };

struct reader {
	struct interp_codes *codes;
	const struct interp_space *space;
	const struct interp_unread *unread;
	struct reading rows[INTERP_MAX_FRAMES]; /* of unread */
	size_t n;
	struct memory_piece pieces[PIECES * INTERP_MAX_FRAMES];
	struct memory_batch batch;
};

static const struct ruby_version_row *
version_of(const struct reader *r)
{
	return &ruby_versions[r->space->image->version];
}

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

static int
read_sequences(struct reader *r)
{
	int rc;

	for (size_t i = 0; i < r->n; i++)
		r->pieces[i] = (struct memory_piece){
			.addr = r->unread[i].address, .len = 24};
	rc = memory_read(r->space->memory, r->pieces, r->n, &r->batch);
	for (size_t i = 0; i < r->n && !rc; i++) {
		if ((memory_word(&r->pieces[i], 0) & IMEMO) != IMEMO_ISEQ)
			return -ESTALE;
		r->rows[i].head.body = memory_word(&r->pieces[i], 16);
	}
	return rc;
}

static int
read_bodies(struct reader *r)
{
	int rc;

	for (size_t i = 0; i < r->n; i++)
		r->pieces[i] =
			(struct memory_piece){.addr = r->rows[i].head.body,
		                              .len = sizeof(r->rows[i].body)};
	rc = memory_read(r->space->memory, r->pieces, r->n, &r->batch);
	for (size_t i = 0; i < r->n && !rc; i++) {
		struct reading *row = &r->rows[i];
		struct interp_code *code =
			interp_code(r->codes, r->unread[i].code);

		if (r->pieces[i].got < sizeof(row->body))
			return -ESTALE;
		memcpy(row->body, r->pieces[i].p, sizeof(row->body));
		row->head.size = row->body[BODY_SIZE] >> 32;
		row->head.encoded = row->body[BODY_ENCODED];
		row->head.path = row->body[BODY_PATH];
		row->head.label = row->body[BODY_LABEL];
		row->head.first_line =
			version_of(r)->number <= 31
				? row->body[BODY_FIRST_LINE] >> 1
				: (uint32_t)row->body[BODY_FIRST_LINE];
		if (row->head.size > MAX_SIZE)
			return -ESTALE;
		row->same = interp_code_is_same(code, &row->head,
		                                sizeof(row->head));
	}
	return rc;
}

/* Returns the bytes of a succ_index_table: 9 positions per word up to 54, then
 * 512 per block. */
static uint32_t
index_bytes(uint64_t size)
{
	return (uint32_t)(48 + (size < 54 ? 0 : (size - 54 + 511) / 512 * 80));
}

static int
read_parts(struct reader *r)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct reading *row = &r->rows[i];
		struct memory_piece *p = pieces_of(r, i);
		const uint64_t *table = row->body + version_of(r)->entries;
		uint32_t n = (uint32_t)table[NENTRIES];

		memset(p, 0, PIECES * sizeof(*p));
		if (row->same)
			continue;
		if (n > MAX_ENTRIES)
			return -ESTALE;
		p[LABEL] = (struct memory_piece){.addr = row->head.label,
		                                 .len = OBJECT};
		p[PATH] = (struct memory_piece){.addr = row->head.path,
		                                .len = OBJECT};
		p[ENTRIES] = (struct memory_piece){
			.addr = table[0], .len = version_of(r)->entry * n};
		if (n > 1)
			p[INDEX] = (struct memory_piece){
				.addr = table[INDEX_TABLE],
				.len = index_bytes(row->head.size)};
	}
	return memory_read(r->space->memory, r->pieces, PIECES * r->n,
	                   &r->batch);
}

/* Reads the first elements of arrays that replace paths: a path and its
 * target. */
static int
read_paths(struct reader *r)
{
	CLEANUP_FREE struct memory_piece *more = calloc(r->n, sizeof(*more));
	int rc;

	if (!more)
		return -ENOMEM;
	for (size_t i = 0; i < r->n; i++) {
		const struct memory_piece *p = &pieces_of(r, i)[PATH];
		uint64_t flags = memory_word(p, 0);

		if ((flags & TYPE) != ARRAY)
			continue;
		if (!(flags & EMBEDDED_ARRAY))
			return -ESTALE;
		more[i] = (struct memory_piece){.addr = memory_word(p, 16),
		                                .len = OBJECT};
	}
	rc = memory_read(r->space->memory, more, r->n, &r->batch);
	for (size_t i = 0; i < r->n && !rc; i++)
		if (more[i].len)
			pieces_of(r, i)[PATH] = more[i];
	return rc;
}

/* Puts the text of a string object in the object's place; reads it if it lies
 * elsewhere. */
static int
read_texts(struct reader *r, unsigned which)
{
	CLEANUP_FREE struct memory_piece *more = calloc(r->n, sizeof(*more));
	int rc;

	if (!more)
		return -ENOMEM;
	for (size_t i = 0; i < r->n; i++) {
		struct memory_piece *p = &pieces_of(r, i)[which];
		uint64_t flags = memory_word(p, 0), len = memory_word(p, 16);

		if (r->rows[i].same)
			continue;
		if (p->got < OBJECT || (flags & TYPE) != STRING)
			return -ESTALE;
		if (len > MAX_TEXT)
			len = MAX_TEXT;
		if (flags & LONG_STRING)
			more[i] = (struct memory_piece){
				.addr = memory_word(p, 24),
				.len = (uint32_t)len};
		else if (version_of(r)->text != EMBEDDED)
			more[i] = (struct memory_piece){
				.addr = p->addr + version_of(r)->text,
				.len = (uint32_t)len};
		len = flags >> LENGTH_SHIFT & LENGTH;
		p->p += EMBEDDED;
		p->got = (uint32_t)(len < OBJECT - EMBEDDED
		                            ? len
		                            : OBJECT - EMBEDDED);
	}
	rc = memory_read(r->space->memory, more, r->n, &r->batch);
	for (size_t i = 0; i < r->n && !rc; i++)
		if (more[i].len)
			pieces_of(r, i)[which] = more[i];
	return rc;
}

/* --- lines ---------------------------------------------------------------- */

/* The table of lines is kept as pairs: the first position, and the line. */
struct line {
	uint32_t at, line;
};

/* Returns the number, from 1, of the entry to which a position belongs: how
 * many entries begin at or before it. */
static uint32_t
entry_of(const struct memory_piece *index, uint32_t at)
{
	uint64_t ranks, bits;
	uint32_t block, bit, small;

	if (at < 54)
		return memory_word(index, at / 9 * 8) >> at % 9 * 7 & 127;
	block = 48 + (at - 54) / 512 * 80;
	bit = (at - 54) % 512;
	small = bit / 64;
	ranks = memory_word(index, block + 8);
	bits = memory_word(index, block + 16 + 8 * (size_t)small)
	       << (63 - bit % 64);
	return (uint32_t)memory_word(index, block) +
	       (small ? ranks >> (small - 1) * 9 & 511 : 0) +
	       (uint32_t)__builtin_popcountll(bits);
}

static void
put_lines(const struct reading *row, const struct memory_piece *p, size_t entry,
          struct buf *out)
{
	uint32_t n = (uint32_t)(p[ENTRIES].got / entry), last = 0;

	for (uint32_t at = 0; at < row->head.size && n; at++) {
		uint32_t e = n == 1 ? 1 : entry_of(&p[INDEX], at);
		struct line line = {.at = at};

		if (e == last || !e || e > n)
			continue;
		last = e;
		memcpy(&line.line, p[ENTRIES].p + entry * (e - 1),
		       sizeof(line.line));
		buf_add(out, &line, sizeof(line));
	}
}

uint32_t
ruby_line(const uint8_t *table, size_t n, uint32_t first_line, uint32_t at)
{
	struct line line, found = {0, first_line};

	for (size_t i = 0; i + sizeof(line) <= n; i += sizeof(line)) {
		memcpy(&line, table + i, sizeof(line));
		if (line.at > at)
			break;
		found = line;
	}
	return found.line;
}

/* --- keeping -------------------------------------------------------------- */

static void
put_text(const struct memory_piece *p, struct buf *out)
{
	interp_put_text(p->p, p->got, out);
	buf_putc(out, '\0');
}

static int
keep(struct reader *r, size_t i)
{
	struct reading *row = &r->rows[i];
	const struct memory_piece *p = pieces_of(r, i);
	CLEANUP_BUF struct buf texts =
		BUF_INIT(2 * MAX_TEXT + 2 + MAX_ENTRIES * sizeof(struct line));
	struct interp_function f = {
		.line = r->space->image->language->line,
		.first_line = (uint32_t)row->head.first_line};

	put_text(&p[LABEL], &texts);
	f.file = (uint32_t)texts.len;
	put_text(&p[PATH], &texts);
	f.lines = (uint32_t)texts.len;
	put_lines(row, p, version_of(r)->entry, &texts);
	f.nlines = (uint32_t)texts.len - f.lines;
	return buf_err(&texts)
	               ? -ESTALE
	               : interp_function_keep(
				 r->codes, &texts, f,
				 &interp_code(r->codes, r->unread[i].code)
					  ->function);
}

static int
keep_all(struct reader *r)
{
	int rc = 0;

	for (size_t i = 0; i < r->n && !rc; i++) {
		struct reading *row = &r->rows[i];
		struct interp_code *code =
			interp_code(r->codes, r->unread[i].code);

		if (!row->same)
			rc = keep(r, i);
		if (rc)
			return rc;
		interp_code_keep(code, &row->head, sizeof(row->head),
		                 r->space->now_ns);
	}
	return rc;
}

int
ruby_read(struct interp_codes *c, const struct interp_space *space,
          const struct interp_unread *rows, uint32_t n)
{
	CLEANUP(reader_done)
	struct reader r = {.codes = c, .space = space, .unread = rows, .n = n};
	int rc = space->image->version < RUBY_VERSIONS ? read_sequences(&r)
	                                               : -ESTALE;

	if (!rc)
		rc = read_bodies(&r);
	if (!rc)
		rc = read_parts(&r);
	if (!rc)
		rc = read_paths(&r);
	if (!rc)
		rc = read_texts(&r, LABEL);
	if (!rc)
		rc = read_texts(&r, PATH);
	return rc ? rc : keep_all(&r);
}

/* --- places --------------------------------------------------------------- */

/* A frame's pc is past the instruction that runs, or at the first. */
int
ruby_place(const struct interp_code *code, const struct interp_frame *f,
           uint64_t *out)
{
	struct head head;
	uint64_t at;

	memcpy(&head, code->head, sizeof(head));
	at = (f->instr - head.encoded) / 8;
	if (at > head.size)
		return -ESTALE;
	*out = interp_place(code->function, (uint32_t)(at ? at - 1 : 0));
	return 0;
}
