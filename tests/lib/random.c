#include "lib/random.h"

uint64_t
random_next(uint64_t *seed)
{
	uint64_t z = (*seed += UINT64_C(0x9E3779B97F4A7C15));

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

double
random_real(uint64_t *seed)
{
	return (double)(random_next(seed) >> 11) * 0x1p-53;
}
