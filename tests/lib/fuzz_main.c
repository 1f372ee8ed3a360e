/*
 * Replays a corpus through a fuzz target without libFuzzer: every file named
 * on the command line, and each of them cut short at a few places.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
replay(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data;
	size_t n;

	if (!f) {
		perror(path);
		exit(EXIT_FAILURE);
	}
	data = malloc((size_t)1 << 24);
	if (!data)
		abort();
	n = fread(data, 1, (size_t)1 << 24, f);
	fclose(f);
	LLVMFuzzerTestOneInput(data, n);
	for (size_t i = 1; i < 16 && n; i++)
		LLVMFuzzerTestOneInput(data, n * i / 16);
	free(data);
}

int
main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		replay(argv[i]);
	printf("replayed %d inputs\n", argc - 1);
	return 0;
}
