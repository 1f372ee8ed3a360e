/*
 * The container, unit, script or program that a process of a survey belongs to,
 * as people think of it.
 */
#pragma once

#include "base/buf.h"
#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>

#define SERVICE_NAME_MAX 64 /* with a NUL */

/* Appends the name of the container, unit, script or program; paths are whole.
 */
void program_title(const json_t *process, struct buf *out);
/* Returns a match for the process and its successors after a restart; NULL if
 * there is none. */
json_t *program_match(const json_t *process);
/*
 * Sets a match from the value of an option of stoker run: "shop/web" of pod is
 * {"pod": {"namespace": "shop", "name": "web"}}. NULL sets nothing.
 *   Errors   -1 if the word has another form, or is not UTF-8
 */
MUST_CHECK int
program_set_match(json_t *match, const char *kind, const char *word);
/* Appends the options of stoker run that select it: "--unit nginx.service". */
void program_options(const json_t *process, struct buf *out);
/* Returns the language of a process by its interpreter's name or, on this host,
 * "go" or "native" by its executable; "" if unknown. */
const char *program_language(const json_t *process, const char *host);
/* Makes a service's name from a title: "postgresql-15-main" of
 * "postgresql@15-main.service", "srv.py" of "/opt/srv.py"; "" if no character
 * is allowed in one. */
void program_name(const char *title, char out[static SERVICE_NAME_MAX]);
/* Appends a word for a shell, quoted if necessary. */
void shell_word(const char *word, struct buf *out);
/* True if this is a Go program's executable, or its beginning.
 *   Source   cmd/link/internal/ld/elf.go, elfgobuildid: a note of the owner
 *            "Go", type 4, near the start of the file */
bool program_is_go(const void *p, size_t n);
