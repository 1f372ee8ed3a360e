/*
 * Debug files that clients push, by build-id: they name frames of profiles that
 * were pushed, uploaded or captured without names.
 *
 * A file belongs to a tenant, and names no frame of another one. The API stores
 * its bytes as they came; a child of the analyser is the first to parse them,
 * and refuses a file that does not have its build-id. A program may have other
 * identifiers besides: Go's build ID, and OpenTelemetry's htlhash; whoever
 * pushes the file names them.
 *
 * A new file queues again what it may name: modules of pushed frames
 * (store/names.h), and profiles that want its build-id, the newest
 * DEBUG_FILE_SESSIONS of those that nobody has asked for yet.
 */
#pragma once

#include "store/blob.h"

#define DEBUG_FILE_PREFIX "dbg-"
#define DEBUG_FILE_ID_MAX 200 /* characters of an identifier */
#define DEBUG_FILE_WANTED 62  /* build-ids of a session that are kept */

#define DEBUG_FILE_SESSIONS 1000

struct debug_file {
	char *id, *tenant, *name;
	char *build_id, *go_id, *htlhash; /* the latter two: "" for none */
	char *state; /* "stored", "used" or "refused", see below */
	char *created_by;
	int64_t bytes, created_ms;
	int64_t used_ms; /* when it last gave names, else created_ms */
};
struct debug_file_list {
	struct debug_file *items;
	size_t n;
	char *next; /* cursor; NULL on the last page */
};
#define CLEANUP_DEBUG_FILE  CLEANUP(debug_file_done)
#define CLEANUP_DEBUG_FILES CLEANUP(debug_file_list_done)

void debug_file_done(struct debug_file *f);
void debug_file_list_done(struct debug_file_list *l);

/*
 * Adds a file in the caller's transaction, in place of one of that build-id.
 *
 *   Shape    of f, tenant, name, the identifiers and created_by are used
 *   Errors   -EXFULL as quota_check(); those of the store
 */
MUST_CHECK int debug_file_add(struct store *s, const struct debug_file *f,
                              const struct blob *b, char out[static ID_MAX]);
MUST_CHECK int debug_file_get(struct store *s, const char *tenant,
                              const char *id, struct debug_file *out);
/*
 * Lists files, newest first.
 *   Shape    build_id: one of the identifiers; "": all files
 *   Errors   -EINVAL bad cursor or limit
 */
MUST_CHECK int
debug_file_list(struct store *s, const char *tenant, const char *build_id,
                struct page page, struct debug_file_list *out);
/* Deletes a file; -ENOENT. What it has named keeps its names. */
MUST_CHECK int
debug_file_delete(struct store *s, const char *tenant, const char *id);
/*
 * Deletes files that gave no names for this long, and then, until the rest is
 * within max_bytes, the least recently used of whichever tenant holds the most.
 * Returns their number.
 */
MUST_CHECK int
debug_file_retain(struct store *s, int64_t max_bytes, int64_t max_age_ms);

/*
 * Records the programs of which a session has frames without names, in the
 * caller's transaction: DEBUG_FILE_WANTED of n at most. If the tenant has a
 * file of one of them, the session is queued to be named.
 */
MUST_CHECK int debug_file_want(struct store *s, const char *session,
                               const char *const *build_ids, size_t n);

/* --- the worker's side ---------------------------------------------------- */

/* A file, and the identifier of the program for which it was found. */
struct debug_file_use {
	char *wanted, *id, *build_id;
};
struct debug_file_uses {
	struct debug_file_use *items;
	size_t n;
};
#define CLEANUP_DEBUG_FILE_USES CLEANUP(debug_file_uses_done)
void debug_file_uses_done(struct debug_file_uses *l);
/* Finds the file of a program by one of its identifiers. */
MUST_CHECK int debug_file_of(struct store *s, const char *tenant,
                             const char *wanted, struct debug_file_uses *out);
/* Sets *out to 1 if the tenant has files, and to 0 if not. */
MUST_CHECK int
debug_file_any(struct store *s, const char *tenant, int64_t *out);
/* Finds the file of each program that a session wants, DEBUG_FILE_WANTED at
 * most: first those that have named nothing yet. */
MUST_CHECK int
debug_file_of_session(struct store *s, const char *tenant, const char *session,
                      struct debug_file_uses *out);
/* Records that the file gave names, or that its bytes are not of its build-id
 * or name no function. */
MUST_CHECK int debug_file_report(struct store *s, const char *id, bool refused);
