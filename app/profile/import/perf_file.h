/*
 * The container of perf.data: its events, its description of itself, and its
 * records in order of time.
 *
 *	PERFILE2 header; ids; attributes; records; sections of features
 *	PERFILE2 16; records, some of which have attributes and features
 *
 * The second form is what `perf record -o -` writes. Records of several CPUs
 * follow each other in blocks, and may be compressed with zstd.
 *
 *   Owns     the file's bytes are borrowed while struct perf_file lives
 *   Source   tools/perf/Documentation/perf.data-file-format.txt and
 *            tools/perf/util/header.c of Linux 6.1; perf_event_open(2)
 */
#pragma once

#include "perf_samples.h"

#include "base/table.h"

#include <linux/perf_event.h>

#define PERF_MAX_ATTRS 1024

struct perf_cursor {
	const char *p, *end;
	bool bad; /* it went past the end */
};

struct perf_attr {
	struct perf_event_attr a;
	char name[80]; /* name of the event */
};

struct perf_record {
	uint64_t time_ns;
	const char *at; /* its header */
};

struct perf_file {
	struct import *im;
	struct buf unpacked;
	struct perf_attr *attrs;
	uint32_t nattrs, attr_room;
	struct perf_id {
		uint64_t id;
		uint32_t attr;
	} * ids; /* sorted by id after opening */
	uint32_t nids, id_room;
	struct perf_record *records;
	uint32_t nrecords, record_room;
	struct perf_build_id {
		uint32_t file, hex; /* strings of the profile */
	} * build_ids;
	uint32_t nbuild_ids, build_id_room;
	struct table by_file; /* rows of build_ids */
	uint16_t machine;     /* EM_*; 0 unknown */
	bool mapped_ids;      /* mappings may have build-ids */
	uint64_t id_all;      /* sample_type of events that put it into other
	                         records, too */
};

/*
 * Opens a file. Refuses a kind that is not supported, and names it.
 *   Errors   those of import_build.h; call perf_file_close() in any case
 */
MUST_CHECK int
perf_file_open(struct perf_file *f, struct import *im, const char *p, size_t n);
void perf_file_close(struct perf_file *f);
/* Finds the event of a sample; NULL: unknown. */
const struct perf_attr *
perf_file_attr(const struct perf_file *f, const struct perf_record *r);
/* Returns the build-id of a file, a string of the profile; 0: unknown. */
uint32_t perf_file_build_id(const struct perf_file *f, uint32_t file);

/* Returns the header of a record, and its bytes after the header. */
struct perf_event_header
perf_record_body(const struct perf_record *r, struct perf_cursor *out);
/* Each takes a value; a cursor that went past the end gives zeros. */
uint32_t perf_u32(struct perf_cursor *c);
uint64_t perf_u64(struct perf_cursor *c);
const char *perf_bytes(struct perf_cursor *c, uint64_t n);
/* Returns the text at the cursor, up to a NUL or the end. */
struct perf_text perf_text_at(const struct perf_cursor *c);
/* Appends n bytes of a build-id as hexadecimal text, as a string of the
 * profile. */
MUST_CHECK int
perf_hex(struct import *im, const char *p, size_t n, uint32_t *out);
