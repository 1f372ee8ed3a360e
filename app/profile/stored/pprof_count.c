#include "pprof_count.h"

#include "idmap.h"
#include "pprof_fields.h"
#include "profile/profile.h"

#include <errno.h>

/* One interned string beside its text: entry and table slots, each array up
 * to twice too long, and its place in the file's table. */
#define STRING_OVERHEAD (2 * 16 + 4 * 8 + sizeof(uint32_t))

static int
too_many(const char **why, const char *what)
{
	*why = what;
	return -E2BIG;
}

static int
count_sample(struct wire w, struct pprof_count *c, const char **why)
{
	size_t stack = 0, labels = 0;
	struct wire_field f;
	int r;

	while ((r = wire_next(&w, &f)) > 0) {
		switch (f.key) {
		case WIRE_KEY(SAMPLE_LOCATION_ID, WIRE_BYTES):
			stack += wire_count(f.bytes);
			break;
		case WIRE_KEY(SAMPLE_LOCATION_ID, WIRE_VARINT):
			stack++;
			break;
		case WIRE_KEY(SAMPLE_VALUE, WIRE_BYTES):
			c->values += wire_count(f.bytes);
			break;
		case WIRE_KEY(SAMPLE_VALUE, WIRE_VARINT):
			c->values++;
			break;
		case WIRE_KEY(SAMPLE_LABEL, WIRE_BYTES):
			labels++;
			break;
		}
	}
	if (stack > PROFILE_MAX_FRAMES)
		return too_many(why, "a stack has too many frames");
	if (labels > PROFILE_MAX_LABELS)
		return too_many(why, "a sample has too many labels");
	c->samples++;
	c->stack += stack;
	c->labels += labels;
	return r;
}

static int
count_location(struct wire w, struct pprof_count *c, const char **why)
{
	struct wire_field f;
	size_t lines = 0;
	int r;

	while ((r = wire_next(&w, &f)) > 0)
		lines += f.key == WIRE_KEY(LOCATION_LINE, WIRE_BYTES);
	if (lines > PROFILE_MAX_LINES)
		return too_many(why, "a location has too many lines");
	c->locations++;
	c->lines += lines;
	return r;
}

static int
count_field(const struct wire_field *f, struct pprof_count *c, const char **why)
{
	switch (f->key) {
	case WIRE_KEY(PROFILE_SAMPLE_TYPE, WIRE_BYTES):
		c->types++;
		return 0;
	case WIRE_KEY(PROFILE_SAMPLE, WIRE_BYTES):
		return count_sample(f->bytes, c, why);
	case WIRE_KEY(PROFILE_MAPPING, WIRE_BYTES):
		c->mappings++;
		return 0;
	case WIRE_KEY(PROFILE_LOCATION, WIRE_BYTES):
		return count_location(f->bytes, c, why);
	case WIRE_KEY(PROFILE_FUNCTION, WIRE_BYTES):
		c->functions++;
		return 0;
	case WIRE_KEY(PROFILE_STRING_TABLE, WIRE_BYTES):
		c->strings++;
		c->string_bytes += (size_t)(f->bytes.end - f->bytes.p);
		return 0;
	case WIRE_KEY(PROFILE_COMMENT, WIRE_BYTES):
		c->comments += wire_count(f->bytes);
		return 0;
	case WIRE_KEY(PROFILE_COMMENT, WIRE_VARINT):
		c->comments++;
		return 0;
	}
	return 0;
}

static int
check(const struct pprof_count *c, const char **why)
{
	size_t most = c->stack > c->values ? c->stack : c->values;

	if (c->types > PROFILE_MAX_TYPES)
		return too_many(why, "too many sample types");
	if (c->strings > STRINGS_MAX || c->samples > PROFILE_MAX_ROWS ||
	    c->locations > PROFILE_MAX_ROWS || c->lines > PROFILE_MAX_ROWS ||
	    c->labels > PROFILE_MAX_ROWS || c->comments > PROFILE_MAX_ROWS ||
	    c->functions > PROFILE_MAX_ROWS || c->mappings > PROFILE_MAX_ROWS ||
	    most > PROFILE_MAX_ROWS)
		return too_many(why, "too many rows");
	if (c->values == c->samples * c->types)
		return 0;
	*why = "samples do not have one value for each sample type";
	return -EBADMSG;
}

static void
note_place(struct pprof_count *c, uint32_t number, const uint8_t *at,
           const uint8_t *end)
{
	struct wire *w = &c->where[number < PPROF_FIELDS ? number : 0];

	if (!w->p)
		w->p = at;
	w->end = end;
}

int
pprof_count(struct wire file, struct pprof_count *out, const char **why)
{
	struct pprof_count c = {0};
	const uint8_t *at = file.p;
	struct wire_field f;
	int r;

	for (; (r = wire_next(&file, &f)) > 0; at = file.p) {
		note_place(&c, f.key >> 3, at, file.p);
		r = count_field(&f, &c, why);
		if (r)
			return r;
	}
	if (!r)
		r = check(&c, why);
	if (!r)
		*out = c;
	return r;
}

size_t
pprof_memory(const struct pprof_count *c)
{
	return c->string_bytes + c->strings * STRING_OVERHEAD +
	       c->samples * sizeof(struct sample) +
	       c->stack * sizeof(uint32_t) + c->values * sizeof(int64_t) +
	       c->labels * sizeof(struct label) +
	       c->mappings * (sizeof(struct mapping) + sizeof(struct id)) +
	       c->functions * (sizeof(struct function) + sizeof(struct id)) +
	       c->locations * (sizeof(struct location) + sizeof(struct id)) +
	       c->lines * sizeof(struct line) + c->comments * sizeof(uint32_t);
}
