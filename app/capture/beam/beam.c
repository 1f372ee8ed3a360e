#include "beam.h"

#include "beam_modules.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PLACES    4096
#define LEAVING   48   /* bytes of code read after a call to C */
#define MAX_WORDS 8192 /* of the stack, up to the next return address */
#define CP_MASK   3    /* tag bits, which a return address lacks */

struct beam {
	struct beam_modules modules;
	uint64_t exit;    /* what a process returns to at its end */
	uint64_t on_near; /* start of stack->near if it is an Erlang stack */
	/* What is known of code addresses. A row is valid while the list of
	 * modules starts at first. */
	struct beam_place {
		uint64_t pc, first, place;
		bool known, kept_fp; /* see kept_fp() */
		bool looked;         /* kept_fp is known */
	} places[PLACES];
};

/* --- the program ---------------------------------------------------------- */

int
beam_image(const struct elf_image *elf, struct beam_image *out)
{
	struct elf_wanted want[BEAM_VARIABLES] = {
		[BEAM_DESCRIPTOR] = {.name = "__jit_debug_descriptor"},
		[BEAM_EXIT] = {.name = "beam_normal_exit"},
		[BEAM_SCHEDULERS] = {.name = "erts_aligned_scheduler_data"},
	};
	int rc = elf->machine == EM_X86_64
	                 ? elf_find_symbols(elf, SHT_DYNSYM, want,
	                                    BEAM_VARIABLES)
	                 : -ENOENT;

	for (unsigned i = 0; i < BEAM_VARIABLES && !rc; i++) {
		out->variables[i] = want[i].value;
		rc = want[i].value ? 0 : -ENOENT;
	}
	return rc;
}

static int
recognise(const struct elf_image *elf, struct jit_image *out)
{
	struct beam_image *image = malloc(sizeof(*image));
	int rc = image ? beam_image(elf, image) : -ENOMEM;

	if (rc) {
		free(image);
		return rc;
	}
	out->data = image;
	out->size = sizeof(*image);
	return 0;
}

static int
attach(const struct jit_space *space, void **runtime)
{
	const struct beam_image *image = space->image->data;
	struct beam *b;
	uint64_t exit;
	int rc = memory_copy(space->memory,
	                     image->variables[BEAM_EXIT] + space->bias, &exit,
	                     sizeof(exit));

	if (rc)
		return rc;
	if (!exit)
		return -EAGAIN;
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->exit = exit;
	b->modules.descriptor = image->variables[BEAM_DESCRIPTOR] + space->bias;
	*runtime = b;
	return 0;
}

static void
detach(void *runtime)
{
	struct beam *b = runtime;

	if (b)
		beam_modules_done(&b->modules);
	free(b);
}

static struct beam_place *
place_of(struct beam *b, uint64_t pc)
{
	struct beam_place *p = &b->places[pc / 4 % PLACES];

	if (p->pc != pc || p->first != b->modules.first)
		*p = (struct beam_place){.pc = pc, .first = b->modules.first};
	return p;
}

/* --- callers -------------------------------------------------------------- */

/* True if a call to C kept the Erlang stack pointer in the frame pointer, not
 * in the process: the code after the call restores it from there.
 *   Source   emit_leave_runtime() in jit/x86/beam_asm.hpp */
static bool
kept_fp(struct beam *b, const struct jit_space *space, uint64_t pc)
{
	static const uint8_t moves[][3] = {{0x48, 0x89, 0xec},
	                                   {0x48, 0x8b, 0xe5}};
	static const uint8_t load[] = {0x49, 0x8b, 0x65};
	struct beam_place *p = place_of(b, pc);
	uint8_t code[LEAVING];

	if (p->looked || !jit_may_look(space) ||
	    memory_copy(space->memory, pc, code, sizeof(code)))
		return p->kept_fp;
	p->looked = true;
	for (size_t i = 0; i + 3 <= sizeof(code); i++) {
		if (!memcmp(code + i, load, 3))
			break;
		p->kept_fp = !memcmp(code + i, moves[0], 3) ||
		             !memcmp(code + i, moves[1], 3);
		if (p->kept_fp)
			break;
	}
	return p->kept_fp;
}

static bool
has(const struct unwind_piece *s, uint64_t at)
{
	return at - s->start <= s->len;
}

/* Finds where the Erlang stack of a frame begins: at the stack pointer, unless
 * a call to C has switched to the scheduler's stack. */
static int
find_stack(struct beam *b, const struct jit_space *space,
           const struct unwind_stack *stack, const struct unwind_frame *f,
           uint64_t *out)
{
	const struct unwind_piece *far = stack->far;

	if (!stack->nfar) {
		if (!f->index)
			b->on_near = stack->near.start;
		*out = f->sp;
		return b->on_near == stack->near.start ? 0 : -ENOENT;
	}
	if (!far->len) /* the scheduler itself */
		return -ENODATA;
	*out = f->sp;
	if (has(far, f->sp))
		return 0;
	*out = far->start + BEAM_BELOW;
	if (kept_fp(b, space, f->pc))
		*out = f->fp_known ? f->fp : 0;
	return has(far, *out) ? 0 : -EBADMSG;
}

static int
step(void *runtime, const struct jit_space *space,
     const struct unwind_stack *stack, struct unwind_frame *f, uint64_t *detail)
{
	struct beam *b = runtime;
	uint64_t at, word;
	int rc;

	(void)detail;
	if (!beam_modules_find(&b->modules, space, f->pc))
		return -ENOENT;
	rc = find_stack(b, space, stack, f, &at);
	for (uint32_t i = 0; i < MAX_WORDS && !rc; i++, at += sizeof(word)) {
		if (!unwind_word(stack, at, &word))
			return -EFAULT;
		if (word == b->exit)
			return -ENODATA;
		/* Shared code is called without the usual alignment. */
		if ((word & CP_MASK && (i || f->index)) ||
		    !beam_modules_find(&b->modules, space, word))
			continue;
		f->moves = stack->nfar && !has(stack->far, f->sp);
		f->pc = word;
		f->sp = at + sizeof(word);
		f->fp_known = false;
		return 0;
	}
	return rc ?: -EBADMSG;
}

/* --- names ---------------------------------------------------------------- */

/* True for code that functions share, and for what lies before a function. */
static bool
is_shared(const struct beam_function *f)
{
	return memmem(f->name, f->name_length, "::", 2);
}

static int
keep(struct interp_codes *codes, const struct beam_function *f, uint64_t *out)
{
	static const char prologue[] = "-CodeInfoPrologue";
	const size_t cut = sizeof(prologue) - 1;
	CLEANUP_BUF struct buf texts = BUF_INIT(2 * (UINT16_MAX + 1));
	struct interp_function kept = {.line = interp_line_is_position};
	size_t n = f->name_length;
	uint32_t function;
	int rc;

	if (n > cut && !memcmp(f->name + n - cut, prologue, cut))
		n -= cut;
	interp_put_text(f->name, n, &texts);
	buf_putc(&texts, '\0');
	kept.file = (uint32_t)texts.len;
	if (f->file)
		interp_put_text(f->file, f->file_length, &texts);
	buf_putc(&texts, '\0');
	kept.lines = (uint32_t)texts.len;
	rc = buf_err(&texts)
	             ?: interp_function_keep(codes, &texts, kept, &function);
	if (!rc)
		*out = interp_place(function, f->line);
	return rc;
}

static int
names(void *runtime, const struct jit_space *space, uint64_t pc,
      uint64_t detail, uint64_t *out, size_t *n)
{
	struct beam *b = runtime;
	struct beam_module *of = beam_modules_find(&b->modules, space, pc);
	struct beam_place *p;
	struct beam_function f;
	int rc = 0;

	(void)detail;
	if (!of)
		return -ENOENT;
	p = place_of(b, pc);
	if (!p->known) {
		if (!jit_may_look(space))
			return -ESTALE;
		rc = beam_modules_function(&b->modules, space, of, pc, &f);
		p->place = INTERP_NO_PLACE;
		if (!rc && !is_shared(&f))
			rc = keep(space->codes, &f, &p->place);
		p->known = !rc;
	}
	out[0] = p->place;
	*n = !rc && p->place != INTERP_NO_PLACE;
	return rc;
}

const struct jit beam_jit = {
	.id = JIT_ERLANG,
	.recognise = recognise,
	.attach = attach,
	.detach = detach,
	.step = step,
	.names = names,
	.line = interp_line_is_position,
};

/* --- copies of stacks ----------------------------------------------------- */

static int
recognise_walk(const struct elf_image *elf, struct interp_image *out)
{
	struct beam_image image;
	int rc = beam_image(elf, &image);

	if (!rc)
		*out = (struct interp_image){
			.roots = {image.variables[BEAM_SCHEDULERS]}};
	return rc;
}

static int
list(const struct interp_space *space, struct interp_list *out)
{
	uint64_t schedulers;
	int rc = memory_copy(space->memory,
	                     space->image->roots[0] + space->bias, &schedulers,
	                     sizeof(schedulers));

	if (!rc)
		*out = (struct interp_list){.language = LANGUAGE_ERLANG,
		                            .head = schedulers,
		                            .hop = INTERP_HERE,
		                            .own = {1}};
	return rc;
}

/* A walk needs no threads: beam_find() reads thread-specific values. */
static int
attach_walk(const struct interp_space *space, struct interp_threads *out)
{
	(void)space;
	(void)out;
	return -ENOENT;
}

const struct language beam_language = {
	.id = LANGUAGE_ERLANG,
	.in_thread = true,
	.copies_stack = true,
	.recognise = recognise_walk,
	.list = list,
	.attach = attach_walk,
	.find = beam_find,
	.step = beam_step,
	.line = interp_line_is_position,
};
