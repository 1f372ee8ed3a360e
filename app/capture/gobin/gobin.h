/*
 * Reads the file of a Go program, stripped or not: the version of Go, and the
 * tables with which the runtime walks and names stacks.
 *
 * Every Go program has a function table (pclntab), and a struct with the places
 * of its tables (moduledata). Both are found by section if there are sections,
 * or else by their contents. Parts of the tables are read when first needed, so
 * that even a program of 100 MB is cheap to open.
 *
 *	gobin_open(elf, &go)
 *	gobin_frame(go, pc - bias, &frame)	to walk: caller's sp, flags
 *	gobin_lines(go, pc - bias, lines, max)	to name: inlined calls first
 *
 * All addresses are the image's own (vaddr: minus its elf_bias()). Everything
 * in the file is checked.
 *
 *   Threads  one at a time
 *   Source   Go 1.18 to 1.27, x86-64 and aarch64: runtime/symtab.go,
 *            runtime/symtabinl.go, internal/abi/symtab.go; 1.20 from its
 *            sources only. Only one text section, as cmd/link writes for both
 */
#pragma once

#include "capture/elf/elf.h"

#define GOBIN_MAX_PCLNTAB ((size_t)512 << 20) /* bytes */
#define GOBIN_MAX_VERSION 64
#define GOBIN_MAX_NAME    4096 /* bytes of the name of a function or file */
#define GOBIN_MAX_LINES   64   /* inlined calls at one address */
#define GOBIN_MIN_GO      18   /* 1.18 */
#define GOBIN_MAX_GO      27   /* newer versions are read like this one */

struct gobin;

/* Facts from runtime.moduledata. */
struct gobin_about {
	char version[GOBIN_MAX_VERSION]; /* "go1.24.4"; "" unknown */
	unsigned minor;                  /* 24; a guess without a version */
	uint16_t machine;                /* EM_X86_64, EM_AARCH64 */
	uint64_t pclntab, moduledata;
	uint64_t text, etext; /* Go functions, and C code linked with them */
	uint64_t noptrdata, enoptrdata, data, edata; /* variables */
	uint64_t bss, ebss, noptrbss, enoptrbss;
	uint64_t types, etypes;
	uint64_t gofunc; /* base of functions' data; 0 unknown */
};

/*
 * Opens the Go program in an image. Only the file is read: pointers that the
 * loader fills in (position-independent programs) are taken from relocations.
 *
 *   Owns     elf is borrowed until gobin_free; *out is the caller's
 *   Errors   -ENOENT no Go program, or older than 1.18; -EBADMSG its tables are
 *            malformed, -E2BIG past GOBIN_MAX_PCLNTAB, -EIO, -ENOMEM; *out
 *            untouched
 */
MUST_CHECK int gobin_open(const struct elf_image *elf, struct gobin **out);
void gobin_free(struct gobin *g);
DEFINE_CLEANUP(struct gobin *, gobin_free)
#define CLEANUP_GOBIN CLEANUP(gobin_free_ptr)

const struct gobin_about *gobin_about(const struct gobin *g);

/* Functions with a special meaning, whatever their numbers in a version.
 * Source: internal/abi/symtab.go, FuncID. */
enum gobin_func {
	GOBIN_NORMAL,
	GOBIN_ABORT,
	GOBIN_ASMCGOCALL,
	GOBIN_ASYNC_PREEMPT, /* injected: its caller was interrupted */
	GOBIN_CGOCALLBACK,
	GOBIN_COROSTART,
	GOBIN_DEBUG_CALL,
	GOBIN_GC_MARK_WORKER,
	GOBIN_GOEXIT,
	GOBIN_GOGO,
	GOBIN_GOPANIC,
	GOBIN_HANDLE_ASYNC_EVENT,
	GOBIN_MCALL,
	GOBIN_MORESTACK,
	GOBIN_MSTART,
	GOBIN_PANICWRAP,
	GOBIN_RT0_GO,
	GOBIN_RUNTIME_MAIN,
	GOBIN_RUN_FINALIZERS,
	GOBIN_RUN_CLEANUPS,
	GOBIN_SIGPANIC, /* injected, like ASYNC_PREEMPT */
	GOBIN_SYSTEMSTACK,
	GOBIN_SYSTEMSTACK_SWITCH,
	GOBIN_WRAPPER, /* made by the compiler; tracebacks hide it */
};

/* Flags of a function: internal/abi/symtab.go, FuncFlag. */
enum {
	GOBIN_TOP = 1,     /* the first frame of its stack */
	GOBIN_SPWRITE = 2, /* switches stacks: sp_delta is meaningless */
	GOBIN_ASM = 4,
};

struct gobin_frame {
	uint64_t entry;   /* vaddr where the function begins */
	int32_t sp_delta; /* bytes from sp to the return address */
	uint8_t func;     /* enum gobin_func */
	uint8_t flags;
};

/*
 * Finds the frame of the function at vaddr. Answers are cached, so that each
 * return address of many stacks is looked up once.
 *
 *   Units    vaddr: a pc, either interrupted or a return address. x86-64: the
 *            return address is the word at sp + sp_delta, the caller's sp the
 *            one after. aarch64: sp + sp_delta is the caller's sp, the return
 *            address is the word at sp when sp_delta is not 0, else in the link
 *            register
 *   Errors   false: no Go function, or none whose frame is known there
 */
MUST_CHECK bool
gobin_frame(struct gobin *g, uint64_t vaddr, struct gobin_frame *out);

struct gobin_line {
	const char *name;    /* as in the program, "pkg.(*T[...]).M"; not "" */
	const char *file;    /* "" unknown */
	uint32_t line;       /* line at vaddr; 0 unknown */
	uint32_t start_line; /* line of its declaration (from 1.20 on); 0
	                        unknown */
	uint64_t vaddr;      /* the vaddr asked for; from the second row on,
	                        of the call that is inlined */
	uint8_t func;        /* enum gobin_func */
	bool inlined;        /* inlined into the next row */
};

/*
 * Finds the functions that run at an address, with inlined calls.
 *
 *   Shape    out[max], innermost inlined call first, the real function last;
 *            returns their number, 0: no Go function. Calls beyond max are left
 *            out, but never the function itself
 *   Units    vaddr: of a return address, one byte before it
 *   Owns     texts live as long as g
 */
size_t gobin_lines(struct gobin *g, uint64_t vaddr, struct gobin_line *out,
                   size_t max);

/* Instructions of a function: [start, end), vaddr; 0, 0: unknown. */
struct gobin_range {
	uint64_t start, end;
};
/*
 * Finds functions by name, in one pass over the table.
 *
 *   Shape    names[n], as in the program; out[n]. Among functions with the same
 *            name the first is found
 */
void gobin_named(struct gobin *g, const char *const *names, size_t n,
                 struct gobin_range *out);
