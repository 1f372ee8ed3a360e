/*
 * Finds methods and blocks written in Ruby in processes that run a version of
 * CRuby that ruby_versions.def lists; see capture/interp/interp.h.
 *
 * The library's image holds the address of its virtual machine. A frame refers
 * to an instruction sequence. Methods written in C have native frames.
 */
#pragma once

#include "capture/host/memory.h"
#include "capture/interp/interp_codes.h"
#include "ruby_walk.h"

extern const struct language ruby_language;

enum { RUBY_VM }; /* root of an image: ruby_current_vm_ptr */

enum ruby_version {
#define RUBY(version, number, ...) RUBY_##number,
#include "ruby_versions.def"
#undef RUBY
	RUBY_VERSIONS /* one that is not known */
};

/* A row of ruby_versions.def. */
struct ruby_version_row {
	uint16_t number, list, frame, node, threads, context, native, tid;
	uint16_t entries, entry, text;
};
extern const struct ruby_version_row ruby_versions[RUBY_VERSIONS];

MUST_CHECK int
ruby_read(struct interp_codes *c, const struct interp_space *space,
          const struct interp_unread *rows, uint32_t n);
MUST_CHECK int ruby_place(const struct interp_code *code,
                          const struct interp_frame *f, uint64_t *out);
uint32_t
ruby_line(const uint8_t *table, size_t n, uint32_t first_line, uint32_t at);
