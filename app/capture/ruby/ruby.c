/*
 * Recognises Ruby, and lists the threads of its ractors. Offsets are those of
 * 64-bit Linux with glibc.
 *
 *   Source   Ruby 3.1.2 and 3.3.8, vm_core.h: rb_vm_t, rb_thread_t;
 *            ractor_core.h: struct rb_ractor_struct
 */
#include "ruby.h"

#include "capture/elf/elf.h"
#include "capture/unwind/unwind_cold.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define MAX_RACTORS 64

enum { VM_RACTORS = 8 }; /* list of ractors, by their RACTOR_NODE */

/* --- the image ------------------------------------------------------------ */

enum { VM, EXEC, VERSION, AT_EXIT, EVAL, WANTED };

/* Finds the minor version; the layouts of others differ. */
static bool
read_version(const struct elf_image *elf, uint64_t vaddr, uint32_t *out)
{
	uint64_t offset, left;
	char text[4];

	if (!elf_offset_of(elf, vaddr, &offset, &left) ||
	    elf_read(elf, offset, text, sizeof(text)) || text[0] != '3' ||
	    text[1] != '.' || text[3] != '.')
		return false;
	*out = (uint32_t)(text[2] - '0');
	return *out < RUBY_VERSIONS && ruby_versions[*out].frame;
}

/* --- what a stripped library does not name -------------------------------- */

/*
 * From 3.3 on the library does not export its virtual machine and the function
 * that interprets. A function that it exports begins by loading the former, and
 * one ends by jumping to the latter.
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
recognise(const char *path, const struct elf_image *elf,
          struct interp_image *out)
{
	struct elf_wanted want[WANTED] = {
		[VM] = {.name = "ruby_current_vm_ptr"},
		[EXEC] = {.name = "rb_vm_exec"},
		[VERSION] = {.name = "ruby_version"},
		[AT_EXIT] = {.name = "ruby_vm_at_exit"},
		[EVAL] = {.name = "rb_iseq_eval"},
	};
	uint32_t version;
	int rc = strstr(path, "ruby")
	                 ? elf_find_symbols(elf, SHT_DYNSYM, want, WANTED)
	                 : -ENOENT;

	if (rc)
		return rc;
	if (!want[VERSION].value ||
	    !read_version(elf, want[VERSION].value, &version))
		return -ENOENT;
	find_unnamed(elf, want);
	if (!want[VM].value || !want[EXEC].value)
		return -ENOENT;
	*out = (struct interp_image){
		.version = version,
		.eval_start = want[EXEC].value,
		.eval_end = want[EXEC].value + want[EXEC].size,
		.calls_core = true,
		.roots = {[RUBY_VM] = want[VM].value},
	};
	return 0;
}

/* --- threads -------------------------------------------------------------- */

/* A list leads back to its head. One that leads back to another thread is left
 * there: the thread met last at a power of two is remembered. */
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
	const struct ruby_version_row *row =
		&ruby_versions[space->image->version];
	uint64_t vm;
	int rc = memory_copy(space->memory,
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
		.head = vm + VM_RACTORS,
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
	rc = memory_copy(space->memory, l.head, &at, sizeof(at));
	for (unsigned i = 0; i < MAX_RACTORS && !rc && at != l.head; i++) {
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
