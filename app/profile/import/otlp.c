/*
 * Reads OpenTelemetry's profiles. All profiles of a file share a dictionary of
 * tables, whose rows refer to each other by index: stacks to locations, these
 * to mappings and functions, these to strings. The rows that a part of the file
 * needs are added to its profile when they are first referred to.
 *
 * A sample has one value, one for each of its points in time, or only points
 * in time, which count 1 each; its values are added up. Points in time, links
 * to traces and columns of lines are left out.
 *
 * A profile has values of one type. Consecutive profiles with the same time
 * and period become one profile of several types, such as those of a converted
 * pprof file. If samples are counted and the period is a time, a column of
 * time is added, as in the worker's profiles.
 *
 * Source: profiles.proto of opentelemetry-proto, v1.7.0 to v1.11.0;
 * reporter/internal/pdata of opentelemetry-ebpf-profiler.
 */
#include "profile/otlp.h"
#include "base/json_out.h"
#include "foreign.h"
#include "import_build.h"
#include "otlp_json.h"
#include "profile/pprof.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LABEL_BYTES   200 /* bytes of a label's value */
#define SERVICE_BYTES 1000

/* The row's number in the profile of a part. */
struct made {
	uint32_t part, row;
};

struct dictionary {
	struct wire *rows;
	struct made *made;
	uint32_t n;
};

enum table_id { MAPPINGS, LOCATIONS, FUNCTIONS, STRINGS, ATTRIBUTES, STACKS };
#define TABLES (STACKS + 1)

static const struct {
	const char *name;
	enum otlp_field field;
	enum otlp_message message;
} tables[TABLES] = {
	{"mapping", OTLP_DICTIONARY_MAPPING_TABLE, OTLP_MAPPING},
	{"location", OTLP_DICTIONARY_LOCATION_TABLE, OTLP_LOCATION},
	{"function", OTLP_DICTIONARY_FUNCTION_TABLE, OTLP_FUNCTION},
	{"string", OTLP_DICTIONARY_STRING_TABLE, OTLP_DATA},
	{"attribute", OTLP_DICTIONARY_ATTRIBUTE_TABLE, OTLP_ATTRIBUTE},
	{"stack", OTLP_DICTIONARY_STACK_TABLE, OTLP_STACK},
};

/* The facts of a profile besides its samples; texts are indexes. */
struct head {
	uint64_t time, duration, types[PROFILE_MAX_TYPES][2], period_type[2];
	int64_t period;
	uint32_t ntypes;
};

/* A profile in the file. */
struct source {
	struct wire profile, resource, scope;
	struct head head;
	uint32_t resource_no, key, place;
};

struct otlp {
	struct import_ask ask; /* its limits: what is left of the request's */
	struct buf *why;
	struct otlp_shape shape;
	struct dictionary tables[TABLES];
	struct label *labels; /* by attribute, once made */
	struct source *sources;
	struct strings *keys; /* equal for sources that add up */
	uint32_t nsources;
	bool apart;

	/* the current part */
	struct import im;
	uint32_t part;
	bool pprof;        /* it was converted from pprof */
	uint32_t extra;    /* column of times made of counts, or PROFILE_NONE */
	uint32_t counted;  /* column of these counts */
	int64_t period_ns; /* period of each counted sample */
	struct import_frames frames; /* frames of earlier parts */
	size_t bytes;                /* bytes of strings, in all parts */
	uint32_t *indices; /* location_indices of the profile, in 1.7 */
	uint32_t nindices;
};

static void
otlp_done(struct otlp *o)
{
	for (unsigned i = 0; i < TABLES; i++) {
		free(o->tables[i].rows);
		free(o->tables[i].made);
	}
	free(o->labels);
	free(o->sources);
	free(o->indices);
	strings_free(o->keys);
	import_done(&o->im);
}

static int
bad(struct otlp *o, const char *why)
{
	if (!o->why->len)
		buf_puts(o->why, why);
	return -EBADMSG;
}

static int
next(struct otlp *o, enum otlp_message m, struct wire *w, struct wire_field *f,
     enum otlp_field *field)
{
	return otlp_next(&o->shape, m, w, f, field);
}

static uint64_t
fixed64(struct wire w)
{
	uint64_t word;

	memcpy(&word, w.p, sizeof(word));
	return le64toh(word);
}

/* --- the dictionary ------------------------------------------------------- */

static int
check_index(struct otlp *o, enum table_id t, uint64_t at)
{
	if (at < o->tables[t].n)
		return 0;
	buf_addf(o->why, "there is no %s %lld: its table has %u",
	         tables[t].name, (long long)at, o->tables[t].n);
	return -EBADMSG;
}

/* True if the part has made the row; else the caller is to make it. */
static bool
is_made(const struct otlp *o, enum table_id t, uint64_t at, uint32_t *out)
{
	const struct made *m = &o->tables[t].made[at];

	if (m->part != o->part)
		return false;
	*out = m->row;
	return true;
}

static void
make(struct otlp *o, enum table_id t, uint64_t at, uint32_t row)
{
	o->tables[t].made[at] = (struct made){o->part, row};
}

static int
allocate_table(struct otlp *o, enum table_id i, size_t *left)
{
	struct dictionary *t = &o->tables[i];
	uint32_t n = i == STRINGS ? o->shape.strings
	                          : o->shape.messages[tables[i].message];
	size_t row = sizeof(*t->rows) + sizeof(*t->made) +
	             (i == ATTRIBUTES ? sizeof(*o->labels) : 0);

	if (n > *left / row) {
		limit_exceeded(o->why, "its dictionary is too large",
		               o->ask.limits.memory, "max_memory");
		return -E2BIG;
	}
	*left -= n * row;
	t->rows = calloc((size_t)n + 1, sizeof(*t->rows));
	t->made = calloc((size_t)n + 1, sizeof(*t->made));
	if (i == ATTRIBUTES)
		o->labels = calloc((size_t)n + 1, sizeof(*o->labels));
	return t->rows && t->made && (i != ATTRIBUTES || o->labels) ? 0
	                                                            : -ENOMEM;
}

static int
read_dictionary(struct otlp *o, struct wire w)
{
	enum otlp_field field;
	struct wire_field f;
	int r;

	while ((r = next(o, OTLP_DICTIONARY, &w, &f, &field)) > 0)
		for (unsigned i = 0; i < TABLES; i++)
			if (field && field == tables[i].field)
				o->tables[i].rows[o->tables[i].n++] = f.bytes;
	return r;
}

static int
string_text(struct otlp *o, uint64_t at, struct wire *out)
{
	int r = check_index(o, STRINGS, at);

	if (!r)
		*out = o->tables[STRINGS].rows[at];
	return r;
}

/* Adds text to the profile of the part. */
static int
add_text(struct otlp *o, struct wire text, uint32_t *out)
{
	size_t n = (size_t)(text.end - text.p);
	uint32_t before = strings_count(o->im.p->strings);
	int r = profile_string(o->im.p, (const char *)text.p, n, out);

	if (r || strings_count(o->im.p->strings) == before)
		return r;
	o->bytes += n;
	if (o->bytes > o->ask.limits.memory)
		return import_over(&o->im, "its names take too much memory",
		                   o->ask.limits.memory, "max_memory");
	return import_check_names(&o->im);
}

static int
string_of(struct otlp *o, uint64_t at, uint32_t *out)
{
	struct wire text;
	int r = string_text(o, at, &text);

	if (r || is_made(o, STRINGS, at, out))
		return r;
	r = add_text(o, text, out);
	if (!r)
		make(o, STRINGS, at, *out);
	return r;
}

/* --- attributes ----------------------------------------------------------- */

struct any {
	enum { ANY_NONE, ANY_TEXT, ANY_PRINTED, ANY_NUMBER, ANY_LIST } kind;
	struct wire text; /* or the list */
	int64_t number;
	bool is_true;
	char printed[32]; /* ANY_PRINTED */
};

struct attribute {
	struct wire key;
	struct any value;
	uint64_t unit; /* index of a string */
};

static void
print_double(struct any *out, struct wire w)
{
	uint64_t word = fixed64(w);
	double v;

	memcpy(&v, &word, sizeof(v));
	snprintf(out->printed, sizeof(out->printed), "%.15g", v);
	out->kind = ANY_PRINTED;
}

static int
read_any(struct otlp *o, struct wire w, struct any *out)
{
	enum otlp_field field;
	struct wire_field f;
	int r;

	*out = (struct any){0};
	while ((r = next(o, OTLP_ANY, &w, &f, &field)) > 0) {
		switch (field) {
		case OTLP_ANY_STRING_VALUE_STRINDEX:
			r = string_text(o, f.value, &f.bytes);
			if (r)
				return r;
			/* fallthrough */
		case OTLP_ANY_STRING_VALUE:
			out->kind = ANY_TEXT;
			out->text = f.bytes;
			break;
		case OTLP_ANY_BOOL_VALUE:
			out->is_true = f.value;
			strcpy(out->printed, f.value ? "true" : "false");
			out->kind = ANY_PRINTED;
			break;
		case OTLP_ANY_INT_VALUE:
			out->kind = ANY_NUMBER;
			out->number = (int64_t)f.value;
			break;
		case OTLP_ANY_DOUBLE_VALUE:
			print_double(out, f.bytes);
			break;
		case OTLP_ANY_ARRAY_VALUE:
			out->kind = ANY_LIST;
			out->text = f.bytes;
			break;
		default:
			break;
		}
	}
	return r;
}

static int
read_attribute(struct otlp *o, enum otlp_message m, struct wire w,
               struct attribute *out)
{
	enum otlp_field field;
	struct wire_field f;
	int r;

	*out = (struct attribute){0};
	while ((r = next(o, m, &w, &f, &field)) > 0) {
		switch (field) {
		case OTLP_ATTRIBUTE_KEY:
		case OTLP_KEY_VALUE_KEY:
			out->key = f.bytes;
			break;
		case OTLP_ATTRIBUTE_KEY_STRINDEX:
		case OTLP_KEY_VALUE_KEY_STRINDEX:
			r = string_text(o, f.value, &out->key);
			break;
		case OTLP_ATTRIBUTE_VALUE:
		case OTLP_KEY_VALUE_VALUE:
			r = read_any(o, f.bytes, &out->value);
			break;
		case OTLP_ATTRIBUTE_UNIT_STRINDEX:
			out->unit = f.value;
			break;
		default:
			break;
		}
		if (r < 0)
			return r;
	}
	return r;
}

static bool
is_text(struct wire w, const char *text)
{
	size_t n = strlen(text);

	return (size_t)(w.end - w.p) == n && (!n || !memcmp(w.p, text, n));
}

/* Calls row for each attribute of a list of indexes. */
static int
each_attribute(struct otlp *o, struct wire w,
               int (*row)(struct otlp *o, const struct attribute *a, void *arg),
               void *arg)
{
	struct attribute a;
	uint64_t at;
	int r = 0;

	while (!r && w.p < w.end) {
		r = wire_varint(&w, &at) ?: check_index(o, ATTRIBUTES, at);
		if (!r)
			r = read_attribute(o, OTLP_ATTRIBUTE,
			                   o->tables[ATTRIBUTES].rows[at], &a);
		if (!r)
			r = row(o, &a, arg);
	}
	return r;
}

/* --- mappings ------------------------------------------------------------- */

struct mapping_read {
	struct mapping row;
	int rank; /* rank of the build-id, best first; 0: none yet */
};

/* Reads an attribute of a mapping. The linker's build-id identifies debug
 * files; the others serve files without one. */
static int
mapping_attribute(struct otlp *o, const struct attribute *a, void *arg)
{
	static const char *const ids[] = {OTLP_HTLHASH, OTLP_GO, OTLP_GNU};
	struct mapping_read *to = arg;
	struct mapping *m = &to->row;
	const struct {
		const char *key;
		bool *flag;
	} flags[] = {
		{OTLP_HAS_FUNCTIONS, &m->has_functions},
		{OTLP_HAS_FILES, &m->has_files},
		{OTLP_HAS_LINES, &m->has_lines},
		{OTLP_HAS_INLINES, &m->has_inlines},
	};

	for (size_t i = 0; i < ARRAY_LEN(flags); i++)
		if (is_text(a->key, flags[i].key))
			*flags[i].flag = a->value.is_true;
	for (int i = 0; i < (int)ARRAY_LEN(ids); i++) {
		if (!is_text(a->key, ids[i]) || a->value.kind != ANY_TEXT ||
		    a->value.text.p == a->value.text.end || i < to->rank)
			continue;
		to->rank = i + 1;
		return add_text(o, a->value.text, &m->build_id);
	}
	return 0;
}

static int
mapping_field(struct otlp *o, enum otlp_field field, const struct wire_field *f,
              struct mapping_read *to)
{
	struct mapping *m = &to->row;

	switch (field) {
	case OTLP_MAPPING_MEMORY_START:
		m->start = f->value;
		return 0;
	case OTLP_MAPPING_MEMORY_LIMIT:
		m->limit = f->value;
		return 0;
	case OTLP_MAPPING_FILE_OFFSET:
		m->offset = f->value;
		return 0;
	case OTLP_MAPPING_FILENAME_STRINDEX:
		return string_of(o, f->value, &m->file);
	case OTLP_MAPPING_ATTRIBUTE_INDICES:
		return each_attribute(o, f->bytes, mapping_attribute, to);
	case OTLP_MAPPING_HAS_FUNCTIONS:
		m->has_functions = f->value;
		return 0;
	case OTLP_MAPPING_HAS_FILENAMES:
		m->has_files = f->value;
		return 0;
	case OTLP_MAPPING_HAS_LINE_NUMBERS:
		m->has_lines = f->value;
		return 0;
	case OTLP_MAPPING_HAS_INLINE_FRAMES:
		m->has_inlines = f->value;
		return 0;
	default:
		return 0;
	}
}

static int
mapping_of(struct otlp *o, uint64_t at, uint32_t *out)
{
	struct mapping_read m = {0};
	enum otlp_field field;
	struct wire_field f;
	struct wire w;
	int r = check_index(o, MAPPINGS, at);

	if (r || is_made(o, MAPPINGS, at, out))
		return r;
	w = o->tables[MAPPINGS].rows[at];
	while (!r && (r = next(o, OTLP_MAPPING, &w, &f, &field)) > 0)
		r = mapping_field(o, field, &f, &m);
	/* without a range, addresses are file addresses */
	if (!o->pprof && !m.row.start && !m.row.limit)
		m.row.limit = UINT64_MAX;
	if (!r)
		r = profile_mapping(o->im.p, &m.row, out);
	if (!r)
		make(o, MAPPINGS, at, *out);
	return r;
}

/* --- functions and locations ---------------------------------------------- */

/* Sets *out to PROFILE_NONE for a function without any text. */
static int
function_of(struct otlp *o, uint64_t at, uint32_t *out)
{
	struct function row = {0};
	enum otlp_field field;
	struct wire_field f;
	struct wire w;
	int r = check_index(o, FUNCTIONS, at);

	if (r || is_made(o, FUNCTIONS, at, out))
		return r;
	w = o->tables[FUNCTIONS].rows[at];
	while (!r && (r = next(o, OTLP_FUNCTION, &w, &f, &field)) > 0) {
		r = field == OTLP_FUNCTION_NAME_STRINDEX
		            ? string_of(o, f.value, &row.name)
		    : field == OTLP_FUNCTION_SYSTEM_NAME_STRINDEX
		            ? string_of(o, f.value, &row.system_name)
		    : field == OTLP_FUNCTION_FILENAME_STRINDEX
		            ? string_of(o, f.value, &row.file)
		            : 0;
		if (field == OTLP_FUNCTION_START_LINE)
			row.start_line = (int64_t)f.value;
	}
	if (!row.system_name && !o->pprof)
		row.system_name = row.name;
	*out = PROFILE_NONE;
	if (!r && (row.name || row.system_name || row.file))
		r = profile_function(o->im.p, &row, out);
	if (!r)
		make(o, FUNCTIONS, at, *out);
	return r;
}

struct location_read {
	uint32_t mapping, nlines;
	uint64_t address;
	bool folded;
	struct line lines[PROFILE_MAX_LINES];
};

static int
location_attribute(struct otlp *o, const struct attribute *a, void *arg)
{
	struct location_read *l = arg;

	(void)o;
	if (is_text(a->key, OTLP_IS_FOLDED))
		l->folded = a->value.is_true;
	return 0;
}

static int
add_line(struct otlp *o, struct wire w, struct location_read *to)
{
	struct line line = {.function = PROFILE_NONE};
	enum otlp_field field;
	struct wire_field f;
	uint64_t function = 0;
	int r;

	while ((r = next(o, OTLP_LINE, &w, &f, &field)) > 0) {
		if (field == OTLP_LINE_FUNCTION_INDEX)
			function = f.value;
		if (field == OTLP_LINE_LINE)
			line.line = (int64_t)f.value;
	}
	if (!r)
		r = function_of(o, function, &line.function);
	if (r || line.function == PROFILE_NONE)
		return r;
	if (to->nlines == PROFILE_MAX_LINES) {
		buf_addf(o->why, "a location has more than %d lines",
		         PROFILE_MAX_LINES);
		return -E2BIG;
	}
	to->lines[to->nlines++] = line;
	return 0;
}

static int
location_field(struct otlp *o, enum otlp_field field,
               const struct wire_field *f, struct location_read *l)
{
	switch (field) {
	case OTLP_LOCATION_MAPPING_INDEX:
		return f->value || o->shape.layout == OTLP_1_7
		               ? mapping_of(o, f->value, &l->mapping)
		               : 0;
	case OTLP_LOCATION_ADDRESS:
		l->address = f->value;
		return 0;
	case OTLP_LOCATION_LINE:
	case OTLP_LOCATION_LINES:
		return add_line(o, f->bytes, l);
	case OTLP_LOCATION_IS_FOLDED:
		l->folded = f->value;
		return 0;
	case OTLP_LOCATION_ATTRIBUTE_INDICES:
		return each_attribute(o, f->bytes, location_attribute, l);
	default:
		return 0;
	}
}

static int
make_location(struct otlp *o, uint64_t at, uint32_t *out)
{
	struct location_read l = {.mapping = PROFILE_NONE};
	struct profile *p = o->im.p;
	struct wire w = o->tables[LOCATIONS].rows[at];
	enum otlp_field field;
	struct wire_field f;
	int r = 0;

	while (!r && (r = next(o, OTLP_LOCATION, &w, &f, &field)) > 0)
		r = location_field(o, field, &f, &l);
	if (!r)
		r = profile_location(p, l.mapping, l.address, l.lines, l.nlines,
		                     out);
	if (r)
		return r;
	p->locations[*out].folded |= l.folded;
	if (!o->pprof && l.nlines && l.mapping != PROFILE_NONE)
		p->mappings[l.mapping].has_functions = true;
	make(o, LOCATIONS, at, *out);
	return 0;
}

/* Makes a location, unless an earlier stack had it, as is usual. */
static int
location_of(struct otlp *o, uint64_t at, uint32_t *out)
{
	int r = check_index(o, LOCATIONS, at);

	return r || is_made(o, LOCATIONS, at, out) ? r
	                                           : make_location(o, at, out);
}

/* --- samples -------------------------------------------------------------- */

struct sample_read {
	uint64_t stack, start, length; /* start and length: 1.7 */
	struct wire values, attributes, times;
	struct label labels[PROFILE_MAX_LABELS];
	uint32_t nlabels;
};

static void
sample_field(enum otlp_field field, const struct wire_field *f,
             struct sample_read *s)
{
	switch (field) {
	case OTLP_SAMPLE_STACK_INDEX:
		s->stack = f->value;
		break;
	case OTLP_SAMPLE_LOCATIONS_START_INDEX:
		s->start = f->value;
		break;
	case OTLP_SAMPLE_LOCATIONS_LENGTH:
		s->length = f->value;
		break;
	case OTLP_SAMPLE_VALUE:
	case OTLP_SAMPLE_VALUES:
		s->values = f->bytes;
		break;
	case OTLP_SAMPLE_ATTRIBUTE_INDICES:
		s->attributes = f->bytes;
		break;
	case OTLP_SAMPLE_TIMESTAMPS_UNIX_NANO:
		s->times = f->bytes;
		break;
	default:
		break;
	}
}

static int
push_location(struct otlp *o, uint64_t at)
{
	uint32_t row;
	int r = location_of(o, at, &row);

	return r ? r : import_push(&o->im, row);
}

/* Pushes a stack of 1.7, a slice of the locations of the profile. */
static int
push_slice(struct otlp *o, const struct sample_read *s)
{
	int r = 0;

	if (s->start > o->nindices || s->length > o->nindices - s->start)
		return bad(o, "the stack of a sample is out of range");
	for (uint64_t i = 0; i < s->length && !r && !import_full(&o->im); i++)
		r = push_location(o, o->indices[s->start + i]);
	return r;
}

static int
push_stack(struct otlp *o, const struct sample_read *s)
{
	enum otlp_field field;
	struct wire_field f;
	struct wire w;
	uint64_t at;
	int r;

	if (o->shape.layout == OTLP_1_7)
		return push_slice(o, s);
	r = check_index(o, STACKS, s->stack);
	if (r)
		return r;
	w = o->tables[STACKS].rows[s->stack];
	while ((r = next(o, OTLP_STACK, &w, &f, &field)) > 0) {
		r = 0;
		while (field && !r && f.bytes.p < f.bytes.end &&
		       !import_full(&o->im))
			r = wire_varint(&f.bytes, &at) ?: push_location(o, at);
		if (r || o->im.deep)
			return r;
	}
	return r;
}

/* Makes a label of an attribute; its key is PROFILE_NONE if a label cannot
 * hold the attribute's value. */
static int
make_label(struct otlp *o, uint64_t at, struct label *out)
{
	struct attribute a;
	int r = read_attribute(o, OTLP_ATTRIBUTE,
	                       o->tables[ATTRIBUTES].rows[at], &a);

	*out = (struct label){.key = PROFILE_NONE};
	if (r || a.value.kind == ANY_NONE || a.value.kind == ANY_LIST)
		return r;
	r = add_text(o, a.key, &out->key);
	if (r || a.value.kind == ANY_TEXT)
		return r ? r : add_text(o, a.value.text, &out->str);
	if (a.value.kind == ANY_PRINTED)
		return profile_cstring(o->im.p, a.value.printed, &out->str);
	out->num = a.value.number;
	return a.unit ? string_of(o, a.unit, &out->unit) : 0;
}

static int
add_labels(struct otlp *o, struct sample_read *s)
{
	struct wire w = s->attributes;
	struct label *label;
	uint32_t row;
	uint64_t at;

	while (w.p < w.end) {
		int r = wire_varint(&w, &at) ?: check_index(o, ATTRIBUTES, at);

		if (r)
			return r;
		label = &o->labels[at];
		if (!is_made(o, ATTRIBUTES, at, &row)) {
			r = make_label(o, at, label);
			if (r)
				return r;
			make(o, ATTRIBUTES, at, 0);
		}
		if (label->key == PROFILE_NONE)
			continue;
		if (s->nlabels == PROFILE_MAX_LABELS) {
			buf_addf(o->why, "a sample has more than %d labels",
			         PROFILE_MAX_LABELS);
			return -E2BIG;
		}
		s->labels[s->nlabels++] = *label;
	}
	return 0;
}

static int
add_value(struct otlp *o, int64_t v, int64_t *to)
{
	if (v < 0 && !o->ask.deltas)
		return bad(o, IMPORT_NEGATIVE);
	return __builtin_add_overflow(*to, v, to)
	               ? bad(o, "a value is out of range")
	               : 0;
}

/* Reads the values of a sample, one for each type in 1.7, and of a single type
 * since. */
static int
read_values(struct otlp *o, const struct sample_read *s,
            const uint32_t *columns, uint32_t ncolumns, int64_t *out)
{
	bool old = o->shape.layout == OTLP_1_7;
	int64_t times = old ? (int64_t)wire_count(s->times)
	                    : (s->times.end - s->times.p) / 8;
	struct wire w = s->values;
	uint32_t n = 0;
	uint64_t v;

	for (; w.p < w.end; n++) {
		int r = wire_varint(&w, &v);

		if (!r && old && n == ncolumns)
			r = -EBADMSG;
		if (!r)
			r = add_value(o, (int64_t)v,
			              &out[columns[old ? n : 0]]);
		if (r)
			return r;
	}
	if (!n && ncolumns == 1 && times)
		return add_value(o, times, &out[columns[0]]);
	if (old && n == 1 && ncolumns == 1 && out[columns[0]] == 1)
		return add_value(o, times > 1 ? times - 1 : 0,
		                 &out[columns[0]]);
	return n == ncolumns || (n && !old)
	               ? 0
	               : bad(o,
	                     "a sample does not have one value for each type");
}

static int
add_time(struct otlp *o, int64_t *values)
{
	if (o->extra == PROFILE_NONE)
		return 0;
	return __builtin_mul_overflow(values[o->counted], o->period_ns,
	                              &values[o->extra])
	               ? bad(o, "a value is out of range")
	               : 0;
}

static int
add_sample(struct otlp *o, struct wire w, const uint32_t *columns,
           uint32_t ncolumns)
{
	struct sample_read s = {0};
	int64_t values[PROFILE_MAX_TYPES] = {0};
	enum otlp_field field;
	struct wire_field f;
	int r;

	while ((r = next(o, OTLP_SAMPLE, &w, &f, &field)) > 0)
		sample_field(field, &f, &s);
	if (!r)
		r = read_values(o, &s, columns, ncolumns, values);
	if (!r)
		r = add_time(o, values);
	if (!r)
		r = add_labels(o, &s);
	if (!r)
		r = push_stack(o, &s);
	return r ? r : import_values(&o->im, s.labels, s.nlabels, values);
}

/* --- profiles ------------------------------------------------------------- */

static int
read_value_type(struct otlp *o, struct wire w, uint64_t out[2])
{
	enum otlp_field field;
	struct wire_field f;
	struct wire text;
	int r;

	out[0] = out[1] = 0;
	while ((r = next(o, OTLP_VALUE_TYPE, &w, &f, &field)) > 0)
		if (field)
			out[field == OTLP_VALUE_TYPE_UNIT_STRINDEX] = f.value;
	/* a file without any string has no names of types */
	for (unsigned i = 0; i < 2 && !r; i++)
		r = out[i] ? string_text(o, out[i], &text) : 0;
	return r;
}

static int
head_field(struct otlp *o, enum otlp_field field, const struct wire_field *f,
           struct head *h)
{
	switch (field) {
	case OTLP_PROFILE_SAMPLE_TYPE:
		if (h->ntypes == PROFILE_MAX_TYPES)
			return bad(o, "a profile has too many sample types");
		return read_value_type(o, f->bytes, h->types[h->ntypes++]);
	case OTLP_PROFILE_PERIOD_TYPE:
		return read_value_type(o, f->bytes, h->period_type);
	case OTLP_PROFILE_PERIOD:
		h->period = (int64_t)f->value;
		return 0;
	case OTLP_PROFILE_TIME_UNIX_NANO:
		h->time = fixed64(f->bytes);
		return 0;
	case OTLP_PROFILE_TIME_NANOS:
		h->time = f->value;
		return 0;
	case OTLP_PROFILE_DURATION_NANO:
	case OTLP_PROFILE_DURATION_NANOS:
		h->duration = f->value;
		return 0;
	default:
		return 0;
	}
}

static int
read_head(struct otlp *o, struct wire w, struct head *h)
{
	enum otlp_field field;
	struct wire_field f;
	int r;

	*h = (struct head){0};
	while ((r = next(o, OTLP_PROFILE, &w, &f, &field)) > 0) {
		r = head_field(o, field, &f, h);
		if (r)
			return r;
	}
	h->ntypes += !h->ntypes; /* a type without a name */
	return r;
}

static int
read_indices(struct otlp *o, struct wire w)
{
	uint32_t n = (uint32_t)wire_count(w);
	uint64_t v;

	if (n > o->ask.limits.memory / sizeof(*o->indices))
		return import_over(&o->im, "it has too many locations",
		                   o->ask.limits.memory, "max_memory");
	free(o->indices);
	o->nindices = 0;
	o->indices = calloc((size_t)n + 1, sizeof(*o->indices));
	if (!o->indices)
		return -ENOMEM;
	while (w.p < w.end) {
		int r = wire_varint(&w, &v) ?: check_index(o, LOCATIONS, v);

		if (r)
			return r;
		o->indices[o->nindices++] = (uint32_t)v;
	}
	return 0;
}

/* Finds or adds the name of a type or unit, as far as its first NUL. */
static int
type_text(struct otlp *o, uint64_t at, const char **text, uint32_t *out)
{
	uint32_t whole = 0;
	int r = at ? string_of(o, at, &whole) : 0;

	if (r)
		return r;
	*text = profile_text(o->im.p, whole);
	return profile_cstring(o->im.p, *text, out);
}

/* Finds the column of a value type, or adds it. */
static int
column_of(struct otlp *o, const uint64_t pair[2], uint32_t *out)
{
	struct profile *p = o->im.p;
	const char *type = "", *unit = "";
	struct value_type t = {0};
	int r = type_text(o, pair[0], &type, &t.type)
	                ?: type_text(o, pair[1], &unit, &t.unit);

	if (r)
		return r;
	for (*out = 0; *out < p->ntypes; ++*out)
		if (p->types[*out].type == t.type &&
		    p->types[*out].unit == t.unit)
			return 0;
	if (*out < PROFILE_MAX_TYPES)
		return profile_type(p, type, unit);
	buf_addf(o->why, "it has more than %d sample types", PROFILE_MAX_TYPES);
	return -E2BIG;
}

static int
columns_of(struct otlp *o, const struct head *h,
           uint32_t out[static PROFILE_MAX_TYPES])
{
	int r = 0;

	for (uint32_t i = 0; i < h->ntypes && !r; i++)
		r = column_of(o, h->types[i], &out[i]);
	return r;
}

static int
comment(struct otlp *o, const struct any *value)
{
	struct wire w = value->text;
	enum otlp_field field;
	struct wire_field f;
	struct any item;
	uint32_t id;
	int r = 0;

	if (value->kind == ANY_TEXT) {
		r = add_text(o, w, &id);
		return r ? r
		         : profile_comment(o->im.p, profile_text(o->im.p, id));
	}
	while (value->kind == ANY_LIST && !r &&
	       (r = next(o, OTLP_ARRAY, &w, &f, &field)) > 0) {
		r = field ? read_any(o, f.bytes, &item) : 0;
		if (!r && field && item.kind == ANY_TEXT)
			r = comment(o, &item);
	}
	return r;
}

/* Reads an attribute of a profile that was converted from pprof. */
static int
profile_attribute(struct otlp *o, const struct attribute *a, void *arg)
{
	struct profile *p = o->im.p;
	const struct {
		const char *key;
		uint32_t *text;
	} texts[] = {
		{OTLP_DROP_FRAMES, &p->drop_frames},
		{OTLP_KEEP_FRAMES, &p->keep_frames},
		{OTLP_DOC_URL, &p->doc_url},
	};

	(void)arg;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (is_text(a->key, texts[i].key) && a->value.kind == ANY_TEXT)
			return add_text(o, a->value.text, texts[i].text);
	return is_text(a->key, OTLP_COMMENT) && !p->ncomments
	               ? comment(o, &a->value)
	               : 0;
}

/*
 * Reads the rows that samples of a profile refer to, wherever they are in the
 * profile.
 */
static int
read_before_samples(struct otlp *o, struct wire w)
{
	enum otlp_field field;
	struct wire_field f;
	int r = 0;

	o->nindices = 0;
	while (!r && (r = next(o, OTLP_PROFILE, &w, &f, &field)) > 0)
		r = field == OTLP_PROFILE_LOCATION_INDICES
		            ? read_indices(o, f.bytes)
		    : field == OTLP_PROFILE_ATTRIBUTE_INDICES
		            ? each_attribute(o, f.bytes, profile_attribute,
		                             NULL)
		            : 0;
	return r;
}

static int
add_profile(struct otlp *o, const struct source *s)
{
	uint32_t columns[PROFILE_MAX_TYPES];
	struct wire w = s->profile;
	enum otlp_field field;
	struct wire_field f;
	int r = columns_of(o, &s->head, columns) ?: read_before_samples(o, w);

	while (!r && (r = next(o, OTLP_PROFILE, &w, &f, &field)) > 0)
		r = field == OTLP_PROFILE_SAMPLE ||
		                    field == OTLP_PROFILE_SAMPLES
		            ? add_sample(o, f.bytes, columns, s->head.ntypes)
		            : 0;
	return r;
}

/* --- parts ---------------------------------------------------------------- */

/* Reads the attributes of a scope; one of them marks profiles that were pprof
 * files. */
static int
read_scope(struct otlp *o, struct wire w)
{
	enum otlp_field field;
	struct attribute a;
	struct wire_field f;
	int r = 0;

	o->pprof = false;
	while (!r && (r = next(o, OTLP_SCOPE, &w, &f, &field)) > 0) {
		r = 0;
		if (field != OTLP_SCOPE_ATTRIBUTES)
			continue;
		r = read_attribute(o, OTLP_KEY_VALUE, f.bytes, &a);
		if (!r && is_text(a.key, OTLP_TYPE_ORDER))
			o->pprof = true;
		if (!r && is_text(a.key, OTLP_DEFAULT_TYPE) &&
		    a.value.kind == ANY_TEXT)
			r = add_text(o, a.value.text, &o->im.p->default_type);
	}
	return r;
}

/* Adds a column for the time of samples that are counted. */
static int
add_extra(struct otlp *o)
{
	static const char *const counts[] = {"samples", "sample"};
	struct profile *p = o->im.p;
	const char *name = profile_text(p, p->period_type.type);
	int64_t scale;
	const char *unit =
		import_unit_find(profile_text(p, p->period_type.unit), &scale);

	o->extra = PROFILE_NONE;
	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		o->counted = profile_type_index(p, counts[i]);
		if (o->counted != PROFILE_NONE)
			break;
	}
	if (o->pprof || o->counted == PROFILE_NONE || p->period <= 0 || !unit ||
	    strcmp(unit, "nanoseconds") || !*name ||
	    profile_type_index(p, name) != PROFILE_NONE ||
	    p->ntypes == PROFILE_MAX_TYPES ||
	    __builtin_mul_overflow(p->period, scale, &o->period_ns))
		return 0;
	o->extra = p->ntypes;
	if (!p->default_type)
		p->default_type = p->period_type.type;
	return profile_type(p, name, unit);
}

static int
begin_period(struct otlp *o, const struct head *h)
{
	struct value_type *t = &o->im.p->period_type;
	int r = 0;

	if (o->im.p->period || t->type)
		return 0;
	if (h->period_type[0])
		r = string_of(o, h->period_type[0], &t->type);
	if (!r && h->period_type[1])
		r = string_of(o, h->period_type[1], &t->unit);
	o->im.p->period = h->period;
	return r;
}

/* Begins the profile that adds up n sources. It lasts from the first start to
 * the last end. */
static int
begin_part(struct otlp *o, const struct source *s, uint32_t n)
{
	uint32_t columns[PROFILE_MAX_TYPES];
	uint64_t start = UINT64_MAX, end = 0, to;
	int r = import_init(&o->im, &o->ask, o->why);

	o->part++;
	o->im.frames = o->frames;
	if (!r)
		r = read_scope(o, s->scope);
	for (uint32_t i = 0; i < n && !r; i++) {
		const struct head *h = &s[i].head;

		r = columns_of(o, h, columns) ?: begin_period(o, h);
		if (__builtin_add_overflow(h->time, h->duration, &to))
			to = h->time;
		start = h->time < start ? h->time : start;
		end = to > end ? to : end;
	}
	if (start <= INT64_MAX && end - start <= INT64_MAX && !r) {
		o->im.p->time_ns = (int64_t)start;
		o->im.p->duration_ns = (int64_t)(end - start);
	}
	return r ? r : add_extra(o);
}

/* Subtracts what a part has used from the limits of the others. */
static void
spend(struct otlp *o, const struct profile *p)
{
	struct import_limits *l = &o->ask.limits;
	size_t bytes = (size_t)p->nstack * sizeof(*p->stack) +
	               (size_t)p->nsamples * (64 + 8 * p->ntypes) +
	               (size_t)p->nlabels * sizeof(*p->labels) +
	               (size_t)p->nlocations * 64 +
	               (size_t)strings_count(p->strings) * 64;

	l->samples -= p->nsamples < l->samples ? p->nsamples : l->samples;
	l->memory -= bytes < l->memory ? bytes : l->memory;
	o->frames = o->im.frames;
}

/* Makes the profile that adds up n sources; *out stays NULL if they have no
 * samples. */
static int
make_part(struct otlp *o, const struct source *s, uint32_t n,
          struct profile **out)
{
	CLEANUP_PROFILE struct profile *p = NULL;
	int r = begin_part(o, s, n);

	for (uint32_t i = 0; i < n && !r; i++)
		r = add_profile(o, &s[i]);
	if (!r && o->im.p->nsamples) {
		spend(o, o->im.p);
		r = import_end(&o->im, &p);
	}
	if (!r && p)
		r = import_units(p, o->why) ?: import_drop(p, o->why);
	import_done(&o->im);
	o->im = (struct import){0};
	if (!r)
		*out = TAKE(p);
	return r;
}

/* --- resources ------------------------------------------------------------ */

static const char *const services[] = {
#define SERVICE(attribute) attribute,
#include "profile/stored/otlp_resource.def"
#undef SERVICE
};

static const struct {
	const char *attribute, *label;
} labels[] = {
#define LABEL(attribute, label) {attribute, label},
#include "profile/stored/otlp_resource.def"
#undef LABEL
};

static void
put_service(struct wire w, struct buf *out)
{
	size_t n = (size_t)(w.end - w.p);

	buf_add(out, w.p,
	        strnlen((const char *)w.p,
	                n < SERVICE_BYTES ? n : SERVICE_BYTES));
}

/* Writes the service of a resource, a NUL, and its labels as JSON. */
static int
read_resource(struct otlp *o, struct wire w, struct buf *out)
{
	CLEANUP_BUF struct buf json = BUF_INIT(BUF_MAX_SMALL);
	struct any service = {0}, found[ARRAY_LEN(labels)] = {0};
	size_t best = ARRAY_LEN(services);
	enum otlp_field field;
	struct wire_field f;
	int r;

	while ((r = next(o, OTLP_RESOURCE, &w, &f, &field)) > 0) {
		struct attribute a;

		if (!field)
			continue;
		r = read_attribute(o, OTLP_KEY_VALUE, f.bytes, &a);
		if (r)
			return r;
		for (size_t i = 0; i < best && a.value.kind == ANY_TEXT; i++)
			if (is_text(a.key, services[i])) {
				best = i;
				service = a.value;
			}
		for (size_t i = 0; i < ARRAY_LEN(labels); i++)
			if (is_text(a.key, labels[i].attribute) &&
			    a.value.kind == ANY_TEXT)
				found[i] = a.value;
	}
	if (r)
		return r;
	json_open(&json, NULL, '{');
	for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
		size_t n = (size_t)(found[i].text.end - found[i].text.p);
		bool again = i &&
		             !strcmp(labels[i].label, labels[i - 1].label) &&
		             found[i - 1].kind == ANY_TEXT;
		char text[LABEL_BYTES + 1];

		if (found[i].kind != ANY_TEXT || !n || n >= sizeof(text) ||
		    again)
			continue;
		memcpy(text, found[i].text.p, n);
		text[n] = '\0';
		json_put_text(&json, labels[i].label, text);
	}
	json_close(&json, '}');
	if (service.kind == ANY_TEXT)
		put_service(service.text, out);
	buf_putc(out, '\0');
	buf_puts(out, buf_str(&json));
	buf_putc(out, '\0');
	return buf_err(out);
}

/* --- grouping ------------------------------------------------------------- */

static int
add_source(struct otlp *o, struct wire profile, struct wire resource,
           struct wire scope, uint32_t resource_no)
{
	struct source *s = &o->sources[o->nsources++];

	*s = (struct source){.profile = profile,
	                     .resource = resource,
	                     .scope = scope,
	                     .resource_no = resource_no};
	return read_head(o, profile, &s->head);
}

/* Finds the last occurrence of a field in a message. */
static int
find_part(struct otlp *o, enum otlp_message m, enum otlp_field wanted,
          struct wire w, struct wire *out)
{
	enum otlp_field field;
	struct wire_field f;
	int r;

	while ((r = next(o, m, &w, &f, &field)) > 0)
		if (field == wanted)
			*out = f.bytes;
	return r;
}

static int
read_scopes(struct otlp *o, struct wire w, struct wire resource, uint32_t no)
{
	struct wire scope = {0};
	enum otlp_field field;
	struct wire_field f;
	int r = find_part(o, OTLP_SCOPES, OTLP_SCOPES_SCOPE, w, &scope);

	while (!r && (r = next(o, OTLP_SCOPES, &w, &f, &field)) > 0)
		r = field == OTLP_SCOPES_PROFILES
		            ? add_source(o, f.bytes, resource, scope, no)
		            : 0;
	return r;
}

static int
read_resources(struct otlp *o, struct wire w, uint32_t no)
{
	struct wire resource = {0};
	enum otlp_field field;
	struct wire_field f;
	int r = find_part(o, OTLP_RESOURCES, OTLP_RESOURCES_RESOURCE, w,
	                  &resource);

	while (!r && (r = next(o, OTLP_RESOURCES, &w, &f, &field)) > 0)
		r = field == OTLP_RESOURCES_SCOPE_PROFILES
		            ? read_scopes(o, f.bytes, resource, no)
		            : 0;
	return r;
}

static int
read_sources(struct otlp *o, struct wire file)
{
	struct wire w = file;
	enum otlp_field field;
	struct wire_field f;
	uint32_t no = 0;
	int r = 0;

	while (!r && (r = next(o, OTLP_DATA, &w, &f, &field)) > 0)
		r = field == OTLP_DATA_DICTIONARY ? read_dictionary(o, f.bytes)
		                                  : 0;
	w = file;
	while (!r && (r = next(o, OTLP_DATA, &w, &f, &field)) > 0)
		r = field == OTLP_DATA_RESOURCE_PROFILES
		            ? read_resources(o, f.bytes, no++)
		            : 0;
	return r;
}

/* True if b belongs in one profile with the sources from a up to b. */
static bool
is_same_run(const struct source *a, const struct source *b)
{
	const struct head *x = &a->head, *y = &b->head;

	if (a->resource_no != b->resource_no || x->time != y->time ||
	    x->duration != y->duration || x->period != y->period ||
	    memcmp(x->period_type, y->period_type, sizeof(x->period_type)) ||
	    y->ntypes != 1)
		return false;
	for (; a < b; a++)
		if (a->head.ntypes != 1 ||
		    !memcmp(a->head.types, y->types, sizeof(*y->types)))
			return false;
	return true;
}

/* Gives the same key to all profiles of runs that add up. */
static int
key_run(struct otlp *o, uint32_t first, uint32_t end,
        const struct buf *resource)
{
	CLEANUP_BUF struct buf key = BUF_INIT(BUF_MAX_SMALL);
	const struct head *h = &o->sources[first].head;
	uint32_t id;
	int r;

	buf_add(&key, resource->p, resource->len);
	buf_add(&key, &h->time, sizeof(h->time));
	buf_add(&key, &h->duration, sizeof(h->duration));
	buf_add(&key, &h->period, sizeof(h->period));
	buf_add(&key, h->period_type, sizeof(h->period_type));
	for (uint32_t i = first; i < end; i++)
		buf_add(&key, o->sources[i].head.types,
		        o->sources[i].head.ntypes * sizeof(*h->types));
	r = buf_err(&key) ?: strings_add_stored(o->keys, key.p, key.len, &id);
	for (uint32_t i = first; i < end && !r; i++)
		o->sources[i].key = id;
	return r;
}

static int
by_key(const void *a, const void *b)
{
	const struct source *x = a, *y = b;

	return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
	                        : (x->place > y->place) - (x->place < y->place);
}

static int
key_sources(struct otlp *o)
{
	CLEANUP_BUF struct buf resource = BUF_INIT(BUF_MAX_SMALL);
	uint32_t of = UINT32_MAX, end;
	int r = 0;

	for (uint32_t i = 0; i < o->nsources && !r; i = end) {
		struct source *s = &o->sources[i];

		if (s->resource_no != of) {
			buf_clear(&resource);
			r = read_resource(o, s->resource, &resource);
			of = s->resource_no;
		}
		for (end = i; end < o->nsources &&
		              (end == i || is_same_run(s, &o->sources[end]));
		     end++)
			o->sources[end].place = end;
		if (!r)
			r = key_run(o, i, end, &resource);
	}
	if (!r)
		qsort(o->sources, o->nsources, sizeof(*o->sources), by_key);
	return r;
}

/* --- files ---------------------------------------------------------------- */

static int
give_part(struct otlp *o, const struct source *s, uint32_t n,
          int (*part)(void *arg, const struct otlp_part *of,
                      struct profile **made),
          void *arg, bool *any)
{
	CLEANUP_PROFILE struct profile *p = NULL;
	struct otlp_part of = {.service = "", .labels = "{}", .profiles = n};
	int r = make_part(o, s, n, &p);

	if (r || !p)
		return r;
	if (o->apart) {
		of.service = strings_get(o->keys, s->key, NULL);
		of.labels = of.service + strlen(of.service) + 1;
	}
	*any = true;
	return part(arg, &of, &p);
}

static int
read_parts(struct otlp *o, struct wire file,
           int (*part)(void *arg, const struct otlp_part *of,
                       struct profile **made),
           void *arg)
{
	size_t left = o->ask.limits.memory;
	bool any = false;
	uint32_t end;
	int r = 0;

	for (unsigned i = 0; i < TABLES && !r; i++)
		r = allocate_table(o, i, &left);
	if (!r &&
	    o->shape.messages[OTLP_PROFILE] > left / sizeof(struct source))
		r = -E2BIG, limit_exceeded(o->why, "it has too many profiles",
		                           o->ask.limits.memory, "max_memory");
	if (r)
		return r;
	o->sources = calloc((size_t)o->shape.messages[OTLP_PROFILE] + 1,
	                    sizeof(*o->sources));
	o->keys = strings_new();
	r = !o->sources || !o->keys ? -ENOMEM : read_sources(o, file);
	if (!r && o->apart)
		r = key_sources(o);
	for (uint32_t i = 0; i < o->nsources && !r; i = end) {
		for (end = i; end < o->nsources &&
		              o->sources[end].key == o->sources[i].key;)
			end++;
		r = give_part(o, &o->sources[i], end - i, part, arg, &any);
	}
	if (r || any)
		return r == -EBADMSG ? bad(o, "truncated, or not OTLP profiles")
		                     : r;
	buf_puts(o->why, "it has no samples");
	return -ENODATA;
}

bool
otlp_is_json(const char *p, size_t n)
{
	import_skip_blanks(&p, &n);
	return n && *p == '{';
}

static int
read_all(const char *p, size_t n, const struct import_ask *ask, bool apart,
         int (*part)(void *arg, const struct otlp_part *of,
                     struct profile **made),
         void *arg, struct buf *why)
{
	CLEANUP(otlp_done)
	struct otlp o = {.ask = *ask, .why = why, .apart = apart};
	CLEANUP_BUF struct buf made = BUF_INIT(ask->limits.raw_bytes);
	struct wire file = {(const uint8_t *)p, (const uint8_t *)p + n};
	unsigned layouts = OTLP_ALL_LAYOUTS;
	bool json = otlp_is_json(p, n);
	int r = json ? otlp_json(p, n, &made, &layouts, why) : 0;

	if (r == -E2BIG && !why->len)
		limit_exceeded(why, "it is too large as protobuf",
		               ask->limits.raw_bytes, "max_raw_bytes");
	if (json) {
		file.p = (const uint8_t *)buf_str(&made);
		file.end = file.p + made.len;
	}
	if (!r)
		r = otlp_shape(file, layouts, &o.shape, why);
	return r ? r : read_parts(&o, file, part, arg);
}

int
otlp_read(const void *p, size_t n, const struct import_ask *ask,
          int (*part)(void *arg, const struct otlp_part *of,
                      struct profile **made),
          void *arg, struct buf *why)
{
	return read_all(p, n, ask, true, part, arg, why);
}

/* --- detection of uploads ------------------------------------------------- */

static int
take(void *arg, const struct otlp_part *of, struct profile **made)
{
	struct profile **out = arg;

	(void)of;
	*out = TAKE(*made);
	return 0;
}

/* The file format that a field indicates. */
enum shows { SHOWS_NOTHING, SHOWS_OTLP, SHOWS_PPROF };

/* Field 1 is a message ResourceProfiles, with messages and texts, or pprof's
 * message ValueType, with two numbers. */
static enum shows
look_at_first(struct wire w)
{
	return w.p == w.end               ? SHOWS_NOTHING
	       : (*w.p & 7) == WIRE_BYTES ? SHOWS_OTLP
	                                  : SHOWS_PPROF;
}

/* Field 2 is the dictionary, with a table of strings, or pprof's message
 * Sample, with three fields. */
static enum shows
look_at_second(struct wire w)
{
	struct wire_field f;

	if (w.p == w.end)
		return SHOWS_NOTHING;
	while (wire_next(&w, &f) > 0)
		if (f.key ==
		    WIRE_KEY(OTLP_N_DICTIONARY_STRING_TABLE, WIRE_BYTES))
			return SHOWS_OTLP;
	return SHOWS_PPROF;
}

/* Looks at fields until one shows the format. The last may be cut off. */
bool
input_otlp_looks(const char *p, size_t n)
{
	struct wire w = {(const uint8_t *)p, (const uint8_t *)p + n};
	enum shows shows = SHOWS_NOTHING;

	if (otlp_is_json(p, n))
		return otlp_json_looks(p, n);
	while (w.p < w.end && shows == SHOWS_NOTHING) {
		unsigned key = *w.p++;
		struct wire body = w;
		uint64_t length;

		if (wire_varint(&w, &length))
			return false;
		body.p = w.p;
		if (length < (uint64_t)(w.end - w.p))
			body.end = w.p + length;
		w.p = body.end;
		if (key == WIRE_KEY(OTLP_N_DATA_RESOURCE_PROFILES, WIRE_BYTES))
			shows = look_at_first(body);
		else if (key == WIRE_KEY(OTLP_N_DATA_DICTIONARY, WIRE_BYTES))
			shows = look_at_second(body);
		else
			shows = SHOWS_PPROF;
	}
	return shows == SHOWS_OTLP;
}

int
input_otlp_read(const char *p, size_t n, const struct import_ask *ask,
                struct profile **out, struct buf *why)
{
	CLEANUP_PROFILE struct profile *made = NULL;
	int r = read_all(p, n, ask, false, take, &made, why);

	if (!r)
		*out = TAKE(made);
	return r;
}
