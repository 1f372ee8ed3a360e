/*
 * Call frame information: how to find the caller's registers, for each address
 * of a function. A section's bytes in, rows out; nothing is kept.
 *
 * Every offset, length and program comes from the target: unreadable data is
 * -EBADMSG; programs are bounded by CFI_MAX_STEPS and CFI_MAX_REMEMBERED.
 *
 * Source: DWARF 5, 6.4; LSB 5, 10.6.1 (.eh_frame)
 */
#pragma once

#include "base/cleanup.h"
#include "cfi_cursor.h"

#define CFI_REGS           33 /* columns kept; x86-64 has 17, aarch64 33 */
#define CFI_MAX_STEPS      65536
#define CFI_MAX_REMEMBERED 16
#define CFI_MAX_AUGMENT    16

/* .eh_frame, or .debug_frame, whose pointers to CIEs have another origin. */
struct cfi_section {
	struct cfi_bytes bytes;
	bool debug;
};

struct cfi_cie {
	size_t program, end; /* in the section */
	uint64_t code_align;
	int64_t data_align;
	uint32_t ra; /* column of the return address */
	uint8_t encoding;
	bool augmented, signal;
};

struct cfi_entry {
	uint64_t start, end; /* vaddr of the function */
	size_t program, program_end;
	struct cfi_cie cie;
};

enum cfi_how {
	CFI_SAME,      /* not touched */
	CFI_UNDEFINED, /* lost; for the return address: the first frame */
	CFI_AT,        /* in memory at CFA + value */
	CFI_IS,        /* CFA + value */
	CFI_REGISTER,  /* register reg; for the CFA: reg + value */
	CFI_AT_EXPR,   /* in memory at the result of the expression */
	CFI_EXPR,      /* the result of the expression */
};

struct cfi_rule {
	uint8_t how, reg;
	uint32_t size; /* of the expression, bytes */
	int64_t value; /* for expressions: offset in the section */
};

struct cfi_row {
	struct cfi_rule cfa; /* CFI_REGISTER, CFI_EXPR, or CFI_SAME: none */
	struct cfi_rule regs[CFI_REGS]; /* by DWARF number */
};

/* Steps to the next entry, and sets *entry to its bytes; false at the end, or
 * at a 64-bit length, which only sections above 4 GiB need. */
bool cfi_next(struct cfi_cursor *section, struct cfi_cursor *entry);

/*
 * Reads the entry of a function and its CIE.
 *   Shape    at: offset of the entry in the section
 *   Errors   -EBADMSG not readable, or a CIE; *out undefined
 */
MUST_CHECK int
cfi_entry_read(const struct cfi_section *s, size_t at, struct cfi_entry *out);

/* Called with each row in ascending order; a row holds from pc up to the next
 * row's pc. Return false to stop. */
typedef bool cfi_visit(void *arg, uint64_t pc, const struct cfi_row *row);
/*
 * Runs the program of a function.
 *   Errors   -EBADMSG; rows already passed to visit are valid
 */
MUST_CHECK int cfi_run(const struct cfi_section *s, const struct cfi_entry *e,
                       cfi_visit *visit, void *arg);
/*
 * Finds the row that holds at pc, which must be in [e->start, e->end).
 *   Errors   -EBADMSG; *out undefined
 */
MUST_CHECK int
cfi_row_at(const struct cfi_section *s, const struct cfi_entry *e, uint64_t pc,
           struct cfi_row *out);
