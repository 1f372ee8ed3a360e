#include "lib/jit_image.h"

#include "capture/host/memory.h"

#include <errno.h>
#include <string.h>

#define STACK_BYTES ((size_t)8 << 10)
#define MAX_WALK    256

#define JIT(id, name, title) extern const struct jit name##_jit;
#include "capture/jit/jits.def"
#undef JIT

static const struct jit *const jits[] = {
#define JIT(id, name, title) [JIT_##id] = &name##_jit,
#include "capture/jit/jits.def"
#undef JIT
};

DEFINE_CLEANUP(struct interp_codes *, interp_codes_free)

struct walk {
	const struct jit_space *space;
	void *runtime;
	uint8_t *bytes; /* of the stack */
	struct buf *out;
};

static void
put_places(const struct walk *w, const uint64_t *places, size_t n)
{
	struct interp_name name;

	for (size_t i = 0; i < n; i++)
		if (interp_name(w->space->codes, places[i], &name))
			buf_addf(w->out, "\t%s %s:%u (%u)\n", name.name,
			         name.file, name.line, name.start_line);
}

/* Walks from a frame to one that is not the language's. */
static int
walk(const struct walk *w, const struct jit_image_frame *from)
{
	const struct jit *jit = w->space->image->jit;
	struct memory_piece p = {.addr = from->sp, .len = STACK_BYTES};
	CLEANUP(memory_batch_done) struct memory_batch batch = {.n = 0};
	struct unwind_frame f = {.pc = from->pc,
	                         .sp = from->sp,
	                         .fp = from->fp,
	                         .fp_known = from->fp_known,
	                         .interrupted = from->interrupted,
	                         .regs = from->has_regs ? from->regs : NULL};
	struct unwind_stack stack;
	int rc = memory_read(w->space->memory, &p, 1, &batch);

	if (rc)
		return rc;
	memcpy(w->bytes, p.p, p.got);
	stack = (struct unwind_stack){.near = {w->bytes, from->sp, p.got}};
	buf_puts(w->out, "frame\n");
	for (; f.index < MAX_WALK; f.index++) {
		uint64_t places[JIT_MAX_PLACES], detail = 0, pc = f.pc;
		const uint64_t at = pc - !f.interrupted;
		const uint64_t sp = f.sp;
		size_t n = 0;

		rc = jit->step(w->runtime, w->space, &stack, &f, &detail);
		if (!jit->names(w->runtime, w->space, at, detail, places, &n))
			put_places(w, places, n);
		if (rc || f.sp < sp)
			break;
		buf_addf(w->out, "+%llu\n", (unsigned long long)(f.sp - sp));
		f.interrupted = false;
		f.regs = NULL;
	}
	return buf_err(w->out);
}

static int
walk_all(struct walk *w, const struct image *m, uint64_t n)
{
	int rc = 0;

	for (uint64_t i = 0; i < n && !rc; i++) {
		struct jit_image_frame f;

		memcpy(&f,
		       m->elf + sizeof(struct jit_image_head) + i * sizeof(f),
		       sizeof(f));
		rc = walk(w, &f);
	}
	return rc;
}

int
jit_image_frames(const struct image *m, const struct host *host, int32_t pid,
                 struct buf *out)
{
	CLEANUP(memory_spare_done) struct memory_spare spare = {.n = 0};
	CLEANUP(interp_codes_free_ptr)
	struct interp_codes *codes = interp_codes_new();
	CLEANUP_FREE uint8_t *bytes = malloc(STACK_BYTES);
	const struct memory memory = {
		.host = host, .pid = pid, .spare = &spare};
	struct jit_image_head head;
	struct jit_image image;
	const struct jit_space space = {.memory = &memory,
	                                .image = &image,
	                                .bias = m->head.bias,
	                                .codes = codes,
	                                .now_ns = 1};
	struct walk w = {.space = &space, .bytes = bytes, .out = out};
	int rc;

	if (m->head.elf_bytes < sizeof(head))
		return -EBADMSG;
	memcpy(&head, m->elf, sizeof(head));
	if (head.jit >= JITS || !codes || !bytes ||
	    head.n > (m->head.elf_bytes - sizeof(head)) /
	                     sizeof(struct jit_image_frame))
		return -EBADMSG;
	image = (struct jit_image){jits[head.jit], head.data, sizeof(head.data),
	                           head.start, head.end};
	rc = image.jit->attach(&space, &w.runtime);
	if (rc)
		return rc;
	rc = walk_all(&w, m, head.n);
	image.jit->detach(w.runtime);
	return rc;
}
