/* Stored profiles in one of the formats of formats.def. */
#pragma once

#include "endpoint/call.h"
#include "profile/export.h"
#include "profile/sift.h"
#include "store/blob.h"
#include "store/session.h"

/* The part of a profile to show; NULL: all. */
struct view_of {
	const char *value; /* name of the values to show; NULL: those of the
	                      profile's type. A stored file has all values */
	/* for a picture, as the parameters root and search: */
	const char *root, *search;
	const char *function; /* for lines, as the parameter function */
	struct sift sift;
};

/* Parameters of an operation that select a part of a profile. */
struct view_rows {
	enum param root, search, function, focus, hide, fold, fold_package,
		fold_kind, focus_text, hide_text, fold_text, sample;
};
#define VIEW_ROWS(op)                                                        \
	(&(const struct view_rows){                                          \
		P_##op##_root, P_##op##_search, P_##op##_function,           \
		P_##op##_focus, P_##op##_hide, P_##op##_fold,                \
		P_##op##_foldPackage, P_##op##_foldKind, P_##op##_focusText, \
		P_##op##_hideText, P_##op##_foldText, P_##op##_sample})

/* Reads these parameters; value stays NULL. Everything is borrowed from c. */
struct view_of view_asked(struct call *c, const struct view_rows *rows);
/* Reads labels of samples, such as sample.http.route=/cart; all are borrowed
 * from c. */
void view_labels(const struct call *c, enum param p, struct sift *out);
/*
 * Appends the selection that is shown, as part of the text that an ETag is made
 * from.
 */
void view_made_of(const struct view_of *of, struct buf *out);
uint32_t view_hash(const struct view_of *of);
/* Fills the reply's body, or names the file for nginx to send. Returns 0, or -1
 * with the reply. */
MUST_CHECK int
view_render(struct call *c, const struct session *s, const struct format *f,
            const struct view_of *of, const struct blob *b);
/* Filters a profile in place by of->sift, and renders it. */
MUST_CHECK int
view_profile(struct call *c, const struct session *s, const struct format *f,
             const struct view_of *of, struct profile *p);
/* Renders a gzipped file, rather than a page. */
MUST_CHECK int view_gzipped(struct call *c, const struct session *s,
                            const struct format *f, const struct blob *b);
/* Profiles never change, but a link does after an hour. */
#define VIEW_CACHE "private, max-age=3600"
/* New windows may join a range at any time: clients revalidate by ETag. */
#define VIEW_CACHE_RANGE "private, no-cache"
/* Sets the headers of a view; format is the parameter that may name it, cache
 * the Cache-Control. */
void view_headers(struct call *c, enum param format, const char *cache);
/* Returns "inline" for a format that browsers show, else "attachment". */
const char *view_disposition(const struct format *f);
/* Starts the success reply: append the view to its body. */
void view_begin(struct call *c, const struct format *f);
