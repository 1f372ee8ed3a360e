/*
 * The cache of debug files from debuginfod servers, by build-id, in one
 * directory.
 *
 * HEX.debug is such a file. If it is empty, no server had it when it was made.
 * Only the scheduler writes here, and a file is complete before it gets its
 * name. The opener hands files out. Their contents are not trusted: whoever
 * parses them compares the build-id. The modification time of a file is the
 * time of its last use.
 */
#pragma once

#include "base/conf.h"
#include "base/id.h"

#define DEBUG_CACHE_BELOW "debuginfod"      /* below the store, by default */
#define DEBUG_CACHE_NAME  64                /* file name, with its NUL */
#define DEBUG_CACHE_NO_MS INT64_C(86400000) /* validity of empty files */

enum debug_cache_state { DEBUG_CACHE_NONE, DEBUG_CACHE_NO, DEBUG_CACHE_FILE };

struct debug_cache {
	int dir; /* -1: closed */
	int64_t max_bytes;
};

/* Writes the name "aabb….debug". Shape: size up to HOST_BUILD_ID */
void debug_cache_name(const uint8_t *build_id, uint32_t size,
                      char out[static DEBUG_CACHE_NAME]);
/*
 * Opens the cache: creates the directory if necessary, and removes unfinished
 * files.
 *   Owns     *out is the caller's; debug_cache_close() it
 *   Errors   -errno; *out untouched
 */
MUST_CHECK int
debug_cache_open(const struct conf *conf, struct debug_cache *out);
void debug_cache_close(struct debug_cache *c);
/* Returns the state of a file; an empty file that is too old counts as
 * missing. */
enum debug_cache_state
debug_cache_look(const struct debug_cache *c, const char *name, int64_t now_ms);
/* Records a use of the file. */
void debug_cache_touch(const struct debug_cache *c, const char *name);
/*
 * Creates a temporary file to write to.
 *   Owns     *fd is the caller's; the file ends in debug_cache_keep() or
 *            debug_cache_drop()
 */
MUST_CHECK int debug_cache_create(const struct debug_cache *c,
                                  char temp[static ID_MAX], int *fd);
/* Gives the file its name, and removes the oldest files until the rest fits. */
MUST_CHECK int debug_cache_keep(const struct debug_cache *c, const char *temp,
                                int fd, const char *name);
void debug_cache_drop(const struct debug_cache *c, const char *temp);
/* Records that no server has the file, in place of an earlier file. */
MUST_CHECK int debug_cache_deny(const struct debug_cache *c, const char *name);
