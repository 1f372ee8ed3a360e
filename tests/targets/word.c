/* A program with a number in its memory: it prints the address and waits. */
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

static volatile uint64_t word = 5;

int
main(void)
{
	printf("%lu\n", (unsigned long)(uintptr_t)&word);
	fflush(stdout);
	while (word)
		pause();
	return 0;
}
