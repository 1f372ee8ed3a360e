/*
 * The command line client: one handler per row of commands.def.
 *
 * A handler prints results to standard output and errors to standard error, and
 * returns the program's exit status.
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
	struct screen screen;        /* of standard output */
	const char *const *operands; /* without the command's words */
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

/* Finds the command that the first words name, and the number of those words.
 * Returns NULL if there is none. */
const struct command *
command_find(const char *const *words, size_t n, size_t *out_used);

/* Returns the doc of a family, such as "service", whose commands begin with
 * this word; NULL if there is none. */
const char *command_family(const char *word);
/* Returns the length of the first sentence of doc, in bytes. */
size_t sentence_length(const char *doc);
/* Reports that the operands name no command. Returns LEAVE_USAGE. */
int unknown_command(const struct cli *c);

/* Explains PROFILE to users; named.h resolves it. */
#define PROFILE_DOC                                                          \
	"A PROFILE is an id, or an unambiguous prefix of one; @last, the "   \
	"newest complete profile; @last~1, the one before it; "              \
	"@last:SERVICE, the newest of a service, with --type of that type; " \
	"or the name of a service: its newest complete profile of --type. "  \
	"Without --type, that is goroutine for analysis and diff, and cpu "  \
	"for other commands. remove does not accept the name of a service, " \
	"and takes @last as the newest profile even if that failed or "      \
	"still runs."

#define COMMAND(part, name, usage, handler, least, most, doc, example) \
	int handler(struct cli *c);
#include "commands.def"
#undef COMMAND

/* Prints an error in the command line. Returns LEAVE_USAGE. */
int usage_error(const char *fmt, ...) PRINTF(1, 2);
/* Prints an error. Returns LEAVE_FAILED. */
int failed(const char *fmt, ...) PRINTF(1, 2);
/* The remedy if no worker answers. */
#define WORKER_REMEDY                                                 \
	"  systemctl restart stoker-worker  # on the worker's host\n" \
	"  stoker hosts                     # when each host last reported"
#define NO_WORKER "no worker answers\n" WORKER_REMEDY

/*
 * Sends a request to the server and reads the reply; prints an error if that
 * fails.
 *
 *   Owns     *out is the caller's; http_reply_done() it; body stays the
 *            caller's, and may be NULL
 *   Errors   returns LEAVE_OK for 2xx, else an exit status
 */
MUST_CHECK int ask(struct cli *c, const char *method, const char *path,
                   const json_t *body, struct http_reply *out);
/* As ask(), but a 404 is LEAVE_OK as well: the object need not exist. */
MUST_CHECK int ask_maybe(struct cli *c, const char *method, const char *path,
                         const json_t *body, struct http_reply *out);
/* As ask(), but a 503 is LEAVE_OK as well: the object may not be ready. */
MUST_CHECK int ask_early(struct cli *c, const char *method, const char *path,
                         const json_t *body, struct http_reply *out);
/* As ask(), for a POST whose body is not JSON. */
MUST_CHECK int ask_send(struct cli *c, const char *path,
                        const struct content *body, struct http_reply *out);
/* Prints an error reply. Returns the exit status. */
int tell_reply(struct cli *c, const struct http_reply *r);
/* Returns LEAVE_OK if the service exists. Otherwise prints an error, with
 * similar names, and returns an exit status. */
MUST_CHECK int need_service(struct cli *c, const char *name);
/* Adds a service that does not exist, if the user confirms it at a terminal.
 * Does nothing without a terminal. Returns an exit status. */
MUST_CHECK int service_offer(struct cli *c, const char *name);
/* Sends a GET and returns the reply's JSON; NULL on failure, which is not
 * reported. */
json_t *ask_quietly(struct cli *c, const char *path);

/* Prints a buffer. Returns LEAVE_FAILED if it is poisoned or if output
 * fails. */
int print(const struct buf *b);
/* Prints text from the server; on a terminal, with '?' in place of control
 * characters. */
int print_reply(const struct buf *b);
/* Prints JSON, indented; on a terminal as print_reply(). */
int print_json(const json_t *j);
/* Prints the outcome of a change: "NAME: removed", or JSON. */
int print_done(const struct cli *c, const char *name, const char *what);
/* Returns LEAVE_OK, or prints an error if the user named a token that cannot be
 * read. ask() calls this itself. */
MUST_CHECK int need_token(const struct cli *c);
/* True if the user can answer a question at a terminal. */
bool is_attended(void);
/*
 * Asks the user to confirm an action that cannot be undone. Asks nothing
 * without a terminal, or with --yes.
 *   Errors   LEAVE_FAILED unless the answer is yes
 */
MUST_CHECK int confirm(const struct cli *c, const char *fmt, ...) PRINTF(2, 3);
/* Appends ?key=TIME: the time that the user gave for option. Returns LEAVE_OK,
 * or prints an error and returns an exit status. */
MUST_CHECK int query_time(const struct cli *c, const char *option,
                          const char *key, const char *text, struct buf *path);

/* --- lists, page after page ----------------------------------------------- */

/* Fetches the items of a list, up to --limit; path may have a query. The caller
 * frees *out. */
MUST_CHECK int list_ask(struct cli *c, const char *path, json_t **out);
/* As list_ask(), for lists that --service filters. It is an error if the list
 * is empty because the service does not exist. */
MUST_CHECK int list_of_service(struct cli *c, const char *path, json_t **out);
/* Prints items as a table, or as JSON. */
MUST_CHECK int items_show(const struct cli *c, const json_t *items,
                          const struct column *columns, size_t n);
/* Fetches and prints a list that has no pages. */
MUST_CHECK int whole_list_show(struct cli *c, const char *path,
                               const struct column *columns, size_t n);
/* Calls list_ask() and items_show(). */
MUST_CHECK int list_show(struct cli *c, const char *path,
                         const struct column *columns, size_t n);
