#include "query.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CODE      64 /* bytes of the function that are read */
#define MAX_ENTRY 4096

/* Bytes from the state to the identifier: the state, padded to 8, 2 pointers,
 * 2 4-byte words, and 20 8-byte numbers of progress. */
#define STATE_BEFORE 192
#define READ         (STATE_BEFORE + sizeof(int64_t))

/* STATE_RUNNING. PostgreSQL 18 has one more state before it. */
enum { RUNNING = 2, RUNNING_IN_18 = 3 };

enum { ENTRY, GET_ID, NEEDED, SINCE_18 = NEEDED, WANTED };

static uint32_t
u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/*
 * Finds the 32-bit offset in mov OFFSET(%REGISTER),%rax.
 *   Source   Intel SDM volume 2, 2.1.3: ModR/M
 */
static uint32_t
offset_on_x86(const uint8_t *p, size_t n)
{
	for (; n >= 7; p++, n--)
		if (p[0] == 0x48 && p[1] == 0x8b && (p[2] & 0xf8) == 0x80)
			return u32(p + 3);
	return 0;
}

/* Finds the offset in ldr x0, [xN, OFFSET], the last one before ret.
 *   Source   Arm ARM, C6.2: LDR (immediate), unsigned offset */
static uint32_t
offset_on_arm(const uint8_t *p, size_t n)
{
	uint32_t found = 0;

	for (; n >= 4 && u32(p) != 0xd65f03c0; p += 4, n -= 4)
		if ((u32(p) & 0xffc0001f) == 0xf9400000)
			found = (u32(p) >> 10 & 0xfff) * 8;
	return found;
}

int
query_find(const struct elf_image *e, struct query_at *out)
{
	struct elf_wanted want[WANTED] = {
		[ENTRY] = {.name = "MyBEEntry"},
		[GET_ID] = {.name = "pgstat_get_my_query_id"},
		[SINCE_18] = {.name = "pgstat_get_my_plan_id"},
	};
	uint8_t code[CODE];
	uint64_t offset, left;
	int rc = e->is_program ? elf_find_symbols(e, SHT_DYNSYM, want, WANTED)
	                       : -ENOENT;

	if (rc)
		return rc;
	for (unsigned i = 0; i < NEEDED; i++)
		if (!want[i].value)
			return -ENOENT;
	if (!elf_offset_of(e, want[GET_ID].value, &offset, &left) ||
	    left < sizeof(code) || elf_read(e, offset, code, sizeof(code)))
		return -ENOENT;
	*out = (struct query_at){
		.entry = want[ENTRY].value,
		.id = e->machine == EM_AARCH64
	                      ? offset_on_arm(code, sizeof(code))
	                      : offset_on_x86(code, sizeof(code)),
		.running = want[SINCE_18].value ? RUNNING_IN_18 : RUNNING};
	return out->id < STATE_BEFORE || out->id > MAX_ENTRY || out->id % 8
	               ? -ENOENT
	               : 0;
}

void
query_resolve(const struct query_at *q, uint64_t bias, struct context_at *out)
{
	*out = (struct context_at){.pointer = q->entry + bias,
	                           .skip = q->id - STATE_BEFORE,
	                           .bytes = READ};
}

bool
query_parse(const struct query_at *q, const uint8_t *p, size_t n,
            char out[static QUERY_TEXT])
{
	int64_t id;

	if (n < READ || u32(p) != q->running)
		return false;
	memcpy(&id, p + STATE_BEFORE, sizeof(id));
	snprintf(out, QUERY_TEXT, "%" PRId64, id);
	return id;
}
