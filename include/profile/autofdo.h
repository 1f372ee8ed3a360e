/*
 * Profiles that compilers read: samples by function and line, in the text form
 * of LLVM's sample profiles, for clang -fprofile-sample-use=FILE.
 *
 *	main:12:5
 *	 3: 5
 *	 7.2: parse:7
 *	  1: 7
 *
 * A function begins with a line that has its name, the sum of its counts, and
 * how often it was called. A line for each line of its source follows, numbered
 * from the function's first line, and the lines of functions that were inlined
 * there, indented by one more space. A discriminator, after a dot, tells apart
 * the parts of a line, such as the branches of a condition.
 *
 *   Source   SampleProfReader.h of LLVM; AutoFDO, Chen, Li and Moseley, CGO
 *            2016
 */
#pragma once

#include "base/buf.h"

#include <stdint.h>

struct autofdo;

/* A place in a function: offset counts lines from its first. */
struct autofdo_frame {
	const char *function; /* its name in the symbol table */
	uint32_t offset, discriminator;
};

/* Returns NULL when out of memory. */
struct autofdo *autofdo_new(void);
void autofdo_free(struct autofdo *a);
DEFINE_CLEANUP(struct autofdo *, autofdo_free)
#define CLEANUP_AUTOFDO CLEANUP(autofdo_free_ptr)
/*
 * Adds samples of a piece of code.
 *
 *   Shape    frames[n], outermost first: each function but the first is inlined
 *            at the place before it. size: bytes of code; 0: not known. Code runs
 *            as often as it has samples per byte, while the sum of its samples
 *            says how long it takes. copies: of the code, which run in turn, since
 *            a loop was unrolled; at least 1
 *   Errors   -ENOMEM, -E2BIG
 */
MUST_CHECK int
autofdo_add(struct autofdo *a, const struct autofdo_frame *frames, uint32_t n,
            int64_t samples, uint32_t copies, uint64_t size);
/*
 * Appends the text; functions without samples are left out.
 *   Shape    all: number of samples, including those that were not added
 *   Errors   -ENOMEM, -E2BIG; out is poisoned
 */
MUST_CHECK int
autofdo_write(const struct autofdo *a, int64_t all, struct buf *out);
