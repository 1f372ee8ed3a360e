#include "interp_codes.h"

#include "base/hash.h"
#include "base/id.h"
#include "base/pairs.h"
#include "base/rows.h"

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

int
interp_code_at(struct interp_codes *c, int32_t pid, uint64_t address,
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
interp_code_is_old(const struct interp_code *c, uint64_t now_ns)
{
	return !c->checked_ns || now_ns - c->checked_ns >= INTERP_CODE_AGE_NS;
}

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

bool
interp_name(const struct interp_codes *c, uint64_t place,
            struct interp_name *out)
{
	uint32_t i = (uint32_t)(place >> 32);
	const struct interp_function *f;

	if (i >= c->contents.n || i >= c->functions_cap)
		return false;
	f = &c->functions[i];
	if (f->lines + (uint64_t)f->nlines > c->bytes.len || !f->language)
		return false;
	*out = (struct interp_name){
		.name = c->bytes.p + f->name,
		.file = c->bytes.p + f->file,
		.start_line = f->first_line,
		.line = f->language->line(
			(const uint8_t *)c->bytes.p + f->lines, f->nlines,
			f->first_line, (uint32_t)place),
	};
	return *out->name;
}
