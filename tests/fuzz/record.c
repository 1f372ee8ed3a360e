/* The bytes of a perf ring: records in sequence, as the sampler reads them. */
#include "capture/host/record.h"

#include <linux/perf_event.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perf_event_header h;
	struct record r;
	volatile uint8_t seen = 0;

	while (size >= sizeof(h)) {
		memcpy(&h, data, sizeof(h));
		if (h.size < sizeof(h) || h.size > size)
			return 0;
		record_time(data, h.size);
		if (!record_parse(data, h.size, false, &r) &&
		    r.kind == RECORD_SAMPLE && r.sample.stack_len)
			seen ^= r.sample.stack[r.sample.stack_len - 1];
		if (!record_parse(data, h.size, true, &r) &&
		    r.kind == RECORD_SAMPLE)
			seen ^= (uint8_t)strlen(r.sample.emitted->name);
		data += h.size;
		size -= h.size;
	}
	return 0;
}
