/*
 * Finds functions and methods written in PHP, in processes that run PHP 7.4 to
 * 8.5 without threads (NTS), as capture/interp/interp.h says.
 *
 * The interpreter's image holds the address of the frame that runs. A frame
 * refers to a function. Functions written in C have frames, too.
 */
#pragma once

#include "capture/host/memory.h"
#include "capture/interp/interp_codes.h"
#include "php_walk.h"

extern const struct language php_language;

enum { PHP_EXECUTOR }; /* root of an image: executor_globals */

#define PHP_NO_FUNCTION UINT32_MAX /* of code without a name */

enum php_version {
#define PHP(version, api, ...) PHP_API_##api,
#include "php_versions.def"
#undef PHP
	PHP_VERSIONS /* one that is not known, or that has threads */
};

/* Offsets in structures of a version. */
struct php_version_row {
	uint32_t api;
	uint16_t current, file;
};
extern const struct php_version_row php_versions[PHP_VERSIONS];

MUST_CHECK int php_place(const struct interp_code *code,
                         const struct interp_frame *f, uint64_t *out);
MUST_CHECK int
php_read(struct interp_codes *c, const struct interp_space *space,
         const struct interp_unread *rows, uint32_t n);
