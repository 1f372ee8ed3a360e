/*
 * A process's memory, as a piece of bytes: stands for the opener where only
 * memory is asked for.
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
