/*
 * Identifies the layout of an OTLP profile by its fields, and names the fields
 * by a row instead of a number.
 */
#pragma once

#include "base/buf.h"
#include "profile/stored/otlp_fields.h"

struct otlp_row {
	enum otlp_message message;
	const char *name; /* "TIME_UNIX_NANO" */
	enum otlp_kind kind;
	enum otlp_message of; /* if it is a message */
	uint8_t number[OTLP_LAYOUTS];
};
/* All fields, by enum otlp_field; the first row stands for no field. */
extern const struct otlp_row otlp_rows[OTLP_FIELDS];

#define OTLP_ALL_LAYOUTS ((1u << OTLP_LAYOUTS) - 1)
/* Returns the layouts that have a field, as bits. */
unsigned otlp_layouts(enum otlp_field f);

struct otlp_shape {
	enum otlp_layout layout;
	/* fields by message and number */
	uint8_t at[OTLP_MESSAGES][OTLP_MAX_NUMBER];
	/* messages of the file, by kind, and its strings */
	uint32_t messages[OTLP_MESSAGES], strings;
};

/*
 * Finds the layout of a file among those in layouts; the newest if its fields
 * fit several.
 *
 *   Errors   -EBADMSG malformed; -EPROTONOSUPPORT no layout fits, with the
 *            reason in why
 */
MUST_CHECK int otlp_shape(struct wire file, unsigned layouts,
                          struct otlp_shape *out, struct buf *why);
/*
 * Reads the next field of a message. Its name is in *field: OTLP_NO_FIELD if
 * the layout does not have it, or has it with another wire type.
 *   Errors   as wire_next()
 */
MUST_CHECK int
otlp_next(const struct otlp_shape *s, enum otlp_message m, struct wire *w,
          struct wire_field *f, enum otlp_field *field);
