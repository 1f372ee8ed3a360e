#include "pprof_rows.h"

#include "pprof_fields.h"
#include "pprof_frames.h"

static int
pprof_bad(struct decode *d, const char *why)
{
	d->why = why;
	return -EBADMSG;
}

int
pprof_strings(struct decode *d)
{
	int r = strings_add_all(d->p->strings, d->waiting, d->nwaiting,
	                        d->strings + d->nstrings);

	d->nstrings += d->nwaiting;
	d->nwaiting = 0;
	return r;
}

int
pprof_string(struct decode *d, struct wire w)
{
	size_t n = (size_t)(w.end - w.p);

	if (d->nstrings + d->nwaiting == 0 && n > 0)
		return pprof_bad(d,
		                 "the string table does not start with \"\"");
	d->waiting[d->nwaiting++] = (struct string){(const char *)w.p, n};
	return d->nwaiting < STRINGS_AT_ONCE ? 0 : pprof_strings(d);
}

static int
pprof_text(struct decode *d, const struct wire_field *f, uint32_t *out)
{
	if (f->value >= d->nstrings)
		return pprof_bad(d, "a string index is out of range");
	*out = d->strings[f->value];
	return 0;
}

static int
value_type(struct decode *d, struct wire w, struct value_type *out)
{
	struct wire_field f;
	int r;

	*out = (struct value_type){0};
	while ((r = wire_next(&w, &f)) > 0) {
		if (f.key == WIRE_KEY(VALUE_TYPE_TYPE, WIRE_VARINT))
			r = pprof_text(d, &f, &out->type);
		else if (f.key == WIRE_KEY(VALUE_TYPE_UNIT, WIRE_VARINT))
			r = pprof_text(d, &f, &out->unit);
		if (r < 0)
			return r;
	}
	return r;
}

int
pprof_type(struct decode *d, struct wire w)
{
	return value_type(d, w, &d->p->types[d->p->ntypes++]);
}

int
pprof_period_type(struct decode *d, struct wire w)
{
	return value_type(d, w, &d->p->period_type);
}

static int
add_comment(struct decode *d, const struct wire_field *f)
{
	struct profile *p = d->p;
	uint32_t text;
	int rc = pprof_text(d, f, &text);

	if (rc)
		return rc;
	if (profile_is_given_note(profile_text(p, text)))
		p->given_note = text;
	else
		p->comments[p->ncomments++] = text;
	return 0;
}

int
pprof_comments(struct decode *d, struct wire w)
{
	struct wire_field f;
	int r = 0;

	while (!r && w.p < w.end) {
		r = wire_varint(&w, &f.value);
		if (!r)
			r = add_comment(d, &f);
	}
	return r;
}

int
pprof_scalar(struct decode *d, const struct wire_field *f)
{
	struct profile *p = d->p;

	switch (f->key) {
	case WIRE_KEY(PROFILE_DROP_FRAMES, WIRE_VARINT):
		return pprof_text(d, f, &p->drop_frames);
	case WIRE_KEY(PROFILE_KEEP_FRAMES, WIRE_VARINT):
		return pprof_text(d, f, &p->keep_frames);
	case WIRE_KEY(PROFILE_TIME_NANOS, WIRE_VARINT):
		p->time_ns = (int64_t)f->value;
		return 0;
	case WIRE_KEY(PROFILE_DURATION_NANOS, WIRE_VARINT):
		p->duration_ns = (int64_t)f->value;
		return 0;
	case WIRE_KEY(PROFILE_PERIOD, WIRE_VARINT):
		p->period = (int64_t)f->value;
		return 0;
	case WIRE_KEY(PROFILE_COMMENT, WIRE_VARINT):
		return add_comment(d, f);
	case WIRE_KEY(PROFILE_DEFAULT_SAMPLE_TYPE, WIRE_VARINT):
		return pprof_text(d, f, &p->default_type);
	case WIRE_KEY(PROFILE_DOC_URL, WIRE_VARINT):
		return pprof_text(d, f, &p->doc_url);
	}
	return 0;
}

static int
mapping_field(struct decode *d, const struct wire_field *f, struct mapping *m)
{
	switch (f->key) {
	case WIRE_KEY(MAPPING_MEMORY_START, WIRE_VARINT):
		m->start = f->value;
		return 0;
	case WIRE_KEY(MAPPING_MEMORY_LIMIT, WIRE_VARINT):
		m->limit = f->value;
		return 0;
	case WIRE_KEY(MAPPING_FILE_OFFSET, WIRE_VARINT):
		m->offset = f->value;
		return 0;
	case WIRE_KEY(MAPPING_FILENAME, WIRE_VARINT):
		return pprof_text(d, f, &m->file);
	case WIRE_KEY(MAPPING_BUILD_ID, WIRE_VARINT):
		return pprof_text(d, f, &m->build_id);
	case WIRE_KEY(MAPPING_HAS_FUNCTIONS, WIRE_VARINT):
		m->has_functions = f->value;
		return 0;
	case WIRE_KEY(MAPPING_HAS_FILENAMES, WIRE_VARINT):
		m->has_files = f->value;
		return 0;
	case WIRE_KEY(MAPPING_HAS_LINE_NUMBERS, WIRE_VARINT):
		m->has_lines = f->value;
		return 0;
	case WIRE_KEY(MAPPING_HAS_INLINE_FRAMES, WIRE_VARINT):
		m->has_inlines = f->value;
		return 0;
	}
	return 0;
}

int
pprof_mapping(struct decode *d, struct wire w)
{
	struct mapping *m = &d->p->mappings[d->p->nmappings++];
	struct wire_field f;
	uint64_t id = 0;
	int r;

	*m = (struct mapping){0};
	while ((r = wire_next(&w, &f)) > 0) {
		if (f.key == WIRE_KEY(MAPPING_ID, WIRE_VARINT))
			id = f.value;
		r = mapping_field(d, &f, m);
		if (r)
			return r;
	}
	return r ? r : idmap_add(&d->mappings, id);
}

static int
function_field(struct decode *d, const struct wire_field *f,
               struct function *fn)
{
	switch (f->key) {
	case WIRE_KEY(FUNCTION_NAME, WIRE_VARINT):
		return pprof_text(d, f, &fn->name);
	case WIRE_KEY(FUNCTION_SYSTEM_NAME, WIRE_VARINT):
		return pprof_text(d, f, &fn->system_name);
	case WIRE_KEY(FUNCTION_FILENAME, WIRE_VARINT):
		return pprof_text(d, f, &fn->file);
	case WIRE_KEY(FUNCTION_START_LINE, WIRE_VARINT):
		fn->start_line = (int64_t)f->value;
		return 0;
	}
	return 0;
}

int
pprof_function(struct decode *d, struct wire w)
{
	struct function *fn = &d->p->functions[d->p->nfunctions++];
	struct wire_field f;
	uint64_t id = 0;
	int r;

	*fn = (struct function){0};
	while ((r = wire_next(&w, &f)) > 0) {
		if (f.key == WIRE_KEY(FUNCTION_ID, WIRE_VARINT))
			id = f.value;
		r = function_field(d, &f, fn);
		if (r)
			return r;
	}
	return r ? r : idmap_add(&d->functions, id);
}

/* Adds a line to a location. A line without a function is left out, as
 * `go tool pprof` does. */
static int
read_line(struct decode *d, struct wire w, struct location *l)
{
	struct line *line = &d->p->lines[d->p->nlines];
	struct wire_field f;
	uint64_t id = 0;
	int r;

	*line = (struct line){0};
	while ((r = wire_next(&w, &f)) > 0) {
		if (f.key == WIRE_KEY(LINE_FUNCTION_ID, WIRE_VARINT))
			id = f.value;
		else if (f.key == WIRE_KEY(LINE_LINE, WIRE_VARINT))
			line->line = (int64_t)f.value;
	}
	if (r || !id)
		return r;
	line->function = idmap_find(&d->functions, id);
	if (line->function == IDMAP_NONE)
		return pprof_bad(d, "a line refers to no function");
	d->p->nlines++;
	l->nlines++;
	return 0;
}

static int
location_field(struct decode *d, const struct wire_field *f, struct location *l)
{
	switch (f->key) {
	case WIRE_KEY(LOCATION_MAPPING_ID, WIRE_VARINT):
		l->mapping = idmap_find(&d->mappings, f->value);
		return 0;
	case WIRE_KEY(LOCATION_ADDRESS, WIRE_VARINT):
		l->address = f->value;
		return 0;
	case WIRE_KEY(LOCATION_LINE, WIRE_BYTES):
		return read_line(d, f->bytes, l);
	case WIRE_KEY(LOCATION_IS_FOLDED, WIRE_VARINT):
		l->folded = f->value;
		return 0;
	}
	return 0;
}

int
pprof_location(struct decode *d, struct wire w)
{
	struct location *l = &d->p->locations[d->p->nlocations++];
	struct wire_field f;
	uint64_t id = 0;
	int r;

	*l = (struct location){.mapping = PROFILE_NONE, .line0 = d->p->nlines};
	while ((r = wire_next(&w, &f)) > 0) {
		if (f.key == WIRE_KEY(LOCATION_ID, WIRE_VARINT))
			id = f.value;
		r = location_field(d, &f, l);
		if (r)
			return r;
	}
	return r ? r : idmap_add(&d->locations, id);
}

#define NO_LOCATION "a sample refers to no location"

static int
add_frame(struct decode *d, uint64_t id)
{
	uint32_t row = idmap_find(&d->locations, id);

	if (row == IDMAP_NONE)
		return pprof_bad(d, NO_LOCATION);
	d->p->stack[d->p->nstack++] = row;
	return 0;
}

static int
add_frames(struct decode *d, struct wire w)
{
	struct profile *p = d->p;
	int n = pprof_frames(w, d->file.end, &d->locations,
	                     p->stack + p->nstack);

	if (n < 0)
		return n == -ENOENT ? pprof_bad(d, NO_LOCATION) : n;
	p->nstack += (uint32_t)n;
	return 0;
}

static int
add_values(struct decode *d, struct wire w)
{
	uint64_t v;

	while (w.p < w.end) {
		if (wire_varint(&w, &v))
			return -EBADMSG;
		d->p->values[d->nvalues++] = (int64_t)v;
	}
	return 0;
}

static int
label_field(struct decode *d, const struct wire_field *f, struct label *l)
{
	switch (f->key) {
	case WIRE_KEY(LABEL_KEY, WIRE_VARINT):
		return pprof_text(d, f, &l->key);
	case WIRE_KEY(LABEL_STR, WIRE_VARINT):
		return pprof_text(d, f, &l->str);
	case WIRE_KEY(LABEL_NUM, WIRE_VARINT):
		l->num = (int64_t)f->value;
		return 0;
	case WIRE_KEY(LABEL_NUM_UNIT, WIRE_VARINT):
		return pprof_text(d, f, &l->unit);
	}
	return 0;
}

static int
add_label(struct decode *d, struct wire w)
{
	struct label *l = &d->p->labels[d->p->nlabels++];
	struct wire_field f;
	int r;

	*l = (struct label){0};
	while ((r = wire_next(&w, &f)) > 0) {
		r = label_field(d, &f, l);
		if (r)
			return r;
	}
	return r;
}

static int
sample_field(struct decode *d, const struct wire_field *f)
{
	switch (f->key) {
	case WIRE_KEY(SAMPLE_LOCATION_ID, WIRE_BYTES):
		return add_frames(d, f->bytes);
	case WIRE_KEY(SAMPLE_LOCATION_ID, WIRE_VARINT):
		return add_frame(d, f->value);
	case WIRE_KEY(SAMPLE_VALUE, WIRE_BYTES):
		return add_values(d, f->bytes);
	case WIRE_KEY(SAMPLE_VALUE, WIRE_VARINT):
		d->p->values[d->nvalues++] = (int64_t)f->value;
		return 0;
	case WIRE_KEY(SAMPLE_LABEL, WIRE_BYTES):
		return add_label(d, f->bytes);
	}
	return 0;
}

int
pprof_sample(struct decode *d, struct wire w)
{
	struct profile *p = d->p;
	struct sample *s = &p->samples[p->nsamples++];
	size_t value0 = d->nvalues;
	struct wire_field f;
	int r;

	s->stack0 = p->nstack;
	s->label0 = p->nlabels;
	while ((r = wire_next(&w, &f)) > 0) {
		r = sample_field(d, &f);
		if (r)
			return r;
	}
	s->nstack = p->nstack - s->stack0;
	if (s->nstack > PROFILE_MAX_FRAMES) {
		s->nstack = PROFILE_MAX_FRAMES;
		p->nstack = s->stack0 + s->nstack;
	}
	s->nlabels = p->nlabels - s->label0;
	if (!r && d->nvalues - value0 != p->ntypes)
		return pprof_bad(
			d, "a sample does not have one value for each type");
	return r;
}
