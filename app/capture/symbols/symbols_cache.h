/*
 * A cache of facts about programs and libraries, kept across captures.
 *
 * A piece is a run of bytes under a key: a symbol table, the index of one DWARF
 * unit, the functions at one address. Hostile files are parsed in a forked
 * child only. Its results come back through a file, whose bytes the parent
 * keeps without parsing them. The next child inherits the pieces, and checks
 * each that it opens: a file that crashes the parser costs only its own
 * capture.
 *
 *	parent: symbols_cache_new; fork
 *	child:  symbols_cache_find, symbols_cache_add, symbols_cache_send; exit
 *	parent: symbols_cache_learn
 *
 * Files are identified by device, inode, size and change time, as reported by
 * the kernel, rather than by build-id: anyone may copy a build-id into a file,
 * which would then name the functions of another tenant's capture.
 *
 *   Threads  one at a time
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

#define SYMBOLS_MAX_PIECE  ((size_t)512 << 20) /* bytes */
#define SYMBOLS_MAX_PIECES (1u << 16)
#define SYMBOLS_ENTRY      ((size_t)160) /* overhead of a piece, bytes */

enum symbols_kind {
	SYMBOLS_KERNEL,
	SYMBOLS_TABLE,    /* symtab.h */
	SYMBOLS_SECTIONS, /* dwarf_sections.h */
	SYMBOLS_SHARED,   /* sections of the file that debug files share */
	SYMBOLS_UNITS,    /* dwarf_file.h  */
	SYMBOLS_UNIT,     /* dwarf_unit.h */
	SYMBOLS_ANSWER,   /* symbols_answer.h */
};

struct symbols_file {
	uint64_t dev, ino, size, changed_ns; /* all 0: no file */
};

/* A key has no padding, since keys are compared as bytes. */
struct symbols_key {
	uint64_t kind;
	uint64_t part; /* a unit's offset, an answer's address, or 0 */
	struct symbols_file image, debug, shared;
};

struct symbols_piece {
	const void *p; /* aligned for any type */
	size_t n;
};

struct symbols_cache;

/*
 * Makes a cache; symbols_cache_learn keeps it within max_bytes and
 * SYMBOLS_MAX_PIECES. A piece above half of max_bytes is not reported to the
 * parent, since it would evict the others. Returns NULL when out of memory.
 */
struct symbols_cache *symbols_cache_new(size_t max_bytes);
void symbols_cache_free(struct symbols_cache *c);
DEFINE_CLEANUP(struct symbols_cache *, symbols_cache_free)
#define CLEANUP_SYMBOLS_CACHE CLEANUP(symbols_cache_free_ptr)

/* Identifies the file behind fd; false when fd can't be identified. */
MUST_CHECK bool symbols_file_of(int fd, struct symbols_file *out);

/* Finds the piece of a key, valid until symbols_cache_learn or _free. */
MUST_CHECK bool
symbols_cache_find(struct symbols_cache *c, const struct symbols_key *key,
                   struct symbols_piece *out);
/*
 * Adds a piece; no other is evicted, since pieces are in use.
 *
 *   Owns     the bytes are taken over, and bytes is empty afterwards
 *   Errors   the poison of bytes, -EEXIST, -ENOMEM; bytes is then unchanged
 */
MUST_CHECK int
symbols_cache_add(struct symbols_cache *c, const struct symbols_key *key,
                  struct buf *bytes, struct symbols_piece *out);
/*
 * Reports the pieces that were added, and the keys of those found, since the
 * fork. Pieces of an image that is not a file are left out.
 *   Errors   -errno of write
 */
MUST_CHECK int symbols_cache_send(const struct symbols_cache *c, int fd);
/*
 * Reads a child's report; then evicts the least recently used pieces until the
 * rest is within max_bytes.
 *
 *   Errors   -EBADMSG malformed, -EIO, -ENOMEM; pieces before the error are
 *            kept
 */
MUST_CHECK int symbols_cache_learn(struct symbols_cache *c, int fd);
/* Returns the bytes of all pieces, with SYMBOLS_ENTRY for each. */
size_t symbols_cache_bytes(const struct symbols_cache *c);
