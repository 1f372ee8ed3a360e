/*
 * Prints the functions in an image's symbol tables, for scripts:
 *
 * 	ADDRESS SIZE NAME
 *
 * 	symbols FILE
 * 	symbols FILE ADDRESS...		where the functions around these begin
 */
#include "capture/symbols/symbols.h"
#include "capture/symbols/symtab.h"

#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
print_all(const struct elf_image *e)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(SYMBOLS_MAX_PIECE);
	struct symtab t;
	int rc = symtab_build(e, NULL, &bytes);

	if (!rc)
		rc = symtab_open(&(struct symbols_piece){bytes.p, bytes.len},
		                 &t);
	if (rc)
		errx(1, "%s", strerror(-rc));
	for (uint32_t i = 0; i < t.n; i++)
		printf("%" PRIx64 " %" PRIu32 " %s\n", t.rows[i].start,
		       t.rows[i].size, t.names + t.rows[i].name);
}

static void
print_starts(const struct elf_image *e, char **addresses)
{
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *c = symbols_cache_new(0);
	CLEANUP_SYMBOLIZER struct symbolizer *s = symbolizer_new(c);
	uint64_t start;

	if (!s || symbolizer_add(s, 0, e, NULL))
		errx(1, "no memory");
	for (; *addresses; addresses++)
		if (symbolizer_function(s, 0, strtoull(*addresses, NULL, 16),
		                        &start))
			printf("%" PRIx64 "\n", start);
}

int
main(int argc, char **argv)
{
	CLEANUP_ELF struct elf_image *e = NULL;
	int fd = argc > 1 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0 || elf_open_fd(fd, &e))
		errx(1, "usage: symbols FILE [ADDRESS...]");
	if (argc > 2)
		print_starts(e, argv + 2);
	else
		print_all(e);
	return 0;
}
