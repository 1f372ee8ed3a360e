#include "profile/listing.h"

#include "base/rows.h"
#include "profile/gzip.h"
#include "wire.h"

#include <stdlib.h>

/* Field numbers: see include/profile/listing.h. */
enum {
	LISTING_FIELD_VERSION = 1,
	LISTING_FIELD_STRING,
	LISTING_FIELD_FILE,
	LISTING_FIELD_LINE,
	LISTING_FIELD_FUNCTION,
	LISTING_FIELD_CODE,
};

enum { MOST_NUMBERS = 6 }; /* numbers in a row */

struct listing *
listing_new(void)
{
	CLEANUP_LISTING struct listing *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->strings = strings_new();
	return l->strings ? TAKE(l) : NULL;
}

void
listing_free(struct listing *l)
{
	if (!l)
		return;
	strings_free(l->strings);
	free(l->files);
	free(l->lines);
	free(l->functions);
	free(l->code);
	free(l);
}

/* --- rows ----------------------------------------------------------------- */

int
listing_file(struct listing *l, const struct listing_file *row)
{
	int rc = ROWS_ONE_MORE(l, files, LISTING_MAX_FILES);

	if (rc)
		return rc;
	l->files[l->nfiles] = *row;
	l->files[l->nfiles].line0 = l->nlines;
	l->files[l->nfiles++].nlines = 0;
	return 0;
}

int
listing_line(struct listing *l, const struct listing_line *row)
{
	int rc = ROWS_ONE_MORE(l, lines, LISTING_MAX_LINES);

	if (rc)
		return rc;
	l->lines[l->nlines++] = *row;
	l->files[l->nfiles - 1].nlines++;
	return 0;
}

int
listing_function(struct listing *l, const struct listing_function *row)
{
	int rc = ROWS_ONE_MORE(l, functions, LISTING_MAX_FUNCTIONS);

	if (rc)
		return rc;
	l->functions[l->nfunctions] = *row;
	l->functions[l->nfunctions].code0 = l->ncode;
	l->functions[l->nfunctions++].ncode = 0;
	return 0;
}

int
listing_code(struct listing *l, const struct listing_code *row)
{
	int rc = ROWS_ONE_MORE(l, code, LISTING_MAX_CODE);

	if (rc)
		return rc;
	l->code[l->ncode++] = *row;
	l->functions[l->nfunctions - 1].ncode++;
	return 0;
}

/* --- writing -------------------------------------------------------------- */

static void
put_row(struct buf *out, uint32_t field, const uint64_t *numbers, uint32_t n)
{
	size_t place = wire_open(out, field);

	for (uint32_t i = 0; i < n; i++)
		wire_put_number(out, i + 1, numbers[i]);
	wire_close(out, place);
}

#define PUT_ROW(out, field, ...)                             \
	put_row(out, field, (const uint64_t[]){__VA_ARGS__}, \
	        sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void
put_file(const struct listing *l, const struct listing_file *f, struct buf *out)
{
	PUT_ROW(out, LISTING_FIELD_FILE, f->path, f->state, f->build_id);
	for (uint32_t i = 0; i < f->nlines; i++) {
		const struct listing_line *x = &l->lines[f->line0 + i];

		PUT_ROW(out, LISTING_FIELD_LINE, x->number, x->text);
	}
}

static void
put_function(const struct listing *l, const struct listing_function *f,
             struct buf *out)
{
	PUT_ROW(out, LISTING_FIELD_FUNCTION, f->name, f->module, f->build_id,
	        f->start);
	for (uint32_t i = 0; i < f->ncode; i++) {
		const struct listing_code *x = &l->code[f->code0 + i];

		PUT_ROW(out, LISTING_FIELD_CODE, x->address, x->text,
		        x->function, x->file, x->line, x->size);
	}
}

int
listing_encode(const struct listing *l, struct buf *out)
{
	CLEANUP_BUF struct buf raw = BUF_INIT(LISTING_MAX_BYTES);

	wire_put_number(&raw, LISTING_FIELD_VERSION, LISTING_VERSION);
	for (uint32_t i = 0; i < strings_count(l->strings); i++) {
		size_t n;
		const char *text = strings_get(l->strings, i, &n);

		wire_put_bytes(&raw, LISTING_FIELD_STRING, text, n);
	}
	for (uint32_t i = 0; i < l->nfiles; i++)
		put_file(l, &l->files[i], &raw);
	for (uint32_t i = 0; i < l->nfunctions; i++)
		put_function(l, &l->functions[i], &raw);
	if (buf_err(&raw))
		return out->err = buf_err(&raw);
	return gzip_deflate(raw.p, raw.len, out);
}

/* --- reading -------------------------------------------------------------- */

struct decode {
	struct listing *l;
	uint64_t version;
	uint32_t nstrings;
};

/* Reads the numbers of a row; those in the mask are ids of strings. */
static int
read_row(const struct decode *d, struct wire w, uint32_t texts,
         uint64_t out[static MOST_NUMBERS + 1])
{
	struct wire_field f;
	int rc;

	memset(out, 0, (MOST_NUMBERS + 1) * sizeof(*out));
	while ((rc = wire_next(&w, &f)) > 0) {
		uint32_t number = f.key >> 3;

		if (number > MOST_NUMBERS || (f.key & 7) != WIRE_VARINT)
			continue;
		if (texts >> number & 1 && f.value >= d->nstrings)
			return -EBADMSG;
		out[number] = f.value;
	}
	return rc;
}

#define TEXT(number) (1u << (number))

static int
take_string(struct decode *d, struct wire w)
{
	uint32_t id;
	int rc = strings_add_stored(d->l->strings, (const char *)w.p,
	                            (size_t)(w.end - w.p), &id);

	if (!rc && id != d->nstrings)
		rc = -EBADMSG;
	d->nstrings++;
	return rc;
}

static int
take_file(struct decode *d, struct wire w)
{
	uint64_t n[MOST_NUMBERS + 1];
	int rc = read_row(d, w, TEXT(1) | TEXT(3), n);

	if (!rc && n[2] >= LISTING_STATES)
		rc = -EBADMSG;
	return rc ? rc
	          : listing_file(d->l, &(struct listing_file){
					       .path = (uint32_t)n[1],
					       .build_id = (uint32_t)n[3],
					       .state = (uint32_t)n[2]});
}

static int
take_line(struct decode *d, struct wire w)
{
	const struct listing *l = d->l;
	const struct listing_file *f = l->nfiles ? &l->files[l->nfiles - 1]
	                                         : NULL;
	uint64_t n[MOST_NUMBERS + 1];
	int rc = read_row(d, w, TEXT(2), n);

	if (rc)
		return rc;
	if (!f || n[1] > INT32_MAX ||
	    n[1] <= (f->nlines ? l->lines[l->nlines - 1].number : 0))
		return -EBADMSG;
	return listing_line(
		d->l, &(struct listing_line){(uint32_t)n[1], (uint32_t)n[2]});
}

static int
take_function(struct decode *d, struct wire w)
{
	uint64_t n[MOST_NUMBERS + 1];
	int rc = read_row(d, w, TEXT(1) | TEXT(2) | TEXT(3), n);

	return rc ? rc
	          : listing_function(d->l, &(struct listing_function){
						   .name = (uint32_t)n[1],
						   .module = (uint32_t)n[2],
						   .build_id = (uint32_t)n[3],
						   .start = n[4]});
}

static int
take_code(struct decode *d, struct wire w)
{
	const struct listing *l = d->l;
	const struct listing_function *f =
		l->nfunctions ? &l->functions[l->nfunctions - 1] : NULL;
	uint64_t n[MOST_NUMBERS + 1];
	int rc = read_row(d, w, TEXT(2) | TEXT(3) | TEXT(4), n);

	if (rc)
		return rc;
	if (!f || n[5] > INT32_MAX || n[6] > UINT8_MAX ||
	    n[1] > UINT64_MAX - n[6] ||
	    (f->ncode && n[1] <= l->code[l->ncode - 1].address))
		return -EBADMSG;
	return listing_code(d->l,
	                    &(struct listing_code){.address = n[1],
	                                           .text = (uint32_t)n[2],
	                                           .function = (uint32_t)n[3],
	                                           .file = (uint32_t)n[4],
	                                           .line = (uint32_t)n[5],
	                                           .size = (uint32_t)n[6]});
}

static int
take_field(struct decode *d, const struct wire_field *f)
{
	switch (f->key) {
	case WIRE_KEY(LISTING_FIELD_VERSION, WIRE_VARINT):
		d->version = f->value;
		return 0;
	case WIRE_KEY(LISTING_FIELD_STRING, WIRE_BYTES):
		return take_string(d, f->bytes);
	case WIRE_KEY(LISTING_FIELD_FILE, WIRE_BYTES):
		return take_file(d, f->bytes);
	case WIRE_KEY(LISTING_FIELD_LINE, WIRE_BYTES):
		return take_line(d, f->bytes);
	case WIRE_KEY(LISTING_FIELD_FUNCTION, WIRE_BYTES):
		return take_function(d, f->bytes);
	case WIRE_KEY(LISTING_FIELD_CODE, WIRE_BYTES):
		return take_code(d, f->bytes);
	}
	return 0;
}

static int
read_file(struct decode *d, struct wire w)
{
	struct wire_field f;
	int rc;

	while ((rc = wire_next(&w, &f)) > 0) {
		rc = take_field(d, &f);
		if (rc)
			return rc;
	}
	return !rc && d->version != LISTING_VERSION ? -EPROTONOSUPPORT : rc;
}

int
listing_decode(const void *p, size_t n, struct listing **out)
{
	CLEANUP_BUF struct buf raw = BUF_INIT(LISTING_MAX_BYTES);
	CLEANUP_LISTING struct listing *l = listing_new();
	struct decode d = {.l = l};
	int rc = gzip_is(p, n) ? gzip_inflate(p, n, &raw) : -EBADMSG;

	if (!l)
		return -ENOMEM;
	if (!rc)
		rc = read_file(&d, (struct wire){(uint8_t *)raw.p,
		                                 (uint8_t *)raw.p + raw.len});
	if (!rc)
		*out = TAKE(l);
	return rc;
}
