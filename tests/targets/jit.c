/*
 * Runs code that is in no file, and names it for profilers in
 * /tmp/perf-PID.map, as a JIT compiler does.
 *
 * 	jit SECONDS [BUSY_PERCENT]
 *
 * Prints "ready" at the start; the map is removed at the end. A program that is
 * less busy leaves the CPU to others in between.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* x86-64: push rbp; mov rbp, rsp; mov ecx, 100000; dec ecx; jnz -4; pop rbp;
 * ret */
static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0xb9, 0xa0, 0x86, 0x01,
                               0x00, 0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3};

int
main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 5);
	int busy = argc > 2 ? atoi(argv[2]) : 100;
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
	                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*run)(void);
	char path[64];
	FILE *map;

	if (page == MAP_FAILED)
		return 1;
	memcpy(page, code, sizeof(code));
	if (mprotect(page, 4096, PROT_READ | PROT_EXEC))
		return 1;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map = fopen(path, "w");
	if (!map)
		return 1;
	fprintf(map, "%lx %zx compiled_at_run_time\n", (unsigned long)page,
	        sizeof(code));
	fclose(map);
	puts("ready");
	fflush(stdout);
	memcpy(&run, &page, sizeof(run));
	while (time(NULL) < end) {
		clock_t began = clock();

		for (int i = 0; i < 20; i++)
			run();
		if (busy < 100)
			usleep((unsigned)(clock() - began) *
			       (unsigned)(100 - busy) / (unsigned)busy);
	}
	unlink(path);
	return 0;
}
