/*
 * Finds methods and blocks written in Ruby, in processes that run CRuby 3.1
 * or 3.3, as capture/interp/interp.h says.
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
#define RUBY(minor, ...) RUBY_3##minor = minor,
#include "ruby_versions.def"
#undef RUBY
	RUBY_VERSIONS
};

/* A row of ruby_versions.def; zeros for a version without one. */
struct ruby_version_row {
	uint16_t frame, node, threads, context, native, tid, entries, text;
};
extern const struct ruby_version_row ruby_versions[RUBY_VERSIONS];

MUST_CHECK int
ruby_read(struct interp_codes *c, const struct interp_space *space,
          const struct interp_unread *rows, uint32_t n);
MUST_CHECK int ruby_place(const struct interp_code *code,
                          const struct interp_frame *f, uint64_t *out);
uint32_t
ruby_line(const uint8_t *table, size_t n, uint32_t first_line, uint32_t at);
