/* The cost of each source line of one function, or of each instruction, with
 * their text if the capture kept it. */
#pragma once

#include "cli.h"

/*
 * Makes a row for each line, or with --disasm each instruction, of the function
 * that --list names; with --limit, of those that cost most.
 *
 *   Shape    graph is the profile's flame graph, as format=json; path is its
 *            path on the server
 *   Owns     *out is the caller's
 *   Errors   prints an error and returns an exit status; *out untouched
 */
MUST_CHECK int
lines_rows(struct cli *c, json_t *graph, const char *path, json_t **out);
/* Appends these rows as a table for people. Errors as lines_rows(). */
MUST_CHECK int
lines_table(struct cli *c, json_t *graph, const char *path, struct buf *out);
