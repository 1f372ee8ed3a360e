#include "profile/merge.h"

#include "base/counted.h"
#include "base/hash.h"
#include "base/id.h"
#include "base/table.h"
#include "nodes.h"
#include "profile/model/build.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

struct merge {
	struct profile *p; /* packed: each stack is one node */
	struct nodes nodes;
	struct node_rows {
		uint32_t *items; /* by node: its sample without labels, + 1 */
		uint32_t n, cap;
	} rows;
	size_t max_bytes;
	bool begun;
	uint64_t key;
	merge_names *names; /* NULL: frames without names get none */
	void *names_arg;
	bool no_ids;        /* labels of traces and spans are left out */
	struct label label; /* label of samples that are added; key 0 if none */
	struct table mappings; /* mappings of p, by build-id or path, offset and
	                          size */
	bool keeps;            /* parts */
	struct packed_part *parts;
	uint32_t nparts, cap;
	/* Rows of the last part that was not counted: it is the base of the
	 * counted parts after it. */
	uint32_t base, nbase;
	/* The rows of all parts, one part after the other. */
	struct part_rows {
		uint32_t *rows;
		int64_t *values;
		uint32_t n, rows_cap, values_cap;
	} kept;
};

/* The last stack, from the outermost frame, as locations of the input and
 * nodes. Consecutive stacks often begin alike. */
struct path {
	uint32_t n;
	struct step {
		uint32_t location, node;
	} steps[PROFILE_MAX_FRAMES];
};

/* Rows of the merged profile for rows of the input. */
struct input_rows {
	struct merge *m;
	const struct profile *p;
	const struct packed *packed;
	uint32_t *strings; /* id + 1; 0 if not looked up yet */
	uint32_t *mappings, *functions, *locations, *nodes;
	uint64_t *shift; /* by mapping: added to its addresses */
	struct path path;
};

#define PAGE UINT64_C(4096)

int
merge_new(size_t max_bytes, struct merge **out)
{
	CLEANUP_MERGE struct merge *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->max_bytes = max_bytes;
	random_bytes(&m->key, sizeof(m->key));
	m->p = profile_new();
	if (!m->p || nodes_init(&m->nodes))
		return -ENOMEM;
	*out = TAKE(m);
	return 0;
}

void
merge_free(struct merge *m)
{
	if (!m)
		return;
	profile_free(m->p);
	nodes_done(&m->nodes);
	free(m->rows.items);
	table_done(&m->mappings);
	free(m->parts);
	free(m->kept.rows);
	free(m->kept.values);
	free(m);
}

void
merge_forget_ids(struct merge *m)
{
	m->no_ids = true;
}

int
merge_label(struct merge *m, const char *key, const char *value)
{
	struct label l = {0};
	int rc = key ? profile_cstring(m->p, key, &l.key) : 0;

	if (!rc && key)
		rc = profile_cstring(m->p, value, &l.str);
	if (!rc)
		m->label = l;
	return rc;
}

static void
rows_done(struct input_rows *r)
{
	free(r->strings);
	free(r->mappings);
	free(r->functions);
	free(r->locations);
	free(r->nodes);
	free(r->shift);
}

static int
rows_init(struct input_rows *r)
{
	const struct profile *p = r->p;

	r->strings = calloc((size_t)strings_count(p->strings) + 1,
	                    sizeof(*r->strings));
	r->mappings = calloc((size_t)p->nmappings + 1, sizeof(*r->mappings));
	r->functions = calloc((size_t)p->nfunctions + 1, sizeof(*r->functions));
	r->locations = calloc((size_t)p->nlocations + 1, sizeof(*r->locations));
	r->nodes = calloc((size_t)r->packed->nnodes + 1, sizeof(*r->nodes));
	r->shift = calloc((size_t)p->nmappings + 1, sizeof(*r->shift));
	return r->strings && r->mappings && r->functions && r->locations &&
	                       r->nodes && r->shift
	               ? 0
	               : -ENOMEM;
}

/* Finds a string of the input in the merged profile. Returns -ENOMEM or
 * -E2BIG. */
static int
merge_text(struct input_rows *r, uint32_t id, uint32_t *out)
{
	uint32_t *known = &r->strings[id];
	int rc;

	if (!*known) {
		size_t n;
		const char *s = strings_get(r->p->strings, id, &n);

		rc = profile_string(r->m->p, s, n, known);
		if (rc)
			return rc;
		++*known;
	}
	*out = *known - 1;
	return 0;
}

/* --- fields of the whole profile ------------------------------------------ */

static int
add_types(struct input_rows *r)
{
	struct profile *to = r->m->p;
	const struct profile *p = r->p;
	int rc = 0;

	for (uint32_t i = 0; i < p->ntypes && !rc; i++)
		rc = profile_type(to, profile_text(p, p->types[i].type),
		                  profile_text(p, p->types[i].unit));
	if (!rc)
		rc = merge_text(r, p->default_type, &to->default_type);
	if (!rc)
		rc = merge_text(r, p->drop_frames, &to->drop_frames);
	if (!rc)
		rc = merge_text(r, p->keep_frames, &to->keep_frames);
	if (!rc)
		rc = merge_text(r, p->doc_url, &to->doc_url);
	if (!rc)
		rc = merge_text(r, p->period_type.type, &to->period_type.type);
	if (!rc)
		rc = merge_text(r, p->period_type.unit, &to->period_type.unit);
	to->time_ns = p->time_ns;
	return rc;
}

static bool
same_types(const struct profile *a, const struct profile *b)
{
	if (a->ntypes != b->ntypes)
		return false;
	for (uint32_t i = 0; i < a->ntypes; i++)
		if (strcmp(profile_text(a, a->types[i].type),
		           profile_text(b, b->types[i].type)) ||
		    strcmp(profile_text(a, a->types[i].unit),
		           profile_text(b, b->types[i].unit)))
			return false;
	return true;
}

static int
add_comments(struct input_rows *r)
{
	const struct profile *p = r->p;
	int rc = 0;

	for (uint32_t i = 0; i < p->ncomments && !rc; i++)
		rc = profile_comment(r->m->p, profile_text(p, p->comments[i]));
	return rc;
}

static int
add_head(struct input_rows *r)
{
	struct profile *to = r->m->p;
	const struct profile *p = r->p;
	int rc = r->m->begun ? 0 : add_types(r);

	r->m->begun = true;
	if (rc)
		return rc;
	if (!same_types(to, p))
		return -EINVAL;
	if (p->time_ns && (!to->time_ns || p->time_ns < to->time_ns))
		to->time_ns = p->time_ns;
	if (__builtin_add_overflow(to->duration_ns, p->duration_ns,
	                           &to->duration_ns))
		return -EOVERFLOW;
	if (p->period > to->period)
		to->period = p->period;
	return add_comments(r);
}

/* --- rows ----------------------------------------------------------------- */

struct wanted_file {
	const struct profile *p;
	const struct mapping *m;
};

/* Rounds up to whole pages: the ends of equal mappings may differ within a
 * page. */
static uint64_t
size_of(const struct mapping *m)
{
	return (m->limit - m->start + PAGE - 1) & ~(PAGE - 1);
}

static uint32_t
name_of(const struct mapping *m)
{
	return m->build_id ? m->build_id : m->file;
}

static bool
same_file(const void *key, uint32_t row)
{
	const struct wanted_file *w = key;
	const struct mapping *m = &w->p->mappings[row];

	return name_of(m) == name_of(w->m) && m->offset == w->m->offset &&
	       size_of(m) == size_of(w->m);
}

static int
find_mapping(struct merge *m, const struct mapping *row, uint32_t *out)
{
	uint64_t words[] = {name_of(row), row->offset, size_of(row)};
	uint64_t hash = hash_keyed(m->key, words, sizeof(words));
	struct wanted_file w = {m->p, row};
	uint32_t at = table_find(&m->mappings, hash, same_file, &w);
	int rc;

	if (at == TABLE_NONE) {
		rc = table_room(&m->mappings);
		if (!rc)
			rc = profile_mapping(m->p, row, &at);
		if (rc)
			return rc;
		table_put(&m->mappings, hash, at);
	}
	*out = at;
	return 0;
}

static int
add_mappings(struct input_rows *r)
{
	struct profile *to = r->m->p;
	int rc = 0;

	for (uint32_t i = 0; i < r->p->nmappings && !rc; i++) {
		struct mapping row = r->p->mappings[i], *found;

		rc = merge_text(r, row.file, &row.file);
		if (!rc)
			rc = merge_text(r, row.build_id, &row.build_id);
		if (!rc)
			rc = find_mapping(r->m, &row, &r->mappings[i]);
		if (rc)
			return rc;
		found = &to->mappings[r->mappings[i]];
		r->shift[i] = found->start - row.start;
		found->has_functions |= row.has_functions;
		found->has_files |= row.has_files;
		found->has_lines |= row.has_lines;
		found->has_inlines |= row.has_inlines;
	}
	return rc;
}

static int
add_functions(struct input_rows *r)
{
	int rc = 0;

	for (uint32_t i = 0; i < r->p->nfunctions && !rc; i++) {
		struct function row = r->p->functions[i];

		rc = merge_text(r, row.name, &row.name);
		if (!rc)
			rc = merge_text(r, row.system_name, &row.system_name);
		if (!rc)
			rc = merge_text(r, row.file, &row.file);
		if (!rc)
			rc = profile_function(r->m->p, &row, &r->functions[i]);
	}
	return rc;
}

/* Finds the lines of a location, which lacks names or has only its place.
 * Returns their number. */
static int
find_lines(struct input_rows *r, uint32_t at, uint32_t mapping,
           uint64_t address, struct line out[static PROFILE_MAX_LINES])
{
	const struct location *l = &r->p->locations[at];
	struct merge *m = r->m;
	int n = 0;

	if (m->names && mapping != PROFILE_NONE && !profile_is_named(r->p, at))
		n = m->names(m->names_arg, m->p, mapping, address, out);
	if (n)
		return n;
	for (uint32_t i = 0; i < l->nlines; i++) {
		out[i] = r->p->lines[l->line0 + i];
		out[i].function = r->functions[out[i].function];
	}
	return (int)l->nlines;
}

static int
add_location(struct input_rows *r, uint32_t at)
{
	const struct location *l = &r->p->locations[at];
	struct line lines[PROFILE_MAX_LINES];
	uint32_t mapping = PROFILE_NONE;
	uint64_t address = l->address;
	int n, rc;

	if (l->mapping != PROFILE_NONE) {
		mapping = r->mappings[l->mapping];
		address += r->shift[l->mapping];
	}
	n = find_lines(r, at, mapping, address, lines);
	rc = n < 0 ? n
	           : profile_location(r->m->p, mapping, address, lines,
	                              (uint32_t)n, &r->locations[at]);
	if (!rc)
		r->m->p->locations[r->locations[at]].folded |= l->folded;
	return rc;
}

#define EXPECT 12 /* number of nodes that are prefetched */

static int
add_nodes(struct input_rows *r)
{
	const struct packed_node *n = r->packed->nodes;
	struct nodes *to = &r->m->nodes;
	uint32_t count = r->packed->nnodes;
	int rc = count && to->n == 1 ? nodes_reserve(to, count) : 0;

	to->next = 1;
	for (uint32_t i = 1; i < count && !rc; i++) {
		if (i + EXPECT < count && n[i + EXPECT].parent < i)
			nodes_expect(to, r->nodes[n[i + EXPECT].parent],
			             r->locations[n[i + EXPECT].location]);
		rc = nodes_child(to, r->nodes[n[i].parent],
		                 r->locations[n[i].location], &r->nodes[i]);
	}
	return rc;
}

/* Finds the node of a stack, starting where it differs from the last one. */
static int
walk(struct input_rows *r, const uint32_t *stack, uint32_t n, uint32_t *out)
{
	struct path *path = &r->path;
	uint32_t at = 0, depth = 0;
	int rc = 0;

	while (depth < n && depth < path->n &&
	       path->steps[depth].location == stack[n - 1 - depth])
		at = path->steps[depth++].node;
	for (; depth < n && !rc; depth++) {
		uint32_t location = stack[n - 1 - depth];

		rc = nodes_child(&r->m->nodes, at, r->locations[location], &at);
		path->steps[depth] = (struct step){location, at};
	}
	path->n = n;
	*out = at;
	return rc;
}

static int
add_labels(struct input_rows *r, const struct sample *s,
           struct label out[static PROFILE_MAX_LABELS + 1], uint32_t *n)
{
	int rc = 0;

	*n = 0;
	for (uint32_t i = s->label0; i < s->label0 + s->nlabels && !rc; i++) {
		struct label *l = &out[*n];

		*l = r->p->labels[i];
		if (r->m->no_ids &&
		    profile_label_is_id(profile_text(r->p, l->key)))
			continue;
		++*n;
		rc = merge_text(r, l->key, &l->key) ?: merge_text(r, l->str, &l->str)
		             ?: merge_text(r, l->unit, &l->unit);
	}
	if (r->m->label.key)
		out[(*n)++] = r->m->label;
	return rc;
}

/* Returns the place where the row of a node's sample is stored. */
static int
row_of(struct merge *m, uint32_t node, uint32_t **out)
{
	struct node_rows *r = &m->rows;
	int rc = 0;

	if (node >= r->n) {
		rc = rows_room(&r->items, &r->cap, r->n, m->nodes.n - r->n,
		               sizeof(*r->items));
		if (rc)
			return rc;
		memset(r->items + r->n, 0,
		       (m->nodes.n - r->n) * sizeof(*r->items));
		r->n = m->nodes.n;
	}
	*out = &r->items[node];
	return 0;
}

/* Adds values to a sample. One without labels, as most are, is identified by
 * its node alone. */
static int
put_sample(struct merge *m, uint32_t node, const struct label *labels,
           uint32_t n, const int64_t *values, uint32_t *out)
{
	uint32_t *row;
	int rc;

	if (n)
		return rows_sample(m->p, &node, 1, labels, n, values, out);
	rc = row_of(m, node, &row);
	if (!rc && *row) {
		*out = *row - 1;
		return rows_sum(m->p, *out, values);
	}
	rc = rc ?: rows_sample(m->p, &node, 1, NULL, 0, values, out);
	if (!rc)
		*row = *out + 1;
	return rc;
}

/* Remembers a sample of the current part. */
static int
keep_sample(struct merge *m, uint32_t row, const int64_t *values)
{
	struct part_rows *k = &m->kept;
	uint32_t ntypes = m->p->ntypes;
	int rc = ROWS_ROOM(k->rows, k->rows_cap, k->n, 1)
	                 ?: ROWS_ROOM(k->values, k->values_cap, k->n * ntypes,
	                              ntypes);

	if (rc)
		return rc;
	k->rows[k->n] = row;
	memcpy(k->values + (size_t)k->n * ntypes, values,
	       ntypes * sizeof(*values));
	k->n++;
	m->parts[m->nparts - 1].n++;
	return 0;
}

/* Begins a part. */
static int
keep_part(struct merge *m, const struct profile *p)
{
	int rc = ROWS_ROOM(m->parts, m->cap, m->nparts, 1);

	if (rc)
		return rc;
	m->parts[m->nparts++] = (struct packed_part){
		.time_ns = p->time_ns,
		.duration_ns = p->duration_ns,
		.period = p->period,
	};
	m->base = m->kept.n;
	m->nbase = p->nsamples;
	return 0;
}

static int
add_sample(struct input_rows *r, uint32_t at)
{
	const struct sample *s = &r->p->samples[at];
	const uint32_t *stack = r->p->stack + s->stack0;
	const int64_t *values = &r->p->values[(size_t)at * r->p->ntypes];
	struct label labels[PROFILE_MAX_LABELS + 1];
	uint32_t n, node = 0, row = 0;
	int rc = 0;

	if (r->packed->nodes)
		node = r->nodes[*stack];
	else
		rc = walk(r, stack, s->nstack, &node);
	if (!rc)
		rc = add_labels(r, s, labels, &n);
	rc = rc ?: put_sample(r->m, node, labels, n, values, &row);
	return rc || !r->m->keeps ? rc : keep_sample(r->m, row, values);
}

/* Returns the memory of the merged rows and their hashes. */
static size_t
merge_memory(const struct merge *m)
{
	const struct profile *p = m->p;

	return (size_t)m->nodes.n * (sizeof(*m->nodes.items) + 16) +
	       (size_t)p->nsamples * (sizeof(*p->samples) + 16 +
	                              p->ntypes * sizeof(*p->values)) +
	       (size_t)p->nstack * sizeof(*p->stack) +
	       (size_t)p->nlabels * sizeof(*p->labels) +
	       (size_t)p->nlines * sizeof(*p->lines) +
	       (size_t)p->nlocations * (sizeof(*p->locations) + 16) +
	       (size_t)p->nfunctions * (sizeof(*p->functions) + 16) +
	       (size_t)m->kept.n *
	               (sizeof(uint32_t) + p->ntypes * sizeof(int64_t)) +
	       (size_t)strings_count(p->strings) * 64;
}

#define CHECK_EVERY 4096 /* samples between two checks of memory */

static int
add_samples(struct input_rows *r)
{
	int rc = 0;

	for (uint32_t i = 0; i < r->p->nsamples && !rc; i++) {
		rc = add_sample(r, i);
		if (!rc && i % CHECK_EVERY == 0 &&
		    merge_memory(r->m) > r->m->max_bytes)
			rc = -E2BIG;
	}
	if (!rc && merge_memory(r->m) > r->m->max_bytes)
		rc = -E2BIG;
	return rc;
}

/* Adds nodes and samples; called when all rows that they refer to exist.
 * Errors as in merge_add(). */
static int
merge_stacks(struct input_rows *r)
{
	return add_nodes(r) ?: add_samples(r);
}

int
merge_add_packed(struct merge *m, const struct packed *k)
{
	CLEANUP(rows_done)
	struct input_rows r = {.m = m, .p = k->p, .packed = k};
	int rc = rows_init(&r);

	if (!rc)
		rc = add_head(&r);
	if (!rc && m->keeps)
		rc = keep_part(m, k->p);
	if (!rc)
		rc = add_mappings(&r);
	if (!rc)
		rc = add_functions(&r);
	for (uint32_t i = 0; i < k->p->nlocations && !rc; i++)
		rc = add_location(&r, i);
	return rc ? rc : merge_stacks(&r);
}

void
merge_name_by(struct merge *m, merge_names *fn, void *arg)
{
	m->names = fn;
	m->names_arg = arg;
}

int
merge_add(struct merge *m, const struct profile *p)
{
	return merge_add_packed(m, &(struct packed){.p = (struct profile *)p});
}

/* Keeps a counted file as a part of the sum: the values of its base, already
 * added, include them. */
static int
keep_counts(struct merge *m, const void *p, size_t n, size_t max_raw)
{
	CLEANUP_PART struct packed_part part = {0};
	uint32_t ntypes = m->p->ntypes;
	int rc = ROWS_ROOM(m->parts, m->cap, m->nparts, 1)
	                 ?: packed_part_read(p, n, max_raw, m->nbase, ntypes,
	                                     &part);

	if (rc)
		return rc;
	m->parts[m->nparts++] = (struct packed_part){
		.time_ns = part.time_ns,
		.duration_ns = part.duration_ns,
		.period = part.period,
	};
	for (uint32_t i = 0; i < part.n && !rc; i++)
		rc = keep_sample(m, m->kept.rows[m->base + part.rows[i]],
		                 &part.values[(size_t)i * ntypes]);
	return rc ?: merge_memory(m) > m->max_bytes ? -E2BIG : 0;
}

int
merge_add_file(struct merge *m, const void *p, size_t n, size_t max_raw,
               struct buf *why)
{
	CLEANUP_PACKED struct packed made = {0};
	struct counted head;
	int rc;

	if (m->keeps && counted_alone(p, n, &head))
		return keep_counts(m, p, n, max_raw);
	rc = packed_decode(p, n, max_raw, &made, why);

	return rc ? rc : merge_add_packed(m, &made);
}

void
merge_keep_parts(struct merge *m)
{
	m->keeps = true;
}

int
merge_encode(const struct merge *m, struct buf *out)
{
	const struct packed k = {m->p, m->nodes.items, m->nodes.n};
	uint32_t at = 0;

	if (!m->begun)
		return -ENODATA;
	if (!m->keeps)
		return packed_encode(&k, out);
	for (uint32_t i = 0; i < m->nparts; i++) {
		m->parts[i].rows = m->kept.rows + at;
		m->parts[i].values = m->kept.values + (size_t)at * m->p->ntypes;
		at += m->parts[i].n;
	}
	return packed_encode_parts(&k, m->parts, m->nparts, out);
}

/* The stacks may take the part of max_bytes that the rows leave. */
int
merge_end(struct merge *m, struct profile **out)
{
	struct packed k = {m->p, m->nodes.items, m->nodes.n};
	size_t taken = m->begun ? merge_memory(m) : 0;
	int rc = m->begun ? 0 : -ENODATA;

	if (!rc && taken > m->max_bytes)
		rc = -E2BIG;
	if (!rc)
		rc = packed_profile(&k, m->max_bytes - taken, out);
	if (rc)
		return rc;
	m->p = NULL;
	m->nodes.items = NULL;
	m->begun = false;
	return 0;
}

int
profile_scale(struct profile *p, int64_t mul, int64_t div)
{
	size_t n = (size_t)p->nsamples * p->ntypes;

	assert(mul > 0 && div > 0);
	for (size_t i = 0; i < n && mul != div; i++) {
		__int128 v = (__int128)p->values[i] * mul;

		v = (v < 0 ? v - div / 2 : v + div / 2) / div;
		if (v > INT64_MAX || v < INT64_MIN)
			return -EOVERFLOW;
		p->values[i] = (int64_t)v;
	}
	return 0;
}

/* Finds the value that a type shows, by its name. Other tools use other names:
 * the default value of the profile is used if there is no such name. */
static uint32_t
shown_value(const struct profile *p, const struct type *t)
{
	const uint32_t found[] = {profile_type_index(p, t->sample),
	                          profile_type_index(p, NULL)};

	for (size_t i = 0; i < ARRAY_LEN(found); i++)
		if (found[i] != PROFILE_NONE &&
		    !strcmp(profile_text(p, p->types[found[i]].unit), t->unit))
			return found[i];
	return PROFILE_NONE;
}

/* Returns the value of one sample; 0 if it is unknown. */
static int64_t
worth_of_sample(const struct profile *p, uint32_t value, const struct type *t)
{
	int64_t samples = profile_total(p, profile_type_index(p, t->count));

	if (p->period > 0 &&
	    !strcmp(profile_text(p, p->period_type.unit), t->unit))
		return p->period;
	return samples > 0 ? profile_total(p, value) / samples : 0;
}

int
profile_reduce(struct profile *p, const struct type *t)
{
	uint32_t at = shown_value(p, t);
	struct value_type shown;
	int rc;

	if (at == PROFILE_NONE)
		return -ENODATA;
	rc = profile_cstring(p, t->sample, &shown.type)
	             ?: profile_cstring(p, t->unit, &shown.unit);
	if (rc)
		return rc;
	p->period = worth_of_sample(p, at, t);
	for (uint32_t i = 0; i < p->nsamples; i++)
		p->values[i] = p->values[(size_t)i * p->ntypes + at];
	p->types[0] = p->period_type = shown;
	p->default_type = shown.type;
	p->ntypes = 1;
	return 0;
}
