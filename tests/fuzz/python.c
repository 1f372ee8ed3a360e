/*
 * The memory of a process that says it is an interpreter: a minor version, a
 * stack of up to eight frames, then what lies from BASE on.
 */
#include "capture/python/python.h"
#include "lib/memory_image.h"

#include <string.h>

#define BASE   UINT64_C(0x7f0000000000)
#define FRAMES 8

struct head {
	uint64_t minor;
	struct interp_frame frames[FRAMES];
};

static volatile size_t sink; /* so that no read is left out */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
read_names(const struct python_codes *c, const uint64_t *places)
{
	struct python_name name;

	for (size_t i = 0; i < FRAMES; i++)
		if (python_code_name(c, places[i], &name))
			sink += strlen(name.name) + strlen(name.file) +
			        name.line;
}

static void
read_stack(const struct python_space *space, const struct head *head)
{
	struct python_codes *c = python_codes_new();
	struct interp_stack s = {.n = FRAMES};
	uint64_t places[FRAMES];

	memcpy(s.frames, head->frames, sizeof(head->frames));
	if (c && !python_places(c, space, &s, places))
		read_names(c, places);
	python_codes_free(c);
}

static void
read_threads(const struct python_space *space)
{
	CLEANUP(python_threads_done) struct python_threads t = {0};
	struct interp_slot slot;

	if (!python_threads_read(space->memory, space->image, space->bias, &t))
		sink += python_threads_find(&t, 1, &slot);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct head head;
	struct memory_image image = {.base = BASE};
	struct host host = memory_image_host(&image);
	static struct memory_spare spare; /* for all inputs */
	const struct memory memory = {&host, 1, &spare};
	struct python_image py = {
		.runtime = 0, .code = 0x100, .str = 0x200, .bytes = 0x300};
	const struct python_space space = {&memory, &py, BASE, 1};

	if (n < sizeof(head))
		return 0;
	memcpy(&head, data, sizeof(head));
	image.bytes = data + sizeof(head);
	image.n = n - sizeof(head);
	py.minor = 11 + head.minor % 3;
	read_stack(&space, &head);
	read_threads(&space);
	return 0;
}
