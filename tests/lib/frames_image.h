/* ELF images made around call frame information, for tests and fuzzing. */
#pragma once

#include "capture/elf/elf.h"

struct frames_image {
	uint16_t machine;
	const char *section; /* ".eh_frame" or ".debug_frame" */
	uint64_t vaddr;      /* address of the code; an .eh_frame follows it */
	const void *code;
	size_t code_size;
	const void *frames;
	size_t frames_size;
};

/* Aborts on failure; elf_free() the result. */
struct elf_image *frames_image(const struct frames_image *what);
