/* A frame's place: an address in its module's own address space. */
#pragma once

#include <stdint.h>

struct place {
	uint32_t module;
	uint64_t vaddr;
};
