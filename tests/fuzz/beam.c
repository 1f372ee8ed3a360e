/* A hostile description of a module of Erlang. */
#include "capture/beam/beam_modules.h"

#include <stdint.h>
#include <string.h>

static volatile size_t sink; /* so that no read is optimised away */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* The first words are the head of a module, and an offset. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct beam_function f;
	uint32_t head[3];

	if (n < sizeof(head))
		return 0;
	memcpy(head, data, sizeof(head));
	if (beam_description(data + sizeof(head), n - sizeof(head),
	                     head[0] & UINT16_MAX, head[1], head[2], &f))
		return 0;
	for (size_t i = 0; i < f.name_length; i++)
		sink += (uint8_t)f.name[i];
	for (size_t i = 0; f.file && i < f.file_length; i++)
		sink += (uint8_t)f.file[i];
	return 0;
}
