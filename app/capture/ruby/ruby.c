/*
 * Recognises Ruby, and lists the threads of its ractors. Offsets are those of
 * 64-bit Linux with glibc.
 *
 *   Source   Ruby 2.7.4, 3.1.2 and 3.3.8, vm_core.h: rb_vm_t, rb_thread_t;
 *            ractor_core.h: struct rb_ractor_struct
 */
#include "ruby.h"

#include "capture/elf/elf.h"
#include "capture/unwind/unwind_cold.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define MAX_RACTORS 64

/* --- the image ------------------------------------------------------------ */

enum { VM, EXEC, VERSION, AT_EXIT, EVAL, WANTED };

/* Reads the version; RUBY_VERSIONS for one whose layout is not known. */
static enum ruby_version
version_at(const struct elf_image *elf, uint64_t vaddr)
{
	uint64_t offset, left;
	enum ruby_version v = 0;
	char text[4];

	if (!elf_offset_of(elf, vaddr, &offset, &left) ||
	    elf_read(elf, offset, text, sizeof(text)) || text[1] != '.' ||
	    text[3] != '.')
		return RUBY_VERSIONS;
	while (v < RUBY_VERSIONS &&
	       ruby_versions[v].number != 10 * (text[0] - '0') + text[2] - '0')
		v++;
	return v;
}

/* --- what a stripped library does not name -------------------------------- */

/*
 * From 3.3 on the library exports neither its virtual machine nor the function
 * that interprets. One function that it exports begins by loading the former,
 * and another one ends by jumping to the latter.
 *
 *   Source   vm.c: ruby_vm_at_exit(), rb_iseq_eval(); Intel SDM volume 2: MOV
 *            r64, r/m64 by RIP; JMP rel32
 */
#define MAX_CODE 512

struct code {
	uint64_t start;
	size_t n;
	uint8_t bytes[MAX_CODE];
};

static bool
read_code(const struct elf_image *elf, const struct elf_wanted *of,
          struct code *out)
{
	uint64_t offset, left;

	out->start = of->value;
	out->n = of->size < MAX_CODE ? of->size : MAX_CODE;
	return elf->machine == EM_X86_64 && of->value &&
	       elf_offset_of(elf, of->value, &offset, &left) &&
	       !elf_read(elf, offset, out->bytes, out->n);
}

/* Returns the address that the last four bytes of an instruction refer to. */
static uint64_t
refers_to(const struct code *c, size_t at)
{
	int32_t far;

	memcpy(&far, c->bytes + at, sizeof(far));
	return c->start + at + 4 + (uint64_t)(int64_t)far;
}

static uint64_t
first_loaded(const struct code *c)
{
	for (size_t i = 0; i + 7 <= c->n; i++)
		if ((c->bytes[i] & 0xfb) == 0x48 && c->bytes[i + 1] == 0x8b &&
		    (c->bytes[i + 2] & 0xc7) == 0x05)
			return refers_to(c, i + 3);
	return 0;
}

/* Returns the function that a jump out of the code leads to. */
static uint64_t
jumps_to(const struct elf_image *elf, const struct code *c, uint64_t *end)
{
	for (size_t i = 0; i + 5 <= c->n; i++) {
		uint64_t to = c->bytes[i] == 0xe9 ? refers_to(c, i + 1) : 0;
		uint64_t start;

		if (to && (to < c->start || to >= c->start + c->n) &&
		    !unwind_cold_function(elf, to, &start, end) && start == to)
			return to;
	}
	return 0;
}

static void
find_unnamed(const struct elf_image *elf, struct elf_wanted *want)
{
	struct code code;
	uint64_t end = 0;

	if (!want[VM].value && read_code(elf, &want[AT_EXIT], &code))
		want[VM].value = first_loaded(&code);
	if (!want[EXEC].value && read_code(elf, &want[EVAL], &code)) {
		want[EXEC].value = jumps_to(elf, &code, &end);
		want[EXEC].size = end - want[EXEC].value;
	}
}

static int
recognise(const struct elf_image *elf, struct interp_image *out)
{
	struct elf_wanted want[WANTED] = {
		[VM] = {.name = "ruby_current_vm_ptr"},
		[EXEC] = {.name = "rb_vm_exec"},
		[VERSION] = {.name = "ruby_version"},
		[AT_EXIT] = {.name = "ruby_vm_at_exit"},
		[EVAL] = {.name = "rb_iseq_eval"},
	};
	int rc = elf_find_symbols(elf, SHT_DYNSYM, want, WANTED);

	if (rc)
		return rc;
	if (!want[VERSION].value)
		return -ENOENT;
	find_unnamed(elf, want);
	if (!want[EXEC].value)
		return -ENOENT;
	*out = (struct interp_image){
		.version = want[VM].value ? version_at(elf, want[VERSION].value)
	                                  : RUBY_VERSIONS,
		.eval_start = want[EXEC].value,
		.eval_end = want[EXEC].value + want[EXEC].size,
		.calls_core = true,
		.roots = {[RUBY_VM] = want[VM].value},
	};
	return 0;
}

/* --- threads -------------------------------------------------------------- */

/* The list is a circle through its head. Detects other cycles as Brent does:
 * keeps the thread seen at each power of two. */
static int
list_threads(const struct memory *m, const struct interp_list *l, uint64_t head,
             struct interp_threads *t)
{
	uint64_t at, met = 0;
	int rc = memory_copy(m, head, &at, sizeof(at));

	while (!rc && at != head && at != met && t->n < INTERP_MAX_THREADS) {
		uint32_t number;
		uint64_t next;

		if (!(t->n & (t->n - 1)))
			met = at;
		rc = memory_copy(m, at, &next, sizeof(next));
		if (!rc && !ruby_number(m, l, at, &number))
			rc = -EFAULT;
		if (!rc)
			rc = interp_threads_add(t, number, at + l->at[RUBY_EC]);
		at = next;
	}
	return rc;
}

static int
list(const struct interp_space *space, struct interp_list *out)
{
	const struct ruby_version_row *row;
	uint64_t vm;
	int rc;

	if (space->image->version >= RUBY_VERSIONS)
		return -EBADMSG;
	row = &ruby_versions[space->image->version];
	rc = memory_copy(space->memory,
	                 space->image->roots[RUBY_VM] + space->bias, &vm,
	                 sizeof(vm));
	if (rc)
		return rc;
	if (!vm)
		return -ENOENT;
	*out = (struct interp_list){
		.language = LANGUAGE_RUBY,
		.layout = row->frame,
		.at = {[RUBY_NODE] = row->node,
	               [RUBY_THREADS] = row->threads,
	               [RUBY_EC] = row->context,
	               [RUBY_NATIVE] = row->native,
	               [RUBY_TID] = row->tid},
		.head = vm + row->list,
		.hop = RUBY_EC_CFP + 1,
	};
	return 0;
}

static int
attach(const struct interp_space *space, struct interp_threads *out)
{
	struct interp_list l;
	uint64_t at = 0;
	int rc = list(space, &l);

	if (rc)
		return rc;
	out->hop = l.hop;
	out->layout = l.layout;
	rc = l.at[RUBY_NODE]
	             ? memory_copy(space->memory, l.head, &at, sizeof(at))
	             : list_threads(space->memory, &l, l.head, out);
	for (unsigned i = 0; i < MAX_RACTORS && !rc && at && at != l.head;
	     i++) {
		rc = list_threads(space->memory, &l, ruby_threads_of(&l, at),
		                  out);
		if (!rc)
			rc = memory_copy(space->memory, at, &at, sizeof(at));
	}
	return out->n ? 0 : rc ? rc : -ENOENT;
}

const struct language ruby_language = {
	.id = LANGUAGE_RUBY,
	.recognise = recognise,
	.list = list,
	.attach = attach,
	.find = ruby_find,
	.step = ruby_step,
	.read = ruby_read,
	.place = ruby_place,
	.line = ruby_line,
};
