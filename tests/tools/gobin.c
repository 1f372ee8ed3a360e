/*
 * Prints the contents of a Go program's own tables, for scripts: first a line
 * about the program, then one per hexadecimal address on standard input, which
 * is
 *
 * 	ADDRESS DELTA FUNCTION FILE:LINE [FUNCTION FILE:LINE ...]
 *
 * innermost inlined call first; DELTA is - where no frame is known.
 *
 * 	gobin FILE
 * 	gobin FILE dwarf	the same from DWARF; no first line, no DELTA
 */
#include "capture/gobin/gobin.h"
#include "capture/symbols/dwarf_file.h"
#include "capture/symbols/dwarf_sections.h"
#include "capture/symbols/dwarf_unit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void
print_address(struct gobin *g, uint64_t vaddr)
{
	struct gobin_line lines[GOBIN_MAX_LINES];
	size_t n = gobin_lines(g, vaddr, lines, GOBIN_MAX_LINES);
	struct gobin_frame f;

	printf("%" PRIx64, vaddr);
	if (gobin_frame(g, vaddr, &f))
		printf(" %d", f.sp_delta);
	else
		printf(" -");
	for (size_t i = 0; i < n; i++)
		printf(" %s %s:%u", lines[i].name, lines[i].file,
		       lines[i].line);
	printf("\n");
}

static int
print_own(const struct elf_image *elf)
{
	CLEANUP_GOBIN struct gobin *g = NULL;
	const struct gobin_about *a;
	char line[64];
	int rc = gobin_open(elf, &g);

	if (rc)
		return rc;
	a = gobin_about(g);
	printf("%s minor %u text %" PRIx64 " %" PRIx64 " gofunc %d\n",
	       a->version, a->minor, a->text, a->etext, a->gofunc != 0);
	while (fgets(line, sizeof(line), stdin))
		print_address(g, strtoull(line, NULL, 16));
	return 0;
}

/* --- DWARF ---------------------------------------------------------------- */

struct debug {
	struct dwarf_file file;
	struct buf index, unit;
	struct dwarf_index units;
	uint64_t at; /* of the current unit */
};

static void
print_debug(struct debug *d, uint64_t vaddr)
{
	struct dwarf_frame f[GOBIN_MAX_LINES];
	struct symbols_piece p;
	struct dwarf_unit u;
	Dwarf_Die die;
	uint64_t at;
	size_t n = 0;

	if (dwarf_index_lookup(&d->units, vaddr, &at) && at != d->at) {
		buf_clear(&d->unit);
		d->at = at;
		if (!dwarf_offdie(d->file.dw, at, &die) ||
		    dwarf_unit_build(&die, NULL, NULL, &d->unit))
			buf_clear(&d->unit);
	}
	p = (struct symbols_piece){d->unit.p, d->unit.len};
	if (!dwarf_unit_open(&p, &u))
		n = dwarf_unit_lookup(&u, vaddr, f, ARRAY_LEN(f));
	printf("%" PRIx64, vaddr);
	for (size_t i = 0; i < n; i++)
		printf(" %s %s:%u", f[i].name, f[i].file, f[i].line);
	printf("\n");
}

static int
print_dwarf(const struct elf_image *elf)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(SYMBOLS_MAX_PIECE);
	struct debug d = {.index = BUF_INIT(SYMBOLS_MAX_PIECE),
	                  .unit = BUF_INIT(SYMBOLS_MAX_PIECE),
	                  .at = UINT64_MAX};
	int rc = dwarf_sections(elf, &bytes);
	char line[64];

	if (!rc)
		rc = dwarf_file_open(
			&(struct symbols_piece){bytes.p, bytes.len},
			&(struct symbols_piece){0}, &d.file);
	if (!rc)
		rc = dwarf_index_build(d.file.dw, &d.index);
	if (!rc)
		rc = dwarf_index_open(
			&(struct symbols_piece){d.index.p, d.index.len},
			&d.units);
	while (!rc && fgets(line, sizeof(line), stdin))
		print_debug(&d, strtoull(line, NULL, 16));
	dwarf_file_done(&d.file);
	buf_done(&d.index);
	buf_done(&d.unit);
	return rc;
}

int
main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1, rc;
	CLEANUP_ELF struct elf_image *elf = NULL;

	rc = elf_open_fd(fd, &elf);
	if (!rc)
		rc = argc > 2 ? print_dwarf(elf) : print_own(elf);
	if (rc)
		fprintf(stderr, "gobin: %s\n", strerror(-rc));
	return rc ? 1 : 0;
}
