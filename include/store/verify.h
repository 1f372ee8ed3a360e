/*
 * Verifies a store or a backup: the database's pages and references, then the
 * bytes of every row by length and checksum, and in a store also files without
 * a row.
 *
 * A store may be in use meanwhile. Bytes whose row a writer is about to insert,
 * and rows that are deleted during the check, are not flaws.
 */
#pragma once

#include "store/backup.h"

/* A file written to more recently is not reported as an orphan. */
#define VERIFY_YOUNG_MS INT64_C(900000)

enum flaw_kind {
#define FLAW(kind, name, store, backup) FLAW_##kind,
#include "store/flaws.def"
#undef FLAW
	FLAW_KINDS
};

struct flaw {
	enum flaw_kind kind;
	const char *where; /* a file below the directory, and its owner */
	const char *what;
};

const char *flaw_name(enum flaw_kind kind);
/* Returns the remedy for a kind of flaw, one line. */
const char *flaw_fix(enum flaw_kind kind, bool in_backup);

/*
 * Verifies a store, and calls found with each flaw; *out counts the store's
 * contents.
 *
 *   Errors   as db_open() when there is nothing to verify, with one line in
 *            *why
 */
typedef void verify_found(void *arg, const struct flaw *f);
MUST_CHECK int store_verify(const char *dir, verify_found *found, void *arg,
                            struct backup *out, struct buf *why);
/* Verifies a backup; -ENOMEDIUM when there is none in dir. */
MUST_CHECK int backup_verify(const char *dir, verify_found *found, void *arg,
                             struct backup *out, struct buf *why);
