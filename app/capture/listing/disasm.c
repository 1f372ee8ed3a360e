#include "disasm.h"

#include <capstone/capstone.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct disasm {
	csh handle;
	cs_insn *room; /* for one instruction */
	bool open;
};

void
disasm_free(struct disasm *d)
{
	if (!d)
		return;
	if (d->room)
		cs_free(d->room, 1);
	if (d->open)
		cs_close(&d->handle);
	free(d);
}

static int
open_handle(struct disasm *d, uint16_t machine)
{
	bool is_x86 = machine == EM_X86_64;
	cs_err e;

	if (!is_x86 && machine != EM_AARCH64)
		return -ENOTSUP;
	e = is_x86 ? cs_open(CS_ARCH_X86, CS_MODE_64, &d->handle)
	           : cs_open(CS_ARCH_ARM64, CS_MODE_ARM, &d->handle);
	if (e)
		return e == CS_ERR_MEM ? -ENOMEM : -ENOTSUP;
	d->open = true;
	if (cs_option(d->handle, CS_OPT_SKIPDATA, CS_OPT_ON) ||
	    (is_x86 && cs_option(d->handle, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT)))
		return -ENOTSUP;
	return 0;
}

int
disasm_new(uint16_t machine, struct disasm **out)
{
	CLEANUP_DISASM struct disasm *d = calloc(1, sizeof(*d));
	int rc = d ? open_handle(d, machine) : -ENOMEM;

	if (rc)
		return rc;
	d->room = cs_malloc(d->handle);
	if (!d->room)
		return -ENOMEM;
	*out = TAKE(d);
	return 0;
}

/* Returns the operand of an instruction such as a direct jump, whose only
 * operand is a number; else 0. */
static uint64_t
target_of(const char *operands)
{
	const char *digits = operands + (*operands == '#');
	uint64_t target;
	char *end;

	if (strncmp(digits, "0x", 2) != 0)
		return 0;
	target = strtoull(digits, &end, 16);
	return *end ? 0 : target;
}

bool
disasm_next(struct disasm *d, struct disasm_code *code, struct disasm_line *out)
{
	const cs_insn *at = d->room;

	if (!cs_disasm_iter(d->handle, &code->p, &code->n, &code->address,
	                    d->room))
		return false;
	out->address = at->address;
	out->size = at->size;
	out->target = at->id ? target_of(at->op_str) : 0; /* 0: a .byte */
	snprintf(out->text, sizeof(out->text), "%s%s%s", at->mnemonic,
	         *at->op_str ? " " : "", at->op_str);
	return true;
}
