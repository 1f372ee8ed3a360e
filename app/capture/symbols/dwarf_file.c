#include "dwarf_file.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>

/*
 * An image with no names in it. Set as the supplementary file, it keeps
 * libdw 0.188 from opening the path that .gnu_debugaltlink asks for.
 */
static const struct {
	Elf64_Ehdr header;
	Elf64_Shdr sections[3];
	char names[32];
} no_file = {
	.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
                               ELFDATA2LSB, EV_CURRENT},
                   .e_type = ET_DYN,
                   .e_machine = EM_X86_64,
                   .e_version = EV_CURRENT,
                   .e_shoff = sizeof(Elf64_Ehdr),
                   .e_ehsize = sizeof(Elf64_Ehdr),
                   .e_shentsize = sizeof(Elf64_Shdr),
                   .e_shnum = 3,
                   .e_shstrndx = 1},
	.sections = {{0},
                     {.sh_name = 1,
                      .sh_type = SHT_STRTAB,
                      .sh_offset = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Shdr),
                      .sh_size = 32},
                     {.sh_name = 11,
                      .sh_type = SHT_PROGBITS,
                      .sh_offset = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Shdr),
                      .sh_size = 4}},
	.names = "\0.shstrtab\0.debug_line",
};

static bool
supplement(struct dwarf_file *f, const void *p, size_t n)
{
	f->alt_elf = elf_memory((char *)p, n);
	if (f->alt_elf)
		f->alt = dwarf_begin_elf(f->alt_elf, DWARF_C_READ, NULL);
	if (f->alt) {
		dwarf_setalt(f->dw, f->alt);
		return true;
	}
	elf_end(f->alt_elf);
	f->alt_elf = NULL;
	return false;
}

static int
set_supplement(struct dwarf_file *f, const struct symbols_piece *shared)
{
	if (shared->n && supplement(f, shared->p, shared->n))
		return 0;
	return supplement(f, &no_file, sizeof(no_file)) ? 0 : -ENOMEM;
}

int
dwarf_file_open(const struct symbols_piece *sections,
                const struct symbols_piece *shared, struct dwarf_file *f)
{
	*f = (struct dwarf_file){0};
	if (!sections->n)
		return -ENODATA;
	elf_version(EV_CURRENT);
	f->elf = elf_memory((char *)sections->p, sections->n);
	if (f->elf)
		f->dw = dwarf_begin_elf(f->elf, DWARF_C_READ, NULL);
	return f->dw ? set_supplement(f, shared) : -ENODATA;
}

void
dwarf_file_done(struct dwarf_file *f)
{
	dwarf_end(f->dw);
	dwarf_end(f->alt);
	elf_end(f->elf);
	elf_end(f->alt_elf);
}
