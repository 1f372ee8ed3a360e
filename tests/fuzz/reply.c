/* Replies of collectors, which are not trusted. */
#include "profile/otlp_out.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct otlp_reply r;

	if (otlp_out_reply(data, n, &r))
		return 0;
	assert(r.rejected >= 0);
	assert(strnlen(r.message, sizeof(r.message)) < sizeof(r.message));
	assert(!*r.message || utf8_printable(r.message, strlen(r.message)));
	return 0;
}
