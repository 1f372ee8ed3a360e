#include "import_build.h"

#include "profile/types.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define NS_PER_S 1e9

static const struct {
	const char *unit, *ours;
	double scale;
} units[] = {
	{"nanoseconds", "nanoseconds", 1},
	{"microseconds", "nanoseconds", 1e3},
	{"milliseconds", "nanoseconds", 1e6},
	{"seconds", "nanoseconds", 1e9},
	{"bytes", "bytes", 1},
	{"count", "count", 1},
};

int
import_bad(struct import *im, const char *why)
{
	if (!im->why->len)
		buf_puts(im->why, why);
	return -EBADMSG;
}

int
import_big(struct import *im, const char *why)
{
	if (!im->why->len)
		buf_puts(im->why, why);
	return -E2BIG;
}

int
import_init(struct import *im, const struct import_ask *ask, struct buf *why)
{
	*im = (struct import){.ask = ask, .why = why, .p = profile_new()};
	return im->p ? 0 : -ENOMEM;
}

void
import_done(struct import *im)
{
	profile_free(im->p);
}

static const struct type *
row_of(const char *type)
{
	const struct type *t = type_find(type);

	return t ? t : &profile_types[profile_ntypes - 1];
}

/* Sets the conversion of plain numbers. In a CPU profile they are samples,
 * converted to time by the rate. */
static int
plain(struct import *im, const struct type *row)
{
	int r;

	im->counts = im->plain = row == &profile_types[TYPE_cpu];
	im->scale = 1;
	if (!im->counts)
		return profile_type(im->p, row->sample, row->unit);
	r = profile_type(im->p, row->count, "count");
	im->scale = im->ask->rate > 0 ? NS_PER_S / im->ask->rate : 0;
	if (r || !im->scale)
		return r;
	return profile_type(im->p, row->sample, row->unit);
}

int
import_unit(struct import *im, const char *unit)
{
	const struct type *row = row_of(im->ask->type);
	int r = 0;

	if (!*unit)
		return plain(im, row);
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (strcmp(units[i].unit, unit) ||
		    strcmp(units[i].ours, row->unit))
			continue;
		im->scale = units[i].scale;
		im->counts = *row->count;
		if (im->counts)
			r = profile_type(im->p, row->count, "count");
		return r ? r : profile_type(im->p, row->sample, row->unit);
	}
	return import_bad(im, "its values have a unit that this profile type "
	                      "does not have");
}

int
import_function(struct import *im, const struct import_frame *f, uint32_t *out)
{
	struct function row = {0};
	int r = profile_string(im->p, f->name, f->nname, &row.name);

	if (!r)
		r = profile_string(im->p, f->file, f->nfile, &row.file);
	row.system_name = row.name;
	return r ? r : profile_function(im->p, &row, out);
}

static int
add_mapping(struct import *im, const struct import_frame *f, uint32_t *out)
{
	struct mapping row = {.limit = UINT64_MAX, .has_functions = true};
	int r = profile_string(im->p, f->module, f->nmodule, &row.file);

	return r ? r : profile_mapping(im->p, &row, out);
}

int
import_location(struct import *im, const struct import_frame *f, uint32_t *out)
{
	struct line line = {.line = f->line};
	uint32_t mapping = PROFILE_NONE;
	int r = f->nmodule ? add_mapping(im, f, &mapping) : 0;

	if (!r && f->nname)
		r = import_function(im, f, &line.function);
	if (!r)
		r = profile_location(im->p, mapping, f->address, &line,
		                     f->nname != 0, out);
	if (!r && strings_count(im->p->strings) > im->ask->limits.strings)
		return import_big(im, "it has too many names");
	return r;
}

int
import_push(struct import *im, uint32_t location)
{
	if (im->depth == PROFILE_MAX_FRAMES)
		return import_big(im, "a stack has too many frames");
	im->stack[im->depth++] = location;
	return 0;
}

/* Returns the memory of the rows that grow with the number of samples. */
static size_t
memory(const struct profile *p)
{
	return p->nstack * sizeof(*p->stack) +
	       (size_t)p->nsamples * (sizeof(*p->samples) + 16 +
	                              p->ntypes * sizeof(*p->values)) +
	       p->nlabels * sizeof(*p->labels) +
	       (size_t)strings_count(p->strings) * 64 +
	       (size_t)p->nlocations * 64;
}

static int
check(struct import *im)
{
	if (im->p->nsamples > im->ask->limits.samples)
		return import_big(im, "it has too many stacks");
	if (im->frames > IMPORT_MAX_FRAMES)
		return import_big(im, "it has too many frames");
	if (memory(im->p) > im->ask->limits.memory)
		return import_big(im, "it would take too much memory");
	return 0;
}

int
import_sample(struct import *im, const struct label *labels, uint32_t nlabels,
              int64_t count, double value)
{
	int64_t values[PROFILE_MAX_TYPES] = {count};
	double scaled = value * im->scale;

	if (!(value >= 0) || count < 0)
		return import_bad(im, "a sample has a negative value");
	if (scaled >= 0x1p62 || value >= 0x1p62)
		return import_bad(im, "a value is out of range");
	if (im->plain)
		values[0] = llround(value);
	values[im->counts ? 1 : 0] = llround(scaled);
	return import_values(im, labels, nlabels, values);
}

int
import_values(struct import *im, const struct label *labels, uint32_t nlabels,
              const int64_t *values)
{
	int r;

	im->frames += im->depth;
	r = profile_sample(im->p, im->stack, im->depth, labels, nlabels,
	                   values);
	im->depth = 0;
	if (r == -EOVERFLOW)
		return import_bad(im, "a sum is out of range");
	return r ? r : check(im);
}

int
import_end(struct import *im, struct profile **out)
{
	if (!im->p->nsamples)
		return import_bad(im, "it has no samples");
	*out = TAKE(im->p);
	return 0;
}

uint32_t
import_type_of(const struct profile *p, const char *type)
{
	const struct type *row = row_of(type);
	uint32_t at = profile_type_index(p, row->sample);

	for (uint32_t i = p->ntypes; at == PROFILE_NONE && i-- > 0;)
		if (!strcmp(strings_get(p->strings, p->types[i].unit, NULL),
		            row->unit))
			at = i;
	if (at == PROFILE_NONE && row->count)
		at = profile_type_index(p, row->count);
	return at;
}

bool
import_line(const char **p, const char *end, const char **line, size_t *n)
{
	const char *at = *p, *stop;

	if (at == end)
		return false;
	stop = memchr(at, '\n', (size_t)(end - at));
	if (!stop)
		stop = end;
	*p = stop == end ? end : stop + 1;
	*line = at;
	*n = (size_t)(stop - at);
	if (*n && at[*n - 1] == '\r')
		--*n;
	return true;
}
