/*
 * The memory of a process that pretends to be a JVM: frames to look up in its
 * code, a table of offsets, then the bytes from BASE on.
 */
#include "capture/hotspot/hotspot.h"
#include "capture/host/memory.h"
#include "lib/memory_image.h"

#include <string.h>

#define BASE   UINT64_C(0x7f0000000000)
#define FRAMES 4
#define STEPS  32

struct head {
	uint16_t field[HOTSPOT_FIELDS]; /* 0xffff: missing */
	uint16_t size[HOTSPOT_SIZES];
	int16_t constant[HOTSPOT_CONSTANTS];
	uint16_t major;
	struct {
		uint32_t pc, sp, fp, flags;
	} frames[FRAMES];
	uint32_t heap, heap_end, segmap, segments, log2;
	uint32_t interpreter, interpreter_end;
};

static volatile size_t sink; /* so that no read is left out */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
fill(const struct head *head, struct hotspot *h)
{
	for (size_t i = 0; i < HOTSPOT_FIELDS; i++)
		h->tables.field[i] = head->field[i] == 0xffff ? HOTSPOT_LACKS
		                                              : head->field[i];
	for (size_t i = 0; i < HOTSPOT_SIZES; i++)
		h->tables.size[i] = 1 + head->size[i] % 4096u;
	for (size_t i = 0; i < HOTSPOT_CONSTANTS; i++)
		h->tables.constant[i] = head->constant[i];
	h->tables.major = head->major % 32u;
	h->heaps[0] = (struct hotspot_heap){
		.start = BASE + head->heap,
		.end = BASE + head->heap_end,
		.segmap = BASE + head->segmap,
		.nsegments = head->segments,
		.log2 = 4 + head->log2 % 13u,
	};
	h->nheaps = 1;
	h->interpreter = BASE + head->interpreter;
	h->interpreter_end = BASE + head->interpreter_end;
	h->entry = BASE + head->frames[0].fp;
}

static void
read_names(struct hotspot *h, const struct jit_space *space, uint64_t pc,
           uint64_t detail)
{
	uint64_t places[JIT_MAX_PLACES];
	struct interp_name name;
	size_t count = 0;

	if (hotspot_names(h, space, pc, detail, places, &count))
		return;
	for (size_t i = 0; i < count; i++)
		if (interp_name(space->codes, places[i], &name))
			sink += strlen(name.name) + strlen(name.file) +
			        name.line;
}

static void
walk(struct hotspot *h, const struct jit_space *space,
     const struct unwind_stack *stack, struct unwind_frame f)
{
	for (size_t i = 0; i < STEPS; i++) {
		uint64_t detail = 0, pc = f.pc - !f.interrupted;
		int rc = hotspot_step(h, space, stack, &f, &detail);

		read_names(h, space, pc, detail);
		if (rc)
			return;
		f.interrupted = false;
		f.index++;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct head head;
	struct memory_image image = {.base = BASE};
	struct host host = memory_image_host(&image);
	static struct memory_spare spare; /* for all inputs */
	const struct memory memory = {&host, 1, &spare};
	struct jit_image of = {.jit = &hotspot_jit};
	struct jit_space space = {.memory = &memory,
	                          .image = &of,
	                          .bias = BASE,
	                          .codes = interp_codes_new(),
	                          .now_ns = 1};
	struct unwind_stack stack = {.near = {NULL, BASE, 0}};
	struct hotspot *h = calloc(1, sizeof(*h));

	if (n < sizeof(head) || !h || !space.codes) {
		interp_codes_free(space.codes);
		free(h);
		return 0;
	}
	memcpy(&head, data, sizeof(head));
	stack.near.p = image.bytes = data + sizeof(head);
	stack.near.len = image.n = n - sizeof(head);
	hotspot_clear(h);
	fill(&head, h);
	for (size_t i = 0; i < FRAMES; i++) {
		const struct unwind_frame f = {
			.pc = BASE + head.frames[i].pc,
			.sp = BASE + head.frames[i].sp,
			.fp = BASE + head.frames[i].fp,
			.fp_known = head.frames[i].flags & 1,
			.interrupted = head.frames[i].flags & 2,
		};

		space.now_ns += head.frames[i].flags & 4 ? JIT_AGE_NS : 1;
		walk(h, &space, &stack, f);
	}
	hotspot_jit.detach(h);
	interp_codes_free(space.codes);
	return 0;
}
