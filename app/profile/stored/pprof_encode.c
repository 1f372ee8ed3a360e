#include "profile/pprof.h"

#include "pprof_fields.h"
#include "profile/gzip.h"
#include "wire.h"

#define RAW_MAX ((size_t)1 << 30)

static void
put_value_type(struct buf *out, uint32_t number, struct value_type t)
{
	size_t place = wire_open(out, number);

	wire_put_number(out, VALUE_TYPE_TYPE, t.type);
	wire_put_number(out, VALUE_TYPE_UNIT, t.unit);
	wire_close(out, place);
}

static void
put_label(struct buf *out, const struct label *l)
{
	size_t place = wire_open(out, SAMPLE_LABEL);

	wire_put_number(out, LABEL_KEY, l->key);
	wire_put_number(out, LABEL_STR, l->str);
	wire_put_number(out, LABEL_NUM, (uint64_t)l->num);
	wire_put_number(out, LABEL_NUM_UNIT, l->unit);
	wire_close(out, place);
}

static void
put_sample(struct buf *out, const struct profile *p, uint32_t at)
{
	const struct sample *s = &p->samples[at];
	size_t place = wire_open(out, PROFILE_SAMPLE);
	size_t packed = wire_open(out, SAMPLE_LOCATION_ID);

	for (uint32_t i = 0; i < s->nstack; i++)
		wire_put_varint(out, (uint64_t)p->stack[s->stack0 + i] + 1);
	wire_close(out, packed);
	packed = wire_open(out, SAMPLE_VALUE);
	for (uint32_t i = 0; i < p->ntypes; i++)
		wire_put_varint(
			out, (uint64_t)p->values[(size_t)at * p->ntypes + i]);
	wire_close(out, packed);
	for (uint32_t i = 0; i < s->nlabels; i++)
		put_label(out, &p->labels[s->label0 + i]);
	wire_close(out, place);
}

static void
put_mapping(struct buf *out, const struct mapping *m, uint64_t id)
{
	size_t place = wire_open(out, PROFILE_MAPPING);

	wire_put_number(out, MAPPING_ID, id);
	wire_put_number(out, MAPPING_MEMORY_START, m->start);
	wire_put_number(out, MAPPING_MEMORY_LIMIT, m->limit);
	wire_put_number(out, MAPPING_FILE_OFFSET, m->offset);
	wire_put_number(out, MAPPING_FILENAME, m->file);
	wire_put_number(out, MAPPING_BUILD_ID, m->build_id);
	wire_put_number(out, MAPPING_HAS_FUNCTIONS, m->has_functions);
	wire_put_number(out, MAPPING_HAS_FILENAMES, m->has_files);
	wire_put_number(out, MAPPING_HAS_LINE_NUMBERS, m->has_lines);
	wire_put_number(out, MAPPING_HAS_INLINE_FRAMES, m->has_inlines);
	wire_close(out, place);
}

static void
put_location(struct buf *out, const struct profile *p, uint32_t at)
{
	const struct location *l = &p->locations[at];
	uint64_t mapping = l->mapping == PROFILE_NONE ? 0 : l->mapping + 1;
	size_t place = wire_open(out, PROFILE_LOCATION), line_place;

	wire_put_number(out, LOCATION_ID, (uint64_t)at + 1);
	wire_put_number(out, LOCATION_MAPPING_ID, mapping);
	wire_put_number(out, LOCATION_ADDRESS, l->address);
	for (uint32_t i = 0; i < l->nlines; i++) {
		const struct line *line = &p->lines[l->line0 + i];

		line_place = wire_open(out, LOCATION_LINE);
		wire_put_number(out, LINE_FUNCTION_ID,
		                (uint64_t)line->function + 1);
		wire_put_number(out, LINE_LINE, (uint64_t)line->line);
		wire_close(out, line_place);
	}
	wire_put_number(out, LOCATION_IS_FOLDED, l->folded);
	wire_close(out, place);
}

static void
put_function(struct buf *out, const struct function *f, uint64_t id)
{
	size_t place = wire_open(out, PROFILE_FUNCTION);

	wire_put_number(out, FUNCTION_ID, id);
	wire_put_number(out, FUNCTION_NAME, f->name);
	wire_put_number(out, FUNCTION_SYSTEM_NAME, f->system_name);
	wire_put_number(out, FUNCTION_FILENAME, f->file);
	wire_put_number(out, FUNCTION_START_LINE, (uint64_t)f->start_line);
	wire_close(out, place);
}

static void
put_strings(struct buf *out, const struct strings *s)
{
	for (uint32_t i = 0; i < strings_count(s); i++) {
		size_t n;
		const char *text = strings_get(s, i, &n);

		wire_put_bytes(out, PROFILE_STRING_TABLE, text, n);
	}
}

static void
put_header(struct buf *out, const struct profile *p)
{
	bool keeps = profile_keeps_given(p);

	wire_put_number(out, PROFILE_DROP_FRAMES, p->drop_frames);
	wire_put_number(out, PROFILE_KEEP_FRAMES, p->keep_frames);
	wire_put_number(out, PROFILE_TIME_NANOS, (uint64_t)p->time_ns);
	wire_put_number(out, PROFILE_DURATION_NANOS, (uint64_t)p->duration_ns);
	put_value_type(out, PROFILE_PERIOD_TYPE, p->period_type);
	wire_put_number(out, PROFILE_PERIOD, (uint64_t)p->period);
	for (uint32_t i = 0; i < p->ncomments; i++) {
		wire_put_varint(out, WIRE_KEY(PROFILE_COMMENT, WIRE_VARINT));
		wire_put_varint(out, p->comments[i]);
	}
	if (keeps) {
		wire_put_varint(out, WIRE_KEY(PROFILE_COMMENT, WIRE_VARINT));
		wire_put_varint(out, p->given_note);
	}
	wire_put_number(out, PROFILE_DEFAULT_SAMPLE_TYPE,
	                keeps ? p->given_type : p->default_type);
	wire_put_number(out, PROFILE_DOC_URL, p->doc_url);
}

void
pprof_write(const struct profile *p, struct buf *out)
{
	for (uint32_t i = 0; i < p->ntypes; i++)
		put_value_type(out, PROFILE_SAMPLE_TYPE, p->types[i]);
	for (uint32_t i = 0; i < p->nsamples; i++)
		put_sample(out, p, i);
	for (uint32_t i = 0; i < p->nmappings; i++)
		put_mapping(out, &p->mappings[i], (uint64_t)i + 1);
	for (uint32_t i = 0; i < p->nlocations; i++)
		put_location(out, p, i);
	for (uint32_t i = 0; i < p->nfunctions; i++)
		put_function(out, &p->functions[i], (uint64_t)i + 1);
	put_strings(out, p->strings);
	put_header(out, p);
}

static int
encode(const struct profile *p,
       int (*deflate)(const void *p, size_t n, struct buf *out),
       struct buf *out)
{
	CLEANUP_BUF struct buf raw = BUF_INIT(RAW_MAX);

	pprof_write(p, &raw);
	if (buf_err(&raw))
		return out->err = buf_err(&raw);
	return deflate(raw.p, raw.len, out);
}

int
pprof_encode(const struct profile *p, struct buf *out)
{
	return encode(p, gzip_deflate, out);
}

int
pprof_encode_fast(const struct profile *p, struct buf *out)
{
	return encode(p, gzip_deflate_fast, out);
}
