/*
 * What was worked out of programs and libraries, kept across captures.
 *
 * A piece is a run of bytes under a key: a symbol table, the index of one
 * DWARF unit, the functions at one address. Hostile files are parsed in a
 *forked child only; what it learns comes back through a file, and its parent
 *keeps those bytes without looking into them. The next child inherits them, and
 *whoever opens a piece checks it: a file that crashes the parser costs its own
 *capture.
 *
 *	parent: symbols_cache_new; fork
 *	child:  symbols_cache_find, symbols_cache_add, symbols_cache_tell; exit
 *	parent: symbols_cache_learn
 *
 * Files are known by device, inode, size and change time, as the kernel
 * tells them, not by build-id: anyone may copy that into a file of his own
 * and would then name the functions of another's capture.
 *
 *   Threads  one at a time
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

#define SYMBOLS_MAX_PIECE  ((size_t)512 << 20) /* bytes */
#define SYMBOLS_MAX_PIECES (1u << 16)
#define SYMBOLS_ENTRY      ((size_t)160) /* bytes of a piece besides its own */

enum symbols_kind {
	SYMBOLS_KERNEL,
	SYMBOLS_TABLE,    /* symtab.h */
	SYMBOLS_SECTIONS, /* dwarf_sections.h */
	SYMBOLS_SHARED,   /* the same, of the file that debug files share */
	SYMBOLS_UNITS,    /* dwarf_file.h  */
	SYMBOLS_UNIT,     /* dwarf_unit.h */
	SYMBOLS_ANSWER,   /* symbols_answer.h */
	SYMBOLS_KINDS
};

struct symbols_file {
	uint64_t dev, ino, size, changed_ns; /* all 0: no file */
};

/* No padding: keys are compared as bytes. */
struct symbols_key {
	uint64_t kind;
	uint64_t part; /* a unit's offset; an answer's address; else 0 */
	struct symbols_file image, debug, shared;
};

struct symbols_piece {
	const void *p; /* aligned for any type */
	size_t n;
};

struct symbols_cache;

/* max_bytes and SYMBOLS_MAX_PIECES bound what symbols_cache_learn leaves.
 * A piece above half of max_bytes is not handed on: it would drive out the
 * others. NULL: out of memory */
struct symbols_cache *symbols_cache_new(size_t max_bytes);
void symbols_cache_free(struct symbols_cache *c);
DEFINE_CLEANUP(struct symbols_cache *, symbols_cache_free)
#define CLEANUP_SYMBOLS_CACHE CLEANUP(symbols_cache_free_ptr)

/* What the file behind fd is known by; false: fd can't tell. */
MUST_CHECK bool symbols_file_of(int fd, struct symbols_file *out);

/* The piece under key; it stays until symbols_cache_learn or _free. */
MUST_CHECK bool
symbols_cache_find(struct symbols_cache *c, const struct symbols_key *key,
                   struct symbols_piece *out);
/*
 * Adds what was worked out; nothing is evicted, for pieces are in use.
 *
 *   Owns     the bytes are taken over, bytes is empty afterwards
 *   Errors   the poison of bytes, -EEXIST, -ENOMEM; then bytes stay
 */
MUST_CHECK int
symbols_cache_add(struct symbols_cache *c, const struct symbols_key *key,
                  struct buf *bytes, struct symbols_piece *out);
/*
 * Writes what was added, and names what was found, since the fork. Pieces of
 * an image that is no file are left out.
 *   Errors   -errno of write
 */
MUST_CHECK int symbols_cache_tell(const struct symbols_cache *c, int fd);
/*
 * Takes in what a child told; then what was not used for longest goes until
 * the rest is within max_bytes.
 *
 *   Errors   -EBADMSG it is not so, -EIO, -ENOMEM; what came before is kept
 */
MUST_CHECK int symbols_cache_learn(struct symbols_cache *c, int fd);
/* Bytes of all pieces, SYMBOLS_ENTRY each included. */
size_t symbols_cache_bytes(const struct symbols_cache *c);
