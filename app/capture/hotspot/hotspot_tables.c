/* Reads each table whole, then the texts to which its rows point. */
#include "hotspot_tables.h"

#include "base/cleanup.h"
#include "capture/host/memory.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_ROWS   8192
#define MAX_STRIDE 256
#define MAX_NAME   96
#define CHUNK      ((uint32_t)64 << 10)

/* A copy of a table, and the one or two texts that each row points to. */
struct table {
	const struct memory *memory;
	uint64_t at, stride, name[2]; /* name: offsets in a row; [1] 0: none */
	uint8_t *rows;
	size_t n;                    /* rows */
	char (*texts)[MAX_NAME + 1]; /* two per row */
};

static void
table_done(struct table *t)
{
	free(t->rows);
	free(t->texts);
}

static uint64_t
word_of(const struct table *t, size_t row, uint64_t offset)
{
	return hotspot_get(t->rows + row * t->stride, t->stride, offset, 8);
}

static const char *
text_of(const struct table *t, size_t row, unsigned which)
{
	return t->texts[2 * row + which];
}

/* Copies n bytes, or fewer if the mapping ends before. */
static int
copy_up_to(const struct memory *m, uint64_t at, uint8_t *out, size_t n,
           size_t *got)
{
	*got = 0;
	while (*got < n) {
		CLEANUP(memory_batch_done)
		struct memory_batch batch = {.n = 0};
		struct memory_piece p = {
			.addr = at + *got,
			.len = (uint32_t)(n - *got < CHUNK ? n - *got : CHUNK)};
		int rc = memory_read(m, &p, 1, &batch);

		if (rc)
			return rc;
		memcpy(out + *got, p.p, p.got);
		*got += p.got;
		if (p.got < p.len)
			break;
	}
	return 0;
}

/* Reads rows up to the one without a name. */
static int
read_rows(struct table *t)
{
	size_t got, size = MAX_ROWS * t->stride;
	int rc;

	t->rows = calloc(1, size);
	if (!t->rows)
		return -ENOMEM;
	for (size_t have = 0; have < size; have = got) {
		size_t more = have + CHUNK < size ? CHUNK : size - have;

		rc = copy_up_to(t->memory, t->at + have, t->rows + have, more,
		                &got);
		if (rc)
			return rc;
		got += have;
		while (t->n < got / t->stride && word_of(t, t->n, t->name[0]))
			t->n++;
		if (t->n < got / t->stride)
			return t->n ? 0 : -EAGAIN;
		if (got == have)
			break;
	}
	return -EBADMSG;
}

static int
read_texts(struct table *t)
{
	CLEANUP(memory_batch_done) struct memory_batch batch = {.n = 0};
	CLEANUP_FREE struct memory_piece *p = calloc(2 * t->n, sizeof(*p));
	int rc;

	t->texts = calloc(2 * t->n, sizeof(*t->texts));
	if (!p || !t->texts)
		return -ENOMEM;
	for (size_t i = 0; i < 2 * t->n; i++)
		if (i % 2 == 0 || t->name[1])
			p[i] = (struct memory_piece){
				.addr = word_of(t, i / 2, t->name[i % 2]),
				.len = MAX_NAME};
	rc = memory_read(t->memory, p, 2 * t->n, &batch);
	for (size_t i = 0; i < 2 * t->n && !rc; i++)
		if (p[i].got)
			memcpy(t->texts[i], p[i].p, p[i].got);
	return rc;
}

/* Reads a table. Its columns' offsets come from memory, too. */
static int
table_read(struct table *t)
{
	int rc;

	if (!t->at)
		return -EAGAIN;
	if (t->stride < 16 || t->stride > MAX_STRIDE)
		return t->stride ? -EBADMSG : -EAGAIN;
	rc = read_rows(t);
	return rc ? rc : read_texts(t);
}

static int
read_structs(const struct memory *m, const uint64_t *v,
             struct hotspot_tables *out)
{
	static const struct {
		const char *type, *name;
	} fields[HOTSPOT_FIELDS] = {
#define FIELD(id, t, f)    [HOTSPOT_##id] = {t, f},
#define OPTIONAL(id, t, f) FIELD(id, t, f)
#include "hotspot_tables.def"
	};
	CLEANUP(table_done)
	struct table t = {.memory = m,
	                  .at = v[HOTSPOT_SYMBOL_STRUCTS],
	                  .stride = v[HOTSPOT_SYMBOL_STRUCT_STRIDE],
	                  .name = {v[HOTSPOT_SYMBOL_STRUCT_TYPE],
	                           v[HOTSPOT_SYMBOL_STRUCT_FIELD]}};
	int rc = table_read(&t);

	for (size_t k = 0; k < HOTSPOT_FIELDS; k++)
		out->field[k] = HOTSPOT_LACKS;
	for (size_t i = 0; i < t.n && !rc; i++)
		for (size_t k = 0; k < HOTSPOT_FIELDS; k++) {
			const bool fixed = (uint32_t)word_of(
				&t, i, v[HOTSPOT_SYMBOL_STRUCT_STATIC]);

			if (strcmp(fields[k].name, text_of(&t, i, 1)) != 0 ||
			    strcmp(fields[k].type, text_of(&t, i, 0)) != 0)
				continue;
			out->field[k] = word_of(
				&t, i,
				v[fixed ? HOTSPOT_SYMBOL_STRUCT_AT
			                : HOTSPOT_SYMBOL_STRUCT_OFFSET]);
		}
	return rc;
}

static int
read_types(const struct memory *m, const uint64_t *v,
           struct hotspot_tables *out)
{
	static const char *const types[HOTSPOT_SIZES] = {
#define SIZE(id, t) [HOTSPOT_SIZE_##id] = t,
#include "hotspot_tables.def"
	};
	CLEANUP(table_done)
	struct table t = {.memory = m,
	                  .at = v[HOTSPOT_SYMBOL_TYPES],
	                  .stride = v[HOTSPOT_SYMBOL_TYPE_STRIDE],
	                  .name = {v[HOTSPOT_SYMBOL_TYPE_NAME]}};
	int rc = table_read(&t);

	for (size_t i = 0; i < t.n && !rc; i++)
		for (size_t k = 0; k < HOTSPOT_SIZES; k++)
			if (!strcmp(types[k], text_of(&t, i, 0)))
				out->size[k] = word_of(
					&t, i, v[HOTSPOT_SYMBOL_TYPE_SIZE]);
	return rc;
}

static int
read_constants(const struct memory *m, const uint64_t *v,
               struct hotspot_tables *out)
{
	static const char *const names[HOTSPOT_CONSTANTS] = {
#define CONSTANT(id, f) [HOTSPOT_CONSTANT_##id] = f,
#include "hotspot_tables.def"
	};
	CLEANUP(table_done)
	struct table t = {.memory = m,
	                  .at = v[HOTSPOT_SYMBOL_INTS],
	                  .stride = v[HOTSPOT_SYMBOL_INT_STRIDE],
	                  .name = {v[HOTSPOT_SYMBOL_INT_NAME]}};
	int rc = table_read(&t);

	for (size_t i = 0; i < t.n && !rc; i++)
		for (size_t k = 0; k < HOTSPOT_CONSTANTS; k++)
			if (!strcmp(names[k], text_of(&t, i, 0)))
				out->constant[k] = (int32_t)word_of(
					&t, i, v[HOTSPOT_SYMBOL_INT_VALUE]);
	return rc;
}

/* Checks that the tables have what is needed. */
static int
check(const struct hotspot_tables *t)
{
	static const enum hotspot_field needed[] = {
#define FIELD(id, t, f) HOTSPOT_##id,
#include "hotspot_tables.def"
	};

	for (size_t i = 0; i < ARRAY_LEN(needed); i++)
		if (t->field[needed[i]] == HOTSPOT_LACKS)
			return -EBADMSG;
	for (size_t i = 0; i < HOTSPOT_SIZES; i++)
		if (!t->size[i] || t->size[i] > 4096)
			return -EBADMSG;
	if (t->field[HOTSPOT_ARRAY_LEN] == HOTSPOT_LACKS &&
	    t->field[HOTSPOT_ARRAY_LEN_OLD] == HOTSPOT_LACKS)
		return -EBADMSG;
	if (t->field[HOTSPOT_METHOD] == HOTSPOT_LACKS &&
	    t->field[HOTSPOT_METHOD_OLD] == HOTSPOT_LACKS)
		return -EBADMSG;
	if (t->field[HOTSPOT_BLOB_CODE] == HOTSPOT_LACKS &&
	    t->field[HOTSPOT_BLOB_CODE_BEGIN] == HOTSPOT_LACKS)
		return -EBADMSG;
	return 0;
}

int
hotspot_tables(const struct memory *m, const uint64_t symbol[HOTSPOT_SYMBOLS],
               struct hotspot_tables *out)
{
	CLEANUP(memory_batch_done) struct memory_batch batch = {.n = 0};
	struct memory_piece p[HOTSPOT_SYMBOLS];
	uint64_t v[HOTSPOT_SYMBOLS];
	uint32_t major;
	int rc;

	*out = (struct hotspot_tables){.major = 0};
	for (size_t i = 0; i < HOTSPOT_SYMBOLS; i++)
		p[i] = (struct memory_piece){.addr = symbol[i], .len = 8};
	rc = memory_read(m, p, HOTSPOT_SYMBOLS, &batch);
	for (size_t i = 0; i < HOTSPOT_SYMBOLS && !rc; i++) {
		if (p[i].got < 8)
			return -EAGAIN;
		memcpy(&v[i], p[i].p, 8);
	}
	if (!rc)
		rc = read_structs(m, v, out);
	if (!rc)
		rc = read_types(m, v, out);
	if (!rc)
		rc = read_constants(m, v, out);
	if (!rc)
		rc = check(out);
	if (!rc)
		rc = memory_copy(m, out->field[HOTSPOT_MAJOR], &major,
		                 sizeof(major));
	if (!rc)
		out->major = major;
	return rc;
}
