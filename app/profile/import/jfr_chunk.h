/*
 * Chunks of Java Flight Recorder: the classes of their values, their constants
 * and their events. A recording is a sequence of chunks, each of which can be
 * read without the others.
 *
 *	header 68 bytes, events
 *	event: SIZE TYPE FIELD...
 *
 * Type 0 is the metadata, which describe the classes; type 1 is a checkpoint,
 * with constants by class and id. Integers have 7 bits in each of up to 8
 * bytes, and 8 in the ninth.
 *
 *   Owns     everything points into the caller's bytes
 *   Source   jdk.jfr.internal.consumer of OpenJDK 17; flightRecorder.cpp and
 *            JfrReader.java of async-profiler 4.0
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

#define JFR_NONE UINT32_MAX

/* Fields that are read; others are passed over. */
/* clang-format off */
#define JFR_FIELDS(F)                                                  \
	F(stackTrace) F(sampledThread) F(eventThread) F(duration)      \
	F(weight) F(allocationSize) F(tlabSize) F(samples) F(failed)   \
	F(samplingPeriod) F(truncated) F(frames) F(method)             \
	F(lineNumber) F(type) F(name) F(string) F(osName) F(javaName)  \
	F(id) F(value) F(lostSamples) F(amount)
/* clang-format on */

enum jfr_name {
#define F(name) JFR_##name,
	JFR_FIELDS(F)
#undef F
		JFR_NAMES
};

struct jfr_cursor {
	const char *p, *end;
	bool bad; /* it went past the end */
};

struct jfr_text {
	const char *p;
	size_t n;
	uint8_t form; /* its encoding */
	uint64_t id;  /* if it is a constant */
};

/* The value of a field. */
struct jfr_value {
	uint64_t n;           /* a number, or the id of a constant */
	uint32_t class;       /* of the constant, or of a list's elements */
	struct jfr_text text; /* text of a string */
	struct jfr_cursor at; /* start of a list: its length, then elements */
};

struct jfr_field {
	uint64_t class_id;
	uint32_t class; /* index, or JFR_NONE */
	enum jfr_name name;
	bool pool, list;
};

struct jfr_class {
	uint64_t id;
	struct jfr_text name;
	uint32_t field0, nfields;
	uint8_t kind; /* private: how a value is encoded */
};

struct jfr_constant {
	uint64_t id;
	const char *at;
	uint32_t class;
	uint32_t made; /* the caller's; JFR_NONE at first */
};

struct jfr_chunk {
	const char *p, *end;
	int64_t start_ns, duration_ns; /* since the epoch */
	double ticks_per_s;
	struct jfr_text *strings;  /* strings of the metadata */
	struct jfr_class *classes; /* sorted by id */
	struct jfr_field *fields;
	struct jfr_constant *constants; /* sorted by class and id */
	uint32_t nstrings, nclasses, nfields, nconstants;
	uint32_t class_room, field_room, constant_room;
	uint32_t strings_class;  /* index, or JFR_NONE */
	const char *why, *where; /* reason and place of a failure */
};

/*
 * Reads the header and the metadata of the chunk at p, which has up to n bytes.
 *   Errors   -EBADMSG, with why and where; -ENOMEM; close it in any case
 */
MUST_CHECK int jfr_open(struct jfr_chunk *c, const char *p, size_t n);
void jfr_close(struct jfr_chunk *c);
/* Finds the constants. Returns -E2BIG if there are more than most. */
MUST_CHECK int jfr_constants(struct jfr_chunk *c, uint32_t most);
/*
 * Takes the next event; *at is NULL at first.
 *   Shape    *type is the id of the event's class
 *   Errors   returns 1, or 0 at the end of the chunk, or -EBADMSG
 */
int jfr_event(struct jfr_chunk *c, const char **at, uint64_t *type,
              struct jfr_cursor *out);
/* Finds a class by its name, or returns JFR_NONE. */
uint32_t jfr_class(const struct jfr_chunk *c, const char *name);
/* Finds a constant, or returns NULL. */
struct jfr_constant *
jfr_constant(const struct jfr_chunk *c, uint32_t class, uint64_t id);
/* Reads the fields of a value of a class; fields that it lacks are zeroed. */
void jfr_fields(const struct jfr_chunk *c, uint32_t class,
                struct jfr_cursor *at, struct jfr_value out[JFR_NAMES]);
/* As jfr_fields(), for a constant that a value refers to. Returns false if
 * there is none. */
bool jfr_refer(const struct jfr_chunk *c, const struct jfr_value *to,
               struct jfr_value out[JFR_NAMES]);
/* Appends the text of a string, of a symbol, or of a value that has a name. */
void
jfr_text(const struct jfr_chunk *c, const struct jfr_value *v, struct buf *out);
/* Takes an integer. */
uint64_t jfr_int(struct jfr_cursor *c);
bool jfr_text_is(const struct jfr_text *t, const char *s);
