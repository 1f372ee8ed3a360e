/*
 * Java's HotSpot, read from outside: a process's layout from its tables, its
 * compiled code, and the methods it ran.
 */
#pragma once

#include "base/pairs.h"
#include "capture/jit/jit.h"
#include "hotspot_tables.h"

#define HOTSPOT_MAX_HEAPS   16
#define HOTSPOT_HEAD        512 /* bytes of a blob's head, at most */
#define HOTSPOT_MAX_BLOBS   (1u << 16)
#define HOTSPOT_MAX_METHODS (1u << 17)
#define HOTSPOT_MAX_SPOTS   (1u << 18)
#define HOTSPOT_MAX_BYTES   ((size_t)64 << 20) /* of code and scopes kept */
#define HOTSPOT_MAX_PIECE   ((uint32_t)1 << 20) /* of one blob's code or scopes */

/* A part of the code cache. */
struct hotspot_heap {
	uint64_t start, end; /* of its committed memory */
	uint64_t segmap, nsegments;
	uint32_t log2;
};

enum hotspot_kind {
	HOTSPOT_KIND_STUB,
	HOTSPOT_KIND_METHOD, /* a compiled method */
	HOTSPOT_KIND_NATIVE, /* the call of a native method */
};

/* A piece of compiled code. */
struct hotspot_blob {
	uint64_t start, end;     /* of the blob, with its head */
	uint64_t code, code_end; /* its instructions */
	uint64_t frame;       /* bytes, with the return address; 0: unknown */
	uint64_t complete;    /* address at which the frame is complete */
	uint64_t method;      /* Method*; 0: none */
	uint64_t metadata;    /* address of its Method*s */
	uint64_t pcs, scopes; /* addresses of tables in memory; 0: none */
	uint32_t npcs, nscopes, nmetadata; /* bytes */
	uint32_t serial;
	uint32_t function; /* a stub's */
	uint8_t kind;      /* enum hotspot_kind */
	bool used, stale;
	uint32_t nhead;
	uint8_t head[HOTSPOT_HEAD];
	/* Copies, read when first needed: code, pcs, scopes, metadata. */
	uint8_t *bytes;
	uint32_t ncode, got_pcs, got_scopes, got_metadata;
};

/* A method that was read. */
struct hotspot_method {
	uint64_t const_method, pool; /* 0: never read */
	uint64_t code;               /* address of its byte codes */
	uint32_t code_size;
	uint32_t name_index;
	uint32_t function;
	bool used, stale, nameless;
};

/* The places of an address. */
struct hotspot_spot {
	uint32_t serial; /* of its blob; 0: unknown */
	uint32_t first, n;
};

struct hotspot {
	struct hotspot_tables tables;
	uint64_t interpreter, interpreter_end;
	uint64_t call_stub; /* where calls from C return; 0: not known */
	uint64_t entry;     /* where the frames of a virtual thread return;
	                       0: not known */
	uint32_t call_stub_function;
	struct hotspot_heap heaps[HOTSPOT_MAX_HEAPS];
	size_t nheaps;
	uint64_t heaps_ns, checked_ns;
	struct hotspot_blob **blobs; /* by address */
	uint32_t nblobs, blobs_cap, serial;
	size_t bytes; /* of the blobs' copies */
	bool full;    /* all is forgotten at the next step */
	struct pairs method_keys;
	struct hotspot_method *methods;
	uint32_t methods_cap;
	struct pairs spot_keys;
	struct hotspot_spot *spots;
	uint32_t spots_cap;
	uint64_t *places;
	uint32_t nplaces, places_cap;
};

extern const struct jit hotspot_jit;

/* --- code: hotspot_code.c ------------------------------------------------- */

/* Reads where the code heaps are. */
MUST_CHECK int hotspot_heaps(struct hotspot *h, const struct jit_space *space);
/* True for an address in a code heap. */
bool hotspot_is_code(const struct hotspot *h, uint64_t addr);
/*
 * Finds the blob of an address; it is valid until the next call.
 *   Errors   -ENOENT there is none, -ESTALE it does not look like one, -ENOMEM,
 *            those of memory_read()
 */
MUST_CHECK int hotspot_blob(struct hotspot *h, const struct jit_space *space,
                            uint64_t pc, struct hotspot_blob **out);
/* Copies a blob's code and tables. */
MUST_CHECK int
hotspot_blob_bytes(struct hotspot *h, const struct jit_space *space,
                   struct hotspot_blob *b);
/* Checks what was used since the last check; at most once per JIT_AGE_NS. */
void hotspot_refresh(struct hotspot *h, const struct jit_space *space);
/* Forgets all code and methods. */
void hotspot_clear(struct hotspot *h);

/* --- methods: hotspot_method.c -------------------------------------------- */

/* Finds a method. Errors as hotspot_blob(). */
MUST_CHECK int hotspot_method(struct hotspot *h, const struct jit_space *space,
                              uint64_t method, struct hotspot_method **out);
void hotspot_methods_refresh(struct hotspot *h, const struct jit_space *space);
/* Keeps a name as a function without lines. */
MUST_CHECK int hotspot_keep_name(const struct jit_space *space,
                                 const char *name, uint32_t *out);
interp_line hotspot_line;

/* Decodes a number of HotSpot's compressed streams; false: it does not end
 * before n. *at is moved past it. */
bool hotspot_number(const uint8_t *p, size_t n, bool offset, size_t *at,
                    uint32_t *out);

/* --- frames: hotspot_step.c, hotspot_names.c ------------------------------ */

int hotspot_step(void *runtime, const struct jit_space *space,
                 const struct unwind_stack *stack, struct unwind_frame *f,
                 uint64_t *detail);
int hotspot_names(void *runtime, const struct jit_space *space, uint64_t pc,
                  uint64_t detail, uint64_t *out, size_t *n);
/* Details of frames: one of these, or a method and the index of its byte
 * code. */
#define HOTSPOT_LEAF     1 /* compiled code that was interrupted */
#define HOTSPOT_CALL     2 /* the stub through which C calls Java */
#define HOTSPOT_DETAILS  3
#define HOTSPOT_BCI_BITS 16
