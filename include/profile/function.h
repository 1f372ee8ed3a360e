/*
 * The cost of one function, without building a tree.
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
 * Sums a value type over the samples whose stacks contain a function, by the
 * name that profile_frame_name() gives. Samples are counted in the first value
 * type.
 *
 *   Errors   -ENOMEM, -EINVAL no such type, -EOVERFLOW; *out untouched
 */
MUST_CHECK int function_cost(const struct packed *k, uint32_t type,
                             const char *name, struct function_cost *out);
