/*
 * An array of bytes that stands for a process's memory, in place of the
 * opener, for tests that only read memory.
 */
#pragma once

#include "capture/host.h"

struct memory_image {
	uint64_t base; /* address of bytes[0] */
	const uint8_t *bytes;
	size_t n;
};

/* The image is borrowed. */
struct host memory_image_host(struct memory_image *image);
