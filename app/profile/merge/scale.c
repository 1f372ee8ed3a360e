#include "profile/scale.h"

#include <assert.h>
#include <errno.h>

int
profile_scale(struct profile *p, int64_t mul, int64_t div)
{
	size_t n = (size_t)p->nsamples * p->ntypes;

	assert(mul > 0 && div > 0);
	for (size_t i = 0; i < n && mul != div; i++) {
		__int128 v = (__int128)p->values[i] * mul;

		v = (v < 0 ? v - div / 2 : v + div / 2) / div;
		if (v > INT64_MAX || v < INT64_MIN)
			return -EOVERFLOW;
		p->values[i] = (int64_t)v;
	}
	return 0;
}
