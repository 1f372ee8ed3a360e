/* The tools of tools.def: questions to Stoker that are answered as text. */
#pragma once

#include "endpoint/call.h"

struct tool {
	const char *name;
	enum who who;
	const char *arguments, *doc;
	/* Appends the answer; -1 with the reply, whose message is the
	 * answer. */
	int (*run)(struct call *c, const struct tool *t,
	           const json_t *arguments, struct buf *out);
};
extern const struct tool tools[];
extern const size_t ntools;

/* Finds a tool that the caller may use; NULL when there is none. */
const struct tool *tool_find(const struct call *c, const char *name);
/*
 * Checks the arguments of the tool, and runs it.
 *   Errors   -1 with the reply
 */
MUST_CHECK int tool_run(struct call *c, const struct tool *t,
                        const json_t *arguments, struct buf *out);
/* Writes the tools that the caller may use, for tools/list. */
void tools_put(const struct call *c, struct buf *out);
