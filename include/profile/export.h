/*
 * Views of a profile as bytes: one writer per row of formats.def.
 *
 * A writer appends to out, whose ceiling bounds the size. It depends on its
 * arguments alone, so that it can be tested with recorded profiles.
 */
#pragma once

#include "profile/tree.h"

struct timeline;
struct listing_source;

struct export_meta {
	const char *title;   /* "ai-service cpu" */
	const char *id;      /* session */
	const char *service; /* NUL-terminated; may hold any bytes */
	const char *type;    /* row of types.def */
	int64_t time_ms, duration_ms;
	const char *quality; /* the capture's quality report, JSON; NULL or ""
	                        if there is none */
	const struct timeline *timeline; /* of the same capture, or NULL */
	/* for listings: sources of text, in the order they are tried */
	const struct listing_source *listings;
	uint32_t nlistings;
	/* for pictures: */
	uint32_t root;      /* node of the tree to show; 0: all */
	const char *search; /* marks matching functions; NULL: none */
	/* for lines and listings: */
	const char *function; /* only its lines; NULL: those of all */
};

/* Uses of a format: see formats.def. */
enum format_use {
	FORMAT_SHOWN,
	FORMAT_SAVED,
	FORMAT_READ,
	FORMAT_TIMED,
	FORMAT_LISTED,
	FORMAT_STORED,
};

struct format {
	const char *name;         /* value of ?format= */
	const char *content_type; /* with charset */
	const char *extension;
	enum format_use use;
	const char *doc;
	/* Appends the view. Returns -ENOMEM or -E2BIG with out poisoned. */
	int (*write)(const struct tree *t, const struct export_meta *meta,
	             struct buf *out);
};

extern const struct format formats[];
extern const size_t nformats;

/* Finds a format by name; NULL if there is none. */
const struct format *format_find(const char *name);
