/*
 * A language whose functions are compiled at run time: how the program is
 * recognised, how the caller of a frame is found, and how a frame is named.
 * Java is one; capture/hotspot is the example to read beside this.
 *
 * Its frames lie on the thread's own stack, among those of C code, so the
 * kernel's copy of the stack has all of them. No file describes them: they
 * have no call frame information, the caller often can't be found by the frame
 * pointer, and names are objects in the memory of the process. For code that
 * belongs to such a language the unwinder calls step(), and afterwards, while
 * the sample is still new, names() is called with what step() found there.
 *
 *	image     a program or library that was recognised; one for all
 *	          processes that run it
 *	runtime   what is known of one process: the language's own
 *	detail    a number that step() learnt of a frame, for names(): what the
 *	          frame's slots refer to, or where in its function it is
 *	place     a function and a position in it: what samples are counted by
 *
 * To add a language, say NAME, write the room capture/NAME and a row in
 * jits.def. Nothing else refers to it. The room has NAME_jit, a struct jit. In
 * the order in which they are called:
 *
 *     recognise  is asked for each ELF file that is mapped to be run, by
 *                whatever name: it looks for the runtime's dynamic symbols. It
 *                keeps what can be known without a process, in *data, and the
 *                addresses of code in the file itself that frame information
 *                does not describe, such as built-in functions.
 *     attach     is called for each process: it reads the runtime's tables and
 *                the layouts of objects. It is called again, at least
 *                JIT_ATTACH_NS apart, until it succeeds or returns -EBADMSG.
 *     step       leads to the caller. It is called for code in memory without
 *                a file, of any process with such an image, and for the
 *                addresses of the image. It may read the copy of the stack,
 *                and memory, but only what it has not read before: it runs for
 *                each frame of each sample. What it refuses is treated like
 *                other unknown code.
 *     names      turns a frame into places, one for each function that the
 *                compiler inlined there, the innermost first. It keeps
 *                functions with interp_function_keep(), and remembers the
 *                places of a pc and detail.
 *     line       finds the line of a position in the table that was kept.
 *
 * The runtime remembers what it reads, and looks again at what is older than
 * JIT_AGE_NS, since other code may have taken its place.
 *
 * The memory of a target may hold anything, and changes while it is read. Every
 * loop has a limit, every length a maximum, and what does not look like the
 * object that is expected ends in -ESTALE: then the frame has no name, and the
 * capture's quality says how often that happened, and why.
 *
 * The test of a language is a recorded process, as for interpreters
 * (interp.h).
 */
#pragma once

#include "base/cleanup.h"
#include "capture/interp/interp_codes.h"
#include "capture/unwind/unwind.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JIT_ATTACH_NS  UINT64_C(50000000)   /* between two attempts */
#define JIT_AGE_NS     UINT64_C(1000000000) /* of what was read */
#define JIT_MAX_LOOKS  16384                /* per second */
#define JIT_MAX_PLACES 64                   /* of one frame */

struct elf_image;
struct jit;
struct memory;

enum jit_id {
#define JIT(id, name, title) JIT_##id,
#include "jits.def"
#undef JIT
	JITS
};

/* A program or library that is such a runtime. */
struct jit_image {
	const struct jit *jit;
	void *data;          /* the language's; freed by forget */
	size_t size;         /* bytes of data; it has no pointers */
	uint64_t start, end; /* addresses in the image for which step is
	                        called; both 0: none */
};

/* Counts the looks at a process within a second. */
struct jit_looks {
	uint64_t second_ns; /* when it began */
	uint32_t n;
};

/* The process to which frames belong. */
struct jit_space {
	const struct memory *memory;
	const struct jit_image *image;
	uint64_t bias;              /* where the image lies in the process, or
	                               its mapping that has the frame's pc */
	struct interp_codes *codes; /* for functions */
	uint64_t now_ns;            /* CLOCK_MONOTONIC */
	struct jit_looks *looks;    /* NULL: without a limit */
};

/* Counts a look at something new or old in a process's memory; false after
 * JIT_MAX_LOOKS in this second. A process could have another function in each
 * frame of each sample. */
bool jit_may_look(const struct jit_space *space);

struct jit {
	enum jit_id id;
	/* The name shown for code in memory for which names() returns -ENOENT:
	 * another language was compiled to it, so that only a map has its
	 * names. NULL if the language has no such code. */
	const char *guest;
	/*
	 * Recognises a runtime in an image.
	 *   Shape    out starts as {0}; sets all but jit
	 *   Errors   -ENOENT not of this language, or of an unknown version;
	 *            -EIO, -ENOMEM
	 */
	int (*recognise)(const struct elf_image *elf, struct jit_image *out);
	void (*forget)(void *data); /* NULL: nothing to free */
	/*
	 * Attaches to a process.
	 *   Owns     detach() *runtime
	 *   Errors   -EAGAIN its runtime is not ready yet, -EBADMSG it has
	 *            another layout, -ENOMEM, those of memory_copy()
	 */
	int (*attach)(const struct jit_space *space, void **runtime);
	void (*detach)(void *runtime);
	/*
	 * Finds the caller of a frame: see unwind_step.
	 *   Shape    *detail starts as 0
	 */
	int (*step)(void *runtime, const struct jit_space *space,
	            const struct unwind_stack *stack, struct unwind_frame *f,
	            uint64_t *detail);
	/*
	 * Finds the places of a frame.
	 *
	 *   Shape    pc is in the function: not a return address, but the byte
	 *            before it, unless the frame is the interrupted one; out
	 *            has room for JIT_MAX_PLACES. *n 0: the frame does not
	 *            belong to the language, such as a stub, and is not shown
	 *   Errors   -ENOENT the code is not the language's, -ESTALE something
	 *            other than code is there, those of interp_function_keep()
	 *            and memory_read()
	 */
	int (*names)(void *runtime, const struct jit_space *space, uint64_t pc,
	             uint64_t detail, uint64_t *out, size_t *n);
	interp_line *line;
};

/*
 * Finds the runtime in an image.
 *   Owns     jit_image_done() *out
 *   Errors   -ENOENT there is none; -EIO, -ENOMEM
 */
MUST_CHECK int
jit_recognise(const struct elf_image *elf, struct jit_image *out);
void jit_image_done(struct jit_image *image);
