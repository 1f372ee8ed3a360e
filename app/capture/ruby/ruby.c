/*
 * Recognises Ruby, and lists the threads of its ractors. Offsets are those of
 * 64-bit Linux with glibc.
 *
 *   Source   Ruby 3.1.2, vm_core.h: rb_vm_t, rb_thread_t; ractor_core.h:
 *            struct rb_ractor_struct
 */
#include "ruby.h"

#include "capture/elf/elf.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define MAX_RACTORS 64

enum { VM_RACTORS = 8 }; /* list of ractors, by their RACTOR_NODE */

/* --- the image ------------------------------------------------------------ */

struct wanted {
	const char *name;
	uint64_t value, size;
};

enum { VM, EXEC, VERSION, WANTED };

static void
match(void *arg, const Elf64_Sym *sym, const char *name)
{
	struct wanted *want = arg;

	for (unsigned i = 0; i < WANTED && sym->st_shndx != SHN_UNDEF; i++) {
		if (strcmp(name, want[i].name) != 0)
			continue;
		want[i].value = sym->st_value;
		want[i].size = sym->st_size;
	}
}

/* True for a version whose layouts are known; others differ. */
static bool
is_known(const struct elf_image *elf, uint64_t vaddr)
{
	uint64_t offset, left;
	char version[4];

	return elf_offset_of(elf, vaddr, &offset, &left) &&
	       !elf_read(elf, offset, version, sizeof(version)) &&
	       !memcmp(version, "3.1.", sizeof(version));
}

static int
recognise(const char *path, const struct elf_image *elf,
          struct interp_image *out)
{
	struct wanted want[WANTED] = {
		[VM] = {.name = "ruby_current_vm_ptr"},
		[EXEC] = {.name = "rb_vm_exec"},
		[VERSION] = {.name = "ruby_version"},
	};
	int rc = strstr(path, "ruby")
	                 ? elf_symbols(elf, SHT_DYNSYM, match, want)
	                 : -ENOENT;

	if (rc)
		return rc;
	for (unsigned i = 0; i < WANTED; i++)
		if (!want[i].value)
			return -ENOENT;
	if (!is_known(elf, want[VERSION].value))
		return -ENOENT;
	*out = (struct interp_image){
		.version = 1,
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
list_threads(const struct memory *m, uint64_t head, struct interp_threads *t)
{
	uint64_t at, met = 0;
	int rc = memory_copy(m, head, &at, sizeof(at));

	while (!rc && at != head && at != met && t->n < INTERP_MAX_THREADS) {
		uint64_t words[RUBY_THREAD_TID / 8 + 1];

		if (!(t->n & (t->n - 1)))
			met = at;
		rc = memory_copy(m, at, words, sizeof(words));
		if (!rc)
			rc = interp_threads_add(
				t, (uint32_t)words[RUBY_THREAD_TID / 8],
				at + RUBY_THREAD_EC);
		at = words[0];
	}
	return rc;
}

static int
list(const struct interp_space *space, struct interp_list *out)
{
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
	rc = memory_copy(space->memory, l.head, &at, sizeof(at));
	for (unsigned i = 0; i < MAX_RACTORS && !rc && at != l.head; i++) {
		rc = list_threads(space->memory, ruby_threads_of(at), out);
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
