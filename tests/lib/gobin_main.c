/*
 * Prints what a Go program's file tells, for scripts: first a line about the
 * program, then one per hexadecimal address on standard input, which is
 *
 *	ADDRESS DELTA FUNCTION FILE:LINE [FUNCTION FILE:LINE ...]
 *
 * innermost inlined call first; DELTA is - where no frame is known.
 */
#include "capture/gobin.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int
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
	return printf("\n");
}

int
main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1, rc;
	CLEANUP_ELF struct elf_image *elf = NULL;
	CLEANUP_GOBIN struct gobin *g = NULL;
	const struct gobin_about *a;
	char line[64];

	rc = elf_open_fd(fd, &elf);
	if (!rc)
		rc = gobin_open(elf, &g);
	if (rc) {
		fprintf(stderr, "gobin: %s\n", strerror(-rc));
		return 1;
	}
	a = gobin_about(g);
	printf("%s minor %u text %" PRIx64 " %" PRIx64 " gofunc %d\n",
	       a->version, a->minor, a->text, a->etext, a->gofunc != 0);
	while (fgets(line, sizeof(line), stdin))
		print_address(g, strtoull(line, NULL, 16));
	return 0;
}
