/*
 * The memory of a process that pretends to run V8: which of two layouts, a
 * frame's detail and the pc, then the bytes from BASE on, in which a stack
 * lies, too.
 */
#include "capture/v8/v8.h"

#include "capture/host/memory.h"
#include "lib/memory_image.h"

#include <stdlib.h>
#include <string.h>

#define BASE UINT64_C(0x7f0000000000)

struct head {
	uint64_t newer, detail, pc, sp, fp;
};

/* As Node.js 20 has them. */
static const struct v8_image layout = {
	.field = {
		[V8_FRAME_TYPE] = -8,    [V8_FRAME_FUNCTION] = -16,
		[V8_MAP_TYPE] = 12,      [V8_FUNCTION_SHARED] = 24,
		[V8_SHARED_NAME] = 16,   [V8_SHARED_DEBUG] = 32,
		[V8_SCRIPT_NAME] = 16,   [V8_SCRIPT_SOURCE] = 8,
		[V8_SCOPE_LOCALS] = 2,   [V8_SCOPE_FIRST] = 3,
		[V8_LENGTH] = 12,        [V8_NARROW_CHARS] = 16,
		[V8_WIDE_CHARS] = 16,    [V8_CONS_FIRST] = 16,
		[V8_CONS_SECOND] = 24,   [V8_SLICED_PARENT] = 16,
		[V8_SLICED_OFFSET] = 24, [V8_THIN_ACTUAL] = 16,
		[V8_EXTERNAL] = 16,      [V8_NO_STRING] = 128,
		[V8_TYPE_SHARED] = 262,  [V8_TYPE_SCOPE] = 261,
		[V8_TYPE_CODE] = 245,    [V8_TYPE_STREAM] = 252,
		[V8_STREAM_START] = 32,  [V8_TYPE_ARRAY] = 175,
		[V8_DEOPT_CALLS] = 7,    [V8_DEOPT_FUNCTIONS] = 2,
		[V8_TYPE_SCRIPT] = 167,  [V8_FRAME_WASM] = 4,
		[V8_FRAME_REGEXP] = 27,
	}};

static volatile size_t sink; /* so that no read is optimised away */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
read_frame(void *runtime, const struct jit_space *space,
           const struct head *head, const struct memory_image *image)
{
	const struct unwind_stack stack = {.near = {image->bytes, BASE, image->n}};
	const uint64_t regs[24] = {[5] = head->detail};
	struct unwind_frame f = {.pc = head->pc,
	                         .sp = head->sp,
	                         .fp = head->fp,
	                         .fp_known = true,
	                         .interrupted = head->pc & 1,
	                         .regs = regs};
	uint64_t places[JIT_MAX_PLACES], detail = head->detail;
	struct interp_name name;
	size_t n = 0;

	sink += (size_t)v8_jit.step(runtime, space, &stack, &f, &detail);
	if (v8_jit.names(runtime, space, head->pc, detail, places, &n))
		return;
	for (size_t i = 0; i < n; i++)
		if (interp_name(space->codes, places[i], &name))
			sink += strlen(name.name) + strlen(name.file) +
			        name.line;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct head head;
	struct v8_image kind = layout;
	struct memory_image image;
	struct host host;
	struct memory memory;
	struct jit_image of = {.jit = &v8_jit, .data = &kind};
	struct jit_space space = {.memory = &memory,
	                          .image = &of,
	                          .codes = interp_codes_new(),
	                          .now_ns = JIT_AGE_NS};
	void *runtime = NULL;

	if (n >= sizeof(head) && space.codes &&
	    !v8_jit.attach(&space, &runtime)) {
		memcpy(&head, data, sizeof(head));
		memset(kind.has, true, sizeof(kind.has));
		kind.has[V8_SHARED_SCRIPT] = false;
		kind.inlines = true;
		if (head.newer)
			kind.field[V8_SCOPE_FIRST] = 5;
		image = (struct memory_image){BASE, data + sizeof(head),
		                              n - sizeof(head)};
		host = memory_image_host(&image);
		memory = (struct memory){.host = &host, .pid = 1};
		read_frame(runtime, &space, &head, &image);
	}
	v8_jit.detach(runtime);
	interp_codes_free(space.codes);
	return 0;
}
