/*
 * Debug files that debuginfod servers gave, by build-id, in one directory.
 *
 * HEX.debug is such a file; an empty one says that no server had it at the
 * time it was made. The scheduler alone writes here: a file is complete
 * before it has its name. The opener hands files out. Nobody vouches for
 * what is in them: their build-id is compared where they are parsed. When a
 * file was last used is its time of modification.
 */
#pragma once

#include "base/conf.h"
#include "base/id.h"

#define DEBUG_CACHE_BELOW "debuginfod"      /* of the store, by default */
#define DEBUG_CACHE_NAME  64                /* of a file, with its NUL */
#define DEBUG_CACHE_NO_MS INT64_C(86400000) /* how long a no is believed */

enum debug_cache_state { DEBUG_CACHE_NONE, DEBUG_CACHE_NO, DEBUG_CACHE_FILE };

struct debug_cache {
	int dir; /* -1: closed */
	int64_t max_bytes;
};

/* "aabb….debug". Shape: size as of HOST_BUILD_ID */
void debug_cache_name(const uint8_t *build_id, uint32_t size,
                      char out[static DEBUG_CACHE_NAME]);
/*
 * Makes the directory where there is none, removes unfinished files.
 *   Owns     *out is the caller's; debug_cache_close() it
 *   Errors   -errno; *out untouched
 */
MUST_CHECK int
debug_cache_open(const struct conf *conf, struct debug_cache *out);
void debug_cache_close(struct debug_cache *c);
/* What is known of one; a no that is too old is none. */
enum debug_cache_state
debug_cache_look(const struct debug_cache *c, const char *name, int64_t now_ms);
/* It was used now. */
void debug_cache_touch(const struct debug_cache *c, const char *name);
/*
 * A file to write to, which has no name of use yet.
 *   Owns     *fd is the caller's; the file ends in debug_cache_keep() or
 *            debug_cache_drop()
 */
MUST_CHECK int debug_cache_create(const struct debug_cache *c,
                                  char temp[static ID_MAX], int *fd);
/* Makes it the file of that name; then the oldest go until all fit. */
MUST_CHECK int debug_cache_keep(const struct debug_cache *c, const char *temp,
                                int fd, const char *name);
void debug_cache_drop(const struct debug_cache *c, const char *temp);
/* Nobody has it: remembered, in place of what there is. */
MUST_CHECK int debug_cache_deny(const struct debug_cache *c, const char *name);
