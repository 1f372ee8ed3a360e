/*
 * A thread as a snapshot reads it: two lines of the kernel, which the thread
 * partly controls, then its stack. The first byte says how the thread was read.
 */
#include "capture/threads/snapshot_thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Copies a line into a row's text; returns the length of the rest. */
static size_t
take_line(const uint8_t **data, size_t size, char *out, size_t room)
{
	const uint8_t *end = memchr(*data, '\n', size);
	size_t n = end ? (size_t)(end - *data) : size;

	snprintf(out, room, "%.*s", (int)n, (const char *)*data);
	*data += n + (end != NULL);
	return size - n - (end != NULL);
}

static void
use(const struct thread_seen *t)
{
	if (strlen(t->name) >= sizeof(t->name) ||
	    strlen(t->call) >= sizeof(t->call) || t->nfds > THREAD_MAX_FDS ||
	    !thread_state(t)[0] || !thread_link_kind(t->name))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct thread_row row = {0};
	struct thread_seen seen;
	uint8_t *stack;

	if (!size || size > THREADS_MAX_STACK)
		return 0;
	row.how = *data++ % (THREAD_KERNEL + 1);
	size--;
	size = take_line(&data, size, row.stat, sizeof(row.stat));
	size = take_line(&data, size, row.call, sizeof(row.call));
	row.stack_bytes = (uint32_t)size;
	stack = malloc(size); /* apart: reads past its end are found */
	if (!stack)
		return 0;
	memcpy(stack, data, size);
	thread_see(&row, stack, &seen);
	use(&seen);
	free(stack);
	return 0;
}
