#include "jit.h"

#define SECOND_NS UINT64_C(1000000000)

bool
jit_may_look(const struct jit_space *space)
{
	struct jit_looks *looks = space->looks;

	if (!looks)
		return true;
	if (space->now_ns - looks->second_ns >= SECOND_NS)
		*looks = (struct jit_looks){.second_ns = space->now_ns};
	return looks->n++ < JIT_MAX_LOOKS;
}
