/*
 * Reads V8, the JavaScript engine of Node.js, from outside: its layout, which
 * the program exports for debuggers, and the functions that a process ran.
 *
 * Its code keeps frame pointers. Below the saved one a frame has either a
 * context, and then its function, or the kind of the frame. Interpreted code
 * and that of the first compiler have the same frame; they run in a built-in
 * function of the program, the trampoline, and in memory.
 */
#pragma once

#include "base/pairs.h"
#include "capture/jit/jit.h"

#define V8_MAX_FUNCTIONS (1u << 15)
#define V8_LEAVES        4096 /* addresses whose place in a frame is known */
#define V8_CALLEES       4096 /* function objects that were read */
#define V8_INLINED       2048 /* addresses whose inlined calls are known */
#define V8_MAX_INLINED   8    /* calls at one */
#define V8_MAX_NAME      256  /* characters */
#define V8_MAX_FILE      1024

enum v8_field {
#define FIELD(id, name, needed) V8_##id,
#include "v8_fields.def"
#undef FIELD
	V8_FIELDS
};

/* Facts from the program's file. */
struct v8_image {
	int32_t field[V8_FIELDS];
	bool has[V8_FIELDS];
	bool inlines; /* records inlined functions: since Node.js 20 */
};

/* The part of a frame that an instruction is in. */
enum v8_spot {
	V8_UNKNOWN, /* the code could not be read */
	V8_IN_FRAME,
	V8_AT_START,  /* the return address is at sp, the function in rdi, */
	V8_PUSHED_FP, /* or above the saved frame pointer at sp */
	V8_AT_END     /* at a return: the function is no longer known */
};

/* A function as it is shared by its closures: SharedFunctionInfo. */
struct v8_shared {
	uint64_t head[2]; /* its name or scope, and its script */
	uint64_t checked_ns;
	uint32_t function; /* of interp_codes */
	bool known;
};

/* Functions that were inlined at an address, the innermost first. */
struct v8_inlined {
	uint64_t pc, checked_ns;
	uint64_t start, head[2]; /* of the code; 0: not found */
	size_t n;
	uint64_t shared[V8_MAX_INLINED];
};

struct v8 {
	const struct v8_image *image;
	struct pairs keys; /* (0, address) of rows */
	struct v8_shared *rows;
	uint32_t cap;
	uint64_t shared_map; /* map of shared functions; 0: not seen yet */
	uint32_t fixed[3];   /* functions of code without a function object */
	bool has_fixed[3];
	struct v8_leaf {
		uint64_t pc, checked_ns;
		enum v8_spot spot;
	} leaves[V8_LEAVES];
	struct v8_callee {
		uint64_t detail, shared, read_ns;
	} callees[V8_CALLEES];
	uint64_t stream_map; /* the map of code; 0: not seen yet */
	struct v8_inlined inlined[V8_INLINED];
};

/*
 * The detail of a frame: the address of its function object with some bits of
 * its context, which distinguish it from a function that the collector puts
 * there later. For a frame without a function it is the frame's type, an even
 * number.
 */
#define V8_ADDRESS_BITS 48
static inline uint64_t
v8_detail(uint64_t function, uint64_t context)
{
	return (context * UINT64_C(0x9e3779b97f4a7c15)) >>
	               V8_ADDRESS_BITS << V8_ADDRESS_BITS |
	       function;
}
static inline uint64_t
v8_detail_function(uint64_t detail)
{
	return detail & ((UINT64_C(1) << V8_ADDRESS_BITS) - 1);
}

/* Code whose frame has no function object. */
enum v8_fixed { V8_FIXED_CODE, V8_FIXED_REGEXP };

extern const struct jit v8_jit;
/* Returns the line of a function; no other lines are known. */
interp_line v8_line;
int v8_step(void *runtime, const struct jit_space *space,
            const struct unwind_stack *stack, struct unwind_frame *f,
            uint64_t *detail);
int v8_names(void *runtime, const struct jit_space *space, uint64_t pc,
             uint64_t detail, uint64_t *out, size_t *n);

/* Finds what was inlined at an address of compiled code; NULL if it may not
 * look now. */
const struct v8_inlined *
v8_inlined(struct v8 *v, const struct jit_space *space, uint64_t pc);

/* True for a pointer to an object of V8's heap; small integers are even. */
static inline bool
v8_is_object(uint64_t value)
{
	return (value & 3) == 1;
}

/*
 * Reads words of an object.
 *   Errors   -ESTALE value is not an object, those of memory_copy()
 */
MUST_CHECK int v8_words(const struct jit_space *space, uint64_t object,
                        int64_t offset, uint64_t *out, size_t n);
/*
 * Reads the type of an object.
 *   Errors   as v8_words()
 */
MUST_CHECK int v8_type(const struct v8 *v, const struct jit_space *space,
                       uint64_t object, uint16_t *out);
/*
 * Appends the first `most` characters of a string as UTF-8; control
 * characters become '?'.
 *   Errors   -ESTALE it is not a string, those of memory_copy()
 */
MUST_CHECK int v8_text(const struct v8 *v, const struct jit_space *space,
                       uint64_t string, uint32_t most, struct buf *out);
/*
 * Counts the ends of lines among the first n characters of a string.
 *   Errors   as v8_text(); -E2BIG n is too large
 */
MUST_CHECK int v8_lines(const struct v8 *v, const struct jit_space *space,
                        uint64_t string, uint64_t n, uint32_t *out);
/*
 * Reads a function's name, file and first line, and keeps them.
 *   Errors   -ESTALE it is not a SharedFunctionInfo, those of memory_copy() and
 *            interp_function_keep()
 */
MUST_CHECK int v8_function(const struct v8 *v, const struct jit_space *space,
                           const struct v8_shared *s, uint32_t *out);
