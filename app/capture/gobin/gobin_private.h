/*
 * The inside of a Go program: its tables, and reading its image.
 */
#pragma once

#include "gobin.h"

#define GOBIN_BLOCK  ((size_t)16 << 10) /* bytes of pclntab read at a time */
#define GOBIN_CACHE  4096               /* cached frames */
#define GOBIN_HEADER 72                 /* bytes of pcHeader */

#define GOBIN_MAGIC_18 0xfffffff0 /* 1.18, 1.19 */
#define GOBIN_MAGIC_20 0xfffffff1

/* A row of gobin_version.def. */
struct gobin_version {
	uint8_t from, func_size;
	uint8_t inline_size, inline_func, inline_name, inline_parent,
		inline_start;
	uint8_t types, etypes, gofunc;
	uint8_t ids;
};

/* The function table. Offsets count from its start, and are below size. */
struct gobin_pclntab {
	uint64_t offset, vaddr; /* of its start, in the file and in the image */
	size_t size;            /* upper bound, bytes */
	uint32_t magic, nfunc;
	uint64_t text_start; /* before 1.26; 0 in shared objects */
	uint8_t quantum;     /* least bytes of an instruction */
	size_t names, units, files, values, funcs;
};

struct gobin {
	const struct elf_image *elf;
	struct gobin_about about;
	const struct gobin_version *version;
	struct gobin_pclntab tab;
	uint8_t *bytes;  /* the table, as far as it was read */
	uint8_t *loaded; /* by block */
	struct gobin_known {
		uint64_t vaddr;
		struct gobin_frame frame;
		bool asked, found;
	} cache[GOBIN_CACHE];
};

/* --- finding -------------------------------------------------------------- */

/*
 * Calls seen for each aligned word of loaded segments that equals what under
 * mask, until it returns false. Reads at most max bytes of each segment.
 *
 *   Shape    flags: PF_* that the segment must have
 *   Errors   -ENOMEM; bytes that can't be read are skipped
 */
typedef bool gobin_seen(void *arg, uint64_t vaddr);
MUST_CHECK int
gobin_scan(const struct elf_image *elf, uint32_t flags, uint64_t what,
           uint64_t mask, uint64_t max, gobin_seen *seen, void *arg);

/*
 * Reads words of data as if the loader had loaded the image at 0.
 *   Errors   -EIO not in the file
 */
MUST_CHECK int gobin_words(const struct elf_image *elf, uint64_t vaddr,
                           uint64_t *out, size_t n);
/* Calls seen for each place that a relocation makes point to what. */
MUST_CHECK int gobin_pointers(const struct elf_image *elf, uint64_t what,
                              gobin_seen *seen, void *arg);

/* --- the table ------------------------------------------------------------ */

/* Returns n bytes of the table; NULL when the table has no such bytes. */
const uint8_t *gobin_bytes(struct gobin *g, size_t at, size_t n);
/* Returns a text of the table; NULL when it is longer than GOBIN_MAX_NAME. */
const char *gobin_text(struct gobin *g, size_t at);

/*
 * Reads row i of ftab: offset of a function from the text's start, offset of
 * its _func. The last row, number nfunc, is the end of the text and has no
 * _func.
 */
MUST_CHECK bool gobin_ftab_row(struct gobin *g, size_t i, uint32_t out[2]);

struct gobin_function {
	uint64_t entry; /* vaddr */
	size_t at;      /* offset of its _func in the table */
	const uint8_t *row;
};
MUST_CHECK bool
gobin_function(struct gobin *g, uint64_t vaddr, struct gobin_function *out);
/* Returns the word at an offset from _func, in it or after it. */
uint32_t gobin_field(const struct gobin_function *f, size_t byte);
/* Returns the value of a pc-value table at vaddr; -1 when there is none. */
int32_t gobin_value(struct gobin *g, const struct gobin_function *f,
                    uint32_t table, uint64_t vaddr);
enum gobin_func gobin_func_of(const struct gobin *g, uint8_t id);

/* Offsets in _func. */
enum {
	FUNC_NAME = 4,
	FUNC_PCSP = 16,
	FUNC_PCFILE = 20,
	FUNC_PCLN = 24,
	FUNC_NPCDATA = 28,
	FUNC_UNIT = 32,
	FUNC_START_LINE = 36, /* from 1.20 on */
	/* counted from the end of _func */
	FUNC_ID_BACK = 4,
	FUNC_FLAG_BACK = 3,
	FUNC_NFUNCDATA_BACK = 1,
};
