#include "lib/frames_image.h"

#include <elf.h>
#include <string.h>

static const char names[] = "\0.shstrtab";
#define NAME_AT sizeof(names)

struct headers {
	Elf64_Ehdr head;
	Elf64_Phdr load;
	Elf64_Shdr sections[3];
	char names[64];
};

static void
fill(struct headers *h, const struct frames_image *w)
{
	size_t loaded = w->code_size + w->frames_size;

	memcpy(h->head.e_ident, ELFMAG "\2\1\1", 7);
	h->head.e_machine = w->machine;
	h->head.e_phoff = offsetof(struct headers, load);
	h->head.e_phnum = 1;
	h->head.e_phentsize = sizeof(h->load);
	h->head.e_shoff = offsetof(struct headers, sections);
	h->head.e_shnum = ARRAY_LEN(h->sections);
	h->head.e_shentsize = sizeof(h->sections[0]);
	h->head.e_shstrndx = 2;
	h->load = (Elf64_Phdr){.p_type = PT_LOAD,
	                       .p_flags = PF_X,
	                       .p_offset = sizeof(*h),
	                       .p_vaddr = w->vaddr,
	                       .p_filesz = loaded,
	                       .p_memsz = loaded};
	h->sections[1] = (Elf64_Shdr){
		.sh_name = NAME_AT,
		.sh_type = SHT_PROGBITS,
		.sh_addr = w->vaddr + w->code_size,
		.sh_offset = sizeof(*h) + w->code_size,
		.sh_size = w->frames_size,
	};
	h->sections[2] = (Elf64_Shdr){
		.sh_name = 1,
		.sh_type = SHT_STRTAB,
		.sh_offset = offsetof(struct headers, names),
		.sh_size = sizeof(h->names),
	};
	memcpy(h->names, names, sizeof(names));
	strncpy(h->names + NAME_AT, w->section, sizeof(h->names) - NAME_AT - 1);
}

struct elf_image *
frames_image(const struct frames_image *w)
{
	size_t n = sizeof(struct headers) + w->code_size + w->frames_size;
	CLEANUP_FREE uint8_t *bytes = calloc(1, n);
	struct headers h = {0};
	struct elf_image *e;

	if (!bytes)
		abort();
	fill(&h, w);
	memcpy(bytes, &h, sizeof(h));
	if (w->code_size)
		memcpy(bytes + sizeof(h), w->code, w->code_size);
	if (w->frames_size)
		memcpy(bytes + sizeof(h) + w->code_size, w->frames,
		       w->frames_size);
	if (elf_open_memory(bytes, n, &e))
		abort();
	return e;
}
