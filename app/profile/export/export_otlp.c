/* Writes profiles of OpenTelemetry: profile/otlp_out.h. */
#include "exports.h"

#include "base/hash.h"
#include "base/utf8.h"
#include "base/version.h"
#include "profile/otlp_out.h"
#include "profile/stored/otlp_fields.h"

#include <errno.h>
#include <string.h>

#define N(field) OTLP_N_##field

enum { MAPPINGS, LOCATIONS, FUNCTIONS, STRINGS, ATTRIBUTES, STACKS, TABLES };

static const uint32_t numbers[TABLES] = {
	N(DICTIONARY_MAPPING_TABLE),   N(DICTIONARY_LOCATION_TABLE),
	N(DICTIONARY_FUNCTION_TABLE),  N(DICTIONARY_STRING_TABLE),
	N(DICTIONARY_ATTRIBUTE_TABLE), N(DICTIONARY_STACK_TABLE),
};

struct writer {
	const struct profile *p;
	const struct otlp_origin *of;
	/* Encoded rows, each distinct one once; row 0 is empty, as the
	 * dictionary requires. */
	struct strings *tables[TABLES];
	/* by row of p: the row made of it, plus 1 */
	uint32_t *mappings, *locations, *functions;
	uint32_t *stacks; /* by sample */
};

static void
writer_done(struct writer *w)
{
	for (unsigned i = 0; i < TABLES; i++)
		strings_free(w->tables[i]);
	free(w->mappings);
	free(w->locations);
	free(w->functions);
	free(w->stacks);
}

static int
writer_init(struct writer *w, const struct profile *p,
            const struct otlp_origin *of)
{
	bool ok = true;

	*w = (struct writer){
		.p = p,
		.of = of,
		.mappings = calloc(p->nmappings + 1, sizeof(*w->mappings)),
		.locations = calloc(p->nlocations + 1, sizeof(*w->locations)),
		.functions = calloc(p->nfunctions + 1, sizeof(*w->functions)),
		.stacks = calloc(p->nsamples + 1, sizeof(*w->stacks)),
	};
	for (unsigned i = 0; i < TABLES; i++)
		ok = (w->tables[i] = strings_new()) && ok;
	return ok && w->mappings && w->locations && w->functions && w->stacks
	               ? 0
	               : -ENOMEM;
}

/* --- rows of the dictionary ----------------------------------------------- */

static int
add_row(struct writer *w, unsigned table, const struct buf *row, uint32_t *out)
{
	return buf_err(row)
	               ?: strings_add_stored(w->tables[table], buf_str(row),
	                                     row->len, out);
}

static int
add_text(struct writer *w, const char *text, uint32_t *out)
{
	return strings_add_stored(w->tables[STRINGS], text, strlen(text), out);
}

/* Adds a string of the profile, and writes its row to a field. */
static int
put_string(struct writer *w, uint32_t id, uint32_t number, struct buf *out)
{
	uint32_t row;
	size_t n;
	const char *text = strings_get(w->p->strings, id, &n);
	int r = strings_add_stored(w->tables[STRINGS], text, n, &row);

	if (!r)
		wire_put_number(out, number, row);
	return r;
}

/* Writes a number, even 0: the field that is present says what the value
 * is. */
static void
put_given(struct buf *out, uint32_t number, uint64_t v)
{
	wire_put_varint(out, WIRE_KEY(number, WIRE_VARINT));
	wire_put_varint(out, v);
}

/* Adds an attribute with this encoded value, and appends its row. */
static int
add_attribute(struct writer *w, const char *key, const struct buf *value,
              uint32_t unit, struct buf *rows)
{
	CLEANUP_BUF struct buf row = BUF_INIT(BUF_MAX_REPLY);
	uint32_t id;
	int r = add_text(w, key, &id);

	wire_put_number(&row, N(ATTRIBUTE_KEY_STRINDEX), id);
	wire_put_bytes(&row, N(ATTRIBUTE_VALUE), buf_str(value), value->len);
	if (!r && unit)
		r = put_string(w, unit, N(ATTRIBUTE_UNIT_STRINDEX), &row);
	if (!r)
		r = buf_err(value) ?: add_row(w, ATTRIBUTES, &row, &id);
	if (!r)
		wire_put_varint(rows, id);
	return r;
}

static int
add_flag(struct writer *w, const char *key, bool set, struct buf *rows)
{
	CLEANUP_BUF struct buf value = BUF_INIT(BUF_MAX_SMALL);

	if (!set)
		return 0;
	put_given(&value, N(ANY_BOOL_VALUE), 1);
	return add_attribute(w, key, &value, 0, rows);
}

/* Adds the attribute of a string of the profile, if there is one. */
static int
add_string(struct writer *w, const char *key, uint32_t id, struct buf *rows)
{
	CLEANUP_BUF struct buf value = BUF_INIT(BUF_MAX_REPLY);
	size_t n;
	const char *text = strings_get(w->p->strings, id, &n);

	if (!id)
		return 0;
	wire_put_bytes(&value, N(ANY_STRING_VALUE), text, n);
	return add_attribute(w, key, &value, 0, rows);
}

static void
put_rows(struct buf *out, uint32_t number, const struct buf *rows)
{
	if (rows->len)
		wire_put_bytes(out, number, rows->p, rows->len);
}

/* Build-ids of Go have slashes; others are hexadecimal. */
static const char *
kind_of_build_id(const struct profile *p, uint32_t id)
{
	return strchr(profile_text(p, id), '/') ? OTLP_GO : OTLP_GNU;
}

static int
mapping_row(struct writer *w, uint32_t at, uint32_t *out)
{
	CLEANUP_BUF struct buf row = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf attributes = BUF_INIT(BUF_MAX_SMALL);
	const struct mapping *m = &w->p->mappings[at];
	int r;

	wire_put_number(&row, N(MAPPING_MEMORY_START), m->start);
	wire_put_number(&row, N(MAPPING_MEMORY_LIMIT), m->limit);
	wire_put_number(&row, N(MAPPING_FILE_OFFSET), m->offset);
	r = put_string(w, m->file, N(MAPPING_FILENAME_STRINDEX), &row)
	            ?: add_string(w, kind_of_build_id(w->p, m->build_id),
	                          m->build_id, &attributes)
	            ?: add_flag(w, OTLP_HAS_FUNCTIONS, m->has_functions,
	                        &attributes)
	            ?: add_flag(w, OTLP_HAS_FILES, m->has_files, &attributes)
	            ?: add_flag(w, OTLP_HAS_LINES, m->has_lines, &attributes)
	            ?: add_flag(w, OTLP_HAS_INLINES, m->has_inlines,
	                        &attributes);
	put_rows(&row, N(MAPPING_ATTRIBUTE_INDICES), &attributes);
	return r ? r : add_row(w, MAPPINGS, &row, out);
}

static int
function_row(struct writer *w, uint32_t at, uint32_t *out)
{
	CLEANUP_BUF struct buf row = BUF_INIT(BUF_MAX_SMALL);
	const struct function *f = &w->p->functions[at];
	int r = put_string(w, f->name, N(FUNCTION_NAME_STRINDEX), &row)
	                ?: put_string(w, f->system_name,
	                              N(FUNCTION_SYSTEM_NAME_STRINDEX), &row)
	                ?: put_string(w, f->file,
	                              N(FUNCTION_FILENAME_STRINDEX), &row);

	wire_put_number(&row, N(FUNCTION_START_LINE), (uint64_t)f->start_line);
	return r ? r : add_row(w, FUNCTIONS, &row, out);
}

/* Finds the row made of a row of the profile, or makes it. */
static int
row_of(struct writer *w, uint32_t *made, uint32_t at,
       int (*make)(struct writer *w, uint32_t at, uint32_t *out), uint32_t *out)
{
	int r = made[at] ? 0 : make(w, at, out);

	if (r)
		return r;
	if (!made[at])
		made[at] = *out + 1;
	*out = made[at] - 1;
	return 0;
}

static int
location_row(struct writer *w, uint32_t at, uint32_t *out)
{
	CLEANUP_BUF struct buf row = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf attributes = BUF_INIT(BUF_MAX_SMALL);
	const struct location *l = &w->p->locations[at];
	uint32_t id;
	int r = 0;

	if (l->mapping != PROFILE_NONE) {
		r = row_of(w, w->mappings, l->mapping, mapping_row, &id);
		if (r)
			return r;
		wire_put_number(&row, N(LOCATION_MAPPING_INDEX), id);
	}
	wire_put_number(&row, N(LOCATION_ADDRESS), l->address);
	for (uint32_t i = 0; i < l->nlines && !r; i++) {
		const struct line *line = &w->p->lines[l->line0 + i];
		size_t place = wire_open(&row, N(LOCATION_LINES));

		r = row_of(w, w->functions, line->function, function_row, &id);
		wire_put_number(&row, N(LINE_FUNCTION_INDEX), r ? 0 : id);
		wire_put_number(&row, N(LINE_LINE), (uint64_t)line->line);
		wire_close(&row, place);
	}
	if (!r)
		r = add_flag(w, OTLP_IS_FOLDED, l->folded, &attributes);
	put_rows(&row, N(LOCATION_ATTRIBUTE_INDICES), &attributes);
	return r ? r : add_row(w, LOCATIONS, &row, out);
}

static int
stack_row(struct writer *w, const struct sample *s, uint32_t *out)
{
	CLEANUP_BUF struct buf row = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf rows = BUF_INIT(BUF_MAX_SMALL);
	uint32_t id;
	int r = 0;

	for (uint32_t i = 0; i < s->nstack && !r; i++) {
		r = row_of(w, w->locations, w->p->stack[s->stack0 + i],
		           location_row, &id);
		if (!r)
			wire_put_varint(&rows, id);
	}
	put_rows(&row, N(STACK_LOCATION_INDICES), &rows);
	return r ? r : add_row(w, STACKS, &row, out);
}

static int
add_label(struct writer *w, const struct label *l, struct buf *rows)
{
	CLEANUP_BUF struct buf value = BUF_INIT(BUF_MAX_REPLY);
	const char *key = profile_text(w->p, l->key);

	if (l->str)
		return add_string(w, key, l->str, rows);
	put_given(&value, N(ANY_INT_VALUE), (uint64_t)l->num);
	return add_attribute(w, key, &value, l->unit, rows);
}

/* --- profiles ------------------------------------------------------------- */

static int
put_value_type(struct writer *w, uint32_t number, struct value_type t,
               struct buf *out)
{
	size_t place = wire_open(out, number);
	int r = put_string(w, t.type, N(VALUE_TYPE_TYPE_STRINDEX), out)
	                ?: put_string(w, t.unit, N(VALUE_TYPE_UNIT_STRINDEX),
	                              out);

	wire_close(out, place);
	return r;
}

static int
put_sample(struct writer *w, uint32_t at, uint32_t type, struct buf *out)
{
	CLEANUP_BUF struct buf attributes = BUF_INIT(BUF_MAX_SMALL);
	const struct sample *s = &w->p->samples[at];
	size_t place = wire_open(out, N(PROFILE_SAMPLES)), values;
	int r = 0;

	wire_put_number(out, N(SAMPLE_STACK_INDEX), w->stacks[at]);
	for (uint32_t i = 0; i < s->nlabels && !r; i++)
		r = add_label(w, &w->p->labels[s->label0 + i], &attributes);
	put_rows(out, N(SAMPLE_ATTRIBUTE_INDICES), &attributes);
	values = wire_open(out, N(SAMPLE_VALUES));
	wire_put_varint(
		out, (uint64_t)w->p->values[(size_t)at * w->p->ntypes + type]);
	wire_close(out, values);
	wire_close(out, place);
	return r ? r : buf_err(out);
}

/* Adds the comments as one list, since a key may occur only once. */
static int
add_comments(struct writer *w, struct buf *rows)
{
	CLEANUP_BUF struct buf value = BUF_INIT(BUF_MAX_REPLY);
	size_t list = wire_open(&value, N(ANY_ARRAY_VALUE));

	if (!w->p->ncomments)
		return 0;
	for (uint32_t i = 0; i < w->p->ncomments; i++) {
		size_t place = wire_open(&value, N(ARRAY_VALUES)), n;
		const char *text =
			strings_get(w->p->strings, w->p->comments[i], &n);

		wire_put_bytes(&value, N(ANY_STRING_VALUE), text, n);
		wire_close(&value, place);
	}
	wire_close(&value, list);
	return add_attribute(w, OTLP_COMMENT, &value, 0, rows);
}

/* Writes the id of a profile of a source. It is the same whenever the source
 * is sent, so that receivers recognize repetitions. */
static void
put_id(const char *source, uint32_t type, struct buf *out)
{
	uint64_t id[] = {
		htole64(hash_bytes(source, strlen(source))),
		htole64(hash_keyed(hash_u64(type + 1), source, strlen(source))),
	};

	wire_put_bytes(out, N(PROFILE_PROFILE_ID), id, sizeof(id));
}

static int
put_profile(struct writer *w, uint32_t type, struct buf *out)
{
	CLEANUP_BUF struct buf attributes = BUF_INIT(BUF_MAX_SMALL);
	const struct profile *p = w->p;
	size_t place = wire_open(out, N(SCOPES_PROFILES));
	int r = put_value_type(w, N(PROFILE_SAMPLE_TYPE), p->types[type], out);

	for (uint32_t i = 0; i < p->nsamples && !r; i++)
		r = put_sample(w, i, type, out);
	wire_put_varint(out, WIRE_KEY(N(PROFILE_TIME_UNIX_NANO), WIRE_FIXED64));
	wire_put_fixed64(out, (uint64_t)p->time_ns);
	wire_put_number(out, N(PROFILE_DURATION_NANO),
	                (uint64_t)p->duration_ns);
	if (!r)
		r = put_value_type(w, N(PROFILE_PERIOD_TYPE), p->period_type,
		                   out);
	wire_put_number(out, N(PROFILE_PERIOD), (uint64_t)p->period);
	if (w->of->id && *w->of->id)
		put_id(w->of->id, type, out);
	if (!r)
		r = add_comments(w, &attributes)
		            ?: add_string(w, OTLP_DROP_FRAMES, p->drop_frames,
		                          &attributes)
		            ?: add_string(w, OTLP_KEEP_FRAMES, p->keep_frames,
		                          &attributes)
		            ?: add_string(w, OTLP_DOC_URL, p->doc_url,
		                          &attributes);
	put_rows(out, N(PROFILE_ATTRIBUTE_INDICES), &attributes);
	wire_close(out, place);
	return r;
}

/* --- resource and scope --------------------------------------------------- */

static void
put_text(struct buf *out, uint32_t number, const char *text)
{
	wire_put_bytes(out, number, text, strlen(text));
}

static void
put_key_value(struct buf *out, uint32_t number, const char *key,
              const char *value)
{
	size_t place = wire_open(out, number), any;

	put_text(out, N(KEY_VALUE_KEY), key);
	any = wire_open(out, N(KEY_VALUE_VALUE));
	put_text(out, N(ANY_STRING_VALUE), value);
	wire_close(out, any);
	wire_close(out, place);
}

static void
put_type_order(const struct profile *p, struct buf *out)
{
	size_t place = wire_open(out, N(SCOPE_ATTRIBUTES)), any, list;

	put_text(out, N(KEY_VALUE_KEY), OTLP_TYPE_ORDER);
	any = wire_open(out, N(KEY_VALUE_VALUE));
	list = wire_open(out, N(ANY_ARRAY_VALUE));
	for (uint32_t i = 0; i < p->ntypes; i++) {
		size_t item = wire_open(out, N(ARRAY_VALUES));

		put_given(out, N(ANY_INT_VALUE), i);
		wire_close(out, item);
	}
	wire_close(out, list);
	wire_close(out, any);
	wire_close(out, place);
}

static void
put_scope(const struct profile *p, struct buf *out)
{
	size_t place = wire_open(out, N(SCOPES_SCOPE));

	put_text(out, N(SCOPE_NAME), "stoker");
	put_text(out, N(SCOPE_VERSION), stoker_version);
	if (p->default_type)
		put_key_value(out, N(SCOPE_ATTRIBUTES), OTLP_DEFAULT_TYPE,
		              profile_text(p, p->default_type));
	put_type_order(p, out);
	wire_close(out, place);
}

static const struct {
	const char *attribute, *label;
} known[] = {
#define LABEL(attribute, label) {attribute, label},
#include "profile/stored/otlp_resource.def"
#undef LABEL
};

/* Attributes that are written apart from labels. */
#define SERVICE_NAME "service.name"
#define HOST_NAME    "host.name"

static bool
is_attribute(const char *key)
{
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (!strcmp(known[i].attribute, key))
			return true;
	return !strcmp(key, SERVICE_NAME);
}

/* Returns the first attribute that a label stands for; a container belongs to
 * Kubernetes only if it has a namespace. Returns NULL if the label has the
 * name of an attribute for which there is another label. */
static const char *
attribute_of(const char *label, const json_t *labels)
{
	bool pods = json_object_get(labels, "namespace");

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (!strcmp(known[i].label, label) &&
		    (pods || strncmp(known[i].attribute, "k8s.container",
		                     strlen("k8s.container")) != 0))
			return known[i].attribute;
	return is_attribute(label) ? NULL : label;
}

static void
put_attributes(const struct otlp_origin *of, struct buf *out)
{
	CLEANUP_FREE char *service = strdup(of->service);
	const char *host = of->host ? of->host : "", *key;
	json_t *value;

	if (!service) {
		out->err = -ENOMEM;
		return;
	}
	utf8_mend(service, strlen(service));
	put_key_value(out, N(RESOURCE_ATTRIBUTES), SERVICE_NAME, service);
	if (*host)
		put_key_value(out, N(RESOURCE_ATTRIBUTES), HOST_NAME, host);
	json_object_foreach((json_t *)of->labels, key, value) {
		const char *attribute = attribute_of(key, of->labels);

		if (attribute && json_is_string(value) &&
		    !(*host && !strcmp(attribute, HOST_NAME)))
			put_key_value(out, N(RESOURCE_ATTRIBUTES), attribute,
			              json_string_value(value));
	}
}

static int
put_resource(struct writer *w, struct buf *out)
{
	size_t place = wire_open(out, N(DATA_RESOURCE_PROFILES)), inner;
	int r = 0;

	inner = wire_open(out, N(RESOURCES_RESOURCE));
	put_attributes(w->of, out);
	wire_close(out, inner);
	inner = wire_open(out, N(RESOURCES_SCOPE_PROFILES));
	put_scope(w->p, out);
	for (uint32_t i = 0; i < w->p->ntypes && !r; i++)
		r = put_profile(w, i, out);
	wire_close(out, inner);
	wire_close(out, place);
	return r;
}

static void
put_dictionary(const struct writer *w, struct buf *out)
{
	size_t place = wire_open(out, N(DATA_DICTIONARY));

	for (unsigned i = 0; i < TABLES; i++)
		for (uint32_t k = 0; k < strings_count(w->tables[i]); k++) {
			size_t n;
			const char *row = strings_get(w->tables[i], k, &n);

			wire_put_bytes(out, numbers[i], row, n);
		}
	wire_put_bytes(out, N(DICTIONARY_LINK_TABLE), "", 0);
	wire_close(out, place);
}

int
otlp_out(const struct profile *p, const struct otlp_origin *of, struct buf *out)
{
	CLEANUP(writer_done) struct writer w = {0};
	int r = writer_init(&w, p, of);

	for (uint32_t i = 0; i < p->nsamples && !r; i++)
		r = stack_row(&w, &p->samples[i], &w.stacks[i]);
	if (!r)
		r = put_resource(&w, out);
	if (!r)
		put_dictionary(&w, out);
	return r ? (out->err = r) : buf_err(out);
}

/* Profiles have no id here: views of one session may differ, and converted
 * files may share a name. */
int
export_otlp(const struct tree *t, const struct export_meta *meta,
            struct buf *out)
{
	return otlp_out(t->profile,
	                &(struct otlp_origin){.service = meta->service}, out);
}
