/*
 * Recognises Perl: the command, and the library that other programs load.
 *
 *   Source   Perl 5.32 to 5.42, perlvars.h, patchlevel.h, thread.h
 */
#include "perl.h"

#include "capture/elf/elf.h"

#include <elf.h>
#include <errno.h>

/* --- the image ------------------------------------------------------------ */

enum { RUN, VERSION, INTERPRETER, KEY, CURCOP, CURSTACKINFO, WANTED };

/* Reads the version; PERL_VERSIONS for one whose layout is not known. */
static enum perl_version
version_at(const struct elf_image *elf, uint64_t vaddr)
{
	uint64_t offset, left;
	enum perl_version v = 0;
	uint8_t minor;

	if (!elf_offset_of(elf, vaddr, &offset, &left) ||
	    elf_read(elf, offset, &minor, sizeof(minor)))
		return PERL_VERSIONS;
	while (v < PERL_VERSIONS && perl_versions[v].minor != minor)
		v++;
	return v;
}

static int
recognise(const struct elf_image *elf, struct interp_image *out)
{
	struct elf_wanted want[WANTED] = {
		[RUN] = {.name = "Perl_runops_standard"},
		[VERSION] = {.name = "PL_version"},
		[INTERPRETER] = {.name = "PL_curinterp"},
		[KEY] = {.name = "PL_thr_key"},
		[CURCOP] = {.name = "PL_curcop"},
		[CURSTACKINFO] = {.name = "PL_curstackinfo"},
	};
	int rc = elf_find_symbols(elf, SHT_DYNSYM, want, WANTED);

	if (rc || !want[RUN].value || !want[VERSION].value)
		return rc ? rc : -ENOENT;
	*out = (struct interp_image){
		.version = version_at(elf, want[VERSION].value),
		.eval_start = want[RUN].value,
		.eval_end = want[RUN].value + want[RUN].size,
		.goes_on = 2, /* an eval that catches exceptions */
		.uneven = true,
		.roots = {[PERL_INTERPRETER] = want[INTERPRETER].value,
	                  [PERL_THREAD_KEY] = want[KEY].value,
	                  [PERL_CURCOP] = want[CURCOP].value,
	                  [PERL_CURSTACKINFO] = want[CURSTACKINFO].value},
	};
	return 0;
}

/* --- threads -------------------------------------------------------------- */

/* In glibc's struct pthread: values of the first keys, each after a word. */
#define FIRST_VALUE 784
#define VALUE       16
#define FIRST_KEYS  32

/* Returns the offset from the thread pointer of a key's value; 0: not known. On
 * 64-bit ARM it depends on the version of glibc.
 *   Source   glibc 2.31 to 2.41, nptl/descr.h */
static uint32_t
offset_of_key(uint32_t key)
{
#ifdef __x86_64__
	return key < FIRST_KEYS ? FIRST_VALUE + VALUE * key + 8 : 0;
#else
	(void)key;
	return 0;
#endif
}

/* Returns the number of a process's first thread in its pid namespace. */
static uint32_t
first_thread(const struct memory *m)
{
	struct host_ask ask = {.op = HOST_INNER, .pid = m->pid};
	uint32_t number;

	return host_value(m->host, &ask, &number) ? (uint32_t)m->pid : number;
}

/* Describes a Perl without threads. */
static int
list_variables(const struct interp_space *space, struct interp_list *out)
{
	const uint64_t *roots = space->image->roots;
	int64_t words =
		(int64_t)(roots[PERL_CURSTACKINFO] - roots[PERL_CURCOP]) / 8;

	if (!roots[PERL_CURCOP] || !roots[PERL_CURSTACKINFO] ||
	    words < -PERL_MOST_WORDS || words >= PERL_MOST_WORDS)
		return -EBADMSG;
	*out = (struct interp_list){
		.language = LANGUAGE_PERL,
		.layout = (uint16_t)(PERL_VARIABLES |
	                             (words & (PERL_VARIABLES - 1))),
		.head = roots[PERL_CURCOP] + space->bias,
		.hop = INTERP_HERE,
	};
	return 0;
}

static int
list_interpreter(const struct interp_space *space, struct interp_list *out)
{
	const struct interp_image *image = space->image;
	const uint64_t head = image->roots[PERL_INTERPRETER] + space->bias;
	uint64_t interpreter;
	uint32_t key;
	int rc = memory_copy(space->memory, head, &interpreter, 8);

	if (rc || !interpreter)
		return rc ? rc : -ENOENT;
	rc = memory_copy(space->memory,
	                 image->roots[PERL_THREAD_KEY] + space->bias, &key,
	                 sizeof(key));
	if (rc)
		return rc;
	*out = (struct interp_list){
		.language = LANGUAGE_PERL,
		.layout = perl_versions[image->version].here,
		.at = {[PERL_KEY] = offset_of_key(key),
	               [PERL_FIRST] = first_thread(space->memory)},
		.head = head,
	};
	return 0;
}

static int
list(const struct interp_space *space, struct interp_list *out)
{
	if (space->image->version >= PERL_VERSIONS)
		return -EBADMSG;
	return perl_has_variables(space->image) ? list_variables(space, out)
	                                        : list_interpreter(space, out);
}

static int
attach(const struct interp_space *space, struct interp_threads *out)
{
	struct interp_list l;
	int rc = list(space, &l);

	if (rc)
		return rc;
	out->layout = l.layout;
	out->hop = l.hop;
	return interp_threads_add(
		out, l.hop ? INTERP_ANY_THREAD : l.at[PERL_FIRST], l.head);
}

const struct language perl_language = {
	.id = LANGUAGE_PERL,
	.in_thread = true,
	.recognise = recognise,
	.list = list,
	.attach = attach,
	.find = perl_find,
	.step = perl_step,
	.read = perl_read,
	.place = perl_place,
	.line = interp_line_is_position,
};
