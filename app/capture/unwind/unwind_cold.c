#include "unwind_cold.h"

#include "unwind_index.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define MAX_CODE  ((size_t)1 << 20)
#define MIN_JUMPS 4 /* bytes that only look like jumps lead anywhere */

/* Returns the length of a jump with a 32-bit displacement, or 0.
 *   Source   Intel SDM volume 2: JMP rel32, Jcc rel32 */
static size_t
jump_bytes(const uint8_t *p)
{
	return p[0] == 0xe9 ? 5 : p[0] == 0x0f && (p[1] & 0xf0) == 0x80 ? 6 : 0;
}

/* Finds the entry that contains a jump's target, but does not begin there. */
static bool
lands_in(const struct unwind_index *x, uint64_t target, struct cfi_entry *out)
{
	uint32_t row;

	return unwind_index_find(x, target, &row) &&
	       !unwind_index_entry(x, row, out) && target > out->start &&
	       target < out->end;
}

/* Finds the part to which most jumps out of the function lead. */
static struct cfi_entry
find_cold(const struct unwind_index *x, uint64_t start, const uint8_t *p,
          size_t n)
{
	struct cfi_entry e, cold = {0};
	uint32_t votes = 0;

	for (size_t i = 0; i + 6 <= n; i++) {
		size_t len = jump_bytes(p + i);
		int32_t far;
		uint64_t target;

		if (!len)
			continue;
		memcpy(&far, p + i + len - 4, sizeof(far));
		target = start + i + len + (uint64_t)(int64_t)far;
		if ((target >= start && target < start + n) ||
		    !lands_in(x, target, &e))
			continue;
		if (!votes)
			cold = e;
		votes += e.start == cold.start ? 1 : UINT32_MAX;
	}
	return votes < MIN_JUMPS ? (struct cfi_entry){0} : cold;
}

int
unwind_cold(const struct elf_image *elf, uint64_t start, uint64_t end,
            uint64_t *cold_start, uint64_t *cold_end)
{
	CLEANUP(unwind_index_done) struct unwind_index x = {.nrows = 0};
	CLEANUP_FREE void *code = NULL;
	uint64_t offset, left, n = end - start;
	struct cfi_entry cold = {0};
	int rc;

	*cold_start = *cold_end = 0;
	if (elf->machine != EM_X86_64 ||
	    !elf_offset_of(elf, start, &offset, &left))
		return 0;
	if (n > left)
		n = left;
	rc = elf_copy(elf, offset, n, MAX_CODE, &code);
	if (!rc)
		rc = unwind_index_eh(elf, &x);
	if (!rc)
		cold = find_cold(&x, start, code, n);
	*cold_start = cold.start;
	*cold_end = cold.end;
	return rc == -ENOMEM ? rc : 0;
}

int
unwind_cold_function(const struct elf_image *elf, uint64_t vaddr,
                     uint64_t *start, uint64_t *end)
{
	CLEANUP(unwind_index_done) struct unwind_index x = {.nrows = 0};
	struct cfi_entry e;
	uint32_t row;
	int rc = unwind_index_eh(elf, &x);

	if (rc)
		return rc;
	if (!unwind_index_find(&x, vaddr, &row) ||
	    unwind_index_entry(&x, row, &e) || vaddr < e.start ||
	    vaddr >= e.end)
		return -ENOENT;
	*start = e.start;
	*end = e.end;
	return 0;
}
