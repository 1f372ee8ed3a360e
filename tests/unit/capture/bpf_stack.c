/*
 * The stack of the programs in the kernel: the frames of a chain of calls may
 * take 512 bytes together. Linux 6.13 gives programs of some kinds a stack for
 * each frame, so no verifier since then notices a chain that Debian 12's would
 * refuse.
 *   Source   kernel/bpf/verifier.c of Linux 6.1, check_max_stack_depth();
 *            libbpf 1.1, bpf_program__record_reloc(), for calls that are not
 *            resolved yet
 */
#include "base/cleanup.h"
#include "lib/test.h"

#include <fcntl.h>
#include <gelf.h>
#include <glob.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STACK_MAX     512 /* MAX_BPF_STACK */
#define TAIL_MAX      256 /* stack above a function with tail calls */
#define CALLS_MAX     8   /* MAX_CALL_FRAMES */
#define ROUND(n)      (((n) + 31) / 32 * 32)
#define RESOLVED      -1
#define FUNCTIONS_MAX 128
#define TARGETS_MAX   64

/* A function, and the functions that it calls. */
struct function {
	const char *name;
	size_t section, first, end; /* instructions first to end - 1 */
	int stack;                  /* bytes that it uses */
	bool makes_tail_calls;
	size_t calls[TARGETS_MAX], n_calls;
};

struct object {
	Elf *elf;
	GElf_Sym symbols[2048];
	size_t n_symbols;
	size_t strings; /* section of the symbols' names */
	struct function f[FUNCTIONS_MAX];
	size_t n;
};

/* Objects with a longer chain, and the kernel that they need anyway. */
static const struct {
	const char *name;
	int most;
	const char *why;
} longer[] = {
	{"inuse", 736, "BPF_TRACE_UPROBE_SESSION is of Linux 6.13, too"},
};

/* --- one function -------------------------------------------------------- */

/* Finds the lowest byte of the frame that the instructions use: they reach it
 * by r10, or by a copy of r10 from which a constant was taken. */
static int
stack_of(const struct bpf_insn *p, size_t n)
{
	bool copy[16] = {false};
	int at[16] = {0}, lowest = 0;

	copy[BPF_REG_10] = true;
	for (size_t i = 0; i < n; i++) {
		unsigned class = BPF_CLASS(p[i].code);
		int base = class == BPF_LDX ? p[i].src_reg : p[i].dst_reg;
		bool moves = p[i].code == (BPF_ALU64 | BPF_MOV | BPF_X);

		if (class == BPF_LDX || class == BPF_ST || class == BPF_STX) {
			if (copy[base] && at[base] + p[i].off < lowest)
				lowest = at[base] + p[i].off;
		} else if (p[i].code == (BPF_ALU64 | BPF_ADD | BPF_K)) {
			at[p[i].dst_reg] += p[i].imm;
			if (copy[p[i].dst_reg] && at[p[i].dst_reg] < lowest)
				lowest = at[p[i].dst_reg];
			continue;
		}
		if (moves) {
			copy[p[i].dst_reg] = copy[p[i].src_reg];
			at[p[i].dst_reg] = at[p[i].src_reg];
		} else if (class == BPF_LDX || class == BPF_LD ||
		           class == BPF_ALU || class == BPF_ALU64) {
			copy[p[i].dst_reg] = false;
		}
	}
	return -lowest;
}

/* --- the object ---------------------------------------------------------- */

static bool
is_code(Elf *elf, size_t section, Elf_Data **out)
{
	Elf_Scn *s = elf_getscn(elf, section);
	GElf_Shdr h;

	if (!s || !gelf_getshdr(s, &h) || !(h.sh_flags & SHF_EXECINSTR))
		return false;
	*out = elf_getdata(s, NULL);
	return true;
}

/* Returns the function that an instruction is in. */
static size_t
function_at(const struct object *o, size_t section, size_t insn)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->f[i].section == section && insn >= o->f[i].first &&
		    insn < o->f[i].end)
			return i;
	ck_abort_msg("no function has instruction %zu of section %zu", insn,
	             section);
}

static void
add_call(struct object *o, size_t section, size_t insn, size_t to_section,
         size_t to)
{
	struct function *f = &o->f[function_at(o, section, insn)];
	size_t callee = function_at(o, to_section, to);

	for (size_t i = 0; i < f->n_calls; i++)
		if (f->calls[i] == callee)
			return;
	ck_assert_uint_lt(f->n_calls, TARGETS_MAX);
	f->calls[f->n_calls++] = callee;
}

static void
load_symbols(struct object *o)
{
	Elf_Scn *s = NULL;
	GElf_Shdr h;

	while ((s = elf_nextscn(o->elf, s))) {
		ck_assert_ptr_nonnull(gelf_getshdr(s, &h));
		if (h.sh_type != SHT_SYMTAB)
			continue;
		o->strings = h.sh_link;
		o->n_symbols = h.sh_size / h.sh_entsize;
		ck_assert_uint_le(o->n_symbols, ARRAY_LEN(o->symbols));
		for (size_t i = 0; i < o->n_symbols; i++)
			gelf_getsym(elf_getdata(s, NULL), (int)i,
			            &o->symbols[i]);
	}
}

static void
load_functions(struct object *o)
{
	Elf_Data *code;

	for (size_t i = 0; i < o->n_symbols; i++) {
		const GElf_Sym *y = &o->symbols[i];
		struct function *f = &o->f[o->n];

		if (GELF_ST_TYPE(y->st_info) != STT_FUNC ||
		    !is_code(o->elf, y->st_shndx, &code))
			continue;
		ck_assert_uint_lt(++o->n, FUNCTIONS_MAX);
		f->name = elf_strptr(o->elf, o->strings, y->st_name);
		f->section = y->st_shndx;
		f->first = y->st_value / sizeof(struct bpf_insn);
		f->end = f->first + y->st_size / sizeof(struct bpf_insn);
		f->stack = stack_of((struct bpf_insn *)code->d_buf + f->first,
		                    f->end - f->first);
	}
}

/* Reads calls, and functions whose address is taken (callbacks of bpf_loop),
 * that have relocations. Afterwards such a call is RESOLVED. */
static void
load_relocations(struct object *o, Elf_Scn *s, size_t section, Elf_Data *code)
{
	struct bpf_insn *p = code->d_buf;
	Elf_Data *d = elf_getdata(s, NULL), *theirs;
	GElf_Rel r;

	for (int i = 0; gelf_getrel(d, i, &r); i++) {
		const GElf_Sym *y = &o->symbols[GELF_R_SYM(r.r_info)];
		size_t insn = r.r_offset / sizeof(*p);
		int64_t to = (int64_t)(y->st_value / sizeof(*p));

		if (!is_code(o->elf, y->st_shndx, &theirs))
			continue;
		if (p[insn].code == (BPF_JMP | BPF_CALL)) {
			to += p[insn].imm + 1;
			p[insn].imm = RESOLVED;
		} else {
			to += p[insn].imm / (int)sizeof(*p);
		}
		add_call(o, section, insn, y->st_shndx, (size_t)to);
	}
}

/* Reads the other calls, and marks functions that make tail calls. */
static void
load_calls(struct object *o, size_t section, const Elf_Data *code)
{
	const struct bpf_insn *p = code->d_buf;

	for (size_t i = 0; i < code->d_size / sizeof(*p); i++) {
		if (p[i].code != (BPF_JMP | BPF_CALL))
			continue;
		if (!p[i].src_reg && p[i].imm == BPF_FUNC_tail_call)
			o->f[function_at(o, section, i)].makes_tail_calls =
				true;
		if (p[i].src_reg == BPF_PSEUDO_CALL && p[i].imm != RESOLVED)
			add_call(o, section, i, section,
			         i + 1 + (size_t)p[i].imm);
	}
}

static void
load(const char *path, struct object *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf_Data *code;
	Elf_Scn *s = NULL;
	GElf_Shdr h;

	elf_version(EV_CURRENT);
	out->elf = elf_begin(fd, ELF_C_READ, NULL);
	ck_assert_ptr_nonnull(out->elf);
	load_symbols(out);
	load_functions(out);
	while ((s = elf_nextscn(out->elf, s)))
		if (gelf_getshdr(s, &h) && h.sh_type == SHT_REL &&
		    is_code(out->elf, h.sh_info, &code))
			load_relocations(out, s, h.sh_info, code);
	while ((s = elf_nextscn(out->elf, s)))
		if (is_code(out->elf, elf_ndxscn(s), &code))
			load_calls(out, elf_ndxscn(s), code);
	close(fd);
}

/* --- chains -------------------------------------------------------------- */

/* Returns the bytes of the deepest chain from a function on, whose callers
 * take `frames` frames and `above` bytes; writes its names. */
static int
deepest(const struct object *o, size_t i, int frames, int above,
        char names[static 512])
{
	const struct function *f = &o->f[i];
	int own = ROUND(f->stack ? f->stack : 1), most = 0;
	char below[512] = "", best[512] = "";

	ck_assert_msg(frames < CALLS_MAX, "%s: more than %d frames", f->name,
	              CALLS_MAX);
	ck_assert_msg(!above || !f->makes_tail_calls || above < TAIL_MAX,
	              "%s makes tail calls below %d bytes", f->name, above);
	for (size_t k = 0; k < f->n_calls; k++) {
		int n = deepest(o, f->calls[k], frames + 1, above + own, below);

		if (n <= most)
			continue;
		most = n;
		memcpy(best, below, sizeof(best));
	}
	snprintf(names, 512, "%s %d%s%.440s", f->name, own, *best ? " > " : "",
	         best);
	return own + most;
}

static int
allowed(const char *path, bool *out_named)
{
	const char *name = strrchr(path, '/') + 1;

	for (size_t i = 0; i < ARRAY_LEN(longer); i++) {
		size_t n = strlen(longer[i].name);

		*out_named = !strncmp(name, longer[i].name, n) &&
		             name[n] == '.';
		if (*out_named)
			return longer[i].most;
	}
	return STACK_MAX;
}

static void
check_chains(const char *path)
{
	struct object *o = calloc(1, sizeof(*o));
	char names[512] = "", best[512] = "";
	bool named;
	int most = 0, may = allowed(path, &named), n;

	ck_assert_ptr_nonnull(o);
	load(path, o);
	for (size_t i = 0; i < o->n; i++) {
		n = deepest(o, i, 0, 0, names);
		if (n > most)
			memcpy(best, names, sizeof(best));
		most = n > most ? n : most;
	}
	ck_assert_msg(most <= may, "%s: %d bytes, %d at most: %s", path, most,
	              may, best);
	/* An exception that is no longer needed must leave the list. */
	ck_assert_msg(!named || most > STACK_MAX, "%s: %d bytes", path, most);
	elf_end(o->elf);
	free(o);
}

TEST(no_chain_of_calls_in_the_kernel_has_more_stack_than_linux_6_1_allows)
{
	const char *b = getenv("B");
	char pattern[4096];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/gen/capture/host/*.bpf.o",
	         b ? b : "build");
	ck_assert_int_eq(glob(pattern, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++)
		check_chains(found.gl_pathv[i]);
	globfree(&found);
}
END

SUITE("bpf_stack");
