/*
 * The command line client: one handler per row of commands.def.
 *
 * A handler prints what it found to standard output and what went wrong to
 * standard error, and returns the program's exit status.
 */
#pragma once

#include "http.h"
#include "options.h"
#include "screen.h"

struct column;

enum leave {
#define LEAVE(name, status, doc) LEAVE_##name = (status),
#include "exits.def"
#undef LEAVE
};

struct cli {
	struct options opt;
	struct screen screen;        /* standard output's */
	const char *const *operands; /* those after the command's words */
	size_t noperands;
	struct http http;
	const char *token_why; /* why the token could not be read, or NULL */
};

enum part {
#define PART(part, title) PART_##part,
#include "commands.def"
#undef PART
	PARTS
};

struct command {
	enum part part;
	const char *name, *usage;
	size_t least, most;
	const char *doc, *example;
};
extern const struct command commands[];
extern const size_t command_count;

/* The command that the first operands name, and how many words it took;
 * NULL when there is none. */
const struct command *
command_find(const char *const *words, size_t n, size_t *out_used);

/* The purpose of all commands of two words that begin with this one, such as
 * "service"; NULL for any other word. */
const char *command_family(const char *word);
/* Bytes of the first sentence of a row's doc. */
size_t sentence_length(const char *doc);
/* Says that no command is called as the operands are; LEAVE_USAGE. */
int unknown_command(const struct cli *c);

/* How a PROFILE is named on the command line: named.h. */
#define PROFILE_DOC                                                          \
	"A PROFILE is an id, or as much of its beginning as no other has; "  \
	"@last, the newest complete profile; @last~1, the one before it; "   \
	"@last:SERVICE, the newest of a service, with --type of that type; " \
	"or the name of a service: its newest complete profile of --type, "  \
	"or of the type that the command is for. That is goroutine for "     \
	"analysis and diff, and cpu for others. remove takes no name of a "  \
	"service, and @last is then the newest profile even if it failed "   \
	"or still runs."

#define COMMAND(part, name, usage, handler, least, most, doc, example) \
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
 *   Owns     *out is the caller's; http_reply_done() it; body is borrowed and
 *            may be NULL
 *   Errors   returns LEAVE_OK for 2xx, else the exit status
 */
MUST_CHECK int ask(struct cli *c, const char *method, const char *path,
                   const json_t *body, struct reply *out);
/* As ask(), for what need not be there: a reply of 404 is LEAVE_OK, too. */
MUST_CHECK int ask_maybe(struct cli *c, const char *method, const char *path,
                         const json_t *body, struct reply *out);
/* As ask(), for what may not be ready: a reply of 503 is LEAVE_OK, too. */
MUST_CHECK int ask_early(struct cli *c, const char *method, const char *path,
                         const json_t *body, struct reply *out);
/* As ask(), a POST of bytes that are not JSON. */
MUST_CHECK int ask_send(struct cli *c, const char *path,
                        const struct content *body, struct reply *out);
/* Tells the user of an error reply; the exit status. */
int tell_reply(struct cli *c, const struct reply *r);
/* LEAVE_OK when there is a service of that name; else an exit status, told to
 * the user with the name that was meant. */
MUST_CHECK int need_service(struct cli *c, const char *name);
/* A GET whose failure is nobody's concern: what it answered, or NULL. */
json_t *ask_quietly(struct cli *c, const char *path);

/* Prints a buffer; LEAVE_FAILED when it was poisoned or output failed. */
int print(const struct buf *b);
/* Prints JSON, indented. */
int print_json(const json_t *j);
/* Prints what became of something: "NAME: removed", or as JSON. */
int print_done(const struct cli *c, const char *name, const char *what);
/* LEAVE_OK unless a token was named and can't be read: that is told. ask()
 * asks for itself. */
MUST_CHECK int need_token(const struct cli *c);
/* True when somebody sits at a terminal whom a question reaches. */
bool is_attended(void);
/*
 * Asks the user before something is done that cannot be undone. Where nobody
 * sits at a terminal, or --yes was given, nothing is asked.
 *   Errors   LEAVE_FAILED unless the answer is yes
 */
MUST_CHECK int confirm(const struct cli *c, const char *fmt, ...) PRINTF(2, 3);
/* Appends ?key=TIME, a time that --option, or an operand, was given as.
 *   Errors   an exit status, told to the user */
MUST_CHECK int query_time(const struct cli *c, const char *option,
                          const char *key, const char *text, struct buf *path);

/* --- lists, page after page ----------------------------------------------- */

/* All items of a list, its path with a query or without, up to --limit.
 *   Owns     *out is the caller's */
MUST_CHECK int list_ask(struct cli *c, const char *path, json_t **out);
/* As list_ask(), for what --service filters: an empty list of a service that
 * does not exist is an error. */
MUST_CHECK int list_of_service(struct cli *c, const char *path, json_t **out);
/* Items as a table, or as JSON. */
MUST_CHECK int items_show(const struct cli *c, const json_t *items,
                          const struct column *columns, size_t n);
/* A list that the API gives whole, as a table or JSON. */
MUST_CHECK int whole_list_show(struct cli *c, const char *path,
                               const struct column *columns, size_t n);
/* list_ask() and items_show(). */
MUST_CHECK int list_show(struct cli *c, const char *path,
                         const struct column *columns, size_t n);
