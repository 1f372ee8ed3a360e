/*
 * A store with some contents, and directories for its backups and for restored
 * stores. All are removed after the test.
 */
#pragma once

#include "lib/store.h"
#include "store/verify.h"

#define STOCK_PROFILES 3
#define STOCK_WINDOWS  4 /* windows in one segment, STOCK_WINDOW bytes each */
#define STOCK_WINDOW   20000

struct stock {
	struct test_store t;
	char root[64];
	char backup[96];   /* below root, absent */
	char restored[96]; /* below root, absent */
	char profile[STOCK_PROFILES][ID_MAX];
};
#define CLEANUP_STOCK CLEANUP(stock_done)

struct stock stock(void);
void stock_done(struct stock *k);

/* Removes everything below root whose name begins with prefix. */
void stock_clear(const struct stock *k, const char *prefix);
/* Stores a completed session with these bytes. */
void stock_profile(struct store *s, const char *text, char id[static ID_MAX]);
/* Stores windows of 2024 in a new segment; returns their ids. */
void stock_windows(struct store *s, char ids[STOCK_WINDOWS][ID_MAX]);
/* Makes a backup, which must succeed. */
struct backup_report stock_backup(const struct stock *k);
/* Makes a backup, which must fail with this error and these words. */
void stock_no_backup(const char *store, const char *dir, int expected,
                     const char *words);
/* Counts files and folders in a folder whose names contain part. */
int stock_count(const char *dir, const char *part);
/* The outcome of a restore. */
struct stock_restored {
	int rc;
	struct backup backup;
	char why[512], aside[256];
};
struct stock_restored
stock_try(const struct stock *k, const char *to, bool replace);
/* Restores a backup; this must succeed, or fail with the expected error and
 * words. */
struct stock_restored
stock_restore(const struct stock *k, const char *to, bool replace);
void stock_refuse(const struct stock *k, const char *to, bool replace,
                  int expected, const char *words);
/* Finds the file of a profile and its folder in a store. */
void stock_file(const struct stock *k, int i, char folder[static 64],
                char file[static 128]);
/* Counts flaws, all of which must be of this kind. */
int64_t stock_flaws(const char *dir, bool in_backup, enum flaw_kind kind);
/* Verifies a store or backup that must be undamaged. */
void stock_whole(const char *dir, bool in_backup);
/* Reads the bytes of a session's profile; "" if it has none. */
void stock_read(struct store *s, const char *session, struct buf *out);
/* Returns "DIR/name", in a buffer that the next call reuses. */
const char *stock_path(const char *dir, const char *name);
/* Runs SQL as an administrator with sqlite3(1) would, without foreign keys. */
void stock_sql(const char *database, const char *sql);
/* Finds the database of the backup; stock_agree() updates the manifest after
 * the database was changed. Uses the buffer of stock_path(). */
const char *stock_database(const struct stock *k);
void stock_agree(const struct stock *k);
