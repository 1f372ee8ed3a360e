#include "base/pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGE (2 * PAGES_HUGE)

void *
pages_new(size_t n)
{
	void *p;

	if (n < LARGE)
		return malloc(n ? n : 1);
	if (posix_memalign(&p, PAGES_HUGE, n))
		return NULL;
	/* leave out the last, partial huge page, so as not to use more memory
	 * than requested */
	(void)!madvise(p, n & ~(PAGES_HUGE - 1), MADV_HUGEPAGE);
	return p;
}

/* glibc maps a large block by itself, with a header before it in the same
 * page. All of the mapping is advised, since mremap() refuses parts. */
void
pages_huge(void *p, size_t n)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = (uintptr_t)p & ~(page - 1);
	uintptr_t end = ((uintptr_t)p + n + page - 1) & ~(page - 1);

	if (n >= LARGE)
		(void)!madvise((void *)first, end - first, MADV_HUGEPAGE);
}

void
pages_spent(const void *from, const void *to)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = ((uintptr_t)from + page - 1) & ~(page - 1);
	uintptr_t end = (uintptr_t)to & ~(page - 1);

	if (first < end)
		(void)!madvise((void *)first, end - first, MADV_DONTNEED);
}
