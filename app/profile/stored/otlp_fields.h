/*
 * The messages and fields of OTLP profiles, as otlp.def lists them, and the
 * names of the attributes that have a meaning here.
 */
#pragma once

#include "wire.h"

#include <stdbool.h>

enum otlp_message {
	OTLP_DATA,
	OTLP_DICTIONARY,
	OTLP_RESOURCES,
	OTLP_RESOURCE,
	OTLP_SCOPES,
	OTLP_SCOPE,
	OTLP_PROFILE,
	OTLP_VALUE_TYPE,
	OTLP_SAMPLE,
	OTLP_MAPPING,
	OTLP_LOCATION,
	OTLP_LINE,
	OTLP_FUNCTION,
	OTLP_STACK,
	OTLP_LINK, /* for messages of which nothing is read */
	OTLP_ATTRIBUTE,
	OTLP_KEY_VALUE,
	OTLP_ANY,
	OTLP_ARRAY,
	OTLP_MESSAGES
};

enum otlp_kind {
	OTLP_KIND_NUMBER,
	OTLP_KIND_NUMBERS, /* packed */
	OTLP_KIND_FIXED,
	OTLP_KIND_TIMES, /* packed: varints in 1.7, 8 bytes each since */
	OTLP_KIND_DOUBLE,
	OTLP_KIND_TEXT,
	OTLP_KIND_BYTES,
	OTLP_KIND_MESSAGE,
};

enum otlp_layout { OTLP_1_7, OTLP_1_8, OTLP_1_9, OTLP_1_10, OTLP_LAYOUTS };

/* A field, such as OTLP_SAMPLE_VALUES. */
enum otlp_field {
	OTLP_NO_FIELD,
#define OTLP(message, field, kind, of, n7, n8, n9, n10) \
	OTLP_##message##_##field,
#include "otlp.def"
#undef OTLP
	OTLP_FIELDS
};

/* Numbers of fields in the newest layout: OTLP_N_SAMPLE_VALUES. */
enum otlp_number {
#define OTLP(message, field, kind, of, n7, n8, n9, n10) \
	OTLP_N_##message##_##field = (n10),
#include "otlp.def"
#undef OTLP
};

#define OTLP_MAX_NUMBER 16 /* above all numbers of fields */

/* Attributes: of mappings, locations, profiles and scopes.
 * Source: OpenTelemetry's semantic conventions, registry of pprof and
 * process. */
#define OTLP_BUILD_ID      "process.executable.build_id."
#define OTLP_GNU           OTLP_BUILD_ID "gnu"
#define OTLP_GO            OTLP_BUILD_ID "go"
#define OTLP_HTLHASH       OTLP_BUILD_ID "htlhash"
#define OTLP_HAS_FUNCTIONS "pprof.mapping.has_functions"
#define OTLP_HAS_FILES     "pprof.mapping.has_filenames"
#define OTLP_HAS_LINES     "pprof.mapping.has_line_numbers"
#define OTLP_HAS_INLINES   "pprof.mapping.has_inline_frames"
#define OTLP_IS_FOLDED     "pprof.location.is_folded"
#define OTLP_COMMENT       "pprof.profile.comment"
#define OTLP_DROP_FRAMES   "pprof.profile.drop_frames"
#define OTLP_KEEP_FRAMES   "pprof.profile.keep_frames"
#define OTLP_DOC_URL       "pprof.profile.doc_url"
#define OTLP_DEFAULT_TYPE  "pprof.scope.default_sample_type"
#define OTLP_TYPE_ORDER    "pprof.scope.sample_type_order"
