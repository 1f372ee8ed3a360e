#include "interp_codes.h"

#include "base/hash.h"
#include "base/id.h"
#include "base/pairs.h"
#include "base/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct interp_codes {
	uint64_t key;        /* key of the hashes */
	struct pairs places; /* process, address: index of codes */
	struct interp_code *codes;
	uint32_t codes_cap;
	struct pairs contents; /* hash of contents: index of functions */
	struct interp_function *functions;
	uint32_t functions_cap;
	struct buf bytes;
};

struct interp_codes *
interp_codes_new(void)
{
	struct interp_codes *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	random_bytes(&c->key, sizeof(c->key));
	c->key |= 1;
	c->places.max = c->contents.max = INTERP_MAX_CODES;
	c->bytes = BUF_INIT(INTERP_MAX_BYTES);
	return c;
}

void
interp_codes_free(struct interp_codes *c)
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

/* --- code objects --------------------------------------------------------- */

int
interp_code_find(struct interp_codes *c, int32_t pid, uint64_t address,
                 uint32_t *out)
{
	int rc = pairs_intern(&c->places, (uint32_t)pid, address, out);

	return rc ? rc : ROWS_REACH(c->codes, c->codes_cap, *out);
}

struct interp_code *
interp_code(struct interp_codes *c, uint32_t i)
{
	return &c->codes[i];
}

bool
interp_code_is_same(const struct interp_code *c, const void *head, size_t n)
{
	return c->checked_ns && !memcmp(c->head, head, n);
}

void
interp_code_keep(struct interp_code *c, const void *head, size_t n,
                 uint64_t now_ns)
{
	memcpy(c->head, head, n);
	c->checked_ns = now_ns;
}

/* The code objects of a stack that have to be read. */
struct unread {
	struct interp_unread rows[INTERP_MAX_FRAMES];
	uint32_t n;
};

bool
interp_code_is_old(const struct interp_code *c, uint64_t now_ns)
{
	return !c->checked_ns || now_ns >= c->checked_ns + INTERP_CODE_AGE_NS;
}

/* Finds or adds a code object; notes it if it has to be read. */
static int
find_code(struct interp_codes *c, int32_t pid, uint64_t now_ns,
          const struct interp_frame *f, const struct interp_frame *caller,
          struct unread *unread, uint32_t *out)
{
	int rc = interp_code_find(c, pid, f->code, out);

	if (rc || !interp_code_is_old(&c->codes[*out], now_ns))
		return rc;
	for (uint32_t i = 0; i < unread->n; i++)
		if (unread->rows[i].code == *out)
			return 0;
	unread->rows[unread->n++] =
		(struct interp_unread){*out, f->code, f->instr, caller};
	return 0;
}

/* --- functions ------------------------------------------------------------ */

int
interp_function_keep(struct interp_codes *c, const struct buf *texts,
                     struct interp_function f, uint32_t *out)
{
	uint32_t before = c->contents.n;
	int rc = pairs_intern(&c->contents, f.first_line,
	                      hash_keyed(c->key, texts->p, texts->len), out);

	if (!rc)
		rc = ROWS_REACH(c->functions, c->functions_cap, *out);
	if (rc || c->contents.n == before)
		return rc;
	f.name += (uint32_t)c->bytes.len;
	f.file += (uint32_t)c->bytes.len;
	f.lines += (uint32_t)c->bytes.len;
	buf_add(&c->bytes, texts->p, texts->len);
	if (buf_err(&c->bytes)) /* nameless from now on */
		f = (struct interp_function){0};
	c->functions[*out] = f;
	return 0;
}

/* Names a function that was gone before it was read. */
static int
keep_gone(struct interp_codes *c, struct interp_code *code, interp_line *line)
{
	static const char name[] = "[gone]";
	CLEANUP_BUF struct buf texts = BUF_INIT(sizeof(name) + 1);
	const struct interp_function f = {
		.line = line, .file = sizeof(name), .lines = sizeof(name) + 1};

	buf_add(&texts, name, sizeof(name));
	buf_putc(&texts, '\0');
	return interp_function_keep(c, &texts, f, &code->function);
}

static int
gone_place(struct interp_codes *c, const struct language *language,
           uint64_t *out)
{
	struct interp_code gone = {0};
	int rc = keep_gone(c, &gone, language->line);

	if (!rc)
		*out = interp_place(gone.function, 0);
	return rc;
}

int
interp_places(struct interp_codes *c, int32_t pid,
              const struct interp_space *space, const struct interp_stack *s,
              uint64_t *out)
{
	const struct language *language = space->image->language;
	struct unread unread = {.n = 0};
	uint32_t codes[INTERP_MAX_FRAMES], gone = 0;
	int rc = 0;

	for (uint32_t i = 0; i < s->n && !rc; i++)
		if (!(s->frames[i].mark & INTERP_NO_CODE))
			rc = find_code(c, pid, space->now_ns, &s->frames[i],
			               i + 1 < s->n ? &s->frames[i + 1] : NULL,
			               &unread, &codes[i]);
	if (!rc && unread.n)
		rc = language->read(c, space, unread.rows, unread.n);
	for (uint32_t i = 0; i < s->n && !rc; i++) {
		out[i] = INTERP_NO_PLACE;
		if (!(s->frames[i].mark & INTERP_NO_CODE))
			rc = language->place(&c->codes[codes[i]], &s->frames[i],
			                     &out[i]);
		if (rc == -ESTALE && ++gone <= s->n / 2)
			rc = gone_place(c, language, &out[i]);
	}
	return rc;
}

int
interp_code_end(struct interp_codes *c, uint32_t i,
                const struct interp_space *space, const void *head, size_t n,
                int rc)
{
	struct interp_code *code = &c->codes[i];

	if (!rc)
		interp_code_keep(code, head, n, space->now_ns);
	if (rc != -ESTALE)
		return rc;
	return code->checked_ns
	               ? 0
	               : keep_gone(c, code, space->image->language->line);
}

uint32_t
interp_line_is_position(const uint8_t *table, size_t n, uint32_t first_line,
                        uint32_t at)
{
	(void)table;
	(void)n;
	return at ? at : first_line;
}

void
interp_put_text(const void *text, size_t n, struct buf *out)
{
	const uint8_t *p = text;

	for (size_t i = 0; i < n; i++)
		buf_putc(out, p[i] < ' ' ? '?' : (char)p[i]);
}

bool
interp_name(const struct interp_codes *c, uint64_t place,
            struct interp_name *out)
{
	uint32_t i = (uint32_t)(place >> 32);
	const struct interp_function *f;

	if (i >= c->contents.n || i >= c->functions_cap)
		return false;
	f = &c->functions[i];
	if (f->lines + (uint64_t)f->nlines > c->bytes.len || !f->line)
		return false;
	*out = (struct interp_name){
		.name = c->bytes.p + f->name,
		.file = c->bytes.p + f->file,
		.start_line = f->first_line,
		.line = f->line((const uint8_t *)c->bytes.p + f->lines,
	                        f->nlines, f->first_line, (uint32_t)place),
	};
	return *out->name;
}
