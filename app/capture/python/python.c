#include "python.h"

#include "python_object.h"

static bool
python_several(const struct memory *m, const struct interp_list *l)
{
	uint64_t at = 0, next = 0;

	return !memory_copy(m, l->head, &at, 8) && at &&
	       !memory_copy(m, at + l->at[PYTHON_NEXT], &next, 8) && next;
}

const struct language python_language = {
	.id = LANGUAGE_PYTHON,
	.recognise = python_recognise,
	.list = python_list,
	.attach = python_attach,
	.find = python_find,
	.library = "_asyncio.",
	.several = python_several,
	.waiting = python_waiting,
	.step = python_step,
	.read = python_read,
	.place = python_place,
	.line = python_line,
};
