#include "go_code.h"

#include <stdbool.h>
#include <string.h>

#define REX        0x40
#define REX_W      0x08
#define RIP_MASK   0xc7 /* of ModRM: mod and r/m */
#define RIP        0x05
#define COMPARE_IB 7 /* /7 of opcode 83 */

static const struct {
	uint8_t opcode, immediate; /* bytes of opcode and immediate */
	bool wide;
} forms[] = {
	[GO_ADDRESS] = {0x8d, 0, true},
	[GO_LOAD] = {0x8b, 0, true},
	[GO_LOAD32] = {0x8b, 0, false},
	[GO_COMPARE] = {0x83, 1, true},
};

/* True when p[at] is this opcode, and its ModRM refers to a variable. */
static bool
is_use(const uint8_t *p, size_t at, enum go_use use)
{
	uint8_t before = at ? p[at - 1] : 0, modrm = p[at + 1];
	bool rex = (before & 0xf0) == REX;
	bool wide = rex && (before & REX_W);

	if (p[at] != forms[use].opcode || wide != forms[use].wide ||
	    (modrm & RIP_MASK) != RIP)
		return false;
	return use != GO_COMPARE || modrm >> 3 == COMPARE_IB;
}

static void
add(struct go_operands *o, uint64_t at)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->at[i] == at)
			return;
	if (o->n < GO_CODE_MAX)
		o->at[o->n++] = at;
}

void
go_code_operands(const uint8_t *code, size_t n, uint64_t vaddr, enum go_use use,
                 uint64_t low, uint64_t high, struct go_operands *out)
{
	size_t tail = 2 + sizeof(int32_t) + forms[use].immediate;
	uint64_t align = forms[use].wide ? 8 : 4;

	for (size_t i = 0; i + tail <= n; i++) {
		int32_t by;
		uint64_t at;

		if (!is_use(code, i, use))
			continue;
		memcpy(&by, code + i + 2, sizeof(by));
		at = vaddr + i + tail + (uint64_t)(int64_t)by;
		if (at >= low && at < high && at % align == 0)
			add(out, at);
	}
}

void
go_operands_keep(struct go_operands *o, const struct go_operands *other,
                 int has)
{
	size_t kept = 0;

	for (size_t i = 0; i < o->n; i++) {
		int found = 0;

		for (size_t k = 0; k < other->n; k++)
			found |= other->at[k] == o->at[i];
		if (found == has)
			o->at[kept++] = o->at[i];
	}
	o->n = kept;
}
