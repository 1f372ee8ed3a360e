/*
 * The command line client: one handler per row of commands.def.
 *
 * A handler prints what it found to standard output and what went wrong to
 * standard error, and returns the program's exit status.
 */
#pragma once

#include "http.h"
#include "options.h"

struct column;

enum leave {
#define LEAVE(name, status, doc) LEAVE_##name = (status),
#include "exits.def"
#undef LEAVE
};

struct cli {
	struct options opt;
	const char *const *operands; /* those after the command's words */
	size_t noperands;
	struct http http;
	const char *token_why; /* why the token could not be read, or NULL */
};

struct command {
	const char *name, *usage;
	int (*run)(struct cli *c);
	size_t least, most;
	const char *doc;
};
extern const struct command commands[];
extern const size_t command_count;

/* The command that the first operands name, and how many words it took;
 * NULL when there is none. */
const struct command *
command_find(const char *const *words, size_t n, size_t *out_used);

/* True for the first word of commands of two, as "service". */
bool command_group(const char *word);

#define COMMAND(name, usage, handler, least, most, doc) \
	int handler(struct cli *c);
#include "commands.def"
#undef COMMAND

/* Says what is wrong with the command line; LEAVE_USAGE. */
int usage_error(const char *fmt, ...) PRINTF(1, 2);
/* Says what failed; LEAVE_FAILED. */
int failed(const char *fmt, ...) PRINTF(1, 2);

/*
 * One exchange with the server; a failure is told to the user.
 *
 *   Owns     *out is the caller's; reply_done() it; body is borrowed and
 *            may be NULL
 *   Errors   returns LEAVE_OK for 2xx, else the exit status
 */
MUST_CHECK int ask(struct cli *c, const char *method, const char *path,
                   const json_t *body, struct reply *out);
/* The same of what need not be there: a reply of 404 is LEAVE_OK, too. */
MUST_CHECK int ask_maybe(struct cli *c, const char *method, const char *path,
                         const json_t *body, struct reply *out);
/* The same, a POST of bytes that are not JSON. */
MUST_CHECK int ask_send(struct cli *c, const char *path,
                        const struct content *body, struct reply *out);

/* Prints a buffer; LEAVE_FAILED when it was poisoned or output failed. */
int print(const struct buf *b);
/* Prints JSON, indented. */
int print_json(const json_t *j);
/* Prints what became of something: "NAME: removed", or as JSON. */
int print_done(const struct cli *c, const char *name, const char *what);
/* LEAVE_OK unless a token was named and can't be read: that is told. ask()
 * asks for itself. */
MUST_CHECK int need_token(const struct cli *c);
/* Columns of the terminal behind fd; 0: it is none. */
size_t screen_width(int fd);
/* A list that the API gives whole, as a table or JSON. */
MUST_CHECK int whole_list_show(struct cli *c, const char *path,
                               const struct column *columns, size_t n);
/* Every page of a list, its path with a query or without, up to --limit, as a
 * table or JSON. */
MUST_CHECK int list_show(struct cli *c, const char *path,
                         const struct column *columns, size_t n);
