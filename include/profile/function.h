/*
 * The cost of one function, without a tree of all of them.
 */
#pragma once

#include "profile/packed.h"

struct function_cost {
	int64_t self, total; /* recursion counted once */
	int64_t samples;     /* number of samples whose stacks contain the
	                        function */
	int64_t all, all_samples;
};

/*
 * Counts a value type over the samples of a function, by the name that
 * profile_frame_name() gives; samples in the first value type.
 *
 *   Errors   -ENOMEM, -EINVAL no such type, -EOVERFLOW; *out untouched
 */
MUST_CHECK int function_cost(const struct packed *k, uint32_t type,
                             const char *name, struct function_cost *out);
