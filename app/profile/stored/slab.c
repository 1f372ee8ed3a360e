#include "slab.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE ((size_t)2 << 20)

void *
slab_new(size_t n)
{
	void *p;

	if (n < 2 * HUGE_PAGE)
		return malloc(n ? n : 1);
	if (posix_memalign(&p, HUGE_PAGE, n))
		return NULL;
	/* its last page stays small: no more memory than was asked for */
	(void)!madvise(p, n & ~(HUGE_PAGE - 1), MADV_HUGEPAGE);
	return p;
}

void
slab_spent(const void *from, const void *to)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = ((uintptr_t)from + page - 1) & ~(page - 1);
	uintptr_t end = (uintptr_t)to & ~(page - 1);

	if (first < end)
		(void)!madvise((void *)first, end - first, MADV_DONTNEED);
}
