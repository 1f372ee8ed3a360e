/*
 * A program with growing memory.
 *
 * 	swell
 *
 * Each line on stdin adds that many MiB, which stay in use. Ends with its
 * input.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
main(void)
{
	char line[32];

	while (fgets(line, sizeof(line), stdin)) {
		size_t n = strtoul(line, NULL, 10) << 20;
		char *p = malloc(n);

		if (!p)
			return 1;
		memset(p, 1, n);
		printf("%p\n", (void *)p); /* so that every compiler keeps it */
		fflush(stdout);
	}
	return 0;
}
