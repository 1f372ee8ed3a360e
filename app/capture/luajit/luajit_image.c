/*
 * Finds distances in the instructions of LuaJIT's interpreter. Each is in a
 * sequence that every x86-64 build of 2.1 with LJ_GC64 has, from 2019 on.
 *
 *   Source   LuaJIT 2.1, vm_x64.dasc: vm_resume, vm_cpcall, BC_JLOOP
 */
#include "luajit.h"

#include "base/rows.h"
#include "capture/elf/elf.h"
#include "capture/unwind/unwind_cold.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define MAX_TEXT ((size_t)4 << 20) /* bytes of code that are searched */

/* mov r14, [rbp+16]; add r14, distance: the global state of a state, and from
 * there the dispatch table */
static const uint8_t enters[] = {0x4c, 0x8b, 0x75, 0x10, 0x49, 0x81, 0xc6};
/* mov rcx, [r14+traces] */
static const uint8_t has_traces[] = {0x49, 0x8b, 0x8e};
/* mov rax, [rcx+rax*8]; mov rax, [rax+mcode] */
static const uint8_t has_code[] = {0x48, 0x8b, 0x04, 0xc1, 0x48, 0x8b, 0x40};
/* mov rbp, [rsp+16]; mov [r14+base], rdx: loads the state from the C frame,
 * and sets the base, which lies next to the current state's address */
static const uint8_t has_base[] = {0x48, 0x8b, 0x6c, 0x24,
                                   0x10, 0x49, 0x89, 0x96};
/* push rbp; push rbx; push r15; push r14; sub rsp, 40: where C enters */
static const uint8_t is_entry[] = {0x55, 0x53, 0x41, 0x57, 0x41,
                                   0x56, 0x48, 0x83, 0xec, 0x28};
/* call rcx; test rax, rax: calls a C function; this call has no run */
static const uint8_t calls_c[] = {0xff, 0xd1, 0x48, 0x85, 0xc0};

struct code {
	const uint8_t *p;
	size_t n;
};

static bool
has(struct code c, size_t at, const uint8_t *bytes, size_t n)
{
	return at <= c.n && c.n - at >= n && !memcmp(c.p + at, bytes, n);
}

/* Finds bytes; c.n if they are not there. */
static size_t
find(struct code c, const uint8_t *bytes, size_t n)
{
	const uint8_t *p = memmem(c.p, c.n, bytes, n);

	return p ? (size_t)(p - c.p) : c.n;
}

static int32_t
number(struct code c, size_t at)
{
	int32_t v = 0;

	if (at <= c.n && c.n - at >= sizeof(v))
		memcpy(&v, c.p + at, sizeof(v));
	return v;
}

/* Reads how far a value is before the dispatch table; 0: it is not. */
static uint32_t
before(struct code c, size_t at)
{
	const int32_t v = number(c, at);

	return v < 0 && v > -(1 << 18) && v % 8 == 0 ? (uint32_t)-v : 0;
}

/* Reads the instructions that enter a trace. */
static bool
read_trace(struct code c, size_t at, struct luajit_image *out)
{
	const size_t code = at + sizeof(has_traces) + 4;
	const size_t base = code + sizeof(has_code) + 1;
	uint32_t trace_base;

	if (!has(c, at, has_traces, sizeof(has_traces)) ||
	    !has(c, code, has_code, sizeof(has_code)) ||
	    !has(c, base, has_base, sizeof(has_base)))
		return false;
	trace_base = before(c, base + sizeof(has_base));
	out->traces = before(c, at + sizeof(has_traces));
	out->mcode = c.p[base - 1];
	out->state = trace_base + 8;
	return trace_base && out->traces && out->mcode % 8 == 0 &&
	       out->mcode >= 64 && out->mcode < 128;
}

static int
read_code(struct code c, struct luajit_image *out)
{
	size_t at = find(c, enters, sizeof(enters));
	bool found = false;

	out->distance = (uint32_t)number(c, at + sizeof(enters));
	for (size_t i = 0; i < c.n && !found; i++)
		found = c.p[i] == *has_traces && read_trace(c, i, out);
	if (!found || at == c.n || out->distance % 8 ||
	    out->distance > 1 << 16 || out->state / 8 > UINT16_MAX)
		return -ENOENT;
	at = find(c, calls_c, sizeof(calls_c));
	out->entry = out->start + find(c, is_entry, sizeof(is_entry));
	out->no_run = out->start + at + 2;
	return at < c.n && out->entry < out->no_run ? 0 : -ENOENT;
}

/* Finds the function that interprets, around the instructions that enter it. */
static int
find_code(const struct elf_image *elf, struct code c, uint64_t vaddr,
          struct luajit_image *out)
{
	const size_t at = find(c, enters, sizeof(enters));
	int rc = at < c.n ? unwind_cold_function(elf, vaddr + at, &out->start,
	                                         &out->end)
	                  : -ENOENT;

	if (!rc && (out->start < vaddr || out->end > vaddr + c.n ||
	            out->end - out->start > UINT16_MAX))
		rc = -ENOENT;
	return rc ? rc
	          : read_code((struct code){c.p + (out->start - vaddr),
	                                    out->end - out->start},
	                      out);
}

int
luajit_image(const struct elf_image *elf, struct luajit_image *out)
{
	const struct elf_section *text;
	CLEANUP_FREE void *bytes = NULL;
	struct elf_wanted want = {.name = "luaJIT_setmode"};
	int rc = elf->machine == EM_X86_64
	                 ? elf_find_symbols(elf, SHT_DYNSYM, &want, 1)
	                 : -ENOENT;

	text = rc || !want.value ? NULL : elf_section(elf, ".text");
	if (!text)
		return rc ? rc : -ENOENT;
	rc = elf_copy(elf, text->offset, text->size, MAX_TEXT, &bytes);
	if (rc)
		return rc == -E2BIG ? -ENOENT : rc;
	*out = (struct luajit_image){0};
	return find_code(elf, (struct code){bytes, text->size}, text->vaddr,
	                 out);
}
