/*
 * Finds functions written in Lua, in processes that run LuaJIT 2.1, as
 * capture/interp/interp.h says, and, while a trace of compiled code runs, as
 * capture/jit/jit.h says: both in the library and in the command.
 *
 * LuaJIT exports nothing of its layout, and versions and builds differ in it.
 * The code that interprets, which is written in assembler, contains the
 * distances: they are read from its instructions.
 *
 * A function has no name. As in LuaJIT's own profiler, it gets that of the
 * variable or field in which a caller found it, or else its file and line.
 */
#pragma once

#include "base/buf.h"
#include "capture/host/memory.h"
#include "capture/interp/interp_codes.h"
#include "capture/jit/jit.h"
#include "luajit_walk.h"

/* Indexes of an image's roots, which are values of struct luajit_image. */
enum { LUAJIT_DISTANCE, LUAJIT_CURRENT };

/* The values that an image's instructions contain. */
struct luajit_image {
	uint64_t start, end; /* of the code that interprets */
	uint64_t entry;      /* start of the code by which C enters it */
	uint64_t no_run;     /* the end of that code: interp_image.no_run */
	uint32_t distance;   /* of the dispatch table from the global state */
	uint32_t state;      /* bytes before the dispatch table: the address of
	                        the current state, */
	uint32_t traces;     /* and of the array of traces */
	uint32_t mcode;      /* offset in a trace of its code's address */
};
/*
 * Reads an image's instructions.
 *   Errors   -ENOENT it is not LuaJIT for x86-64 with LJ_GC64; -EIO, -ENOMEM
 */
MUST_CHECK int
luajit_image(const struct elf_image *elf, struct luajit_image *out);

extern const struct language luajit_language;
extern const struct jit luajit_jit;

/* A prototype: what functions of the same source have in common. */
struct luajit_proto {
	uint64_t at;        /* its address */
	uint64_t chunk;     /* address of its file's name */
	uint64_t constants; /* of its constants; strings are before it */
	uint64_t lines;     /* of the lines of its instructions, or 0 */
	uint64_t upvalues;  /* of its upvalues' names, or 0 */
	uint64_t variables; /* of its variables' names, or 0 */
	uint32_t size;      /* instructions */
	uint32_t first_line, nlines;
};
#define LUAJIT_MAX_CODE (1u << 16) /* instructions whose lines are kept */

/* Parses a prototype; false if something else is there. */
bool luajit_proto(uint64_t at, const uint8_t p[LUAJIT_PROTO],
                  struct luajit_proto *out);
/* Returns the number of the instruction before `next`; 0 if the function has
 * none there. */
static inline uint32_t
luajit_position(const struct luajit_proto *p, uint64_t next)
{
	uint64_t at = (next - p->at - LUAJIT_PROTO) / 4;

	return next > p->at + LUAJIT_PROTO && at && at <= p->size
	               ? (uint32_t)at - 1
	               : 0;
}

/*
 * Reads the name, file and lines of a prototype, and keeps them.
 *
 *   Shape    caller and next: the prototype that called it, and the address
 *            after the call; NULL: not known. *named: 0 if another caller might
 *            give it a name
 *   Errors   -ESTALE it is gone, those of memory_copy() and
 *            interp_function_keep()
 */
MUST_CHECK int
luajit_function(const struct memory *m, struct interp_codes *c,
                const struct luajit_proto *p, const struct luajit_proto *caller,
                uint64_t next, uint32_t *named, uint32_t *out);
/* A function that runs: its prototype's address, and that of the instruction
 * after the one that runs. */
struct luajit_call {
	uint64_t proto, next;
};
/*
 * Finds the place of a call; reads its prototype if it is new or old.
 *
 *   Shape    caller: NULL: not known
 *   Errors   those of luajit_function()
 */
MUST_CHECK int luajit_place(struct interp_codes *c, const struct memory *m,
                            uint64_t now_ns, const struct luajit_call *call,
                            const struct luajit_call *caller, uint64_t *out);
/* Returns the line of an instruction. */
interp_line luajit_line;
/*
 * Appends the name of the variable or field in which an instruction found the
 * function that it calls.
 *
 *   Shape    code[n]: instructions of a prototype, from number `first` on, up
 *            to the call
 *   Errors   -ENOENT it has none; those of memory_copy()
 */
MUST_CHECK int
luajit_callee(const struct memory *m, const struct luajit_proto *p,
              const uint32_t *code, size_t n, uint32_t first, struct buf *out);
