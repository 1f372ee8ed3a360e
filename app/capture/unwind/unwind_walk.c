#include "unwind_walk.h"

bool
unwinder_enter(struct unwinder *u, uint64_t addr)
{
	struct unwind_mapping m;

	if (addr >= u->here.start && addr < u->here.end)
		return true;
	if (!u->find(u->find_arg, addr, &m))
		return false;
	u->here = m;
	return true;
}

bool
walk_mapping(struct walk *w, uint64_t addr, struct unwind_mapping *out)
{
	if (!unwinder_enter(w->u, addr))
		return false;
	*out = w->u->here;
	return true;
}

bool
walk_follows_call(struct walk *w, uint64_t pc, uint64_t *target)
{
	uint8_t code[UNWIND_CALL_BYTES];
	struct unwind_mapping m;
	int64_t by = 0;

	if (pc < sizeof(code) || !walk_mapping(w, pc - 1, &m) || !m.table ||
	    !unwind_table_code(m.table, pc - m.bias - sizeof(code), code,
	                       sizeof(code)) ||
	    !w->arch->is_call(code, &by))
		return false;
	*target = by ? pc + (uint64_t)by : 0;
	return true;
}
