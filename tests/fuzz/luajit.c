/*
 * The memory of a process that pretends to run LuaJIT: a frame, then the bytes
 * from BASE on, in which its stack lies, too. The interpreter's code is at
 * BASE, and the frame's register has the address of the dispatch table.
 */
#include "capture/host/memory.h"
#include "capture/luajit/luajit_trace.h"
#include "lib/memory_image.h"

#include <asm/perf_regs.h>
#include <string.h>

#define BASE UINT64_C(0x7f0000000000)

struct head {
	uint64_t pc, sp, r14;
};

static const struct luajit_image layout = {.start = 0,
                                           .end = 64,
                                           .distance = 0x200,
                                           .state = 0x100,
                                           .traces = 0x80,
                                           .mcode = 88};

static volatile size_t sink; /* so that no read is optimised away */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
read_frame(void *runtime, const struct jit_space *space,
           const struct head *head, const struct memory_image *image)
{
	const struct unwind_stack stack = {
		.near = {image->bytes, BASE, image->n}};
	const uint64_t regs[UNWIND_REGS] = {[PERF_REG_X86_R14] = head->r14};
	struct unwind_frame f = {.pc = head->pc,
	                         .sp = head->sp,
	                         .interrupted = head->pc & 1,
	                         .regs = regs};
	uint64_t places[JIT_MAX_PLACES], detail = 0;
	struct interp_name name;
	size_t count = 0;

	for (int i = 0; i < 4; i++)
		sink += (size_t)luajit_jit.step(runtime, space, &stack, &f,
		                                &detail);
	if (luajit_jit.names(runtime, space, head->pc, detail, places, &count))
		return;
	for (size_t i = 0; i < count; i++)
		if (interp_name(space->codes, places[i], &name))
			sink += strlen(name.name) + strlen(name.file) +
			        name.line;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct head head;
	struct memory_image image;
	struct host host;
	struct memory memory;
	struct luajit_image facts = layout;
	struct jit_image of = {.jit = &luajit_jit, .data = &facts};
	struct jit_space space = {.memory = &memory,
	                          .image = &of,
	                          .bias = BASE,
	                          .codes = interp_codes_new(),
	                          .now_ns = JIT_AGE_NS};
	void *runtime = NULL;

	if (n >= sizeof(head) && space.codes &&
	    !luajit_jit.attach(&space, &runtime)) {
		memcpy(&head, data, sizeof(head));
		image = (struct memory_image){BASE, data + sizeof(head),
		                              n - sizeof(head)};
		host = memory_image_host(&image);
		memory = (struct memory){.host = &host, .pid = 1};
		read_frame(runtime, &space, &head, &image);
	}
	luajit_jit.detach(runtime);
	interp_codes_free(space.codes);
	return 0;
}
