#include "local_files.h"

#include "capture/unwind/unwind.h"

#include <assert.h>

/* Unwinds stacks of one recording, one after another. */
struct local_stacks {
	struct local_files *files;
	struct unwinder *unwinder;
	const struct import_stack *now;
	uint64_t space;   /* address space that the unwinder knows */
	uint16_t machine; /* of the unwinder */
};

static struct unwind_table *
table_of(struct local_image *i)
{
	if (!i->tabled && i->elf &&
	    unwind_table_new_split(i->elf, i->debug, &i->table))
		i->table = NULL; /* frame pointers are then followed */
	i->tabled = true;
	return i->table;
}

static bool
find_mapping(void *arg, uint64_t address, struct unwind_mapping *out)
{
	struct local_stacks *s = arg;
	struct local_image *image;
	struct import_code code;

	if (!s->now->find(s->now->arg, address, &code))
		return false;
	*out = (struct unwind_mapping){.start = code.start, .end = code.end};
	image = local_image(s->files, code.path, code.build_id);
	if (!image || !image->elf ||
	    elf_bias(image->elf, code.start, code.offset, PF_X, &out->bias))
		return true;
	out->table = table_of(image);
	return true;
}

/* Makes the unwinder that a stack needs. */
static struct unwinder *
unwinder_for(struct local_stacks *s, const struct import_stack *stack)
{
	if (!s->unwinder || s->machine != stack->machine) {
		unwinder_free(s->unwinder);
		s->machine = stack->machine;
		s->unwinder = stack->machine ? unwinder_new_for(stack->machine,
		                                                find_mapping, s)
		                             : unwinder_new(find_mapping, s);
	} else if (s->space != stack->space) {
		unwinder_flush(s->unwinder);
	}
	s->space = stack->space;
	s->now = stack;
	return s->unwinder;
}

static size_t
local_unwind(void *arg, const struct import_stack *stack, uint64_t *pcs,
             size_t max)
{
	struct local_stacks *s = arg;
	struct unwinder *u = unwinder_for(s, stack);
	size_t n = 0;

	/* what was found counts, however the walk ended */
	if (u && max)
		(void)!unwind(u, stack->regs, stack->bytes, stack->n, pcs, max,
		              &n);
	return n;
}

struct local_stacks *
local_stacks_new(struct local_files *f)
{
	struct local_stacks *s = calloc(1, sizeof(*s));

	if (s)
		s->files = f;
	return s;
}

void
local_stacks_free(struct local_stacks *s)
{
	if (!s)
		return;
	unwinder_free(s->unwinder);
	free(s);
}

struct import_unwinder
local_unwinder(struct local_stacks *s)
{
	return (struct import_unwinder){local_unwind, s};
}

static_assert(IMPORT_REGS == UNWIND_REGS, "registers as in asm/perf_regs.h");
