#include "perf_file.h"

#include "base/hash.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zstd.h>

#define MAGIC         "PERFILE2"
#define PIPE          16 /* size of the header written to a pipe */
#define FEATURES      256
#define MOST_MEM      25 /* log2 of the window of a compressed stream */
#define FREE_BYTES    ((size_t)1 << 20) /* unpacked at any ratio */
#define BUILD_ID      20
#define OTHER_MACHINE EM_M32 /* a machine that is not supported */

/* Positions of the header, and bits of its features. */
enum {
	AT_ATTR_SIZE = 16,
	AT_ATTRS = 24,
	AT_DATA = 40,
	AT_FEATURES = 72,
	HEADER = 104,
	FEATURE_BUILD_IDS = 2,
	FEATURE_ARCH = 6,
	FEATURE_EVENTS = 12,
	FEATURE_STAT = 19,
	FEATURE_FOLDER = 24,
};

/* Records that perf itself writes. */
enum {
	RECORD_ATTR = 64,
	RECORD_TRACING = 66,
	RECORD_BUILD_ID = 67,
	RECORD_TRACE_INFO = 70,
	RECORD_TRACE = 71,
	RECORD_STAT = 76,
	RECORD_UPDATE = 78,
	RECORD_FEATURE = 80,
	RECORD_COMPRESSED = 81,
	RECORD_COMPRESSED2 = 83,
	UPDATE_NAME = 2,
	MISC_BUILD_ID_SIZE = 1 << 15,
};

/* --- cursors -------------------------------------------------------------- */

static size_t
left(const struct perf_cursor *c)
{
	return c->bad ? 0 : (size_t)(c->end - c->p);
}

const char *
perf_bytes(struct perf_cursor *c, uint64_t n)
{
	const char *p = c->p;

	c->bad = c->bad || n > left(c);
	if (c->bad)
		return NULL;
	c->p += n;
	return p;
}

uint32_t
perf_u32(struct perf_cursor *c)
{
	const char *p = perf_bytes(c, 4);
	uint32_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return v;
}

uint64_t
perf_u64(struct perf_cursor *c)
{
	const char *p = perf_bytes(c, 8);
	uint64_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return v;
}

struct perf_text
perf_text_at(const struct perf_cursor *c)
{
	return (struct perf_text){c->p, strnlen(c->p, left(c))};
}

struct perf_event_header
perf_record_body(const struct perf_record *r, struct perf_cursor *out)
{
	struct perf_event_header h;

	memcpy(&h, r->at, sizeof(h));
	*out = (struct perf_cursor){r->at + sizeof(h), r->at + h.size, false};
	return h;
}

int
perf_hex(struct import *im, const char *p, size_t n, uint32_t *out)
{
	CLEANUP_BUF struct buf hex = BUF_INIT(2 * BUILD_ID + 1);

	buf_hex(&hex, (const uint8_t *)p, n);
	return buf_err(&hex) ?: profile_cstring(im->p, buf_str(&hex), out);
}

static int
damaged(struct perf_file *f)
{
	return import_bad(f->im, "it is a damaged perf.data");
}

/* --- events --------------------------------------------------------------- */

/* Names an event as perf does if the file does not. */
static void
name_event(struct perf_attr *row)
{
	static const char *const names[][10] = {
		[PERF_TYPE_HARDWARE] = {"cycles", "instructions",
	                                "cache-references", "cache-misses",
	                                "branches", "branch-misses",
	                                "bus-cycles", "stalled-cycles-frontend",
	                                "stalled-cycles-backend", "ref-cycles"},
		[PERF_TYPE_SOFTWARE] = {"cpu-clock", "task-clock",
	                                "page-faults", "context-switches",
	                                "cpu-migrations", "minor-faults",
	                                "major-faults", "alignment-faults",
	                                "emulation-faults", "dummy"},
	};
	uint32_t type = row->a.type;

	if (type < ARRAY_LEN(names) && row->a.config < ARRAY_LEN(names[0]))
		snprintf(row->name, sizeof(row->name), "%s",
		         names[type][row->a.config]);
	else
		snprintf(row->name, sizeof(row->name), "event %u:%#llx", type,
		         (unsigned long long)row->a.config);
}

static int
add_ids(struct perf_file *f, struct perf_cursor c, uint32_t attr)
{
	while (left(&c) >= 8) {
		int rc = ROWS_ROOM(f->ids, f->id_room, f->nids, 1);

		if (rc)
			return rc;
		f->ids[f->nids++] = (struct perf_id){perf_u64(&c), attr};
	}
	return 0;
}

/* Returns the size that attributes claim to have, or 0. */
static size_t
attr_size(const struct perf_cursor *c)
{
	struct perf_cursor at = *c;
	uint32_t size;

	(void)perf_u32(&at);
	size = perf_u32(&at);
	return size >= PERF_ATTR_SIZE_VER0 && size <= left(c) ? size : 0;
}

static int
add_attr(struct perf_file *f, const char *p, size_t n)
{
	struct perf_attr *row;
	int rc = ROWS_ROOM(f->attrs, f->attr_room, f->nattrs, 1);

	if (rc)
		return rc;
	if (f->nattrs == PERF_MAX_ATTRS)
		return damaged(f);
	row = &f->attrs[f->nattrs++];
	memset(row, 0, sizeof(*row));
	memcpy(&row->a, p, n < sizeof(row->a) ? n : sizeof(row->a));
	name_event(row);
	f->mapped_ids |= row->a.build_id;
	if (row->a.sample_id_all)
		f->id_all = row->a.sample_type;
	if (row->a.sample_type & PERF_SAMPLE_BRANCH_STACK &&
	    row->a.branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK)
		return import_bad(f->im,
		                  "it is perf.data recorded with --call-graph "
		                  "lbr: upload what `perf script` prints");
	return 0;
}

/* Returns the part of a file at an offset; a bad cursor if it has no such part.
 */
static struct perf_cursor
part(struct perf_cursor whole, uint64_t at, uint64_t n)
{
	(void)perf_bytes(&whole, at);
	if (!whole.bad && n <= left(&whole))
		whole.end = whole.p + n;
	else
		whole.bad = true;
	return whole;
}

/* Reads the attributes of a file: each is followed by the place of its ids. */
static int
read_attrs(struct perf_file *f, struct perf_cursor whole, uint64_t each,
           uint64_t at, uint64_t size)
{
	struct perf_cursor c = part(whole, at, size), ids;
	const char *p;
	int rc = 0;

	if (c.bad || each < PERF_ATTR_SIZE_VER0 + 16)
		return damaged(f);
	while (!rc && left(&c) >= each) {
		p = perf_bytes(&c, each - 16);
		at = perf_u64(&c);
		size = perf_u64(&c);
		ids = part(whole, at, size);
		rc = add_attr(f, p, each - 16)
		             ?: add_ids(f, ids, f->nattrs - 1);
	}
	return rc;
}

static int
by_id(const void *a, const void *b)
{
	const struct perf_id *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static const struct perf_attr *
attr_of_id(const struct perf_file *f, uint64_t id)
{
	const struct perf_id key = {.id = id};
	const struct perf_id *found =
		f->nids ? bsearch(&key, f->ids, f->nids, sizeof(key), by_id)
			: NULL;

	if (found)
		return &f->attrs[found->attr];
	return id ? NULL : f->attrs;
}

/* Returns the number of words before the one with a bit's value. */
static int
words_before(uint64_t type, uint64_t bit)
{
	static const uint64_t order[] = {
		PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP,   PERF_SAMPLE_TID,
		PERF_SAMPLE_TIME,       PERF_SAMPLE_ADDR, PERF_SAMPLE_ID};
	int n = 0;

	for (size_t i = 0; i < ARRAY_LEN(order) && order[i] != bit; i++)
		n += (type & order[i]) != 0;
	return n;
}

/* perf gives all events the same place for their ids if it mixes them. */
const struct perf_attr *
perf_file_attr(const struct perf_file *f, const struct perf_record *r)
{
	struct perf_cursor c;
	uint64_t type = f->attrs->a.sample_type;
	uint64_t bit = type & PERF_SAMPLE_IDENTIFIER ? PERF_SAMPLE_IDENTIFIER
	                                             : PERF_SAMPLE_ID;
	uint64_t id;

	if (f->nattrs == 1 || !(type & bit))
		return f->attrs;
	(void)perf_record_body(r, &c);
	(void)perf_bytes(&c, 8 * (size_t)words_before(type, bit));
	id = perf_u64(&c);
	return c.bad ? NULL : attr_of_id(f, id);
}

/* --- features ------------------------------------------------------------- */

/* Takes a text with its length before it. */
static struct perf_text
text(struct perf_cursor *c)
{
	uint32_t n = perf_u32(c);
	const char *p = perf_bytes(c, n);

	return (struct perf_text){p ? p : "", p ? strnlen(p, n) : 0};
}

static void
set_name(struct perf_attr *row, struct perf_text name)
{
	if (name.n)
		snprintf(row->name, sizeof(row->name), "%.*s",
		         (int)(name.n < sizeof(row->name) ? name.n
		                                          : sizeof(row->name)),
		         name.p);
}

/* The events are in the order of the attributes, which come only later in
 * files written to a pipe. */
static int
read_events(struct perf_file *f, struct perf_cursor c)
{
	uint32_t n = perf_u32(&c), size = perf_u32(&c);

	for (uint32_t i = 0; i < n && i < f->nattrs && !c.bad; i++) {
		uint32_t nids;

		(void)perf_bytes(&c, size);
		nids = perf_u32(&c);
		set_name(&f->attrs[i], text(&c));
		(void)perf_bytes(&c, 8 * (uint64_t)nids);
	}
	return 0;
}

static bool
same_file(const void *key, uint32_t row)
{
	const struct perf_file *f = ((const void *const *)key)[0];
	const uint32_t *file = ((const void *const *)key)[1];

	return f->build_ids[row].file == *file;
}

static uint32_t
find_build_id(const struct perf_file *f, uint32_t file)
{
	const void *key[] = {f, &file};

	return table_find(&f->by_file, hash_u64(file), same_file, key);
}

uint32_t
perf_file_build_id(const struct perf_file *f, uint32_t file)
{
	uint32_t row = find_build_id(f, file);

	return row == TABLE_NONE ? 0 : f->build_ids[row].hex;
}

/* Reads a record of the feature, or of a pipe. */
static int
add_build_id(struct perf_file *f, const struct perf_record *r)
{
	struct perf_cursor c;
	struct perf_event_header h = perf_record_body(r, &c);
	struct perf_build_id row;
	const char *id;
	size_t n = BUILD_ID;
	int rc;

	(void)perf_u32(&c); /* pid */
	id = perf_bytes(&c, BUILD_ID + 4);
	if (!id)
		return 0;
	if (h.misc & MISC_BUILD_ID_SIZE && id[BUILD_ID] > 0 &&
	    id[BUILD_ID] <= BUILD_ID)
		n = (size_t)id[BUILD_ID];
	rc = profile_string(f->im->p, c.p, perf_text_at(&c).n, &row.file)
	             ?: perf_hex(f->im, id, n, &row.hex)
	             ?: import_check_names(f->im);
	if (rc || find_build_id(f, row.file) != TABLE_NONE)
		return rc;
	rc = ROWS_ROOM(f->build_ids, f->build_id_room, f->nbuild_ids, 1)
	             ?: table_room(&f->by_file);
	if (rc)
		return rc;
	f->build_ids[f->nbuild_ids] = row;
	table_put(&f->by_file, hash_u64(row.file), f->nbuild_ids++);
	return 0;
}

/* Takes the next record. Returns false at the end, and where the file is cut or
 * damaged. */
static bool
next_record(struct perf_cursor *c, struct perf_record *out)
{
	struct perf_event_header h;

	if (left(c) < sizeof(h))
		return false;
	memcpy(&h, c->p, sizeof(h));
	if (h.size < sizeof(h) || h.size > left(c))
		return false;
	*out = (struct perf_record){.at = c->p};
	c->p += h.size;
	return true;
}

static int
read_build_ids(struct perf_file *f, struct perf_cursor c)
{
	struct perf_record r;
	int rc = 0;

	while (!rc && next_record(&c, &r))
		rc = add_build_id(f, &r);
	return rc;
}

static int
read_arch(struct perf_file *f, struct perf_cursor c)
{
	static const struct {
		const char *name;
		uint16_t machine;
	} rows[] = {{"x86_64", EM_X86_64}, {"aarch64", EM_AARCH64}};
	struct perf_text arch = text(&c);

	f->machine = OTHER_MACHINE;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (arch.n == strlen(rows[i].name) &&
		    !memcmp(arch.p, rows[i].name, arch.n))
			f->machine = rows[i].machine;
	return 0;
}

static int
read_feature(struct perf_file *f, uint64_t feature, struct perf_cursor c)
{
	switch (feature) {
	case FEATURE_BUILD_IDS:
		return read_build_ids(f, c);
	case FEATURE_ARCH:
		return read_arch(f, c);
	case FEATURE_EVENTS:
		return read_events(f, c);
	case FEATURE_STAT:
		return import_bad(f->im, "it is perf.data of `perf stat`: it "
		                         "has counts, not samples");
	case FEATURE_FOLDER:
		return import_bad(f->im,
		                  "it is a part of a perf.data that is a "
		                  "folder: upload what `perf script` prints");
	default:
		return 0;
	}
}

/* Reads the sections after the records. */
static int
read_features(struct perf_file *f, struct perf_cursor whole, const char *bits,
              uint64_t at)
{
	struct perf_cursor c = whole, section;
	int rc = 0;

	(void)perf_bytes(&c, at);
	for (unsigned i = 0; i < FEATURES && !rc; i++) {
		if (!((unsigned char)bits[i / 8] >> i % 8 & 1))
			continue;
		at = perf_u64(&c);
		section = part(whole, at, perf_u64(&c));
		if (!c.bad && !section.bad)
			rc = read_feature(f, i, section);
	}
	return rc;
}

/* --- records -------------------------------------------------------------- */

static int
add_piped_attr(struct perf_file *f, struct perf_cursor c)
{
	size_t n = attr_size(&c);

	if (!n)
		return damaged(f);
	return add_attr(f, perf_bytes(&c, n), n)
	               ?: add_ids(f, c, f->nattrs - 1);
}

static int
update_event(struct perf_file *f, struct perf_cursor c)
{
	uint64_t what = perf_u64(&c), id = perf_u64(&c);

	for (uint32_t i = 0; i < f->nids && what == UPDATE_NAME; i++)
		if (f->ids[i].id == id)
			set_name(&f->attrs[f->ids[i].attr], perf_text_at(&c));
	return 0;
}

static int
refuse_trace(struct perf_file *f, struct perf_cursor c, bool info)
{
	static const char *const kinds[] = {
		"a trace", "a trace of Intel PT", "a trace of Intel BTS",
		"a trace of CoreSight", "a trace of ARM SPE"};
	uint32_t kind = info ? perf_u32(&c) : 0;

	buf_addf(f->im->why,
	         "it is perf.data with %s: upload what `perf script "
	         "--itrace=i100us` prints",
	         kinds[kind < ARRAY_LEN(kinds) ? kind : 0]);
	return -EBADMSG;
}

/* Returns the time of a record, or 0. */
static uint64_t
time_of(const struct perf_file *f, const struct perf_record *r)
{
	struct perf_cursor c;
	struct perf_event_header h = perf_record_body(r, &c);
	uint64_t type = f->id_all;
	size_t n;

	if (h.type == PERF_RECORD_SAMPLE) {
		const struct perf_attr *attr = perf_file_attr(f, r);

		type = attr ? attr->a.sample_type : 0;
		n = 8 * (size_t)words_before(type, PERF_SAMPLE_TIME);
	} else {
		static const uint64_t behind[] = {
			PERF_SAMPLE_TIME, PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID,
			PERF_SAMPLE_CPU, PERF_SAMPLE_IDENTIFIER};
		size_t back = 0;

		for (size_t i = 0; i < ARRAY_LEN(behind); i++)
			back += type & behind[i] ? 8 : 0;
		if (h.type >= RECORD_ATTR || back > left(&c))
			return 0;
		n = left(&c) - back;
	}
	if (!(type & PERF_SAMPLE_TIME))
		return 0;
	(void)perf_bytes(&c, n);
	return perf_u64(&c);
}

static int
keep_record(struct perf_file *f, struct perf_record r)
{
	size_t most = f->im->ask->limits.memory;
	int rc;

	if ((f->nrecords + 1) * sizeof(r) > most)
		return import_over(f->im, "it would take too much memory", most,
		                   "max_memory");
	if (!f->nattrs)
		return damaged(f);
	rc = ROWS_ROOM(f->records, f->record_room, f->nrecords, 1);
	if (rc)
		return rc;
	f->records[f->nrecords++] = r;
	return 0;
}

static int
take_record(struct perf_file *f, const struct perf_record *r,
            struct perf_cursor *rest)
{
	struct perf_cursor c;
	struct perf_event_header h = perf_record_body(r, &c);
	uint64_t kind;

	switch (h.type) {
	case RECORD_ATTR:
		return add_piped_attr(f, c);
	case RECORD_BUILD_ID:
		return add_build_id(f, r);
	case RECORD_UPDATE:
		return update_event(f, c);
	case RECORD_FEATURE:
		kind = perf_u64(&c);
		return read_feature(f, kind, c);
	case RECORD_TRACING: /* its bytes follow it */
		(void)perf_bytes(rest, (perf_u32(&c) + UINT64_C(7)) / 8 * 8);
		return 0;
	case RECORD_TRACE_INFO:
	case RECORD_TRACE:
		return refuse_trace(f, c, h.type == RECORD_TRACE_INFO);
	case RECORD_STAT:
		return read_feature(f, FEATURE_STAT, c);
	default:
		return h.type < RECORD_ATTR ? keep_record(f, *r) : 0;
	}
}

static int
take_records(struct perf_file *f, struct perf_cursor c)
{
	struct perf_record r;
	int rc = 0;

	while (!rc && next_record(&c, &r))
		rc = take_record(f, &r, &c);
	return rc;
}

/* --- compressed records --------------------------------------------------- */

static void
stream_free(ZSTD_DCtx **s)
{
	ZSTD_freeDCtx(*s);
}

/* Finds the bytes of the stream that a record contains. */
static bool
is_compressed(const struct perf_record *r, ZSTD_inBuffer *out)
{
	struct perf_cursor c;
	struct perf_event_header h = perf_record_body(r, &c);
	uint64_t n;

	if (h.type != RECORD_COMPRESSED && h.type != RECORD_COMPRESSED2)
		return false;
	n = h.type == RECORD_COMPRESSED2 ? perf_u64(&c) : left(&c);
	out->src = perf_bytes(&c, n);
	out->size = out->src ? n : 0;
	out->pos = 0;
	return true;
}

static int
unpack(struct perf_file *f, ZSTD_DCtx *stream, ZSTD_inBuffer in)
{
	for (;;) {
		size_t room = ZSTD_DStreamOutSize(), n;
		ZSTD_outBuffer out = {.size = room};

		if (room > f->unpacked.max - f->unpacked.len)
			room = out.size = f->unpacked.max - f->unpacked.len;
		out.dst = room ? buf_reserve(&f->unpacked, room) : NULL;
		if (!out.dst)
			return room ? buf_err(&f->unpacked) : -E2BIG;
		n = ZSTD_decompressStream(stream, &out, &in);
		if (ZSTD_isError(n))
			return damaged(f);
		f->unpacked.len += out.pos;
		if (in.pos == in.size && out.pos < out.size)
			return 0;
	}
}

/* All compressed records are one stream. */
static int
unpack_all(struct perf_file *f, struct perf_cursor c)
{
	CLEANUP(stream_free) ZSTD_DCtx *stream = NULL;
	const struct import_limits *limits = &f->im->ask->limits;
	size_t most = FREE_BYTES + left(&c) * (size_t)limits->ratio;
	struct perf_record r;
	ZSTD_inBuffer in;
	int rc = 0;

	f->unpacked =
		BUF_INIT(most < limits->raw_bytes ? most : limits->raw_bytes);
	while (!rc && next_record(&c, &r)) {
		if (!is_compressed(&r, &in))
			continue;
		if (!stream) {
			stream = ZSTD_createDCtx();
			if (!stream ||
			    ZSTD_isError(ZSTD_DCtx_setParameter(
				    stream, ZSTD_d_windowLogMax, MOST_MEM)))
				return -ENOMEM;
		}
		rc = unpack(f, stream, in);
	}
	return rc == -E2BIG
	               ? import_over(f->im,
	                             "it is too large once it is decompressed",
	                             limits->raw_bytes, "max_raw_bytes")
	               : rc;
}

/* --- the file ------------------------------------------------------------- */

static int
by_time(const void *a, const void *b)
{
	const struct perf_record *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static void
sort_records(struct perf_file *f)
{
	uint32_t i;

	for (i = 0; i < f->nrecords; i++)
		f->records[i].time_ns = time_of(f, &f->records[i]);
	i = 1;
	while (i < f->nrecords &&
	       f->records[i - 1].time_ns <= f->records[i].time_ns)
		i++;
	if (i < f->nrecords)
		qsort(f->records, f->nrecords, sizeof(*f->records), by_time);
}

static int
read_records(struct perf_file *f, struct perf_cursor c)
{
	struct perf_cursor more;
	int rc = take_records(f, c) ?: unpack_all(f, c);

	more = (struct perf_cursor){buf_str(&f->unpacked),
	                            buf_str(&f->unpacked) + f->unpacked.len,
	                            false};
	rc = rc ?: take_records(f, more);
	if (!rc && f->nids)
		qsort(f->ids, f->nids, sizeof(*f->ids), by_id);
	if (!rc)
		sort_records(f);
	return rc;
}

/* Opens a file that was not written to a pipe. */
static int
read_file(struct perf_file *f, struct perf_cursor whole)
{
	struct perf_cursor c = whole, data = whole;
	uint64_t each, attrs, nattrs, at, size;
	const char *bits;
	int rc;

	(void)perf_bytes(&c, AT_ATTR_SIZE);
	each = perf_u64(&c);
	attrs = perf_u64(&c);
	nattrs = perf_u64(&c);
	at = perf_u64(&c);
	size = perf_u64(&c);
	(void)perf_bytes(&data, at);
	if (c.bad || data.bad)
		return damaged(f);
	bits = whole.p + AT_FEATURES;
	rc = read_attrs(f, whole, each, attrs, nattrs);
	if (rc)
		return rc;
	if (!size || size > left(&data)) {
		import_note(f->im, "perf record did not end properly: the file "
		                   "has what was written until then");
		return read_records(f, data);
	}
	data.end = data.p + size;
	return read_features(f, whole, bits, at + size)
	               ?: read_records(f, data);
}

int
perf_file_open(struct perf_file *f, struct import *im, const char *p, size_t n)
{
	struct perf_cursor whole = {p, p + n, false}, c = whole;
	uint64_t size;

	*f = (struct perf_file){.im = im, .unpacked = BUF_INIT(0)};
	(void)perf_bytes(&c, sizeof(MAGIC) - 1);
	size = perf_u64(&c);
	if (size == PIPE)
		return read_records(f, c);
	return size >= HEADER && size <= n ? read_file(f, whole) : damaged(f);
}

void
perf_file_close(struct perf_file *f)
{
	buf_done(&f->unpacked);
	free(f->attrs);
	free(f->ids);
	free(f->records);
	free(f->build_ids);
	table_done(&f->by_file);
}
