/*
 * Traces: paths through functions of Lua that were compiled. Calls within a
 * path leave nothing on any stack. For each place at which the path can be
 * left, LuaJIT records the frames that it then makes.
 *
 *   Source   LuaJIT 2.1, lj_jit.h: struct GCtrace, SnapShot, SnapEntry; IRIns;
 *            lj_trace.c: lj_trace_unwind(); lj_snap.c: lj_snap_restore()
 */
#pragma once

#include "luajit.h"

#define LUAJIT_MAX_TRACES 8192 /* of a state */
#define LUAJIT_MAX_SNAPS  4096 /* of a trace */
#define LUAJIT_MAX_MAP    16384
#define LUAJIT_MAX_CALLS  16 /* nested, in a trace */

struct luajit_snap {
	uint32_t map;
	uint16_t ref, code; /* code: offset in the trace's code */
	uint8_t nslots, top, nentries, count;
};

struct luajit_trace {
	uint64_t start;         /* of its code */
	uint64_t at;            /* its address, */
	uint64_t snap, map, ir; /* and of parts of it */
	uint32_t size, nmap;
	uint16_t nsnap;
	uint16_t adjust; /* bytes that it adds to its stack frame */
	/* Places at which it can be left, and their frames, in nmap words;
	 * NULL: not read. */
	struct luajit_snap *snaps;
};

/* Traces of a state, by the addresses of their code. */
struct luajit_traces {
	uint64_t dispatch; /* 0: unused */
	uint64_t read_ns, met_ns;
	struct luajit_trace *rows;
	uint32_t n;
};

void luajit_traces_done(struct luajit_traces *t);
/*
 * Reads the table of traces.
 *   Errors   -ENOMEM, those of memory_read()
 */
MUST_CHECK int
luajit_traces_read(const struct luajit_image *image,
                   const struct jit_space *space, struct luajit_traces *t);
/* Finds the trace with code at an address; NULL: none. */
struct luajit_trace *
luajit_traces_find(const struct luajit_traces *t, uint64_t pc);
/*
 * Finds the functions that run at an address in a trace's code, innermost
 * first.
 *
 *   Shape    out[LUAJIT_MAX_CALLS]; in_call: C is called there
 *   Errors   -ESTALE something else is there; those of memory_copy(), -ENOMEM
 */
MUST_CHECK int
luajit_calls(const struct memory *m, struct luajit_trace *t, uint64_t pc,
             bool in_call, struct luajit_call *out, size_t *n);
