#include "thread_tls.h"

#include <errno.h>
#include <string.h>

#define MAX_MODULES 65536
#define MAX_ALIGN   65536u
/* Thread-local storage of a program on aarch64 follows two words. */
#define AARCH64_HEAD 16

/* --- in a file ------------------------------------------------------------ */

struct search {
	const Elf64_Sym *first;
	uint64_t row;   /* of the symbol that was found; 0: none */
	uint64_t value; /* its offset in the file's thread-local storage */
};

static void
see(void *arg, const Elf64_Sym *sym, const char *name)
{
	struct search *s = arg;

	if (!s->first)
		s->first = sym;
	if (s->row || sym->st_shndx == SHN_UNDEF ||
	    ELF64_ST_TYPE(sym->st_info) != STT_TLS ||
	    strcmp(name, THREAD_TLS_SYMBOL) != 0)
		return;
	s->row = (uint64_t)(sym - s->first);
	s->value = sym->st_value;
}

static uint64_t
round_up(uint64_t n, uint64_t align)
{
	return align > 1 && align <= MAX_ALIGN ? (n + align - 1) / align * align
	                                       : n;
}

/* The storage of a program lies below the thread pointer on x86-64, and above
 * it on aarch64. */
static int
find_fixed(const struct elf_image *e, uint64_t value, struct thread_tls *out)
{
	const struct elf_segment *s = elf_segment(e, PT_TLS, 0);

	if (!s || s->memsz > (uint64_t)THREAD_TLS_MAX_OFFSET ||
	    value >= s->memsz)
		return -ENOENT;
	out->kind = THREAD_TLS_FIXED;
	out->offset =
		e->machine == EM_AARCH64
			? (int64_t)(round_up(AARCH64_HEAD, s->align) + value)
			: (int64_t)(value - round_up(s->memsz, s->align));
	return 0;
}

/*
 * Sets the kind of a relocation; false unless it is for a thread-local
 * variable.
 */
static bool
kind_of(uint16_t machine, uint64_t type, struct thread_tls *out)
{
	if (type ==
	    (machine == EM_AARCH64 ? R_AARCH64_TLSDESC : R_X86_64_TLSDESC))
		out->kind = THREAD_TLS_DESCRIPTOR;
	else if (type == (machine == EM_AARCH64 ? R_AARCH64_TLS_DTPMOD
	                                        : R_X86_64_DTPMOD64))
		out->kind = THREAD_TLS_MODULE;
	else if (type == (machine == EM_AARCH64 ? R_AARCH64_TLS_TPREL
	                                        : R_X86_64_TPOFF64))
		out->kind = THREAD_TLS_OFFSET;
	else
		return false;
	return true;
}

/* True for a relocation of the symbol. If other files cannot replace the
 * symbol, linkers write its value instead of its number. */
static bool
is_of(const Elf64_Rela *r, const struct search *s)
{
	uint64_t symbol = ELF64_R_SYM(r->r_info);

	return symbol ? symbol == s->row : (uint64_t)r->r_addend == s->value;
}

static int
find_among(const struct elf_image *e, uint64_t vaddr, uint64_t size,
           const struct search *s, struct thread_tls *out)
{
	CLEANUP_FREE void *rows = NULL;
	const Elf64_Rela *r;
	uint64_t offset, left;
	int rc;

	if (!vaddr || !size || !elf_offset_of(e, vaddr, &offset, &left))
		return -ENOENT;
	if (size > left)
		size = left;
	rc = elf_copy(e, offset, size,
	              THREAD_TLS_MAX_RELAS * sizeof(Elf64_Rela), &rows);
	if (rc)
		return rc == -E2BIG ? -ENOENT : rc;
	r = rows;
	for (uint64_t i = 0; i < size / sizeof(*r); i++)
		if (is_of(&r[i], s) &&
		    kind_of(e->machine, ELF64_R_TYPE(r[i].r_info), out)) {
			out->place = r[i].r_offset;
			return 0;
		}
	return -ENOENT;
}

int
thread_tls_find(const struct elf_image *e, struct thread_tls *out)
{
	struct search s = {0};
	struct elf_dynamic d;
	/* most files have no such storage: their symbols need not be read */
	int rc = elf_segment(e, PT_TLS, 0) ? elf_symbols(e, SHT_DYNSYM, see, &s)
	                                   : -ENOENT;

	if (rc || !s.row)
		return rc == -ENOMEM || rc == -EIO ? rc : -ENOENT;
	out->machine = e->machine;
	if (e->is_program)
		return find_fixed(e, s.value, out);
	elf_dynamic(e, &d);
	rc = find_among(e, elf_dynamic_value(&d, DT_RELA),
	                elf_dynamic_value(&d, DT_RELASZ), &s, out);
	return rc != -ENOENT ? rc
	                     : find_among(e, elf_dynamic_value(&d, DT_JMPREL),
	                                  elf_dynamic_value(&d, DT_PLTRELSZ),
	                                  &s, out);
}

/* --- in a process --------------------------------------------------------- */

/*
 * Sets an offset from the thread pointer; false if no variable can lie there.
 */
static bool
set_fixed(int64_t offset, struct context_at *out)
{
	if (!offset || offset > THREAD_TLS_MAX_OFFSET ||
	    offset < -THREAD_TLS_MAX_OFFSET)
		return false;
	*out = (struct context_at){.offset = offset};
	return true;
}

/*
 * Sets a place in the block of a module; false if no variable can lie there. A
 * thread's vector of blocks has two words for each module in glibc, and one in
 * musl.
 */
static bool
set_module(const struct thread_tls *tls, uint64_t module, uint64_t offset,
           bool musl, struct context_at *out)
{
	if (!module || module >= MAX_MODULES ||
	    offset > (uint64_t)THREAD_TLS_MAX_OFFSET)
		return false;
	*out = (struct context_at){
		.module = (uint32_t)module,
		.offset = (int64_t)offset,
		.vector = tls->machine == EM_X86_64 ? 8
	                  : musl                    ? -8
	                                            : 0,
		.step = musl ? 8 : 16,
	};
	return true;
}

int
thread_tls_resolve(const struct memory *m, const struct thread_tls *tls,
                   uint64_t bias, bool musl, struct context_at *out)
{
	uint64_t words[2], *of = words;
	int rc;

	if (tls->kind == THREAD_TLS_FIXED)
		return set_fixed(tls->offset, out) ? 0 : -EAGAIN;
	rc = memory_copy(m, tls->place + bias, words,
	                 tls->kind == THREAD_TLS_OFFSET ? sizeof(*words)
	                                                : sizeof(words));
	if (rc)
		return rc;
	/* The second word of a descriptor is an offset, or the address of a
	 * module's number and an offset. */
	if (tls->kind == THREAD_TLS_DESCRIPTOR) {
		if (set_fixed((int64_t)words[1], out))
			return 0;
		rc = memory_copy(m, words[1], words, sizeof(words));
		if (rc)
			return rc == -EFAULT ? -EAGAIN : rc;
	}
	if (tls->kind == THREAD_TLS_OFFSET)
		return set_fixed((int64_t)*of, out) ? 0 : -EAGAIN;
	return set_module(tls, of[0], of[1], musl, out) ? 0 : -EAGAIN;
}
