/*
 * The command line as one struct: a field per row of options.def.
 *
 * Options and operands mix freely; "--" ends the options. A value follows
 * its option or an '='.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

#define LIST_MAX 16

struct words {
	const char *p[LIST_MAX];
	size_t n;
};

enum {
	OPTION_COUNT = 0
#define OPTION(field, scope, kind, arg, doc, params) +1
#include "options.def"
#undef OPTION
};

/* Borrowed from argv. Absent: NULL, -1, false, n = 0. */
struct options {
#define OPTION_TEXT                                  const char *
#define OPTION_NUMBER                                int64_t
#define OPTION_SECONDS                               int64_t
#define OPTION_DAYS                                  int64_t
#define OPTION_FLAG                                  bool
#define OPTION_LIST                                  struct words
#define OPTION(field, scope, kind, arg, doc, params) OPTION_##kind field;
#include "options.def"
#undef OPTION
	const char *typed[OPTION_COUNT]; /* each value as written */
	const char *const *operands;     /* NULL ends them */
	size_t noperands;
	size_t nbefore; /* operands before "--"; all without "--" */
};

/* One row, for help. */
struct option_row {
	const char *name; /* "--token-file" */
	const char *arg, *doc;
	const char *parameters; /* names in the API, separated by spaces */
	bool global;
};
struct option_row option_row(size_t i);

/* Returns the MEANING of an option for the command with these words, or else
 * the option's general doc. Valid until the next call. */
const char *option_doc(size_t i, const char *command);

/* An option of the command line. */
struct option_given {
	const char *name;  /* "--seconds" */
	const char *value; /* as the user wrote it; NULL for a list */
	const char *count; /* how to write a number; NULL for a text */
	const char *unit;  /* the API's unit: "seconds", or "" */
};
/* Finds the option that was given for a parameter of the API. Returns false if
 * there is none. */
bool option_of(const struct options *o, const char *parameter,
               struct option_given *out);

/*
 * Reads the arguments from argv[1] on, and moves the operands among them to
 * the front, from argv[1] on.
 *   Errors   -EINVAL with one line in *why; *out untouched
 */
MUST_CHECK int
options_parse(int argc, char *argv[], struct options *out, struct buf *why);
/*
 * Refuses options that are neither global nor named by a command's usage.
 *   Errors   -EINVAL with one line in *why
 */
MUST_CHECK int
options_fit(const struct options *o, const char *usage, struct buf *why);
/* True if usage names the option. */
bool usage_names(const char *usage, const char *option);
