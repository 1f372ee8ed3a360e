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

static int
refuse_supplement(struct dwarf_file *f)
{
	f->no_elf = elf_memory((char *)&no_file, sizeof(no_file));
	if (f->no_elf)
		f->none = dwarf_begin_elf(f->no_elf, DWARF_C_READ, NULL);
	if (!f->none)
		return -ENOMEM;
	dwarf_setalt(f->dw, f->none);
	return 0;
}

int
dwarf_file_open(const struct symbols_piece *sections, struct dwarf_file *f)
{
	*f = (struct dwarf_file){0};
	if (!sections->n)
		return -ENODATA;
	elf_version(EV_CURRENT);
	f->elf = elf_memory((char *)sections->p, sections->n);
	if (f->elf)
		f->dw = dwarf_begin_elf(f->elf, DWARF_C_READ, NULL);
	return f->dw ? refuse_supplement(f) : -ENODATA;
}

void
dwarf_file_done(struct dwarf_file *f)
{
	dwarf_end(f->dw);
	dwarf_end(f->none);
	elf_end(f->elf);
	elf_end(f->no_elf);
}
